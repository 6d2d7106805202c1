"""Views in which an evaluation groups and keeps the rows of an edge network: connections, requests, counters."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ccreport.core.schema_problems import Place
from ccreport.summarise.published import write_literal
from ccreport.summarise.questions import PAIRED

# The runs of the job that a file of an edge network lies in, if any: each lasts until the next one begins.
RECORDED_RUNS: Final = """
    SELECT
        raw_files.raw_file_id AS file_id, runs.run_id AS recorded_run_id, runs.condition_id AS recorded_condition_id,
        runs.is_counted, runs.start_utc AS begin_utc,
        coalesce(lead(runs.start_utc) OVER of_file, 'infinity') AS end_utc
    FROM raw_files JOIN labelled_runs AS runs ON runs.experiment_id = raw_files.experiment_id
    WHERE raw_files.run_id IS NULL AND raw_files.state = 'ingested' AND runs.start_utc IS NOT NULL
    WINDOW of_file AS (PARTITION BY raw_files.raw_file_id ORDER BY runs.start_utc, runs.run_id)
"""
# ASSUME: outside of runs, all that one machine recorded under one label is one run; other machines repeat it.
RECORDED_RUN: Final = """
    {
        'condition': coalesce(recorded_condition_id, concat_ws('/', label, kernel)),
        'id': coalesce(recorded_run_id, concat_ws('/', machine, label, kernel))
    } AS run
"""
# What groups and leaves out nothing, while what the evaluation says is tried.
UNGROUPED: Final = {
    "groups": {PAIRED: PAIRED},
    "connections": "TRUE",
    "requests": "TRUE",
    "outlier_retransmit_ratio": 1,
}


def label_edge(edge: Mapping[str, Any]) -> dict[str, str]:
    """Return the queries of the views in which an evaluation groups and keeps the rows of an edge network, by name.

    `labelled_connections` has each connection once, with `is_kept` and `is_outlier`; `labelled_requests` has `is_kept`.
    Both have `run`, the unit of tests: the run during which they were recorded, else what one machine recorded.
    `recorded_runs` has the runs of the job of each file, each until the next one begins.
    `grouped_connections`, `grouped_requests` and `grouped_counters` have each row once for each way to group it, with
    `grouped_by`, `series` and `series_rank`.
    """
    outlier = f"coalesce(retransmit_ratio > {edge['outlier_retransmit_ratio']}, FALSE) AS is_outlier"
    kept = "coalesce(({condition}), FALSE) AND coalesce(is_counted, TRUE) AS is_kept"
    recorded = "{table} LEFT JOIN recorded_runs ON file_id = raw_file_id AND {time} >= begin_utc AND {time} < end_utc"
    connections = f"{kept.format(condition=edge['connections'])}, {outlier}, {RECORDED_RUN}"
    requests = f"{kept.format(condition=edge['requests'])}, {RECORDED_RUN}"
    added = {
        "labelled_connections": (recorded.format(table="connections", time="time_utc"), "is_last", connections),
        "labelled_requests": (recorded.format(table="web_requests", time="logged_utc"), "TRUE", requests),
        "labelled_counters": ("machine_counters", "run_id IS NULL", "TRUE AS is_kept"),
    }
    labelled = {"recorded_runs": RECORDED_RUNS} | {
        view: f"""
            SELECT {rows.partition(" ")[0]}.*, algorithm, algorithm_rank, {columns}
            FROM {rows} JOIN algorithms ON algorithms.cc = coalesce({rows.partition(" ")[0]}.cc, 'unknown')
            WHERE {where}
        """
        for view, (rows, where, columns) in added.items()
    }
    grouped = {
        view.replace("labelled", "grouped"): "\nUNION ALL\n".join(
            _group_edge(view, name, series) for name, series in edge["groups"].items()
        )
        for view in added
    }
    return labelled | grouped


def _group_edge(view: str, name: str, series: str) -> str:
    # Series other than the algorithms sort by their names.
    grouped_by, rank = write_literal(name), "algorithm_rank" if series == PAIRED else "0"
    return f"""
        FROM (
            SELECT *, {grouped_by} AS grouped_by, ({series})::VARCHAR AS series, {rank} AS series_rank FROM {view}
        )
        WHERE series IS NOT NULL
    """


def list_edge_sql(edge: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield where each condition and expression over an edge network is, with a query that is refused if that is."""
    for rows, table in {"connections": "connections", "requests": "web_requests"}.items():
        yield ("edge", rows), f"FROM {table} WHERE (\n{edge[rows]}\n)"
    for name, series in edge["groups"].items():
        for view in ("labelled_connections", "labelled_requests", "labelled_counters"):
            yield ("edge", "groups", name), f"SELECT (\n{series}\n)::VARCHAR FROM {view}"
