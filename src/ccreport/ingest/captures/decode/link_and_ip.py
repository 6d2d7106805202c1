"""Headers before that of TCP: the link layer with its tags and labels, and IP with its extension headers.

Link types are the numbers of the LINKTYPE registry; 12 and 14 are raw IP as some BSDs number it. NULL tells IPv4 and
IPv6 apart in the byte order of the machine that captured, and by numbers of its own: the version of the IP header tells
it instead. IP in IP and other tunnels are not opened. Written down in IEEE 802.1Q, RFC 3032, 2516, 791, 4302 and 8200.
"""

from typing import Final

from ccreport.ingest.captures.decode.byte_order import big16, big32, big64, byte, little32
from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    DESTINATION_HIGH,
    DESTINATION_LOW,
    ECN,
    IP_ID,
    IS_FRAGMENT,
    IS_MALFORMED,
    IS_OTHER,
    IS_TCP,
    LINK_TYPE,
    OPTIONS,
    ORIGINAL,
    PAYLOAD,
    SOURCE_HIGH,
    SOURCE_LOW,
    START,
    TTL,
    Bytes,
    Ints,
    numba_function,
)

NULL, ETHERNET, RAW_BSD, RAW_OPENBSD, RAW, LOOP, SLL, IPV4_ONLY, IPV6_ONLY, SLL2 = (
    0, 1, 12, 14, 101, 108, 113, 228, 229, 276,
)  # fmt: skip
TYPE_IPV4: Final = 0x0800
PROTOCOL_TCP: Final = 6
# The upper half of the last 64 bits of an IPv4-mapped address (RFC 4291 2.5.5.2).
IPV4_MAPPED: Final = 0xFFFF << 32
_TYPE_IPV6: Final = 0x86DD
_TYPES_VLAN: Final = (0x8100, 0x88A8, 0x9100, 0x9200)
_TYPES_MPLS: Final = (0x8847, 0x8848)
_TYPE_PPPOE: Final = 0x8864
_PPP_IPV4, _PPP_IPV6 = 0x0021, 0x0057
# Below this, the type field of Ethernet is a length, and what follows is LLC; with this header, a type again (SNAP).
_SMALLEST_TYPE: Final = 0x0600
_SNAP_HIGH, _SNAP_LOW = 0xAAAA, 0x0300
_FAMILY_LIMIT: Final = 255
# ASSUME: no packet has more tags and labels than this, or more extension headers.
_TAGS_LIMIT: Final = 8
_EXTENSIONS_LIMIT: Final = 16
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION = 0, 43, 44, 51, 60
_IPV4_BYTES, _IPV6_BYTES = 20, 40
# MF and the offset, in IPv4 and in the extension header of IPv6.
_IPV4_FRAGMENT, _IPV6_FRAGMENT = 0x3FFF, 0xFFF9
_NO_TYPE, _IS_CUT = -1, -2


@numba_function
def find_segment(data: Bytes, record: Ints, limit: int, packet: Ints) -> int:
    """Return what a packet is, and for IS_TCP fill in addresses, where its TCP header is and how long it is.

    These two are in OPTIONS and PAYLOAD until the TCP header is read. Nothing at or beyond `limit` is read.
    """
    start, original = record[START], record[ORIGINAL]
    kind, at = _read_link(data, record[LINK_TYPE], start, limit)
    tags = 0
    while kind in _TYPES_VLAN and tags < _TAGS_LIMIT:
        tags += 1
        at += 4
        kind = _read_type(data, at - 2, limit)
    if kind < _SMALLEST_TYPE and kind >= 0:
        kind, at = _read_snap(data, at, limit)
    if kind in _TYPES_MPLS:
        kind, at = _read_labels(data, at, limit)
    elif kind == _TYPE_PPPOE:
        at += 8
        protocol = _read_type(data, at - 2, limit)
        kind = _NO_TYPE if protocol >= 0 else protocol
        if protocol == _PPP_IPV4:
            kind = TYPE_IPV4
        elif protocol == _PPP_IPV6:
            kind = _TYPE_IPV6
    if kind == TYPE_IPV4:
        return _read_ipv4(data, at, limit, start + original - at, packet)
    if kind == _TYPE_IPV6:
        return _read_ipv6(data, at, limit, start + original - at, packet)
    return IS_MALFORMED if kind == _IS_CUT else IS_OTHER


@numba_function
def _read_type(data: Bytes, at: int, limit: int) -> int:
    return big16(data, at) if at + 2 <= limit else _IS_CUT


@numba_function
def _read_version(data: Bytes, at: int, limit: int) -> int:
    """Return the type of an IP header by its version, _NO_TYPE for another."""
    if at >= limit:
        return _IS_CUT
    version = byte(data, at) >> 4
    if version == 4:
        return TYPE_IPV4
    return _TYPE_IPV6 if version == 6 else _NO_TYPE


@numba_function
def _read_link(data: Bytes, link_type: int, start: int, limit: int) -> tuple[int, int]:
    """Return the type of what the link layer carries, as Ethernet names it, and where that is."""
    kind, at = _NO_TYPE, start
    if link_type == ETHERNET:
        at = start + 14
        kind = _read_type(data, at - 2, limit)
    elif link_type == SLL:
        at = start + 16
        kind = _read_type(data, at - 2, limit)
    elif link_type == SLL2:
        at = start + 20
        kind = _read_type(data, start, limit)
    elif link_type in (NULL, LOOP):
        at = start + 4
        kind = _IS_CUT
        if at <= limit:
            is_family = min(big32(data, start), little32(data, start)) <= _FAMILY_LIMIT
            kind = _read_version(data, at, limit) if is_family else _NO_TYPE
    elif link_type == IPV4_ONLY:
        kind = TYPE_IPV4
    elif link_type == IPV6_ONLY:
        kind = _TYPE_IPV6
    elif link_type in (RAW, RAW_BSD, RAW_OPENBSD):
        kind = _read_version(data, at, limit)
        # Raw IP is nothing else: the header of another version is damaged, which the reader of IPv4 finds.
        kind = TYPE_IPV4 if kind == _NO_TYPE else kind
    return kind, at


@numba_function
def _read_snap(data: Bytes, at: int, limit: int) -> tuple[int, int]:
    if at + 8 > limit:
        return _NO_TYPE, at
    is_snap = big16(data, at) == _SNAP_HIGH and big32(data, at + 2) == _SNAP_LOW << 16
    return (big16(data, at + 6) if is_snap else _NO_TYPE), at + 8


@numba_function
def _read_labels(data: Bytes, at: int, limit: int) -> tuple[int, int]:
    """Return the type of what follows a stack of MPLS labels, by the version of an IP header, and where it is."""
    for _ in range(_TAGS_LIMIT):
        if at + 4 > limit:
            return _IS_CUT, at
        is_bottom = byte(data, at + 2) & 1
        at += 4
        if is_bottom:
            return _read_version(data, at, limit), at
    return _NO_TYPE, at


@numba_function
def _read_ipv4(data: Bytes, at: int, limit: int, room: int, packet: Ints) -> int:
    """Read the IPv4 header at `at`; `room` is how many bytes the frame had from there on."""
    if at + _IPV4_BYTES > limit:
        return IS_MALFORMED
    header = (byte(data, at) & 15) * 4
    if byte(data, at) >> 4 != 4 or header < _IPV4_BYTES:
        return IS_MALFORMED
    if big16(data, at + 6) & _IPV4_FRAGMENT:
        return IS_FRAGMENT
    length = big16(data, at + 2)
    if length == 0:
        length = room
    packet[SOURCE_HIGH] = packet[DESTINATION_HIGH] = 0
    packet[SOURCE_LOW] = IPV4_MAPPED | big32(data, at + 12)
    packet[DESTINATION_LOW] = IPV4_MAPPED | big32(data, at + 16)
    packet[IP_ID] = big16(data, at + 4)
    packet[ECN] = byte(data, at + 1) & 3
    packet[TTL] = byte(data, at + 8)
    return _skip_extensions(data, at + header, limit, byte(data, at + 9), length - header, packet)


@numba_function
def _read_ipv6(data: Bytes, at: int, limit: int, room: int, packet: Ints) -> int:
    if at + _IPV6_BYTES > limit or byte(data, at) >> 4 != 6:
        return IS_MALFORMED
    length = big16(data, at + 4)
    if length == 0:
        length = room - _IPV6_BYTES
    packet[SOURCE_HIGH], packet[SOURCE_LOW] = big64(data, at + 8), big64(data, at + 16)
    packet[DESTINATION_HIGH], packet[DESTINATION_LOW] = big64(data, at + 24), big64(data, at + 32)
    packet[IP_ID] = ABSENT
    packet[ECN] = byte(data, at + 1) >> 4 & 3
    packet[TTL] = byte(data, at + 7)
    return _skip_extensions(data, at + _IPV6_BYTES, limit, byte(data, at + 6), length, packet)


@numba_function
def _skip_extensions(data: Bytes, at: int, limit: int, protocol: int, length: int, packet: Ints) -> int:
    """Go over the extension headers to that of TCP; IPv4 has of them only that of authentication."""
    is_ipv6 = packet[IP_ID] == ABSENT
    for _ in range(_EXTENSIONS_LIMIT):
        if protocol == PROTOCOL_TCP:
            packet[OPTIONS], packet[PAYLOAD] = at, length
            return IS_TCP
        is_known = protocol in (_HOP_BY_HOP, _ROUTING, _FRAGMENT, _DESTINATION)
        if protocol != _AUTHENTICATION and not (is_known and is_ipv6):
            return IS_OTHER
        if at + 8 > limit:
            return IS_MALFORMED
        size = (byte(data, at + 1) + 1) * 8
        if protocol == _AUTHENTICATION:
            size = (byte(data, at + 1) + 2) * 4
        elif protocol == _FRAGMENT:
            if big16(data, at + 2) & _IPV6_FRAGMENT:
                return IS_FRAGMENT
            size = 8
        protocol = byte(data, at)
        at, length = at + size, length - size
    return IS_OTHER
