"""Figures drawn before, kept beside the results: one that would come out the same is copied instead of drawn anew.

A figure is made of its declaration, the data behind the database's views, and the code that draws. A digest of the
three names its copy, so a copy can be out of date in nothing; copies that the present figures do not use are removed.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Final

import duckdb

from ccreport.database import SQL
from ccreport.figures.selection import FigureDeclaration
from ccreport.imports import list_imports

LIBRARIES: Final = ("altair", "duckdb", "polars", "vl-convert-python")


def digest_sources(database: Path) -> str:
    """Return a digest of all that the figures of a database have in common: its views, their files, the code."""
    digest = hashlib.sha256()
    with duckdb.connect(str(database), read_only=True) as connection:
        views = connection.sql(
            """SELECT view_name, sql FROM duckdb_views() WHERE NOT internal
            UNION ALL SELECT table_name, comment FROM duckdb_tables() ORDER BY ALL"""
        ).fetchall()
        algorithms = connection.sql("FROM algorithms ORDER BY ALL").fetchall()
        files = connection.sql(
            """SELECT DISTINCT unnest(regexp_extract_all(sql, '''((?:[^'']|'''')+\\.parquet)''', 1)) AS path
            FROM duckdb_views() WHERE NOT internal ORDER BY path"""
        ).fetchall()
    digest.update(json.dumps([views, algorithms]).encode())
    for (path,) in files:
        digest.update(Path(_unescape(path)).read_bytes())
    for source in (*list_imports("ccreport.figures.write"), *sorted(SQL.glob("*.sql"))):
        digest.update(source.read_bytes())
    digest.update("\0".join(map(version, LIBRARIES)).encode())
    return digest.hexdigest()


def _unescape(path: str) -> str:
    """Return a path as `read_files` of the database had it before it escaped it for SQL."""
    for escaped, plain in (("''", "'"), ("[*]", "*"), ("[?]", "?"), ("[[]", "[")):
        path = path.replace(escaped, plain)
    return path


def name_copy(declaration: FigureDeclaration, sources: str) -> str:
    """Return the name of a figure's copy: a digest of its declaration and of all else that it is made of."""
    declared = json.dumps(asdict(declaration), sort_keys=True)
    return hashlib.sha256(f"{sources}\0{declared}".encode()).hexdigest()


def take_copy(cache: Path, name: str, output: Path) -> bool:
    """Put the copy of that name into the folder `output`; return False where there is none."""
    if not (cache / name).is_dir():
        return False
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(cache / name, output)
    return True


def keep_copy(cache: Path, name: str, output: Path) -> None:
    """Keep a copy of a figure's folder, whole or not at all."""
    partial = cache / f"{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(output, partial)
    partial.rename(cache / name)


def prune_copies(cache: Path, names: Iterable[str]) -> None:
    """Remove all copies but those of these names."""
    kept = set(names)
    for path in cache.iterdir():
        if path.name not in kept:
            shutil.rmtree(path)
