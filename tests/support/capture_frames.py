"""Frames and capture files out of their bytes, and one pass of the compiled reading over them."""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from ccreport.ingest.captures.decode import layout as at
from ccreport.ingest.captures.decode import pcap as records
from ccreport.ingest.captures.decode import tcp_header as headers
from ccreport.ingest.captures.decode.pcap import open_capture
from ccreport.ingest.captures.tables import describe_container

CODES = {
    at.NEEDS_MORE: "needs more",
    at.BAD_LENGTH: "bad length",
    at.BAD_BLOCK: "bad block",
    at.BAD_VERSION: "bad version",
    at.BAD_LINK_TYPE: "bad link type",
    at.TOO_MANY_INTERFACES: "too many interfaces",
}
FOUND = {at.IS_TCP: "tcp", at.IS_OTHER: "other", at.IS_FRAGMENT: "fragment", at.IS_MALFORMED: "malformed"}


@njit
def next_record(data, position, end, file, interfaces, record):  # type: ignore[no-untyped-def]
    """Call the reader's function as its kernels do: compiled."""
    return records.next_record(data, position, end, file, interfaces, record)


@njit
def decode_packet(data, record, packet):  # type: ignore[no-untyped-def]
    return headers.decode_packet(data, record, packet)


@njit
def read_options(data, packet, options):  # type: ignore[no-untyped-def]
    return headers.read_options(data, packet, options)


@dataclass
class Read:
    """What was read of a file: its packets, why that ended, and where."""

    records: list[list[int]]
    found: list[str]
    packets: list[list[int]]
    options: list[list[int]]
    code: str
    position: int
    container: dict[str, Any]

    def of(self, fact: int) -> list[int]:
        """Return one fact of all records."""
        return [record[fact] for record in self.records]


def read(raw: bytes) -> Read:
    """Read a file that lies in memory as one block."""
    file, interfaces = open_capture(raw[:65536])
    data = np.frombuffer(raw, np.uint8)
    record, packet, options = (np.zeros(size, np.int64) for size in (at.RECORD_SIZE, at.PACKET_SIZE, at.OPTIONS_SIZE))
    result = Read([], [], [], [], "", int(file[at.FIRST_RECORD]), {})
    while True:
        code = next_record(data, result.position, len(data), file, interfaces, record)
        if code not in (at.IS_PACKET, at.NO_PACKET):
            break
        result.position = int(record[at.NEXT])
        if code == at.NO_PACKET:
            continue
        result.records.append(record.tolist())
        result.found.append(FOUND[decode_packet(data, record, packet)])
        result.packets.append(packet.tolist())
        if result.found[-1] == "tcp":
            read_options(data, packet, options)
        result.options.append(options.tolist())
    result.code, result.container = CODES[code], describe_container(file)
    return result


def pcap(
    *frames: bytes,
    order: str = "<",
    magic: int = 0xA1B2C3D4,
    version: tuple[int, int] = (2, 4),
    snap: int = 262144,
    link: int = 1,
    time: tuple[int, int] = (1_800_000_000, 5),
) -> bytes:
    """Return a pcap file of whole frames."""
    more = b"\xee" * 8 if magic == 0xA1B2CD34 else b""
    head = struct.pack(order + "IHHiIII", magic, *version, 0, 0, snap, link)
    return head + b"".join(struct.pack(order + "IIII", *time, len(f), len(f)) + more + f for f in frames)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """Return a pcapng block."""
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(order: str = "<", version: tuple[int, int] = (1, 0)) -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, *version, -1), order)


def interface(order: str = "<", link: int = 1, snap: int = 0, options: bytes = b"") -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, snap) + options, order)


def resolution(value: int, order: str = "<") -> bytes:
    return struct.pack(order + "HHB3x", 9, 1, value)


def enhanced(frame: bytes, ticks: int = 0, number: int = 0, order: str = "<", original: int | None = None) -> bytes:
    length = len(frame) if original is None else original
    return block(
        6, struct.pack(order + "5I", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), length) + frame, order
    )


def tcp(payload: bytes = b"", options: bytes = b"", flags: int = 0x18, offset: int | None = None) -> bytes:
    """Return a segment from port 40000 to 5201 with sequence 0xfffffff0, acknowledgement 7 and window 500."""
    words = 5 + len(options) // 4 if offset is None else offset
    return struct.pack("!HHIIBBHHH", 40000, 5201, 0xFFFFFFF0, 7, words << 4, flags, 500, 0, 0) + options + payload


def ipv4(
    body: bytes,
    protocol: int = 6,
    fragment: int = 0x4000,
    options: bytes = b"",
    length: int | None = None,
    tos: int = 0,
) -> bytes:
    """Return a packet from 10.0.0.1 to 10.0.0.2 with identification 0x1234."""
    first = 0x40 | (5 + len(options) // 4)
    total = 20 + len(options) + len(body) if length is None else length
    header = struct.pack(
        "!BBHHHBBH4B4B", first, tos, total, 0x1234, fragment, 64, protocol, 0, 10, 0, 0, 1, 10, 0, 0, 2
    )
    return header + options + body


def ipv6(body: bytes, protocol: int = 6, length: int | None = None, traffic_class: int = 0) -> bytes:
    """Return a packet from 2001:db8::1 to fe80::2."""
    total = len(body) if length is None else length
    source, destination = bytes.fromhex("20010db8") + bytes(11) + b"\1", b"\xfe\x80" + bytes(13) + b"\2"
    return struct.pack("!IHBB", 6 << 28 | traffic_class << 20, total, protocol, 64) + source + destination + body


def ethernet(body: bytes, kind: int = 0x0800) -> bytes:
    return bytes(12) + struct.pack("!H", kind) + body


FRAME = ethernet(ipv4(tcp(b"abc")))


def decode(frame: bytes, link: int = 1, original: int | None = None) -> Read:
    """Decode one frame; behind its captured bytes stands what would be taken for anything."""
    length = len(frame) if original is None else original
    return read(pcap(link=link) + struct.pack("<IIII", 1, 2, len(frame), length) + frame)


LABEL, BOTTOM = b"\0\1\0\x40", b"\0\2\1\x40"
PPPOE = b"\x11\0\0\1\0\0"
MAPPED = 0xFFFF << 32 | 0x0A000001
LINKS = [
    (1, FRAME),
    (1, ethernet(ipv6(tcp(b"abc")), 0x86DD)),
    *((1, ethernet(b"\0\1" + b"\x08\0" + ipv4(tcp(b"abc")), kind)) for kind in (0x8100, 0x88A8, 0x9100, 0x9200)),
    (1, ethernet(b"\0\1\x81\0" * 7 + b"\0\1\x86\xdd" + ipv6(tcp(b"abc")), 0x88A8)),
    (1, ethernet(BOTTOM + ipv4(tcp(b"abc")), 0x8847)),
    (1, ethernet(LABEL * 2 + BOTTOM + ipv6(tcp(b"abc")), 0x8848)),
    (1, ethernet(b"\0\1\x88\x47" + BOTTOM + ipv4(tcp(b"abc")), 0x8100)),
    (1, ethernet(PPPOE + b"\0\x21" + ipv4(tcp(b"abc")), 0x8864)),
    (1, ethernet(PPPOE + b"\0\x57" + ipv6(tcp(b"abc")), 0x8864)),
    (1, ethernet(b"\xaa\xaa\3\0\0\0\x08\0" + ipv4(tcp(b"abc")), 51)),
    *((link, b"\2\0\0\0" + ipv4(tcp(b"abc"))) for link in (0, 108)),
    *((link, b"\0\0\0\2" + ipv4(tcp(b"abc"))) for link in (0, 108)),
    *((0, bytes([family, 0, 0, 0]) + ipv6(tcp(b"abc"))) for family in (10, 24, 28, 30)),
    (108, b"\0\0\0\x1e" + ipv6(tcp(b"abc"))),
    *((link, ipv4(tcp(b"abc"))) for link in (12, 14, 101, 228)),
    *((link, ipv6(tcp(b"abc"))) for link in (12, 14, 101, 229)),
    (113, bytes(14) + b"\x08\0" + ipv4(tcp(b"abc"))),
    (113, bytes(14) + b"\x81\0\0\1\x86\xdd" + ipv6(tcp(b"abc"))),
    (276, b"\x08\0" + bytes(18) + ipv4(tcp(b"abc"))),
    (276, b"\x86\xdd" + bytes(18) + ipv6(tcp(b"abc"))),
]
STAMPS = b"\x08\x0a\x00\x00\x01\x00\xff\xff\xff\xff"
SYN_OPTIONS = b"\x02\x04\x05\xb4\x04\x02" + STAMPS + b"\x01\x03\x03\x0e"
