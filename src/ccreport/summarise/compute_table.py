"""The rows of a published table: what its query returns, with the statistics that SQL lacks."""

from collections.abc import Callable, Mapping
from typing import Final

import duckdb
import polars as pl

from ccreport.core.tables import conform
from ccreport.summarise.database import QueryError, quote_name
from ccreport.summarise.statistics.comparisons import add_verdicts
from ccreport.summarise.statistics.edge_comparisons import add_run_tests
from ccreport.summarise.statistics.modes import add_modes
from ccreport.summarise.statistics.published_values import add_published_verdicts
from ccreport.summarise.statistics.survival import add_log_rank_tests, add_survival

# What completes the result of a query with statistics that SQL lacks.
STATISTICS: Final[Mapping[str, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "comparisons": add_verdicts,
    "completion": add_survival,
    "completion_tests": add_log_rank_tests,
    "edge_comparisons": add_run_tests,
    "modes": add_modes,
    "published_values": add_published_verdicts,
}


def compute_table(connection: duckdb.DuckDBPyConnection, table: str) -> pl.DataFrame:
    """Return one published table, conformed to its schema; raise QueryError where its query fails."""
    try:
        summary = connection.sql(f"FROM {quote_name(table)}").pl()
    except duckdb.Error as error:
        raise QueryError(f"{table}: {error}") from error
    return conform(add_statistics(summary, table), table)


def add_statistics(summary: pl.DataFrame, table: str) -> pl.DataFrame:
    """Return the result of a table's query with the statistics that SQL lacks, in place of what they are made of."""
    return STATISTICS[table](summary) if table in STATISTICS else summary
