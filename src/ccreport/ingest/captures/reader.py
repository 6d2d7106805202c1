"""Packet captures by tcpdump (pcap, pcapng) into tables of captures, their connections, and these over time.

The test harness runs `tcpdump -s 128` on the sending host for the length of a run and leaves one capture for each,
plain or compressed, and what tcpdump said at its end in a log beside it. Captures are long: they are read in a stream,
only the state of connections is kept. The formats are written down in draft-ietf-opsawg-pcap and
draft-ietf-opsawg-pcapng; what is measured is in `schemas/tables/packet_flows.yaml`, how in the modules
`follow.data` and `follow.acks`.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.identifiers import flow_id_of_connection
from ccreport.core.tables import TableWriter, conform_sound
from ccreport.ingest.captures.file import CaptureReader, iterate_capture
from ccreport.ingest.captures.tcpdump_log import read_capture_logs
from ccreport.ingest.reading import Reading

PIECES: Final = ("packet_flows", "packet_intervals", "packets")


def read_captures(reading: Reading) -> None:
    """Write the captures of one experiment as tables.

    `packets` has rows only of the runs that the setting `packet_runs` names. Rows are in the order of the files;
    packets in that of the capture.
    """
    described = [pl.DataFrame()]
    with ExitStack() as stack:
        writers = {table: stack.enter_context(reading.open(table)) for table in PIECES}
        for file in reading.files:
            if file.kind == "tcpdump":
                described += _read_capture(file, reading, writers)
    # Without a capture, a frame without columns represents one without rows.
    reading.write("captures", pl.concat(described[1:] or described))
    logs = [file for file in reading.files if file.kind == "tcpdump-log"]
    reading.write("capture_logs", read_capture_logs(logs, reading.root, reading.rejected))


def _read_capture(file: RawFile, reading: Reading, writers: Mapping[str, TableWriter]) -> list[pl.DataFrame]:
    wants_packets = file.run_id in reading.settings.packet_runs
    reader = CaptureReader(iterate_capture(reading.root / file.path), wants_packets=wants_packets)
    identifiers: dict[int, str] = {}
    try:
        for table, piece in reader.read():
            writers[table].write(_identify(piece, file, reader, identifiers))
    except RawFileError as error:
        reading.rejected.add_error(file, error)
        return []
    if reader.error is not None:
        reading.rejected.add_error(file, reader.error, is_whole_file=False)
    for note in reader.notes():
        reading.rejected.add_error(file, note, is_whole_file=False)
    own = {"run_id": pl.lit(file.run_id), "raw_file_id": pl.lit(file.raw_file_id)}
    # Of a single row polars takes the smallest types that hold it, which differ from capture to capture.
    return [conform_sound(reader.describe().with_columns(**own), "captures", reading.net)]


def _identify(piece: pl.DataFrame, file: RawFile, reader: CaptureReader, identifiers: dict[int, str]) -> pl.DataFrame:
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
