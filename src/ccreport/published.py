"""Where a published table is: in the database of which evaluation, and by which whole name."""

from pathlib import Path

import duckdb

from ccreport.database import SQL, connect
from ccreport.errors import InputError


def find_database(place: Path, name: str) -> Path:
    """Return the database at a place, or in a folder of results that of the one evaluation with a table of this name.

    `name` may be the beginning of one. Raise InputError where there is no database, or several have such a table.
    """
    if place.is_file():
        return place
    found = sorted(place.glob("*/archive.duckdb"))
    if not found:
        raise InputError(f"no database at {place}; build one, or name it with --database")
    fitting = [database for database in found if _has_table(database, name)]
    if len(fitting) > 1:
        several = ", ".join(map(str, fitting))
        raise InputError(f"several evaluations have a table {name!r}; name one by --database: {several}")
    # Where none has it, the message on the first one says which tables there are.
    return (fitting or found)[0]


def _has_table(database: Path, name: str) -> bool:
    with connect(database) as connection:
        return any(table.startswith(name) for table in list_published(connection))


def list_published(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the published tables of a database, sorted."""
    # Queries over very many rows are stored as tables.
    query = "SELECT view_name FROM duckdb_views() UNION ALL SELECT table_name FROM duckdb_tables()"
    views = {view for (view,) in connection.execute(query).fetchall()}
    return sorted(view for view in views if f"{view}_runs" in views and (SQL / f"{view}.sql").exists())


def find_table(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the published table of a name or of the beginning of one; raise InputError where none or several fit."""
    tables = list_published(connection)
    fitting = [table for table in tables if table == name] or [table for table in tables if table.startswith(name)]
    if len(fitting) != 1:
        fault = "several tables begin with" if fitting else "no published table"
        raise InputError(f"{fault} {name!r}; there are {', '.join(tables)}")
    return str(fitting[0])
