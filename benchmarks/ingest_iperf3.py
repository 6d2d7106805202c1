"""Time iperf3 JSON into the three Parquet tables, beside the loop over dicts that people write; on one core.

    python benchmarks/ingest_iperf3.py [FOLDER]

FOLDER is an unpacked archive; without it the sample archive is unpacked to a temporary folder. The files are those of
jobs with 16 streams, as one experiment. CPU seconds are given beside wall time: on a shared machine only they keep.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# Before polars starts its threads.
os.environ["POLARS_MAX_THREADS"] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import polars as pl  # noqa: E402
from measuring.builds import open_sample  # noqa: E402
from measuring.one_reader import list_files, read_files  # noqa: E402

ROUNDS = 7
TARGET_MB_PER_S = 80


def ingest_plainly(files: list[Path], out: Path) -> None:
    """Do what people write today: `json.load`, a loop over intervals and streams, a frame from dicts."""
    tests, streams, intervals = [], [], []
    for run, file in enumerate(files):
        with file.open() as stream:
            document = json.load(stream)
        start, end = document["start"], document["end"]
        tests.append({"run": run, "version": start["version"], **start["test_start"], **end["cpu_utilization_percent"]})
        ports = {connection["socket"]: connection["local_port"] for connection in start["connected"]}
        for block in end["streams"]:
            sender, receiver = block["sender"], block["receiver"]
            total = {"run": run, "port": ports[sender["socket"]], "received": receiver["bytes"], **sender}
            streams.append(total)
        for number, interval in enumerate(document["intervals"]):
            for block in interval["streams"]:
                row = {"run": run, "number": number, "port": ports[block["socket"]], **block}
                row["rtt_ms"] = block["rtt"] / 1000
                intervals.append(row)
    for name, rows in (("tests", tests), ("streams", streams), ("intervals", intervals)):
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(out / f"{name}.parquet")


def measure(work: Callable[[], None]) -> tuple[float, float]:
    """Return the wall and the CPU seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(root: Path, out: Path) -> None:
    """Run both ways by turns and print their medians."""
    files = sorted(root.glob("*/*p16*/src-cmd*"))
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    listed = list_files("iperf3", "src-cmd", files, root)
    ways: dict[str, Callable[[], None]] = {
        "ccreport": lambda: read_files("iperf3", listed, root, out),
        "json.load and dict loops": lambda: ingest_plainly(files, out),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name, work in ways.items():
            seconds = measure(work)
            if turn:
                times[name].append(seconds)
    print(f"{len(files)} iperf3 files, {megabytes:.1f} MB, one core, median of {ROUNDS}; target {TARGET_MB_PER_S} MB/s")
    for name, seconds in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*seconds, strict=True))
        best = min(cpu for _, cpu in seconds)
        print(
            f"{name:26} {megabytes / wall:6.1f} MB/s wall {megabytes / cpu:6.1f} CPU {megabytes / best:6.1f} best CPU"
        )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        compare(Path(sys.argv[1]) if len(sys.argv) > 1 else open_sample(out), out)


if __name__ == "__main__":
    main()
