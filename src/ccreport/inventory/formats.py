"""What a file is by its content, whatever it is called."""

import re
from typing import Final

from ccreport.ingest.readers import READERS

# Captures that Wireshark's tools convert: snoop, Network Monitor 1 and 2, iptrace.
CAPTURE_MAGICS: Final = (b"snoop\0\0\0", b"RTSS", b"GMBU", b"iptrace ")
# Archives of other files, whose bytes are not theirs: a member may be a result. tarfile and zipfile write these.
TAR: Final = b"ustar"
TAR_OFFSET_BYTES: Final = 257
ZIP: Final = b"PK\x03\x04"
PACKED: Final = "packed"
# Client connecting to 10.0.0.2, TCP port 5001
IPERF2: Final = re.compile(rb"^(?:Client connecting to|Server listening on) .*port \d+$", re.MULTILINE)
# [  5] local 10.0.0.1 port 4001 connected to 10.0.0.2 port 5201
IPERF3_TEXT: Final = re.compile(rb"^\[ *\d+\] local \S+ port \d+ connected to \S+ port \d+", re.MULTILINE)
# {"id": "550e8400-…", "bytes_total": 1234567890, "duration_ms": 10000, "throughput_mbps": 987.65, … of `xfr --json`
XFR: Final = re.compile(rb'"bytes_total"\s*:\s*\d+\s*,\s*"duration_ms"\s*:\s*\d+\s*,\s*"throughput_mbps"\s*:')
# Measurements that no reader takes.
UNREAD: Final = {"iperf2": IPERF2, "iperf3-text": IPERF3_TEXT, "xfr": XFR}
CONTENTS: Final = sorted(
    (content for reader in READERS for kind in reader.kinds for content in kind.contents),
    key=lambda content: content.rank,
)


def recognise_format(head: bytes) -> str:
    """Return the format that the first bytes of a decompressed file show: one that a reader declares, or another."""
    if head.startswith(ZIP) or head[TAR_OFFSET_BYTES:].startswith(TAR):
        return PACKED
    if head.startswith(CAPTURE_MAGICS):
        return "capture"
    if not head.strip():
        return "empty"
    for content in CONTENTS:
        if content.is_shown_by(head):
            return content.format
    for name, pattern in UNREAD.items():
        if pattern.search(head):
            return name
    if head.lstrip()[:1] in (b"{", b"["):
        return "json"
    return "binary" if b"\0" in head else "text"
