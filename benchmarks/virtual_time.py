"""Measure what a run costs in virtual time, and what the same kernel reaches in real time.

    python benchmarks/virtual_time.py [--kernel PATH] [--algorithm bbr] [--rounds 3]

Each case is collected with tests of two lengths, and the shorter ones four times too. What the longer test takes more,
by its own seconds, is what a second of virtual time costs, and by the packets of 9000 bytes that arrived more, what a
packet costs. What three more runs take, less their tests, is boot and set-up of a run. In real time the same case is
offered to a user-mode kernel of the same build: what arrives is all that it can carry. Set-up is in seconds of the
clock; the rest in CPU seconds (user and system, all processes). Medians of rounds.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from measuring.processes import Measured, run_measured

SHORT_S, LONG_S = 2, 12
RUNS_COUNT = 4
MTU_BYTES = 9000
CASES = {
    "1 flow, 10 ms": {"flows_count": 1, "rtt_ms": 10},
    "16 flows, 10 ms": {"flows_count": 16, "rtt_ms": 10},
    "1 flow, 80 ms": {"flows_count": 1, "rtt_ms": 80},
    "16 flows, 80 ms": {"flows_count": 16, "rtt_ms": 80},
}


def declare(case: dict[str, Any], clock: str, algorithm: str, duration_s: int, runs_count: int) -> dict[str, Any]:
    """Return a campaign that runs a case a number of times."""
    job = {"name": "run", "congestion_control": algorithm, "duration_s": duration_s, "iterations_count": runs_count}
    return {
        "title": "Cost of virtual time",
        "testbed": {
            "engine": "user-mode-kernel",
            "clock": clock,
            "memory_mib": 6000,
            "parallel_count": 1,
            "calibration": {"packets_count": 1000, "on_failure": "warn"},
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
        "sessions": [{"label": "benchmark", "jobs": [job | case]}],
    }


def collect(campaign: dict[str, Any], kernel: str | None) -> tuple[Measured, float]:
    """Collect a campaign; return what that took and the bytes of its runs that arrived."""
    with tempfile.TemporaryDirectory() as folder:
        declared, archive = Path(folder) / "campaign.yaml", Path(folder) / "archive"
        declared.write_text(yaml.safe_dump(campaign), encoding="utf-8")
        command = [sys.executable, "-m", "ccreport", "collect", "--campaign", declared, "--archive", archive]
        taken = run_measured([*command, *(["--kernel", kernel] if kernel else [])])
        results = (json.loads(path.read_text(encoding="utf-8")) for path in archive.glob("*/run/src-cmd:*"))
        return taken, sum(result["end"]["sum_received"]["bytes"] for result in results)


def measure(case: dict[str, Any], algorithm: str, kernel: str | None) -> tuple[float, ...]:
    """Return s of set-up a run, CPU s a second, CPU us a packet, and Gbit/s in virtual and in real time."""

    def run(clock: str, duration_s: int, runs_count: int = 1) -> tuple[Measured, float]:
        return collect(declare(case, clock, algorithm, duration_s, runs_count), kernel)

    short, short_bytes = run("virtual", SHORT_S)
    long, long_bytes = run("virtual", LONG_S)
    repeated, _ = run("virtual", SHORT_S, RUNS_COUNT)
    _, real_bytes = run("real", SHORT_S)
    longer_s, more_bytes = LONG_S - SHORT_S, long_bytes - short_bytes
    more_cpu_s = long.cpu_s - short.cpu_s
    test_s = (long.seconds - short.seconds) * SHORT_S / longer_s
    return (
        (repeated.seconds - short.seconds) / (RUNS_COUNT - 1) - test_s,
        more_cpu_s / longer_s,
        1e6 * more_cpu_s * MTU_BYTES / more_bytes,
        8e-9 * more_bytes / longer_s,
        8e-9 * real_bytes / SHORT_S,
    )


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", help="a user-mode kernel with virtual time, that of `make kernel` unless named")
    parser.add_argument("--algorithm", default="bbr")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'case':<18}{'set-up, s':>10}{'CPU s / s':>11}{'us / packet':>13}{'Gbit/s':>8}{'real time, Gbit/s':>19}")
    for name, case in CASES.items():
        rounds = [measure(case, options.algorithm, options.kernel) for _ in range(options.rounds)]
        set_up_s, a_second, a_packet_us, rate_gbps, real_gbps = map(statistics.median, zip(*rounds, strict=True))
        print(
            f"{name:<18}{set_up_s:>10.1f}{a_second:>11.2f}{a_packet_us:>13.1f}{rate_gbps:>8.2f}{real_gbps:>19.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
