"""Fingerprints: what a result was made of, as one hash; the same hash means that it would come out the same."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ccreport.imports import list_imports
from ccreport.schemas import SCHEMAS


def digest_code(module: str, tables: Iterable[str], libraries: Iterable[str]) -> str:
    """Return a hash of a module and all that it imports, of the schemas of these tables, and of libraries' versions."""
    schemas = [SCHEMAS / "columns.yaml", *(SCHEMAS / "tables" / f"{table}.yaml" for table in tables)]
    sources = [_digest_source(path) for path in (*list_imports(module), *schemas)]
    return digest_facts(sources, [(name, version(name)) for name in libraries])


@cache
def _digest_source(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_facts(*facts: Any) -> str:
    """Return a hash of plain values."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("ascii")).hexdigest()[:32]
