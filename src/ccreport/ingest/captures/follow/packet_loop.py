"""The compiled loop over the packets of a block: from records to directions, steps of 100 ms and rows."""

from typing import Final

from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    ACK,
    ACKNOWLEDGEMENT,
    CHECKSUM,
    CWR,
    ECE,
    ECN,
    FIN,
    FLAGS,
    FRAME,
    IP_ID,
    IS_FRAGMENT,
    IS_MALFORMED,
    IS_OTHER,
    IS_PACKET,
    NEXT,
    NO_PACKET,
    OPT_KINDS,
    OPT_MSS,
    OPT_SACK_BLOCKS,
    OPT_WINDOW_SCALE,
    ORIGINAL,
    PAYLOAD,
    RIGHT_CHECKSUM,
    RST,
    SEQUENCE,
    SYN,
    TIME,
    WINDOW,
    WRONG_CHECKSUM,
    Bytes,
    Ints,
    kernel,
    numba_inline,
)
from ccreport.ingest.captures.decode.pcap import next_record
from ccreport.ingest.captures.decode.tcp_header import decode_packet, read_options
from ccreport.ingest.captures.follow import state as at
from ccreport.ingest.captures.follow.acks import note_acknowledgement
from ccreport.ingest.captures.follow.checksums import is_damaged, note_checksum
from ccreport.ingest.captures.follow.clocks import compare_clocks
from ccreport.ingest.captures.follow.connections import find_link
from ccreport.ingest.captures.follow.copies import is_copied_control
from ccreport.ingest.captures.follow.data import begin, note_data, note_fin, note_syn
from ccreport.ingest.captures.follow.rings import missing_bytes, release_rings
from ccreport.ingest.captures.follow.sequence_numbers import unwrap

# Why the loop came back, besides the codes of `next_record`: an array is full.
FULL_LINKS, FULL_ROWS = range(100, 102)
# The mark of RFC 3168 for congestion experienced.
_CE: Final = 3


@kernel
def analyse_block(
    state: at.State, data: Bytes, position: int, end: int, file: Ints, interfaces: Ints
) -> tuple[int, int]:
    """Analyse the packets of a block from `position` on; return why that ended, and where."""
    totals, record, packet = state.totals, state.record, state.packet
    while True:
        full = _find_full(state)
        if full:
            return full, position
        code = next_record(data, position, end, file, interfaces, record)
        if code == NO_PACKET:
            position = record[NEXT]
            continue
        if code != IS_PACKET:
            return code, position
        position = record[NEXT]
        totals[at.PACKETS_SEEN] += 1
        totals[at.ALL_BYTES] += record[ORIGINAL]
        time = record[TIME]
        if totals[at.START_TIME] == ABSENT:
            totals[at.START_TIME] = time
        elif time < totals[at.END_TIME]:
            totals[at.TIME_REVERSALS] += 1
        totals[at.END_TIME] = time
        found = decode_packet(data, record, packet)
        if found == IS_OTHER:
            totals[at.OTHER_PACKETS] += 1
        elif found == IS_FRAGMENT:
            totals[at.FRAGMENTS] += 1
        elif found == IS_MALFORMED:
            totals[at.MALFORMED] += 1
        else:
            note_checksum(data, record, packet, file)
            if packet[CHECKSUM] == WRONG_CHECKSUM and is_damaged(state):
                totals[at.MALFORMED] += 1
                totals[at.DAMAGED] += 1
                continue
            totals[at.TCP_PACKETS] += 1
            read_options(data, packet, state.options)
            _analyse_packet(state, time)


@numba_inline
def _find_full(state: at.State) -> int:
    """Return which array has no room for what one packet may add, 0 for none."""
    totals = state.totals
    if totals[at.LINKS_USED] == state.links.shape[0]:
        return FULL_LINKS
    if totals[at.STEPS_USED] + 2 > state.steps.shape[0] or totals[at.ROWS_USED] + 1 > state.rows.shape[0]:
        return FULL_ROWS
    return 0


@numba_inline
def _analyse_packet(state: at.State, time: int) -> None:
    sides, links, packet, options = state.sides, state.links, state.packet, state.options
    flags = packet[FLAGS]
    side = find_link(state, packet, time)
    other, link = side ^ 1, side >> 1
    if state.totals[at.WANTS_ROWS]:
        state.rows[state.totals[at.ROWS_USED], :] = ABSENT
    _enter_step(state, side, time)
    _enter_step(state, other, time)
    compare_clocks(state, side, time)
    _count_frame(state, side)
    sequence = unwrap(state, side, packet[SEQUENCE])
    if (packet[PAYLOAD] == 0 or flags & SYN) and is_copied_control(state, side, sequence, time):
        sides[side, at.DUPLICATE_FRAMES] += 1
        _end_packet(state, side, sequence, ABSENT, at.DUPLICATE, time)
        return
    role = at.PURE_ACK
    if flags & SYN:
        is_again = note_syn(state, side, sequence)
        role = at.CONTROL_AGAIN if is_again else at.CONTROL
        _note_handshake(state, link, flags, time)
        sides[side, at.MSS], sides[side, at.SCALE] = options[OPT_MSS], options[OPT_WINDOW_SCALE]
        sides[side, at.KINDS] = options[OPT_KINDS]
    elif flags & RST:
        role = at.CONTROL
        links[link, at.IS_RESET] = 1
    start = sequence + 1 if flags & SYN else sequence
    of_data = note_data(state, side, start, flags, time)
    if packet[PAYLOAD] > 0 or of_data != at.DATA:
        role = of_data
    if role == at.DUPLICATE:
        # Its original has acknowledged and told already what it does.
        _end_packet(state, side, sequence, ABSENT, role, time)
        return
    _count_marks(state, side, other, flags)
    if flags & FIN:
        is_again = note_fin(state, side, start, packet[PAYLOAD])
        if packet[PAYLOAD] == 0:
            role = at.CONTROL_AGAIN if is_again else at.CONTROL
    elif sides[side, at.HAS_SEQUENCE] == 0 and flags & (SYN | RST) == 0:
        begin(state, side, sequence, sequence)
    acknowledgement = ABSENT
    if flags & ACK:
        acknowledgement = unwrap(state, other, packet[ACKNOWLEDGEMENT])
        is_duplicate = note_acknowledgement(state, other, acknowledgement, time)
        if is_duplicate and role == at.PURE_ACK:
            role = at.DUP_ACK
        if (
            flags & (SYN | RST) == 0
            and side & 1 == 0
            and links[link, at.HANDSHAKE_TIME] == 0
            and links[link, at.SYN_ACKS]
        ):
            links[link, at.HANDSHAKE_TIME] = time
    sides[side, at.STEP + at.STEP_SEQUENCE_END] = sides[side, at.MAX]
    sides[other, at.STEP + at.STEP_ACKED_END] = sides[other, at.UNA]
    sides[other, at.STEP + at.STEP_WINDOW_END] = sides[other, at.WINDOW_END]
    _end_packet(state, side, sequence, acknowledgement, role, time)


@numba_inline
def _end_packet(state: at.State, side: int, sequence: int, acknowledgement: int, role: int, time: int) -> None:
    if state.totals[at.WANTS_ROWS]:
        _add_row(state, side, sequence, acknowledgement, role, time)
    state.links[side >> 1, at.LAST_TIME] = time


@numba_inline
def _count_frame(state: at.State, side: int) -> None:
    sides, packet = state.sides, state.packet
    sides[side, at.FRAMES] += 1
    sides[side, at.FRAMES_BYTES] += packet[FRAME]
    sides[side, at.STEP + at.STEP_FRAMES] += 1
    sides[side, at.CHECKSUMS_RIGHT] += packet[CHECKSUM] == RIGHT_CHECKSUM
    ip_id = packet[IP_ID]
    # Linux answers a SYN with the id 0, and counts from then on.
    if ip_id >= 0 and ip_id != sides[side, at.LAST_IP_ID]:
        sides[side, at.HAS_IP_IDS] = 1 if sides[side, at.LAST_IP_ID] != ABSENT else 0
        sides[side, at.LAST_IP_ID] = ip_id


@numba_inline
def _count_marks(state: at.State, side: int, other: int, flags: int) -> None:
    sides, packet = state.sides, state.packet
    if packet[ECN]:
        sides[side, at.ECT_PACKETS] += 1
        if packet[ECN] == _CE:
            sides[side, at.CE_PACKETS] += 1
            sides[side, at.STEP + at.STEP_CE] += 1
    if flags & (ECE | CWR) and flags & SYN == 0:
        sides[other, at.ECE_PACKETS] += 1 if flags & ECE else 0
        sides[side, at.CWR_PACKETS] += 1 if flags & CWR else 0


@numba_inline
def _note_handshake(state: at.State, link: int, flags: int, time: int) -> None:
    links = state.links
    if flags & ACK == 0:
        links[link, at.SYNS] += 1
        if links[link, at.SYN_TIME] == 0:
            links[link, at.SYN_TIME] = time
    else:
        links[link, at.SYN_ACKS] += 1
        if links[link, at.SYN_ACK_TIME] == 0:
            links[link, at.SYN_ACK_TIME] = time


@numba_inline
def _enter_step(state: at.State, side: int, time: int) -> None:
    """Begin a new step of a direction where its time has come, and put the last one out."""
    sides = state.sides
    number = time // at.STEP_NS
    if number > sides[side, at.STEP + at.STEP_NUMBER]:
        if sides[side, at.STEP + at.STEP_NUMBER] != ABSENT:
            put_step(state, side)
        sides[side, at.STEP + at.STEP_NUMBER] = number


@numba_inline
def put_step(state: at.State, side: int) -> None:
    """Put out the present step of a direction, and begin the next with nothing counted."""
    sides, steps, row = state.sides, state.steps, state.totals[at.STEPS_USED]
    for fact in range(at.STEP_SIZE):
        steps[row, fact] = sides[side, at.STEP + fact]
    for fact in range(at.STEP_COUNTERS[0], at.STEP_COUNTERS[1]):
        sides[side, fact] = 0
    sides[side, at.STEP + at.STEP_RTT_MIN] = ABSENT
    state.totals[at.STEPS_USED] += 1


@numba_inline
def _add_row(state: at.State, side: int, sequence: int, acknowledgement: int, role: int, time: int) -> None:
    rows, sides, packet, totals = state.rows, state.sides, state.packet, state.totals
    row, other, link = totals[at.ROWS_USED], side ^ 1, side >> 1
    rows[row, at.ROW_NUMBER] = totals[at.PACKETS_SEEN]
    rows[row, at.ROW_TIME] = time
    rows[row, at.ROW_SERIAL] = state.links[link, at.SERIAL]
    rows[row, at.ROW_SIDE] = side & 1
    rows[row, at.ROW_FRAME] = packet[FRAME]
    rows[row, at.ROW_SEQUENCE] = sequence
    rows[row, at.ROW_ACKNOWLEDGEMENT] = acknowledgement
    rows[row, at.ROW_PAYLOAD] = packet[PAYLOAD]
    rows[row, at.ROW_FLAGS] = packet[FLAGS]
    rows[row, at.ROW_ROLE] = role
    rows[row, at.ROW_SACKS] = state.options[OPT_SACK_BLOCKS]
    if packet[PAYLOAD] > 0 and sides[side, at.UNA] != ABSENT:
        rows[row, at.ROW_IN_FLIGHT] = max(0, sides[side, at.MAX] - sides[side, at.UNA])
    if packet[FLAGS] & SYN:
        rows[row, at.ROW_WINDOW] = packet[WINDOW]
    elif sides[side, at.HAS_SYN] != 0 and sides[other, at.HAS_SYN] != 0:
        is_scaled = sides[side, at.SCALE] != ABSENT and sides[other, at.SCALE] != ABSENT
        rows[row, at.ROW_WINDOW] = packet[WINDOW] << (sides[side, at.SCALE] if is_scaled else 0)
    totals[at.ROWS_USED] += 1


@kernel
def close_links(state: at.State, first: int, last: int) -> None:
    """Put out the present steps of some connections, and free their rings; there must be room for the steps."""
    for side in range(2 * first, 2 * last):
        if state.sides[side, at.STEP + at.STEP_NUMBER] != ABSENT:
            put_step(state, side)
        state.sides[side, at.MISSING_BYTES] = missing_bytes(state, side)
        release_rings(state, side)
