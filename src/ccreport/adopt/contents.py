"""What files say of themselves, whatever they are called: the tool, its time, its algorithms and its connections."""

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from ccreport.archive.raw_file import RawFileError, iterate_blocks, read_head, read_whole
from ccreport.core.identifiers import normalise_address
from ccreport.ingest.captures.cut import find_cut
from ccreport.ingest.harness.qdiscs import find_buffer, parse_qdiscs
from ccreport.ingest.iperf3.plain_text import explain_text
from ccreport.ingest.iperf3.reader import read_client_output
from ccreport.inventory.formats import recognise_format
from ccreport.inventory.single_files import list_problems

Ends = tuple[str, int, str, int]

CLIENT_FORMATS: Final = frozenset({"iperf3", "iperf3-stream", "pscheduler"})
CAPTURES: Final = frozenset({"pcap", "pcapng"})
# Kinds as layouts call them, by format.
KINDS: Final = {
    **dict.fromkeys(CLIENT_FORMATS, "iperf3"),
    **{name: name for name in ("ss", "mpstat", "netperf", "flent", "nstat")},
    **dict.fromkeys(CAPTURES, "tcpdump"),
}
# Only a server's result says from whom it accepted a connection.
SERVER: Final = re.compile(rb'"accepted_connection"\s*:')
QDISC: Final = re.compile(rb"^qdisc \w+ ", re.MULTILINE)
# # 1795215547.905306
STAMP: Final = re.compile(rb"^# (\d{9,10}\.\d+)\s", re.MULTILINE)
US_PER_MS: Final = 1000
# ESTAB 0 0 10.0.0.1:43802 10.0.0.2:5201 · minrtt:10.1, in ms, of the line below a socket's
SOCKET_OR_RTT: Final = re.compile(
    rb"^\S[^\n]*?\s(?P<local>\S+):(?P<local_port>\d+)\s+(?P<remote>\S+):(?P<remote_port>\d+)\s*(?:[a-z<]|$)"
    rb"|\bminrtt:(?P<rtt>\d{1,9}(?:\.\d{1,9})?)\b",
    re.MULTILINE,
)
# Reasons for which a file that should be JSON is nothing that another reader could take.
BROKEN: Final = frozenset({"empty", "not_json", "truncated_json"})
# Of a tool's output that is text.
OUTPUTS: Final = frozenset({"plain_text", "iperf2", "error_only"})
# What is read of a file of samples: hours of one connection.
SAMPLES_LIMIT_BYTES: Final = 2**26
# What is sampled beside tests, of which a reader says what it had to repair; of captures, which are longer, only
# whether they end early is looked at.
SAMPLED: Final = ("ss", "mpstat")
PROBLEMS_SHOWN: Final = 2


class Way(NamedTuple):
    """What the flows of a result in one direction received, and in how long."""

    flows_count: int
    received_bytes: float
    received_s: float


@dataclass(frozen=True)
class Content:
    """What one file holds; times are in s since 1970, and what it does not say is None or empty.

    `min_rtt_ms` is the smallest round-trip time that a sender measured, `min_rtts_ms` that of each sampled connection,
    `loss_pct` what all qdiscs of a path lose,
    `delay_ms` by how much they delay in all, `rate_bps` the rate of the slowest, and `buffer_bytes` or `buffer_packets`
    what waits in front of it; `problem` is why it is not read, or not to its end, `is_unusable` that nothing of it is.
    `asked_s` is how long a test was to take, `pacing_bps` and `volume_bytes` are what its command was told, `ways` what
    it received, by whether that was in the reverse direction.
    """

    kind: str | None
    is_server: bool = False
    start_s: float | None = None
    end_s: float | None = None
    algorithms: tuple[str, ...] = ()
    flows_count: int | None = None
    ends: frozenset[Ends] = field(default_factory=frozenset)
    problem: str | None = None
    min_rtt_ms: float | None = None
    min_rtts_ms: Mapping[Ends, float] = field(default_factory=dict)
    loss_pct: float | None = None
    delay_ms: float | None = None
    rate_bps: float | None = None
    buffer_bytes: int | None = None
    buffer_packets: int | None = None
    is_unusable: bool = False
    asked_s: float | None = None
    pacing_bps: float | None = None
    volume_bytes: float | None = None
    ways: Mapping[bool, Way] = field(default_factory=dict)

    def overlaps(self, other: "Content", slack_s: float = 0) -> bool:
        """Tell whether two files are of one time, as far as both say their times."""
        if self.start_s is None or other.start_s is None or self.end_s is None or other.end_s is None:
            return True
        return self.start_s <= other.end_s + slack_s and other.start_s <= self.end_s + slack_s


def read_content(path: Path) -> Content:
    """Return what a file holds; what is empty, broken JSON or a tool's text has a problem and no kind."""
    head = read_head(path)
    form = recognise_format(head)
    if form in CLIENT_FORMATS:
        return _read_result(path, is_server=bool(SERVER.search(head)))
    if form in SAMPLED:
        samples = _read_samples(path) if form == "ss" else Content(form)
        problems = list_problems(form, path)
        return replace(samples, problem="; ".join(problems[:PROBLEMS_SHOWN]) or None)
    if form in CAPTURES:
        return Content(KINDS[form], problem=find_cut(path))
    if QDISC.search(head):
        return _read_qdiscs(path)
    if form in ("empty", "json"):
        return _read_broken(path)
    error = None if form in KINDS else explain_text(head.decode("utf-8", "replace"))
    if error is not None and error.reason in OUTPUTS:
        return Content(None, problem=error.message, is_unusable=True)
    return Content(KINDS.get(form))


def _read_broken(path: Path) -> Content:
    """Return why nothing can be read of a file that is empty, or JSON of nothing known."""
    try:
        read_client_output(read_whole(path))
    except RawFileError as error:
        if error.reason in BROKEN:
            return Content(None, problem=error.message, is_unusable=True)
    return Content(None)


def _read_result(path: Path, *, is_server: bool) -> Content:
    kind = "iperf3-server" if is_server else "iperf3"
    try:
        outcome = read_client_output(read_whole(path))
    except RawFileError as error:
        return Content(kind, is_server, problem=error.message, is_unusable=True)
    test: Mapping[str, Any] = outcome.test
    start_s = _number(test.get("start_utc"))
    start_s = start_s / 1000 if start_s is not None else None
    asked_s = _number(test.get("duration_s"))
    measured_s = [_number(row.get(key)) or 0 for row in outcome.streams for key in ("sender_s", "receiver_s")]
    lasted_s = max(measured_s, default=0) or asked_s or 0
    # An interrupted test is shorter than asked. Starts are whole seconds, so counting the few ms that a test runs over
    # would make back-to-back tests overlap.
    duration_s = min(lasted_s, asked_s or lasted_s) + (_number(test.get("omit_s")) or 0)
    return Content(
        kind,
        is_server,
        start_s,
        start_s + duration_s if start_s is not None else None,
        tuple(sorted({str(test["cc_sender"])})) if test.get("cc_sender") else (),
        len(outcome.streams),
        frozenset(ends for row in outcome.streams if (ends := _read_ends(row)) is not None),
        "; ".join(note.message for note in outcome.notes) or None,
        # In µs as iperf3 has it, and 0 where it did not measure.
        min((rtt / US_PER_MS for row in outcome.streams if (rtt := _number(row.get("rtt_min_ms")))), default=None),
        asked_s=asked_s or lasted_s,
        pacing_bps=_read_pacing(test),
        volume_bytes=_number(test.get("volume_bytes")),
        ways=_read_ways(outcome.streams),
    )


def _read_pacing(test: Mapping[str, Any]) -> float | None:
    """Return the rate that a TCP client was told to keep each stream to; that of UDP is not one of pacing."""
    if test.get("protocol") not in (None, "TCP"):
        return None
    asked = (_number(test.get(name)) for name in ("target_bitrate_bps", "fq_rate_bps"))
    return min(filter(None, asked), default=None)


def _read_ways(streams: Iterable[Mapping[str, Any]]) -> dict[bool, Way]:
    ways: dict[bool, Way] = {}
    for row in streams:
        flows_count, received_bytes, received_s = ways.get(bool(row["is_reverse"]), (0, 0.0, 0.0))
        size, lasted_s = (_number(row.get(key)) or 0 for key in ("receiver_bytes", "receiver_s"))
        ways[bool(row["is_reverse"])] = Way(flows_count + 1, received_bytes + size, max(received_s, lasted_s))
    return ways


def _read_qdiscs(path: Path) -> Content:
    try:
        rows = parse_qdiscs(read_whole(path).decode("utf-8", "replace"))
    except RawFileError as error:
        return Content("netem", problem=error.message, is_unusable=True)
    losses_pct, delays_ms, rates_bps = (
        [row[key] for row in rows if row[key] is not None] for key in ("loss_pct", "delay_ms", "rate_bps")
    )
    buffer_bytes, buffer_packets = find_buffer(rows)
    return Content(
        "netem",
        loss_pct=min(sum(losses_pct), 100) if losses_pct else None,
        delay_ms=sum(delays_ms) if delays_ms else None,
        rate_bps=min(rates_bps, default=None),
        buffer_bytes=buffer_bytes,
        buffer_packets=buffer_packets,
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read_ends(row: Mapping[str, Any]) -> Ends | None:
    local, local_port, remote, remote_port = (
        row.get(key) for key in ("local_address", "local_port", "remote_address", "remote_port")
    )
    if not (isinstance(local, str) and isinstance(remote, str) and isinstance(local_port, int)):
        return None
    return normalise_address(local), local_port, normalise_address(remote), int(remote_port or 0)


def _read_samples(path: Path) -> Content:
    data = b""
    with contextlib.suppress(RawFileError):  # what comes before the fault is enough
        for block in iterate_blocks(path):
            data += block
            if len(data) > SAMPLES_LIMIT_BYTES:
                break
    stamps = [float(stamp) for stamp in STAMP.findall(data)]
    rtts_ms = _read_rtts(data)
    first_s, last_s = (min(stamps), max(stamps)) if stamps else (None, None)
    measured = {ends: rtt_ms for ends, rtt_ms in rtts_ms.items() if rtt_ms}
    smallest_ms = min(measured.values(), default=None)
    return Content(
        "ss", start_s=first_s, end_s=last_s, ends=frozenset(rtts_ms), min_rtt_ms=smallest_ms, min_rtts_ms=measured
    )


def _read_rtts(samples: bytes) -> dict[Ends, float]:
    """Return the smallest RTT of each connection in samples, 0 where none is there."""
    by_text: dict[tuple[bytes, ...], float] = {}
    socket: tuple[bytes, ...] = ()
    for match in SOCKET_OR_RTT.finditer(samples):
        if match["rtt"] is None:
            socket = match.group("local", "local_port", "remote", "remote_port")
            by_text.setdefault(socket, 0.0)
        elif rtt_ms := float(match["rtt"]):
            by_text[socket] = min(by_text.get(socket) or rtt_ms, rtt_ms)
    rtts_ms: dict[Ends, float] = {}
    for local, local_port, remote, remote_port in filter(None, by_text):
        here, there = (normalise_address(address.decode("utf-8", "replace")) for address in (local, remote))
        rtts_ms[here, int(local_port), there, int(remote_port)] = by_text[local, local_port, remote, remote_port]
    return rtts_ms
