"""Headers of a packet, as far as the TCP options. What comes before the IP header is read by `link_and_ip`.

Lengths are those of the IP header. Where that is 0, because a sending host's capture saw the segment before it was
cut (TSO) or it is longer than the field can say (BIG TCP), and where it is more than the frame had, the length of the
frame on the wire counts. Ethernet's padding is in neither. Written down in RFC 791, 8200, 9293, 7323 and 2018.
"""

from typing import Final

from ccreport.ingest.captures.decode.byte_order import big16, big32, byte
from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    ACKNOWLEDGEMENT,
    CAPTURED,
    DESTINATION_HIGH,
    DESTINATION_LOW,
    DESTINATION_PORT,
    ECN,
    FLAGS,
    FRAME,
    IP_ID,
    IS_MALFORMED,
    IS_TCP,
    IS_WHOLE,
    LINK_TYPE,
    OPT_KINDS,
    OPT_MSS,
    OPT_SACK,
    OPT_SACK_BLOCKS,
    OPT_SACK_PERMITTED,
    OPT_TSECR,
    OPT_TSVAL,
    OPT_WINDOW_SCALE,
    OPTIONS,
    OPTIONS_END,
    ORIGINAL,
    PAYLOAD,
    SACK_BLOCKS_LIMIT,
    SEQUENCE,
    SOURCE_HIGH,
    SOURCE_LOW,
    SOURCE_PORT,
    START,
    TTL,
    WINDOW,
    Bytes,
    Ints,
    numba_function,
    numba_inline,
)
from ccreport.ingest.captures.decode.link_and_ip import ETHERNET, IPV4_MAPPED, PROTOCOL_TCP, TYPE_IPV4, find_segment

# What most packets have: Ethernet, IPv4 without options, and the fixed part of a TCP header.
_ETHERNET_BYTES, _IPV4_BYTES, _TCP_BYTES = 14, 20, 20
_PLAIN_IPV4: Final = 0x45
# MF and the fragment offset.
_FRAGMENT_BITS: Final = 0x3FFF
# The window ends here; what follows it, checksum and urgent pointer, is not needed.
_NEEDED_TCP_BYTES: Final = 16
_NOP_NOP_TIMESTAMPS: Final = 0x0101080A
_TIMESTAMPS_BYTES: Final = 12
_END_OF_LIST, _NOP, _MSS, _SCALE, _SACK_PERMITTED, _SACK, _TIMESTAMPS = 0, 1, 2, 3, 4, 5, 8
_KINDS_BITS: Final = 64
# What a larger shift counts as (RFC 7323 2.3).
_LARGEST_SCALE: Final = 14


@numba_inline
def decode_packet(data: Bytes, record: Ints, packet: Ints) -> int:
    """Fill `packet` with what the headers of `record` say and return what it is; the rest only if it is IS_TCP.

    Nothing beyond the captured bytes is read.
    """
    start = record[START]
    limit = min(start + record[CAPTURED], len(data))
    original = record[ORIGINAL]
    packet[FRAME] = original
    ip = start + _ETHERNET_BYTES
    tcp = ip + _IPV4_BYTES
    if (
        record[LINK_TYPE] == ETHERNET
        and limit - tcp >= _NEEDED_TCP_BYTES
        and big16(data, start + 12) == TYPE_IPV4
        and byte(data, ip) == _PLAIN_IPV4
        and byte(data, ip + 9) == PROTOCOL_TCP
        and big16(data, ip + 6) & _FRAGMENT_BITS == 0
    ):
        length = big16(data, ip + 2)
        if length == 0:
            length = original - _ETHERNET_BYTES
        packet[SOURCE_HIGH] = packet[DESTINATION_HIGH] = 0
        packet[SOURCE_LOW] = IPV4_MAPPED | big32(data, ip + 12)
        packet[DESTINATION_LOW] = IPV4_MAPPED | big32(data, ip + 16)
        packet[IP_ID] = big16(data, ip + 4)
        packet[ECN] = byte(data, ip + 1) & 3
        packet[TTL] = byte(data, ip + 8)
        return _decode_tcp(data, tcp, length - _IPV4_BYTES, limit, packet)
    found = find_segment(data, record, limit, packet)
    if found != IS_TCP:
        return found
    return _decode_tcp(data, packet[OPTIONS], packet[PAYLOAD], limit, packet)


@numba_inline
def _decode_tcp(data: Bytes, tcp: int, length: int, limit: int, packet: Ints) -> int:
    """Fill in what the TCP header at `tcp` says, that of a segment of this length with its header."""
    if limit - tcp < _NEEDED_TCP_BYTES:
        return IS_MALFORMED
    header = (byte(data, tcp + 12) >> 4) * 4
    if header < _TCP_BYTES or header > length:
        return IS_MALFORMED
    packet[SOURCE_PORT] = big16(data, tcp)
    packet[DESTINATION_PORT] = big16(data, tcp + 2)
    packet[SEQUENCE] = big32(data, tcp + 4)
    packet[ACKNOWLEDGEMENT] = big32(data, tcp + 8)
    packet[FLAGS] = byte(data, tcp + 13)
    packet[WINDOW] = big16(data, tcp + 14)
    packet[PAYLOAD] = length - header
    packet[OPTIONS] = tcp + _TCP_BYTES
    packet[OPTIONS_END] = max(min(tcp + header, limit), tcp + _TCP_BYTES)
    packet[IS_WHOLE] = 1 if tcp + header <= limit else 0
    return IS_TCP


@numba_inline
def read_options(data: Bytes, packet: Ints, options: Ints) -> None:
    """Fill `options` with the captured TCP options of a packet that `decode_packet` found to be TCP."""
    at, end = packet[OPTIONS], packet[OPTIONS_END]
    options[OPT_TSVAL] = options[OPT_TSECR] = options[OPT_MSS] = options[OPT_WINDOW_SCALE] = ABSENT
    options[OPT_SACK_PERMITTED] = options[OPT_KINDS] = options[OPT_SACK_BLOCKS] = 0
    if end - at >= _TIMESTAMPS_BYTES and big32(data, at) == _NOP_NOP_TIMESTAMPS:
        options[OPT_TSVAL] = big32(data, at + 4)
        options[OPT_TSECR] = big32(data, at + 8)
        options[OPT_KINDS] = _TIMESTAMPS
        at += _TIMESTAMPS_BYTES
    if at < end:
        _read_rest(data, at, end, options)


@numba_function
def _read_rest(data: Bytes, at: int, end: int, options: Ints) -> None:
    shift = 8 if options[OPT_KINDS] else 0
    while at < end:
        kind = byte(data, at)
        if kind == _NOP:
            at += 1
            continue
        # ASSUME: an option of a length that cannot be makes those behind it unreadable, not the packet.
        if kind == _END_OF_LIST or at + 1 >= end or byte(data, at + 1) < 2:
            break
        # The highest byte would make the number negative; no SYN has so many.
        if shift < _KINDS_BITS - 8:
            options[OPT_KINDS] |= kind << shift
            shift += 8
        length = byte(data, at + 1)
        if at + length > end:
            break
        _read_option(data, at, kind, length, options)
        at += length


@numba_function
def _read_option(data: Bytes, at: int, kind: int, length: int, options: Ints) -> None:
    if kind == _TIMESTAMPS and length == 10:
        options[OPT_TSVAL] = big32(data, at + 2)
        options[OPT_TSECR] = big32(data, at + 6)
    elif kind == _MSS and length == 4:
        options[OPT_MSS] = big16(data, at + 2)
    elif kind == _SCALE and length == 3:
        options[OPT_WINDOW_SCALE] = min(byte(data, at + 2), _LARGEST_SCALE)
    elif kind == _SACK_PERMITTED and length == 2:
        options[OPT_SACK_PERMITTED] = 1
    elif kind == _SACK:
        blocks = min((length - 2) // 8, SACK_BLOCKS_LIMIT)
        options[OPT_SACK_BLOCKS] = blocks
        for edge in range(2 * blocks):
            options[OPT_SACK + edge] = big32(data, at + 2 + 4 * edge)
