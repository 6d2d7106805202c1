"""Samples of TCP sockets by `ss` (iproute2)."""

import re
from typing import Final

from ccreport.ingest.declaration import Content, Kind, Reader

# # 1795215547.905306
STAMP: Final = re.compile(rb"^# \d{9,10}\.\d+\s", re.MULTILINE)
# State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
HEADER: Final = re.compile(rb"^.*Recv-Q +Send-Q +Local Address:Port", re.MULTILINE)
# ESTAB 0      0          10.0.0.1:43802    10.0.0.2:5201, without header and stamps
SOCKET: Final = re.compile(
    rb"^(?:tcp +)?(?:ESTAB|SYN-SENT|FIN-WAIT-[12]|CLOSE-WAIT|LAST-ACK|CLOSING) +\d+ +\d+ +\S*[\d\]]:\S+ +\S*[\d\]]:\S+",
    re.MULTILINE,
)
NO_RUN: Final = (
    "ss samples of no run: this folder has no test whose connections they could be; name the file "
    "ss:<host>:<iteration> as the test's src-cmd:<host>:<iteration>, or put it into the folder of the test"
)

READERS: Final = (
    Reader(
        "ss",
        "ccreport.ingest.ss.reader:read_ss",
        kinds=(
            Kind(
                "ss",
                items=("ss",),
                contents=(Content("ss", STAMP, 60), Content("ss", HEADER, 61), Content("ss", SOCKET, 62)),
                run="samples",
                without_run=NO_RUN,
            ),
        ),
        tables=("samples",),
        support=("sample_stamps",),
        measured="samples",
        joins=("tests", "streams"),
    ),
)
