"""Dumps of all TCP connections of a machine by `ss -neit` into the `connections` table.

Text and grammar are those of `ss.py`; what differs is what is asked: not how one flow went, but how the values are
spread over very many connections. A dump need not be stamped, its name tells the time, and there is no run. A
connection that several dumps of a folder show stands in each, and `is_last` marks the last of them. `misc/ss.c` of
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

from ccreport.ingest.edge_paths import compile_layout, read_place
from ccreport.raw import RawFile, RawFileError, read_manifest
from ccreport.rejects import Rejects
from ccreport.tables import TableWriter

# ASSUME: without the cookie of `ss -e`, equal addresses in two dumps of a folder are one connection.
IDENTITY: Final = ("machine", "connection_number", "local_address", "local_port", "remote_address", "remote_port")


def ingest_edge(manifest: Path, root: Path, connections: Path, rejects: Path, edge_paths: str) -> None:
    """Write the connections of one folder of dumps, and what could not be used of them.

    `edge_paths` is the layout of the paths (`edge_paths.py`). Rows stand in the order of time, then as printed.
    """
    pattern = compile_layout(edge_paths)
    rejected = Rejects()
    files = read_manifest(manifest).files_for("ingest_edge")
    identities: list[pl.Series] = []
    with _Identifier("connections", connections, identities) as writer:
        if files:
            _read_files(_sort_by_time(files, pattern), root, writer, rejected, pattern)
    if identities:
        _mark_last(connections, pl.concat(identities))
    rejected.write(rejects)


class _Identifier(TableWriter):
    """Writes connections and keeps a hash of what each is known by."""

    def __init__(self, table: str, path: Path, identities: list[pl.Series]) -> None:
        super().__init__(table, path)
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
    # Here, because numba takes half a second to load.
    from ccreport.ingest.edge_batch import EdgeBatch  # noqa: PLC0415
    from ccreport.ingest.edge_file import EdgeFile  # noqa: PLC0415

    batch = EdgeBatch()
    for file in files:
        batch.place = read_place(file.path, pattern)
        try:
            EdgeFile(replace(file, run_id=None), batch, writer).read(root / file.path, rejected)
        except RawFileError as error:
            rejected.add_error(file, error)
    writer.write(batch.to_frame())


def _mark_last(path: Path, identities: pl.Series) -> None:
    """Write the table again with `is_last`, where any connection stands in it more than once."""
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
