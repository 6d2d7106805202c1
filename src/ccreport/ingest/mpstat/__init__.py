"""Loads of processors by mpstat (sysstat), as JSON or text."""

import re
from typing import Final

from ccreport.ingest.declaration import Content, Kind, Reader

JSON: Final = re.compile(rb'.{0,4087}"sysstat"', re.DOTALL)
# 21:41:55     CPU    %usr   %nice … %idle; %user before sysstat 10
TEXT: Final = re.compile(rb"^[^\n]{0,40}\bCPU +[^\n]{0,80}%use?r +[^\n]{0,200}%idle\b", re.MULTILINE)
NO_RUN: Final = (
    "loads of processors of no run; name the file mpstat-sender:<host>:<iteration>.json (or mpstat-receiver) as the "
    "test's src-cmd:<host>:<iteration>, in the same folder"
)

READERS: Final = (
    Reader(
        "mpstat",
        "ccreport.ingest.mpstat.reader:read_mpstat",
        kinds=(
            Kind(
                "mpstat",
                items=("mpstat-sender", "mpstat-receiver"),
                contents=(Content("mpstat", JSON, 50, is_at_start=True), Content("mpstat", TEXT, 51)),
                run="part",
                without_run=NO_RUN,
            ),
        ),
        tables=("cpu_samples",),
    ),
)
