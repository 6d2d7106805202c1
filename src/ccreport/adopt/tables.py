"""CSV files among somebody's files that are the documented table: a row for each file, or for each run."""

import contextlib
import copy
import csv
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

from ccreport.adopt.check.missing import find_loss, find_one_way
from ccreport.adopt.named_runs import Table, name_runs
from ccreport.adopt.path_words import DAY
from ccreport.adopt.proposal import Proposal
from ccreport.archive.layout_groups import KNOWN, find_group, find_meant, find_separator, sort_naturally
from ccreport.archive.layout_table import FILE_COLUMN, RUN_COLUMN, check_header, check_keys, read_row
from ccreport.archive.read_layout import load_table
from ccreport.core.declared_files import DeclarationError
from ccreport.core.schema_problems import guess_near
from ccreport.core.text import count_things

ENDING: Final = ".csv"
# An index of files is smaller; measurements may not be.
INDEX_LIMIT_BYTES: Final = 2**24
# Of fewer rows, chance finds one in names.
ROWS_AT_LEAST: Final = 2
# Of runs in a sentence.
SHOWN: Final = 3
# Columns that people write for people.
NOTES: Final = frozenset(
    {
        *("note", "notes", "comment", "comments", "remark", "remarks", "description", "remarque", "remarques"),
        *("notiz", "notizen", "anmerkung", "anmerkungen", "bemerkung", "bemerkungen", "kommentar", "commentaire"),
    }
)
# 2026-11-20 · 20261120 · 20.11.2026 · 11/20/26, but not 6.1.20
DATE: Final = (
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}"
)
CLOCK: Final = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?[AaPp][Mm])?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
TIME: Final = re.compile(rf"(?:{DATE}|{DAY})(?:[T ,_]+{CLOCK})?|{CLOCK}")


def find_table(folder: Path, paths: Iterable[str], proposal: Proposal) -> tuple[Table | None, list[str]]:
    """Return the first CSV in a folder, not below it, with a row for some of its files or for runs.

    `paths` are the folder's files, and `proposal` is what is proposed for their names. Beside the CSV are sentences on
    those that would be such a table but for a mistake.
    """
    found, mistakes = [], []
    names = sorted(paths)
    for name in (name for name in names if "/" not in name and name.lower().endswith(ENDING)):
        try:
            rows = load_table(folder, name)
        except DeclarationError as error:
            header, *others = _read_rows(folder / name) or [[]]
            if _says_what_rows_are(header):
                rest = [
                    row[header.index(FILE_COLUMN)]
                    for row in others
                    if FILE_COLUMN in header and len(row) == len(header)
                ]
                also = _doubt_files(rest, _Paths(names))
                mistakes.append(f"{name} is not proposed as `table`: {error}{f'. Also: {also}' if also else ''}")
            else:
                mistakes += _hint_at_names(name, header, others, _Paths(names), proposal)
            continue
        column = FILE_COLUMN if rows and FILE_COLUMN in rows[0] else RUN_COLUMN
        keys = frozenset(row[column] for row in rows)
        notes = tuple(_list_notes([*rows[0]], [[*row.values()] for row in rows]) if rows else [])
        if column == RUN_COLUMN and keys:
            found.append(Table(name, runs=keys, notes=notes))
        elif keys & {*names}:
            found.append(Table(name, files=keys, notes=notes))
        elif (doubt := _doubt_files([row[column] for row in rows], _Paths(names))) is not None:
            mistakes.append(f"{name} is not proposed as `table`: {doubt}")
    return (found[0] if found else None), mistakes


def _list_notes(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns of a CSV that tell no condition: notes, dates and times of day.

    Words that are others in each row are notes, too, where rows agree in all others, as repetitions do.
    """
    notes = []
    for place, column in enumerate(header):
        texts = {row[place].strip() for row in rows if place < len(row)} - {""}
        are_times = bool(texts) and all(TIME.fullmatch(text) for text in texts)
        if column not in KNOWN | {FILE_COLUMN} and (column.lower() in NOTES or are_times):
            notes.append(column)
    told = {*notes, FILE_COLUMN, RUN_COLUMN, "iteration"}
    free = [column for place, column in enumerate(header) if column not in told and _are_remarks(place, rows)]
    others = [place for place, column in enumerate(header) if column not in {*told, *free}]
    conditions = {tuple(row[place] for place in others if place < len(row)) for row in rows}
    return [*notes, *(free if 1 < len(conditions) < len(rows) else [])]


def _are_remarks(place: int, rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether each row has a text of its own at a place, most of several words."""
    texts = [row[place].strip() for row in rows if place < len(row)]
    return len({*texts}) == len(rows) and all(texts) and 2 * sum(" " in text for text in texts) > len(texts)


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


class _Paths:
    """The paths of a folder's files, which others may have written without their folders, or with more of these."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.whole = frozenset(paths)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.whole):
            self._by_name[path.rpartition("/")[2]].append(path)

    def find(self, given: str) -> list[str]:
        """Return the path that is given, else those that end with it, or that it ends with."""
        text = given.strip().replace("\\", "/")
        if text in self.whole:
            return [text]
        alike = self._by_name[text.rpartition("/")[2]] if text else []
        return [path for path in alike if path.endswith(f"/{text}") or text.endswith(f"/{path}")]


def _doubt_files(keys: Collection[str], paths: _Paths) -> str | None:
    """Return which file that a row of a table names is not there, and the one it means; None where none is missing."""
    missing = [key for key in keys if key.strip() not in paths.whole]
    if not missing:
        return None
    meant = paths.find(missing[0])
    more = f" (nor {len(missing) - 1} more)" if len(missing) > 1 else ""
    said = f"no file `{missing[0]}`{more}{guess_near(missing[0], paths.whole)}"
    if meant:
        said = f"no file `{missing[0]}`{more}; did you mean {' or '.join(f'`{path}`' for path in meant[:SHOWN])}?"
    return (
        f"{said}{'' if said.endswith('?') else '.'} Write in `{FILE_COLUMN}` the path of each file below this folder."
    )


def _hint_at_names(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], paths: _Paths, proposal: Proposal
) -> Iterator[str]:
    """Yield what to call the columns of a CSV of which one has the paths of files, or their names."""
    cells = [(column, text, paths.find(text)) for row in rows for column, text in zip(header, row, strict=False)]
    counts = Counter(column for column, text, meant in cells if len(meant) == 1)
    exact = {column for column, text, meant in cells if text.strip() in meant}
    # A name without folders may be a word that only happens to be one, too.
    likely = [(column, n) for column, n in counts.most_common() if column in exact or 2 * n > len(rows) > 1]
    # With a table, other groups name the runs: a line on it in the layout that is proposed without it is not enough.
    delete = "delete layout.yaml and " if proposal.patterns else ""
    anew = f"then {delete}run `adopt` again, which writes a layout with the table"
    for column, count in likely[:1]:
        others = [(text.strip(), meant[0]) for of, text, meant in cells if of == column and len(meant) == 1]
        bare = next((pair for pair in others if pair[0] != pair[1]), None)
        whole = f", with the path of each file, as `{bare[1]}` for `{bare[0]}`" if bare else ""
        told = f"{name} names {count_things(count, 'file')} here in `{column}`; call that column `{FILE_COLUMN}`"
        wrong = _try(name, header, rows, {column: FILE_COLUMN})
        yield f"{told}{_hint_at_others(header, rows, column)}{whole}, {anew}.{wrong}"
        return
    if (of_conditions := _find_conditions(header, rows, {*paths.whole} - {name})) is not None:
        values = frozenset(row[header.index(of_conditions)].strip() for row in rows)
        is_group = name_runs(copy.deepcopy(proposal), Table(name, runs=values)) is not None
        notes = [column for column in _list_notes(header, rows) if column != of_conditions]
        left_out = f" and `ignore_columns: [{', '.join(notes)}]`" if notes else ""
        called = "call that column" if is_group else "write `(?P<run>…)` for them in its patterns, call that column"
        ending = anew if is_group else f"and add `table: {name}`{left_out} to layout.yaml"
        wrong = _try(name, header, rows, {of_conditions: RUN_COLUMN})
        told = f"{name}: values of `{of_conditions}` are parts of these names; {called} `{RUN_COLUMN}`"
        yield f"{told}{_hint_at_others(header, rows, of_conditions)}, {ending}.{wrong}"


def _try(name: str, header: Sequence[str], rows: Iterable[Sequence[str]], key: dict[str, str]) -> str:
    """Return what is still wrong with a CSV with its columns called as advised; an empty text for nothing.

    `key` is what to call the column that says what a row is about.
    """
    notes = _list_notes(header, [*rows])
    (column,) = key
    renamed = {other: other for other in header} | _list_renamed(header, notes, column) | key
    try:
        check_header([renamed[other] for other in header if other not in notes], name)
        read = [
            read_row(dict(zip_longest(renamed.values(), row)), notes, {}, f"{name}:{n}")
            for n, row in enumerate(rows, 2)
        ]
        check_keys(enumerate(read, 2), key[column], name)
    except DeclarationError as error:
        return f" Before that, mend {error}."
    return ""


def _hint_at_others(header: Sequence[str], rows: Sequence[Sequence[str]], column: str) -> str:
    """Return what else to rename in a CSV, in brackets with an `and`."""
    notes = [other for other in _list_notes(header, rows) if other != column]
    renamed = ", ".join(f"`{other}` `{group}`" for other, group in _list_renamed(header, notes, column).items())
    return f" (and {renamed})" if renamed else ""


def _list_renamed(header: Sequence[str], notes: Collection[str], column: str) -> dict[str, str]:
    """Return the groups of columns of a CSV that are called otherwise."""
    others = [other for other in header if other not in (*notes, column) and find_group(other)[0] not in KNOWN]
    meant = {other: find_meant(other) or find_one_way(other) or find_loss(other) for other in others}
    return {other: group for other, group in meant.items() if group is not None}


def _find_conditions(header: Sequence[str], rows: Sequence[Sequence[str]], paths: set[str]) -> str | None:
    """Return the first column whose values, one a row, are all parts of paths: words, or numbers behind letters."""
    texts = "\n".join(paths)
    for place, column in enumerate(header):
        values = [row[place].strip() for row in rows if place < len(row)]
        if (
            find_group(column)[0] in KNOWN
            or len(values) < ROWS_AT_LEAST
            or len({*values}) < len(values)
            or not all(values)
        ):
            continue
        if all(re.search(rf"(?<![{_list_alike(value)}]){re.escape(value)}(?![0-9A-Za-z])", texts) for value in values):
            return column
    return None


def _list_alike(value: str) -> str:
    """Return the characters that do not stand before a value which begins there: of a number only digits."""
    return "0-9." if value[0].isdigit() else "0-9A-Za-z"


def describe_unmatched(table: Table) -> str:
    """Return why a CSV with a row a run is not proposed."""
    shown = ", ".join(sort_naturally(table.runs)[:SHOWN])
    more = ", …" if len(table.runs) > SHOWN else ""
    return (
        f"{table.name} is not proposed as `table`: its runs ({shown}{more}) are not those of the names here; write in "
        f"its column `{RUN_COLUMN}` what a name has for a run, or in a column `{FILE_COLUMN}` the path of each file."
    )


def describe_ignored(proposal: Proposal) -> str:
    """Return which columns of a proposed table are ignored, and why."""
    columns = " and ".join(f"`{name}`" for name in proposal.ignored_columns)
    word = "column" if len(proposal.ignored_columns) == 1 else "columns"
    return f"Ignored: {word} {columns} of {proposal.table}, as notes, dates and times of day are not conditions"
