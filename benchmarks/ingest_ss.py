"""Time ss text into the Parquet table `samples`, beside a plain Python parser of the same fields; on one core.

    python benchmarks/ingest_ss.py [--memory] [FOLDER]

FOLDER is an unpacked archive; without it the sample archive is unpacked to a temporary folder. The text is measured as
one file, and as the many small ones that it came in. CPU seconds are given beside wall time: on a shared machine only
they keep. Before anything is timed, both parsers are checked to give the same values. `--memory` makes a file of 1 GB
instead and prints the peak memory of an ingest of it, in a process of its own.
"""

import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before polars starts its threads.
os.environ["POLARS_MAX_THREADS"] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import polars as pl  # noqa: E402
from measuring.builds import open_sample  # noqa: E402
from measuring.one_reader import list_files, read_files  # noqa: E402

from ccreport.core.identifiers import flow_id_of_connection  # noqa: E402
from ccreport.core.tables import TableWriter, load_schema  # noqa: E402

ROUNDS = 5
TARGET_RATIO = 5
TEXT_BYTES = 40 * 10**6
LARGE_BYTES = 10**9

# What the plain parser knows: the tokens of the one ss version that wrote the sample, in its one notation.
COUNTS = {
    "mss": "mss_bytes",
    "pmtu": "pmtu_bytes",
    "rcvmss": "rcv_mss_bytes",
    "advmss": "adv_mss_bytes",
    "cwnd": "cwnd_segments_count",
    "ssthresh": "ssthresh_segments_count",
    "rcv_space": "rcv_space_bytes",
    "rcv_ssthresh": "rcv_ssthresh_bytes",
    "snd_wnd": "snd_wnd_bytes",
    "backoff": "backoff_count",
    "bytes_sent": "sent_bytes",
    "bytes_retrans": "retransmitted_bytes",
    "bytes_acked": "acked_bytes",
    "bytes_received": "received_bytes",
    "segs_out": "segments_out_count",
    "segs_in": "segments_in_count",
    "data_segs_out": "data_segments_out_count",
    "data_segs_in": "data_segments_in_count",
    "lastsnd": "last_send_ms",
    "lastrcv": "last_receive_ms",
    "lastack": "last_ack_ms",
    "delivered": "delivered_count",
    "delivered_ce": "delivered_ce_count",
    "unacked": "unacked_count",
    "lost": "lost_count",
    "sacked": "sacked_count",
    "dsack_dups": "dsack_dups_count",
    "fackets": "fackets_count",
    "reord_seen": "reord_seen_count",
    "notsent": "not_sent_bytes",
    "rcv_ooopack": "rcv_ooopack_count",
}
DECIMALS = {"rto": "rto_ms", "ato": "ato_ms", "minrtt": "rtt_min_ms", "rcv_rtt": "rcv_rtt_ms"}
PAIRS = {
    "rtt": ("/", float, "rtt_ms", "rttvar_ms"),
    "wscale": (",", int, "wscale_snd_count", "wscale_rcv_count"),
    "retrans": ("/", int, "retransmits_in_flight_count", "retransmits_ss_count"),
}
RATES = {"send": "send_bps", "pacing_rate": "pacing_rate_bps", "delivery_rate": "delivery_rate_bps"}
MEMORY = {
    "r": "skmem_rmem_bytes",
    "rb": "skmem_rcvbuf_bytes",
    "t": "skmem_wmem_bytes",
    "tb": "skmem_sndbuf_bytes",
    "f": "skmem_fwd_bytes",
    "w": "skmem_wmem_queued_bytes",
    "o": "skmem_opt_bytes",
    "bl": "skmem_backlog_bytes",
    "d": "skmem_drops_count",
}
BBR = {"mrtt": "bbr_rtt_min_ms", "pacing_gain": "bbr_pacing_gain_ratio", "cwnd_gain": "bbr_cwnd_gain_ratio"}
# A counter that this version leaves out is zero.
NEVER_ABSENT = {"mss", "pmtu", "rcvmss", "advmss", "cwnd", "ssthresh", "rcv_space", "rcv_ssthresh", "snd_wnd"}
ZEROS: dict[str, Any] = {column: 0 for token, column in COUNTS.items() if token not in NEVER_ABSENT} | {
    "retransmits_in_flight_count": 0,
    "retransmits_ss_count": 0,
    "busy_ms": 0,
    "rwnd_limited_ms": 0,
    "sndbuf_limited_ms": 0,
    "is_app_limited": False,
    "is_partial": False,
}


def parse_rate(text: str) -> float:
    """Return `18896557bps` in bit/s."""
    return float(text[:-3])


def read_information(line: str, row: dict[str, Any]) -> None:
    """Split an information line at its blanks, each token at its colon, into a dict."""
    tokens = iter(line.split())
    for token in tokens:
        key, colon, value = token.partition(":")
        if not colon:
            if key in RATES:
                row[RATES[key]] = parse_rate(next(tokens))
            elif key == "app_limited":
                row["is_app_limited"] = True
            else:
                row["cc"] = key
        elif key in COUNTS:
            row[COUNTS[key]] = int(value)
        elif key in PAIRS:
            separator, number, first, second = PAIRS[key]
            before, _, after = value.partition(separator)
            row[first], row[second] = number(before), number(after)
        elif key in DECIMALS:
            row[DECIMALS[key]] = float(value)
        elif key == "skmem":
            for item in value[1:-1].split(","):
                name = item.rstrip("0123456789")
                row[MEMORY[name]] = int(item[len(name) :])
        elif key == "bbr":
            for item in value[1:-1].split(","):
                name, _, number = item.partition(":")
                if name == "bw":
                    row["bbr_bw_bps"] = parse_rate(number)
                else:
                    row[BBR[name]] = float(number)
        elif key == "busy":
            row["busy_ms"] = int(value[:-2])
        else:
            time_ms, _, share = value.partition("ms")
            row[f"{key}_ms"] = int(time_ms)
            if share:
                row[f"{key}_pct"] = float(share[1:-2])


def parse_plainly(text: str, run_id: str) -> list[dict[str, Any]]:
    """Return a dict for each sample: line by line, as one writes it."""
    rows = []
    flow_ids: dict[tuple[str, ...], str] = {}
    stamp = 0
    row: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("\t"):
            read_information(line, row)
            rows.append(row)
        elif line.startswith("#"):
            stamp = round(float(line[2:]) * 1e6)
        elif line and "Local Address" not in line:
            state, recv_q, send_q, local, peer = line.split()
            local_address, _, local_port = local.rpartition(":")
            remote_address, _, remote_port = peer.rpartition(":")
            flow = (local_address, local_port, remote_address, remote_port)
            if flow not in flow_ids:
                flow_ids[flow] = flow_id_of_connection(
                    run_id, local_address, int(local_port), remote_address, int(remote_port)
                )
            row = {
                **ZEROS,
                "run_id": run_id,
                "flow_id": flow_ids[flow],
                "time_utc": stamp,
                "tcp_state": state,
                "recv_q_bytes": int(recv_q),
                "send_q_bytes": int(send_q),
                "local_address": local_address,
                "local_port": int(local_port),
                "remote_address": remote_address,
                "remote_port": int(remote_port),
            }
    return rows


def ingest_plainly(files: list[Path], out: Path) -> None:
    """Write the same table from the rows of the plain parser."""
    schema = load_schema("samples").polars | {"time_utc": pl.Int64(), "extra": pl.Null()}
    with TableWriter("samples", out) as writer:
        for number, file in enumerate(files):
            frame = pl.DataFrame(parse_plainly(file.read_text(), f"run-{number}"), schema=schema)
            writer.write(
                frame.with_columns(
                    pl.col("time_utc").cast(pl.Datetime("us", "UTC")),
                    pl.lit(f"file-{number}").alias("raw_file_id"),
                    pl.lit(0).alias("connection_number"),
                    pl.lit([], load_schema("samples").polars["extra"]).alias("extra"),
                )
            )


def sum_sizes(files: list[Path]) -> int:
    """Return how many bytes these files have."""
    return sum(file.stat().st_size for file in files)


def join_samples(files: list[Path]) -> Iterator[bytes]:
    """Yield the text of all files without end, their stamps moved so that time goes on."""
    start = 1795000000.0
    while True:
        for file in files:
            text = file.read_bytes()
            shift = start - float(text[2:19])
            yield re.sub(rb"# (\d+\.\d+)", lambda stamp, shift=shift: b"# %.6f" % (float(stamp[1]) + shift), text)
            start += 3600
            start = 1795000000.0 + (start - 1795000000.0) % 2e8


def write_large(files: list[Path], size: int, path: Path) -> None:
    """Write one ss file of about this size."""
    with path.open("wb") as stream:
        for text in join_samples(files):
            if stream.tell() >= size:
                return
            stream.write(text)


def check_values(files: list[Path], root: Path, out: Path) -> None:
    """Raise if the two parsers do not give the same values."""
    read_files("ss", list_files("ss", "ss", files, root), root, out)
    ingest_plainly(files, out / "plain.parquet")
    samples, plain = pl.read_parquet(out / "samples.parquet"), pl.read_parquet(out / "plain.parquet")
    assert samples.equals(plain), [name for name in samples.columns if not samples[name].equals(plain[name])]
    print(f"both parsers give the same {samples.height} rows of {samples.width} columns")


def compare(title: str, files: list[Path], root: Path, out: Path) -> None:
    """Run the ways by turns and print their medians."""
    megabytes = sum_sizes(files) / 1e6
    listed = list_files("ss", "ss", files, root)
    ways: dict[str, Callable[[], object]] = {
        "ccreport, text to Parquet": lambda: read_files("ss", listed, root, out),
        "plain Python, text to dicts": lambda: [parse_plainly(file.read_text(), "run") for file in files],
        "plain Python, text to Parquet": lambda: ingest_plainly(files, out / "plain.parquet"),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name, work in ways.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            if turn:
                times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    print(f"{title}: {len(files)} files, {megabytes:.1f} MB, one core, median of {ROUNDS}")
    medians = {name: [statistics.median(column) for column in zip(*times[name], strict=True)] for name in ways}
    ours = medians["ccreport, text to Parquet"][1]
    for name, (wall, cpu) in medians.items():
        speed = f"{megabytes / wall:6.1f} MB/s wall {megabytes / cpu:6.1f} MB/s CPU"
        print(f"  {name:36} {speed} {cpu / ours:5.1f} times our CPU time")
    print(f"  target: {TARGET_RATIO} times the dicts, 100 MB/s as the stretch")


def measure_memory(files: list[Path], out: Path) -> None:
    """Print the peak memory of an ingest of a file of 1 GB."""
    large = out / "large"
    write_large(files, LARGE_BYTES, large)
    started = time.perf_counter()
    subprocess.run([sys.executable, __file__, "--one", str(out)], check=True)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    rows = pl.scan_parquet(out / "samples.parquet").select(pl.len()).collect().item()
    print(
        f"{large.stat().st_size / 1e6:.0f} MB, {rows} samples: peak {peak / 1e6:.0f} MB, {seconds:.1f} s with start-up"
    )


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if "--one" in sys.argv:
        out = Path(arguments[0])
        read_files("ss", list_files("ss", "ss", [out / "large"], out), out, out)
        return
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        root = Path(arguments[0]) if arguments else open_sample(out)
        files = sorted(root.rglob("ss:*"))
        while sum_sizes(files) > TEXT_BYTES:
            files.pop()
        if "--memory" in sys.argv:
            measure_memory(files, out)
            return
        check_values(files, root, out)
        write_large(files, sum_sizes(files), out / "large")
        compare("one large file", [out / "large"], out, out)
        compare("as archived", files, root, out)


if __name__ == "__main__":
    main()
