"""All readers of raw files, as the folders beside this module declare them, and the tables that they write."""

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Final

from ccreport.ingest.declaration import Reader


def _find_readers() -> tuple[Reader, ...]:
    folders = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.ispkg)
    found = [reader for name in folders for reader in import_module(f"ccreport.ingest.{name}").READERS]
    # A reader that asks for others' tables comes after them.
    return tuple(sorted(found, key=lambda reader: bool(reader.joins)))


READERS: Final = _find_readers()
RULES: Final = tuple(reader.rule for reader in READERS)
# Tables of which each row, or one at least, names the raw file that it was read from.
INGESTED_TABLES: Final = tuple(table for reader in READERS for table in reader.tables)
READ_TABLES: Final = tuple(table for reader in READERS for table in reader.written)


def find_reader(name: str) -> Reader:
    """Return the reader of this name; raise KeyError where there is none."""
    return {reader.name: reader for reader in READERS}[name]
