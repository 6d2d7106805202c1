"""Files that a query names without quotes, or that do not exist: where they were looked for, and which are meant."""

import contextlib
import re
from pathlib import Path
from typing import Final

import duckdb

from ccreport.core.schema_problems import find_near

# FROM results/tables/runs.parquet · COPY (FROM runs) TO out/x.csv
UNQUOTED: Final = re.compile(r"\b(FROM|JOIN|TO)\s+([\w.~*:+-]*/[^\s;,()'\"]*)", re.IGNORECASE)
# No files found that match the pattern "runs.parquet" · Table with name results/runs does not exist!
ABSENT: Final = re.compile(r'No files found that match the pattern "(.+?)"|Table with name (\S*/\S*) does not exist')
# An error occurred while trying to automatically install the required extension 'httpfs:
EXTENSION: Final = re.compile(r"the required extension '(\w+)")
REMOTE: Final = "httpfs"
PARQUET: Final = "*.parquet"
PUBLISHED: Final = "*/*/summaries/*"


def describe_absent_file(error: duckdb.Error, query: str, folder: Path, root: Path) -> str:
    """Return what to say of a file named without quotes, absent, or on another machine; nothing of other errors.

    It was looked for from `folder`; that which is meant may be below `root`, where the results are.
    """
    if isinstance(error, duckdb.ParserException) and (unquoted := UNQUOTED.search(query)):
        word, path = unquoted.groups()
        meant = None if word.upper() == "TO" else _find_meant(path, folder, root)
        return f"a file takes single quotes: {word} '{meant or path}'"
    if lacking := EXTENSION.search(str(error)):
        if lacking[1] == REMOTE:
            return "only files of this machine are read and written; download the file first, then name the copy"
        return f"DuckDB's extension {lacking[1]}, which such files need, is not installed; name .csv, .json or .parquet"
    if absent := ABSENT.search(str(error)):
        path = absent[1] or absent[2]
        meant = _find_meant(path, folder, root)
        looked = "" if Path(path).is_absolute() else f" below {folder}"
        return f"no file `{path}`{looked}" + (f"; did you mean '{meant}'?" if meant else "")
    return ""


def _find_meant(path: str, folder: Path, root: Path) -> str | None:
    """Return the file, or the pattern of the Parquet files, that a path from a folder means, or from another one."""
    for start in (folder, root):
        if (meant := _find_near_path(start / path, start)) is not None:
            found = meant / PARQUET if meant.is_dir() else meant
            if meant.is_file() or any(meant.glob(PARQUET)):
                return str(found.relative_to(start) if start == folder and found.is_relative_to(start) else found)
    # The name of a published table's file alone.
    published = [found for found in root.glob(PUBLISHED) if found.name == path]
    return str(min(published).relative_to(root) if folder == root else min(published)) if published else None


def _find_near_path(path: Path, start: Path) -> Path | None:
    """Return the path that is there and nearest to one below a folder, None where nothing is near."""
    if path.exists() or path == start:
        return path if path.exists() else None
    parent = _find_near_path(path.parent, start)
    if parent is None or "*" in path.name:
        return parent
    # A folder that may not be listed has no names to guess.
    with contextlib.suppress(OSError):
        # Tables are folders of Parquet files: runs.parquet is runs/*.parquet.
        entries = {
            near.name.split(".")[0]: near for near in parent.iterdir() if near.is_dir() or near.suffix == path.suffix
        }
        near = find_near(path.name.split(".")[0], entries)
        return entries[near] if near else None
    return None
