"""How published tables look: numbers with units that read well, cells in rows and columns, as great_tables' HTML."""

import html
import re
from typing import Any, Final

import polars as pl
from great_tables import GT

from ccreport.errors import InputError
from ccreport.raw import display_name
from ccreport.tables import Column, TableSchema

MISSING: Final = "–"
STYLE: Final = re.compile(r"<style>.*?</style>\n?", re.DOTALL)
# The two columns of a cell: the paper's numbers, each with what it rests on in a second line.
MEASURES: Final = {"mean": "M", "cv": "CV"}
LEGEND: Final = "below M its bootstrap 95 % interval, below CV the mean CV within conditions and n, the number of runs"
SUFFIX_NAMES: Final = {"bps": "", "pct": " (%)", "ms": " (ms)", "bytes": " (B)", "s": " (s)"}


def rate_unit(rates: pl.Series) -> tuple[float, str]:
    """Return divisor and name of the unit in which the largest of these rates reads best."""
    largest = rates.drop_nulls().max()
    return (1e9, "Gbit/s") if isinstance(largest, float) and largest >= 1e9 else (1e6, "Mbit/s")


def format_number(value: float | None, digits: int) -> str:
    """Return a number with so many decimals, a dash where there is none."""
    return MISSING if value is None else f"{value:.{digits}f}"


def format_size(value: float) -> str:
    """Return bytes as the labels of buffers are written: 25 kB, 12 MB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g} B"


def format_cells(summary: pl.DataFrame, table: str, declared: dict[str, Any], notes: list[str]) -> str:
    """Return a table of cells as HTML: one row per combination of `rows`, two columns per that of `columns`.

    A cell shows mean and CV, and below them the interval of the mean, the CV within conditions and the number of runs.
    Raise InputError where the evaluation's rows and columns do not tell the cells apart.
    """
    rows, columns = declared["rows"], declared["columns"]
    if summary.select(*rows, *columns).is_duplicated().any():
        raise InputError(f"{table}: rows {rows} and columns {columns} of the evaluation do not tell its cells apart")
    divisor, unit = rate_unit(summary["rate_mean_bps"])
    texts = [_format_cell(row, divisor) for row in summary.iter_rows(named=True)]
    cells = summary.with_columns(
        mean=pl.Series([mean for mean, _ in texts], dtype=pl.String),
        cv=pl.Series([cv for _, cv in texts], dtype=pl.String),
    )
    groups = list(dict.fromkeys(summary.select(columns).iter_rows()))
    wide = cells.select(rows).unique(maintain_order=True)
    for number, group in enumerate(groups):
        match = pl.all_horizontal(pl.col(name).eq_missing(value) for name, value in zip(columns, group, strict=True))
        of_group = cells.filter(match).select(*rows, *(pl.col(m).alias(f"{m}{number}") for m in MEASURES))
        wide = wide.join(of_group, on=rows, how="left", nulls_equal=True, maintain_order="left")
    wide = wide.with_columns(
        pl.col(pl.String).fill_null(MISSING),
        *(pl.col(name).map_elements(format_size, return_dtype=pl.String) for name in rows if name.endswith("_bytes")),
    )
    return _layout_cells(wide, table, declared, groups, [*notes, f"M in {unit}; {LEGEND}."])


def _format_cell(cell: dict[str, Any], divisor: float) -> tuple[str, str]:
    """Return the two texts of a cell, two lines each."""
    digits = 4 if divisor == 1e9 else 2
    low, high = cell["rate_low_bps"], cell["rate_high_bps"]
    interval = f"{low / divisor:.{digits}f}–{high / divisor:.{digits}f}" if low is not None else MISSING
    within = format_number(cell["rate_within_cv"], 4)
    mean = f"{format_number(cell['rate_mean_bps'] / divisor, digits)}\n{interval}"
    return mean, f"{format_number(cell['rate_cv'], 4)}\n{within}, n {cell['runs_count']}"


def _break_line(text: str) -> str:
    first, _, second = text.partition("\n")
    return f"{html.escape(first)}<br><small>{html.escape(second)}</small>" if second else html.escape(first)


def _layout_cells(
    wide: pl.DataFrame, table: str, declared: dict[str, Any], groups: list[tuple[Any, ...]], notes: list[str]
) -> str:
    headings = {name: declared["headings"].get(name, name) for name in declared["rows"]}
    numbers = {f"{measure}{n}": name for n in range(len(groups)) for measure, name in MEASURES.items()}
    # A name that several rows share becomes a heading above them.
    first = declared["rows"][0]
    outer = first if wide[first].n_unique() < wide.height else None
    shown = {name: heading for name, heading in headings.items() if name != outer}
    formatted = GT(wide, groupname_col=outer, id=html_id(table)).cols_label(shown | numbers)
    formatted = formatted.fmt(_break_line, list(numbers))
    for level in range(len(declared["columns"])):
        # The innermost column names the lowest spanner.
        depth = len(declared["columns"]) - level
        spanners: dict[tuple[Any, ...], list[str]] = {}
        for number, group in enumerate(groups):
            spanners.setdefault(group[:depth], []).extend(f"{measure}{number}" for measure in MEASURES)
        for key, spanned in spanners.items():
            formatted = formatted.tab_spanner(str(key[-1]), spanned, level=level, id="-".join(map(str, (level, *key))))
    return _finish(formatted.cols_align("right", list(numbers)), notes)


def format_rows(summary: pl.DataFrame, table: str, schema: TableSchema, notes: list[str]) -> str:
    """Return a table as HTML row by row, rates in a unit that reads well and headings from the columns' names."""
    shown = summary
    labels: dict[str, Any] = {}
    for column in schema.columns:
        if column.name in summary.columns:
            text, heading = _format_column(summary[column.name], column)
            shown = shown.with_columns(text.alias(column.name))
            labels[column.name] = heading
    numbers = [column.name for column in schema.columns if column.type in ("int", "float") and column.name in labels]
    return _finish(GT(shown, id=html_id(table)).cols_label(**labels).cols_align("right", numbers), notes)


def _format_column(values: pl.Series, column: Column) -> tuple[pl.Series, str]:
    stem, _, suffix = column.name.rpartition("_")
    if column.type not in ("int", "float"):
        return values.cast(pl.String).fill_null(MISSING), column.name.replace("_", " ")
    if suffix == "bps":
        divisor, unit = rate_unit(values.cast(pl.Float64))
        return _as_text(values / divisor, 4 if divisor == 1e9 else 2), f"{stem.replace('_', ' ')} ({unit})"
    if column.type == "int":
        text = values.cast(pl.String).fill_null(MISSING)
        return text, (stem if suffix == "count" else column.name).replace("_", " ")
    if suffix == "ratio" and (column.name.startswith("retransmit")):
        return _as_text(values * 100, 4), f"{stem.replace('_', ' ')} (%)"
    heading = f"{stem.replace('_', ' ')}{SUFFIX_NAMES.get(suffix, ' ' + suffix)}"
    return _as_text(values, 0 if suffix == "count" else 1 if suffix == "pct" else 4), heading


def _as_text(values: pl.Series, digits: int) -> pl.Series:
    return pl.Series([format_number(value, digits) for value in values], dtype=pl.String)


def html_id(name: str) -> str:
    """Return a name as it may stand in an id of HTML or a cross reference."""
    return display_name(name).replace("_", "-").lower()


def _finish(formatted: GT, notes: list[str]) -> str:
    for note in notes:
        formatted = formatted.tab_source_note(note)
    # The pages style all tables alike, on paper and on light and dark screens; great_tables' own style would not.
    return STYLE.sub("", formatted.as_raw_html())
