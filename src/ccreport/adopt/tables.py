"""CSV files among somebody's files that are the documented table: a row for each file, or for each run."""

import contextlib
import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ccreport.adopt.missing import find_one_way
from ccreport.adopt.path_words import DAY, escape
from ccreport.adopt.patterns import ProposedPattern
from ccreport.adopt.proposal import Proposal
from ccreport.archive.layout_groups import KNOWN, find_meant, find_separator, sort_naturally
from ccreport.archive.layout_table import FILE_COLUMN, RUN_COLUMN
from ccreport.archive.read_layout import load_table
from ccreport.core.declared_files import DeclarationError
from ccreport.core.text import count_things

ITERATION: Final = "iteration"
ENDING: Final = ".csv"
# An index of files is smaller; measurements may not be.
INDEX_LIMIT_BYTES: Final = 2**24
# Of fewer rows, chance finds one in names.
ROWS_AT_LEAST: Final = 2
# r1
REPEATED: Final = re.compile(r"([A-Za-z]*)[0-9]+")
# Where others of the same kind have digits: dead
HEX: Final = re.compile("[0-9a-fA-F]{4,}")
# Of runs in a sentence.
SHOWN: Final = 3
# Columns that people write for people.
NOTES: Final = ("note", "notes", "comment", "comments", "remark", "remarks", "description")
# 2026-11-20 · 20261120 · 20.11.2026 · 11/20/26, but not 6.1.20
DATE: Final = (
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}"
)
CLOCK: Final = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?[AaPp][Mm])?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
TIME: Final = re.compile(rf"(?:{DATE}|{DAY})(?:[T ,_]+{CLOCK})?|{CLOCK}")


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
        notes = tuple(_list_notes([*rows[0]], [[*row.values()] for row in rows]) if rows else [])
        if column == RUN_COLUMN and keys:
            found.append(Table(name, runs=keys, notes=notes))
        elif keys & {*names}:
            found.append(Table(name, files=keys, notes=notes))
    return (found[0] if found else None), mistakes


def _list_notes(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns of a CSV that tell no condition: notes, dates and times of day."""
    notes = []
    for place, column in enumerate(header):
        texts = {row[place].strip() for row in rows if place < len(row)} - {""}
        are_times = bool(texts) and all(TIME.fullmatch(text) for text in texts)
        if column not in KNOWN | {FILE_COLUMN} and (column.lower() in NOTES or are_times):
            notes.append(column)
    return notes


def _read_rows(path: Path) -> list[list[str]]:
    """Return the rows of a CSV, whatever its columns are called, also in UTF-16; none of what is not one, or large."""
    if path.stat().st_size > INDEX_LIMIT_BYTES:
        return []
    for encoding in ("utf-8-sig", "utf-16"):
        with contextlib.suppress(csv.Error, UnicodeError), path.open(encoding=encoding, newline="") as stream:
            return list(csv.reader(stream, delimiter=find_separator(stream)))
    return []


def _says_what_rows_are(header: Collection[str]) -> bool:
    others = {*header} - {FILE_COLUMN, RUN_COLUMN}
    return len(others) < len({*header}) and any(name in KNOWN or find_meant(name) is not None for name in others)


def _hint_at_names(name: str, header: Sequence[str], rows: Sequence[Sequence[str]], paths: set[str]) -> Iterator[str]:
    """Yield what to call the columns of a CSV of which one has the paths of files."""
    cells = (cell for row in rows for cell in zip(header, row, strict=False))
    counts = Counter(column for column, text in cells if text.strip() in paths)
    for column, count in counts.most_common(1):
        also, left_out = _hint_at_others(header, rows, column)
        named = f"{name} names {count_things(count, 'file')} here in `{column}`; call that column `{FILE_COLUMN}`{also}"
        yield f"{named}, then add `table: {name}`{left_out} to layout.yaml."
        return
    if (of_conditions := _find_conditions(header, rows, paths - {name})) is not None:
        also, left_out = _hint_at_others(header, rows, of_conditions)
        yield (
            f"{name}: values of `{of_conditions}` are parts of these names; call that column and the group "
            f"`{RUN_COLUMN}`{also}, and add `table: {name}`{left_out} to layout.yaml. Or rename the columns only, "
            "delete layout.yaml, and have it proposed anew, with the table."
        )


def _hint_at_others(header: Sequence[str], rows: Sequence[Sequence[str]], column: str) -> tuple[str, str]:
    """Return what else to rename in a CSV, in brackets, and what to say of its other columns, with an `and`."""
    notes = [other for other in _list_notes(header, rows) if other != column]
    others = [other for other in header if other not in KNOWN.union(notes, [column])]
    meant = {other: find_meant(other) or find_one_way(other) for other in others}
    renamed = ", ".join(f"`{other}` `{group}`" for other, group in meant.items() if group is not None)
    added = [f"ignore_columns: [{', '.join(notes)}]"] if notes else []
    added += [f"scale: {{{group}: 2}}" for other in others if (group := find_one_way(other)) is not None]
    return f" (and {renamed})" if renamed else "", "".join(f" and `{line}`" for line in added)


def _find_conditions(header: Sequence[str], rows: Sequence[Sequence[str]], paths: set[str]) -> str | None:
    """Return the first column whose values, one a row, are all parts of paths: words, or numbers behind letters."""
    texts = "\n".join(paths)
    for place, column in enumerate(header):
        values = [row[place].strip() for row in rows if place < len(row)]
        if column in KNOWN or len(values) < ROWS_AT_LEAST or len({*values}) < len(values) or not all(values):
            continue
        if all(re.search(rf"(?<![{_list_alike(value)}]){re.escape(value)}(?![0-9A-Za-z])", texts) for value in values):
            return column
    return None


def _list_alike(value: str) -> str:
    """Return the characters that do not stand before a value which begins there: of a number only digits."""
    return "0-9." if value[0].isdigit() else "0-9A-Za-z"


def name_runs(proposal: Proposal, table: Table) -> Proposal | None:
    """Return a proposal with the group `run` where its patterns hold runs of a table; None where none does.

    Rows may be about some of the runs only, where these have names of their own. Where rows are about files, whose
    conditions they tell, a word without a meaning names the run.
    """
    if not table.runs:
        return _name_opaque(proposal, table)
    named = [_name_run(pattern, table.runs) for pattern in proposal.patterns]
    return replace(proposal, runs_by=[]) if any(named) else None


def _name_opaque(proposal: Proposal, table: Table) -> Proposal:
    """Return a proposal in which the only word of tests in a table is `run`, where each has its own: 1eef, b99a."""
    for own in [own for own in proposal.patterns if own.kind == "iperf3" and table.files.issuperset(own.paths)]:
        columns = [column for column in own.columns if column.group is not None and column.group not in KNOWN]
        if len(columns) == 1 and len(columns[0].texts) == len(own.paths) and _are_opaque(columns[0].texts):
            former = str(columns[0].group)
            for pattern in proposal.patterns:
                pattern.rename(former, RUN_COLUMN, columns[0].texts)
            proposal = replace(proposal, runs_by=[])
    return proposal


def _are_opaque(texts: Collection[str]) -> bool:
    """Tell whether texts are identifiers, in all of which are digits but for those of a hash."""
    have_digits = [re.search("[0-9]", text) is not None for text in texts]
    return any(have_digits) and all(
        has_digit or HEX.fullmatch(text) for text, has_digit in zip(texts, have_digits, strict=True)
    )


def describe_unmatched(table: Table) -> str:
    """Return why a CSV with a row a run is not proposed."""
    shown = ", ".join(sort_naturally(table.runs)[:SHOWN])
    more = ", …" if len(table.runs) > SHOWN else ""
    return (
        f"{table.name} is not proposed as `table`: its runs ({shown}{more}) are not those of the names here; write in "
        f"its column `{RUN_COLUMN}` what a name has for a run, or in a column `{FILE_COLUMN}` the path of each file."
    )


def _name_run(pattern: ProposedPattern, runs: frozenset[str]) -> bool:
    """Call the group of a pattern that holds runs of a table `run`, and tell whether there is one."""
    for column in pattern.columns:
        is_own = column.group is not None and (column.group == RUN_COLUMN or column.group not in KNOWN)
        word = _find_word(column.texts, runs, takes_some=is_own) if column.group is not None else None
        if column.group is not None and word is not None:
            for other in pattern.columns:
                if other.group == RUN_COLUMN and other is not column:
                    other.expression = other.expression.replace("(?P<run>", "(?:")
                    other.group = None
            column.expression = f"{escape(word)}(?P<{RUN_COLUMN}>[^/]+?)"
            pattern.factors.pop(column.group, None)
            column.group = RUN_COLUMN
            _name_repetition(pattern)
            return True
    return False


def _find_word(texts: set[str], runs: frozenset[str], *, takes_some: bool) -> str | None:
    """Return the letters before each of these texts without which they are runs, none where they are; else None.

    With `takes_some` it is enough that each run is one of the texts.
    """
    words = {text.rstrip("0123456789.") for text in texts}
    alike = [*words] if len(words) == 1 else []
    for word in ("", *alike):
        own = {text.removeprefix(word) for text in texts}
        if own <= runs or (takes_some and runs <= own):
            return word
    return None


def _name_repetition(pattern: ProposedPattern) -> None:
    """Call the one parameter of a pattern that counts `iteration`: the table has the conditions of each run."""
    columns = [column for column in pattern.columns if column.group is not None and column.group not in KNOWN]
    if len(columns) != 1 or ITERATION in pattern.groups:
        return
    found = [REPEATED.fullmatch(text) for text in columns[0].texts]
    words = {match[1] if match else None for match in found}
    if len(words) == 1 and (word := words.pop()) is not None:
        columns[0].group = ITERATION
        columns[0].expression = f"{escape(word)}(?P<{ITERATION}>[0-9]+)"
