"""What a file is by its content, whatever it is called."""

import re
from typing import Final

HEAD_BYTES: Final = 65536

PCAP_MAGICS: Final = (
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x34\xcd\xb2\xa1",
)
PCAPNG_MAGIC: Final = b"\x0a\x0d\x0d\x0a"

# # 1795215547.905306
SS_STAMP: Final = re.compile(rb"^# \d{9,10}\.\d+\s", re.MULTILINE)
# State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
SS_HEADER: Final = re.compile(rb"^.*Recv-Q +Send-Q +Local Address:Port", re.MULTILINE)
# Client connecting to 10.0.0.2, TCP port 5001
IPERF2: Final = re.compile(rb"^(?:Client connecting to|Server listening on) .*port \d+$", re.MULTILINE)
# {"event":"start","data":{…
JSON_STREAM: Final = re.compile(rb'^\s*\{\s*"event"\s*:\s*"', re.MULTILINE)
# The keys that only pscheduler's results have; a raw iperf3 result inside `diags` has its quotes escaped.
PSCHEDULER: Final = re.compile(rb'"(?:throughput-bits|diags|succeeded)"\s*:')
IPERF3: Final = re.compile(rb'"start"\s*:\s*\{\s*"connected"\s*:')
# [["psl01.pic.es", "bbr2", 1, "bbr2", 0.28, "0.00001307", 0, 117], …
RESULT_ROWS: Final = re.compile(rb'\s*\[\s*\[\s*"[^"]*"\s*,\s*"[^"]*"\s*,\s*\d+\s*,')


def recognise_format(head: bytes) -> str:
    """Return the format that the first bytes of a decompressed file show, one of the enum of `raw_files.format`."""
    if head.startswith(PCAP_MAGICS):
        return "pcap"
    if head.startswith(PCAPNG_MAGIC):
        return "pcapng"
    if not head.strip():
        return "empty"
    for name, pattern in (("iperf3-stream", JSON_STREAM), ("pscheduler", PSCHEDULER), ("iperf3", IPERF3)):
        if pattern.search(head):
            return name
    if b'"sysstat"' in head[:4096]:
        return "mpstat"
    if SS_STAMP.search(head) or SS_HEADER.search(head):
        return "ss"
    if IPERF2.search(head):
        return "iperf2"
    if RESULT_ROWS.match(head):
        return "results"
    if head.lstrip()[:1] in (b"{", b"["):
        return "json"
    return "binary" if b"\0" in head else "text"
