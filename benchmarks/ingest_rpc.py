"""Time netperf and flent files into the RPC tables, beside plain `json.loads` or a split of lines; on one core.

    python benchmarks/ingest_rpc.py [MEGABYTES]

The files are the recorded ones of tests/fixtures, repeated to that size (default 30): key=value results with every
selector, CSV results, interim results, and one flent file with long series, uncompressed and as flent writes it.
"""

import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# Before polars starts its threads.
os.environ["POLARS_MAX_THREADS"] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

from measuring.one_reader import list_files, read_files  # noqa: E402

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
ROUNDS = 3
TARGET_MB_PER_S = 50


def make_contents(size: int) -> dict[str, bytes]:
    """Return each case's content of about this many bytes."""
    keyval = (FIXTURES / "netperf/rr_1_keyval_bbr.txt").read_bytes()
    rows = (FIXTURES / "netperf/rr_1_csv_all.txt").read_bytes().splitlines(keepends=True)
    recorded = (FIXTURES / "netperf/rr_no_banner.txt").read_bytes().splitlines(keepends=True)
    rest = b"".join(line for line in recorded if not line.startswith(b"NETPERF_"))
    # One long test: its results are numbered on.
    step = (
        "NETPERF_INTERIM_RESULT[{0}]=29237.12\nNETPERF_UNITS[{0}]=Trans/s\n"
        "NETPERF_INTERVAL[{0}]=0.369\nNETPERF_ENDING[{0}]=1795248506.850\n"
    )
    steps = "".join(map(step.format, range(size // len(step)))).encode()
    document = json.loads(gzip.decompress((FIXTURES / "flent/rrul.flent.gz").read_bytes()))
    times = size // len(json.dumps(document)) + 1
    for name, values in document["raw_values"].items():
        document["raw_values"][name] = values * times
        document["results"][name] *= times
    document["x_values"] *= times
    return {
        "netperf keyval": keyval * (size // len(keyval)),
        "netperf csv": rows[0] + rows[1] + rows[2] * (size // len(rows[2])),
        "netperf interim": steps + rest,
        "flent": json.dumps(document, indent=None).encode(),
    }


def read_plainly(case: str, content: bytes) -> object:
    """Do the least that any reader does: decode JSON, or split lines and their fields into dicts."""
    if case.startswith("flent"):
        return json.loads(content)
    separator = "," if case.endswith("csv") else "="
    return [line.split(separator) for line in content.decode().splitlines()]


def measure(work: Callable[[], object]) -> float:
    """Return the least CPU seconds of several calls."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    """Print MB/s of each case: this reader, the plain one, and whether the target is met."""
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 30_000_000
    contents = make_contents(size)
    print(f"{'case':<18}{'MB':>7}{'ingest':>9}{'plain':>9}   MB/s of decompressed content, target {TARGET_MB_PER_S}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for case, content in contents.items():
            for name, stored in ((case, content), (f"{case} .gz", gzip.compress(content, 6))):
                (root / "file").write_bytes(stored)
                listed = list_files("rpc", case.split()[0], [root / "file"], root)
                seconds = measure(lambda: read_files("rpc", listed, root, root))  # noqa: B023
                plain = measure(lambda: read_plainly(case, content))  # noqa: B023
                megabytes = len(content) / 1e6
                print(f"{name:<18}{megabytes:>7.1f}{megabytes / seconds:>9.0f}{megabytes / plain:>9.0f}")


if __name__ == "__main__":
    main()
