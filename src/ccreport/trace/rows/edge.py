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
# Of tables with a row for each interval of time: its key, and how rows of files are found in it.
INTERVALS: Final[Mapping[str, tuple[str, str]]] = {
    "edge_machine_retransmits": (
        "interval_start_utc",
        """
        JOIN edge_machine_retransmits USING (grouped_by, series, machine)
        WHERE time_utc IN (interval_start_utc, interval_end_utc)
        """,
    ),
    "edge_over_time": (
        "time_bucket(to_seconds(bin_width_s), {time}) AS bin_start_utc",
        "CROSS JOIN (SELECT DISTINCT bin_width_s FROM edge_over_time)",
    ),
}
NO_INTERVALS: Final = ("NULL AS interval", "")
TIMES: Final = {CONNECTIONS: "time_utc", REQUESTS: "logged_utc", COUNTERS: "time_utc"}
UNCOUNTED: Final = "count(*) FILTER (NOT is_run_counted)"
ROWS: Final = """
    FROM (
        SELECT
            grouped_by, series, raw_file_id, machine, {interval},
            count(*) AS rows_count, {uncounted} AS in_uncounted_runs_count, count(*) FILTER (is_kept) AS kept_count
        FROM {view} {intervals}
        GROUP BY ALL
    ), ({quantities})
"""
FILES: Final = """
    SELECT
        rows.*, machine AS host, path AS run_id, path AS result_path, experiment_id,
        NULL::VARCHAR AS session, NULL::VARCHAR AS job, NULL::BIGINT AS iteration, NULL::DOUBLE AS rtt_ms
    FROM ({rows}) AS rows JOIN raw_files ON raw_files.raw_file_id = rows.raw_file_id
    ORDER BY ALL
"""
RECORDED: Final = "SELECT DISTINCT raw_file_id, run.id AS run_id, is_run_counted FROM {view}"
NOTHING_RECORDED: Final = "SELECT '' AS raw_file_id, '' AS run_id, TRUE AS is_run_counted WHERE FALSE"


def load_edge_source(connection: duckdb.DuckDBPyConnection, table: str) -> pl.DataFrame:
    """Return the raw files behind each series of a table in place of runs, with how many rows each has and has kept.

    `run_id` and `result_path` are the file's path. A table with quantities has each file once for each quantity, one
    with intervals of time once for each interval that it has rows of.
    """
    key = load_schema(table).key
    interval, intervals = INTERVALS.get(table, NO_INTERVALS)
    parts = []
    for view in GROUPED[table]:
        of_view = OF_REQUESTS if view == REQUESTS else f"NOT {OF_REQUESTS}"
        quantities = QUANTITIES.format(table=table, condition=of_view) if "quantity" in key else NO_QUANTITY
        facts = {"interval": interval.format(time=TIMES[view]), "intervals": intervals}
        uncounted = "NULL::BIGINT" if view == COUNTERS else UNCOUNTED
        parts.append(ROWS.format(view=view, quantities=quantities, uncounted=uncounted, **facts))
    source: pl.DataFrame = connection.sql(FILES.format(rows="\nUNION ALL\n".join(parts))).pl()
    return source.drop({"quantity", "interval"} - {*key}, strict=False)


def load_recorded_runs(connection: duckdb.DuckDBPyConnection, table: str) -> pl.DataFrame:
    """Return `raw_file_id`, `run_id` and `is_run_counted` of all that files behind a table recorded during a run.

    Counters of whole machines are of no run.
    """
    views = [view.replace("grouped", "labelled") for view in GROUPED[table] if view != COUNTERS]
    parts = [NOTHING_RECORDED, *(RECORDED.format(view=view) for view in views)]
    query = " UNION ALL ".join(f"({part})" for part in parts)
    # Outside of runs `run` is what a machine recorded.
    recorded: pl.DataFrame = connection.sql(f"FROM ({query}) SEMI JOIN runs USING (run_id) ORDER BY ALL").pl()
    return recorded


@contextmanager
def restrict_edge(
    connection: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any], files: pl.DataFrame
) -> Iterator[None]:
    """Let queries see only the rows of the grouping and series of a table's row in the files behind it."""
    key = [name for name in ("grouped_by", "series") if name in load_schema(table).key]
    named = (f"{name} = {quote_text(row[name])}" for name in key)
    condition = " AND ".join([*named, "raw_file_id IN (SELECT raw_file_id FROM files_behind)"])
    (database,) = connection.sql("SELECT current_database()").fetchall()[0]
    # A temporary view comes before the database's own of the same name.
    views = [(view, f"FROM {quote_name(database)}.main.{view} WHERE {condition}") for view in (*BOTH, COUNTERS)] + [
        (view, read_query(view)) for view in BETWEEN
    ]
    connection.register("files_behind", files.select(pl.col("raw_file_id").unique()))
    try:
        for view, query in views:
            connection.execute(f"CREATE TEMP VIEW {view} AS {query}")
        yield
    finally:
        for view, _ in reversed(views):
            connection.execute(f"DROP VIEW IF EXISTS temp.{view}")
        connection.unregister("files_behind")
