"""A database of results opened, or in a line why a path is not that of one."""

from pathlib import Path
from typing import Final

import duckdb

from ccreport.core.errors import InputError

EXAMPLE: Final = "results/esnet-dtn/archive.duckdb"


def open_database(path: Path, *, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Return a connection to a database; raise InputError, with what to type, where there is none at the path."""
    try:
        return duckdb.connect(str(path), read_only=read_only)
    except duckdb.IOException as error:
        if path.is_file():
            raise InputError(f"{path} cannot be opened: {str(error).partition(chr(10))[0]}") from error
        within = min((*path.glob("*.duckdb"), *path.glob("*/*.duckdb")), default=EXAMPLE)
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {problem}; name the database of an evaluation, such as {within}") from error
