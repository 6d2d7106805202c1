"""Outputs of iperf3's client, as it writes them or as pscheduler keeps them."""

import re
from typing import Final

from ccreport.ingest.declaration import Content, Kind, Reader

# {"event":"start","data":{…
JSON_STREAM: Final = re.compile(rb'^\s*\{\s*"event"\s*:\s*"', re.MULTILINE)
# The keys that only pscheduler's results have; a raw iperf3 result inside `diags` has its quotes escaped.
PSCHEDULER: Final = re.compile(rb'"(?:throughput-bits|diags|succeeded)"\s*:')
IPERF3: Final = re.compile(rb'"start"\s*:\s*\{\s*"connected"\s*:')

READERS: Final = (
    Reader(
        "iperf3",
        "ccreport.ingest.iperf3.reader:read_iperf3",
        kinds=(
            Kind(
                "src-cmd",
                items=("src-cmd",),
                contents=(
                    Content("iperf3-stream", JSON_STREAM, 20),
                    Content("pscheduler", PSCHEDULER, 21),
                    Content("iperf3", IPERF3, 22),
                ),
                run="result",
            ),
        ),
        tables=("tests", "intervals", "streams"),
        measured="tests",
    ),
)
