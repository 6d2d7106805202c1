"""Records of pcap files: where the packets are, and when they were seen. Blocks of pcapng are in `pcapng`.

Versions before 2.3 have the two lengths of a record the other way round, 2.3 either way. Two magic numbers tell the
unit of time (us, ns), a third a record header of 24 bytes ("modified", Kuznetsov's). Bits above the link type are
reserved, or tell the length of the frame check sequence. Written down in draft-ietf-opsawg-pcap and in libpcap.
"""

import struct
from typing import Final

import numpy as np

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.captures.decode.byte_order import big32, little32
from ccreport.ingest.captures.decode.layout import (
    BAD_LENGTH,
    CAPTURED,
    CAPTURED_FIRST,
    FILE_FORM,
    FILE_LINK_TYPE,
    FILE_SIZE,
    FIRST_RECORD,
    HAS_WRONG_MAGIC,
    HEADER_SIZE,
    INTERFACE_SIZE,
    INTERFACES_LIMIT,
    IS_PACKET,
    LENGTH_LIMIT,
    LENGTHS_ORDER,
    LINK_TYPE,
    LINK_TYPES,
    LINK_TYPES_COUNT,
    NEEDS_MORE,
    NEXT,
    ODD_FRACTIONS,
    ORIGINAL,
    ORIGINAL_FIRST,
    PACKET_LIMIT_BYTES,
    PCAP_BIG,
    PCAP_LITTLE,
    PCAPNG_BIG,
    PCAPNG_LITTLE,
    SMALLER_IS_CAPTURED,
    SNAP_LENGTH,
    SNAP_LIMIT_BYTES,
    START,
    TIME,
    UNIT,
    Bytes,
    Ints,
    numba_inline,
)
from ccreport.ingest.captures.decode.pcapng import READABLE_LINK_TYPES, next_block

_PCAPNG: Final = b"\x0a\x0d\x0d\x0a"
_PCAPNG_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": PCAPNG_LITTLE, b"\x1a\x2b\x3c\x4d": PCAPNG_BIG}
_MAGIC_BYTES: Final = 4
_HEADER_BYTES: Final = 24
# Length of a tick in ns and bytes of a record header, by the magic number.
_MAGICS: Final = {0xA1B2C3D4: (1000, 16), 0xA1B23C4D: (1, 16), 0xA1B2CD34: (1000, 24)}
# DG/UX wrote 543.0, with the lengths as before 2.3.
_ORDERS: Final = {(2, 3): SMALLER_IS_CAPTURED, (2, 4): CAPTURED_FIRST} | dict.fromkeys(
    [(2, 0), (2, 1), (2, 2), (543, 0)], ORIGINAL_FIRST
)
# ASSUME: frames with a check sequence have an IP length, so that its length, in the bits above, is not needed.
_RESERVED_BITS: Final = 0x03FF0000
_SECOND_NS: Final = 1_000_000_000
_MICROSECOND_NS: Final = 1000
# Of so many packets at the start nanoseconds under the wrong magic number are told; a thousandth is below a million.
_FRACTIONS_COUNT: Final = 1000
_WRONG_SHARE: Final = 0.9
# Formats that Wireshark's editcap reads and ccreport does not, by their first bytes (wiretap/file_access.c).
_OTHER_FORMATS: Final = {
    b"snoop\0\0\0": "snoop (Solaris)",
    b"btsnoop\0": "btsnoop (Bluetooth)",
    b"GMBU": "Microsoft Network Monitor 2",
    b"RTSS": "Microsoft Network Monitor 1",
    b"XCP\0": "Network Associates Sniffer for Windows",
    b"TRSNIFF data": "Network General Sniffer",
    b"iptrace 1.0": "AIX iptrace",
    b"iptrace 2.0": "AIX iptrace",
    b"ObserverPktBuffer": "Network Instruments Observer",
    b"\x7fver": "WildPackets EtherPeek",
    b"\x05VNF": "Visual Networks",
    b"\xaa\xaa\xaa\xaa": "Accellent 5Views",
    b"\x54\x52\x00\x64\x00": "HP-UX nettl",
}
# An ERF record: 8 bytes of time, type with flags, then its length, which holds its header of 16 bytes (Endace).
_ERF_TYPES: Final = range(1, 49)


def open_capture(head: bytes) -> tuple[Ints, Ints]:
    """Return what the header of a capture says, as `file` and `interfaces` of `layout`.

    `head` is the first bytes of the decompressed file, 24 or more where it has them. Raise RawFileError
    (`not_a_capture`, `truncated_capture`, `malformed_record`, `unknown_link_type`).
    """
    file = np.zeros(FILE_SIZE, np.int64)
    interfaces = np.zeros((INTERFACES_LIMIT, INTERFACE_SIZE), np.int64)
    magic = head[:_MAGIC_BYTES]
    orders = {struct.pack(order + "I", number): order for order in "<>" for number in _MAGICS}
    if not any(known.startswith(magic) for known in [*orders, _PCAPNG]):
        raise RawFileError("not_a_capture", _explain(head), offset=0)
    if len(head) < (12 if magic == _PCAPNG else _HEADER_BYTES):
        message = f"only {len(head)} bytes, less than the header of a capture; record it again, or delete it"
        raise RawFileError("truncated_capture", message, offset=0)
    if magic == _PCAPNG:
        if head[8:12] not in _PCAPNG_ORDERS:
            message = "not a packet capture: begins like pcapng, but has no byte-order mark; copy it again as binary"
            raise RawFileError("not_a_capture", message, offset=0)
        file[FILE_FORM] = _PCAPNG_ORDERS[head[8:12]]
    else:
        _read_header(head, orders[magic], file)
        _find_wrong_magic(head, orders[magic], file)
    return file, interfaces


def is_capture(head: bytes) -> bool:
    """Return whether the header of a pcap or pcapng file begins here."""
    known = {struct.pack(order + "I", number) for order in "<>" for number in _MAGICS} | {_PCAPNG}
    return head[:_MAGIC_BYTES] in known


def _explain(head: bytes) -> str:
    """Return what a file is that is not a capture that can be read, and what to do."""
    name = next((name for magic, name in _OTHER_FORMATS.items() if head.startswith(magic)), None)
    if name is None and _is_erf(head):
        name = "ERF (Endace)"
    if name is None:
        return "not a packet capture: no known number at its start; keep other files out of names tcpdump:…"
    return f"a capture in the format {name}, which is not read; convert it: editcap -F pcap OLD NEW"


def _is_erf(head: bytes) -> bool:
    """Return whether two records of ERF follow each other; the format has no magic number."""
    at = 0
    for _ in range(2):
        if len(head) < at + 16:
            return False
        kind, length = head[at + 8] & 0x7F, int.from_bytes(head[at + 10 : at + 12], "big")
        if kind not in _ERF_TYPES or length < 16:
            return False
        at += length
        if at == len(head):
            return True
    return True


def _find_wrong_magic(head: bytes, order: str, file: Ints) -> None:
    """Take a capture in microseconds for one in nanoseconds where nearly all its fractions are a million or more."""
    if file[UNIT] != _MICROSECOND_NS:
        return
    fractions: list[int] = []
    at, size = _HEADER_BYTES, int(file[HEADER_SIZE])
    while len(fractions) < _FRACTIONS_COUNT and at + size <= len(head):
        fraction, first, other = struct.unpack_from(order + "III", head, at + 4)
        fractions.append(fraction)
        at += size + (first if file[LENGTHS_ORDER] == CAPTURED_FIRST else min(first, other))
    beyond = sum(_SECOND_NS // _MICROSECOND_NS <= fraction < _SECOND_NS for fraction in fractions)
    # One packet alone may be damaged.
    if beyond > 1 and beyond >= _WRONG_SHARE * len(fractions):
        file[UNIT] = 1
        file[HAS_WRONG_MAGIC] = 1


def _read_header(head: bytes, order: str, file: Ints) -> None:
    number, major, minor, snap_length, link_field = struct.unpack(order + "IHH8xII", head[:_HEADER_BYTES])
    if (major, minor) not in _ORDERS:
        message = f"pcap version {major}.{minor} is not known, only 2.0 to 2.4; convert it with editcap"
        raise RawFileError("malformed_record", message, offset=4)
    if link_field & _RESERVED_BITS:
        message = f"reserved bits of the link type are set ({link_field:#010x}): damaged; copy it again from its source"
        raise RawFileError("malformed_record", message, offset=20)
    link_type = link_field & 0xFFFF
    if link_type not in READABLE_LINK_TYPES:
        message = f"link type {link_type} is not read; capture on an Ethernet, cooked, raw IP or loopback interface"
        raise RawFileError("unknown_link_type", message, offset=20)
    file[FILE_FORM] = PCAP_LITTLE if order == "<" else PCAP_BIG
    file[FIRST_RECORD] = _HEADER_BYTES
    file[UNIT], file[HEADER_SIZE] = _MAGICS[number]
    file[LENGTHS_ORDER] = _ORDERS[major, minor]
    # A snap length of 0 or more than anybody captures does not limit.
    file[LENGTH_LIMIT] = max(PACKET_LIMIT_BYTES, min(snap_length, SNAP_LIMIT_BYTES))
    file[SNAP_LENGTH] = snap_length
    file[FILE_LINK_TYPE] = file[LINK_TYPES] = link_type
    file[LINK_TYPES_COUNT] = 1


@numba_inline
def next_record(data: Bytes, position: int, end: int, file: Ints, interfaces: Ints, record: Ints) -> int:
    """Fill `record` with what is at `position` and return what that is; nothing at or beyond `end` is read."""
    form = file[FILE_FORM]
    if form == PCAP_LITTLE:
        header = file[HEADER_SIZE]
        if end - position < header:
            return NEEDS_MORE
        second, fraction = little32(data, position), little32(data, position + 4) * file[UNIT]
        lengths = little32(data, position + 8), little32(data, position + 12)
        return _fill(lengths[0], lengths[1], second, fraction, position, end, file, record)
    if form == PCAP_BIG:
        header = file[HEADER_SIZE]
        if end - position < header:
            return NEEDS_MORE
        second, fraction = big32(data, position), big32(data, position + 4) * file[UNIT]
        lengths = big32(data, position + 8), big32(data, position + 12)
        return _fill(lengths[0], lengths[1], second, fraction, position, end, file, record)
    return next_block(data, position, end, file, interfaces, record)


@numba_inline
def _fill(first: int, other: int, second: int, fraction: int, position: int, end: int, file: Ints, record: Ints) -> int:
    order = file[LENGTHS_ORDER]
    captured, original = first, other
    if order != CAPTURED_FIRST and (order == ORIGINAL_FIRST or captured > original):
        captured, original = other, first
    if captured > file[LENGTH_LIMIT] or original == 0:
        return BAD_LENGTH
    start = position + file[HEADER_SIZE]
    if captured > end - start:
        return NEEDS_MORE
    if fraction >= _SECOND_NS:
        file[ODD_FRACTIONS] += 1
        # ASSUME: tcpdump once forgot a carry; two seconds or more are damage, and only the second can be right.
        if fraction >= 2 * _SECOND_NS:
            fraction = 0
    record[TIME] = second * _SECOND_NS + fraction
    record[START] = start
    record[CAPTURED] = captured
    record[ORIGINAL] = original
    record[LINK_TYPE] = file[FILE_LINK_TYPE]
    record[NEXT] = start + captured
    return IS_PACKET
