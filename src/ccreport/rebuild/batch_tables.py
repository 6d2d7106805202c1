"""Tables of a batch: the rows of one experiment after another in one Parquet file, which knows whose they are.

The footer's key `experiments` names for each experiment its number of rows and a fingerprint of what they were read
from and with. So a batch of which one experiment changed takes the others' rows from the file as it was. What is
written depends on nothing but the rows: row groups begin at the same rows whether these were read or taken.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ccreport.core.atomic_files import replace_file
from ccreport.core.tables import load_schema, open_writer

INDEX: Final = b"experiments"
# Row groups of several small experiments, so that there are not thousands, of one large one in parts that fit memory;
# else each is about one experiment, and DuckDB skips those that are not asked for by their lowest and highest run_id.
ROWS_AT_LEAST: Final = 2**12
ROWS_AT_MOST: Final = 2**17


@dataclass(frozen=True)
class Part:
    """The rows of one experiment in a file: what they were made of, and where they are."""

    fingerprint: str
    first_row: int
    rows_count: int


class BatchReader:
    """Read a table of a batch, by experiments; it has none where the file is missing or cannot be used."""

    def __init__(self, path: Path) -> None:
        self.parts: dict[str, Part] = {}
        self._last: tuple[int, pa.Table] = (-1, None)
        try:
            self._file = pq.ParquetFile(path)
            listed = json.loads((self._file.metadata.metadata or {})[INDEX])
        except (OSError, KeyError, pa.ArrowInvalid):
            return
        first_row = 0
        for experiment, fingerprint, rows_count in listed:
            self.parts[experiment] = Part(fingerprint, first_row, rows_count)
            first_row += rows_count

    def iterate(self, experiment: str) -> Iterator[pa.Table]:
        """Yield the rows of one experiment, at most a row group at once."""
        part = self.parts[experiment]
        first_row, end = 0, part.first_row + part.rows_count
        for number in range(self._file.num_row_groups):
            rows_count = self._file.metadata.row_group(number).num_rows
            start, stop = max(part.first_row, first_row) - first_row, min(end, first_row + rows_count) - first_row
            if start < stop:
                yield self._read_group(number).slice(start, stop - start)
            first_row += rows_count

    def _read_group(self, number: int) -> pa.Table:
        # Small experiments, which are asked for one after the other, share one.
        if self._last[0] != number:
            self._last = (number, self._file.read_row_group(number))
        return self._last[1]

    def read(self, experiment: str, table: str) -> pl.DataFrame:
        """Return the rows of one experiment, with the columns of a table."""
        batches = (batch for rows in self.iterate(experiment) for batch in rows.to_batches())
        return pl.DataFrame(pa.Table.from_batches(batches, load_schema(table).arrow))

    def extract(self, experiment: str, table: str, output: Path) -> None:
        """Write the rows of one experiment as a table of its own."""
        with open_writer(table, output) as writer:
            for rows in self.iterate(experiment):
                writer.write_table(rows)


def iterate_groups(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a table, a row group at once; there are none where there is not such a file."""
    if not path.exists():
        return
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number)


class BatchWriter:
    """Write a table of a batch, experiment by experiment; the file appears under its name only when it is whole."""

    def __init__(self, table: str, path: Path) -> None:
        self._schema = load_schema(table).arrow
        self._files = ExitStack()
        self._writer = self._files.enter_context(open_writer(table, self._files.enter_context(replace_file(path))))
        self._index: list[tuple[str, str, int]] = []
        self._waiting: list[pa.Table] = []
        self._waiting_count = 0

    def __enter__(self) -> Self:
        return self

    def append(self, experiment: str, fingerprint: str, rows: Iterable[pa.Table]) -> None:
        """Append the rows of an experiment, given in pieces, in the order in which they are to be written."""
        if self._waiting_count >= ROWS_AT_LEAST:
            self._flush()
        count = 0
        for piece in rows:
            count += piece.num_rows
            self._take(piece)
        self._index.append((experiment, fingerprint, count))

    def _take(self, piece: pa.Table) -> None:
        while piece.num_rows:
            room = ROWS_AT_MOST - self._waiting_count
            self._waiting.append(piece.slice(0, room))
            self._waiting_count += min(room, piece.num_rows)
            piece = piece.slice(room)
            if self._waiting_count == ROWS_AT_MOST:
                self._flush()

    def _flush(self) -> None:
        # Where pieces meet must leave no trace in the pages.
        rows = pa.concat_tables(self._waiting).combine_chunks()
        self._writer.write_table(rows.cast(self._schema), row_group_size=ROWS_AT_MOST)
        self._waiting, self._waiting_count = [], 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._files.__exit__(kind, error, trace)
            return
        with self._files:
            if self._waiting_count:
                self._flush()
            self._writer.add_key_value_metadata({INDEX: json.dumps(self._index)})
