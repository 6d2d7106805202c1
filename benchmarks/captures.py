"""Time the reader of captures beside tcptrace and tshark, on one core and the same file; show its memory.

    python benchmarks/captures.py [--large-gb 5] [--timed-gb 1] [--tshark-packets 300000] [--rounds 3] [--folder FOLDER]

A capture of header-only packets (`-s 128`) is made from played transfers (tests/support/capture_transfer.py: 16
connections at once, one segment in a thousand lost), tiled with other addresses and later times until it has the size.
It is put into a temporary folder (room for both sizes and half as much again) and removed. CPU seconds, children's too,
stand beside wall time: on a shared machine only they keep. Ratios are of CPU times of medians; tshark's is of the time
a packet, since it gets fewer of them. The tiles compress better than traffic does, so gzip's time says little beyond
that of our own decompression.
"""

import argparse
import gzip
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Before polars starts its threads.
os.environ["POLARS_MAX_THREADS"] = "1"
CORES = sorted(os.sched_getaffinity(0))
if "--pair" not in sys.argv:
    os.sched_setaffinity(0, {CORES[-1]})
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
from capture_transfer import Plan, simulate  # noqa: E402
from captures import frame_bytes, write_pcap  # noqa: E402
from measuring.one_reader import list_files, read_files  # noqa: E402

from ccreport.archive.raw_file import iterate_blocks  # noqa: E402
from ccreport.ingest.captures.file import read_capture  # noqa: E402

CONNECTIONS = 16
SEGMENTS = 5000
SNAP_LENGTH = 128
HEADER_BYTES, RECORD_BYTES = 24, 16
TILE_SECONDS = 2
TARGET_PER_S = 5e6
TARGET_TSHARK = 80
TARGET_CORES = 1.8


@dataclass(frozen=True)
class Tile:
    """A file header, records, where they begin, and how many data packets among them are sent again."""

    header: bytes
    records: np.ndarray
    starts: np.ndarray
    retransmits: int


def make_tile() -> Tile:
    """Return the packets of connections that run beside one another, as records of a pcap file."""
    packets, retransmits = [], 0
    for number in range(CONNECTIONS):
        plan = Plan(
            segments=SEGMENTS,
            size=1448,
            rtt_ms=20,
            gap_ms=0.2,
            idle_ms=1,
            lost_after=frozenset(range(300 + number, SEGMENTS - 100, 1000)),
            sequence=12345 + number * 10**8,
            conversation={"local_port": 40000 + 2 * number, "remote_port": 5201},
        )
        played, key = simulate(plan)
        packets += played
        retransmits += key["retransmits_capture_count"]
    packets.sort(key=lambda packet: packet.time_ns)
    content = write_pcap(packets, snap_length=SNAP_LENGTH)
    kept = [min(SNAP_LENGTH, len(frame_bytes(packet))) for packet in packets]
    starts = np.concatenate(([0], np.cumsum(np.array(kept) + RECORD_BYTES)[:-1]))
    return Tile(content[:HEADER_BYTES], np.frombuffer(content[HEADER_BYTES:], np.uint8), starts, retransmits)


def write_tiled(tile: Tile, size: int, path: Path, first: int = 0) -> int:
    """Write a capture of about this size and return the number of packets."""
    records = tile.records.copy()
    second = sum(tile.records[tile.starts + byte].astype(np.uint32) << (8 * byte) for byte in range(4))
    address = tile.starts + RECORD_BYTES + 14 + 12
    count = 0
    with path.open("wb") as stream:
        stream.write(tile.header)
        while stream.tell() < size:
            later = second + np.uint32(TILE_SECONDS * count)
            for byte in range(4):
                records[tile.starts + byte] = later >> (8 * byte) & 255
            # 10.x.y.1 and 10.x.y.2: the second and third byte of both addresses.
            for place in (1, 5):
                records[address + place] = (first + count) // 256
                records[address + place + 1] = (first + count) % 256
            stream.write(records.tobytes())
            count += 1
    return count * len(tile.starts)


def spent_seconds() -> float:
    """Return the CPU seconds of this process and its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """Run the ways by turns after one turn that does not count; return the medians of wall and CPU seconds."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, work in ways.items():
            wall, cpu = time.perf_counter(), spent_seconds()
            work()
            if turn:
                times[name].append((time.perf_counter() - wall, spent_seconds() - cpu))
    return {
        name: (statistics.median(wall for wall, _ in pairs), statistics.median(cpu for _, cpu in pairs))
        for name, pairs in times.items()
    }


def run_quietly(*command: str) -> None:
    """Run a program and drop what it prints."""
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def read_blocks(path: Path) -> None:
    """Read a file to its end, decompressed."""
    for _ in iterate_blocks(path):
        pass


def print_speed(name: str, seconds: tuple[float, float], packets: int) -> None:
    """Print packets per second by both clocks."""
    wall, cpu = seconds
    print(f"  {name:34} {wall:7.2f} s wall {cpu:7.2f} s CPU  {packets / wall / 1e6:7.2f} M packets/s wall", end="")
    print(f" {packets / cpu / 1e6:7.2f} M packets/s CPU")


def check_values(path: Path, tile: Tile, packets: int) -> None:
    """Raise if the reader does not find what was put into the capture."""
    tables = read_capture(path)
    turns = packets // len(tile.starts)
    found = (tables.capture["tcp_packets_count"].item(), tables.flows["retransmits_capture_count"].sum())
    assert found == (packets, turns * tile.retransmits), found
    assert tables.capture["connections_count"].item() == turns * CONNECTIONS
    print(f"read right: {turns * CONNECTIONS} connections, {turns * tile.retransmits} retransmits")


def compare_tools(out: Path, tile: Tile, packets: int, options: argparse.Namespace) -> None:
    """Print the speed of this reader, tcptrace and tshark."""
    timed = out / "timed.pcap"
    ways: dict[str, Callable[[], object]] = {"ccreport read_capture": lambda: read_capture(timed)}
    if shutil.which("tcptrace"):
        ways["tcptrace -lr"] = lambda: run_quietly("tcptrace", "-lr", "-n", str(timed))
    found = measure(ways, options.rounds)
    print(f"{timed.stat().st_size / 1e9:.2f} GB, {packets} packets, one core, median of {options.rounds}")
    for name, seconds in found.items():
        print_speed(name, seconds, packets)
    ours = found["ccreport read_capture"]
    print(f"  target {TARGET_PER_S / 1e6:.0f} M packets/s: {packets / ours[1] / 1e6:.2f}")
    if "tcptrace -lr" in found:
        print(f"  target as fast as tcptrace: {found['tcptrace -lr'][1] / ours[1]:.2f} times")
    if shutil.which("tshark"):
        compare_tshark(out, tile, ours[1] / packets, options)


def compare_tshark(out: Path, tile: Tile, ours: float, options: argparse.Namespace) -> None:
    """Print the speed of tshark on a smaller cut of the capture, against our CPU seconds a packet on the whole."""
    cut, none = out / "cut.pcap", out / "none.pcap"
    turns = max(1, round(options.tshark_packets / len(tile.starts)))
    packets = write_tiled(tile, HEADER_BYTES + (turns - 1) * len(tile.records) + 1, cut)
    none.write_bytes(tile.header)
    command = ("tshark", "-n", "-Y", "tcp.analysis.retransmission", "-r")
    found = measure(
        {"tshark": lambda: run_quietly(*command, str(cut)), "start": lambda: run_quietly(*command, str(none))},
        min(options.rounds, 3),
    )
    print(f"the first {packets} packets of it, median of {min(options.rounds, 3)}")
    print_speed("tshark -Y retransmission", found["tshark"], packets)
    start = found["start"][1]
    work = (found["tshark"][1] - start) / packets
    print(f"  its start is {start:.2f} s CPU, the rest {work * 1e6:.2f} µs a packet")
    print(f"  target {TARGET_TSHARK} times tshark: {found['tshark'][1] / packets / ours:.0f}, ", end="")
    print(f"{work / ours:.0f} without its start")


def compare_gzip(out: Path, options: argparse.Namespace) -> None:
    """Print how long a compressed capture takes against its decompression alone."""
    plain, packed = out / "timed.pcap", out / "timed.pcap.gz"
    with plain.open("rb") as stream, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(stream, target, 1 << 20)
    found = measure(
        {
            "gzip -dc": lambda: run_quietly("gzip", "-dc", str(packed)),
            "ccreport decompression alone": lambda: read_blocks(packed),
            "ccreport read_capture, gzip": lambda: read_capture(packed),
            "ccreport read_capture, plain": lambda: read_capture(plain),
        },
        options.rounds,
    )
    print(f"gzip: {packed.stat().st_size / 1e6:.0f} MB, unpacked {plain.stat().st_size / 1e6:.0f} MB")
    for name, (wall, cpu) in found.items():
        print(f"  {name:34} {wall:7.2f} s wall {cpu:7.2f} s CPU")
    ratio = found["gzip -dc"][0] / found["ccreport read_capture, gzip"][0]
    print(f"  target the speed of decompression: {ratio:.2f} times gzip -dc by wall time")


def measure_memory(out: Path, tile: Tile, size: int) -> None:
    """Print the peak memory of a process that writes the tables of the large capture, as the pipeline's job does."""
    large = out / "large.pcap"
    packets = write_tiled(tile, size, large)
    run = [sys.executable, __file__, "--ingest", str(large)]
    done = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True)
    seconds, peak, connections = done.stdout.split()
    print(f"{large.stat().st_size / 1e9:.2f} GB, {packets} packets, {connections} connections to Parquet: ", end="")
    print(f"peak {int(peak) / 1e6:.0f} MB, {float(seconds):.1f} s, {packets / float(seconds) / 1e6:.2f} M packets/s")
    large.unlink()


def ingest_one(large: Path) -> None:
    """Write the tables of one capture beside it; print seconds, peak bytes, connections."""
    listed = list_files("captures", "tcpdump", [large], large.parent)
    started = time.perf_counter()
    read_files("captures", listed, large.parent, large.parent)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(seconds, peak, pl.read_parquet(large.parent / "captures.parquet")["connections_count"].item())


def compare_cores(out: Path, tile: Tile, options: argparse.Namespace) -> None:
    """Print what two processes on two files do against one."""
    if len(CORES) < 2:
        print("two cores: this machine has one")
        return
    files = [out / "timed.pcap", out / "second.pcap"]
    write_tiled(tile, files[0].stat().st_size - 1, files[1], first=1000)
    alone, two = [], []
    for _ in range(options.rounds):
        alone.append(sum(float(run_readers([file], CORES[-1:])[0].split()[0]) for file in files))
        two.append(max(float(line.split()[0]) for line in run_readers(files, CORES[-2:])))
    print(f"two files one after another {statistics.median(alone):.2f} s, on two cores {statistics.median(two):.2f} s:")
    print(f"  target {TARGET_CORES} times: {statistics.median(alone) / statistics.median(two):.2f}")


def run_readers(files: list[Path], cores: list[int]) -> list[str]:
    """Read each file in a process on a core of its own, all beginning at once; return what they print."""
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--pair", str(core), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for file, core in zip(files, cores, strict=True)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0].strip() for process in processes]


def read_one(core: int, file: Path) -> None:
    """Say that all is loaded, wait, read one file, print seconds, peak bytes, connections."""
    os.sched_setaffinity(0, {core})
    small = file.parent / "tile.pcap"
    read_capture(small)
    print("ready", flush=True)
    sys.stdin.readline()
    started = time.perf_counter()
    tables = read_capture(file)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(seconds, peak, tables.capture["connections_count"].item())


def print_first_calls(out: Path) -> None:
    """Print the time of a first call, with nothing compiled and with the compiled code on disk."""
    program = (
        "import sys, time; from pathlib import Path; from ccreport.ingest.captures.file import read_capture; "
        "started = time.perf_counter(); read_capture(Path(sys.argv[1])); print(time.perf_counter() - started)"
    )
    for name in ("nothing compiled", "compiled code on disk"):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(out / "numba")}
        command = [sys.executable, "-c", program, str(out / "tile.pcap")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
        print(f"first call, {name}: {float(done.stdout):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large-gb", type=float, default=5)
    parser.add_argument("--timed-gb", type=float, default=1)
    parser.add_argument("--tshark-packets", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--pair", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--ingest", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.pair:
        read_one(int(options.pair[0]), Path(options.pair[1]))
        return
    if options.ingest:
        ingest_one(options.ingest)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        out = Path(folder)
        tile = make_tile()
        write_tiled(tile, HEADER_BYTES + 1, out / "tile.pcap")
        print_first_calls(out)
        packets = write_tiled(tile, int(options.timed_gb * 1e9), out / "timed.pcap")
        check_values(out / "timed.pcap", tile, packets)
        compare_tools(out, tile, packets, options)
        compare_gzip(out, options)
        compare_cores(out, tile, options)
        (out / "second.pcap").unlink(missing_ok=True)
        measure_memory(out, tile, int(options.large_gb * 1e9))


if __name__ == "__main__":
    main()
