"""What fuzzing begins with: the smallest of the real files that the tests have anyway, and a few made here."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from archives import CONFORMANCE, FIXTURES, JOB, iperf3_json

# Real outputs are long; of most the beginning has all forms.
SEED_BYTES: Final = 6000
SESSION: Final = {"campaign": "c", "title": "t", "label": "l", "engine": "e", "kernel": "6.1", "cores_count": 1}
SESSION_MORE: Final = {"started_utc": "2026-11-20T22:10:05Z", "memory_bytes": 2**29, "tools": {"ss": "6.1"}}
COUNTED: Final = {"planned_runs_count": 2, "expected_s": 24}
RTT: Final = {"quantity": "rtt", "host": "h", "nominal": 10, "measured": 10.2, "unit": "ms", "low": 9.5, "high": 10.5}
CALIBRATION: Final = {"measured_utc": "2026-11-20T22:10:06Z", "capacity_bps": 250e6, "measurements": [RTT]}
ATTEMPT: Final = {"run": "h:1", "job": "j", "attempt": 1, "started_utc": "2026-11-20T22:10:10Z", "elapsed_s": 12.5}
JOBMETA: Final = {
    "uuid": "a",
    "name": "job",
    "hostname": "h",
    "iters": "3",
    "src_cmd": "iperf3 -c {dst} -C bbr",
    "lat": "5ms",
    "loss": "0.001 gemodel",
    "limit": "1000",
    "pacing": "1Gbit",
    "MTU": "1500",
    "param_sweep": "x",
    "clients": [{"number": 1, "congestion_control": "bbr", "rtt_ms": 3}],
    "stages": [{"at_s": 1, "rate": "5Mbit"}],
}
QDISCS: Final = b"""qdisc netem 80f2: dev r1 root refcnt 2 limit 10000 delay 5ms 1ms loss 1%
qdisc tbf 10: dev r1 parent 1:1 rate 50Mbit burst 32Kb lat 14.8ms
qdisc netem 1: dev r2 root limit 1000 delay 5ms loss gemodel p 1% r 3% 1-h 100% 1-k 0%
"""
RESULTS: Final = (
    b'[["psl01.pic.es", "bbr2", 1, "bbr2", 0.28, "0.00001307", 0, 117], ["h", "both", 16, "cubic", 1, 0, 3, 9]]'
)
LOG: Final = b"""tcpdump: listening on s0, link-type EN10MB (Ethernet), snapshot length 128 bytes
10 packets captured
12 packets received by filter
0 packets dropped by kernel
"""
PSCHEDULER_STREAM: Final = {"stream-id": 5, "start": 0, "end": 1.5, "throughput-bytes": 1000, "throughput-bits": 5000.0}
PSCHEDULER_STREAM_MORE: Final = {"sent": 3, "retransmits": 1, "tcp-window-size": 14480, "rtt": 10000, "omitted": False}
NAMES: Final = b"""2026-11-20:22:10/job/src-cmd:10.0.0.2:1:10.0ms
2026-11-20:22:10/job/src-cmd-3:2001:db8::2:1.json.gz
2026-11-20:22:10/job/10.0.0.2-meta.json
2026-11-20:22:10/.partial/ss:h:1
tokyo/bbr/ss-neit:1795211351
"""


def _fixtures(*patterns: str) -> Iterator[bytes]:
    for pattern in patterns:
        for path in sorted((*FIXTURES.glob(pattern), *CONFORMANCE.glob(pattern))):
            content = path.read_bytes()
            whole = gzip.decompress(content) if path.suffix == ".gz" else content
            yield whole if path.suffix == ".ini" else whole[:SEED_BYTES]


def _json(*values: object) -> Iterator[bytes]:
    for value in values:
        yield json.dumps(value).encode()


def _iperf3() -> Iterator[bytes]:
    yield iperf3_json().encode()
    for name in ("err-3.20", "cli-3.1.7-rev", "cli-3.9-bidir", "cli-3.7-udp", "int-3.17.1-INT"):
        yield (CONFORMANCE / "iperf3" / f"{name}.json").read_bytes()


def _iperf3_text() -> Iterator[bytes]:
    yield b"iperf3: error - unable to connect to server: Connection refused\n" + iperf3_json().encode()
    yield b"Connecting to host 10.0.0.2, port 5201\n[  5] local 10.0.0.1 port 4001 connected to 10.0.0.2 port 5201\n"
    yield iperf3_json().replace("1.0", "-nan").encode()[:-200]


def _pscheduler() -> Iterator[bytes]:
    stream = PSCHEDULER_STREAM | PSCHEDULER_STREAM_MORE
    plain = {
        "succeeded": True,
        "intervals": [{"streams": [stream], "summary": stream}],
        "summary": {"streams": [stream], "summary": stream},
    }
    yield from _json(plain, {"succeeded": False, "error": "no", "diags": "x"})
    command = "/usr/bin/iperf3 -c 10.0.0.2 -t 3 --json -C bbr2"
    yield from _json(
        plain | {"diags": f"Participant 0:\n{command}\n\n{iperf3_json()}\nParticipant 1:\n/usr/bin/iperf3 -s"}
    )


def _captures() -> Iterator[bytes]:
    # Compiles the readers, which the other targets need not wait for.
    from test_capture_fuzz import SEEDS as CAPTURES  # noqa: PLC0415

    yield from CAPTURES


def _archives() -> Iterator[bytes]:
    content = iperf3_json().encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in (f"{JOB}/src-cmd:h:1", "a" * 120 + "/b", "../out"):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
    yield packed.getvalue()
    yield gzip.compress(packed.getvalue(), mtime=0)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (f"{JOB}/src-cmd:h:1", "../out"):
            archive.writestr(zipfile.ZipInfo(name), content)
    yield packed.getvalue()


def _literals(*texts: bytes) -> Iterator[bytes]:
    return iter(texts)


SEEDS: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "iperf3": _iperf3,
    "iperf3_stream": partial(_fixtures, "iperf3/stream-*.jsonl"),
    "iperf3_text": _iperf3_text,
    "pscheduler": _pscheduler,
    "ss": partial(_fixtures, "ss/*"),
    "edge": partial(_fixtures, "ss/*", "edge/archive/edge-bbr/bbr/ss-neit:1795251855.gz"),
    "mpstat": partial(_fixtures, "mpstat/*"),
    "jobmeta": partial(_json, JOBMETA),
    "host_meta": partial(_json, {"rtt": 10, "hostname": "10.0.0.2", "profile": "p"}),
    "qdiscs": partial(_literals, QDISCS),
    "results": partial(_literals, RESULTS),
    "capture": _captures,
    "capture_log": partial(_literals, LOG),
    "netperf": partial(_fixtures, "netperf/*.txt"),
    "flent": partial(_fixtures, "flent/tcp_1up.flent.gz"),
    "nginx": partial(_fixtures, "edge/archive/edge-bbr/bbr/access.log.gz"),
    "nstat": partial(_fixtures, "edge/archive/edge-bbr/bbr/nstat:1795251855.gz"),
    "session": partial(_json, SESSION | SESSION_MORE | COUNTED),
    "calibration": partial(_json, CALIBRATION),
    "attempts": partial(_json, ATTEMPT | {"outcome": "completed", "message": None, "fingerprint": "ab12"}),
    "harness_ini": partial(_fixtures, "harness_ini/*.ini"),
    "harness_hosts": partial(_fixtures, "harness_ini/*.csv", "harness_ini/*.yml"),
    "names": partial(_literals, NAMES),
    "unpack": _archives,
}
