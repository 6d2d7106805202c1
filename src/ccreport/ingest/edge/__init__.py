"""What servers of an edge network print of themselves: dumps of their connections, access logs and counters."""

import re
from typing import Final

from ccreport.ingest.declaration import Content, Kind, Reader

# ss-neit:1795211351 · access.log.1 · nstat:1795211351 · snmp
DUMP_NAME: Final = re.compile(r"ss-neit\b.*", re.DOTALL)
LOG_NAME: Final = re.compile(r"(?:.*[._-])?access[._]log\b.*", re.DOTALL)
COUNTERS_NAME: Final = re.compile(r"(?:nstat|snmp|netstat)(?:[:._-].*)?", re.DOTALL)
# #kernel · {"kernel":{"IpInReceives":0 · Ip: Forwarding DefaultTTL … · TcpExt: SyncookiesSent …
NSTAT: Final = re.compile(
    rb'\s*(?:# [\d.]+\s+)?(?:#kernel\s|\{\s*"kernel"\s*:\s*\{|Ip: Forwarding |TcpExt: Syncookies)'
)
# A stamp such as `# 1795215547.905306` begins samples of `ss` too.
ALIKE: Final = frozenset({"ss"})

READERS: Final = (
    Reader(
        "edge",
        "ccreport.ingest.edge.connections:read_connections",
        kinds=(Kind("ss-neit", file_name=DUMP_NAME, alike=ALIKE),),
        tables=("connections",),
        measured="connections",
        settings=("edge_paths",),
    ),
    Reader(
        "nginx",
        "ccreport.ingest.edge.nginx:read_access_logs",
        kinds=(Kind("access-log", file_name=LOG_NAME),),
        tables=("web_requests",),
        measured="web_requests",
        settings=("edge_paths", "access_log_format"),
    ),
    Reader(
        "nstat",
        "ccreport.ingest.edge.nstat:read_counters",
        kinds=(
            Kind(
                "nstat",
                items=("nstat",),
                file_name=COUNTERS_NAME,
                contents=(Content("nstat", NSTAT, 40, is_at_start=True),),
                alike=ALIKE,
            ),
        ),
        tables=("machine_counters",),
        measured="machine_counters",
        settings=("edge_paths",),
    ),
)
