"""A published table beside this archive's: means and CVs of both in the rows and columns of the publication."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from ccreport.compare.pairs import SUSPECT
from ccreport.compare.reproduction import COMPARED
from ccreport.compare.verdicts import CONSISTENT, INCONSISTENT, UNDECIDED
from ccreport.core.evaluation import ALGORITHM
from ccreport.core.text import count_are, count_things, make_label
from ccreport.report.fragments.compared_pairs import tell_few_runs
from ccreport.report.markup.blocks import Html, text
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.report.markup.table_box import open_table_box
from ccreport.summarise.database import connect
from ccreport.summarise.grids.formats.html import format_html
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
from ccreport.summarise.grids.measures import head_rows
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.grids.publication import list_rtts

# Of inconsistent cells the page says whether they are less apart than this.
NEAR: Final = 0.05
# What pages call the verdicts on a cell: how far two rates are apart, and whether their intervals can tell.
WITHIN: Final = "same within the intervals"
NEARLY: Final = f"differs by less than {100 * NEAR:g} %"
APART: Final = "differs"
ROW_KEYS: Final = ("test_group", "sender_speed", "path_class", "buffer_bytes", "sharing", "flows_count")
COLUMN_KEYS: Final = ("rtt_bucket", ALGORITHM)
# The columns of each cell, of which the first is named after the publication, and the groups that they are in.
OTHER: Final = "Paper"
SIGN: Final = "=?"
HEADINGS: Final = (OTHER, "Here", SIGN, OTHER, "Here")
GROUPS: Final = [("Mean", 3), ("CV", 2)]
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


def read_heads(database: Path, compared: pl.DataFrame, tables: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return by table what its RTT buckets are called, with the round-trip times that they have here, and its columns.

    `database` is the evaluation's, `compared` are rows as `compare_tables` writes them, `tables` those that the
    evaluation declares, with headings of their own.
    """
    own: dict[str, dict[str, str]] = {name: {**facts["headings"]} for name, facts in tables.items()}
    with_buckets = compared.filter(pl.col("rtt_bucket").is_not_null())["table_name"].unique().sort()
    with connect(database) as connection:
        return own | {table: own.get(table, {}) | list_rtts(connection, table) for table in with_buckets}


def render_published_beside(
    own: pl.DataFrame,
    table: str,
    title: str,
    other_name: str,
    heads: Mapping[str, str] = MappingProxyType({}),
    algorithms: Sequence[str] = (),
) -> str:
    """Return the compared cells of a table (rows as `compare_tables` writes them) as an HTML table.

    Rates are in Gbit/s or Mbit/s, or in per cent of the line rate where the two line rates differ; CVs in per cent.
    `heads` are names of RTT buckets and columns, as `read_heads` has them of a table; `algorithms` are in their order.
    """
    rows, across = _choose_keys(own)
    columns = _order_columns(own.select(across).unique(maintain_order=True).rows(), across, algorithms)
    names = own.select(rows).unique(maintain_order=True).rows()
    here = {(*(row[key] for key in rows), *(row[key] for key in across)): row for row in own.iter_rows(named=True)}
    wanted, divisor, unit = _choose_measure(own)
    cells = [
        [cell for column in columns for cell in _list_cells(here.get((*name, *column)), wanted, divisor)]
        for name in names
    ]
    of_cell = len(HEADINGS)
    headings = [other_name if heading == OTHER else heading for heading in HEADINGS]
    used = {cell.text for row in cells for cell in row[HEADINGS.index(SIGN) :: of_cell]}
    signs = [said for sign, said in SIGNS.items() if sign in used]
    grid = Grid(
        table=make_label(own["comparison"][0], table) + "-beside",
        title=title,
        stubs=[write_heading(key) for key in rows],
        names=[[format_name(key, value) for key, value in zip(rows, name, strict=True)] for name in names],
        spanners=[
            *(list(_span(columns, level, heads)) for level in range(len(across))),
            GROUPS * len(columns),
        ],
        headings=headings * len(columns),
        is_number=[heading != SIGN for heading in HEADINGS] * len(columns),
        cells=cells,
        notes=[f"{'; '.join([*signs, 'no sign: not distinguishable'])}."] if signs else [],
        caption=f"Means in {unit}; CV in %",
        less=[place for place in range(of_cell * len(columns)) if place % of_cell >= GROUPS[0][1]],
    )
    label = escape_text(f"{title}, beside each other")
    shown = format_html(head_rows(grid, {key: heads[key] for key in rows if key in heads}))
    box = open_table_box(shown, label, "beside", of_group=of_cell)
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
    return ["cell"], [ALGORITHM]


def _order_columns(
    columns: list[tuple[Any, ...]], across: Sequence[str], algorithms: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return the columns side by side that are of one bucket, in each the algorithms in their order."""
    if across[-1] != ALGORITHM:
        return columns
    buckets = list(dict.fromkeys(column[:-1] for column in columns))
    known = [*algorithms, *(column[-1] for column in columns)]
    return sorted(columns, key=lambda column: (buckets.index(column[:-1]), known.index(column[-1])))


def name_verdict(row: Mapping[str, Any]) -> str:
    """Return what pages call the verdict on a cell, of one that is missing here that it is."""
    if is_close(row):
        return NEARLY
    verdict = row["cell_verdict"]
    return {CONSISTENT: WITHIN, INCONSISTENT: APART}.get(verdict, verdict or str(row["cell_state"]))


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
    """Yield what is below `HEADINGS`: the mean of a cell there and here with the sign of its verdict, and both CVs."""
    if row is None:
        yield from (Cell("" if heading == SIGN else MISSING) for heading in HEADINGS)
        return
    for mean in wanted:
        value = None if row[mean] is None else row[mean] / divisor
        yield Cell(format_number(value, 0 if value is None else min(3, count_decimals(value))))
    yield Cell(_sign(row))
    for cv in ("expected_cv", "rate_cv"):
        yield Cell(format_number(None if row[cv] is None else 100 * row[cv], 1))


def _sign(row: Mapping[str, Any]) -> str:
    if row["cell_state"] == SUSPECT:
        return "!"
    if is_close(row):
        return "≈"
    return {INCONSISTENT: "≠", UNDECIDED: "?"}.get(row["cell_verdict"], "")


def _span(columns: list[tuple[Any, ...]], level: int, names: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the headings of a level above the columns, and how many columns of the table each spans."""
    for name, spanned in groupby(columns, key=lambda column: column[: level + 1]):
        yield names.get(name[-1], str(name[-1])), len(HEADINGS) * len(list(spanned))


def tell_cells(own: pl.DataFrame) -> str:
    """Return how many of the cells that are compared are the same, differ, or are undecided."""
    cells = own.filter(pl.col("cell_state") == COMPARED).drop_nulls("cell_verdict")
    named = Counter(map(name_verdict, cells.iter_rows(named=True)))
    # 21 are the same within the intervals, 19 differ by less than 5 % and 38 by more · 3 are the same … and 2 differ
    nearly, apart = named[NEARLY], named[APART]
    differ = [f"{_differ(nearly)} by less than {100 * NEAR:g} %"] if nearly else []
    differ += [f"{apart:,} by more" if nearly else _differ(apart)] if apart else []
    same = [f"{count_are(named[WITHIN])} the {WITHIN}"] if named[WITHIN] else []
    decided = (", " if len(differ) > 1 else " and ").join(filter(None, (*same, " and ".join(differ))))
    undecided = f"{count_are(named[UNDECIDED])} undecided{tell_few_runs(cells)}" if named[UNDECIDED] else ""
    said = "; ".join(filter(None, (decided, undecided)))
    return f"Of {count_things(cells.height, 'single cell')}, {said}." if said else "No single cell can be compared."


def _differ(count: int) -> str:
    return f"{count:,} {'differs' if count == 1 else 'differ'}"
