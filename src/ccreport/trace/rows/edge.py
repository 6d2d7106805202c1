"""What a number about an edge network is made of: raw files in place of runs, and its query over their rows alone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.declarations import read_query
from ccreport.core.tables import load_schema
from ccreport.summarise.database import quote_name, quote_text

CONNECTIONS, REQUESTS, COUNTERS = "grouped_connections", "grouped_requests", "grouped_counters"
BOTH: Final = (CONNECTIONS, REQUESTS)
# The views whose rows a table's numbers rest on.
GROUPED: Final[Mapping[str, tuple[str, ...]]] = {
    "edge_connections": (CONNECTIONS,),
    "edge_heat_maps": (CONNECTIONS,),
    "edge_machine_retransmits": (COUNTERS,),
    "edge_distributions": BOTH,
    "edge_histograms": BOTH,
    "edge_over_time": BOTH,
    "edge_comparisons": BOTH,
}
# Views and tables between these and the queries, each after those that it reads.
BETWEEN: Final = ("edge_values", "edge_histograms", "edge_distributions")
OF_REQUESTS: Final = "quantity = 'request_goodput_bps'"
QUANTITIES: Final = "SELECT DISTINCT quantity FROM {table} WHERE {condition}"
NO_QUANTITY: Final = "SELECT NULL AS quantity"
ROWS: Final = """
    FROM (
        SELECT
            grouped_by, series, raw_file_id, machine,
            count(*) AS rows_count, count(*) FILTER (is_kept) AS kept_count
        FROM {view}
        GROUP BY ALL
    ), ({quantities})
"""
FILES: Final = """
    SELECT
        grouped_by, series, quantity, rows.raw_file_id AS raw_file_id, rows_count, kept_count,
        machine AS host, path AS run_id, path AS result_path, experiment_id,
        NULL::VARCHAR AS session, NULL::VARCHAR AS job, NULL::BIGINT AS iteration, NULL::DOUBLE AS rtt_ms
    FROM ({rows}) AS rows JOIN raw_files ON raw_files.raw_file_id = rows.raw_file_id
    ORDER BY ALL
"""


def load_edge_source(connection: duckdb.DuckDBPyConnection, table: str) -> pl.DataFrame:
    """Return the raw files behind each series of a table in place of runs, with how many rows each has and has kept.

    `run_id` and `result_path` are the file's path. A table with quantities has each file once for each quantity.
    """
    has_quantity = "quantity" in load_schema(table).key
    parts = []
    for view in GROUPED[table]:
        of_view = OF_REQUESTS if view == REQUESTS else f"NOT {OF_REQUESTS}"
        quantities = QUANTITIES.format(table=table, condition=of_view) if has_quantity else NO_QUANTITY
        parts.append(ROWS.format(view=view, quantities=quantities))
    source: pl.DataFrame = connection.sql(FILES.format(rows="\nUNION ALL\n".join(parts))).pl()
    return source if has_quantity else source.drop("quantity")


@contextmanager
def restrict_edge(connection: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> Iterator[None]:
    """Let queries see only the rows of the grouping and series of a table's row."""
    key = [name for name in ("grouped_by", "series") if name in load_schema(table).key]
    condition = " AND ".join(f"{name} = {quote_text(row[name])}" for name in key)
    (database,) = connection.sql("SELECT current_database()").fetchall()[0]
    # A temporary view comes before the database's own of the same name.
    views = [(view, f"FROM {quote_name(database)}.main.{view} WHERE {condition}") for view in (*BOTH, COUNTERS)] + [
        (view, read_query(view)) for view in BETWEEN
    ]
    try:
        for view, query in views:
            connection.execute(f"CREATE TEMP VIEW {view} AS {query}")
        yield
    finally:
        for view, _ in reversed(views):
            connection.execute(f"DROP VIEW IF EXISTS temp.{view}")
