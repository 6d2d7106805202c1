"""What published tables are made of: the queries for their rows, and the views of the rows of an edge network."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from ccreport.core.evaluation import MEANS
from ccreport.core.schema_problems import Place
from ccreport.core.tables import load_schema
from ccreport.summarise.loss_patterns import LOSS_PATTERN, NONE
from ccreport.summarise.published import PUBLISHED_VALUES, select_published_runs, write_literal
from ccreport.summarise.questions import COMPARISONS, LABELS, PAIRED, list_pooled, select_questions

# Published tables that are made of RPC tests, of which no run has a rate.
RPC_TABLES: Final = frozenset({"rpc_latency", "rpc_load"})

# Of a table's rate: goodput where the receivers of all its runs reported.
EITHER: Final = "either"
# What is between two labels of the evaluation in their column.
BETWEEN_LABELS: Final = "; "
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


def select_source(table: str, declared: Mapping[str, Any]) -> str:
    """Return the query that selects what a published table of an evaluation is made of."""
    facts = declared["tables"][table]
    if table in RPC_TABLES:
        return select_rpc(facts)
    if table == PUBLISHED_VALUES:
        return select_published_runs(declared["published"])
    runs = select_runs(facts)
    if table == MEANS:
        return pool_conditions(runs, facts, declared["labels"])
    if table == COMPARISONS:
        asked = {name: declared["tables"][name] for name in facts["questions"]}
        return select_questions(runs, asked, declared["equal_within_pct"])
    return runs


def select_rpc(table: Mapping[str, Any]) -> str:
    """Return the query that selects the RPC tests that a published table is made of."""
    return f"FROM labelled_rpc WHERE (\n{table['where']}\n)"


def pool_conditions(runs: str, table: Mapping[str, Any], labels: Collection[str] = ()) -> str:
    """Return a query for runs with those conditions null that the table `means` does not tell apart.

    Of the evaluation's `labels`, those that it tells apart are in `labels` as `label=value; …`, and where they sort in
    `labels_rank`.
    """
    # A loss of 0 says that it has no pattern.
    replaced = {LOSS_PATTERN: f"nullif({LOSS_PATTERN}, '{NONE}')"}
    replaced |= {name: f"nullif({name}, {name})" for name in list_pooled(table)}
    shown = f"* REPLACE ({', '.join(f'{value} AS {name}' for name, value in replaced.items())})"
    own = list_own_labels(table, labels)
    values = [f"""{_quote(f"{name}=", "'")} || coalesce({_quote(name)}::VARCHAR, '')""" for name in own]
    told = f"concat_ws('{BETWEEN_LABELS}', {', '.join(values)})" if own else "NULL::VARCHAR"
    ranks = f"[{', '.join(_quote(f'{name}_rank') for name in own)}]::INTEGER[]"
    return f"SELECT {shown}, {told} AS {LABELS}, {ranks} AS labels_rank FROM ({runs})"


def list_own_labels(table: Mapping[str, Any], labels: Collection[str]) -> list[str]:
    """Return those labels of an evaluation that the table `means` tells apart, as it is declared."""
    key = load_schema(MEANS).key
    return [name for name in (*table.get("rows", ()), *table.get("columns", ())) if name in labels and name not in key]


def divide_labels(text: str | None) -> dict[str, str]:
    """Return the labels of a row of `means`, which one column has: distance=far; lossy=some loss."""
    return dict(part.split("=", 1) for part in (text or "").split(BETWEEN_LABELS) if "=" in part)


def _quote(text: str, mark: str = '"') -> str:
    return mark + text.replace(mark, 2 * mark) + mark


def select_runs(table: Mapping[str, Any]) -> str:
    """Return the query that selects what a published table is made of, with `rate_bps` and its `rate_basis`.

    The rate is the one that the table declares; where no selected run has a receiver's rate, it is the sender's. Of
    `either` it is the sender's where any selected run has no receiver's.
    """
    least = "count(coalesce(goodput_bps, throughput_bps))" if table["rate"] == EITHER else "1"
    rate = "goodput" if table["rate"] == EITHER else table["rate"]
    return f"""
        WITH selected AS (FROM algorithm_runs WHERE is_counted AND (
{table["where"]}
)),
        basis AS (
            SELECT CASE WHEN count(goodput_bps) >= {least} THEN '{rate}' ELSE 'throughput' END AS rate_basis
            FROM selected
        )
        SELECT selected.*, rate_basis,
            CASE rate_basis WHEN 'goodput' THEN goodput_bps ELSE throughput_bps END AS rate_bps
        FROM selected, basis
        WHERE CASE rate_basis WHEN 'goodput' THEN goodput_bps ELSE throughput_bps END IS NOT NULL
    """


def select_rateless(tables: Mapping[str, Any]) -> str:
    """Return the query for the `run_id` of runs that some published tables select, and none has: without their rate."""
    of_runs = [name for name in tables if name not in {*RPC_TABLES, PUBLISHED_VALUES, COMPARISONS}]
    selected = [
        f"SELECT run_id FROM algorithm_runs WHERE is_counted AND (\n{tables[name]['where']}\n)" for name in of_runs
    ]
    held = [f"SELECT run_id FROM {_quote(f'{name}_runs')}" for name in of_runs]
    no_run = "SELECT run_id FROM algorithm_runs WHERE FALSE"
    return f"({' UNION '.join([no_run, *selected])}) EXCEPT ({' UNION '.join([no_run, *held])}) ORDER BY run_id"


def label_edge(edge: Mapping[str, Any]) -> dict[str, str]:
    """Return the queries of the views in which an evaluation groups and keeps the rows of an edge network, by name.

    `labelled_connections` has each connection once, with `is_kept` and `is_outlier`; `labelled_requests` has `is_kept`.
    Both have `run`, the unit of tests: the run during which they were recorded, else what one machine recorded; and
    `is_run_counted`, false where that run does not count.
    `recorded_runs` has the runs of the job of each file, each until the next one begins.
    `grouped_connections`, `grouped_requests` and `grouped_counters` have each row once for each way to group it, with
    `grouped_by`, `series` and `series_rank`.
    """
    outlier = f"coalesce(retransmit_ratio > {edge['outlier_retransmit_ratio']}, FALSE) AS is_outlier"
    kept = "coalesce(is_counted, TRUE) AS is_run_counted, coalesce(({condition}), FALSE) AND is_run_counted AS is_kept"
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
