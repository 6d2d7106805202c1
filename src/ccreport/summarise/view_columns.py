"""The columns of the views of `archive.duckdb`, and the labels and tables that each query needs: as DuckDB finds them.

The views are made over tables without rows, so that documents say what the queries say, and not what somebody noted.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.declarations import SCHEMAS, list_tables, load_yaml, read_query
from ccreport.core.declared_files import DeclarationError, blame, fill_defaults
from ccreport.core.evaluation import CLAIMS, MEANS, load_evaluation
from ccreport.core.tables import load_schema, write_table
from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES
from ccreport.summarise.database import (
    DEFAULT_LABELS,
    QueryError,
    close_files,
    connect,
    create_views,
    list_views,
    quote_name,
)
from ccreport.summarise.loss_patterns import LOSS_PATTERN
from ccreport.summarise.questions import COMPARISONS
from ccreport.summarise.refused_sql import refuse_sql
from ccreport.summarise.table_sources import select_source

ARCHIVE: Final = "archive"
# The table whose view `<table>_runs` represents those of all tables of runs.
EXAMPLE: Final = "jobs"
# Those of which a query of runs has the most columns.
ASKED_TABLES: Final = (MEANS, COMPARISONS)
# The table that checks of claims read.
CLAIMED: Final = "measured"
RUNS_OF_TABLES: Final = "<table>_runs"
# Binder Error: Referenced column "test_group" not found in FROM clause!
# Binder Error: Table "runs" does not have a column named "test_group"
# Binder Error: column "test_group" does not exist on left side of join!
MISSING: Final = re.compile(r'(?:column|column named) "(\w+)"')
RANK: Final = "_rank"
# Catalog Error: Table with name edge_distributions does not exist!
MISSING_TABLE: Final = re.compile(r"Table with name (\w+) does not exist")


@dataclass(frozen=True)
class Needs:
    """What a query names that an evaluation has to declare: labels, and tables above its own; in order of use."""

    labels: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)


@contextmanager
def open_empty() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database of tables without rows, with the views of an evaluation that declares nothing, and of claims."""
    with TemporaryDirectory() as folder, duckdb.connect() as connection:
        tables = Path(folder)
        write_empty_tables(tables)
        create_views(connection, [ARCHIVE], tables, _declare(EXAMPLE))
        connection.execute(read_query(CLAIMS))
        # What names a view would have it planned again.
        for (view,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall():
            connection.execute(f"CREATE TEMP TABLE {quote_name(view)} AS FROM {quote_name(view)}")
        yield connection


def write_empty_tables(folder: Path) -> None:
    """Write every typed table without rows below a folder, as those of a batch that is called ARCHIVE."""
    for table in (*EXPERIMENT_TABLES, *ARCHIVE_TABLES):
        write_table(pl.DataFrame(), table, folder / table / f"{ARCHIVE}.parquet")


@contextmanager
def open_without_rows(evaluation: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the database of an evaluation with tables without rows, to try queries.

    Raise DeclarationError where the database refuses a label, where a label has the name of a column, and where the
    query of a table needs a label that the evaluation does not declare.
    """
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_empty_tables(folder)
        (folder / "batches.txt").write_text(f"{ARCHIVE}\n", encoding="ascii")
        declared = load_evaluation(evaluation)
        if refused := _find_taken_name(declared["labels"]):
            raise blame(evaluation, refused)
        try:
            list_views(folder / "batches.txt", folder, evaluation, folder / "archive.duckdb")
        except QueryError as error:
            if refused := _find_missing_label(declared, error):
                raise blame(evaluation, refused) from error
            cause, view = error.__cause__, str(error).partition(": ")[0]
            refused = refuse_sql(cause, (), view) if isinstance(cause, duckdb.Error) else DeclarationError(str(error))
            raise blame(evaluation, refused) from error
        with connect(folder / "archive.duckdb") as connection:
            close_files(connection, folder)
            yield connection


def _find_taken_name(labels: Iterable[str]) -> DeclarationError | None:
    """Return the fault of the first label that has the name of a column, which a query could not tell from it."""
    for label in labels:
        # Names differ by more than their letters' case in SQL.
        name = label.lower()
        if name not in {*DEFAULT_LABELS, LOSS_PATTERN} and (view := _find_views_of_columns().get(name)):
            problem = f"labels: `{label}` has the name of a column of {view}; choose another"
            return DeclarationError(problem, ("labels", label))
    return None


@cache
def _find_views_of_columns() -> dict[str, str]:
    """Return the columns that every evaluation's runs have, each with the first view that has it."""
    views = ("runs", "flows", "labelled_runs", CLAIMED, *(f"{table}_runs" for table in ASKED_TABLES))
    with TemporaryDirectory() as folder, duckdb.connect() as connection:
        write_empty_tables(Path(folder))
        create_views(connection, [ARCHIVE], Path(folder), _declare(*ASKED_TABLES))
        connection.execute(read_query(CLAIMS))
        found = [(name, view) for view in views for name, *_ in connection.execute(f"DESCRIBE {view}").fetchall()]
    return dict(reversed(found))


def _find_missing_label(declared: Mapping[str, Any], error: QueryError) -> DeclarationError | None:
    """Return the fault of the first table whose query needs labels that an evaluation does not declare.

    Those that every evaluation has sort nowhere where they are not declared, which `error` says.
    """
    known = {label.lower() for label in declared["labels"]}
    with open_empty() as connection:
        for table in declared["tables"]:
            needed = [label for label in find_needs(connection, table).labels if label not in known]
            missing = [label for label in needed if label not in DEFAULT_LABELS or f'"{label}{RANK}"' in str(error)]
            if missing:
                labels, them = ("labels", "them") if len(missing) > 1 else ("label", "it")
                named = ", ".join(f"`{label}`" for label in missing)
                problem = f"tables.{table} needs the {labels} {named}; declare {them} in `labels`, or delete the table"
                return DeclarationError(problem, ("tables", table))
    return None


def list_view_columns(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Return the columns of each view that is not a table, with their types; `<table>_runs` stands for one of many."""
    rows = connection.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " ORDER BY table_name, ordinal_position"
    ).fetchall()
    views: dict[str, dict[str, str]] = {}
    for view, column, kind in rows:
        if view not in {*EXPERIMENT_TABLES, *ARCHIVE_TABLES, EXAMPLE}:
            views.setdefault(view.replace(f"{EXAMPLE}_runs", RUNS_OF_TABLES), {})[column] = kind
    return views


def describe_columns(name: str = "") -> dict[str, str]:
    """Return what columns mean, as tables and views declare them; first as that of a name does, else as `runs` do."""
    tables = {name: load_schema(name).columns for name in list_tables()}
    declared = load_yaml(SCHEMAS / "views.yaml")
    of_views: dict[str, str] = declared["columns"]
    columns = [*itertools.chain.from_iterable(tables.values()), *tables["runs"]]
    meanings = {column.name: column.description for column in columns} | of_views
    meanings |= {column.name: column.description for column in tables.get(name, ())}
    views: dict[str, dict[str, Any]] = declared["views"]
    view = views.get(name) or (views[RUNS_OF_TABLES] if name.endswith("_runs") else None)
    own: dict[str, str] = {}
    while view:
        own = view.get("columns", {}) | own
        view = views.get(view.get("of", ""))
    return meanings | own


def list_closed() -> set[str]:
    """Return the columns that have values of a closed set, which their meanings tell one after the other."""
    return {column.name for name in list_tables() for column in load_schema(name).columns if column.enum}


def find_needs(connection: duckdb.DuckDBPyConnection, table: str) -> Needs:
    """Return what the query of a published table needs, by adding what DuckDB misses until it misses nothing."""
    selected = select_source(table, _declare(table))
    query = read_query(table)
    needs = Needs()
    while True:
        _create_runs(connection, table, selected, needs.labels)
        try:
            connection.sql(query)
        except duckdb.BinderException as error:
            needs.labels.append(_find_missing(MISSING, error, needs.labels).removesuffix(RANK))
        except duckdb.CatalogException as error:
            missing = _find_missing(MISSING_TABLE, error, needs.tables)
            connection.register(missing, pl.DataFrame(schema=load_schema(missing).polars))
            needs.tables.append(missing)
        else:
            return needs


def _create_runs(connection: duckdb.DuckDBPyConnection, table: str, selected: str, labels: list[str]) -> None:
    added = "".join(f", NULL::VARCHAR AS {quote_name(name)}, 0 AS {quote_name(name + RANK)}" for name in labels)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {quote_name(f'{table}_runs')} AS"
        f" SELECT COLUMNS(lambda name: name NOT IN {tuple(DEFAULT_LABELS)}){added} FROM ({selected})"
    )


def _find_missing(pattern: re.Pattern[str], error: duckdb.Error, known: list[str]) -> str:
    missing = pattern.search(str(error))
    if missing is None or missing[1].removesuffix(RANK) in known:
        raise error
    return missing[1]


def _declare(*tables: str) -> dict[str, Any]:
    """Return an evaluation that declares some tables, and else nothing, with its defaults."""
    declared: dict[str, Any] = {
        "title": "",
        "algorithms": {},
        "labels": {},
        "tables": {t: {"title": t} for t in tables},
    }
    fill_defaults(declared, load_yaml(SCHEMAS / "evaluation.schema.yaml"))
    return declared
