"""Time the tables of an edge network over 10 million generated connections, and the ingest of access logs.

    python benchmarks/edge.py [--rows N] [--threads N]

The connections lie in Parquet files as the ingest writes them; what is timed is what a build does once: making the
database with all aggregates in it (target: 60 s and 4 GB on 2 cores). Every value is drawn from a log-uniform
distribution by a hash of its row, so the medians are known, and checked before a time is printed. Then dumps of
`ss -neit`, snapshots of `nstat` and, beside plain Python, an access log are read on one core (target: 50 MB/s).
"""

import argparse
import gzip
import os
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"

import duckdb
import polars as pl
from measuring.one_reader import list_files, read_files

from ccreport.core.declarations import list_tables
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import load_schema, write_table
from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES
from ccreport.summarise import database

ROOT = Path(__file__).resolve().parents[1]
EVALUATION = ROOT / "evaluations" / "edge-bbr2.yaml"
# Lowest and highest value; the median is the square root of their product.
SPREAD = {
    "retransmit_ratio": (1e-4, 1e-1),
    "rtt_ms": (1, 1000),
    "rtt_min_ms": (1, 1000),
    "delivery_rate_bps": (1e5, 1e9),
    "bbr_bw_bps": (1e5, 1e9),
    "unacked_count": (1, 1000),
}
LAYOUT = "(?P<machine>[^/]+)/(?P<label>[^/]+)/[^/:]+(?::(?P<time>.+))?"
FIXTURE = ROOT / "tests" / "fixtures" / "edge" / "archive"
LOG_LINE = '203.0.113.{} - - [20/Nov/2026:22:10:{:02d} +0000] "GET /file/{} HTTP/1.1" 200 {} "-" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36" {:.3f}\n'  # noqa: E501
LOG_FORMAT = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    '"$http_user_agent" $request_time'
)
PLAIN = re.compile(r'\S+ - \S+ \[([^\]]*)\] "[^"]*" (\d+) (\d+) "[^"]*" "[^"]*" ([\d.]+)')


def generate(rows: int, tables: Path) -> list[str]:
    """Write connections of three algorithms in files of 1 million rows, and empty tables of all others."""
    ids = []
    draw = "(hash(i * 128 + {salt}) / 18446744073709551616.0)"
    values = {
        name: f"{low} * pow({high / low}, {draw.format(salt=number)})"
        for number, (name, (low, high)) in enumerate(SPREAD.items())
    }
    own = values | {
        "raw_file_id": "'file' || (i // 1000000)",
        "machine": "'machine' || (i // 1000000)",
        "cc": "['cubic', 'bbr', 'bbr2'][1 + (i // 1000000) % 3]",
        "time_utc": "TIMESTAMPTZ '2026-11-20 22:10:00+00'",
        "local_address": "'10.0.0.1'",
        "remote_address": "'203.0.' || (i % 65536) // 256 || '.' || i % 256",
        "local_port": "443",
        "remote_port": "1024 + i % 60000",
        "socket_id": "printf('%x', i)",
        "is_last": "TRUE",
        "is_partial": "FALSE",
        "connection_number": "0",
        # A third of the connections moved less than 1 MB.
        "acked_bytes": "CASE WHEN i % 3 = 0 THEN 1000 ELSE 5000000 + i % 1000 END",
        "data_segments_out_count": "10000",
        "retransmits_ss_count": "10",
        "rwnd_limited_ratio": f"CASE WHEN i % 2 = 0 THEN 0 ELSE {draw.format(salt=99)} END",
        "has_ecn": "i % 25 = 0",
        "has_ecnseen": "i % 50 = 0",
    }
    types = {"string": "VARCHAR", "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "timestamp": "TIMESTAMPTZ"}
    columns = ", ".join(
        f"({own.get(c.name, 'NULL')})::{types[c.type]} AS {c.name}" for c in load_schema("connections").columns
    )
    for first in range(0, rows, 1_000_000):
        ids.append(f"x{first // 1_000_000:04d}")
        path = tables / "connections" / f"{ids[-1]}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        last = min(first + 1_000_000, rows)
        duckdb.sql(
            f"COPY (SELECT {columns} FROM range({first}, {last}) AS t(i)) "
            f"TO '{path}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 32768)"
        )
    for table in set(list_tables()) & {*EXPERIMENT_TABLES, *ARCHIVE_TABLES} - {"connections"}:
        for name in ["archive"] if table in ARCHIVE_TABLES else ids:
            path = tables / table / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_table(pl.DataFrame(), table, path)
    return ids


def time_aggregates(rows: int, threads: int, folder: Path) -> None:
    """Print the seconds and the peak memory of a database with all aggregates."""
    ids = generate(rows, folder / "tables")
    (folder / "experiments.txt").write_text("".join(f"{name}\n" for name in ids))
    before = resource.getrusage(resource.RUSAGE_SELF)
    connect = database.connect

    def connect_wide(path: Path, *, read_only: bool = True) -> duckdb.DuckDBPyConnection:
        connection = connect(path, read_only=read_only)
        connection.execute(f"SET threads = {threads}; SET memory_limit = '3GB'")
        return connection

    database.connect = connect_wide
    start = time.perf_counter()
    database.list_views(folder / "experiments.txt", folder / "tables", EVALUATION, folder / "archive.duckdb")
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    with duckdb.connect(str(folder / "archive.duckdb"), read_only=True) as connection:
        medians = connection.sql("SELECT quantity, series, value_p50, values_count FROM edge_distributions").fetchall()
    for quantity, series, median, count in medians:
        bounds = SPREAD.get("retransmit_ratio" if quantity == "retransmit_pct" else quantity)
        if bounds is not None and count > 10_000:
            expected = (bounds[0] * bounds[1]) ** 0.5 * (100 if quantity == "retransmit_pct" else 1)
            assert abs(median / expected - 1) < 0.1, (quantity, series, median, expected)
    peak = after.ru_maxrss / 1024**2
    cpu = after.ru_utime - before.ru_utime
    stored = len([1 for facts in load_evaluation(EVALUATION)["tables"].values() if facts["is_stored"]])
    print(
        f"{rows} connections, {stored} aggregates, {threads} threads: {seconds:.1f} s ({cpu:.1f} s CPU), {peak:.2f} GB"
    )


def time_log(folder: Path, lines: int = 1_000_000) -> None:
    """Print the speed of an access log's ingest on one core, beside plain Python."""
    log = folder / "log" / "machine" / "bbr" / "access.log"
    log.parent.mkdir(parents=True)
    with log.open("w") as stream:
        stream.writelines(
            LOG_LINE.format(i % 250, i // 20_000, i, 1_000_000 + i, 0.001 * (i % 5000)) for i in range(lines)
        )
    size = log.stat().st_size / 1e6
    listed = list_files("nginx", "access-log", [log], folder / "log", are_runs=False)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    start = time.process_time()
    read_files("nginx", listed, folder / "log", folder, edge_paths=LAYOUT, access_log_format=LOG_FORMAT)
    own = time.process_time() - start
    start = time.process_time()
    plain = 0
    with log.open() as stream:
        for line in stream:
            match = PLAIN.match(line)
            if match:
                plain += int(match[3]) * (float(match[4]) >= 0)
    seconds = time.process_time() - start
    assert plain == pl.read_parquet(folder / "web_requests.parquet")["answer_bytes"].sum()
    print(
        f"access log, {size:.0f} MB: {size / own:.0f} MB/s of CPU, to Parquet; "
        f"plain Python, matching and adding only: {size / seconds:.0f} MB/s"
    )


def time_recorded(folder: Path, kind: str, reader: str, table: str, size_bytes: int = 100_000_000) -> None:
    """Print the speed at which recorded files of one kind are read on one core, each repeated to a larger one."""
    root, files = folder / kind, []
    sources = [path for path in sorted(FIXTURE.rglob("*.gz")) if path.name.startswith(kind)]
    texts = [gzip.decompress(path.read_bytes()) for path in sources]
    times = size_bytes // sum(map(len, texts))
    for number, text in enumerate(texts):
        name = f"machine/cubic/{kind}:{1795212605 + number}"
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # The same again would be one connection, or one snapshot: other clients, other times.
        parts = (
            b"# %d.000000\n" % (1795212605 + 1000 * number + i) + text
            if kind == "nstat"
            else text.replace(b" 10.9.", b" 10.%d." % (10 + i))
            for i in range(times)
        )
        path.write_bytes(b"".join(parts))
        files.append(path)
    listed = list_files(reader, kind, files, root, are_runs=False)
    # Loading modules and compiled kernels is not a part of reading.
    read_files(reader, listed, FIXTURE / "nothing", folder, edge_paths=LAYOUT)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    start = time.process_time()
    read_files(reader, listed, root, folder, edge_paths=LAYOUT)
    seconds = time.process_time() - start
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 1e6
    rows = pl.scan_parquet(folder / f"{table}.parquet").select(pl.len()).collect().item()
    print(f"{kind}, {size:.0f} MB: {size / seconds:.0f} MB/s of CPU, {rows:,} rows of {table} to Parquet")


def main() -> None:
    """Time both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        time_aggregates(options.rows, options.threads, Path(folder))
        time_log(Path(folder))
        time_recorded(Path(folder), "ss-neit", "edge", "connections")
        time_recorded(Path(folder), "nstat", "nstat", "machine_counters")


if __name__ == "__main__":
    sys.exit(main())
