"""Published tables as grids: cells by row and column where the evaluation names these, else row by row."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

import polars as pl

from ccreport.core.errors import InputError
from ccreport.core.tables import Column, TableSchema
from ccreport.summarise.grids.grid import (
    MISSING,
    Cell,
    Grid,
    format_ends,
    format_measured,
    format_size,
    rate_unit,
)
from ccreport.summarise.grids.headings import (
    describe_shared,
    format_name,
    name_quantities,
    name_value,
    write_heading,
    write_words,
)

LEGEND: Final = (
    "below M and CV their 95 % intervals, and below CV the mean CV within conditions and n, the number of runs"
)
BETTER: Final = "Bold: faster, or with fewer retransmits, by the verdict of the table of comparisons."
# rate_low_bps and rate_high_bps are the interval of rate_mean_bps.
LOW: Final = re.compile(r"(?P<stem>\w+)_low_(?P<unit>\w+)")
# By column, the rows whose number a verdict makes bold.
Bold = Mapping[str, pl.Series]
NOTHING_BOLD: Final[Bold] = {}


def lay_out_cells(
    summary: pl.DataFrame, table: str, declared: dict[str, Any], notes: list[str], bold: Bold = NOTHING_BOLD
) -> Grid:
    """Return a table of cells: one row per combination of `rows`, mean and CV for each combination of `columns`.

    Raise InputError where the evaluation's rows and columns do not tell the cells apart.
    """
    rows, columns = declared["rows"], declared["columns"]
    if summary.select(*rows, *columns).is_duplicated().any():
        raise InputError(f"{table}: rows {rows} and columns {columns} of the evaluation do not tell its cells apart")
    divisor, unit = rate_unit(summary["rate_mean_bps"])
    groups = order_groups(summary.select(columns).rows())
    keys = list(dict.fromkeys(summary.select(rows).rows()))
    better = bold.get("rate_mean_bps", pl.repeat(value=False, n=summary.height, dtype=pl.Boolean, eager=True))
    cells = {
        (tuple(row[name] for name in rows), tuple(row[name] for name in columns)): _make_pair(row, divisor, number)
        for number, row in enumerate(summary.with_columns(is_better=better).iter_rows(named=True), start=1)
    }
    return Grid(
        table=table,
        title=declared["title"],
        stubs=[declared["headings"].get(name, name) for name in rows],
        names=[[format_name(name, value) for name, value in zip(rows, key, strict=True)] for key in keys],
        spanners=[span_groups(groups, level, 2) for level in range(len(columns))],
        headings=["M", "CV"] * len(groups),
        is_number=[True, True] * len(groups),
        cells=[
            [cell for group in groups for cell in cells.get((key, group), (Cell(MISSING), Cell(MISSING)))]
            for key in keys
        ],
        notes=[*notes, f"M in {unit}.", *([BETTER] if better.any() else [])],
        legend=f"{LEGEND[0].upper()}{LEGEND[1:]}.",
    )


def order_groups(groups: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return each combination once, those with the same first value side by side, in order of appearance."""
    places = [{value: n for n, value in enumerate(dict.fromkeys(level))} for level in zip(*groups, strict=True)]
    return sorted(set(groups), key=lambda group: [place[value] for place, value in zip(places, group, strict=True)])


def span_groups(groups: list[tuple[Any, ...]], level: int, width: int) -> list[tuple[str, int]]:
    """Return the headings of a level above groups of columns, each so many wide: text, and columns that it spans."""
    spans: dict[tuple[Any, ...], int] = {}
    for group in groups:
        spans[group[: level + 1]] = spans.get(group[: level + 1], 0) + width
    return [(format_name("", key[-1]), width) for key, width in spans.items()]


def _make_pair(row: dict[str, Any], divisor: float, number: int) -> tuple[Cell, Cell]:
    rates = [row[f"rate_{part}_bps"] for part in ("mean", "low", "high")]
    scaled = [None if rate is None else rate / divisor for rate in rates]
    mean, interval = format_measured(*scaled)
    cv, _ = format_measured(row["rate_cv"])
    cv_interval = format_ends(row["rate_low_cv"], row["rate_high_cv"]) or MISSING
    within, _ = format_measured(row["rate_within_cv"])
    return (
        Cell(mean, interval=interval or MISSING, number=number, is_better=row["is_better"]),
        Cell(cv, interval=cv_interval, detail=f"{within}, n {row['runs_count']}", number=number),
    )


def lay_out_rows(
    summary: pl.DataFrame, schema: TableSchema, title: str, notes: list[str], bold: Bold = NOTHING_BOLD
) -> Grid:
    """Return a table row by row, rates in a unit that reads well and headings from the columns' names.

    The key columns that come first name a row. Those in which all rows have the same value, or none, are not shown: a
    note says the value. An interval stands with the mean it belongs to.
    """
    summary = name_quantities(summary)
    shared = _find_shared(summary, schema)
    given = [column for column in schema.columns if column.name in summary.columns and column.name not in shared]
    stubs = _find_stubs([column.name for column in given], schema.key)
    intervals = find_intervals([column.name for column in given])
    hidden = {name for ends in intervals.values() for name in ends} | set(stubs)
    shown = [column for column in given if column.name not in hidden]
    known = {name: value for name, value in shared.items() if value is not None}
    laid_out: list[list[Cell]] = []
    headings = []
    has_better = False
    for column in shown:
        ends = intervals.get(column.name)
        better = bold.get(column.name, pl.repeat(value=False, n=summary.height, dtype=pl.Boolean, eager=True))
        cells, heading = _lay_out_column(summary, column, ends, better)
        laid_out.append(cells)
        headings.append(heading)
        has_better = has_better or bool(better.any())
    return Grid(
        table=schema.name,
        title=title,
        stubs=[write_heading(name) for name in stubs],
        names=_name_rows(summary.select(stubs)),
        spanners=[],
        headings=headings,
        is_number=[column.type in ("int", "float") for column in shown],
        cells=[list(cells) for cells in zip(*laid_out, strict=True)],
        notes=[note for note in (*notes, describe_shared(known), BETTER if has_better else "") if note],
        legend="Below a mean or CV its 95 % interval." if intervals else "",
    )


def _find_stubs(names: list[str], key: Collection[str]) -> list[str]:
    """Return the key columns that come first, else the first key column that there is."""
    first = next((number for number, name in enumerate(names) if name not in key), len(names))
    return names[:first] or [name for name in names if name in key][:1]


def _name_rows(keys: pl.DataFrame) -> list[list[str]]:
    names = [[format_name(column, value) for column, value in row.items()] for row in keys.iter_rows(named=True)]
    first = keys.columns[0]
    # As a heading above several rows, a bare number would say nothing.
    if len(keys.columns) > 1 and keys.schema[first].is_numeric() and keys[first].is_duplicated().any():
        return [[name_value(first, value), *others] for value, (_, *others) in zip(keys[first], names, strict=True)]
    return names


def _find_shared(summary: pl.DataFrame, schema: TableSchema) -> dict[str, Any]:
    """Return the key columns in which all of several rows have one value, with that."""
    if summary.height < 2:
        return {}
    return {name: summary[name][0] for name in schema.key if name in summary.columns and summary[name].n_unique() == 1}


def find_intervals(names: list[str]) -> dict[str, tuple[str, str]]:
    """Return, for each mean or CV that has an interval, the columns of its two ends."""
    found = {}
    for name in names:
        low = LOW.fullmatch(name)
        if name.endswith("_mean_low"):
            mean, high = name.removesuffix("_low"), f"{name.removesuffix('_low')}_high"
        elif low:
            mean, high = (f"{low['stem']}_{part}_{low['unit']}" for part in ("mean", "high"))
            # A mean is one statistic of several, a CV is a quantity of its own: rate_cv.
            mean = mean.replace("_mean_cv", "_cv")
        else:
            continue
        if mean in names and high in names:
            found[mean] = (name, high)
    return found


def _lay_out_column(
    summary: pl.DataFrame, column: Column, ends: tuple[str, str] | None, better: pl.Series
) -> tuple[list[Cell], str]:
    factor, heading = _choose_unit(column, summary[column.name])
    values = summary[column.name].to_list()
    if column.type not in ("int", "float"):
        texts = summary[column.name].cast(pl.String).to_list()
        return [Cell(MISSING if text is None else text) for text in texts], heading
    if factor is None:
        is_size = column.name.endswith("_bytes")
        texts = [MISSING if v is None else format_size(v) if is_size else f"{v:.0f}" for v in values]
        return [Cell(text, number=number) for number, text in enumerate(texts, start=1)], heading
    bounds = [summary[name].to_list() for name in ends] if ends else [[None] * len(values)] * 2
    is_cv = column.name.endswith("_cv")
    cells = []
    for number, (value, low, high) in enumerate(zip(values, *bounds, strict=True), start=1):
        if is_cv:
            text, interval = format_measured(value)[0], format_ends(low, high)
        else:
            text, interval = format_measured(*(None if part is None else part * factor for part in (value, low, high)))
        is_better = better[number - 1]
        cells.append(Cell(text, interval=interval or (MISSING if ends else ""), number=number, is_better=is_better))
    return cells, heading


def _choose_unit(column: Column, values: pl.Series) -> tuple[float | None, str]:
    """Return by what the numbers of a column are multiplied, none for whole numbers, and the column's heading."""
    stem, _, suffix = column.name.rpartition("_")
    heading = write_heading(column.name)
    if suffix == "bps":
        divisor, unit = rate_unit(values.cast(pl.Float64))
        return 1 / divisor, f"{heading} ({unit})"
    if column.type != "float" or suffix == "count":
        return None, heading
    is_share = suffix == "ratio" and stem.startswith("retransmit")
    return (100.0, f"{write_words(stem)} (%)") if is_share else (1.0, heading)
