"""The `tests`, `streams` and `intervals` tables while they are filled from client outputs of any tool.

A tool's module says which of its values belongs in which column (an `Outcome`); what they are worth is found out by
`typed_columns`, for many rows at once.
"""

from dataclasses import dataclass, field
from typing import Final

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.identifiers import flow_id_of_connection, flow_id_of_stream
from ccreport.core.tables import load_schema
from ccreport.ingest.iperf3.typed_columns import (
    Columns,
    Faults,
    build_frame,
    keep_possible,
    keep_whole_rows,
    keep_within_bounds,
)
from ccreport.ingest.json_values import Json, get_values
from ccreport.ingest.reading import Reading

Row = dict[str, Json]

# What an interval has of its stream.
STREAM_COLUMNS: Final = ("run_id", "flow_id", "client_number", "stream_number", "is_reverse", "raw_file_id")
# So many rows are typed while the parsed numbers are still in the processor's cache.
CHUNK_ROWS: Final = 2048
# Column of a time in µs → the column that is 0 where there is no sample: the kernel's 0, and iperf3's for a peer that
# did not tell.
ROUND_TRIPS: Final = {
    "rtt_ms": "rtt_ms",
    "rttvar_ms": "rtt_ms",
    "rtt_mean_ms": "rtt_mean_ms",
    "rtt_min_ms": "rtt_min_ms",
    "rtt_max_ms": "rtt_max_ms",
}


@dataclass
class Outcome:
    """One client output: values as the tool wrote them, by the column they belong to.

    All round-trip times are in µs and `start_utc` in ms since 1970, as the tools write them. Identifiers are added by
    `ClientTables`; an interval finds its stream by `stream_number`, and each has one among the streams.
    """

    test: Row
    streams: list[Row]
    intervals: Columns
    notes: list[RawFileError] = field(default_factory=list)


class ClientTables:
    """Collects the outcomes of an experiment's client outputs and writes them as three tables."""

    def __init__(self) -> None:
        self._tests = _Table("tests")
        self._streams = _Table("streams")
        self._intervals = _Table("intervals")
        # The streams' rows, counted from 0, that the intervals belong to.
        self._rows: list[int] = []
        self._files: dict[tuple[str, int], RawFile] = {}
        self._flows: dict[str, RawFile] = {}

    def add(self, file: RawFile, outcome: Outcome) -> None:
        """Take over what a file says.

        Raise RawFileError (`no_metadata`, `duplicate_run`) where the file belongs to no run or repeats one.
        """
        run_id, client = file.run_id, file.client_number or 1
        if run_id is None:
            raise RawFileError("no_metadata", "the file's name tells no run; rename it as the harness would")
        if (run_id, client) in self._files:
            message = "another file already gave the result of this client of the run; remove one of them"
            raise RawFileError("duplicate_run", message)
        flows = [_flow_id(run_id, client, row) for row in outcome.streams]
        if (other := next((self._flows[flow] for flow in flows if flow in self._flows), None)) is not None:
            message = f"its connections are those of {other.path}, a file of the same run; remove one of them"
            raise RawFileError("duplicate_run", message)
        self._flows |= dict.fromkeys(flows, file)
        self._files[run_id, client] = file
        source: Row = {"run_id": run_id, "client_number": client, "raw_file_id": file.raw_file_id}
        self._tests.extend({name: [value] for name, value in outcome.test.items()}, source, 1)
        rows = {row["stream_number"]: number for number, row in enumerate(outcome.streams, self._streams.height)}
        streams = _columns_of(outcome.streams)
        streams["flow_id"] = [*flows]
        self._streams.extend(streams, source, len(outcome.streams))
        numbers = outcome.intervals["stream_number"]
        self._rows.extend(map(rows.__getitem__, numbers))
        self._intervals.extend(outcome.intervals, source, len(numbers))

    def write(self, reading: Reading) -> None:
        """Write the three tables; note in the rejects every value and row that could not be taken over."""
        all_tests = self._tests.finish()
        self._write(self._tests, all_tests, load_schema("tests").key, reading)
        key = load_schema("streams").key
        all_streams = self._streams.finish().with_row_index("row").sort(key, maintain_order=True)
        # The place of every stream among the sorted ones stands for the texts of its key.
        places = all_streams["row"].arg_sort().gather(self._rows)
        of_intervals = self._intervals.finish().with_columns(places.alias("place"))
        of_intervals = of_intervals.sort("place", "interval_number", maintain_order=True)
        of_streams = all_streams.select(STREAM_COLUMNS)[of_intervals["place"]]
        mss = pl.when(pl.col("mss_bytes") > 0).then(pl.col("mss_bytes")).alias("mss_bytes")
        of_tests = all_tests.select("run_id", "client_number", mss).unique(["run_id", "client_number"])
        with_mss = all_streams.join(of_tests, on=["run_id", "client_number"], how="left", maintain_order="left")
        self._write(self._streams, with_mss.drop("row"), key, reading)
        all_intervals = of_streams.hstack(of_intervals)
        self._write(self._intervals, all_intervals, ("place", "interval_number"), reading)

    def _write(self, table: "_Table", frame: pl.DataFrame, key: tuple[str, ...], reading: Reading) -> None:
        bounded = keep_within_bounds(frame, table.name, table.faults)
        bounded = keep_possible(bounded, table.name, table.faults)
        whole = keep_whole_rows(bounded, table.name, key, table.faults)
        table.faults.note(reading.rejected, self._files.values())
        reading.write(table.name, _in_units(whole.select(*load_schema(table.name).polars), table.name))


class _Table:
    """One table under way: typed chunks, and the columns of the next one as parsed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults = Faults(name)
        self.height = 0
        self._chunks: list[pl.DataFrame] = []
        self._columns = self._empty()
        # The file of every row of the next chunk.
        self._sources: list[str] = []

    def _empty(self) -> Columns:
        names = (column.name for column in load_schema(self.name).columns)
        return {name: [] for name in names if self.name != "intervals" or name not in STREAM_COLUMNS}

    def extend(self, rows: Columns, source: Row, count: int) -> None:
        """Add rows of one file; a column that they lack has what holds for the whole file, else null."""
        for name, column in self._columns.items():
            column.extend(rows[name] if name in rows else [source.get(name)] * count)
        self._sources.extend([str(source["raw_file_id"])] * count)
        self.height += count
        if len(self._sources) >= CHUNK_ROWS:
            self._close_chunk()

    def _close_chunk(self) -> None:
        self._chunks.append(build_frame(self.name, self._columns, self._sources, self.faults))
        self._columns = self._empty()
        self._sources = []

    def finish(self) -> pl.DataFrame:
        """Return all rows, each value of its column's type or null."""
        self._close_chunk()
        return pl.concat(self._chunks)


def _columns_of(rows: list[Row]) -> Columns:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: get_values(rows, name) for name in names}


def _flow_id(run_id: str, client: int, row: Row) -> str:
    local, port, remote, remote_port = (
        row["local_address"],
        row["local_port"],
        row["remote_address"],
        row["remote_port"],
    )
    if isinstance(local, str) and isinstance(port, int) and isinstance(remote, str) and isinstance(remote_port, int):
        return flow_id_of_connection(run_id, local, port, remote, remote_port)
    number = row["stream_number"]
    return flow_id_of_stream(run_id, client, number if isinstance(number, int) else 0)


def _in_units(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """Return the frame in the units of the table: ms instead of µs, a time stamp instead of ms since 1970."""
    in_ms = [
        pl.when(pl.col(basis) > 0).then(pl.col(name) / 1000).alias(name)
        for name, basis in ROUND_TRIPS.items()
        if name in frame.columns
    ]
    stamps = [
        (pl.col(column.name) * 1000).cast(pl.Datetime("us", "UTC"))
        for column in load_schema(table).columns
        if column.type == "timestamp"
    ]
    return frame.with_columns(*in_ms, *stamps)
