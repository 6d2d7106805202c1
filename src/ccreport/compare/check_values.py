"""What the query of a claim's check returns: a value with its number of runs and its interval, or why it is not one."""

import math
from collections.abc import Sequence
from typing import Any, Final

import duckdb

from ccreport.compare.intervals import Measured
from ccreport.summarise.database import QueryError
from ccreport.summarise.open_database import fetch_rows
from ccreport.summarise.refused_sql import describe_refusal

RESULT: Final = frozenset(("value", "low", "high", "n", "df"))
# What DuckDB says of `SELECT unnest(mean_of(…))`.
NOT_UNNESTED: Final = "BoundSubqueryExpression"
# An end that is computed in another way than its value may be beyond it by the last digits, where all runs agree.
ROUNDING: Final = 1e-9


def measure_check(connection: duckdb.DuckDBPyConnection, sql: str, extreme: str | None) -> list[Measured]:
    """Return what a check's one row has, or the struct that is all of it; with `extreme` what each of its rows has.

    Raise QueryError where it has no such row.
    """
    try:
        columns, rows = fetch_rows(connection, sql)
    except duckdb.Error as error:
        hint = "; what mean_of and quotient_of return is selected as it is" if NOT_UNNESTED in str(error) else ""
        raise QueryError(f"{describe_refusal(error, query=sql)}{hint}") from error
    if extreme is None and len(rows) != 1:
        raise QueryError(describe_rows(len(rows)))
    return [_read_row(columns, row) for row in rows]


def _read_row(columns: list[str], values: tuple[Any, ...]) -> Measured:
    if len(columns) == 1 and isinstance(values[0], dict):
        columns, values = [*values[0]], tuple(values[0].values())
    if wrong := describe_columns(columns):
        raise QueryError(wrong)
    row = dict(zip(columns, values, strict=True))
    value, low, high, df = (_number(row.get(column), f"its {column}") for column in ("value", "low", "high", "df"))
    runs = _number(row["n"], "its n")
    if runs is None or runs < 0 or runs != int(runs):
        raise QueryError(f"its n is {row['n']}, not a number of runs")
    if value is not None and (outside := _describe_outside(value, low, high)):
        raise QueryError(f"its value {value:g} is {outside}; write all three in the same unit")
    return Measured(value, low, high, int(runs), df)


def _describe_outside(value: float, low: float | None, high: float | None) -> str | None:
    """Return which end of its interval a value is beyond, by more than rounding; None where it is within."""
    slack = ROUNDING * max(abs(number) for number in (value, low, high) if number is not None)
    if low is not None and value < low - slack:
        return f"below its low, {low:g}"
    return f"above its high, {high:g}" if high is not None and value > high + slack else None


def describe_rows(count: int) -> str:
    """Return what is wrong with so many rows of a check that has no `extreme`."""
    return f"its query returns {count} rows, not one; with `extreme` it may have a row for each cell"


def describe_columns(columns: Sequence[str]) -> str | None:
    """Return what is wrong with the columns of a check's query, None where they are right."""
    if {"value", "n"} <= set(columns) <= RESULT and len(columns) == len(set(columns)):
        return None
    wanted = "they must be value, n and perhaps low, high, df, which SELECT mean_of(list(rate)) has"
    return f"its columns are {', '.join(columns)}; {wanted}"


def _number(value: Any, name: str) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise QueryError(f"{name} is {value!r}, not a number") from error
    if isinstance(value, (str, bool)) or not math.isfinite(number):
        raise QueryError(f"{name} is {value!r}, not a number; a query says NULL where there is not enough data")
    return number
