"""What tshark and tcptrace say of a capture, parsed; a test that needs a program that is absent is skipped.

tcptrace prints a block for each connection with the two directions side by side, `a->b` first; a is the end whose
packet came first. tshark numbers frames from 1 and marks them one by one; a mark is an empty or non-empty field.
"""

import ipaddress
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TIME_LIMIT_S = 120
MARKS = (
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "duplicate_ack",
    "zero_window",
    "keep_alive",
    "keep_alive_ack",
    "zero_window_probe",
    "lost_segment",
    "ack_lost_segment",
    "reused_ports",
)
VALUES = (
    "frame.number",
    "tcp.stream",
    "tcp.srcport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "ip.id",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.analysis.bytes_in_flight",
    "tcp.analysis.ack_rtt",
)


@dataclass(frozen=True)
class TsharkPacket:
    """A TCP packet as tshark sees it; `marks` are the names after `tcp.analysis.`."""

    number: int
    stream: int
    source_port: int
    sequence: int
    acknowledgement: int
    payload: int
    ip_id: int | None
    tsval: int | None
    tsecr: int | None
    in_flight: int | None
    ack_rtt_ms: float | None
    marks: frozenset[str]


@dataclass(frozen=True)
class TcptraceFlow:
    """One direction of a connection as tcptrace sees it."""

    source: str
    source_port: int
    destination: str
    destination_port: int
    frames: int
    unique_bytes: int
    data_packets: int
    rexmt_packets: int
    rexmt_bytes: int
    rtt_samples: int
    rtt_min_ms: float | None


def run_tool(program: str, *arguments: str) -> str:
    """Return what a program prints; skip the test where it is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    return done.stdout


def run_tshark(path: Path) -> list[TsharkPacket]:
    """Return tshark's analysis of each TCP packet of a capture, in the order of the file."""
    fields = [*VALUES, *(f"tcp.analysis.{mark}" for mark in MARKS)]
    options = [word for name in fields for word in ("-e", name)]
    text = run_tool(
        "tshark",
        *("-n", "-r", str(path), "-Y", "tcp", "-o", "tcp.analyze_sequence_numbers:TRUE"),
        *("-T", "fields", "-E", "separator=|", "-E", "occurrence=f", *options),
    )
    return [parse_tshark(line) for line in text.splitlines()]


def parse_tshark(line: str) -> TsharkPacket:
    """Return a packet from a line of fields."""
    values, marks = line.split("|")[: len(VALUES)], line.split("|")[len(VALUES) :]
    number, stream, port, sequence, acknowledgement, payload, ip_id, tsval, tsecr, in_flight, rtt = values
    return TsharkPacket(
        number=int(number),
        stream=int(stream or -1),
        source_port=int(port or 0),
        sequence=int(sequence or 0),
        acknowledgement=int(acknowledgement or 0),
        payload=int(payload or 0),
        ip_id=int(ip_id, 0) if ip_id else None,
        tsval=int(tsval) if tsval else None,
        tsecr=int(tsecr) if tsecr else None,
        in_flight=int(in_flight) if in_flight else None,
        ack_rtt_ms=float(rtt) * 1000 if rtt else None,
        marks=frozenset(name for name, value in zip(MARKS, marks, strict=True) if value),
    )


def run_tcptrace(path: Path) -> list[TcptraceFlow]:
    """Return both directions of each connection that tcptrace finds; empty where it does not know the format."""
    return list(parse_tcptrace(run_tool("tcptrace", "-lr", "-n", str(path))))


def parse_tcptrace(text: str) -> Iterator[TcptraceFlow]:
    """Yield two flows a connection from the long output."""
    for block in re.split(r"^TCP connection \d+:\n", text, flags=re.MULTILINE)[1:]:
        ends = re.findall(r"^\s+host \S+:\s+(\S+):(\d+)$", block, flags=re.MULTILINE)
        found: dict[str, list[str]] = {}
        for line in block.splitlines():
            for place, (name, value) in enumerate(re.findall(r"(\S[^:>]*?):\s+(\S+)(?: \w+)?\s*", line)):
                found.setdefault(name, ["", ""])[min(place, 1)] = value
        for place in (0, 1):
            source, destination = ends[place], ends[1 - place]
            value = {name: values[place] for name, values in found.items()}
            minimum = value.get("RTT min", "NA")
            yield TcptraceFlow(
                source=str(ipaddress.ip_address(source[0])),
                source_port=int(source[1]),
                destination=str(ipaddress.ip_address(destination[0])),
                destination_port=int(destination[1]),
                frames=int(value["total packets"]),
                unique_bytes=int(value["unique bytes sent"]),
                data_packets=int(value["actual data pkts"]),
                rexmt_packets=int(value["rexmt data pkts"]),
                rexmt_bytes=int(value["rexmt data bytes"]),
                rtt_samples=int(value.get("RTT samples", "0")),
                rtt_min_ms=float(minimum) if re.fullmatch(r"[\d.]+", minimum) else None,
            )
