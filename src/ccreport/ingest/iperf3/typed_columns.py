"""Columns of parsed JSON values as typed frames: nothing in a raw file can be trusted to be a number.

Every value that is not of its column's declared type or bounds becomes null and is noted. A column whose values are
all as declared passes without a look at the single ones, which is what ingest spends its time on otherwise.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.core.tables import Column, load_schema
from ccreport.ingest.json_values import Json, as_text, quote
from ccreport.ingest.plausible import clear_not_counted, find_impossible
from ccreport.ingest.rejects import Rejects

Columns = dict[str, list[Json]]

# Columns that the program makes itself, not read from a file.
DERIVED: Final = ("run_id", "flow_id", "raw_file_id", "client_number", "interval_number", "is_reverse")
INT64_MAX: Final = 2**63 - 1
# ASSUME: a clock beyond 2100 or at the epoch was not set.
TIME_MAX_MS: Final = 4_102_444_800_000
# What the JSON values of a column's type are parsed to; strings are looked at one by one. (Polars would take a truth
# value for an integer.)
PARSED_TYPES: Final[Mapping[str, set[type]]] = {
    "int": {int, type(None)},
    "timestamp": {int, type(None)},
    "float": {int, float, type(None)},
    "bool": {bool, type(None)},
    "string": {type(None)},
}
# A time stamp is a number of ms here.
WIRE_TYPES: Final = {
    "int": pl.Int64(),
    "timestamp": pl.Int64(),
    "float": pl.Float64(),
    "bool": pl.Boolean(),
    "string": pl.String(),
}


@dataclass
class Faults:
    """What of a table could not be taken over, by the file it comes from."""

    table: str
    messages: dict[str, list[str]] = field(default_factory=dict)

    def add_values(self, column: str, wrong: Iterable[tuple[str, Json]]) -> None:
        """Note values of a column that are not what the tool writes there, each with the file it is in."""
        of_file: dict[str, list[Json]] = {}
        for file, value in wrong:
            of_file.setdefault(file, []).append(value)
        for file, values in of_file.items():
            text = f"values of `{column}` in {self.table} that are not what the tool writes there: {len(values)}"
            self._add(file, f"{text} (the first is {quote(repr(values[0]))}); they are left out, look at the file")

    def add_impossible(self, column: str, why: str, wrong: Iterable[tuple[str, Json]]) -> None:
        """Note values of a column that another one contradicts, each with the file it is in."""
        of_file: dict[str, list[Json]] = {}
        for file, value in wrong:
            of_file.setdefault(file, []).append(value)
        for file, values in of_file.items():
            text = f"values of `{column}` in {self.table} that cannot be right, {why}: {len(values)}"
            self._add(file, f"{text} (the first is {quote(repr(values[0]))}); they are left out, the rest is kept")

    def add_rows(self, files: Sequence[str], why: str) -> None:
        """Note rows of these files that are left out."""
        for file, count in Counter(files).items():
            self._add(file, f"rows of {self.table} that {why}: {count}; they are left out, look at the file")

    def _add(self, file: str, message: str) -> None:
        self.messages.setdefault(file, []).append(message)

    def note(self, rejected: Rejects, files: Iterable[RawFile]) -> None:
        """Write the faults into the rejects, as parts of their files."""
        for file in files:
            for message in self.messages.get(file.raw_file_id, []):
                rejected.add(file, "malformed_record", message, is_whole_file=False)


def build_frame(table: str, columns: Columns, files: Sequence[str], faults: Faults) -> pl.DataFrame:
    """Return the columns with every value of its declared type, null where it is not; `files` are those of the rows.

    Time stamps stay integers, as the file has them.
    """
    declared = {column.name: column for column in load_schema(table).columns}
    series = []
    for name, parsed in columns.items():
        values = clear_not_counted(parsed) if name == "retransmits_iperf3_count" else parsed
        typed = _take_over(values, declared[name])
        if typed is None:
            converted = [_convert(value, declared[name]) for value in values]
            typed = pl.Series(name, converted, WIRE_TYPES[declared[name].type])
            rows = zip(files, values, converted, strict=True)
            wrong = [(file, value) for file, value, good in rows if good is None and value is not None]
            faults.add_values(name, wrong)
        series.append(typed)
    return pl.DataFrame(series)


def keep_within_bounds(frame: pl.DataFrame, table: str, faults: Faults) -> pl.DataFrame:
    """Return the frame with null for every number that its column's declaration rules out."""
    for column in load_schema(table).columns:
        if column.type not in ("int", "float", "timestamp") or column.name in DERIVED:
            continue
        values = frame[column.name]
        low, high = _bounds(column)
        is_wrong = ~values.is_between(low, high)
        if is_wrong.any():
            faults.add_values(column.name, frame.filter(is_wrong).select("raw_file_id", column.name).rows())
            frame = frame.with_columns(pl.when(~is_wrong).then(values).alias(column.name))
    return frame


def keep_possible(frame: pl.DataFrame, table: str, faults: Faults) -> pl.DataFrame:
    """Return the frame with null for every number that the others of its row contradict (see `plausible`)."""
    for column, is_wrong, why in find_impossible(frame, table):
        wrong = frame.filter(is_wrong).select("raw_file_id", column)
        faults.add_impossible(column, why, wrong.rows())
        frame = frame.with_columns(pl.when(~is_wrong).then(pl.col(column)).alias(column))
    return frame


def keep_whole_rows(frame: pl.DataFrame, table: str, key: Sequence[str], faults: Faults) -> pl.DataFrame:
    """Return the rows of a frame sorted by its key that have what the table requires and do not repeat the last one."""
    required = [column.name for column in load_schema(table).columns if not column.nullable]
    if any(frame[name].null_count() for name in required):
        is_whole = pl.all_horizontal(pl.col(required).is_not_null())
        broken = frame.filter(~is_whole)["raw_file_id"].to_list()
        faults.add_rows(broken, "lack what tells them apart (`socket`, `omitted`)")
        frame = frame.filter(is_whole)
    is_like_last = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in key)
    is_repeat = frame.select(is_like_last.alias("is_repeat"))["is_repeat"]
    if is_repeat.any():
        faults.add_rows(frame.filter(is_repeat)["raw_file_id"].to_list(), "repeat another one")
        frame = frame.filter(~is_repeat)
    return frame


def _take_over(values: list[Json], column: Column) -> pl.Series | None:
    """Return the values as they are where each is of the column's type, else None."""
    if column.name not in DERIVED and not set(map(type, values)) <= PARSED_TYPES[column.type]:
        return None
    try:
        return pl.Series(column.name, values, WIRE_TYPES[column.type], strict=True)
    except (TypeError, OverflowError):
        return None


def _convert(value: Json, column: Column) -> Json:
    """Return a value in its column's type, None where it is not of it."""
    if column.type == "bool":
        return value if isinstance(value, bool) else None
    if column.type == "string":
        text = as_text(value) if isinstance(value, str) else None
        return text if column.enum is None or text in column.enum else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high = _bounds(column)
    # Not a number fails every comparison.
    if not low <= value <= high:
        return None
    # Old versions print large integers as 1.439657e+09.
    return float(value) if column.type == "float" else round(value)


def _bounds(column: Column) -> tuple[float, float]:
    if column.type == "timestamp":
        return 1, TIME_MAX_MS
    widest = INT64_MAX if column.type == "int" else sys.float_info.max
    return -widest if column.min is None else column.min, widest if column.max is None else column.max
