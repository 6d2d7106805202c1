"""A database of results, opened from any folder: the paths in its views are relative to that of its build."""

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb

from ccreport.core.errors import InputError
from ccreport.summarise.database import connect, quote_name, read_files
from ccreport.workflow_fixes.build_lock import describe_build

# SELECT * FROM read_parquet(list_value('results/tables/runs/first.parquet'))
READ_FILE: Final = re.compile(r"read_parquet\((?:(?:\w+\.)*list_value\(|\[)?'((?:[^']|'')+)'")
# Each of the paths in one.
LITERAL: Final = re.compile(r"'((?:[^']|'')+)'")
# Of a glob, or of the one file of a view.
NO_FILES: Final = "No files found"
REBUILD: Final = (
    "build its evaluation once more: `make report`, or `make report ARCHIVE=path` if its archive is another one"
)
# What `read_files` writes for signs that DuckDB takes as a pattern's.
ESCAPED: Final = re.compile(r"\[([\[*?])\]")


def is_outdated(database: Path) -> bool:
    """Tell whether the archive, or another one, was read after a database was made."""
    facts = database.resolve().parent.parent / "archive.json"
    return facts.exists() and facts.stat().st_mtime > database.stat().st_mtime


@contextlib.contextmanager
def open_results(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database as from the folder that its build was called in, to which the paths in its views are relative.

    Warn of one that is older than the results which it is of: some of its views then are of another archive. Raise
    InputError where the files that it reads are not below its own folder of results, or are gone.
    """
    whole = database.resolve()
    with connect(database) as connection:
        if is_outdated(whole):
            problem = "was made before the archive, or another one, was read again; its views and tables differ"
            print(f"warning: {database} {problem}. B{REBUILD[1:]}.", file=sys.stderr)
        path = next((paths[0] for paths in _list_files(connection).values()), Path())
        with TemporaryDirectory() as aside, contextlib.chdir(_find_root(whole, path, Path(aside))):
            try:
                yield connection
            except duckdb.IOException as error:
                advice = _advise(whole.parent.parent)
                raise InputError(f"{database} cannot be read: {_shorten(error)}; {advice}") from error


@contextlib.contextmanager
def asking_from(folder: Path, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Go to a folder, from which queries find their own files; views find theirs from where the results were opened."""
    for view, paths in _list_files(connection).items():
        files = read_files(Path.cwd() / path for path in paths)
        # A temporary view comes before the database's own of the same name, in its other views, too.
        connection.execute(f"CREATE TEMP VIEW {quote_name(view)} AS {files}")
    with contextlib.chdir(folder):
        yield


def _list_files(connection: duckdb.DuckDBPyConnection) -> dict[str, list[Path]]:
    """Return the files that the views over files read, by the views' names."""
    views = connection.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
    return {
        view: [Path(ESCAPED.sub(r"\1", text.replace("''", "'"))) for text in LITERAL.findall(sql)]
        for view, sql in views
        if READ_FILE.search(sql)
    }


def _advise(results: Path) -> str:
    return describe_build(results) or REBUILD


def _shorten(error: duckdb.IOException) -> str:
    """Return what DuckDB says of files that it cannot read, in one line."""
    said = str(error).partition("\n")[0]
    return "files that it was made from are gone" if NO_FILES in said else said


def _find_root(database: Path, path: Path, aside: Path) -> Path:
    """Return the folder from which a path that a database reads leads into its own results.

    Results may be called otherwise than when they were built: then it is `aside`, in which they go by the former name.
    """
    results = database.parent.parent
    if path == Path():
        return Path.cwd()
    # Of an absolute path any of them, if it leads into these results.
    for folder in results.parents:
        if (folder / path).is_file() and (folder / path).resolve().is_relative_to(results):
            return folder
    if path.is_absolute():
        problem = f"reads {path}: it was built with an absolute path of results, and these are not there"
        raise InputError(f"{database} {problem}; {_advise(results)}")
    for number in range(1, len(path.parts)):
        if (results / Path(*path.parts[number:])).is_file():
            name = aside.joinpath(*path.parts[:number])
            name.parent.mkdir(parents=True, exist_ok=True)
            name.symlink_to(results)
            return aside
    raise InputError(f"{database} reads {path}, which is not beside it; {_advise(results)}")
