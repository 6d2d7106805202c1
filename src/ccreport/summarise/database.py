"""`archive.duckdb`: one view per table, and the views in which an evaluation groups and selects runs.

Views over Parquet files, but for the labelled runs and tables that the evaluation wants stored, which every query would
else make anew from the files of all batches:

- every table under its name (`FROM runs`);
- `labelled_runs`: runs with the evaluation's labels; `algorithm_runs`: the same for each algorithm of each run; both
  with `is_suspect` and `suspect_rules`, and an `is_counted` that leaves suspect runs out, unless they are included;
- `labelled_rpc`: tests of RPCs with the facts and labels of their runs;
- `<table>_runs`: what a published table is made of; `<table>`: the table, as its query in `src/ccreport/sql` says.
"""

import contextlib
import itertools
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb

from ccreport.core.declarations import read_query
from ccreport.core.declared_files import DeclarationError, blame, show_path
from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.schema_problems import Place
from ccreport.core.units import name_buckets
from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES
from ccreport.rebuild.batches import read_batches, table_files
from ccreport.summarise.algorithm_names import create_algorithms
from ccreport.summarise.loss_patterns import mark_loss_patterns
from ccreport.summarise.open_database import open_database
from ccreport.summarise.path_settings import name_forward, share_measured_rtts
from ccreport.summarise.published import find_published_fault, select_cells
from ccreport.summarise.questions import COMPARISONS
from ccreport.summarise.refused_sql import find_refused
from ccreport.summarise.suspect_runs import NO_SUSPECTS, leave_out_suspects, mark_suspects
from ccreport.summarise.table_sources import RPC_TABLES, UNGROUPED, label_edge, list_edge_sql, select_source

# Columns that every labelled view has before the evaluation's own labels.
FIXED_LABELS: Final = """
    CASE mode WHEN 'both' THEN 'both' ELSE 'alone' END AS sharing,
    -- Beside another algorithm, who that is matters.
    CASE mode WHEN 'both' THEN cc_list END AS beside,
    -- One that was measured differs from run to run.
    CASE WHEN rtt_source = 'nominal' THEN printf('RTT %g ms', rtt_ms) ELSE rtt_bucket END AS path_rtt
"""

# Labels by which claims select runs and choose a rate, with their values where an evaluation does not declare them.
DEFAULT_LABELS: Final = {"purpose": "steady", "path_class": "unknown"}
LABELLED: Final = name_forward(share_measured_rtts("SELECT *, NULL::VARCHAR AS result_path FROM runs"))

UNLABELLED: Final = {"labels": {}, "tables": {}, "condition": "condition_id", "completion_bytes": "NULL"}
# In virtual time work takes none: what iperf3 tells of its processor there is not a load.
VIRTUAL: Final = "coalesce(session, '') IN (SELECT session FROM sessions WHERE clock = 'virtual')"
WITHOUT_VIRTUAL_LOADS: Final = ", ".join(
    f"CASE WHEN NOT {VIRTUAL} THEN {load} END AS {load}" for load in ("cpu_host_total_pct", "cpu_remote_total_pct")
)


class QueryError(InputError):
    """A condition of the evaluation, or a query, that DuckDB does not take."""


def connect(database: Path, *, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Open a database so that the same queries give the same bytes: one thread, times in UTC."""
    connection = open_database(database, read_only=read_only)
    # A view reads the tables of all batches, and a query several views: their metadata is read once.
    connection.execute("SET threads = 1; SET TimeZone = 'UTC'; SET parquet_metadata_cache = true")
    return connection


def close_files(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Let queries of a connection read no files but those below a folder: an evaluation may come from anybody."""
    connection.execute(f"SET allowed_directories = [{quote_text(str(folder))}]; SET enable_external_access = false")


def list_views(batches: Path, tables: Path, evaluation: Path, database: Path, *, include_suspect: bool = False) -> None:
    """Write the database over the tables of the listed batches; paths in it are as given, relative ones stay so.

    Suspect runs count if `include_suspect` is set. Raise QueryError where a condition of the evaluation is no SQL over
    the runs.
    """
    declared = load_evaluation(evaluation)
    database.unlink(missing_ok=True)
    with connect(database, read_only=False) as connection:
        close_files(connection, tables)
        stored = {table for table, facts in declared["tables"].items() if facts["is_stored"]}
        # One transaction reaches the disk once, not with every view.
        connection.begin()
        try:
            create_views(
                connection, list(read_batches(batches)), tables, declared, stored, include_suspect=include_suspect
            )
            connection.execute(f"COMMENT ON TABLE algorithms IS {quote_text(show_path(evaluation))}")
            connection.commit()
        except QueryError as error:
            if refused := _find_refused(connection, list(read_batches(batches)), tables, declared):
                raise blame(evaluation, refused) from error
            raise


def _find_refused(
    connection: duckdb.DuckDBPyConnection, names: list[str], tables: Path, declared: Mapping[str, Any]
) -> DeclarationError | None:
    """Return the fault of the first label, condition or query that the database refuses, None where it refuses none."""
    rows = {table: "labelled_rpc" if table in RPC_TABLES else "all_algorithm_runs" for table in declared["tables"]}
    conditions = (
        (("tables", table, "where"), f"FROM {rows[table]} WHERE (\n{facts['where']}\n)")
        for table, facts in declared["tables"].items()
    )
    tried: tuple[tuple[Mapping[str, Any], Iterator[tuple[Place, str]]], ...] = (
        (UNLABELLED | {"edge": UNGROUPED}, _list_labels(declared)),
        ({"tables": {}, "edge": UNGROUPED}, itertools.chain(list_edge_sql(declared["edge"]), conditions)),
    )
    with contextlib.suppress(QueryError):
        for known, queries in tried:
            # The views are gone where a value of a row ended their transaction.
            connection.rollback()
            connection.begin()
            create_views(connection, names, tables, {**declared, **known})
            if refused := find_refused(connection, queries):
                return refused
        return find_published_fault(connection, declared["published"])
    return None


def _list_labels(declared: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield where each expression that groups runs is, with a query that the database refuses if it refuses that."""
    labels: dict[str, Any] = {}
    marked = mark_loss_patterns(mark_suspects(LABELLED), declared["labels"])
    above = label_runs(marked, {**declared, "labels": labels})
    for label, facts in declared["labels"].items():
        for number, case in enumerate(facts["cases"]):
            # As a condition of rows, in which an aggregate is a mistake.
            yield ("labels", label, "cases", number, "when"), f"FROM ({above}) WHERE (\n{case['when']}\n)"
        yield ("labels", label, "otherwise"), f"FROM ({above}) WHERE (\n{facts['otherwise']}\n) IS NULL"
        labels[label] = facts
        above = label_runs(marked, {**declared, "labels": labels})
        yield ("labels", label), above
    yield from (((key,), f"SELECT (\n{declared[key]}\n) FROM ({above})") for key in ("condition", "completion_bytes"))


def create_views(
    connection: duckdb.DuckDBPyConnection,
    names: list[str],
    tables: Path,
    declared: Mapping[str, Any],
    stored: Container[str] = (),
    *,
    include_suspect: bool = False,
) -> None:
    """Create the views of an evaluation over the tables of some batches; of published ones only `stored` are run.

    Suspect runs count if `include_suspect` is set. Raise QueryError as `list_views` does.
    """
    connection.execute(read_query("macros"))
    for table in EXPERIMENT_TABLES:
        _create_view(connection, table, read_files(table_files(tables, table, names)))
    for table in ARCHIVE_TABLES:
        (path,) = table_files(tables, table, ["archive"])
        _create_view(connection, table, read_files([path]) if table != "suspects" or path.exists() else NO_SUSPECTS)
    create_algorithms(connection, declared["algorithms"])
    # Unlike the other macros these name the views above, which must be there before.
    connection.execute(read_query("fairness"))
    of_algorithms = share_measured_rtts(f"FROM ({read_query('measured_runs')}) JOIN algorithms USING (cc)")
    for view, runs in {"labelled_runs": LABELLED, "algorithm_runs": name_forward(of_algorithms)}.items():
        query = f"""
            SELECT
                * REPLACE (({declared["condition"]})::VARCHAR AS condition_id, {WITHOUT_VIRTUAL_LOADS}),
                ({declared["completion_bytes"]})::DOUBLE AS completion_bytes
            FROM ({label_runs(mark_loss_patterns(mark_suspects(runs), declared["labels"]), declared)})
        """
        _create_view(connection, f"all_{view}", query, kind="TABLE")
        _create_view(connection, view, leave_out_suspects(f"all_{view}", include_suspect=include_suspect))
    shared = ("labelled_rpc", "edge_values", "flow_completions", "run_completions")
    views = label_edge(declared["edge"]) | {view: read_query(view) for view in shared}
    views["published_cells"] = select_cells(declared["published"], declared["consistent_within_factor"])
    for view, query in views.items():
        _create_view(connection, view, query)
    for table in sorted(declared["tables"], key=lambda table: table == COMPARISONS):  # these ask about the others
        _create_view(connection, f"{table}_runs", select_source(table, declared))
        comment = f"COMMENT ON VIEW {quote_name(f'{table}_runs')} IS "
        connection.execute(comment + quote_text(declared["tables"][table]["where"]))
        _create_view(connection, table, read_query(table), kind="TABLE" if table in stored else "VIEW")


def _create_view(connection: duckdb.DuckDBPyConnection, name: str, query: str, *, kind: str = "VIEW") -> None:
    """Create a view, or a table of what its query gives now; either has the query with it, a table as its comment."""
    try:
        connection.execute(f"CREATE {kind} {quote_name(name)} AS {query}")
        if kind == "TABLE":
            connection.execute(f"COMMENT ON TABLE {quote_name(name)} IS {quote_text(query)}")
    except duckdb.Error as error:
        raise QueryError(f"view {name}: {error}") from error


def has_rows(connection: duckdb.DuckDBPyConnection, view: str) -> bool:
    """Return whether a view has a row; none is fetched, as times with a zone need the package pytz."""
    return bool(connection.table(view).limit(1).aggregate("count(*)").fetchall()[0][0])


def quote_name(name: str) -> str:
    """Return an identifier as SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def read_files(paths: Iterable[Path]) -> str:
    """Return the query that reads exactly these Parquet files."""
    # DuckDB takes *, ? and [ in a path as a pattern, and a results folder may be called anything.
    escaped = [str(path).translate({ord("["): "[[]", ord("*"): "[*]", ord("?"): "[?]"}) for path in paths]
    return f"FROM read_parquet([{', '.join(map(quote_text, escaped))}])"


def label_runs(runs: str, evaluation: Mapping[str, Any]) -> str:
    """Return the query that adds RTT bucket, sharing and the evaluation's labels, each with one rank, to a query."""
    bucket, bucket_rank = _bucket_cases(evaluation["rtt_bucket_edges_ms"])
    query = f"SELECT *, {bucket} AS rtt_bucket, {bucket_rank} AS rtt_bucket_rank, {FIXED_LABELS} FROM ({runs})"
    for label in sorted(DEFAULT_LABELS.keys() - evaluation["labels"].keys()):
        query = f"SELECT *, {quote_text(DEFAULT_LABELS[label])} AS {quote_name(label)} FROM ({query})"
    for label, facts in evaluation["labels"].items():
        name, name_of_rank = quote_name(label), quote_name(f"{label}_rank")
        value, rank = _label_cases(name, facts)
        query = f"SELECT *, {value} AS {name}, {rank} AS {name_of_rank} FROM ({query})"
    return query


def _label_cases(name: str, facts: Mapping[str, Any]) -> tuple[str, str]:
    if not (cases := facts["cases"]):
        return f"({facts['otherwise']})", str(facts["otherwise_rank"])
    values = " ".join(f"WHEN ({case['when']}) THEN {quote_text(case['value'])}" for case in cases)
    ranks = " ".join(f"WHEN {quote_text(case['value'])} THEN {case.get('rank', n)}" for n, case in enumerate(cases))
    return f"CASE {values} ELSE ({facts['otherwise']}) END", f"CASE {name} {ranks} ELSE {facts['otherwise_rank']} END"


def _bucket_cases(edges: list[float]) -> tuple[str, str]:
    """Return SQL for name and rank of the bucket of `rtt_ms`; a value at an edge is in the bucket above it."""
    upper = {number: f"rtt_ms < {edge}" for number, edge in enumerate(edges) if edge > 0}
    unknown, *names, last = map(quote_text, name_buckets(edges))
    values = " ".join(f"WHEN {condition} THEN {name}" for condition, name in zip(upper.values(), names, strict=True))
    ranks = " ".join(f"WHEN {condition} THEN {number}" for number, condition in upper.items())
    return (
        f"CASE WHEN rtt_ms IS NULL THEN {unknown} {values} ELSE {last} END",
        f"CASE WHEN rtt_ms IS NULL THEN 1000 {ranks} ELSE {len(edges)} END",
    )
