"""Measure what a run costs in virtual time, and what the same kernel reaches in real time.

    python benchmarks/virtual_time.py [--kernel PATH] [--algorithm bbr] [--rounds 3]

Each case is collected with tests of two lengths. What the longer one takes more, by its own seconds, is what a second
of virtual time costs, and by the packets of 9000 bytes that arrived more, what a packet costs; the rest is boot,
set-up and iperf3's conversation with its server. In real time the same case is offered to a user-mode kernel of the
same build: what arrives is all that it can carry. CPU seconds (user and system, all processes) and medians of rounds.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from measuring.processes import run_measured

SHORT_S, LONG_S = 2, 12
MTU_BYTES = 9000
CASES = {
    "1 flow, 10 ms": {"flows_count": 1, "rtt_ms": 10},
    "16 flows, 10 ms": {"flows_count": 16, "rtt_ms": 10},
    "1 flow, 80 ms": {"flows_count": 1, "rtt_ms": 80},
    "16 flows, 80 ms": {"flows_count": 16, "rtt_ms": 80},
}


def declare(case: dict[str, Any], clock: str, algorithm: str, duration_s: int) -> dict[str, Any]:
    """Return a campaign of one run of a case."""
    job = {"name": "run", "congestion_control": algorithm, "duration_s": duration_s, **case}
    return {
        "title": "Cost of virtual time",
        "testbed": {
            "engine": "user-mode-kernel",
            "clock": clock,
            "memory_mib": 6000,
            "parallel_count": 1,
            "calibration": {"packets_count": 1000},
        },
        "defaults": {
            "mtu_bytes": MTU_BYTES,
            "offloads": True,
            "sender_mbps": 10000,
            "flow_pacing_mbps": 9900,
            "limit_packets_count": 100000,
            "extra_arguments": ["-Z"],
            "instruments": {"ss_interval_s": 0.5},
        },
        "sessions": [{"label": "benchmark", "jobs": [job]}],
    }


def collect(campaign: dict[str, Any], kernel: str | None) -> tuple[float, float]:
    """Collect a campaign of one run; return its CPU seconds and the bytes that arrived."""
    with tempfile.TemporaryDirectory() as folder:
        declared, archive = Path(folder) / "campaign.yaml", Path(folder) / "archive"
        declared.write_text(yaml.safe_dump(campaign), encoding="utf-8")
        command = [sys.executable, "-m", "ccreport", "collect", "--campaign", declared, "--archive", archive]
        cpu_s = run_measured([*command, *(["--kernel", kernel] if kernel else [])]).cpu_s
        (result,) = archive.glob("*/run/src-cmd:*")
        return cpu_s, json.loads(result.read_text(encoding="utf-8"))["end"]["sum_received"]["bytes"]


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", help="a user-mode kernel with virtual time, that of `make kernel` unless named")
    parser.add_argument("--algorithm", default="bbr")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'case':<18}{'fixed CPU s':>12}{'CPU s / s':>11}{'us / packet':>13}{'Gbit/s':>8}{'real time, Gbit/s':>19}")
    for name, case in CASES.items():
        rounds = []
        for _ in range(options.rounds):
            (short_s, short_bytes), (long_s, long_bytes) = (
                collect(declare(case, "virtual", options.algorithm, length_s), options.kernel)
                for length_s in (SHORT_S, LONG_S)
            )
            _, real_bytes = collect(declare(case, "real", options.algorithm, SHORT_S), options.kernel)
            a_second = (long_s - short_s) / (LONG_S - SHORT_S)
            packets_count = (long_bytes - short_bytes) / MTU_BYTES
            rate_gbps = 8e-9 * (long_bytes - short_bytes) / (LONG_S - SHORT_S)
            a_packet_us = 1e6 * (long_s - short_s) / packets_count
            rounds.append((short_s - SHORT_S * a_second, a_second, a_packet_us, rate_gbps, 8e-9 * real_bytes / SHORT_S))
        fixed_s, a_second, a_packet_us, rate_gbps, real_gbps = map(statistics.median, zip(*rounds, strict=True))
        print(
            f"{name:<18}{fixed_s:>12.1f}{a_second:>11.2f}{a_packet_us:>13.1f}{rate_gbps:>8.2f}{real_gbps:>19.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
