"""What caused a retransmit: an acknowledgement, a tail-loss probe's timer, or a retransmission timeout.

A retransmit after silence of one and a half RTTs is due to a timer: a tail-loss probe (RFC 8985) if it ends the
data sent so far, is the first since the last acknowledgement of new data and came before a retransmission timeout
would have; else the timeout (RFC 6298 with Linux's floor of 200 ms). All further retransmits until what had been
sent then is acknowledged are due to that timeout. The others follow an acknowledgement: fast.
"""

from typing import Final

from ccreport.ingest.captures.decode.layout import ABSENT, IP_ID, OPT_TSVAL, numba_function, numba_inline
from ccreport.ingest.captures.follow import state as at
from ccreport.ingest.captures.follow.rings import cell_of, find_end_above, push

# Linux's smallest retransmission timeout, which is also used for an RTT that is not known.
SMALLEST_TIMEOUT: Final = 200_000_000


@numba_inline
def path_rtt(state: at.State, side: int) -> int:
    """Return the RTT of the whole path as far as it is known, else ABSENT: smoothed, at least the handshake's."""
    links, link = state.links, side >> 1
    rtt = state.sides[side, at.SRTT]
    if links[link, at.HANDSHAKE_TIME] != 0 and links[link, at.SYNS] == 1 and links[link, at.SYN_ACKS] == 1:
        handshake = links[link, at.HANDSHAKE_TIME] - links[link, at.SYN_TIME]
        rtt = max(rtt, handshake) if handshake < at.RTT_LIMIT else rtt
    return rtt if rtt > 0 else ABSENT


@numba_function
def note_retransmit(state: at.State, side: int, sequence: int, end: int, repeated: int, time: int) -> int:
    """Count a retransmit of so many repeated bytes, and return its role by its cause."""
    sides = state.sides
    sides[side, at.RETRANSMITS] += 1
    sides[side, at.RETRANSMITTED_BYTES] += repeated
    sides[side, at.STEP + at.STEP_RETRANSMITS] += 1
    sides[side, at.STEP + at.STEP_RETRANSMITTED] += repeated
    sides[side, at.BARRIER] = sides[side, at.MAX]
    push(state, side, at.REPEATS, at.LARGEST_REPEATS, (sequence, end, time, 0, state.packet[IP_ID], 0))
    _renew(state, side, sequence, time)
    rtt = path_rtt(state, side)
    quiet = time - state.links[side >> 1, at.LAST_TIME]
    # Seen at the receiver, a repair that RACK holds back for a quarter of the RTT comes after 1.25 of them (RFC 8985).
    if quiet > (rtt + (rtt >> 1) if rtt != ABSENT else SMALLEST_TIMEOUT):
        timeout = max(SMALLEST_TIMEOUT, sides[side, at.SRTT] + 4 * sides[side, at.RTTVAR])
        if end == sides[side, at.MAX] and sides[side, at.PROBED] == 0 and rtt != ABSENT and quiet < timeout:
            sides[side, at.PROBED] = 1
            sides[side, at.RETRANSMITS_PROBE] += 1
            return at.PROBE
        sides[side, at.RECOVERY] = sides[side, at.MAX]
        sides[side, at.RETRANSMITS_TIMEOUT] += 1
        return at.TIMEOUT
    if sides[side, at.UNA] < sides[side, at.RECOVERY]:
        sides[side, at.RETRANSMITS_TIMEOUT] += 1
        return at.TIMEOUT
    sides[side, at.RETRANSMITS_FAST] += 1
    return at.FAST


@numba_inline
def _renew(state: at.State, side: int, sequence: int, time: int) -> None:
    """Let what is in flight stand for its latest transmission, whose TSval the receiver will echo."""
    number = find_end_above(state, side, at.IN_FLIGHT, sequence)
    if number < state.sides[side, at.IN_FLIGHT + at.RING_COUNT]:
        cell = cell_of(state, side, at.IN_FLIGHT, number)
        state.cells[cell, at.CELL_TIME] = time
        state.cells[cell, at.CELL_TSVAL] = state.options[OPT_TSVAL]
        state.cells[cell, at.CELL_IP_ID] = state.packet[IP_ID]
