"""Dumps of all TCP connections of a machine by `ss -neit` into the `connections` table.

Text and grammar are those of `ss.reader`; what differs is what is asked: not how one flow went, but how the values are
spread over very many connections. A dump need not be stamped, its name tells the time, and there is no run. A
connection that several dumps of a folder show has a row for each, and `is_last` marks the last of them. `misc/ss.c` of
iproute2 prints the socket's cookie with `-e`, which tells two connections with the same addresses apart.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.tables import TableWriter
from ccreport.ingest.bounds import Net
from ccreport.ingest.edge.dump_file import EdgeFile
from ccreport.ingest.edge.paths import compile_layout, read_place
from ccreport.ingest.edge.rows import EdgeBatch
from ccreport.ingest.reading import Reading
from ccreport.ingest.rejects import Rejects

# ASSUME: without the cookie of `ss -e`, equal addresses in two dumps of a folder are one connection.
IDENTITY: Final = ("machine", "connection_number", "local_address", "local_port", "remote_address", "remote_port")


def read_connections(reading: Reading) -> None:
    """Write the connections of one folder of dumps, in the order of time, then as printed.

    The setting `edge_paths` is the layout of the paths (`paths.py`).
    """
    pattern = compile_layout(reading.settings.edge_paths)
    connections = reading.place("connections")
    identities: list[pl.Series] = []
    with _Identifier("connections", connections, identities, reading.net) as writer:
        _read_files(_sort_by_time(reading.files, pattern), reading.root, writer, reading.rejected, pattern)
    if identities:
        _mark_last(connections, pl.concat(identities))


class _Identifier(TableWriter):
    """Writes connections and keeps a hash of what each is known by."""

    def __init__(self, table: str, path: Path, identities: list[pl.Series], net: Net) -> None:
        super().__init__(table, path, net)
        self._identities = identities

    def write_conformed(self, frame: pl.DataFrame) -> None:
        if frame.height:
            # The cookie is null in none or in all lines of a dump.
            self._identities.append(frame.select(*IDENTITY, "socket_id").hash_rows(seed=0))
        super().write_conformed(frame)


def _sort_by_time(files: list[RawFile], pattern: re.Pattern[str]) -> list[RawFile]:
    never = datetime.min.replace(tzinfo=UTC)
    return sorted(files, key=lambda file: (read_place(file.path, pattern).time_utc or never, file.path))


def _read_files(
    files: list[RawFile], root: Path, writer: TableWriter, rejected: Rejects, pattern: re.Pattern[str]
) -> None:
    batch = EdgeBatch()
    for file in files:
        batch.place = read_place(file.path, pattern)
        try:
            EdgeFile(replace(file, run_id=None), batch, writer).read(root / file.path, rejected)
        except RawFileError as error:
            rejected.add_error(file, error)
    writer.write(batch.to_frame())


def _mark_last(path: Path, identities: pl.Series) -> None:
    """Write the table again with `is_last`, where any connection is in it more than once."""
    values = identities.to_numpy()
    last = len(values) - 1 - np.unique(values[::-1], return_index=True)[1]
    if len(last) == len(values):
        return
    is_last = np.zeros(len(values), np.bool_)
    is_last[last] = True
    start = 0
    with pq.ParquetFile(path) as table, TableWriter("connections", path) as writer:
        for number in range(table.num_row_groups):
            frame = pl.DataFrame(table.read_row_group(number))
            stop = start + frame.height
            writer.write_conformed(frame.with_columns(pl.Series("is_last", is_last[start:stop])))
            start = stop
