"""Tables of which the evaluation chooses the measures: without what no row has, and with columns side by side."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ccreport.core.tables import Column, TableSchema
from ccreport.summarise.grids.grid import MISSING, Cell, Grid
from ccreport.summarise.grids.headings import head_column, write_heading
from ccreport.summarise.grids.order import order_groups
from ccreport.summarise.grids.plain_numbers import name_basis
from ccreport.summarise.grids.settings import span_groups
from ccreport.summarise.grids.shown_columns import find_ends
from ccreport.summarise.questions import LABELS
from ccreport.summarise.table_sources import BETWEEN_LABELS


def select_measures(summary: pl.DataFrame, schema: TableSchema, declared: Mapping[str, Any]) -> pl.DataFrame:
    """Return the key and the declared measures with the ends of their intervals, of each what any row has."""
    intervals = find_ends(summary.columns)
    measures = {name for measure in declared["measures"] for name in (measure, *intervals.get(measure, ()))}
    chosen = [name for name in summary.columns if name in schema.key or name in measures]
    return summary.select(name for name in chosen if summary.is_empty() or summary[name].count())


def show_labels(
    summary: pl.DataFrame, schema: TableSchema, declared: Mapping[str, Any]
) -> tuple[pl.DataFrame, TableSchema]:
    """Return a table and its schema with a column for each label that the evaluation names, in place of `labels`."""
    if LABELS not in schema.key:
        return summary, schema
    named = [*declared.get("rows", ()), *declared.get("columns", ())]
    own = [name for name in named if name not in schema.polars]
    pattern = BETWEEN_LABELS.join(f"{re.escape(name)}=(.*)" for name in own)
    values = [pl.col(LABELS).str.extract(f"(?s)^{pattern}$", n).replace("", None) for n, _ in enumerate(own, start=1)]
    shown = summary.select(*(value.alias(name) for name, value in zip(own, values, strict=True)), pl.exclude(LABELS))
    columns = [Column(name, "string", f"The label `{name}`.", "evaluation, labels", nullable=True) for name in own]
    others = (column for column in schema.columns if column.name != LABELS)
    key = (*own, *(name for name in schema.key if name != LABELS))
    return shown, replace(schema, key=key, columns=(*columns, *others))


def order_columns(schema: TableSchema, rows: Sequence[str]) -> TableSchema:
    """Return a schema in which the columns that name rows come in the order in which the evaluation names them."""
    names = [column.name for column in schema.columns]
    own = iter([name for name in rows if name in names])
    columns = {column.name: column for column in schema.columns}
    return replace(schema, columns=tuple(columns[next(own) if name in rows else name] for name in names))


def select_rows(grid: Grid, numbers: Sequence[int]) -> Grid:
    """Return a grid of the rows of these numbers, in their order."""
    return replace(grid, names=[grid.names[row] for row in numbers], cells=[grid.cells[row] for row in numbers])


def head_rows(grid: Grid, headings: Mapping[str, str]) -> Grid:
    """Return a grid with the evaluation's headings of columns that name its rows, by these columns' names."""
    own = {write_heading(name): head_column(name, heading) for name, heading in headings.items()}
    first = own.get((grid.stubs or [""])[0], "")
    return replace(grid, stubs=[own.get(stub, stub) for stub in grid.stubs], own_head=first)


def name_rates(grid: Grid, bases: Collection[str]) -> Grid:
    """Return a grid whose headings say which rate its rates are, "Throughput mean", where all are of one basis."""
    if len(bases) != 1:
        return grid
    (basis,) = bases
    headings = [name_basis(heading, basis) for heading in grid.headings]
    return replace(grid, headings=headings) if len({*headings}) == len({*grid.headings}) else grid


def set_side_by_side(grid: Grid, rows: pl.DataFrame, columns: Sequence[str]) -> Grid:
    """Return a grid of rows in which the values of the columns, which name them, are above its headings instead.

    Columns that do not name its rows, since they have one value, are left alone.
    """
    above = [column for column in columns if write_heading(column) in grid.stubs]
    places = [grid.stubs.index(write_heading(column)) for column in above]
    others = [place for place in range(len(grid.stubs)) if place not in places]
    if not places or not others:
        return grid
    keys = [tuple(names[place] for place in others) for names in grid.names]
    groups = rows.select(above).rows()
    cells = dict(zip(zip(keys, groups, strict=True), grid.cells, strict=True))
    ordered, width = order_groups(above, groups, keys), len(grid.headings)
    absent = [Cell(MISSING)] * width
    return replace(
        grid,
        stubs=[grid.stubs[place] for place in others],
        names=[list(key) for key in dict.fromkeys(keys)],
        spanners=[span_groups(above, ordered, level, width) for level in range(len(places))],
        headings=grid.headings * len(ordered),
        is_number=grid.is_number * len(ordered),
        cells=[[cell for group in ordered for cell in cells.get((key, group), absent)] for key in dict.fromkeys(keys)],
    )
