"""Which connection a packet belongs to: its 4-tuple, and a SYN that starts another connection of the same 4-tuple.

The end that sent the SYN is the local one; where the capture begins later, the one with the higher port, since servers
listen on lower ones.
"""

from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    ACK,
    DESTINATION_HIGH,
    DESTINATION_LOW,
    DESTINATION_PORT,
    FLAGS,
    SEQUENCE,
    SOURCE_HIGH,
    SOURCE_LOW,
    SOURCE_PORT,
    SYN,
    Ints,
    kernel,
    numba_function,
    numba_inline,
)
from ccreport.ingest.captures.follow import state as at

# Multipliers of a hash that spreads addresses and ports over the slots.
_FACTORS = (0x9E3779B97F4A7C15 - (1 << 64), 0x7F4A7C159E3779B9, 0x632BE59BD9B4E019)
_SHIFT = 29
# What is not known of a new direction.
_UNKNOWN = (
    at.UNA,
    at.WINDOW_RAW,
    at.WINDOW_END,
    at.ZERO_SINCE,
    at.PROBE_END,
    at.DATA_TIME,
    at.DATA_FIRST_TIME,
    at.DATA_ACKED_TIME,
    at.SCALE,
    at.MSS,
    at.ACK_SKETCH,
    at.TIMESTAMP_SKETCH,
    at.LAST_IP_ID,
    at.WINDOW_MIN,
    at.WINDOW_MAX,
    at.ACK_RTT_MIN,
    at.TIMESTAMP_RTT_MIN,
    at.STEP + at.STEP_NUMBER,
    at.STEP + at.STEP_RTT_MIN,
)


@numba_inline
def _is_source_a(packet: Ints) -> bool:
    if packet[SOURCE_LOW] != packet[DESTINATION_LOW]:
        return packet[SOURCE_LOW] < packet[DESTINATION_LOW]
    if packet[SOURCE_HIGH] != packet[DESTINATION_HIGH]:
        return packet[SOURCE_HIGH] < packet[DESTINATION_HIGH]
    return packet[SOURCE_PORT] <= packet[DESTINATION_PORT]


@numba_inline
def _slot_of(low: int, other_low: int, high: int, ports: int, slots: int) -> int:
    mixed = (low ^ (other_low * _FACTORS[0])) * _FACTORS[1] + (ports ^ high) * _FACTORS[2]
    return (mixed ^ (mixed >> _SHIFT)) & (slots - 1)


@numba_inline
def _is_link(state: at.State, link: int, packet: Ints, is_source_a: bool, ports: int) -> bool:
    links = state.links
    if links[link, at.PORTS] != ports:
        return False
    if is_source_a:
        return (
            links[link, at.A_LOW] == packet[SOURCE_LOW]
            and links[link, at.B_LOW] == packet[DESTINATION_LOW]
            and links[link, at.A_HIGH] == packet[SOURCE_HIGH]
            and links[link, at.B_HIGH] == packet[DESTINATION_HIGH]
        )
    return (
        links[link, at.B_LOW] == packet[SOURCE_LOW]
        and links[link, at.A_LOW] == packet[DESTINATION_LOW]
        and links[link, at.B_HIGH] == packet[SOURCE_HIGH]
        and links[link, at.A_HIGH] == packet[DESTINATION_HIGH]
    )


@numba_inline
def find_link(state: at.State, packet: Ints, time: int) -> int:
    """Return the direction (a row of `sides`) that a packet belongs to, of a connection made for it if need be."""
    is_source_a = _is_source_a(packet)
    if is_source_a:
        ports = packet[SOURCE_PORT] << 16 | packet[DESTINATION_PORT]
    else:
        ports = packet[DESTINATION_PORT] << 16 | packet[SOURCE_PORT]
    link = state.totals[at.LAST_LINK]
    if link == ABSENT or not _is_link(state, link, packet, is_source_a, ports):
        link = _look_up(state, packet, is_source_a, ports, time)
        state.totals[at.LAST_LINK] = link
    side = 2 * link + (1 if is_source_a != (state.links[link, at.LOCAL_IS_A] != 0) else 0)
    if packet[FLAGS] & SYN and _starts_another(state, packet, side):
        link = _make_link(state, packet, is_source_a, ports, time)
        state.links[link, at.NUMBER] = state.links[side >> 1, at.NUMBER] + 1
        state.slots[_find_slot(state, packet, is_source_a, ports)] = link
        state.totals[at.LAST_LINK] = link
        side = 2 * link + (1 if is_source_a != (state.links[link, at.LOCAL_IS_A] != 0) else 0)
    return side


@numba_function
def find_known_side(state: at.State, packet: Ints) -> int:
    """Return the direction that a packet belongs to, ABSENT where its connection is not known."""
    is_source_a = _is_source_a(packet)
    if is_source_a:
        ports = packet[SOURCE_PORT] << 16 | packet[DESTINATION_PORT]
    else:
        ports = packet[DESTINATION_PORT] << 16 | packet[SOURCE_PORT]
    link = state.slots[_find_slot(state, packet, is_source_a, ports)]
    if link == ABSENT:
        return ABSENT
    return 2 * link + (1 if is_source_a != (state.links[link, at.LOCAL_IS_A] != 0) else 0)


@numba_inline
def _starts_another(state: at.State, packet: Ints, side: int) -> bool:
    """Return whether a SYN is not the one of the connection that its 4-tuple stands for so far.

    A SYN-ACK never starts one that is known; a SYN does with another sequence number, or after data without a SYN.
    """
    if packet[FLAGS] & ACK or state.sides[side, at.HAS_SEQUENCE] == 0:
        return False
    if state.sides[side, at.HAS_SYN] == 0:
        return True
    return (state.sides[side, at.FIRST] - 1) & at.WORD_MASK != packet[SEQUENCE]


@numba_function
def _find_slot(state: at.State, packet: Ints, is_source_a: bool, ports: int) -> int:
    slots = state.slots
    first, second = packet[SOURCE_LOW], packet[DESTINATION_LOW]
    if not is_source_a:
        first, second = second, first
    slot = _slot_of(first, second, packet[SOURCE_HIGH] ^ packet[DESTINATION_HIGH], ports, slots.shape[0])
    while slots[slot] != ABSENT and not _is_link(state, slots[slot], packet, is_source_a, ports):
        slot = (slot + 1) & (slots.shape[0] - 1)
    return slot


@numba_function
def _look_up(state: at.State, packet: Ints, is_source_a: bool, ports: int, time: int) -> int:
    slot = _find_slot(state, packet, is_source_a, ports)
    if state.slots[slot] == ABSENT:
        state.slots[slot] = _make_link(state, packet, is_source_a, ports, time)
    return state.slots[slot]


@numba_function
def _make_link(state: at.State, packet: Ints, is_source_a: bool, ports: int, time: int) -> int:
    totals, links = state.totals, state.links
    link = totals[at.LINKS_USED]
    totals[at.LINKS_USED] += 1
    links[link, :] = 0
    if is_source_a:
        links[link, at.A_LOW], links[link, at.A_HIGH] = packet[SOURCE_LOW], packet[SOURCE_HIGH]
        links[link, at.B_LOW], links[link, at.B_HIGH] = packet[DESTINATION_LOW], packet[DESTINATION_HIGH]
    else:
        links[link, at.B_LOW], links[link, at.B_HIGH] = packet[SOURCE_LOW], packet[SOURCE_HIGH]
        links[link, at.A_LOW], links[link, at.A_HIGH] = packet[DESTINATION_LOW], packet[DESTINATION_HIGH]
    links[link, at.PORTS] = ports
    if packet[FLAGS] & SYN:
        is_source_local = packet[FLAGS] & ACK == 0
    else:
        # ASSUME: where no SYN is seen, the end with the higher port opened the connection.
        is_source_local = packet[SOURCE_PORT] >= packet[DESTINATION_PORT]
    links[link, at.LOCAL_IS_A] = 1 if is_source_local == is_source_a else 0
    links[link, at.SERIAL] = totals[at.LINKS_MADE]
    links[link, at.FIRST_TIME] = time
    totals[at.LINKS_MADE] += 1
    for number in range(2):
        side = 2 * link + number
        state.sides[side, :] = 0
        for fact in _UNKNOWN:
            state.sides[side, fact] = ABSENT
        state.sides[side, at.STEP + at.STEP_SERIAL] = links[link, at.SERIAL]
        state.sides[side, at.STEP + at.STEP_SIDE] = number
    return link


@kernel
def rebuild_slots(state: at.State) -> None:
    """Enter all connections anew, after some were taken out of `links`; of one 4-tuple the last counts."""
    links, slots = state.links, state.slots
    slots[:] = ABSENT
    state.totals[at.LAST_LINK] = ABSENT
    for link in range(state.totals[at.LINKS_USED]):
        slot = _slot_of(
            links[link, at.A_LOW],
            links[link, at.B_LOW],
            links[link, at.A_HIGH] ^ links[link, at.B_HIGH],
            links[link, at.PORTS],
            slots.shape[0],
        )
        while slots[slot] != ABSENT:
            other = slots[slot]
            if (
                links[other, at.PORTS] == links[link, at.PORTS]
                and links[other, at.A_LOW] == links[link, at.A_LOW]
                and links[other, at.B_LOW] == links[link, at.B_LOW]
                and links[other, at.A_HIGH] == links[link, at.A_HIGH]
                and links[other, at.B_HIGH] == links[link, at.B_HIGH]
            ):
                break
            slot = (slot + 1) & (slots.shape[0] - 1)
        slots[slot] = link
