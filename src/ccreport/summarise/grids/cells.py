"""Published tables as grids: cells by row and column where the evaluation names these, else row by row."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

import polars as pl

from ccreport.core.errors import InputError
from ccreport.core.tables import Column, TableSchema, load_schema
from ccreport.summarise.grids.grid import (
    INTERVAL,
    MISSING,
    PERCENT,
    Cell,
    Grid,
    count_decimals_of_all,
    format_ends,
    format_least_effect,
    format_measured,
    format_number,
    format_probability,
    format_size,
    rate_unit,
    show_given,
)
from ccreport.summarise.grids.headings import (
    NO_HEADINGS,
    describe_shared,
    format_answer,
    format_name,
    is_percentage,
    name_quantities,
    name_value,
    write_heading,
)
from ccreport.summarise.grids.order import order_groups, order_rows
from ccreport.summarise.grids.settings import span_groups
from ccreport.summarise.grids.shown_columns import ShownColumn, code_phrases, find_ends, leave_out

# What a cell of rows and columns consists of, each in a column of its own.
MEASURES: Final = ("M", INTERVAL, "CV", "Runs")
WHERE_CVS: Final = "The CSV file has the intervals of the CVs, and the mean CVs within single conditions."
BETTER: Final = "Bold: {}, by the verdict of the table of comparisons."
# By column, the rows whose number a verdict makes bold.
Bold = Mapping[str, pl.Series]
# What a publication prints, and the ends of all that round to it, have the digits that they are given with.
PRINTED: Final = frozenset({"published_value", "published_low", "published_high"})
# More digits are those of binary fractions.
ALL_PRINTED: Final = 10
PROBABILITY: Final = re.compile(r"p(_\w+)?_ratio")
LEAST_EFFECT: Final = "least_effect_pct"
NOTHING_BOLD: Final[Bold] = {}
# Sizes that people know by each of their bytes: 1448, not 1.448 kB.
OF_PACKETS: Final = ("mss_", "mtu_")
# Of CVs in per cent: runs that differ by less are alike to any reader.
CV_DECIMALS: Final = 1


def lay_out_cells(
    summary: pl.DataFrame, table: str, declared: dict[str, Any], notes: list[str], bold: Bold = NOTHING_BOLD
) -> Grid:
    """Return a table of cells: one row per combination of `rows`, mean and CV for each combination of `columns`.

    Raise InputError where the evaluation's rows and columns do not tell the cells apart.
    """
    rows, columns = declared["rows"], declared["columns"]
    if summary.select(*rows, *columns).is_duplicated().any():
        left = [name for name in load_schema(table).key if name not in (*rows, *columns)]
        missing = f"; add {' or '.join(f'`{name}`' for name in left)} to either" if left else ""
        raise InputError(
            f"tables.{table}: rows [{', '.join(rows)}] and columns [{', '.join(columns)}] do not tell "
            f"its cells apart{missing}"
        )
    divisor, unit = rate_unit(summary["rate_mean_bps"])
    decimals = count_decimals_of_all((summary["rate_mean_bps"].drop_nulls() / divisor).to_list())
    groups = order_groups(columns, summary.select(columns).rows(), range(summary.height))
    keys = list(dict.fromkeys(summary[order_rows(summary, rows)].select(rows).rows()))
    better = bold.get("rate_mean_bps", pl.repeat(value=False, n=summary.height, dtype=pl.Boolean, eager=True))
    cells = {
        (tuple(row[name] for name in rows), tuple(row[name] for name in columns)): _make_cells(
            row, divisor, decimals, number
        )
        for number, row in enumerate(summary.with_columns(is_better=better).iter_rows(named=True), start=1)
    }
    return Grid(
        table=table,
        title=declared["title"],
        stubs=[write_heading(name) for name in rows],
        names=[[format_name(name, value) for name, value in zip(rows, key, strict=True)] for key in keys],
        spanners=[span_groups(columns, groups, level, len(MEASURES)) for level in range(len(columns))],
        headings=[*MEASURES] * len(groups),
        is_number=[True] * len(MEASURES) * len(groups),
        cells=[
            [cell for group in groups for cell in cells.get((key, group), [Cell(MISSING)] * len(MEASURES))]
            for key in keys
        ],
        notes=[*notes, WHERE_CVS, *_explain_bold(bold)],
        caption=f"M: {_name_mean(summary)} in {unit}, with its {INTERVAL}; CV in %.",
    )


def _name_mean(summary: pl.DataFrame) -> str:
    """Return what a table's means are of: other tables beside it may have the sender's throughput."""
    bases = summary["rate_basis"].drop_nulls().unique().to_list() if "rate_basis" in summary.columns else []
    return f"mean {bases[0] if len(bases) == 1 else 'rate'}"


def _make_cells(row: dict[str, Any], divisor: float, decimals: int, number: int) -> list[Cell]:
    """Return the cells of `MEASURES`; the CV is in per cent."""
    mean, *ends = _scale([row[f"rate_{part}_bps"] for part in ("mean", "low", "high")], 1 / divisor)
    interval = MISSING if None in ends else "–".join(format_number(end, decimals) for end in ends)
    [cv] = _scale([row["rate_cv"]], PERCENT)
    texts = (interval, format_number(cv, CV_DECIMALS), f"{row['runs_count']:,}")
    return [
        Cell(format_number(mean, decimals), number=number, is_better=row["is_better"]),
        *(Cell(text, number=number) for text in texts),
    ]


def _scale(values: list[float | None], factor: float) -> list[float | None]:
    return [None if value is None else value * factor for value in values]


def lay_out_rows(
    summary: pl.DataFrame,
    schema: TableSchema,
    title: str,
    notes: list[str],
    bold: Bold = NOTHING_BOLD,
    headings: Mapping[str, str] = NO_HEADINGS,
    *,
    is_whole: bool = False,
) -> Grid:
    """Return a table row by row, rates in a unit that reads well and headings from the columns' names.

    The key columns that come first name a row. Columns in which all rows have the same value, or none, are not shown:
    a note says the value, by the evaluation's own `headings`. Nor is a column of the same numbers as an earlier one;
    `is_whole` keeps both. An interval is the column behind the mean that it belongs to.
    """
    summary = name_quantities(summary)
    shared = {} if is_whole else find_shared(summary, schema)
    given = [column for column in schema.columns if column.name in summary.columns and column.name not in shared]
    stubs = _find_stubs([column.name for column in given], schema.key)
    intervals = find_ends([column.name for column in given])
    hidden = {name for ends in intervals.values() for name in ends} | set(stubs)
    # Identifiers, as long as three columns of numbers, are for joins: the files have them.
    shown = [column for column in given if column.name not in hidden and not column.name.endswith("_id")]
    known = {name: value for name, value in shared.items() if value is not None}
    columns = []
    for column in shown:
        better = bold.get(column.name, pl.repeat(value=False, n=summary.height, dtype=pl.Boolean, eager=True))
        columns.append(_lay_out_column(summary, column, intervals.get(column.name), better))
    columns, more, own = (columns, [], []) if is_whole else leave_out(columns)
    parts = [part for column in columns for part in column.parts()]
    return Grid(
        table=schema.name,
        title=title,
        stubs=[write_heading(name) for name in stubs],
        names=_name_rows(summary.select(stubs), headings),
        spanners=[],
        headings=[heading for heading, _, _ in parts],
        is_number=[is_number for _, is_number, _ in parts],
        cells=[list(cells) for cells in zip(*(cells for _, _, cells in parts), strict=True)],
        notes=[note for note in (*notes, describe_shared(known, more, headings), *own, *_explain_bold(bold)) if note],
    )


def _explain_bold(bold: Bold) -> list[str]:
    """Return the note on what is bold, where anything is."""
    meant = dict.fromkeys(
        "with fewer retransmits" if name.startswith("retransmit") else "faster"
        for name, rows in bold.items()
        if rows.any()
    )
    return [BETTER.format(" or ".join(meant))] if meant else []


def _find_stubs(names: list[str], key: Collection[str]) -> list[str]:
    """Return the key columns that come first, else the first key column that there is."""
    first = next((number for number, name in enumerate(names) if name not in key), len(names))
    return names[:first] or [name for name in names if name in key][:1]


def _name_rows(keys: pl.DataFrame, headings: Mapping[str, str]) -> list[list[str]]:
    names = [[format_name(column, value) for column, value in row.items()] for row in keys.iter_rows(named=True)]
    first = keys.columns[0]
    # As a heading above several rows, a bare number would say nothing; an own heading stands in front of it.
    if (
        first not in headings
        and len(keys.columns) > 1
        and keys.schema[first].is_numeric()
        and keys[first].is_duplicated().any()
    ):
        return [[name_value(first, value), *others] for value, (_, *others) in zip(keys[first], names, strict=True)]
    return names


def find_shared(summary: pl.DataFrame, schema: TableSchema) -> dict[str, Any]:
    """Return the key columns in which all of several rows have one value, with that."""
    if summary.height < 2:
        return {}
    return {name: summary[name][0] for name in schema.key if name in summary.columns and summary[name].n_unique() == 1}


def _lay_out_column(
    summary: pl.DataFrame, column: Column, ends: tuple[str, str] | None, better: pl.Series
) -> ShownColumn:
    factor, heading = _choose_unit(column, summary[column.name])
    values = summary[column.name].to_list()
    if column.type not in ("int", "float"):
        texts = summary[column.name].cast(pl.String).fill_null(MISSING).to_list()
        if column.type == "bool":
            texts = [format_answer(value) for value in values]
        coded, key = code_phrases(texts) or (texts, [])
        note = f"{heading}, with the numbers in the CSV file: {'; '.join(key)}." if key else ""
        is_answer = column.name.endswith("verdict")
        return ShownColumn(heading, [Cell(text) for text in coded], is_number=False, is_answer=is_answer, note=note)
    if factor is None:
        is_size = column.name.endswith("_bytes") and not column.name.startswith(OF_PACKETS)
        texts = [MISSING if v is None else format_size(v) if is_size else f"{v:,.0f}" for v in values]
        return ShownColumn(heading, [Cell(text, number=number) for number, text in enumerate(texts, start=1)])
    bounds = [summary[name].to_list() for name in ends] if ends else [[None] * len(values)] * 2
    # The ends of the interval of a CV, or of a ratio of two, may differ by orders of magnitude.
    is_cv = column.name.endswith("_cv")
    is_ratio_of_cvs = column.name.startswith("cv_") and not is_cv
    cells, intervals = [], []
    for number, measured in enumerate(zip(values, *bounds, strict=True), start=1):
        scaled = _scale([*measured], factor)
        text, interval = format_measured(*scaled)
        if PROBABILITY.fullmatch(column.name):
            text = format_probability(measured[0])
        elif column.name in PRINTED and measured[0] is not None:
            text = show_given(measured[0], ALL_PRINTED)
        elif column.name == LEAST_EFFECT:
            text = format_least_effect(measured[0])
        elif is_ratio_of_cvs:
            text = format_measured(measured[0])[0]
        if is_cv or is_ratio_of_cvs:
            interval = format_ends(*scaled)
        cells.append(Cell(text, number=number, is_better=better[number - 1]))
        intervals.append(Cell(interval or MISSING, number=number))
    return ShownColumn(heading, cells, intervals if ends else [])


def _choose_unit(column: Column, values: pl.Series) -> tuple[float | None, str]:
    """Return by what the numbers of a column are multiplied, none for whole numbers, and the column's heading."""
    suffix = column.name.rpartition("_")[2]
    heading = write_heading(column.name)
    if suffix == "bps":
        divisor, unit = rate_unit(values.cast(pl.Float64))
        return 1 / divisor, f"{heading} ({unit})"
    if column.name.startswith(OF_PACKETS):
        return None, f"{heading} (B)"
    if column.type != "float" or suffix == "count":
        return None, heading
    return PERCENT if is_percentage(column.name) else 1.0, heading
