"""Figures drawn before, kept beside the results: one that would come out the same is copied instead of drawn anew.

A figure is made of its declaration, the code that draws, and what the database answers. A digest of the first two names
its copy; what it asked is kept beside it and asked again, so a copy can be out of date in nothing. Copies that the
present figures do not use are removed.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Final

from ccreport.core.atomic_files import remove_folder, replace_folder
from ccreport.core.declarations import QUERIES
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Asked, Database
from ccreport.rebuild.batches import IGNORE_CACHES
from ccreport.rebuild.imports import list_imports

LIBRARIES: Final = ("altair", "duckdb", "polars", "vl-convert-python")
# In the folder of a copy: the figure's files, and what it asked.
FILES: Final = "figure"
ASKED: Final = "asked.json"


def digest_code() -> str:
    """Return a digest of all that draws: modules, queries and macros, the versions of libraries."""
    digest = hashlib.sha256()
    for source in (*list_imports("ccreport.figures.write"), *QUERIES.values()):
        digest.update(source.read_bytes())
    digest.update("\0".join(map(version, LIBRARIES)).encode())
    return digest.hexdigest()


def name_copy(declaration: FigureDeclaration, code: str) -> str:
    """Return the name of a figure's copy: a digest of its declaration and of the code that draws."""
    declared = json.dumps(asdict(declaration), sort_keys=True)
    return hashlib.sha256(f"{code}\0{declared}".encode()).hexdigest()


def restore_copy(cache: Path, name: str, database: Database, output: Path) -> bool:
    """Put the copy of that name into the folder `output`.

    Return False where there is none, where the database answers otherwise than when it was drawn, and where everything
    is made anew.
    """
    copy = cache / name
    if not copy.is_dir() or IGNORE_CACHES in os.environ:
        return False
    asked = [Asked(**fields) for fields in json.loads((copy / ASKED).read_text(encoding="utf-8"))]
    if not all(map(database.is_same, asked)):
        return False
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(copy / FILES, output)
    return True


def store_copy(cache: Path, name: str, asked: Iterable[Asked], output: Path) -> None:
    """Keep a copy of a figure's folder and what it asked, whole or not at all, in place of one of the same name."""
    with replace_folder(cache / name) as copy:
        shutil.copytree(output, copy / FILES)
        (copy / ASKED).write_text(json.dumps([asdict(question) for question in asked]), encoding="utf-8")


def prune_copies(cache: Path, names: Iterable[str]) -> None:
    """Remove all copies but those of these names."""
    kept = set(names)
    for path in cache.iterdir():
        if path.is_dir() and path.name not in kept:
            remove_folder(path)
