from pathlib import Path
from typing import Any

import pytest
from archives import list_one, write_archive

from ccreport.archive.manifest import RawFile, read_manifest
from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.captures.tcpdump_log import read_capture_log, read_capture_logs
from ccreport.ingest.rejects import Rejects

START = "tcpdump: listening on s0, link-type EN10MB (Ethernet), snapshot length 128 bytes\n"
COUNTS = "10814 packets captured\n11572 packets received by filter\n0 packets dropped by kernel\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            START + COUNTS,
            {
                "interface": "s0",
                "snap_length_bytes": 128,
                "captured_packets_count": 10814,
                "received_packets_count": 11572,
                "kernel_drops_count": 0,
                "interface_drops_count": 0,
            },
        ),
        (
            # Before tcpdump 4.99; the line "verbose output suppressed" stands above it.
            (
                "tcpdump: verbose output suppressed, use -v[v]... for full protocol decode\n"
                "listening on eth0, link-type EN10MB (Ethernet), capture size 96 bytes\n"
                "1 packet captured\n1 packet received by filter\n2 packets dropped by kernel\n"
                "3 packets dropped by interface\n"
            ),
            {
                "interface": "eth0",
                "snap_length_bytes": 96,
                "captured_packets_count": 1,
                "kernel_drops_count": 2,
                "interface_drops_count": 3,
            },
        ),
        # Whole packets: no limit. An old tcpdump that cannot tell drops says nothing of them.
        (
            START.replace("128", "262144") + "5 packets captured\n",
            {"snap_length_bytes": None, "captured_packets_count": 5, "interface_drops_count": None},
        ),
        # The progress that tcpdump prints with -v is written over by carriage returns.
        ("Got 1\rGot 7\r7 packets captured\r\n", {"interface": None, "captured_packets_count": 7}),
    ],
)
def test_what_tcpdump_said(text: str, expected: dict[str, Any]) -> None:
    row = read_capture_log(text)
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        (START, "no_measurement"),
        ("tcpdump: s9: No such device exists\n", "no_measurement"),
    ],
)
def test_logs_without_counts_are_rejected(text: str, reason: str) -> None:
    with pytest.raises(RawFileError) as caught:
        read_capture_log(text)
    assert caught.value.reason == reason


def test_logs_of_an_experiment(tmp_path: Path) -> None:
    folder = "2026-11-20:22:12/capture_p1"
    archive = write_archive(
        tmp_path / "raw",
        {f"{folder}/tcpdump-log:10.0.0.2:1": START + COUNTS, f"{folder}/tcpdump-log:10.0.0.2:2": START},
    )
    files: list[RawFile] = read_manifest(list_one(archive, tmp_path / "work")).files_for("ingest_captures")
    rejected = Rejects()
    logs = read_capture_logs(files, archive, rejected)
    assert logs.select("run_id", "kernel_drops_count").rows() == [(files[0].run_id, 0)]
    assert [(row["run_id"], row["reason"], row["is_whole_file"]) for row in rejected.rows] == [
        (files[1].run_id, "no_measurement", True)
    ]
