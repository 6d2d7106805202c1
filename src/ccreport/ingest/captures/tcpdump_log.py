"""What tcpdump says on stderr when it starts and ends: interface, snap length, and how many packets it lost.

The harness keeps it beside each capture. tcpdump's manual page says what the counts mean; whether `received by filter`
holds packets that the filter refused, or those never read, depends on the operating system. tcpdump prints the drops by
the interface only where there are some, and a drop by the kernel always. Before version 4.99 it said `capture size` for
`snapshot length`; a log of a killed tcpdump has no counts.
"""

import re
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.core.tables import load_schema
from ccreport.core.text import display_name
from ccreport.ingest.rejects import Rejects

# tcpdump: listening on s0, link-type EN10MB (Ethernet), snapshot length 128 bytes
# listening on eth0, link-type EN10MB (Ethernet), capture size 96 bytes
LISTENING: Final = re.compile(r"\blistening on ([^,\n]+)(?:,[^\n]*?\b(?:snapshot length|capture size) (\d+) bytes)?")
# 10814 packets captured
# 1 packet dropped by interface
COUNT: Final = re.compile(r"(\d{1,18}) packets? (captured|received by filter|dropped by kernel|dropped by interface)\b")
COLUMN_OF_COUNT: Final = {
    "captured": "captured_packets_count",
    "received by filter": "received_packets_count",
    "dropped by kernel": "kernel_drops_count",
    "dropped by interface": "interface_drops_count",
}
# tcpdump's own way to say "all of each packet": it writes its largest snap length.
WHOLE_PACKETS_BYTES: Final = 262144


def read_capture_log(text: str) -> dict[str, Any]:
    """Return the row of the `capture_logs` table that one log makes, without the run's columns.

    Where tcpdump printed its counts and none for drops by the interface, there were none. The last word counts where a
    log holds several. Raise RawFileError (`empty`, `no_measurement`) where it holds none of the counts.
    """
    if not text.strip():
        raise RawFileError("empty", "the file is empty; whether tcpdump lost packets is not recorded")
    counts = {COLUMN_OF_COUNT[what]: int(number) for number, what in COUNT.findall(text)}
    if not counts:
        raise RawFileError(
            "no_measurement", "none of tcpdump's counts in it (was it killed?), so lost packets are not recorded"
        )
    row: dict[str, Any] = {"interface": None, "snap_length_bytes": None, **dict.fromkeys(COLUMN_OF_COUNT.values())}
    if match := LISTENING.search(text):
        row["interface"] = display_name(match[1].strip())
        length = int(match[2]) if match[2] and len(match[2]) < 18 else None
        row["snap_length_bytes"] = None if length == WHOLE_PACKETS_BYTES else length
    if "kernel_drops_count" in counts:
        row["interface_drops_count"] = 0
    return row | counts


def read_capture_logs(files: list[RawFile], root: Path, rejected: Rejects) -> pl.DataFrame:
    """Return the `capture_logs` table of these files below the archive's root; note what could not be used."""
    rows = []
    for file in files:
        try:
            row = read_capture_log(read_whole(root / file.path).decode("utf-8", "replace"))
        except RawFileError as error:
            rejected.add_error(file, error)
        else:
            rows.append(row | {"run_id": file.run_id, "raw_file_id": file.raw_file_id})
    return pl.DataFrame(rows, schema=load_schema("capture_logs").polars)
