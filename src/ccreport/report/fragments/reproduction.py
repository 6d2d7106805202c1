"""Reproduction page: how many published cells this archive reproduces, and each of them beside its own."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from ccreport.compare.pairs import SUSPECT, explain_pair
from ccreport.compare.reproduction import COMPARED
from ccreport.core.text import make_label
from ccreport.report.fragments.compared_pairs import (
    count_pairs,
    explain_undecided,
    name_pairs,
    order_algorithms,
    tell_other_pairs,
)
from ccreport.report.fragments.failed_pairs import name_table, render_failed_pairs
from ccreport.report.fragments.plain_numbers import show_deviation, show_ratio
from ccreport.report.fragments.published_beside import (
    SCALES,
    name_verdict,
    render_published_beside,
    show_cell,
    tell_cells,
)
from ccreport.report.markup.blocks import (
    Html,
    close_fold,
    markdown,
    number,
    open_fold,
    render_callout,
    render_table,
    text,
)
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import format_number, rate_unit
from ccreport.summarise.grids.plain_numbers import show_plain

SECTIONS: Final = {"paper": "The paper", "archive": "Another archive"}
OPENINGS: Final = {
    "paper": (
        "Each published cell is compared with the same cell of this archive; two cells that differ only in the "
        "algorithm are a pair."
    ),
    "archive": (
        "Each cell of the other build's tables is compared with the same cell here; two cells that differ only in the "
        "algorithm are a pair."
    ),
}
OTHERS: Final = {"paper": "Paper", "archive": "Other"}
SUMMARY_HEADER: Final = (
    *("Table", "Pairs compared", "Reproduced", "Not reproduced"),
    *("Undecided", "Missing here", "Suspect"),
)
BASES: Final = {"goodput": "the receiver’s rates (goodput)", "throughput": "the sender’s rates (throughput)"}
BLANK: Final = Html("")
MATCHES: Final = {
    "name": "Cells are matched by name.",
    "dimensionless": (
        "Each cell is matched with the cell here of the nearest {}, one to one; without a close match it counts as "
        "missing."
    ),
}


def describe_reproduction(compared: pl.DataFrame) -> dict[str, str]:
    """Return the counts against the paper as text: compared, reproduced, not_reproduced, undecided, missing.

    `numbers` says whose they are, or those of another build where there is no paper.
    """
    of_paper = compared.filter(pl.col("comparison") == "paper")
    counts = {name: f"{count:,}" for name, count in count_pairs(of_paper).items() if name != "suspect"}
    return counts | {"numbers": "numbers of the other build" if of_paper.is_empty() else "published numbers"}


def render_reproduction(
    compared: pl.DataFrame,
    titles: Mapping[str, str],
    names: Sequence[str],
    note: str = "",
    doubts: Mapping[str, str] = MappingProxyType({}),
    reasons: Mapping[str, str] = MappingProxyType({}),
    heads: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    *,
    has_cells: bool = True,
) -> str:
    """Return the fragment: for the paper, and for another archive if there is one, summary, failed pairs and all cells.

    `titles` are the tables' by name, `names` those of its algorithms in order, `note` is about this archive,
    `doubts` say by the table's name why some of its published pairs look wrong, `reasons` by the cell's why one is not
    reproduced, `heads` are as `read_heads` returns them. Without `has_cells` each table is there beside the other,
    and it says that the supplement has the details of cells.
    """
    parts = []
    for comparison, heading in SECTIONS.items():
        own = compared.filter(pl.col("comparison") == comparison)
        if own.is_empty():
            continue
        is_paper = comparison == "paper"
        algorithms = list(names) if is_paper else order_algorithms(own, names)
        pairs = name_pairs(own, algorithms, "" if is_paper else " and that both archives have")
        summary = f"{OPENINGS[comparison]}\n\n{_summarise(own, doubts if is_paper else {})}{pairs}"
        elsewhere = "" if has_cells else " The supplement has the interval and the runs of each cell."
        parts.append(f"## {heading} {{#{comparison}}}\n\n{summary}{elsewhere}\n")
        # On paper the summary, a few pages before, has it.
        if note and is_paper and has_cells:
            parts.append(render_callout("note", "About this archive", escape_text(note)))
        failed = render_failed_pairs(own, titles, algorithms, OTHERS[comparison], reasons if is_paper else {})
        parts += [_render_summary(own, titles), failed]
        parts += [
            _render_cells(
                *(own.filter(pl.col("table_name") == table), table, titles, algorithms, heads.get(table, {})),
                has_cells=has_cells,
            )
            for table in own["table_name"].unique(maintain_order=True)
        ]
    return "\n".join(parts) or "The evaluation names no published values to compare with.\n"


def _summarise(own: pl.DataFrame, doubts: Mapping[str, str]) -> str:
    counts = count_pairs(own)
    of_pairs = [
        f"**{counts['reproduced']} of {counts['compared']}** pairs of cells are reproduced.",
        *([f"{others}."] if (others := tell_other_pairs(counts)) else []),
    ]
    sentences = [*(of_pairs if counts["compared"] else ()), tell_cells(own)]
    if counts["missing"] and counts["compared"]:
        sentences.append(f"This archive lacks a cell of {counts['missing']} more.")
    if counts["suspect"]:
        verb, are = (" looks", "is") if counts["suspect"] == 1 else ("s look", "are")
        sentences.append(
            f"{counts['suspect']} further pair{verb} wrong in the publication itself and {are} in none of these counts."
        )
        suspect = own.filter(pl.col("cell_state") == SUSPECT)["table_name"].unique(maintain_order=True)
        sentences += [escape_text(doubts[table]) for table in suspect if doubts.get(table)]
    return " ".join(sentences)


def _render_summary(own: pl.DataFrame, titles: Mapping[str, str]) -> str:
    def row(name: Html, frame: pl.DataFrame) -> list[Html]:
        return [name, *map(number, count_pairs(frame).values())]

    tables = own["table_name"].unique(maintain_order=True)
    rows = [row(name_table(table, titles), own.filter(pl.col("table_name") == table)) for table in tables]
    total = row(Html("All tables"), own)
    return render_table(SUMMARY_HEADER, rows, title="Pairs by table", numbers=range(1, 7), total=total, is_text=True)


def _render_cells(
    own: pl.DataFrame,
    table: str,
    titles: Mapping[str, str],
    algorithms: list[str],
    heads: Mapping[str, str],
    *,
    has_cells: bool,
) -> str:
    comparison = own["comparison"][0]
    title, other_name = titles.get(table, table), OTHERS[comparison]
    heading = f"## {escape_text(title)} {{#{make_label(comparison, table)}}}"
    beside = render_published_beside(own, table, title, other_name, heads, algorithms)
    if not has_cells:
        return f"{heading}\n\n{beside}\n"
    link = f"[The table here](tables.qmd#{make_label('table', table)})"
    return f"{heading}\n\n{_describe_rates(own)} {link}.\n\n{beside}\n\n{_list_all_cells(own, title, algorithms)}"


def _list_all_cells(own: pl.DataFrame, title: str, algorithms: list[str]) -> str:
    there, here = rate_unit(own["expected_bps"]), rate_unit(own["rate_mean_bps"])
    ratio, other_name = "/".join(algorithms[:2]), OTHERS[own["comparison"][0]]
    header = (
        "Cell",
        "Algorithm",
        f"{other_name}, {there[1]}",
        f"Here, {here[1]}",
        "Difference, ratio",
        "Verdict",
        "Runs",
        f"{ratio}, {other_name.lower()} and here",
    )
    shown_pairs = set(own.filter(algorithm=algorithms[0])["cell"])
    rows = [
        _list_cells(row, (there[0], here[0]), _show_pair(row, algorithms, shown_pairs))
        for row in own.iter_rows(named=True)
    ]
    shown = render_table(header, rows, title=title, numbers=(2, 3, 4, 6))
    below = f"Below each cell is its {SCALES[scale].partition(',')[0]}." if (scale := _find_scale(own)) else ""
    return (
        f"{open_fold('Each cell with its difference, ratio, interval and runs')}\n{below}\n\n{shown}\n\n{close_fold()}"
    )


def _describe_rates(own: pl.DataFrame) -> str:
    """Return which rates are compared, and how cells are matched."""
    there, here = (sorted(set(own[name].drop_nulls())) for name in ("expected_basis", "rate_basis"))
    compared = f"The published rates are taken as {_name_bases(there)}, those here are {_name_bases(here)}."
    sentences = [compared if there else f"The rates here are {_name_bases(here)}."]
    lines = own["line_rate_bps"].drop_nulls().unique().sort()
    if lines.len() and own["expected_line_rate_bps"].drop_nulls().len():
        divisor, unit = rate_unit(lines)
        here_rate = f"{' to '.join(f'{rate / divisor:g}' for rate in dict.fromkeys((lines[0], lines[-1])))} {unit}"
        published = f"{own['expected_line_rate_bps'].drop_nulls()[0] / 1e9:g} Gbit/s"
        rates = f"{published} in both" if published == here_rate else f"{published} there and {here_rate} here"
        sentences.append(f"Cells are compared by their shares of the line rate ({rates}).")
    if scale := _find_scale(own):
        match = MATCHES[own["match"].drop_nulls()[0]].format(SCALES[scale])
        sentences.append(f"{match} {_compare_matches(own)}")
    return markdown(" ".join(sentences))


def _find_scale(own: pl.DataFrame) -> str | None:
    return next((scale for scale in SCALES if own[f"expected_{scale}_ratio"].count()), None)


def _compare_matches(own: pl.DataFrame) -> str:
    """Return what the counts of pairs would be by the other way to match cells; nothing where they are the same."""
    counts, others = (
        count_pairs(own.with_columns(pair_verdict=pl.col(verdict)))
        for verdict in ("pair_verdict", "other_pair_verdict")
    )
    if counts == others:
        return ""
    way = {"name": "by effect", "dimensionless": "by name"}[own["match"].drop_nulls()[0]]
    told = f"{others['reproduced']} of {others['compared']} pairs are reproduced"
    told = ", ".join(filter(None, (told, tell_other_pairs(others))))
    return (
        f"Matched {way} instead, {told}; as matched here it is {counts['reproduced']} of "
        f"{counts['compared']}, {counts['not_reproduced']} and {counts['undecided']}."
    )


def _name_bases(bases: list[str]) -> str:
    return " and ".join(BASES[basis] for basis in bases) or "rates of an unknown kind"


def _show_pair(row: Mapping[str, Any], algorithms: list[str], shown: set[str]) -> Html:
    """Return the pair in the row of its first algorithm, of which `shown` has the cells; then nothing in the second."""
    if row["algorithm"] == algorithms[0]:
        return _pair(row)
    is_second = row["algorithm"] in algorithms[:2] and row["cell"] in shown
    return BLANK if is_second else Html(f"<strong>{judge_pair(row)}</strong>")


def _list_cells(row: Mapping[str, Any], divisors: tuple[float, float], pair: Html) -> list[Html]:
    return [
        show_cell(row),
        text(row["algorithm"]),
        _stack(row["expected_bps"], divisors[0], row["expected_share_ratio"]),
        _stack(
            row["rate_mean_bps"], divisors[1], row["share_ratio"], (row["share_low_ratio"], row["share_high_ratio"])
        ),
        show_deviation(row["value_ratio"], row["value_low_ratio"], row["value_high_ratio"]),
        _show_verdict(row),
        number(row["runs_count"]),
        pair,
    ]


def _show_verdict(row: Mapping[str, Any]) -> Html:
    """Return the verdict on a cell, and where it is undecided why, or how many runs would tell."""
    why = explain_undecided(row)
    return Html(text(name_verdict(row)) + (f"<br><small>{text(why)}</small>" if why else ""))


def judge_pair(row: Mapping[str, Any]) -> str:
    """Return what became of a pair in words."""
    return str(row["cell_state"] if row["cell_state"] != COMPARED else row["pair_verdict"] or "no pair")


def _pair(row: Mapping[str, Any]) -> Html:
    there = show_ratio(row["pair_expected_ratio"], row["pair_expected_low_ratio"], row["pair_expected_high_ratio"])
    here = show_ratio(row["pair_ratio"], row["pair_low_ratio"], row["pair_high_ratio"])
    off = f", factor {show_plain(factor, 2)}" if (factor := row["pair_factor_ratio"]) is not None else ""
    told = ": ".join(filter(None, (judge_pair(row), explain_pair(row))))
    return Html(f"{there} and {here}<br><strong>{text(told)}</strong>{text(off) if off else ''}")


def _stack(
    rate: float | None, divisor: float, share: float | None, interval: tuple[float | None, float | None] = (None, None)
) -> Html:
    """Return a rate and below it, in %, its share of the line rate with the interval."""
    if rate is None:
        return text(None)
    low, high = interval
    bounds = f" ({100 * low:.1f}–{100 * high:.1f})" if low is not None and high is not None else ""
    below = f"<br><small>{100 * share:.1f} %{bounds}</small>" if share is not None else ""
    return Html(f"{text(format_number(rate / divisor, 2))}{below}")
