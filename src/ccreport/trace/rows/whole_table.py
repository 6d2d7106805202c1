"""A published table as a whole, where no row is named: its rows, how its runs are selected, and which are left out."""

import duckdb
import polars as pl

from ccreport.trace.rows.edge import GROUPED
from ccreport.trace.rows.left_out import describe_recorded_runs, describe_runs_of_table, read_whole_condition
from ccreport.trace.rows.load_trace import load_trace
from ccreport.trace.rows.select_rows import list_fitting


def describe_table(
    connection: duckdb.DuckDBPyConnection, table: str, summary: pl.DataFrame, *, is_full: bool = False
) -> list[str]:
    """Return lines on a table of several rows; all runs that it leaves out are listed if the text `is_full`.

    Of a table without a condition on runs, only the rows are told.
    """
    first, *rows = list_fitting(table, summary, summary)
    lines = [first, *(f"  {row}" for row in rows)]
    trace = load_trace(connection, table)
    if table in GROUPED:
        return [*lines, *describe_recorded_runs(connection, trace, trace.source, is_full=is_full)]
    condition = read_whole_condition(connection, table, summary)
    if not condition:
        return lines
    return [*lines, *describe_runs_of_table(connection, condition, trace, summary, is_full=is_full)]
