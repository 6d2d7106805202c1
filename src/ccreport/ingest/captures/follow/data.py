"""What a packet with data says of its direction: new data, data sent again, data out of order, and why.

A data packet at or above the highest sequence number is new; what it leaves out below it is a gap. One below is

- a copy, where a packet of the same IP id and range was seen (tcptrace calls it a hardware duplicate);
- a retransmit, where any of its bytes were seen before (tcptrace's definition; tshark's depends on times);
- else it fills a gap: out of order if it was sent before the packet that opened the gap, which its TSval tells,
  else its IP id, else that the gap is younger than the round trip; otherwise a retransmit of what was lost before
  the capture.

What makes a packet a copy is told in `copies`, what caused a retransmit in `retransmit_causes`. Keep-alives and window
probes are neither data nor retransmits; unlike in tshark, a last byte that is not yet acknowledged and comes again is a
retransmit (tcptrace's side: RFC 9293 3.8.4 sends keep-alives on idle connections).
"""

from typing import Final

from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    FIN,
    FLAGS,
    IP_ID,
    OPT_TSVAL,
    PAYLOAD,
    PUSH,
    RST,
    SYN,
    TTL,
    numba_function,
    numba_inline,
)
from ccreport.ingest.captures.follow import state as at
from ccreport.ingest.captures.follow.copies import is_copied_data
from ccreport.ingest.captures.follow.retransmit_causes import note_retransmit, path_rtt
from ccreport.ingest.captures.follow.rings import cell_of, find_end_above, insert_gap, push, remove_gap
from ccreport.ingest.captures.follow.sequence_numbers import difference_of_words

# What tshark takes for reordering where it knows no RTT.
REORDERING_TIME: Final = 3_000_000


@numba_inline
def note_data(state: at.State, side: int, sequence: int, flags: int, time: int) -> int:
    """Note the data of a packet and return its role."""
    sides, packet = state.sides, state.packet
    length = packet[PAYLOAD]
    if length <= 1 and flags & (SYN | FIN | RST) == 0 and sides[side, at.HAS_SEQUENCE] != 0:
        is_copy = length == 1 and sequence < sides[side, at.MAX] and is_copied_data(state, side, sequence, sequence + 1)
        role = at.DATA if is_copy else _find_probe(state, side, sequence, length)
        if role != at.DATA:
            return role
    if length == 0:
        return at.DATA
    end = sequence + length
    if sides[side, at.HAS_SEQUENCE] == 0:
        begin(state, side, sequence, sequence)
    sides[side, at.DATA_PACKETS] += 1
    sides[side, at.PAYLOAD_BYTES] += length
    sides[side, at.STEP + at.STEP_DATA_PACKETS] += 1
    sides[side, at.STEP + at.STEP_PAYLOAD] += length
    if sides[side, at.DATA_FIRST_TIME] == ABSENT:
        sides[side, at.DATA_FIRST_TIME] = time
    if sequence >= sides[side, at.MAX]:
        _note_new(state, side, sequence, end, time)
        role = at.DATA
    else:
        role = _note_below(state, side, sequence, end, time)
    sides[side, at.DATA_TIME] = time
    sides[side, at.DATA_END] = max(sides[side, at.DATA_END], end)
    _note_in_flight(state, side)
    return role


@numba_inline
def begin(state: at.State, side: int, sequence: int, first: int) -> None:
    """Begin a direction at the sequence number of its first packet; its first data byte has the number `first`."""
    sides = state.sides
    sides[side, at.HAS_SEQUENCE] = 1
    sides[side, at.LOW] = first
    sides[side, at.FIRST] = first
    sides[side, at.MAX] = sequence
    sides[side, at.DATA_END] = first


@numba_inline
def _count_sent(state: at.State, side: int) -> int:
    """Return how many data packets were seen, copies not counted."""
    return state.sides[side, at.DATA_PACKETS] - state.sides[side, at.DATA_COPIES]


@numba_inline
def _find_probe(state: at.State, side: int, sequence: int, length: int) -> int:
    sides = state.sides
    highest = sides[side, at.MAX]
    is_below = sequence == highest - 1 and sides[side, at.UNA] >= highest
    if sides[side, at.ZERO_SINCE] != ABSENT and (is_below or (sequence == highest and length == 1)):
        sides[side, at.WINDOW_PROBES] += 1
        sides[side, at.PROBE_END] = sequence + length
        return at.WINDOW_PROBE
    # A single byte with PSH is a message of the application that is sent again.
    if is_below and (length == 0 or state.packet[FLAGS] & PUSH == 0):
        sides[side, at.KEEP_ALIVES] += 1
        return at.KEEP_ALIVE
    return at.DATA


@numba_inline
def _note_new(state: at.State, side: int, sequence: int, end: int, time: int) -> None:
    sides = state.sides
    entry = (sequence, end, time, state.options[OPT_TSVAL], state.packet[IP_ID], _count_sent(state, side))
    if sequence > sides[side, at.MAX]:
        gap = (sides[side, at.MAX], sequence, time, entry[3], entry[4], entry[5])
        push(state, side, at.GAPS, at.LARGEST_GAPS, gap)
    push(state, side, at.IN_FLIGHT, at.LARGEST_RING_ROOM, entry)
    sides[side, at.NEW_DATA_TTL] = state.packet[TTL]
    sides[side, at.UNIQUE_BYTES] += end - sequence
    sides[side, at.STEP + at.STEP_UNIQUE] += end - sequence
    sides[side, at.MAX] = end


@numba_inline
def _note_in_flight(state: at.State, side: int) -> None:
    sides = state.sides
    acknowledged = sides[side, at.UNA] if sides[side, at.UNA] != ABSENT else sides[side, at.LOW]
    in_flight = max(0, sides[side, at.MAX] - acknowledged)
    sides[side, at.IN_FLIGHT_SUM] += in_flight
    sides[side, at.IN_FLIGHT_PACKETS] += 1
    sides[side, at.IN_FLIGHT_MAX] = max(sides[side, at.IN_FLIGHT_MAX], in_flight)
    sides[side, at.STEP + at.STEP_IN_FLIGHT_SUM] += in_flight
    sides[side, at.STEP + at.STEP_IN_FLIGHT_PACKETS] += 1
    sides[side, at.STEP + at.STEP_IN_FLIGHT_MAX] = max(sides[side, at.STEP + at.STEP_IN_FLIGHT_MAX], in_flight)


@numba_function
def _note_below(state: at.State, side: int, sequence: int, end: int, time: int) -> int:
    """Note data that begin below the highest sequence number, and return their role."""
    sides = state.sides
    if is_copied_data(state, side, sequence, end):
        sides[side, at.DUPLICATE_FRAMES] += 1
        sides[side, at.DATA_COPIES] += 1
        return at.DUPLICATE
    if sequence < sides[side, at.LOW]:
        _extend_below(state, side, sequence, time)
    opened = find_end_above(state, side, at.GAPS, sequence)
    is_sent_before, extent = _is_sent_before(state, side, opened, end, time)
    fresh = _fill(state, side, opened, sequence, end)
    if end > sides[side, at.MAX]:
        # Its end is new and cannot be timed: the rest may have been sent before.
        fresh += end - sides[side, at.MAX]
        sides[side, at.MAX] = end
    sides[side, at.UNIQUE_BYTES] += fresh
    sides[side, at.STEP + at.STEP_UNIQUE] += fresh
    length = end - sequence
    if fresh == length and is_sent_before:
        sides[side, at.REORDERED] += 1
        sides[side, at.STEP + at.STEP_REORDERED] += 1
        sides[side, at.REORDERING_EXTENT] = max(sides[side, at.REORDERING_EXTENT], extent)
        push(state, side, at.LATE, at.LARGEST_LATE, (sequence, end, time, ABSENT, state.packet[IP_ID], 0))
        return at.OUT_OF_ORDER
    if fresh < length:
        sides[side, at.RETRANSMITS_SEEN] += 1
    # Of a packet that fills a gap all bytes were sent before, though not seen.
    repeated = length - fresh if fresh < length else length
    return note_retransmit(state, side, sequence, end, repeated, time)


@numba_function
def _extend_below(state: at.State, side: int, sequence: int, time: int) -> None:
    """Make room below the first data seen, where the capture began inside the connection, as one gap."""
    sides = state.sides
    low = sides[side, at.LOW]
    facts = (sequence, low, time, ABSENT, ABSENT, _count_sent(state, side))
    if sides[side, at.GAPS + at.RING_COUNT] == 0:
        push(state, side, at.GAPS, at.LARGEST_GAPS, facts)
    else:
        insert_gap(state, side, 0, sequence, low, cell_of(state, side, at.GAPS, 0))
    sides[side, at.LOW] = sequence


@numba_function
def _is_sent_before(state: at.State, side: int, opened: int, end: int, time: int) -> tuple[bool, int]:
    """Return whether a packet that begins in or below a gap was sent before that gap opened, and what overtook it.

    The second is the number of data packets (RFC 4737 4.2.1, the reordering extent).
    """
    sides = state.sides
    if opened >= sides[side, at.GAPS + at.RING_COUNT]:
        return False, 0
    cells, cell = state.cells, cell_of(state, side, at.GAPS, opened)
    if cells[cell, at.CELL_START] >= end:
        return False, 0
    extent = _count_sent(state, side) - cells[cell, at.CELL_PACKETS]
    tsval, of_gap = state.options[OPT_TSVAL], cells[cell, at.CELL_TSVAL]
    if tsval != ABSENT and of_gap != ABSENT and tsval != of_gap:
        return difference_of_words(tsval, of_gap) < 0, extent
    ip_id, of_gap = state.packet[IP_ID], cells[cell, at.CELL_IP_ID]
    if ip_id > 0 and of_gap > 0 and ip_id != of_gap:
        return (ip_id - of_gap) & 0xFFFF >= 0x8000, extent
    rtt = path_rtt(state, side)
    return time - cells[cell, at.CELL_TIME] < (rtt if rtt != ABSENT else REORDERING_TIME), extent


@numba_function
def _fill(state: at.State, side: int, opened: int, sequence: int, end: int) -> int:
    """Take what a packet holds out of the gaps from number `opened` on, and return how many bytes that are."""
    cells, sides = state.cells, state.sides
    fresh = 0
    number = opened
    while number < sides[side, at.GAPS + at.RING_COUNT]:
        cell = cell_of(state, side, at.GAPS, number)
        start, stop = cells[cell, at.CELL_START], cells[cell, at.CELL_END]
        if start >= end:
            break
        fresh += min(stop, end) - max(start, sequence)
        if sequence <= start and stop <= end:
            remove_gap(state, side, number)
            continue
        if sequence > start and stop > end:
            cells[cell, at.CELL_START] = end
            insert_gap(state, side, number, start, sequence, cell)
            break
        if sequence <= start:
            cells[cell, at.CELL_START] = end
        else:
            cells[cell, at.CELL_END] = sequence
        number += 1
    return fresh


@numba_inline
def note_syn(state: at.State, side: int, sequence: int) -> bool:
    """Note a SYN, and return whether it was sent before."""
    sides = state.sides
    is_again = sides[side, at.HAS_SYN] != 0
    if is_again:
        sides[side, at.CONTROL_RETRANSMITS] += 1
    elif sides[side, at.HAS_SEQUENCE] == 0:
        begin(state, side, sequence + 1, sequence + 1)
    sides[side, at.HAS_SYN] = 1
    return is_again


@numba_inline
def note_fin(state: at.State, side: int, sequence: int, length: int) -> bool:
    """Note a FIN after so many bytes, and return whether it was sent before (without data)."""
    sides = state.sides
    end = sequence + length
    if sides[side, at.HAS_SEQUENCE] == 0:
        begin(state, side, end, end)
    is_again = sides[side, at.HAS_FIN] != 0 and length == 0
    if is_again:
        sides[side, at.CONTROL_RETRANSMITS] += 1
    if end > sides[side, at.MAX]:
        time = state.links[side >> 1, at.FIRST_TIME]
        gap = (sides[side, at.MAX], end, time, ABSENT, ABSENT, _count_sent(state, side))
        push(state, side, at.GAPS, at.LARGEST_GAPS, gap)
        sides[side, at.MAX] = end
    if end == sides[side, at.MAX] and sides[side, at.HAS_FIN] == 0:
        sides[side, at.MAX] = end + 1
    sides[side, at.HAS_FIN] = 1
    return is_again
