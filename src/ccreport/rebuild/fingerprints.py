"""Fingerprints: what a result was made of, as one hash; the same hash means that it would come out the same."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ccreport.core.declarations import SCHEMAS
from ccreport.rebuild.imports import list_imports


def digest_code(modules: Iterable[str], tables: Iterable[str], libraries: Iterable[str]) -> str:
    """Return a hash of modules and all that they import, of the schemas of these tables, and of libraries' versions."""
    schemas = [SCHEMAS / "columns.yaml", *(SCHEMAS / "tables" / f"{table}.yaml" for table in tables)]
    imported = sorted({path for module in modules for path in list_imports(module)})
    sources = [_digest_source(path) for path in (*imported, *schemas)]
    return digest_facts(sources, [(name, version(name)) for name in libraries])


def digest_files(folder: Path, patterns: Iterable[str]) -> str:
    """Return a hash of the files of a folder that match a pattern, by their paths in it and contents."""
    paths = {path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()}
    listed = sorted(path for path in paths if path.parent.name != "__pycache__")
    return digest_facts([(path.relative_to(folder).as_posix(), _digest_source(path)) for path in listed])


@cache
def _digest_source(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_facts(*facts: Any) -> str:
    """Return a hash of plain values."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("ascii")).hexdigest()[:32]
