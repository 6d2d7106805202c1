"""Files that answers are written to: never results of a build, raw files of an archive, or files of another kind."""

import re
from pathlib import Path
from typing import Final

from ccreport.core.declared_files import show_path
from ccreport.summarise.database import QueryError
from ccreport.trace.find_table import find_archives

# COPY (FROM runs) TO 'x.csv' (FORMAT csv) · TO "x.csv" · TO E'x.csv' · TO $$x.csv$$; SIMILAR TO 'a' may come before.
TARGET: Final = re.compile(r"""\bTO\s*\(?\s*E?('|"|\$\$)(.+?)\1""", re.IGNORECASE | re.DOTALL)
# What every results folder has: a database elsewhere is in a folder of other things.
TABLES: Final = "tables"
# Endings of files that an answer may replace: config.yaml is not among them.
ANSWERS: Final = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".qlog", ".parquet", ".gz", ".zst")


def refuse_target(query: str, folder: Path, database: Path) -> None:
    """Raise QueryError where a COPY, asked from a folder, would write where `describe_target` forbids it."""
    for _, target in TARGET.findall(query)[-1:]:
        if problem := describe_target(folder / Path(target).expanduser(), database):
            raise QueryError(f"'{target}' {problem}")


def describe_target(target: Path, database: Path) -> str:
    """Return why an answer is not written to a file, or nothing.

    It would be a database, among the results it belongs to, in an archive that they are made of, or in place of a file
    that is no answer.
    """
    results = database.resolve().parent.parent
    own = results if (results / TABLES).is_dir() else database.resolve()
    whole = target.resolve()
    if whole.is_relative_to(own):
        return f"would change {show_path(own)}, which only a build writes; name a file elsewhere"
    if archive := next(filter(whole.is_relative_to, map(Path.resolve, find_archives(results))), None):
        return f"would change the archive {show_path(archive)}; name a file elsewhere"
    if whole.is_file() and whole.suffix.lower() not in ANSWERS:
        return "exists and does not look like a file of results; name another file, such as answer.csv"
    return ""
