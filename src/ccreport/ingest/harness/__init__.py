"""What the harness, or `collect`, wrote beside its measurements."""

import re
from typing import Final

from ccreport.ingest.declaration import Content, Kind, Reader

# [["psl01.pic.es", "bbr2", 1, "bbr2", 0.28, "0.00001307", 0, 117], …
RESULT_ROWS: Final = re.compile(rb'\s*\[\s*\[\s*"[^"]*"\s*,\s*"[^"]*"\s*,\s*\d+\s*,')
NO_RUN: Final = "qdiscs of no run: no test has this file's <host>:<iteration> in its name; name it as the test"

READERS: Final = (
    Reader(
        "metadata",
        "ccreport.ingest.harness.metadata:read_metadata",
        kinds=(
            Kind("jobmeta", file_name=re.compile(r"jobmeta\.json"), is_told_by_name_only=True, run="job"),
            Kind("host-meta", file_name=re.compile(r".*-meta\.json", re.DOTALL), is_told_by_name_only=True, run="job"),
            Kind("pre-netem", items=("pre-netem",), run="part", without_run=NO_RUN),
            Kind("results", contents=(Content("results", RESULT_ROWS, 80, is_at_start=True),)),
        ),
        tables=("experiments", "hosts", "qdiscs", "harness_results"),
        measured="harness_results",
        needs_files=False,
    ),
    Reader(
        "kernel_drops",
        "ccreport.ingest.harness.kernel_drops:read_kernel_drops",
        kinds=(Kind("kernel-drops", items=("kernel-drops",), is_told_by_name_only=True),),
        tables=("kernel_drops",),
    ),
    Reader(
        "campaign",
        "ccreport.ingest.harness.collected_sessions:read_collected_session",
        kinds=(
            Kind("session", session_file="session.json", is_told_by_name_only=True),
            Kind("calibration", session_file="calibration.json", is_told_by_name_only=True),
            Kind("attempts", session_file="attempts.jsonl", is_told_by_name_only=True),
        ),
        tables=("sessions", "calibrations", "attempts"),
    ),
)
