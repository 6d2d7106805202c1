"""Which row decides a check that asks for the least or the greatest of several: each is a cell or a group of runs."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.compare.intervals import GREATEST, LEAST, Measured, widen
from ccreport.core.tables import load_schema
from ccreport.core.text import count_things
from ccreport.summarise.database import quote_name
from ccreport.summarise.grids.plain_numbers import name_column, round_value, show_plain
from ccreport.summarise.open_database import fetch_rows
from ccreport.trace.claims.checked_runs import write_parsed
from ccreport.trace.rows.select_rows import name_row

# All columns, as a syntax tree of DuckDB has it.
STAR: Final = {
    "class": "STAR",
    "type": "STAR",
    "alias": "",
    "relation_name": "",
    "exclude_list": [],
    "replace_list": [],
    "columns": False,
    "expr": None,
}


@dataclass(frozen=True)
class Deciding:
    """How many rows a check's query has, which of them decide, how its interval comes about, and the deciding runs."""

    rows_count: int = 0
    which: str = ""
    ends: str = ""
    runs: frozenset[str] = frozenset()


NOTHING: Final = Deciding()


@dataclass(frozen=True)
class _Row:
    value: float
    measured: Measured
    labels: str


def describe_deciding(
    connection: duckdb.DuckDBPyConnection,
    parsed: Mapping[str, Any] | None,
    extreme: str,
    tables: Sequence[str],
    checks_count: int = 1,
) -> Deciding:
    """Return how many rows a check's query has, and which of them decide, in words.

    `parsed` is the query's syntax tree as DuckDB has it, None where that has none; `tables` are the published tables
    that it names, and `checks_count` how many checks the claim has, whose intervals hold at once. A row is named by
    what the query groups by, or by the published row with the same value, whose runs are returned then, with those of
    the row whose interval has the farther end.
    """
    rows = list(_list_rows(connection, parsed)) if parsed else []
    if not rows:
        return NOTHING
    least, greatest = (choose(rows, key=lambda row: row.value) for choose in (min, max))
    chosen = {LEAST: {LEAST: least}, GREATEST: {GREATEST: greatest}}.get(extreme, {GREATEST: greatest, LEAST: least})
    farther = _find_farther_end(rows, extreme, checks_count * len(rows))
    found = {row: _find_published(connection, tables, row) for row in (*chosen.values(), farther) if row}
    named = {row: row.labels or _name_published(published) for row, published in found.items()}
    counted = count_things(len(rows), "row")
    said = [
        f"the {which}{f', {show_plain(row.value)},' if len(chosen) > 1 else ''} of {counted}: {named[row]}"
        for which, row in chosen.items()
        if named[row]
    ]
    ends = _describe_ends(len(rows), extreme)
    if farther and named[farther]:
        side = "lower" if extreme == LEAST else "upper"
        ends += f"; the {side} end is of {named[farther]} ({count_things(farther.measured.runs, 'run')})"
    runs = [_find_runs(connection, *published) for published in found.values() if published]
    return Deciding(len(rows), "; ".join(said), ends, frozenset[str]().union(*runs))


def _describe_ends(rows_count: int, extreme: str) -> str:
    """Return what the ends of the interval of an extreme over rows are."""
    if rows_count == 1:
        return ""
    widened = f"intervals of the {rows_count} rows, widened so that all hold at once with 95 %"
    if extreme not in {LEAST, GREATEST}:
        return f"between the {widened}"
    return f"the {extreme} lower and the {extreme} upper end of the {widened}"


def _find_farther_end(rows: Sequence[_Row], extreme: str, comparisons: int) -> _Row | None:
    """Return whose interval the lower end of a least, or the upper end of a greatest, is of; None of one row alone."""
    if len(rows) == 1 or extreme not in {LEAST, GREATEST}:
        return None
    intervals = [widen(row.measured, comparisons) for row in rows]
    ends = [interval.low if extreme == LEAST else interval.high for interval in intervals]
    known = [(end, row) for end, row in zip(ends, rows, strict=True) if end is not None]
    return (min if extreme == LEAST else max)(known, key=lambda one: one[0])[1] if known else None


def _list_rows(connection: duckdb.DuckDBPyConnection, parsed: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield each row that has a value, with, in words, what the query knows of the row beside its result."""
    results_count = len(parsed["select_list"])
    labelled = [*parsed["select_list"], *(parsed.get("group_expressions") or [STAR])]
    with contextlib.suppress(duckdb.Error):
        names, rows = fetch_rows(connection, write_parsed(connection, {**parsed, "select_list": labelled}))
        for row in rows:
            result = row[0] if isinstance(row[0], dict) else dict(zip(names, row[:results_count], strict=False))
            told = [
                f"{name_column(name)} {round_value(name, cell)}"
                for name, cell in zip(names[results_count:], row[results_count:], strict=True)
                if cell is not None and not isinstance(cell, dict | list) and cell not in result.values()
            ]
            if result.get("value") is not None:
                low, high, df = (
                    None if result.get(name) is None else float(result[name]) for name in ("low", "high", "df")
                )
                value = float(result["value"])
                measured = Measured(value, low, high, int(result.get("n") or 0), df)
                yield _Row(value, measured, ", ".join(told))


def _find_published(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[str], row: _Row
) -> tuple[str, dict[str, Any]] | None:
    """Return the table and the one row of published tables that has the value of a row; None where several have it."""
    found = [
        (table, published)
        for table in tables
        for published in connection.sql(f"FROM {quote_name(table)}").pl().iter_rows(named=True)
        if any(isinstance(cell, float) and cell == row.value for cell in published.values())
    ]
    return found[0] if len(found) == 1 else None


def _name_published(found: tuple[str, dict[str, Any]] | None) -> str:
    """Return a row of a published table as `explain` takes it; nothing of none."""
    return f'explain {found[0]} --row "{name_row(*found)}"' if found else ""


def _find_runs(connection: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> set[str]:
    """Return the run_id of the runs of a published table's row."""
    runs = connection.sql(f"FROM {quote_name(f'{table}_runs')}").pl()
    key = [name for name in load_schema(table).key if name in runs.columns]
    own = runs.filter(pl.lit(value=True), *(pl.col(name).eq_missing(pl.lit(row[name])) for name in key))
    return {*own["run_id"]}
