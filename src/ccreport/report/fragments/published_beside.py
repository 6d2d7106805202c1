"""A published table beside this archive's: means and CVs of both in the rows and columns of the publication."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

import polars as pl

from ccreport.compare.pairs import SUSPECT
from ccreport.compare.verdicts import CONSISTENT, INCONSISTENT, UNDECIDED
from ccreport.core.text import make_label
from ccreport.report.markup.blocks import Html, text
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.report.markup.table_box import open_table_box
from ccreport.summarise.grids.grid import (
    MISSING,
    Cell,
    Grid,
    count_decimals,
    format_number,
    format_size,
    rate_unit,
)
from ccreport.summarise.grids.headings import format_name, write_heading
from ccreport.summarise.grids.html import format_html
from ccreport.summarise.grids.plain_numbers import show_plain

# Of inconsistent cells the page says whether they are less apart than this.
NEAR: Final = 0.05
# What pages call the verdicts on a cell: how far two rates are apart, and whether their intervals can tell.
WITHIN: Final = "same within the intervals"
NEARLY: Final = f"differs by less than {100 * NEAR:g} %"
APART: Final = "differs"
ROW_KEYS: Final = ("test_group", "sender_speed", "path_class", "buffer_bytes", "sharing", "flows_count")
COLUMN_KEYS: Final = ("rtt_bucket", "algorithm")
# What stands behind a mean of this archive, and what that says; one that is the same within the intervals has nothing.
SIGNS: Final = {
    "≈": f"≈ {NEARLY}",
    "≠": f"≠ {APART} by more",
    "?": "? undecided",
    "!": "! looks wrong in the publication",
}

# What cells are matched by, and where it stands.
SCALES: Final = {
    "bdp": "buffer in bandwidth-delay products",
    "loss_window": (
        "p · BDP² (the loss p as a fraction and the bandwidth-delay product in segments), which sets the window that "
        "CUBIC can keep under that loss"
    ),
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
    headings = [other_name, "CV", "Here", "CV", "=?"]
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
        notes=[f"{'; '.join([*signs, 'no sign: not distinguishable'])}."] if signs else [],
        caption=f"Means in {unit}; CV in %",
        less=("CV",),
    )
    label = escape_text(f"{title}, beside each other")
    shown = format_html(grid)
    box = open_table_box(shown, label, "beside", of_group=5)
    return fence_html(f"{box}\n{shown}\n</div>")


def show_cell(row: Mapping[str, Any]) -> Html:
    """Return the cell, and below it the quantity that acts in it there and here, with the name of the cell here."""
    there = next(((scale, value) for scale in SCALES if (value := row[f"expected_{scale}_ratio"]) is not None), None)
    if there is None:
        return text(row["cell"])
    scale, number_there = there
    number_here = row[f"matched_{scale}_ratio"]
    size, group = row["matched_buffer_bytes"], row["matched_test_group"]
    own = "" if number_here is None else f", here {show_plain(number_here)} ({format_size(size) if size else group})"
    named = {"bdp": f"{show_plain(number_there)} BDP", "loss_window": f"p · BDP² {show_plain(number_there)}"}[scale]
    return Html(f"{text(row['cell'])}<br><small>{text(f'{named}{own}')}</small>")


def _choose_keys(own: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the columns that name rows and those that name columns; where they are too few, cells' names."""
    rows, across = ([key for key in keys if own[key].n_unique() > 1] for keys in (ROW_KEYS, COLUMN_KEYS))
    if rows and across and not own.select(rows + across).is_duplicated().any():
        return rows, across
    return ["cell"], ["algorithm"]


def name_verdict(row: Mapping[str, Any]) -> str:
    """Return what pages call the verdict on a cell."""
    if is_close(row):
        return NEARLY
    verdict = row["cell_verdict"]
    return {CONSISTENT: WITHIN, INCONSISTENT: APART}.get(verdict, str(verdict))


def is_close(row: Mapping[str, Any]) -> bool:
    """Tell whether the rates of an inconsistent cell are less than `NEAR` apart."""
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
