"""Blocks of pcapng files: sections, interfaces, and the three kinds of blocks that hold packets.

Each section has its own byte order and its own interfaces; each interface its own unit of time. Simple packet blocks
have no time: they get that of the packet before. Written down in draft-ietf-opsawg-pcapng.
"""

from typing import Final

import numpy as np

from ccreport.ingest.captures.decode.byte_order import byte, word16, word32
from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    BAD_BLOCK,
    BAD_LENGTH,
    BAD_LINK_TYPE,
    BAD_VERSION,
    BLOCK_LIMIT_BYTES,
    CAPTURED,
    FILE_FORM,
    INTERFACE_LINK_TYPE,
    INTERFACE_SNAP_LENGTH,
    INTERFACES_COUNT,
    INTERFACES_LIMIT,
    IS_PACKET,
    LAST_PACKET_TIME,
    LINK_TYPE,
    LINK_TYPES,
    LINK_TYPES_COUNT,
    LINK_TYPES_LIMIT,
    MULTIPLIER,
    NEEDS_MORE,
    NEXT,
    NO_PACKET,
    OFFSET,
    ORIGINAL,
    PACKET_LIMIT_BYTES,
    PCAPNG_BIG,
    PCAPNG_LITTLE,
    RESOLUTION,
    SNAP_LENGTH,
    SNAP_LIMIT_BYTES,
    START,
    TIME,
    TIME_LIMIT_NS,
    TOO_MANY_INTERFACES,
    Bytes,
    Ints,
    numba_function,
)

_SECTION: Final = 0x0A0D0D0A
_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 1, 2, 3, 6
_ORDER_MARK: Final = 0x1A2B3C4D
_SHORTEST: Final = 12
# What a block of its kind has at least, with its type and both lengths.
_SECTION_BYTES, _INTERFACE_BYTES, _SIMPLE_BYTES, _PACKET_BYTES = 28, 20, 16, 32
# Those of packets that can be decoded: see `link_and_ip`.
READABLE_LINK_TYPES: Final = (0, 1, 12, 14, 101, 108, 113, 228, 229, 276)
_END_OF_OPTIONS, _TSRESOL, _TSOFFSET = 0, 9, 14
_MICROSECONDS: Final = 6
_BINARY, _EXPONENT = 0x80, 0x7F


@numba_function
def next_block(data: Bytes, position: int, end: int, file: Ints, interfaces: Ints, record: Ints) -> int:
    """Fill `record` with the packet of the block at `position` and return what is there."""
    if end - position < _SHORTEST:
        return NEEDS_MORE
    is_big = file[FILE_FORM] == PCAPNG_BIG
    kind = word32(data, position, is_big)
    # The number of a section block reads alike in both orders; the mark behind its length tells which holds from here.
    if kind == _SECTION:
        if word32(data, position + 8, is_big) != _ORDER_MARK:
            is_big = not is_big
        if word32(data, position + 8, is_big) != _ORDER_MARK:
            return BAD_BLOCK
    size = word32(data, position + 4, is_big)
    if size < _SHORTEST or size > BLOCK_LIMIT_BYTES:
        return BAD_BLOCK
    if size > end - position:
        return NEEDS_MORE
    if word32(data, position + size - 4, is_big) != size:
        return BAD_BLOCK
    record[NEXT] = position + size
    if kind in (_PACKET, _OLD_PACKET):
        return _read_packet(data, position, size, kind, is_big, file, interfaces, record)
    if kind == _SIMPLE_PACKET:
        return _read_simple_packet(data, position, size, is_big, file, interfaces, record)
    if kind == _INTERFACE:
        return _add_interface(data, position, size, is_big, file, interfaces)
    if kind == _SECTION:
        return _begin_section(data, position, size, is_big, file)
    return NO_PACKET


@numba_function
def _begin_section(data: Bytes, position: int, size: int, is_big: bool, file: Ints) -> int:
    if size < _SECTION_BYTES:
        return BAD_BLOCK
    minor = word16(data, position + 14, is_big)
    # Version 1.2 was written by some programs and means 1.0.
    if word16(data, position + 12, is_big) != 1 or minor not in (0, 2):
        return BAD_VERSION
    file[FILE_FORM] = PCAPNG_BIG if is_big else PCAPNG_LITTLE
    file[INTERFACES_COUNT] = 0
    return NO_PACKET


@numba_function
def _add_interface(data: Bytes, position: int, size: int, is_big: bool, file: Ints, interfaces: Ints) -> int:
    if size < _INTERFACE_BYTES:
        return BAD_BLOCK
    number = file[INTERFACES_COUNT]
    if number == INTERFACES_LIMIT:
        return TOO_MANY_INTERFACES
    link_type = word16(data, position + 8, is_big)
    snap_length = word32(data, position + 12, is_big)
    interfaces[number, INTERFACE_LINK_TYPE] = link_type
    interfaces[number, INTERFACE_SNAP_LENGTH] = snap_length
    interfaces[number, RESOLUTION] = _MICROSECONDS
    interfaces[number, OFFSET] = 0
    at, last = position + 16, position + size - 4
    while at + 4 <= last:
        option, length = word16(data, at, is_big), word16(data, at + 2, is_big)
        at += 4
        if option == _END_OF_OPTIONS or length > last - at:
            break
        if option == _TSRESOL and length == 1:
            interfaces[number, RESOLUTION] = byte(data, at)
        elif option == _TSOFFSET and length == 8:
            first, second = word32(data, at, is_big), word32(data, at + 4, is_big)
            interfaces[number, OFFSET] = first << 32 | second if is_big else second << 32 | first
        at += (length + 3) // 4 * 4
    resolution = interfaces[number, RESOLUTION]
    interfaces[number, MULTIPLIER] = 10 ** (9 - resolution) if resolution <= 9 else 0
    _note_interface(file, link_type, snap_length)
    file[INTERFACES_COUNT] = number + 1
    return NO_PACKET


@numba_function
def _note_interface(file: Ints, link_type: int, snap_length: int) -> None:
    count = file[LINK_TYPES_COUNT]
    if count == 0:
        file[SNAP_LENGTH] = snap_length
    elif file[SNAP_LENGTH] != snap_length:
        file[SNAP_LENGTH] = ABSENT
    for place in range(count):
        if file[LINK_TYPES + place] == link_type:
            return
    if count < LINK_TYPES_LIMIT:
        file[LINK_TYPES + count] = link_type
        file[LINK_TYPES_COUNT] = count + 1


@numba_function
def _read_packet(
    data: Bytes, position: int, size: int, kind: int, is_big: bool, file: Ints, interfaces: Ints, record: Ints
) -> int:
    if size < _PACKET_BYTES:
        return BAD_BLOCK
    # The obsolete block has a count of drops in the second half of the interface's number.
    interface = word32(data, position + 8, is_big) if kind == _PACKET else word16(data, position + 8, is_big)
    captured, original = word32(data, position + 20, is_big), word32(data, position + 24, is_big)
    if interface >= file[INTERFACES_COUNT] or captured > size - _PACKET_BYTES:
        return BAD_BLOCK
    high, low = word32(data, position + 12, is_big), word32(data, position + 16, is_big)
    file[LAST_PACKET_TIME] = _to_ns(high << 32 | low, interfaces[interface])
    return _fill(position + 28, captured, original, interfaces[interface], file, record)


@numba_function
def _read_simple_packet(
    data: Bytes, position: int, size: int, is_big: bool, file: Ints, interfaces: Ints, record: Ints
) -> int:
    if size < _SIMPLE_BYTES or file[INTERFACES_COUNT] == 0:
        return BAD_BLOCK
    original = word32(data, position + 8, is_big)
    snap_length = interfaces[0, INTERFACE_SNAP_LENGTH]
    # The block does not say how much was captured: it holds at most 3 bytes of padding more.
    captured = min(original, size - _SIMPLE_BYTES)
    if snap_length > 0:
        captured = min(captured, snap_length)
    return _fill(position + 12, captured, original, interfaces[0], file, record)


@numba_function
def _fill(start: int, captured: int, original: int, interface: Ints, file: Ints, record: Ints) -> int:
    limit = max(PACKET_LIMIT_BYTES, min(interface[INTERFACE_SNAP_LENGTH], SNAP_LIMIT_BYTES))
    if captured > limit or original == 0:
        return BAD_LENGTH
    link_type = interface[INTERFACE_LINK_TYPE]
    if link_type not in READABLE_LINK_TYPES:
        return BAD_LINK_TYPE
    record[TIME] = file[LAST_PACKET_TIME]
    record[START] = start
    record[CAPTURED] = captured
    record[ORIGINAL] = original
    record[LINK_TYPE] = link_type
    return IS_PACKET


@numba_function
def _to_ns(ticks: int, interface: Ints) -> int:
    """Return ns since 1970 of ticks, whose 64 bits are unsigned, between 0 and TIME_LIMIT_NS."""
    multiplier = interface[MULTIPLIER]
    # What has its first bit set as a signed number is beyond the limit in each unit of at least a ns.
    if multiplier > 0:
        beyond = ticks < 0 or ticks > TIME_LIMIT_NS // multiplier
        time = TIME_LIMIT_NS if beyond else ticks * multiplier
    else:
        time = _to_ns_of_odd_unit(ticks, interface[RESOLUTION])
    offset = interface[OFFSET]
    bound = TIME_LIMIT_NS // 1_000_000_000
    shifted = time + min(max(offset, -bound), bound) * 1_000_000_000
    return min(max(shifted, 0), TIME_LIMIT_NS)


@numba_function
def _to_ns_of_odd_unit(ticks: int, resolution: int) -> int:
    """Return ns of ticks that are shorter than a ns or a power of two of a second, at most TIME_LIMIT_NS."""
    exponent = resolution & _EXPONENT
    if resolution & _BINARY == 0:
        # 2^64 ticks of 10^-28 s are less than 2 ns, and the largest divisor has to fit as well.
        divisor = np.uint64(10 ** min(exponent - 9, 18))
        shorter = np.uint64(ticks) // divisor if exponent < 28 else np.uint64(0)
        return int(np.int64(min(shorter, np.uint64(TIME_LIMIT_NS))))
    bits = np.uint64(ticks)
    seconds, rest = np.uint64(0), bits
    if exponent < 64:
        seconds = bits >> np.uint64(exponent)
        rest = bits - (seconds << np.uint64(exponent))
    # 32 bits of the fraction are 0.2 ns, and their product with 1e9 fits in 64 bits.
    if exponent > 32:
        rest = rest >> np.uint64(min(exponent - 32, 63))
        exponent = 32
    nanoseconds = np.int64(rest * np.uint64(1_000_000_000) >> np.uint64(exponent))
    if seconds > np.uint64(TIME_LIMIT_NS // 1_000_000_000 - 1):
        return TIME_LIMIT_NS
    return int(np.int64(seconds) * 1_000_000_000 + nanoseconds)
