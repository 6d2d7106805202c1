"""A published table beside this archive's: means and CVs of both in the rows and columns of the publication."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

import polars as pl

from ccreport.compare.pairs import SUSPECT
from ccreport.compare.verdicts import INCONSISTENT, UNDECIDED
from ccreport.core.text import make_label
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.summarise.grids.grid import MISSING, Cell, Grid, count_decimals, format_number, rate_unit
from ccreport.summarise.grids.headings import format_name, write_heading
from ccreport.summarise.grids.html import format_html

# Inconsistent cells that are less apart are called close.
NEAR: Final = 0.05
ROW_KEYS: Final = ("test_group", "sender_speed", "path_class", "buffer_bytes", "sharing", "flows_count")
COLUMN_KEYS: Final = ("rtt_bucket", "algorithm")
# What stands behind a mean of this archive, and what that says; a consistent cell has nothing.
SIGNS: Final = {
    "≈": f"≈ close, less than {100 * NEAR:g} % apart",
    "≠": "≠ inconsistent",
    "?": "? undecided",
    "!": "! looks wrong in the publication",
}


def render_published_beside(own: pl.DataFrame, table: str, title: str, other_name: str) -> str:
    """Return the compared cells of a table (rows as `compare_tables` writes them) as an HTML table.

    Rates are in Gbit/s or Mbit/s, or in per cent of the line rate where the two line rates differ; CVs in per cent.
    """
    rows, across = _choose_keys(own)
    columns = own.select(across).unique(maintain_order=True).rows()
    names = own.select(rows).unique(maintain_order=True).rows()
    here = {(*(row[key] for key in rows), *(row[key] for key in across)): row for row in own.iter_rows(named=True)}
    wanted, divisor, unit = _choose_measure(own)
    cells = [
        [cell for column in columns for cell in _list_cells(here.get((*name, *column)), wanted, divisor)]
        for name in names
    ]
    headings = [other_name, "CV", "Here", "CV", ""]
    used = {cell.text for row in cells for cell in row[4::5]}
    signs = [said for sign, said in SIGNS.items() if sign in used]
    grid = Grid(
        table=make_label(own["comparison"][0], table) + "-beside",
        title=title,
        stubs=[write_heading(key) for key in rows],
        names=[[format_name(key, value) for key, value in zip(rows, name, strict=True)] for name in names],
        spanners=[list(_span(columns, level)) for level in range(len(across))],
        headings=headings * len(columns),
        is_number=[True, True, True, True, False] * len(columns),
        cells=cells,
        notes=[f"{'; '.join([*signs, 'no sign: consistent'])}."] if signs else [],
        caption=f"Means in {unit}; CV in %",
        less=("CV",),
    )
    label = escape_text(f"{title}, beside each other")
    region = f'<div class="table-scroll beside" role="region" aria-label="{label}" tabindex="0">'
    return fence_html(f"{region}\n{format_html(grid)}\n</div>")


def _choose_keys(own: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the columns that name rows and those that name columns; where they are too few, cells' names."""
    rows, across = ([key for key in keys if own[key].n_unique() > 1] for keys in (ROW_KEYS, COLUMN_KEYS))
    if rows and across and not own.select(rows + across).is_duplicated().any():
        return rows, across
    return ["cell"], ["algorithm"]


def is_close(row: Mapping[str, Any]) -> bool:
    """Tell whether a cell is called close: inconsistent, but the two rates are less than `NEAR` apart."""
    ratio = row["value_ratio"]
    return row["cell_verdict"] == INCONSISTENT and ratio is not None and abs(ratio - 1) < NEAR


def _choose_measure(own: pl.DataFrame) -> tuple[tuple[str, str], float, str]:
    """Return the columns of the publication's number and of this archive's, and divisor and name of their unit."""
    lines = own.drop_nulls(["expected_line_rate_bps", "line_rate_bps"])
    if lines.filter(pl.col("expected_line_rate_bps") != pl.col("line_rate_bps")).height:
        return ("expected_share_ratio", "share_ratio"), 0.01, "% of the line rate"
    return ("expected_bps", "rate_mean_bps"), *rate_unit(pl.concat([own["expected_bps"], own["rate_mean_bps"]]))


def _list_cells(row: Mapping[str, Any] | None, wanted: tuple[str, str], divisor: float) -> Iterator[Cell]:
    """Yield the mean and CV of a cell there and here, and the sign of its verdict."""
    if row is None:
        yield from [Cell(MISSING)] * 4 + [Cell("")]
        return
    for mean, cv in zip(wanted, ("expected_cv", "rate_cv"), strict=True):
        value = None if row[mean] is None else row[mean] / divisor
        yield Cell(format_number(value, 0 if value is None else min(3, count_decimals(value))))
        yield Cell(format_number(None if row[cv] is None else 100 * row[cv], 1))
    yield Cell(_sign(row))


def _sign(row: Mapping[str, Any]) -> str:
    if row["cell_state"] == SUSPECT:
        return "!"
    if is_close(row):
        return "≈"
    return {INCONSISTENT: "≠", UNDECIDED: "?"}.get(row["cell_verdict"], "")


def _span(columns: list[tuple[Any, ...]], level: int) -> Iterator[tuple[str, int]]:
    """Yield the headings of a level above the columns, and how many columns of the table each spans."""
    for name, spanned in groupby(columns, key=lambda column: column[: level + 1]):
        yield str(name[-1]), 5 * len(list(spanned))
