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
# #kernel · {"kernel":{"IpInReceives":0 · Ip: Forwarding DefaultTTL … · TcpExt: SyncookiesSent …
NSTAT: Final = re.compile(
    rb'\s*(?:# [\d.]+\s+)?(?:#kernel\s|\{\s*"kernel"\s*:\s*\{|Ip: Forwarding |TcpExt: Syncookies)'
)
# Client connecting to 10.0.0.2, TCP port 5001
IPERF2: Final = re.compile(rb"^(?:Client connecting to|Server listening on) .*port \d+$", re.MULTILINE)
# {"event":"start","data":{…
JSON_STREAM: Final = re.compile(rb'^\s*\{\s*"event"\s*:\s*"', re.MULTILINE)
# The keys that only pscheduler's results have; a raw iperf3 result inside `diags` has its quotes escaped.
PSCHEDULER: Final = re.compile(rb'"(?:throughput-bits|diags|succeeded)"\s*:')
IPERF3: Final = re.compile(rb'"start"\s*:\s*\{\s*"connected"\s*:')
# {"metadata": {…, "FLENT_VERSION": "2.1.1", …; files of before 2015 name netperf-wrapper.
FLENT: Final = re.compile(rb'"(?:FLENT_VERSION|NETPERF_WRAPPER_VERSION)"\s*:\s*["\d]')
# MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to … · THROUGHPUT=9.40 · Throughput,Throughput Units
NETPERF: Final = re.compile(
    rb"^(?:(?:MIGRATED |OMNI )?[A-Za-z0-9]+[ A-Za-z|/]{0,60} TEST from \S+ .*port \d+ AF_\w+ to "
    rb"|establish[_ ]control:? (?:are you sure there is a netserver|could not establish)"
    rb"|(?:THROUGHPUT|ELAPSED_TIME|NETPERF_INTERIM_RESULT\[0\])=-?\d"
    rb"|(?=[^\n]{0,8000}\bThroughput Units\b)[A-Z0-9][\w %()/-]*,)",
    re.MULTILINE,
)
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
    if FLENT.search(head):
        return "flent"
    for name, pattern in (("iperf3-stream", JSON_STREAM), ("pscheduler", PSCHEDULER), ("iperf3", IPERF3)):
        if pattern.search(head):
            return name
    if NSTAT.match(head):
        return "nstat"
    if b'"sysstat"' in head[:4096]:
        return "mpstat"
    if SS_STAMP.search(head) or SS_HEADER.search(head):
        return "ss"
    if NETPERF.search(head):
        return "netperf"
    if IPERF2.search(head):
        return "iperf2"
    if RESULT_ROWS.match(head):
        return "results"
    if head.lstrip()[:1] in (b"{", b"["):
        return "json"
    return "binary" if b"\0" in head else "text"
