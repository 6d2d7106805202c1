"""Queries of claims tried on the tables of earlier results: one of several rows need not wait for the build."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb

from ccreport.compare.check_values import describe_rows
from ccreport.compare.claims import CheckError, prepare_claims
from ccreport.core.declared_files import DeclarationError, blame
from ccreport.core.evaluation import load_evaluation
from ccreport.core.schema_problems import Place
from ccreport.summarise.algorithm_names import name_algorithms
from ccreport.summarise.database import connect, list_views

# What the evaluation made of the tables; views of these have paths.
DEFINITIONS: Final = """
    SELECT view_name, sql FROM duckdb_views()
    WHERE NOT internal AND NOT temporary AND NOT contains(sql, 'read_parquet')
    UNION ALL
    SELECT table_name, comment FROM duckdb_tables() WHERE NOT temporary AND table_name <> 'algorithms'
"""


@contextmanager
def find_database(without_rows: duckdb.DuckDBPyConnection, results: Path, evaluation: Path) -> Iterator[Path]:
    """Yield a database of an evaluation as it is now over the tables of a folder of results, made for now if need be.

    `without_rows` is what `open_without_rows` opens.
    """
    own = results / evaluation.stem / "archive.duckdb"
    if own.exists():
        with connect(own) as connection:
            has_views = _has_views(connection, without_rows, load_evaluation(evaluation)["algorithms"])
        if has_views:
            yield own
            return
    with TemporaryDirectory() as folder:
        made = Path(folder) / own.name
        list_views(results / "batches.txt", results / "tables", evaluation, made)
        yield made


def find_several_rows(
    without_rows: duckdb.DuckDBPyConnection, database: Path, evaluation: Path
) -> DeclarationError | None:
    """Return the fault of the first check whose query returns several rows in a database, None where there is none.

    `without_rows` is what `open_without_rows` opens, with what claims share; `database` is as `find_database` has it.
    """
    declared = load_evaluation(evaluation)
    # An aggregate of nothing has one row, as it has of any runs.
    doubtful = [check for check in _list_checks(declared) if _count_rows(without_rows, check[2]) != 1]
    if not doubtful:
        return None
    with connect(database) as connection:
        prepare_claims(connection, database.parent / "summaries", declared["tables"])
        for place, said, sql in doubtful:
            if (count := _count_rows(connection, sql)) > 1:
                return blame(evaluation, CheckError(f"{said}: {describe_rows(count)}", place))
    return None


def _list_checks(declared: Mapping[str, Any]) -> Iterator[tuple[Place, str, str]]:
    """Yield place, name and query of each check that must have a single row."""
    for claim, facts in declared["claims"].items():
        for number, check in enumerate(facts["checks"]):
            if "extreme" not in check:
                place = ("claims", claim, "checks", number, "sql")
                yield place, f"claims.{claim}, check `{check['name']}`", check["sql"]


def _count_rows(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    """Return how many rows a query has, 0 where it fails, which the build says with its value."""
    try:
        return int(connection.sql(sql).aggregate("count(*)").fetchall()[0][0])
    except duckdb.Error:
        return 0


def _has_views(
    connection: duckdb.DuckDBPyConnection, without_rows: duckdb.DuckDBPyConnection, groups: Mapping[str, Any]
) -> bool:
    """Return whether a database has the views of another, and names algorithms as an evaluation groups them."""
    held = connection.execute("FROM algorithms ORDER BY cc").fetchall()
    if held != name_algorithms([cc for cc, *_ in held], groups):
        return False
    own, other = (set(database.execute(DEFINITIONS).fetchall()) for database in (connection, without_rows))
    return own == other
