"""Packet captures by tcpdump, and what tcpdump said at its end."""

import re
from typing import Final

from ccreport.ingest.declaration import Content, Kind, Reader

# Little- and big-endian, of microseconds and of nanoseconds; and a variant with longer records.
PCAP: Final = re.compile(rb"\xd4\xc3\xb2\xa1|\xa1\xb2\xc3\xd4|\x4d\x3c\xb2\xa1|\xa1\xb2\x3c\x4d|\x34\xcd\xb2\xa1")
PCAPNG: Final = re.compile(rb"\x0a\x0d\x0d\x0a")

READERS: Final = (
    Reader(
        "captures",
        "ccreport.ingest.captures.reader:read_captures",
        kinds=(
            Kind(
                "tcpdump",
                items=("tcpdump",),
                contents=(Content("pcap", PCAP, 0, is_at_start=True), Content("pcapng", PCAPNG, 1, is_at_start=True)),
                run="result",
            ),
            Kind("tcpdump-log", items=("tcpdump-log",)),
        ),
        tables=("captures", "capture_logs"),
        details=("packet_flows", "packet_intervals", "packets"),
        measured="captures",
        settings=("packet_runs",),
    ),
)
