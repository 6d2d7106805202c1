"""Expected cells: the published values of a table, from a CSV file, and those of another archive's table."""

import csv
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ccreport.compare.verdicts import spread_of_interval, spread_published
from ccreport.core.errors import InputError
from ccreport.core.tables import Column, TableError, load_schema, read_table
from ccreport.summarise.statistics.contrasts import Spread

VALUES: Final = ("mean_gbps", "cv", "is_suspect")
BOOLEANS: Final = {"true": True, "false": False}

# Of less, nobody knows how much they vary.
RUNS_AT_LEAST: Final = 3

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Expected:
    """One cell to compare with: its key as the table's schema orders it, rates in bit/s."""

    key: Key
    rate_bps: float
    cv: float | None = None
    low_bps: float | None = None
    high_bps: float | None = None
    is_suspect: bool = False
    runs_count: int | None = None

    def find_spread(self, own: Spread | None, own_runs: int) -> Spread | None:
        """Return the spread of the mean, None where nothing tells; `own` is that of `own_runs` runs of this archive."""
        if self.runs_count is None or self.runs_count < RUNS_AT_LEAST:
            return None
        if self.high_bps is not None:
            return spread_of_interval(self.rate_bps, self.high_bps, self.runs_count)
        if self.cv is not None:
            return spread_published(self.cv, self.runs_count)
        # ASSUME: where a publication has no CV, its runs vary as much as this archive's.
        return own and Spread(own.variance * own_runs / self.runs_count, self.runs_count - 1)


def read_expected(
    path: Path, table: str, allowed: Mapping[str, Collection[str]], runs_count: int | None = None
) -> list[Expected]:
    """Return the published cells of a table in the order of their file.

    `allowed` has the values that a key column may have, for those of which they are known; `runs_count` runs are behind
    each cell. Raise InputError, which names file and line, for a wrong column, a key that this table cannot have or
    that is given twice, and a value that is not a number.
    """
    keys = {column.name: column for column in load_schema(table).columns if column.name in load_schema(table).key}
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            if sorted(reader.fieldnames or ()) != sorted((*keys, *VALUES)):
                raise InputError(f"{path.name}, line 1: the columns must be {', '.join((*keys, *VALUES))}")
            cells = [
                _read_row(row, keys, allowed, f"{path.name}, line {reader.line_num}", runs_count) for row in reader
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: {error}") from error
    lines: dict[Key, int] = {}
    for number, cell in enumerate(cells, 2):
        if cell.key in lines:
            raise InputError(f"{path.name}, line {number}: repeats the key of line {lines[cell.key]}")
        lines[cell.key] = number
    return cells


def _read_row(
    row: Mapping[str | None, Any],
    keys: Mapping[str, Column],
    allowed: Mapping[str, Collection[str]],
    place: str,
    runs_count: int | None,
) -> Expected:
    if None in row or None in row.values():
        raise InputError(f"{place}: it has not as many fields as the first line")
    for name, values in allowed.items():
        if name in row and row[name] not in values:
            raise InputError(f"{place}: {name} is {row[name]!r}, not one of {', '.join(sorted(values))}")
    key = tuple(_read_key(row[name], column, place) for name, column in keys.items())
    if row["is_suspect"] not in BOOLEANS:
        raise InputError(f"{place}: is_suspect is {row['is_suspect']!r}, not true or false")
    rate = _read_number(row["mean_gbps"], "mean_gbps", place)
    cv = _read_number(row["cv"], "cv", place) if row["cv"] else None
    return Expected(key, rate * 1e9, cv, is_suspect=BOOLEANS[row["is_suspect"]], runs_count=runs_count)


def _read_key(text: str, column: Column, place: str) -> Any:
    if column.type == "int":
        if not (text.isascii() and text.isdigit()):
            raise InputError(f"{place}: {column.name} is {text!r}, no whole number")
        return int(text)
    if not text or (column.enum and text not in column.enum):
        raise InputError(f"{place}: {column.name} is {text!r}, not one of {', '.join(column.enum or ('a name',))}")
    return text


def _read_number(text: str, name: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"{place}: {name} is {text!r}, no number")
    return number


def read_other(path: Path, table: str) -> list[Expected]:
    """Return the cells of another build's table; raise InputError where it is not as this version writes it."""
    try:
        frame = read_table(table, [path])
    except TableError as error:
        raise InputError(f"{path}: {error}; build that archive with this version") from error
    key = load_schema(table).key
    return [
        Expected(
            tuple(row[name] for name in key),
            row["rate_mean_bps"],
            row["rate_cv"],
            row["rate_low_bps"],
            row["rate_high_bps"],
            runs_count=row["runs_count"],
        )
        for row in frame.iter_rows(named=True)
    ]
