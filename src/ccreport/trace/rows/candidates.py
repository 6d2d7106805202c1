"""All runs of a database with their conditions as one published table has these, and why some are not in its rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.evaluation import MEANS
from ccreport.summarise.database import quote_name
from ccreport.summarise.grids.plain_numbers import name_column, round_value
from ccreport.summarise.open_database import fetch_rows, open_database
from ccreport.summarise.published import PUBLISHED_VALUES
from ccreport.summarise.table_sources import RPC_TABLES, select_rateless
from ccreport.trace.claims.checked_runs import list_conjuncts, parse_query, write_condition, write_parsed
from ccreport.trace.rows.load_trace import BESIDE_RPC, Trace, find_view

# A run without a flow of TCP that sends in bulk, such as a test of RPCs, has no row of an algorithm.
RUNS: Final = """
    FROM all_algorithm_runs
    UNION ALL BY NAME
    (FROM all_labelled_runs ANTI JOIN all_algorithm_runs USING (run_id))
"""
RPC_TESTS: Final = f"FROM labelled_rpc UNION ALL BY NAME {RUNS}"
# Why a run is left out that would be in a table if it were not suspect.
SUSPECT: Final = ""
# The rate of most tables is goodput, which is the receiver's.
NO_RATES: Final = {"goodput": "no receiver's rate", "throughput": "no sender's rate"}
NO_TRANSFER: Final = "without a bulk transfer (RPCs, or a test that failed)"
VIEW: Final = "SELECT sql FROM duckdb_views() WHERE view_name = ?"
# Of a table that pools conditions, the rows of runs as they were before.
UNPOOLED: Final = "unpooled"


def write_candidates(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return the query of all runs, a row for each algorithm, with the conditions of a table as its rows have them."""
    if table in RPC_TABLES | BESIDE_RPC:
        return RPC_TESTS
    view = connection.execute(VIEW, [find_view(table)]).fetchall() if table == MEANS else []
    # Conditions that it pools are null there, and it has the evaluation's labels in one column.
    whole = f"SELECT *, run AS {UNPOOLED} FROM ({RUNS}) AS run"  # noqa: S608 (constants)
    pooled = parse_query(connection, view[0][0].partition(" AS ")[2]) if view else None
    if pooled is None:
        return RUNS
    pooled["from_table"]["subquery"]["node"] = parse_query(connection, whole)
    return write_parsed(connection, pooled)


def _unpool(runs: pl.DataFrame) -> pl.DataFrame:
    """Return candidates as the table's own condition is asked of them."""
    return runs.select(UNPOOLED).unnest(UNPOOLED) if UNPOOLED in runs.columns else runs


def explain_unrecorded(connection: duckdb.DuckDBPyConnection, trace: Trace, recorded: pl.DataFrame) -> dict[str, str]:
    """Return why runs among some rows of `load_recorded_runs` do not count, as `explain_left_out` has it."""
    uncounted = recorded.filter(~pl.col("is_run_counted"))
    runs = connection.sql("FROM all_labelled_runs ORDER BY run_id").pl().join(uncounted, on="run_id", how="semi")
    return explain_left_out(connection, trace, "", runs, lambda held, _: held)


def explain_left_out(
    connection: duckdb.DuckDBPyConnection,
    trace: Trace,
    condition: str,
    runs: pl.DataFrame,
    describe: Callable[[str, str], str],
) -> dict[str, str]:
    """Return why each of some candidates is not in a table, in a few words, or SUSPECT where for that alone.

    `describe` says of what a run has, and of the part of the condition that this contradicts, that it does.
    """
    failing: dict[str, str] = {}
    runs = _unpool(runs)
    for run, held, text in find_failing(connection, condition, runs):
        failing.setdefault(run, describe(held, text))
    (basis,) = trace.source.get_column("rate_basis", default=pl.Series(["rate"]))[:1].to_list() or ["rate"]
    columns = ("run_id", "is_suspect", _explain_unselected(trace), explain_rateless(NO_RATES.get(basis, f"no {basis}")))
    reasons: dict[str, str] = {}
    for run, is_suspect, unselected, rateless in runs.select(columns).rows():
        reasons.setdefault(run, unselected or failing.get(run) or (SUSPECT if is_suspect else rateless))
    return reasons


def find_rateless(database: Path, tables: Mapping[str, Any]) -> list[str]:
    """Return the runs that count and that no published table has, as the rate that it takes is not known.

    `tables` are those that the evaluation of the database declares. Figures of throughput may have such runs.
    """
    with open_database(database) as connection:
        return [run for (run,) in connection.sql(select_rateless(tables)).fetchall()]


def explain_rateless(reason: str = NO_RATES["goodput"]) -> pl.Expr:
    """Return the reason why no table has a run that counts, and whether it was interrupted, as most of these were."""
    words = pl.when(pl.col("is_interrupted").fill_null(value=False)).then(pl.lit(f"interrupted, {reason}"))
    return words.otherwise(pl.lit(reason)).alias("rateless")


def _explain_unselected(trace: Trace) -> pl.Expr:
    """Return why a table cannot have a run, whatever its condition is; null where it can."""
    if trace.table in RPC_TABLES:
        return pl.when(pl.col("rpc_test").is_null()).then(pl.lit("not a test of RPCs"))
    uncounted = pl.format("not counted, {}", explain_absence())
    if trace.table != PUBLISHED_VALUES:
        return uncounted
    # Its queries may choose as they like: a suspect run is surely missed where they have others of its conditions.
    is_missed = pl.col("is_suspect") & pl.col("condition_id").is_in(trace.source["condition_id"].unique().implode())
    return pl.when(is_missed).then(uncounted).otherwise(pl.lit("not what a published value is compared with"))


def explain_absence() -> pl.Expr:
    """Return why a run that is not suspect is in no mean: as `explain_uncounted` says, or that it has no flow.

    UDP has no flow either, and a rate.
    """
    has_flows = pl.col("is_counted") | (pl.col("flows_count") != 0).fill_null(value=True)
    return (
        pl.when(has_flows | pl.col("throughput_bps").is_not_null())
        .then(explain_uncounted())
        .otherwise(pl.lit(NO_TRANSFER))
    )


def explain_uncounted() -> pl.Expr:
    """Return why a run that does not count does not, as `is_counted` of the table `runs` has it; null where it does."""
    return (
        pl.when("is_counted")
        .then(None)
        .when("is_interrupted")
        .then(pl.lit("interrupted"))
        .when(pl.col("throughput_bps").is_null())
        .then(pl.lit("no rate"))
        .when("is_host_limited")
        .then(pl.lit("limited by its hosts"))
        .when("is_cpu_bound")
        .then(pl.lit("CPU-bound"))
        .otherwise(pl.lit("not TCP"))
    )


def find_suspects(connection: duckdb.DuckDBPyConnection, table: str, condition: str) -> pl.DataFrame:
    """Return the suspect runs that a table with a condition would have otherwise, as `write_candidates` has them."""
    runs: pl.DataFrame = connection.sql(f"FROM ({write_candidates(connection, table)}) WHERE is_suspect").pl()
    failing = [run for run, *_ in find_failing(connection, condition, _unpool(runs))]
    return runs.filter(explain_uncounted().is_null(), ~pl.col("run_id").is_in(failing))


def find_failing(
    connection: duckdb.DuckDBPyConnection, condition: str, runs: pl.DataFrame
) -> Iterator[tuple[str, str, str]]:
    """Yield each run of which a condition is not true, with what it has, and the first part that this contradicts."""
    parts = list(_split(connection, condition))
    if runs.is_empty() or not parts:
        return
    tests = ", ".join(f"coalesce({text}, FALSE)" for text, _ in parts)
    columns = list(dict.fromkeys(name for _, names in parts for name in names if name in runs.columns))
    connection.register("runs_alike", runs)
    told = ", ".join(["run_id", f"[{tests}]", *map(quote_name, columns)])
    _, rows = fetch_rows(connection, f"SELECT {told} FROM runs_alike")  # noqa: S608 (names and conditions of files)
    connection.unregister("runs_alike")
    for run, passed, *values in rows:
        if not all(passed):
            text, names = parts[passed.index(False)]
            held = dict(zip(columns, values, strict=True))
            shown = (f"{name_column(name)} {round_value(name, held[name])}" for name in names if name in held)
            yield run, "; ".join(shown) or "other tests", text


def _split(connection: duckdb.DuckDBPyConnection, condition: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts of a condition that must all be true, each with the columns that it names."""
    parsed = parse_query(connection, f"FROM runs WHERE (\n{condition}\n)") if condition else None
    if parsed is None:
        return
    for part in list_conjuncts(parsed["where_clause"]):
        yield write_condition(connection, parsed, part), list(dict.fromkeys(_list_columns(part)))


def _list_columns(node: Mapping[str, Any] | Sequence[Any] | str) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node["column_names"][-1]
        node = list(node.values())
    if isinstance(node, Sequence) and not isinstance(node, str):
        for item in node:
            yield from _list_columns(item)
