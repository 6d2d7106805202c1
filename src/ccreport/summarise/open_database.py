"""A database of results opened, or in a line why a path is not that of one, and rows of it."""

import re
from pathlib import Path
from typing import Any, Final

import duckdb

from ccreport.core.errors import InputError
from ccreport.workflow_fixes.build_lock import describe_build

EXAMPLE: Final = "results/esnet-dtn/archive.duckdb"
NAME_OWN: Final = f"name that of an evaluation, such as {EXAMPLE}, which `make report` builds"
# Of another file, one that was cut, and one with other bytes.
BROKEN: Final = re.compile("not a valid DuckDB database|Could not read enough bytes|Corrupt database file")
ZONED: Final = " WITH TIME ZONE"


def open_database(path: Path, *, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Return a connection to a database; raise InputError, with what to type, where there is none at the path."""
    try:
        return duckdb.connect(str(path), read_only=read_only)
    except duckdb.CatalogException as error:
        # It takes a CSV, Parquet or JSON file for a database in memory.
        raise InputError(f"{path} is not a database; sql \"FROM '{path}'\" asks a file") from error
    except duckdb.Error as error:
        if under_way := describe_build(path.resolve().parent.parent):
            raise InputError(f"{path} cannot be opened: {under_way}") from error
        if BROKEN.search(str(error)):
            raise InputError(f"{path} is not a database, or a damaged one; {NAME_OWN}") from error
        if path.is_file():
            raise InputError(f"{path} cannot be opened: {str(error).partition(chr(10))[0]}") from error
        within = min((*path.glob("*.duckdb"), *path.glob("*/*.duckdb")), default=EXAMPLE)
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {problem}; name the database of an evaluation, such as {within}") from error


def fetch_rows(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of a query's columns and its rows, with times of UTC as Python has them without a zone.

    Of times with a zone DuckDB makes objects of Python only where the package pytz is installed.
    """
    found = connection.execute(query)
    names, types = [[str(told[place]) for told in found.description or ()] for place in (0, 1)]
    if any(ZONED in kind for kind in types):
        columns = [f"column_{number}" for number in range(len(names))]
        casts = ", ".join(f"{own}::{kind.replace(ZONED, '')}" for own, kind in zip(columns, types, strict=True))
        found = connection.execute(f"SELECT {casts} FROM (\n{query}\n) AS found({', '.join(columns)})")
    return names, found.fetchall()
