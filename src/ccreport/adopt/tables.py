"""CSV files among somebody's files that are the documented table: a row for each file, or for each run."""

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ccreport.adopt.patterns import ProposedPattern
from ccreport.adopt.proposal import Proposal
from ccreport.archive.layout_groups import KNOWN, find_meant, find_separator
from ccreport.archive.read_layout import FILE_COLUMN, RUN_COLUMN, load_table
from ccreport.core.declared_files import DeclarationError
from ccreport.core.text import count_things

ENDING: Final = ".csv"
# An index of files is smaller; measurements may not be.
INDEX_LIMIT_BYTES: Final = 2**24
# Columns that people write for people.
NOTES: Final = ("note", "notes", "comment", "comments", "remark", "remarks", "description")


@dataclass(frozen=True)
class Table:
    """A CSV that a layout can name as its `table`; `files` or `runs` are what its rows are about, `notes` columns."""

    name: str
    files: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def find_table(folder: Path, paths: Iterable[str]) -> tuple[Table | None, list[str]]:
    """Return the first CSV in a folder, not below it, with a row for some of its files or for runs.

    `paths` are the folder's files. Beside it are sentences on CSV files that would be such a table but for a mistake.
    """
    found, mistakes = [], []
    names = sorted(paths)
    for name in (name for name in names if "/" not in name and name.lower().endswith(ENDING)):
        try:
            rows = load_table(folder, name)
        except DeclarationError as error:
            header, *others = _read_rows(folder / name) or [[]]
            if _says_what_rows_are(header):
                mistakes.append(f"{name} is not proposed as `table`: {error}")
            else:
                mistakes += _hint_at_names(name, header, others, {*names})
            continue
        column = FILE_COLUMN if rows and FILE_COLUMN in rows[0] else RUN_COLUMN
        keys = frozenset(row[column] for row in rows)
        notes = tuple(name for name in NOTES if rows and name in rows[0])
        if column == RUN_COLUMN and keys:
            found.append(Table(name, runs=keys, notes=notes))
        elif keys & {*names}:
            found.append(Table(name, files=keys, notes=notes))
    return (found[0] if found else None), mistakes


def _read_rows(path: Path) -> list[list[str]]:
    """Return the rows of a CSV, whatever its columns are called; none where it is not one, or very large."""
    if path.stat().st_size > INDEX_LIMIT_BYTES:
        return []
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return list(csv.reader(stream, delimiter=find_separator(stream)))
    except (csv.Error, UnicodeDecodeError):
        return []


def _says_what_rows_are(header: Collection[str]) -> bool:
    return bool({FILE_COLUMN, RUN_COLUMN} & {*header} and {*header} & (KNOWN - {RUN_COLUMN}))


def _hint_at_names(name: str, header: Sequence[str], rows: Iterable[Sequence[str]], paths: set[str]) -> Iterator[str]:
    """Yield what to call the columns of a CSV of which one has the paths of files."""
    cells = (cell for row in rows for cell in zip(header, row, strict=False))
    counts = Counter(column for column, text in cells if text.strip() in paths)
    for column, count in counts.most_common(1):
        notes = [other for other in header if other.lower() in NOTES]
        others = [other for other in header if other not in KNOWN.union(notes, [column])]
        meant = {other: find_meant(other.lower()) for other in others}
        renamed = ", ".join(f"`{other}` `{group}`" for other, group in meant.items() if group is not None)
        also = f" (and {renamed})" if renamed else ""
        left_out = f" and `ignore_columns: [{', '.join(notes)}]`" if notes else ""
        named = f"{name} names {count_things(count, 'file')} here in `{column}`; call that column `{FILE_COLUMN}`{also}"
        yield f"{named}, then add `table: {name}`{left_out} to layout.yaml."


def name_runs(proposal: Proposal, table: Table) -> Proposal | None:
    """Return a proposal with the group `run` where its patterns hold the runs of a table; None where none does."""
    if not table.runs:
        return proposal
    named = [_name_run(pattern, table.runs) for pattern in proposal.patterns]
    return replace(proposal, runs_by=[]) if any(named) else None


def _name_run(pattern: ProposedPattern, runs: frozenset[str]) -> bool:
    """Call the group of a pattern that holds runs of a table `run`, and tell whether there is one."""
    for column in pattern.columns:
        if column.group is not None and column.texts <= runs:
            for other in pattern.columns:
                if other.group == RUN_COLUMN and other is not column:
                    other.expression = other.expression.replace("(?P<run>", "(?:")
                    other.group = None
            column.expression = f"(?P<{RUN_COLUMN}>[^/]+?)"
            pattern.factors.pop(column.group, None)
            column.group = RUN_COLUMN
            return True
    return False
