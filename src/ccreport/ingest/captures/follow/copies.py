"""Which packets are copies: a monitor port, a bridge or the network made two to four of one that was sent once.

A copy has the IP id of its original and the same bytes; a host that sends them again gives them a new id. Where ids say
nothing (one for all packets, 0, none in IPv6) a TTL of one less tells a copy that passed a router between two points of
the capture. A SYN, whose id Linux sets to 0 in answers, is a copy if it comes sooner than any timer sends it again.
"""

from typing import Final

from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    ACKNOWLEDGEMENT,
    FIN,
    FLAGS,
    IP_ID,
    RST,
    SYN,
    TTL,
    numba_function,
    numba_inline,
)
from ccreport.ingest.captures.follow import state as at
from ccreport.ingest.captures.follow.rings import cell_of, find_end_above
from ccreport.ingest.captures.follow.sequence_numbers import unwrap

# RFC 6298 2.1 waits 1 s for the answer to a SYN, and no system less than this.
SYN_AGAIN: Final = 200_000_000
_ID_MASK: Final = 0xFFFF


@numba_inline
def _has_id(state: at.State, side: int) -> bool:
    # Some hosts, and makers of captures, send one id with all packets: there it says nothing.
    return bool(state.packet[IP_ID] > 0 and state.sides[side, at.HAS_IP_IDS] != 0)


@numba_inline
def is_copied_control(state: at.State, side: int, sequence: int, time: int) -> bool:
    """Return whether a packet with SYN or without data is a copy; what later ones are compared with is noted."""
    flags = state.packet[FLAGS]
    if flags & SYN:
        return _is_copied_syn(state, side, sequence, time)
    if flags & FIN:
        return _is_copied_fin(state, side)
    return flags & RST == 0 and _is_copied_acknowledgement(state, side)


@numba_function
def _is_copied_syn(state: at.State, side: int, sequence: int, time: int) -> bool:
    sides, packet = state.sides, state.packet
    if sides[side, at.HAS_SYN] != 0 and sequence == sides[side, at.FIRST] - 1:
        since = time - sides[side, at.SYN_SENT_TIME]
        ip_id, of_last = packet[IP_ID], sides[side, at.SYN_IP_ID]
        if 0 <= since < SYN_AGAIN and (ip_id == of_last or ip_id <= 0 or of_last <= 0):
            _note_router(state, side, sides[side, at.SYN_TTL])
            return True
    sides[side, at.SYN_SENT_TIME], sides[side, at.SYN_IP_ID] = time, packet[IP_ID]
    sides[side, at.SYN_TTL] = packet[TTL]
    return False


@numba_inline
def _note_router(state: at.State, side: int, ttl: int) -> None:
    """Note that a copy of a packet with this TTL was captured behind a router, if it was."""
    if state.packet[TTL] == ttl - 1:
        state.links[side >> 1, at.IS_ROUTED] = 1


@numba_function
def _is_copied_fin(state: at.State, side: int) -> bool:
    sides, packet = state.sides, state.packet
    if sides[side, at.HAS_FIN] != 0:
        is_copy = packet[IP_ID] == sides[side, at.FIN_IP_ID]
        if not _has_id(state, side):
            is_copy = _is_behind_router(state, side, sides[side, at.FIN_TTL])
        if is_copy:
            return True
    sides[side, at.FIN_IP_ID], sides[side, at.FIN_TTL] = packet[IP_ID], packet[TTL]
    return False


@numba_inline
def _is_behind_router(state: at.State, side: int, ttl: int) -> bool:
    # A path that becomes longer looks the same, and its packets are not copies.
    return bool(state.links[side >> 1, at.IS_ROUTED] != 0 and state.packet[TTL] == ttl - 1)


@numba_inline
def _is_copied_acknowledgement(state: at.State, side: int) -> bool:
    sides, packet = state.sides, state.packet
    ids, older, ip_id = sides[side, at.ACK_IP_IDS], sides[side, at.OLDER_ACK_IP_IDS], packet[IP_ID]
    if _has_id(state, side):
        is_again = False
        for shift in (0, 16, 32, 48):
            is_again = is_again or (ids >> shift) & _ID_MASK == ip_id or (older >> shift) & _ID_MASK == ip_id
    else:
        is_again = _is_behind_router(state, side, sides[side, at.ACK_TTL])
    if is_again and _acknowledges_nothing(state, side ^ 1):
        return True
    if ip_id > 0:
        sides[side, at.OLDER_ACK_IP_IDS] = older << 16 | (ids >> 48) & _ID_MASK
        sides[side, at.ACK_IP_IDS] = ids << 16 | ip_id
    sides[side, at.ACK_TTL] = packet[TTL]
    return False


@numba_function
def _acknowledges_nothing(state: at.State, side: int) -> bool:
    acknowledged = state.sides[side, at.UNA]
    return bool(acknowledged != ABSENT and unwrap(state, side, state.packet[ACKNOWLEDGEMENT]) <= acknowledged)


@numba_function
def is_copied_data(state: at.State, side: int, sequence: int, end: int) -> bool:
    """Return whether a packet with data below the highest sequence number is a copy of one that was seen."""
    sides, packet = state.sides, state.packet
    has_id = _has_id(state, side)
    if not has_id and not _is_behind_router(state, side, sides[side, at.NEW_DATA_TTL]):
        return False
    ip_id = packet[IP_ID] if has_id else ABSENT
    number = find_end_above(state, side, at.IN_FLIGHT, sequence)
    is_in_flight = number < sides[side, at.IN_FLIGHT + at.RING_COUNT]
    return (
        (is_in_flight and _is_same(state, cell_of(state, side, at.IN_FLIGHT, number), sequence, end, ip_id))
        or _was_acknowledged(state, side, sequence, end, ip_id)
        or _is_in_ring(state, side, at.REPEATS, sequence, end, ip_id)
        or _is_in_ring(state, side, at.LATE, sequence, end, ip_id)
    )


@numba_inline
def _is_same(state: at.State, cell: int, sequence: int, end: int, ip_id: int) -> bool:
    """Return whether an entry is of these bytes, of which the first may be acknowledged, and of this id if any."""
    cells = state.cells
    is_same_packet = ip_id == ABSENT or cells[cell, at.CELL_IP_ID] == ip_id
    return cells[cell, at.CELL_END] == end and cells[cell, at.CELL_START] >= sequence and is_same_packet


@numba_function
def _was_acknowledged(state: at.State, side: int, sequence: int, end: int, ip_id: int) -> bool:
    """Look among the data that left the ring of those in flight, as far back as nothing else took their rows."""
    sides, ring = state.sides, at.IN_FLIGHT
    kept = min(sides[side, ring + at.RING_HEAD], sides[side, ring + at.RING_ROOM] - sides[side, ring + at.RING_COUNT])
    low, high = 1, kept + 1
    while low < high:
        middle = (low + high) >> 1
        if state.cells[cell_of(state, side, ring, -middle), at.CELL_END] > end:
            low = middle + 1
        else:
            high = middle
    return low <= kept and _is_same(state, cell_of(state, side, ring, -low), sequence, end, ip_id)


@numba_function
def _is_in_ring(state: at.State, side: int, ring: int, sequence: int, end: int, ip_id: int) -> bool:
    for number in range(state.sides[side, ring + at.RING_COUNT] - 1, -1, -1):
        cell = cell_of(state, side, ring, number)
        if state.cells[cell, at.CELL_START] == sequence and _is_same(state, cell, sequence, end, ip_id):
            return True
    return False
