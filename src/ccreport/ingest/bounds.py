"""The net under every reader: rows that break their table's schema become rejects, and the others are written.

A reader checks what it knows to go wrong. What it did not foresee (a sum that overflows, a value that no schema
allows, two rows with one key) costs these rows and not the build: an error would end a job that read intact
experiments beside it. A file of which nothing is left is rejected as a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.core.tables import Column, list_rules, load_schema
from ccreport.core.text import count_things, display_name
from ccreport.ingest.rejects import Rejects

REASON: Final = "out_of_bounds"
ADVICE: Final = "the row is left out; compare it with the raw file, and report a fault of ccreport if the file is right"
_UNBUILDABLE: Final = (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError)


class Net:
    """Takes rows that break a schema out of the frames of one reader, and notes them in its rejects."""

    def __init__(self, rejected: Rejects, files: Iterable[RawFile]) -> None:
        self._rejected = rejected
        self._files = {file.raw_file_id: file for file in files}
        # Files that lost rows.
        self.noted: set[str] = set()

    def build(self, rows: Sequence[Mapping[str, Any]], table: str) -> pl.DataFrame:
        """Return rows as a frame of the table's columns; a row whose values have other types is a reject."""
        schema = load_schema(table).polars
        try:
            return pl.DataFrame(rows, schema=schema)
        except _UNBUILDABLE:
            kept = []
            for row in rows:
                try:
                    pl.DataFrame([row], schema=schema)
                except _UNBUILDABLE as error:
                    self._note(row.get("raw_file_id"), f"{table}: {display_name(str(error))}; {ADVICE}")
                else:
                    kept.append(row)
            return pl.DataFrame(kept, schema=schema)

    def keep_sound(self, frame: pl.DataFrame, table: str) -> pl.DataFrame:
        """Return the rows of a frame that keep to the schema of the table, the others noted by file and rule.

        Columns that the schema does not have stay; `conform` raises for them.
        """
        schema = load_schema(table)
        present = {column.name: column for column in schema.columns if column.name in frame.columns}
        typed = frame.with_columns(pl.col(name).cast(schema.polars[name], strict=False) for name in present)
        sound = pl.repeat(value=True, n=frame.height, dtype=pl.Boolean, eager=True)
        for column in present.values():
            for rule, is_broken in list_rules(column, pl.col(column.name)):
                broken = typed.select(is_broken.fill_null(value=False)).to_series()
                sound &= ~self._note_rule(frame, table, f"{column.name} {rule}", column, broken)
            lost = typed[column.name].is_null() & frame[column.name].is_not_null()
            sound &= ~self._note_rule(frame, table, f"{column.name} is not of type {column.type}", column, lost)
        return typed.filter(sound)

    def keep_first(self, frame: pl.DataFrame, table: str) -> pl.DataFrame:
        """Return the first row of each key of the table, the others noted."""
        key = load_schema(table).key
        is_again = ~frame.select(pl.struct(key).is_first_distinct()).to_series()
        for raw_file_id, count in self._count(frame, is_again):
            rows = count_things(count, "row")
            message = f"{table}: the key {', '.join(key)} is repeated in {rows}; the first of each is kept"
            self._note(raw_file_id, message)
        return frame.filter(~is_again)

    def _note_rule(self, frame: pl.DataFrame, table: str, rule: str, column: Column, broken: pl.Series) -> pl.Series:
        if broken.any():
            for raw_file_id, count in self._count(frame, broken):
                of_file = broken & (frame["raw_file_id"] == raw_file_id) if raw_file_id is not None else broken
                value = display_name(str(frame[column.name].filter(of_file)[0]))
                message = f"{table}: {rule} in {count_things(count, 'row')}, the first {value}; {ADVICE}"
                self._note(raw_file_id, message)
        return broken

    def _count(self, frame: pl.DataFrame, marked: pl.Series) -> list[tuple[str | None, int]]:
        """Return how many rows of each raw file are marked; None stands for a file that the frame does not tell."""
        if "raw_file_id" not in frame.columns:
            return [(None, int(marked.sum()))] if marked.any() else []
        names = frame["raw_file_id"].filter(marked).to_list()
        return [(name, names.count(name)) for name in dict.fromkeys(names)]

    def _note(self, raw_file_id: str | None, message: str) -> None:
        file = self._files.get(raw_file_id or "") or next(iter(self._files.values()), None)
        if file is not None:
            self.noted.add(file.raw_file_id)
            self._rejected.add(file, REASON, message, is_whole_file=False)
