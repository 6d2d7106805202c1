"""What a packet acknowledges of the other direction: progress, duplicates, selective blocks, windows, round trips.

An RTT by acknowledgement is from the packet that holds the last acknowledged byte; tcptrace and tshark ask for an
acknowledgement that ends with a packet, which merged packets (offloads) seldom get. No sample is taken where that byte
was sent before the latest retransmit (Karn, and tcptrace's rule about what a receiver holds back). An RTT by timestamps
is taken from an acknowledgement of new data only, and from the first packet with the echoed TSval (RFC 7323 4.1). An
RTT of an hour or more, and any between directions with two clocks, is not a sample. Duplicate acknowledgements are
those of RFC 5681, which wants data outstanding; tshark does not.
"""

from ccreport.ingest.captures.decode.layout import (
    ABSENT,
    FIN,
    FLAGS,
    OPT_SACK,
    OPT_SACK_BLOCKS,
    OPT_TSECR,
    PAYLOAD,
    RST,
    SYN,
    WINDOW,
    numba_function,
    numba_inline,
)
from ccreport.ingest.captures.follow import state as at
from ccreport.ingest.captures.follow.rings import cell_of, drop_oldest
from ccreport.ingest.captures.follow.sequence_numbers import unwrap


@numba_inline
def note_acknowledgement(state: at.State, side: int, acknowledgement: int, time: int) -> bool:
    """Note what a packet acknowledges of a direction (not of its own); return whether it is a duplicate.

    The RTT and the blocks are in the last row of `options` and are taken from there for a row of `packets`.
    """
    sides, packet, options = state.sides, state.packet, state.options
    is_control = packet[FLAGS] & (SYN | FIN | RST) != 0
    is_pure = packet[PAYLOAD] == 0 and not is_control
    before = sides[side, at.UNA]
    is_duplicate = (
        is_pure
        and acknowledgement == before
        and packet[WINDOW] == sides[side, at.WINDOW_RAW]
        and packet[WINDOW] != 0
        and sides[side, at.HAS_SEQUENCE] != 0
        and sides[side, at.MAX] > acknowledgement
    )
    if is_pure:
        sides[side, at.ACKS] += 1
    if is_duplicate:
        sides[side, at.DUP_ACKS] += 1
        sides[side, at.STEP + at.STEP_DUP_ACKS] += 1
    if acknowledgement > before:
        _advance(state, side, before, acknowledgement, time)
    if options[OPT_SACK_BLOCKS] > 0:
        _note_blocks(state, side, max(before, acknowledgement))
    if packet[FLAGS] & RST == 0:
        _note_window(state, side, acknowledgement, is_control, time)
    return is_duplicate


@numba_inline
def _advance(state: at.State, side: int, before: int, acknowledgement: int, time: int) -> None:
    sides = state.sides
    sides[side, at.UNA] = acknowledgement
    sides[side, at.PROBED] = 0
    if sides[side, at.HAS_SEQUENCE] == 0 or before == ABSENT:
        _drop_acknowledged(state, side, acknowledgement, time, is_sampled=sides[side, at.HAS_SEQUENCE] != 0)
    else:
        sides[side, at.STEP + at.STEP_ACKED] += acknowledgement - before
        _drop_acknowledged(state, side, acknowledgement, time, is_sampled=True)
    if before < sides[side, at.DATA_END]:
        sides[side, at.DATA_ACKED_TIME] = time
    if (
        acknowledgement > sides[side, at.MAX]
        and sides[side, at.HAS_SEQUENCE] != 0
        and acknowledgement == sides[side, at.PROBE_END]
    ):
        # The byte of a window probe was taken in after all.
        sides[side, at.MAX] = acknowledgement


@numba_inline
def _drop_acknowledged(state: at.State, side: int, acknowledgement: int, time: int, is_sampled: bool) -> None:
    """Take what is acknowledged out of the data in flight, and sample both RTTs."""
    sides, cells = state.sides, state.cells
    sent, by_echo = ABSENT, ABSENT
    echo = state.options[OPT_TSECR]
    while sides[side, at.IN_FLIGHT + at.RING_COUNT] > 0:
        cell = cell_of(state, side, at.IN_FLIGHT, 0)
        if cells[cell, at.CELL_START] >= acknowledgement:
            break
        if by_echo == ABSENT and echo != ABSENT and cells[cell, at.CELL_TSVAL] == echo:
            by_echo = cells[cell, at.CELL_TIME]
        sent = cells[cell, at.CELL_TIME] if cells[cell, at.CELL_START] >= sides[side, at.BARRIER] else ABSENT
        if cells[cell, at.CELL_END] > acknowledgement:
            cells[cell, at.CELL_START] = acknowledgement
            break
        drop_oldest(state, side, at.IN_FLIGHT)
    if not is_sampled or state.links[side >> 1, at.HAS_TWO_CLOCKS] != 0:
        return
    if sent != ABSENT and time >= sent:
        if time - sent < at.RTT_LIMIT:
            _note_ack_rtt(state, side, time - sent)
        else:
            state.totals[at.IMPOSSIBLE_RTTS] += 1
    if by_echo != ABSENT and 0 <= time - by_echo < at.RTT_LIMIT:
        rtt = time - by_echo
        sides[side, at.TIMESTAMP_RTT_SAMPLES] += 1
        if sides[side, at.TIMESTAMP_RTT_MIN] == ABSENT or rtt < sides[side, at.TIMESTAMP_RTT_MIN]:
            sides[side, at.TIMESTAMP_RTT_MIN] = rtt
        _count(state, side, at.TIMESTAMP_SKETCH, rtt)


@numba_inline
def _note_ack_rtt(state: at.State, side: int, rtt: int) -> None:
    sides = state.sides
    sides[side, at.ACK_RTT_SAMPLES] += 1
    if sides[side, at.ACK_RTT_MIN] == ABSENT or rtt < sides[side, at.ACK_RTT_MIN]:
        sides[side, at.ACK_RTT_MIN] = rtt
    _count(state, side, at.ACK_SKETCH, rtt)
    sides[side, at.STEP + at.STEP_RTT_SAMPLES] += 1
    sides[side, at.STEP + at.STEP_RTT_SUM] += rtt
    sides[side, at.STEP + at.STEP_RTT_MAX] = max(sides[side, at.STEP + at.STEP_RTT_MAX], rtt)
    if sides[side, at.STEP + at.STEP_RTT_MIN] == ABSENT or rtt < sides[side, at.STEP + at.STEP_RTT_MIN]:
        sides[side, at.STEP + at.STEP_RTT_MIN] = rtt
    # RFC 6298 2, in integers.
    if sides[side, at.SRTT] == 0:
        sides[side, at.SRTT] = rtt
        sides[side, at.RTTVAR] = rtt >> 1
    else:
        sides[side, at.RTTVAR] += (abs(sides[side, at.SRTT] - rtt) - sides[side, at.RTTVAR]) >> 2
        sides[side, at.SRTT] += (rtt - sides[side, at.SRTT]) >> 3
    if state.rows.shape[0] > 1:
        state.rows[state.totals[at.ROWS_USED], at.ROW_RTT] = rtt


@numba_inline
def bucket_of(rtt: int) -> int:
    """Return the bucket of a time in ns: the octave, then the five bits that follow the highest one."""
    octave = 0
    rest = rtt >> at.SMALLEST_OCTAVE
    for shift in (16, 8, 4, 2, 1):
        if rest >> shift:
            octave += shift
            rest >>= shift
    fraction = (rtt >> (octave + at.SMALLEST_OCTAVE - at.BUCKET_BITS)) & ((1 << at.BUCKET_BITS) - 1)
    bucket = octave << at.BUCKET_BITS | fraction
    return min(bucket, at.BUCKETS - 1) if rtt >> at.SMALLEST_OCTAVE else 0


@numba_inline
def _count(state: at.State, side: int, sketch: int, rtt: int) -> None:
    if state.sides[side, sketch] == ABSENT:
        state.sides[side, sketch] = state.totals[at.SKETCHES_USED]
        state.sketches[state.totals[at.SKETCHES_USED], :] = 0
        state.totals[at.SKETCHES_USED] += 1
    state.sketches[state.sides[side, sketch], bucket_of(rtt)] += 1


@numba_function
def _note_blocks(state: at.State, side: int, acknowledged: int) -> None:
    """Note the blocks of selective acknowledgements; the first is a D-SACK if RFC 2883 4 says so."""
    sides, options = state.sides, state.options
    count = options[OPT_SACK_BLOCKS]
    first = ABSENT
    for number in range(count):
        left = unwrap(state, side, options[OPT_SACK + 2 * number])
        right = unwrap(state, side, options[OPT_SACK + 2 * number + 1])
        is_dsack = False
        if number == 0:
            is_dsack = right <= acknowledged
            if count > 1 and not is_dsack:
                outer_left = unwrap(state, side, options[OPT_SACK + 2])
                outer_right = unwrap(state, side, options[OPT_SACK + 3])
                is_dsack = outer_left <= left and right <= outer_right
        if is_dsack:
            sides[side, at.DSACK_BLOCKS] += 1
            sides[side, at.STEP + at.STEP_DSACKS] += 1
            _note_spurious(state, side, left, right)
        else:
            sides[side, at.SACK_BLOCKS] += 1
            sides[side, at.STEP + at.STEP_SACKS] += 1
            if first == ABSENT:
                first = number
                if state.rows.shape[0] > 1:
                    row = state.totals[at.ROWS_USED]
                    state.rows[row, at.ROW_SACK_START], state.rows[row, at.ROW_SACK_END] = left, right


@numba_function
def _note_spurious(state: at.State, side: int, left: int, right: int) -> None:
    """Mark the latest retransmit in the range of a D-SACK as spurious, once."""
    cells, sides = state.cells, state.sides
    for number in range(sides[side, at.REPEATS + at.RING_COUNT] - 1, -1, -1):
        cell = cell_of(state, side, at.REPEATS, number)
        if cells[cell, at.CELL_START] < right and left < cells[cell, at.CELL_END] and cells[cell, at.CELL_PACKETS] == 0:
            cells[cell, at.CELL_PACKETS] = 1
            sides[side, at.RETRANSMITS_SPURIOUS] += 1
            return


@numba_inline
def _note_window(state: at.State, side: int, acknowledgement: int, is_control: bool, time: int) -> None:
    sides, window = state.sides, state.packet[WINDOW]
    if state.packet[FLAGS] & SYN:
        return
    sides[side, at.WINDOW_RAW] = window
    other = side ^ 1
    if sides[side, at.HAS_SYN] != 0 and sides[other, at.HAS_SYN] != 0:
        # Scaled only if both ends said so (RFC 7323 2.2).
        if sides[side, at.SCALE] != ABSENT and sides[other, at.SCALE] != ABSENT:
            window = window << sides[other, at.SCALE]
        sides[side, at.WINDOW_END] = max(sides[side, at.WINDOW_END], acknowledgement + window)
        sides[side, at.WINDOW_MAX] = max(sides[side, at.WINDOW_MAX], window)
        if sides[side, at.WINDOW_MIN] == ABSENT or window < sides[side, at.WINDOW_MIN]:
            sides[side, at.WINDOW_MIN] = window
    if window == 0 and not is_control:
        sides[side, at.ZERO_WINDOWS] += 1
        sides[side, at.STEP + at.STEP_ZERO_WINDOWS] += 1
        if sides[side, at.ZERO_SINCE] == ABSENT:
            sides[side, at.ZERO_SINCE] = time
    elif window > 0 and sides[side, at.ZERO_SINCE] != ABSENT:
        sides[side, at.STALLED] += max(0, time - sides[side, at.ZERO_SINCE])
        sides[side, at.ZERO_SINCE] = ABSENT
