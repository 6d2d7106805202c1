"""Packet captures by tcpdump (pcap, pcapng) into tables of captures, their connections, and these over time.

The test harness runs `tcpdump -s 128` on the sending host for the length of a run and leaves one capture for each,
plain or compressed, and what tcpdump said at its end in a log beside it. Captures are long: they are read in a stream,
only the state of connections is kept. The formats are written down in draft-ietf-opsawg-pcap and
draft-ietf-opsawg-pcapng; what is measured stands in `schemas/tables/packet_flows.yaml`, how in the modules
`capture_data` and `capture_acks`.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from ccreport.flow_identity import flow_id_of_connection
from ccreport.ingest.capture_logs import read_capture_logs
from ccreport.raw import RawFile, RawFileError, read_manifest
from ccreport.rejects import Rejects
from ccreport.tables import TableWriter, conform, write_table

if TYPE_CHECKING:
    from ccreport.ingest.capture_file import CaptureReader

PIECES: Final = ("packet_flows", "packet_intervals", "packets")


def ingest_captures(
    manifest: Path,
    root: Path,
    captures: Path,
    capture_logs: Path,
    packet_flows: Path,
    packet_intervals: Path,
    packets: Path,
    rejects: Path,
    packet_runs: list[str],
) -> None:
    """Write the captures of one experiment as tables, and what could not be used of them.

    `packets` has rows only of the runs named in `packet_runs`. Rows stand in the order of the files; packets in that of
    the capture.
    """
    rejected = Rejects()
    files = read_manifest(manifest).files_for("ingest_captures")
    described = []
    with ExitStack() as stack:
        paths = zip(PIECES, (packet_flows, packet_intervals, packets), strict=True)
        writers = {table: stack.enter_context(TableWriter(table, path)) for table, path in paths}
        for file in files:
            if file.kind == "tcpdump":
                described += _ingest_capture(file, root, writers, rejected, wants_packets=file.run_id in packet_runs)
    schema_only = pl.DataFrame()
    write_table(pl.concat(described) if described else schema_only, "captures", captures)
    logs = [file for file in files if file.kind == "tcpdump-log"]
    write_table(read_capture_logs(logs, root, rejected), "capture_logs", capture_logs)
    rejected.write(rejects)


def _ingest_capture(
    file: RawFile, root: Path, writers: Mapping[str, TableWriter], rejected: Rejects, *, wants_packets: bool
) -> list[pl.DataFrame]:
    # Here, because numba takes half a second to load.
    from ccreport.ingest.capture_file import CaptureReader, iterate_capture  # noqa: PLC0415

    reader = CaptureReader(iterate_capture(root / file.path), wants_packets=wants_packets)
    identifiers: dict[int, str] = {}
    try:
        for table, piece in reader.read():
            writers[table].write(_identify(piece, file, reader, identifiers))
    except RawFileError as error:
        rejected.add_error(file, error)
        return []
    if reader.error is not None:
        rejected.add_error(file, reader.error, is_whole_file=False)
    own = {"run_id": pl.lit(file.run_id), "raw_file_id": pl.lit(file.raw_file_id)}
    # Of a single row polars takes the smallest types that hold it, which differ from capture to capture.
    return [conform(reader.describe().with_columns(**own), "captures")]


def _identify(piece: pl.DataFrame, file: RawFile, reader: "CaptureReader", identifiers: dict[int, str]) -> pl.DataFrame:
    """Put run, file and flow identifiers in the place of the capture's own numbers of flows."""
    if not piece.height:
        return piece.clear().drop("flow_number")
    missing = set(piece["flow_number"].unique().to_list()) - identifiers.keys()
    if missing:
        for number, *ends in reader.links().drop("connection_number").rows():
            if number in missing:
                identifiers[number] = flow_id_of_connection(file.run_id or "", *ends)
    return piece.with_columns(
        run_id=pl.lit(file.run_id),
        raw_file_id=pl.lit(file.raw_file_id),
        flow_id=pl.col("flow_number").replace_strict(identifiers, return_dtype=pl.String),
    ).drop("flow_number")
