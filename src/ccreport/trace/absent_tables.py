"""Names that no published table has: what they are instead."""

import contextlib
import re
from collections.abc import Collection
from typing import Any, Final

import duckdb

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.declarations import list_tables as list_declared
from ccreport.core.identifiers import match_runs
from ccreport.core.tables import load_schema
from ccreport.summarise.grids.headings import begin_small

# Of the tables with a column these are named first.
OF_COLUMNS: Final = ("runs", "flows")
FIRST_SENTENCE: Final = re.compile(r"(.+?)[.;](?:\s.*)?", re.DOTALL)


def describe_run(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return, of a run's name or a part of one that no other has, how to ask for the run; nothing of another name."""
    # A database of no evaluation has no runs.
    with contextlib.suppress(duckdb.CatalogException):
        runs = [run for (run,) in connection.execute("SELECT run_id FROM runs").fetchall()]
        if len(found := match_runs(name, runs)) == 1:
            return f", but a run: sql \"FROM labelled_runs WHERE run_id = '{found[0]}'\" has its labels and numbers"
    return ""


def describe_view(name: str, held: Collection[str]) -> str:
    """Return, of what `sql` can ask, what it is, if it is a view, and how to print it; nothing of another name.

    `held` are the names of what databases have; other views are made when they are asked for.
    """
    views: dict[str, Any] = load_yaml(SCHEMAS / "views.yaml")["views"]
    if name not in {*held, *views}:
        return ""
    sentence = FIRST_SENTENCE.fullmatch(views[name]["description"]) if name in views else None
    told = f", but a view: {begin_small(sentence[1])}" if sentence else ""
    return f"{told}; `python -m ccreport sql 'FROM {name}'` prints it"


def describe_column(name: str) -> str:
    """Return, of a column's name, where its meaning is; nothing of another name."""
    tables = (*OF_COLUMNS, *list_declared())
    if (table := next((table for table in tables if name in load_schema(table).polars), None)) is None:
        return ""
    return f', but a column: sql "DESCRIBE {table}" says what it is, the report\'s page Dictionary where it is from'
