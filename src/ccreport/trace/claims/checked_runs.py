"""The runs behind a claim's checks, and the parts of their queries.

A check's query may pool and compare as it likes. Its runs are those in the lists that its number is computed from, or
where there are no such lists all those that its parts read, each SELECT over tables that have runs.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final

import duckdb
import polars as pl

SHOWN: Final = ("session", "job", "host", "iteration", "rtt_ms", "parameter_name", "parameter_value")
# What checks compare, of each algorithm in a run: of all flows together where no algorithm is known.
MEASURED: Final = ("algorithm", "goodput_bps", "retransmit_ratio", "retransmit_source")
RUNS: Final = """
SELECT runs.* REPLACE (
    coalesce(own.goodput_bps, runs.goodput_bps) AS goodput_bps,
    coalesce(own.retransmit_ratio, runs.retransmit_ratio) AS retransmit_ratio,
    coalesce(own.retransmit_source, runs.retransmit_source) AS retransmit_source
), own.algorithm
FROM all_labelled_runs AS runs LEFT JOIN all_algorithm_runs AS own USING (run_id)
"""
# The column of that name, as a syntax tree of DuckDB has it.
RUN_ID: Final = {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": ["run_id"]}
# algorithm = 'BBR', algorithm=BBR
NAMED: Final = r"'{0}'|algorithm={0}(?![\w.])"
# rate_cells('stability_runs')
CELLS: Final = re.compile(r"rate_cells\('(\w+)'\)")
# Macros that compute a number from lists of runs, and macros that return the run_id of these runs instead.
COMPUTED: Final = re.compile(
    r"\b(mean_of|quotient_of|quotient_of_quotients|difference_of|nearness|rate_cells|pooled_cvs|within_cvs|cv_quotient)"
    r"(?=\()"
)
LISTED: Final = """
-- Of tests that follow each other in a run the id is that of the run, with a number: run/2.
CREATE TEMP MACRO listed_mean_of(runs) AS list_transform(known_runs(runs), lambda r: split_part(r.run.id, '/', 1));
CREATE TEMP MACRO listed_quotient_of(a, b) AS listed_mean_of(a) || listed_mean_of(b);
CREATE TEMP MACRO listed_difference_of(a, b) AS listed_mean_of(a) || listed_mean_of(b);
CREATE TEMP MACRO listed_quotient_of_quotients(a, b) AS a || b;
CREATE TEMP MACRO listed_nearness(a, b, c) AS a || b || c;
CREATE TEMP MACRO listed_rate_cells(selected) AS TABLE
SELECT test_group, sharing, flows_count, rtt_bucket, algorithm, list(runs) AS strata
FROM (
    SELECT test_group, sharing, flows_count, rtt_bucket, algorithm, condition_id, list(run_id) AS runs
    FROM query_table(selected) WHERE rate_bps IS NOT NULL GROUP BY ALL
)
GROUP BY ALL;
CREATE TEMP MACRO listed_pooled_cvs(strata) AS flatten(CASE WHEN cell_count(strata) > 1 THEN strata END);
CREATE TEMP MACRO listed_within_cvs(strata) AS flatten(list_filter(strata, lambda s: len(s) > 1));
CREATE TEMP MACRO listed_cv_quotient(a, b, n) AS coalesce(a, []) || coalesce(b, []);
"""


def join_runs(connection: duckdb.DuckDBPyConnection, checks: Sequence[tuple[Set[str], str]]) -> pl.DataFrame:
    """Return the runs of checks, a row for each algorithm in a run, with the numbers of the checks of each.

    Of each check `checks` has the run_id of its runs, and a text: where that names algorithms, as queries and rows do,
    a run that has one of these is shown without its others.
    """
    known: pl.DataFrame = connection.sql(RUNS).pl()
    algorithms = [name for name in known["algorithm"].unique() if name is not None]
    parts = []
    for number, (runs, text) in enumerate(checks, 1):
        own = known.filter(pl.col("run_id").is_in([*runs]))
        names = [name for name in algorithms if re.search(NAMED.format(re.escape(name)), text)]
        named = own.filter(pl.col("algorithm").is_in(names))
        parts += [part.with_columns(check=pl.lit(str(number))) for part in (named, own.join(named, "run_id", "anti"))]
    told = pl.concat(parts)
    columns = [name for name in told.columns if name != "check"]
    numbers = pl.col("check").str.join(", ").alias("checks")
    return (
        told.group_by("run_id", "algorithm", maintain_order=True)
        .agg(numbers, *(pl.first(name) for name in columns if name not in {"run_id", "algorithm"}))
        .sort("checks", *SHOWN, "run_id", "algorithm", nulls_last=True)
    )


def find_runs(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[set[str], bool]:
    """Return the run_id of the runs that a check's number rests on, or else of those that it reads; and which it is."""
    listing, computed_count = COMPUTED.subn(r"listed_\1", query)
    # What computes with the numbers of macros does not take their runs.
    with contextlib.suppress(duckdb.Error):
        if computed_count:
            rows = connection.execute(listing).fetchall()
            if all(len(row) == 1 and isinstance(row[0], list) for row in rows):
                return {run for (runs,) in rows for run in runs}, True
    return select_runs(connection, query), False


def select_runs(connection: duckdb.DuckDBPyConnection, query: str) -> set[str]:
    """Return the run_id of all rows that the parts of a query read, whatever they make of these."""
    # The macro makes rows of a view's runs, and the cells that it gives are of none.
    whole = parse_query(connection, CELLS.sub(r"\1", query))
    if whole is None:
        return set()
    tables = whole["cte_map"]["map"]
    found: set[str] = set()
    for part in list_selects(whole):
        own = part | {
            "select_list": [RUN_ID],
            "cte_map": {"map": [*tables, *(table for table in part["cte_map"]["map"] if table not in tables)]},
            **{name: [] for name in ("modifiers", "group_expressions", "group_sets")},
            **dict.fromkeys(("having", "qualify", "sample")),
        }
        # A part over rows that are not runs has no such column.
        with contextlib.suppress(duckdb.Error):
            found |= {run for (run,) in execute_parsed(connection, own).fetchall()}
    return found


def parse_query(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any] | None:
    """Return the syntax tree of a query as DuckDB has it, None where that has none."""
    (text,) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0]
    parsed = json.loads(text)
    return None if parsed["error"] else parsed["statements"][0]["node"]


def execute_parsed(connection: duckdb.DuckDBPyConnection, node: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """Execute the query of a syntax tree as `parse_query` returns it."""
    return connection.execute(write_parsed(connection, node))


def write_parsed(connection: duckdb.DuckDBPyConnection, node: Mapping[str, Any]) -> str:
    """Return the query of a syntax tree as `parse_query` returns it."""
    statement = json.dumps({"error": False, "statements": [{"node": node, "named_param_map": []}]})
    (sql,) = connection.execute("SELECT json_deserialize_sql(?::JSON)", [statement]).fetchall()[0]
    return str(sql)


def list_conjuncts(condition: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the parts of a condition's syntax tree that must all be true, in their order."""
    if condition is None:
        return []
    if condition["type"] != "CONJUNCTION_AND":
        return [condition]
    return [part for child in condition["children"] for part in list_conjuncts(child)]


def write_condition(connection: duckdb.DuckDBPyConnection, select: Mapping[str, Any], condition: object) -> str:
    """Return one condition of a SELECT's syntax tree as text."""
    whole = write_parsed(connection, {**select, "where_clause": condition}).partition(" WHERE ")[2]
    # A call has no parentheses around it, but ends with one: starts_with(job, 'far')
    return whole[1:-1] if whole.startswith("(") else whole


def list_selects(node: Any) -> Iterator[dict[str, Any]]:
    """Yield each SELECT of a syntax tree that has a FROM."""
    if isinstance(node, dict):
        if node.get("type") == "SELECT_NODE" and node["from_table"]["type"] != "EMPTY":
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from list_selects(item)
