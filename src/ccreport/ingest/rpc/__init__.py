"""Results of netperf and of flent."""

import re
from typing import Final

from ccreport.ingest.declaration import Content, Kind, Reader

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

READERS: Final = (
    Reader(
        "rpc",
        "ccreport.ingest.rpc.reader:read_rpc",
        kinds=(
            Kind("netperf", items=("netperf",), contents=(Content("netperf", NETPERF, 70),), run="result"),
            Kind("flent", items=("flent",), contents=(Content("flent", FLENT, 10),), run="result"),
        ),
        tables=("rpc_tests",),
        details=("rpc_samples", "rpc_histograms"),
        measured="rpc_tests",
    ),
)
