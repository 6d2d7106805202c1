"""Claims page: each claim, the verdict on it here, and the numbers that the verdict is made of."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

from ccreport.compare.claims import FAILS, HOLDS, UNKNOWN, list_unexplained
from ccreport.report.fragments.exhibits import Exhibit, list_exhibits
from ccreport.report.fragments.reproduction import show_figures, show_plain
from ccreport.report.markup.blocks import Html, number, render_callout, render_quotation, render_table, text
from ccreport.report.markup.escape import escape_text, make_label
from ccreport.summarise.grids.headings import SPELLED

HEADER: Final = ("Check", "Paper", "Holds", "Here", "95 % interval", "n", "Verdict")
PUBLISHED: Final = (
    "The claims are what a publication says in its text; beside the bounds of each check are the words that they come "
    "from."
)
DATED: Final = (
    "Bounds that were set before the archive was measured cannot have been fitted to it; each claim names the commit"
    " that set them, as the evaluation declares it. Times are those of the commit and of the machine that ran the test."
)
# Words of a claim's name that are written in capitals: bbr1_retransmits.
ALGORITHMS: Final = ("bbr", "cubic", "reno")
CLASSES: Final = {HOLDS: "holds", FAILS: "fails", UNKNOWN: "unknown"}


def describe_claims(judged: pl.DataFrame) -> dict[str, str]:
    """Return the numbers of claims as text: total, hold, fail, unknown."""
    verdicts = judged.unique("claim", maintain_order=True)["claim_verdict"]
    counts = {name: int((verdicts == verdict).sum()) for name, verdict in _names()}
    return {"total": f"{verdicts.len():,}"} | {name: f"{count:,}" for name, count in counts.items()}


def _names() -> Iterable[tuple[str, str]]:
    return zip(("hold", "fail", "unknown"), (HOLDS, FAILS, UNKNOWN), strict=True)


def find_exhibits(evaluation: Mapping[str, Any]) -> dict[str, tuple[str, Exhibit]]:
    """Return page (`figures` or `tables`) and exhibit by the name of every figure and table of an evaluation."""
    return {
        exhibit.name: (page, exhibit) for page in ("figures", "tables") for exhibit in list_exhibits(evaluation[page])
    }


def render_claims(
    judged: pl.DataFrame, declared: Mapping[str, Any], exhibits: Mapping[str, tuple[str, Exhibit]]
) -> str:
    """Return the fragment: all claims with their verdicts, then each with its checks, source and figures.

    `declared` are the evaluation's claims, `exhibits` what `find_exhibits` returns of it.
    """
    if judged.is_empty():
        return "The evaluation makes no claims.\n"
    # Where there is not enough data, the verdict says why.
    unexplained = {claim for claim, verdict in list_unexplained(judged) if verdict == FAILS}
    rows_of = {claim: judged.filter(pl.col("claim") == claim).to_dicts() for claim in declared}
    parts = [f"{PUBLISHED}\n"] if any(map(is_published, declared.values())) else []
    parts += [_render_overview(rows_of, declared)]
    if judged["bounds_set_utc"].count():
        parts += [f"{DATED} {_sum_up_bounds([rows[0] for rows in rows_of.values()])}"]
    for claim, facts in declared.items():
        parts += _render_claim(claim, facts, rows_of[claim], exhibits, is_unexplained=claim in unexplained)
    return "\n".join(parts)


def describe_beside(figure: str, judged: pl.DataFrame, declared: Mapping[str, Any]) -> str:
    """Return what the publication says of a figure, each claim with its verdict here; empty where it says nothing.

    `declared` are the evaluation's claims. Each leads to its checks.
    """
    parts = []
    for claim, facts in declared.items():
        rows = judged.filter(pl.col("claim") == claim).to_dicts()
        if figure not in facts["shown_in"] or not rows:
            continue
        verdict = rows[0]["claim_verdict"]
        found, speaker = ("what the paper found", "The paper") if is_published(facts) else ("that", "Claim")
        opposite = f" This archive does not show {found}." if verdict == FAILS else ""
        here = f"[{verdict}](claims.qmd#{make_label('claim', claim)})"
        told = f"{speaker} ({escape_text(facts['source'])}): {escape_text(facts['text'])} Here: **{here}**.{opposite}"
        parts.append(f"::: {{.paper-says .says-{CLASSES[verdict]}}}\n\n{told}\n\n:::\n")
    return "\n".join(parts)


def is_published(facts: Mapping[str, Any]) -> bool:
    """Tell whether a claim is of a publication, by words or a value of it in some check."""
    return any(key in check for check in facts["checks"] for key in ("quote", "paper"))


def _render_overview(rows_of: Mapping[str, list[dict[str, Any]]], declared: Mapping[str, Any]) -> str:
    rows = [
        [
            Html(f'<a href="#{make_label("claim", claim)}">{text(facts["text"])}</a>'),
            text(facts["source"]),
            _mark(rows_of[claim][0]["claim_verdict"]),
        ]
        for claim, facts in declared.items()
    ]
    return render_table(("Claim", "Source", "Here"), rows, title="All claims")


def _sum_up_bounds(claims: list[dict[str, Any]]) -> str:
    """Return of how many claims the bounds were set before the archive was measured."""
    before, after, unknown = (sum(row["is_preregistered"] is told for row in claims) for told in (True, False, None))
    parts = [
        f"{before} of {len(claims)} claims were set before the archive’s first run",
        f"{after} after it" if after else "",
        f"of {unknown} it is not known" if unknown else "",
    ]
    said = ", ".join(part for part in parts if part)
    return f"The bounds of {said}. The queries, which compute the value, may be newer.\n"


def _date_bounds(row: Mapping[str, Any]) -> str:
    """Return which commit set the bounds of a claim, and whether that was before the archive was measured."""
    commit = f"The bounds were set by commit `{row['bounds_commit'][:10]}` ({_show_time(row['bounds_set_utc'])})"
    if row["is_preregistered"] is None:
        return f"{commit}; the archive does not say when its first run began."
    when = "before" if row["is_preregistered"] else "**after**"
    return f"{commit}, {when} the archive’s first run ({_show_time(row['first_run_utc'])})."


def _show_time(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _mark(verdict: str) -> Html:
    return Html(f'<strong class="verdict-{CLASSES[verdict]}">{verdict}</strong>')


def _render_claim(
    claim: str,
    facts: Mapping[str, Any],
    rows: list[dict[str, Any]],
    exhibits: Mapping[str, tuple[str, Exhibit]],
    *,
    is_unexplained: bool,
) -> Iterable[str]:
    verdict = rows[0]["claim_verdict"]
    checks = [_list_check(row, check) for row, check in zip(rows, facts["checks"], strict=True)]
    label = make_label("claim", claim)
    if is_published(facts):
        yield f"## {_title(claim)}: {verdict} {{#{label}}}\n"
        yield f"{escape_text(facts['text'])} ({escape_text(facts['source'])})\n"
        yield render_table(HEADER, checks, title=f"Checks of {claim}", numbers=(1, 3, 4, 5))
    else:
        # What its author calls it says more to a reader than its key.
        yield f"## {escape_text(' '.join(facts['text'].split()).removesuffix('.'))}: {verdict} {{#{label}}}\n"
        yield f"Source: {escape_text(facts['source'])}.\n"
        own = [[name, *others] for name, _, *others in checks]
        yield render_table([HEADER[0], *HEADER[2:]], own, title=f"Checks of {claim}", numbers=(2, 3, 4))
    if rows[0]["bounds_set_utc"] is not None:
        yield f"{_date_bounds(rows[0])}\n"
    if (
        facts.get("needs")
        and all(row["value"] is None for row in rows if row["verdict"] == UNKNOWN)
        and verdict == UNKNOWN
    ):
        yield f"Needed: {escape_text(facts['needs'])}.\n"
    if others := [_name_change(row) for row in rows if _differs(row)]:
        count = rows[0]["suspects_count"]
        yield f"With {count:,} suspect run{'s' if count > 1 else ''}: {'; '.join(others)}.\n"
    if rows[0]["about_archive"] is not None:
        yield f"**About this archive:** {escape_text(rows[0]['about_archive'])}\n"
    elif is_unexplained:
        yield render_callout("warning", "Not explained", "Nothing says why this archive does not show it.")
    if links := [_link(*exhibits[shown]) for shown in facts["shown_in"] if shown in exhibits]:
        yield f"Shown in {', '.join(links)}.\n"
    queries = [
        f"{escape_text(check['name'])}\n\n{render_quotation(check['sql'], 'Query of ' + check['name'])}"
        for check in facts["checks"]
    ]
    callout = render_callout("note", "How it is computed", "\n".join(queries), is_collapsed=True)
    yield f':::: {{.content-visible when-format="html"}}\n\n{callout}\n::::\n'


def _differs(row: Mapping[str, Any]) -> bool:
    """Tell whether suspect runs that do not count would change the value of a check as it is shown, or its verdict."""
    verdict = row["with_suspects_verdict"]
    shown = [show_figures(row[name]) for name in ("value", "with_suspects_value")]
    return verdict is not None and (shown[0] != shown[1] or verdict != row["verdict"])


def _name_change(row: Mapping[str, Any]) -> str:
    verdict = row["with_suspects_verdict"]
    flipped = f", {verdict}" if verdict != row["verdict"] else ""
    return f"{escape_text(row['check'])} {show_figures(row['with_suspects_value'])}{flipped}"


def _title(claim: str) -> str:
    words = [word.upper() if word.startswith(ALGORITHMS) else SPELLED.get(word, word) for word in claim.split("_")]
    return escape_text(" ".join([words[0][:1].upper() + words[0][1:], *words[1:]]))


def _link(page: str, exhibit: Exhibit) -> str:
    kind = page.removesuffix("s")
    target = "captures" if exhibit.is_of_captures else page
    return f"[{escape_text(exhibit.heading)}]({target}.qmd#{make_label(kind, exhibit.name)})"


def _list_check(row: Mapping[str, Any], check: Mapping[str, Any]) -> list[Html]:
    low, high = row["low"], row["high"]
    interval = None if low is None or high is None else f"{show_plain(low)}–{show_plain(high)}"
    return [
        text(row["check"]),
        text(None if row["paper_value"] is None else f"{row['paper_value']:g}"),
        _name_criterion(row, check),
        show_figures(row["value"]),
        text(interval),
        number(row["runs_count"]),
        Html(f"{_mark(row['verdict'])}{_name_lack(row)}"),
    ]


def _name_criterion(row: Mapping[str, Any], check: Mapping[str, Any]) -> Html:
    """Return the bounds with the publication's words, and the word that these are read as."""
    bounds = text(_name_bounds(row["at_least"], row["at_most"]))
    if "quote" not in check:
        return bounds
    read = f" ({check['word']})" if "word" in check else ""
    return Html(f"{bounds} <small>{text('“' + check['quote'] + '”' + read)}</small>")


def _name_lack(row: Mapping[str, Any]) -> Html:
    """Return what a check without a verdict lacks."""
    if row["verdict"] != UNKNOWN:
        return Html("")
    if row["value"] is None:
        lack = "no such runs"
    elif row["runs_count"] < row["minimum_runs_count"]:
        lack = f"fewer than {row['minimum_runs_count']} runs"
    elif row["low"] is None or row["high"] is None:
        lack = "no interval"
    elif row["needed_runs_count"] is None:
        lack = "the interval holds a bound"
    else:
        lack = f"about {row['needed_runs_count']} runs would tell"
    return Html(f" <small>({lack})</small>")


def _name_bounds(at_least: float | None, at_most: float | None) -> str:
    bounds = (("from ", at_least), ("to ", at_most))
    return " ".join(f"{word}{bound:.3g}" for word, bound in bounds if bound is not None) or "always"
