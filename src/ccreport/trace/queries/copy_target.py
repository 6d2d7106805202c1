"""Files that people have answers written to: anywhere but among those of a build, which its later steps read."""

import re
from pathlib import Path
from typing import Final

from ccreport.core.declared_files import show_path
from ccreport.summarise.database import QueryError

# COPY (FROM runs) TO 'x.csv' (FORMAT csv) · TO "x.csv" · TO E'x.csv' · TO $$x.csv$$; SIMILAR TO 'a' may come before.
TARGET: Final = re.compile(r"""\bTO\s*\(?\s*E?('|"|\$\$)(.+?)\1""", re.IGNORECASE | re.DOTALL)
# What every results folder has: a database elsewhere is in a folder of other things.
TABLES: Final = "tables"


def refuse_target(query: str, folder: Path, database: Path) -> None:
    """Raise QueryError where a COPY, asked from a folder, would write a database or into the results it belongs to."""
    for _, target in TARGET.findall(query)[-1:]:
        if problem := describe_target(folder / Path(target).expanduser(), database):
            raise QueryError(f"'{target}' {problem}")


def describe_target(target: Path, database: Path) -> str:
    """Return why a file is not written that would be a database or among the results it belongs to; else nothing."""
    results = database.resolve().parent.parent
    own = results if (results / TABLES).is_dir() else database.resolve()
    is_own = target.resolve().is_relative_to(own)
    return f"would change {show_path(own)}, which only a build writes; name a file elsewhere" if is_own else ""
