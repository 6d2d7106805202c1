"""What the reproduction says of a cell of a published table: what it was compared with, and the verdicts on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.compare.verdicts import PAIR_FACTOR
from ccreport.core.tables import load_schema
from ccreport.trace.shown_runs import show_numbers

REPRODUCTION: Final = "reproduction.parquet"
OTHERS: Final = {"paper": "the paper", "archive": "the other archive"}
# Both sides have the same quantities: there is the paper's, here this archive's.
HEADINGS: Final = {
    "cell_state": "State",
    "match": "Matched by",
    "matched_buffer_bytes": "Matched with the buffer here (bytes)",
    "matched_test_group": "Matched with the loss here",
    "expected_bdp_ratio": "Buffer there (BDP)",
    "matched_bdp_ratio": "Buffer here (BDP)",
    "expected_loss_window_ratio": "Loss × BDP² there",
    "matched_loss_window_ratio": "Loss × BDP² here",
    "expected_basis": "Rate there",
    "expected_bps": "Mean rate there (Mbit/s)",
    "expected_cv": "CV there (%)",
    "expected_runs_count": "Runs there",
    "expected_line_rate_bps": "Line rate there (Mbit/s)",
    "line_rate_bps": "Line rate here (Mbit/s)",
    "expected_share_ratio": "Share of the line rate there",
    "share_ratio": "Share of the line rate here",
    "value_ratio": "Here over there",
    "cell_verdict": "Verdict on the cell",
    "needed_runs_count": "Runs that would decide",
    "pair_expected_ratio": "Ratio of the pair's rates, there",
    "pair_ratio": "Ratio of the pair's rates, here",
    "pair_factor_ratio": "Ratio here over ratio there",
    "pair_p_holm_ratio": "p of a ratio of 1 here (Holm)",
    "pair_verdict": "Verdict on the pair",
    "other_cell_verdict": "Verdict on the cell, matched the other way",
    "other_pair_verdict": "Verdict on the pair, matched the other way",
}
RULES: Final = (
    "  There: where it was compared with; here: this archive. A pair's rates: the first algorithm's over the second's.",
    "  Inconsistent: the interval of here over there does not contain 1. Not reproduced: the pair's other algorithm is",
    f"  clearly ahead, or its ratios surely differ by a factor above {PAIR_FACTOR:g}. All rules: page Reproduction.",
)
MATCHING: Final = (
    "  Matched by name: with the cell here of that name. Dimensionless: with that whose condition has the same effect,",
    "  by its buffer over the bandwidth-delay product (BDP), or by its loss times the square of the BDP in segments.",
    "  Matched the other way: as the other of these two has it.",
)
# What names a cell, and is said above its numbers.
NAMES: Final = frozenset({"comparison", "table_name", "cell_number", "cell"})


def show_compared(folder: Path, table: str, row: Mapping[str, Any]) -> list[str]:
    """Return lines on each cell that a row of a table was compared with; none where the folder has no reproduction."""
    path = folder / REPRODUCTION
    if not path.is_file():
        return []
    cells = pl.read_parquet(path).filter(pl.col("table_name") == table)
    keys = [name for name in load_schema(table).key if name in cells.columns]
    for name in keys:
        # A published cell may be compared with one of another name, where conditions bite alike.
        matched = [f"matched_{name}"] if f"matched_{name}" in cells.columns else []
        cells = cells.filter(pl.coalesce(*matched, name).eq_missing(pl.lit(row[name])))
    lines = []
    for cell in cells.sort("comparison", "cell_number").iter_rows(named=True):
        facts = {name: value for name, value in cell.items() if value is not None and name not in {*NAMES, *row}}
        lines += ["", f"Compared with {OTHERS[cell['comparison']]}, {cell['cell']}, {cell['algorithm']}:"]
        lines += [*show_numbers(facts, HEADINGS), *RULES, *(MATCHING if "match" in facts else ())]
    return lines
