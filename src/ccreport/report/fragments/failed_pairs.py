"""Pairs of published cells that are not reproduced: each with its ratios, and why, as far as that is known."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from ccreport.compare.pairs import explain_pair
from ccreport.compare.verdicts import NOT_REPRODUCED
from ccreport.report.fragments.plain_numbers import show_figures, show_ratio
from ccreport.report.markup.blocks import Html, render_table, text


def render_failed_pairs(
    compared: pl.DataFrame, titles: Mapping[str, str], algorithms: list[str], other: str, reasons: Mapping[str, str]
) -> str:
    """Return the pairs of one comparison that are not reproduced, those that differ most first, nothing without any.

    `compared` has rows of `reproduction`; `titles` are the tables' by name, `other` is what is compared with, `reasons`
    say what is known of single pairs by the names of their cells.
    """
    failed = compared.filter(pair_verdict=NOT_REPRODUCED, algorithm=algorithms[0])
    said: dict[str, str] = {}
    rows = [
        [
            name_table(row["table_name"], titles),
            text(row["cell"]),
            show_figures(row["pair_expected_ratio"]),
            show_figures(row["pair_ratio"]),
            show_ratio(row["pair_factor_ratio"], row["pair_factor_low_ratio"], row["pair_factor_high_ratio"]),
            _tell_why(row, reasons.get(row["cell"], ""), said),
        ]
        for row in failed.sort(pl.col("pair_factor_ratio").log().abs(), descending=True).iter_rows(named=True)
    ]
    if not rows:
        return "No pair is not reproduced.\n"
    ratio, comparison = "/".join(algorithms[:2]), compared["comparison"][0]
    header = ("Table", "Cell", f"{ratio}, {other.lower()}", f"{ratio}, here", "Factor", "Why")
    which = "pair that is" if len(rows) == 1 else f"{len(rows)} pairs that are"
    heading = f"## The {which} not reproduced {{#{comparison}-worst}}\n\n"
    return heading + render_table(header, rows, title="Pairs not reproduced", numbers=range(2, 5), is_text=True)


def name_table(table: str, titles: Mapping[str, str]) -> Html:
    """Return the beginning of a table's title, "Table III", which is as much as a column has room for."""
    return text(titles.get(table, table).partition(":")[0])


def _tell_why(row: Mapping[str, Any], reason: str, said: dict[str, str]) -> Html:
    """Return by what a pair fails and what is known of the cause; `said` has for which cell a cause was told before."""
    told = f"As for {said[reason]}." if reason in said else reason
    said.setdefault(reason, row["cell"])
    return Html(f"<strong>{text(explain_pair(row))}</strong>{f'. {text(told)}' if reason else ''}")
