"""The finding about variation: whose rates vary more from run to run, by the ratio of the mean CVs at each RTT."""

from typing import Any, Final

import polars as pl

from ccreport.core.text import make_label
from ccreport.report.first_page.variation import STABILITY
from ccreport.report.fragments.first_page.rate_findings import PARAGRAPH
from ccreport.report.fragments.first_page.short_answers import join_parts
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.grids.publication import join_rtts

# CVs have two digits that mean something.
DIGITS: Final = 2


def describe_variation(variation: pl.DataFrame) -> list[str]:
    """Return whose mean CV is how many times the other's at each RTT, as Markdown; nothing without rows.

    `variation` is as `read_variation` returns it.
    """
    if variation.is_empty():
        return []
    lines = [(f"{escape_text(_name_rtts(row))}", _tell(row)) for row in variation.iter_rows(named=True)]
    cells = " to ".join(map(str, dict.fromkeys(variation["cells_count"].sort().gather([0, -1]))))
    table = f"[coefficients of variation (CV)](tables.qmd#{make_label('table', STABILITY)})"
    means = f"Ratios of the mean {table} of the rates over {cells} conditions; in brackets 95 &#37; intervals."
    return [f"**Which varies more from run to run?** {join_parts(lines)}{PARAGRAPH}{means}"]


def _name_rtts(row: dict[str, Any]) -> str:
    return f"{join_rtts(sorted(row['rtts_ms']))} ms" if row["rtts_ms"] else row["rtt_bucket"]


def _tell(row: dict[str, Any]) -> str:
    """Return "CUBIC's CV is 17 times BBR's (9.7–30): 3.3 % against 0.19 %; in the paper 4.2 times"."""
    names, cvs = (row["first_algorithm"], row["second_algorithm"]), (row["first_cv"], row["second_cv"])
    if row["ratio"] is None:
        return "the CVs cannot be compared"
    is_second = row["ratio"] >= 1
    (more, less), (high, low) = (pair[:: -1 if is_second else 1] for pair in (names, cvs))

    def turn(ratio: float) -> str:
        return show_plain(ratio if is_second else 1 / ratio, DIGITS)

    ends = [row[end] for end in (("low", "high") if is_second else ("high", "low"))]
    interval = "" if None in ends else f" ({turn(ends[0])}–{turn(ends[1])})"
    is_open = None in ends or row["low"] <= 1 <= row["high"]
    percent = f"{show_plain(100 * high, DIGITS)} % against {show_plain(100 * low, DIGITS)} %"
    paper = "" if row["paper_ratio"] is None else f"; in the paper {turn(row['paper_ratio'])} times"
    said = f"{more}’s CV is {turn(row['ratio'])} times {less}’s{interval}, {percent}{paper}"
    return escape_text(f"undecided, {said}" if is_open else said)
