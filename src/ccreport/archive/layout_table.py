"""Rows of a layout's table: a CSV with a row for each file, or for each run, whose other columns are groups."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from ccreport.archive.layout_groups import OF_FILES, check_groups, find_group, format_value, read_value
from ccreport.core.declared_files import DeclarationError

FILE_COLUMN: Final = "file"
RUN_COLUMN: Final = "run"
CLOSE: Final = 0.8


def check_header(header: list[str], name: str) -> None:
    """Raise DeclarationError where the columns of the table of this name cannot be those of one."""
    if FILE_COLUMN not in header and RUN_COLUMN not in header:
        meant = next(((near[0], column) for column in header if (near := _find_near(column))), None)
        hint = f"did you mean `{meant[0]}` for `{meant[1]}`?" if meant else "one of them says what a row is about"
        raise DeclarationError(f"{name}:1: neither `file` nor `run` is a column; {hint}")
    if twice := find_repeated([find_group(column)[0] for column in header]):
        ways = sorted({column for column in header if find_group(column)[0] == twice})
        several = f", as {' and '.join(f'`{way}`' for way in ways)}; `ignore_columns` leaves one out"
        raise DeclarationError(f"{name}:1: the column `{twice}` is there twice{several if len(ways) > 1 else ''}")
    if problem := check_groups([column for column in header if column != FILE_COLUMN]):
        raise DeclarationError(f"{name}:1: {problem}")
    for column in header:
        if FILE_COLUMN not in header and column in OF_FILES | {"job", "session"}:
            raise DeclarationError(
                f"{name}:1: `{column}` is true of a file, and a row is about a run; add a column `file`"
            )


def _find_near(column: str) -> list[str]:
    return difflib.get_close_matches(column.strip().lower(), (FILE_COLUMN, RUN_COLUMN), 1, CLOSE)


def read_row(
    row: Mapping[str | None, Any], ignored: Collection[str], scale: Mapping[str, float], place: str
) -> dict[str, str]:
    """Return the texts of a row by group, without ignored columns; `place` is its file and line, `scale` has factors.

    Raise DeclarationError for a value that its column cannot have.
    """
    if None in row or None in row.values():
        raise DeclarationError(f"{place}: not as many fields as the first line has; quote those with a separator")
    read = {}
    for column, given in row.items():
        if column is None or column in ignored:
            continue
        group, _ = find_group(column)
        text = read[group] = given.strip()
        try:
            if text and column != FILE_COLUMN:
                value = read_value(column, text, scale.get(column, 1))
        except ValueError as error:
            raise DeclarationError(f"{place}: {error}") from None
        if text and (group != column or column in scale):
            read[group] = format_value(value)
    return read


def check_keys(rows: Iterable[tuple[int, Mapping[str, str]]], column: str, name: str) -> None:
    """Raise DeclarationError where two rows of the table of this name are about the same, or one is about nothing.

    `rows` are with the lines that they are in.
    """
    seen: dict[str, int] = {}
    for line, row in rows:
        if not row[column]:
            raise DeclarationError(f"{name}:{line}: `{column}` is empty")
        if row[column] in seen:
            raise DeclarationError(f"{name}:{line}: {column} {row[column]!r} is in line {seen[row[column]]}, too")
        seen[row[column]] = line


def find_repeated(groups: Sequence[str]) -> str | None:
    """Return the first of the groups that are there twice, None where none is."""
    return next((group for group in sorted(groups) if groups.count(group) > 1), None)
