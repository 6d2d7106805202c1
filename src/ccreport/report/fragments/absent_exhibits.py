"""Figures and tables that an archive has no data for: one paragraph that says what they need."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ccreport.core.text import count_things, make_label
from ccreport.figures.exhibits import Exhibit, has_rows, list_exhibits
from ccreport.report.markup.escape import escape_text

# What figures say that no run matches, of which the declaration has the words.
NO_RUN: Final = re.compile(
    r"The archive has no .* The condition: .*|(?:Panel \([a-z]\), .+? is left out: no run matches its condition\. ?)+",
    re.DOTALL,
)
# Names of tables that are not made of runs begin so.
OF_OTHER_RECORDS: Final = ("rpc_", "edge_")
UNNAMED: Final = "runs that match their conditions"


def find_missing(figure: Exhibit, figures: Path) -> str:
    """Return why a figure was not drawn, empty where it was; `figures` is a folder as `exhibits` says."""
    missing = figures / figure.name / "missing.txt"
    return missing.read_text(encoding="utf-8").strip() if missing.exists() else ""


def describe_evaluation(declared: Mapping[str, Any], summaries: Path, figures: Path) -> dict[str, str]:
    """Return an evaluation's title, how many exhibits have data, and how far apart equal rates are, as Markdown."""
    told = {"title": declared["title"], "margin": f"{declared['equal_within_pct']:g} %"}
    return {name: escape_text(words) for name, words in told.items()} | {
        "exhibits": count_exhibits(declared, summaries, figures)
    }


def count_exhibits(declared: Mapping[str, Any], summaries: Path, figures: Path) -> str:
    """Return how many tables and figures of an evaluation have data, in words."""
    tables = sum(has_rows(table, summaries) for table in declared["tables"])
    drawn = sum(not find_missing(figure, figures) for figure in list_exhibits(declared["figures"], figures))
    return f"{count_things(tables, 'table')} and {count_things(drawn, 'figure')}"


def describe_missing_figures(
    missing: Sequence[Exhibit], declared: Mapping[str, Mapping[str, Any]], figures: Path
) -> str:
    """Return the paragraph on figures without data, those that need the same together; empty where there are none.

    `declared` is what the evaluation declares of the figures by name.
    """
    needing: dict[str, list[Exhibit]] = {}
    saying: dict[str, list[Exhibit]] = {}
    for figure in missing:
        reason = find_missing(figure, figures)
        if NO_RUN.fullmatch(reason):
            needs = " ".join(declared[figure.name].get("needs", "").split()) or UNNAMED
            needing.setdefault(needs, []).append(figure)
        else:
            saying.setdefault(reason, []).append(figure)
    sentences = [
        f"{len(own)} {'figure needs' if len(own) == 1 else 'figures need'} {escape_text(needs)}: "
        f"{_name('figure', own)}."
        for needs, own in needing.items()
    ]
    sentences += [f"{_name('figure', own)}: {escape_text(reason)}" for reason, own in saying.items()]
    return _fence(" ".join(sentences)) if sentences else ""


def leave_out_foreign(empty: Sequence[Exhibit], claims: Mapping[str, Any]) -> list[Exhibit]:
    """Return empty tables without those of records beside runs, such as RPCs, but for those that claims refer to."""
    referred = {name for claim in claims.values() for name in claim["shown_in"]}
    return [table for table in empty if table.name in referred or not table.name.startswith(OF_OTHER_RECORDS)]


def describe_empty_tables(empty: Sequence[Exhibit]) -> str:
    """Return the paragraph on tables without rows; empty where there are none."""
    if not empty:
        return ""
    counted = "1 table has" if len(empty) == 1 else f"{len(empty)} tables have"
    return _fence(f"{counted} no rows in this archive: {_name('table', empty)}.")


def _fence(paragraph: str) -> str:
    return f"::: {{.without-data}}\n\n{paragraph}\n\n:::\n"


def _name(kind: str, exhibits: Sequence[Exhibit]) -> str:
    # Claims lead to what shows them, whether it has data or not.
    return "; ".join(f"[{escape_text(_title(exhibit))}]{{#{make_label(kind, exhibit.name)}}}" for exhibit in exhibits)


def _title(exhibit: Exhibit) -> str:
    """Return the heading of what a publication has; of ours, of which there is nothing to see, no number."""
    return exhibit.title if exhibit.is_ours else exhibit.heading
