"""TCP checksums of segments that were captured whole: what fails them reached no receiver, and counts nothing.

A capture on the sender sees segments before the network card has filled in the checksum: the field holds the sum of the
pseudo-header, 0, or what was there. So a segment is damaged only if the sum is neither, the segment is none that the
card merges or splits, and its direction has right checksums too. Written down in RFC 9293 3.1 and RFC 1071.
"""

from typing import Final

from ccreport.ingest.captures.decode.byte_order import big16, byte, little32
from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    CAPTURED,
    CHECKSUM,
    DESTINATION_HIGH,
    DESTINATION_LOW,
    OPTIONS,
    ORIGINAL,
    PAYLOAD,
    RIGHT_CHECKSUM,
    SNAP_LENGTH,
    SOURCE_HIGH,
    SOURCE_LOW,
    START,
    UNKNOWN_CHECKSUM,
    WRONG_CHECKSUM,
    Bytes,
    Ints,
    numba_function,
    numba_inline,
)
from ccreport.ingest.captures.follow import state as at
from ccreport.ingest.captures.follow.connections import find_known_side

_TCP_BYTES, _CHECKSUM_AT = 20, 16
_PROTOCOL_TCP: Final = 6
_WORD_MASK: Final = 0xFFFF
# A capture with a smaller snap length holds no whole segment with data, and no other is worth the time.
_WHOLE_BYTES: Final = 1500
# ASSUME: where the receiver's MSS is not known, a longer segment is one that a card merges or splits.
_USUAL_MSS: Final = 1460
# A direction with more wrong ones for each right one has a card that leaves something else in the field.
_MOST_WRONG: Final = 4


@numba_inline
def note_checksum(data: Bytes, record: Ints, packet: Ints, file: Ints) -> None:
    """Note in `packet` what the checksum of a segment is."""
    packet[CHECKSUM] = UNKNOWN_CHECKSUM
    is_whole = record[CAPTURED] == record[ORIGINAL]
    if is_whole and (file[SNAP_LENGTH] <= 0 or file[SNAP_LENGTH] >= _WHOLE_BYTES):
        packet[CHECKSUM] = _compare(data, packet, record[START] + record[CAPTURED])


@numba_function
def _compare(data: Bytes, packet: Ints, limit: int) -> int:
    tcp = packet[OPTIONS] - _TCP_BYTES
    length = packet[PAYLOAD] + (byte(data, tcp + 12) >> 4) * 4
    if tcp + length > limit:
        return UNKNOWN_CHECKSUM
    written = big16(data, tcp + _CHECKSUM_AT)
    pseudo = _PROTOCOL_TCP
    for word in (packet[SOURCE_HIGH], packet[SOURCE_LOW], packet[DESTINATION_HIGH], packet[DESTINATION_LOW]):
        for shift in (0, 16, 32, 48):
            pseudo += (word >> shift) & _WORD_MASK
    if written in (0, _fold(pseudo), _fold(pseudo + length)):
        return UNKNOWN_CHECKSUM
    is_right = _fold(pseudo + length + _sum_words(data, tcp, length)) == _WORD_MASK
    return RIGHT_CHECKSUM if is_right else WRONG_CHECKSUM


@numba_inline
def _sum_words(data: Bytes, start: int, length: int) -> int:
    """Return the sum of the 16-bit words of these bytes modulo 2^16 - 1, which is that of words of any order."""
    total = 0
    whole = length >> 2 << 2
    for at_byte in range(start, start + whole, 4):
        total += little32(data, at_byte)
    for place in range(whole, length):
        total += byte(data, start + place) << (8 * (place & 1))
    folded = _fold(total)
    return (folded & 0xFF) << 8 | folded >> 8


@numba_inline
def _fold(total: int) -> int:
    """Return a sum of words with its carries added in, as 16 bits."""
    while total > _WORD_MASK:
        total = (total & _WORD_MASK) + (total >> 16)
    return total


@numba_function
def is_damaged(state: at.State) -> bool:
    """Return whether a segment with a wrong checksum is one that was damaged on its way."""
    sides = state.sides
    side = find_known_side(state, state.packet)
    if side == ABSENT:
        return False
    sides[side, at.CHECKSUMS_WRONG] += 1
    mss = sides[side ^ 1, at.MSS]
    is_single = state.packet[PAYLOAD] <= (mss if mss > 0 else _USUAL_MSS)
    wrong, right = sides[side, at.CHECKSUMS_WRONG], sides[side, at.CHECKSUMS_RIGHT]
    return bool(is_single and wrong <= _MOST_WRONG * right)
