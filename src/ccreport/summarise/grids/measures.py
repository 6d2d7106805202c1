"""Tables of which the evaluation chooses the measures: without what no row has, and with columns side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ccreport.core.tables import TableSchema
from ccreport.summarise.grids.cells import find_intervals, order_groups, span_groups
from ccreport.summarise.grids.grid import MISSING, Cell, Grid
from ccreport.summarise.grids.headings import write_heading


def select_measures(summary: pl.DataFrame, schema: TableSchema, declared: Mapping[str, Any]) -> pl.DataFrame:
    """Return the key and the declared measures with the ends of their intervals, of each what any row has."""
    intervals = find_intervals(summary.columns)
    measures = {name for measure in declared["measures"] for name in (measure, *intervals.get(measure, ()))}
    chosen = [name for name in summary.columns if name in schema.key or name in measures]
    return summary.select(name for name in chosen if summary.is_empty() or summary[name].count())


def set_side_by_side(grid: Grid, columns: Sequence[str]) -> Grid:
    """Return a grid in which the values of the columns, which name its rows, are above its headings instead.

    Columns that do not name its rows, since they have one value, are left alone.
    """
    headings = [write_heading(column) for column in columns]
    places = [grid.stubs.index(heading) for heading in headings if heading in grid.stubs]
    others = [place for place in range(len(grid.stubs)) if place not in places]
    if not places or not others:
        return grid
    keys = [tuple(names[place] for place in others) for names in grid.names]
    groups = [tuple(names[place] for place in places) for names in grid.names]
    cells = dict(zip(zip(keys, groups, strict=True), grid.cells, strict=True))
    ordered, width = order_groups(groups), len(grid.headings)
    absent = [Cell(MISSING)] * width
    return replace(
        grid,
        stubs=[grid.stubs[place] for place in others],
        names=[list(key) for key in dict.fromkeys(keys)],
        spanners=[span_groups(ordered, level, width) for level in range(len(places))],
        headings=grid.headings * len(ordered),
        is_number=grid.is_number * len(ordered),
        cells=[[cell for group in ordered for cell in cells.get((key, group), absent)] for key in dict.fromkeys(keys)],
    )
