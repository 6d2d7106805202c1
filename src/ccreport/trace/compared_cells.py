"""What the reproduction says of a cell of a published table: what it was compared with, and the verdicts on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.core.tables import load_schema
from ccreport.trace.shown_runs import show_value

REPRODUCTION: Final = "reproduction.parquet"
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
        width = max(map(len, facts))
        lines += ["", f"Compared with that of {cell['comparison']}, {cell['cell']}, {cell['algorithm']}:"]
        lines += [f"  {name:{width}}  {show_value(value)}" for name, value in facts.items()]
    return lines
