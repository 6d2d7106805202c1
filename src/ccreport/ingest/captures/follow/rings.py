"""Rings and gaps of a direction in the common array `cells`, which grow by doubling and never are allocated by numba.

A ring that cannot grow (`cells` is full) loses its oldest row: an RTT sample, a gap or a spurious retransmit is
then not seen, no count is wrong by more.
"""

from ccreport.ingest.captures.decode.layout import ABSENT, numba_function, numba_inline
from ccreport.ingest.captures.follow import state as at


@numba_inline
def cell_of(state: at.State, side: int, ring: int, number: int) -> int:
    """Return the row in `cells` of an entry of a ring, counted from the oldest."""
    sides = state.sides
    mask = sides[side, ring + at.RING_ROOM] - 1
    return sides[side, ring + at.RING_START] + ((sides[side, ring + at.RING_HEAD] + number) & mask)


@numba_inline
def drop_oldest(state: at.State, side: int, ring: int) -> None:
    """Take the oldest entry out of a ring."""
    state.sides[side, ring + at.RING_HEAD] += 1
    state.sides[side, ring + at.RING_COUNT] -= 1


@numba_function
def _size_number(room: int) -> int:
    number = 0
    while at.FIRST_RING_ROOM << number < room:
        number += 1
    return number


@numba_function
def release_ring(state: at.State, side: int, ring: int) -> None:
    """Put the rows of a ring on the list of free ones of its size."""
    room = state.sides[side, ring + at.RING_ROOM]
    if room:
        start = state.sides[side, ring + at.RING_START]
        free = at.FREE_CELLS + _size_number(room)
        state.cells[start, at.CELL_START] = state.totals[free]
        state.totals[free] = start
        state.sides[side, ring + at.RING_ROOM] = 0
        state.sides[side, ring + at.RING_COUNT] = 0


@numba_function
def release_rings(state: at.State, side: int) -> None:
    """Free all rings of a direction."""
    release_ring(state, side, at.IN_FLIGHT)
    release_ring(state, side, at.GAPS)
    release_ring(state, side, at.REPEATS)
    release_ring(state, side, at.LATE)


@numba_function
def grow_ring(state: at.State, side: int, ring: int, largest: int) -> bool:
    """Move a full ring into one of twice its room; return False where there is none."""
    sides, cells, totals = state.sides, state.cells, state.totals
    old_room = sides[side, ring + at.RING_ROOM]
    room = max(at.FIRST_RING_ROOM, 2 * old_room)
    if room > largest:
        return False
    free = at.FREE_CELLS + _size_number(room)
    start = totals[free]
    if start != ABSENT:
        totals[free] = cells[start, at.CELL_START]
    elif totals[at.CELLS_USED] + room <= cells.shape[0]:
        start = totals[at.CELLS_USED]
        totals[at.CELLS_USED] += room
    else:
        return False
    count = sides[side, ring + at.RING_COUNT]
    for number in range(count):
        old = cell_of(state, side, ring, number)
        for fact in range(at.CELL_SIZE):
            cells[start + number, fact] = cells[old, fact]
    release_ring(state, side, ring)
    sides[side, ring + at.RING_START] = start
    sides[side, ring + at.RING_ROOM] = room
    sides[side, ring + at.RING_HEAD] = 0
    sides[side, ring + at.RING_COUNT] = count
    return True


@numba_inline
def has_room(state: at.State, side: int, ring: int, largest: int) -> bool:
    """Return whether a ring has room for one more entry, after making it where that is possible."""
    sides = state.sides
    return sides[side, ring + at.RING_COUNT] < sides[side, ring + at.RING_ROOM] or grow_ring(state, side, ring, largest)


@numba_inline
def push(state: at.State, side: int, ring: int, largest: int, entry: tuple[int, int, int, int, int, int]) -> None:
    """Add an entry (a row of `cells`) to a ring as its newest."""
    sides, cells = state.sides, state.cells
    if not has_room(state, side, ring, largest):
        if sides[side, ring + at.RING_ROOM] == 0:
            return
        drop_oldest(state, side, ring)
    cell = cell_of(state, side, ring, sides[side, ring + at.RING_COUNT])
    cells[cell, at.CELL_START] = entry[0]
    cells[cell, at.CELL_END] = entry[1]
    cells[cell, at.CELL_TIME] = entry[2]
    cells[cell, at.CELL_TSVAL] = entry[3]
    cells[cell, at.CELL_IP_ID] = entry[4]
    cells[cell, at.CELL_PACKETS] = entry[5]
    sides[side, ring + at.RING_COUNT] += 1


@numba_function
def find_end_above(state: at.State, side: int, ring: int, sequence: int) -> int:
    """Return the number of the first entry of a sorted ring that ends above a sequence number, else their count."""
    low, high = 0, state.sides[side, ring + at.RING_COUNT]
    while low < high:
        middle = (low + high) >> 1
        if state.cells[cell_of(state, side, ring, middle), at.CELL_END] > sequence:
            high = middle
        else:
            low = middle + 1
    return low


@numba_function
def remove_gap(state: at.State, side: int, number: int) -> None:
    """Take one gap out of the middle."""
    cells = state.cells
    for later in range(number + 1, state.sides[side, at.GAPS + at.RING_COUNT]):
        target, source = cell_of(state, side, at.GAPS, later - 1), cell_of(state, side, at.GAPS, later)
        for fact in range(at.CELL_SIZE):
            cells[target, fact] = cells[source, fact]
    state.sides[side, at.GAPS + at.RING_COUNT] -= 1


@numba_function
def insert_gap(state: at.State, side: int, number: int, start: int, end: int, like: int) -> None:
    """Put a gap before that of this number, with the facts of the gap in the row `like` of `cells`."""
    cells = state.cells
    # Read first: making room may move the gaps.
    time, tsval = cells[like, at.CELL_TIME], cells[like, at.CELL_TSVAL]
    ip_id, packets = cells[like, at.CELL_IP_ID], cells[like, at.CELL_PACKETS]
    if not has_room(state, side, at.GAPS, at.LARGEST_GAPS):
        return
    count = state.sides[side, at.GAPS + at.RING_COUNT]
    state.sides[side, at.GAPS + at.RING_COUNT] += 1
    for later in range(count, number, -1):
        target, source = cell_of(state, side, at.GAPS, later), cell_of(state, side, at.GAPS, later - 1)
        for fact in range(at.CELL_SIZE):
            cells[target, fact] = cells[source, fact]
    cell = cell_of(state, side, at.GAPS, number)
    cells[cell, at.CELL_START], cells[cell, at.CELL_END] = start, end
    cells[cell, at.CELL_TIME], cells[cell, at.CELL_TSVAL], cells[cell, at.CELL_IP_ID] = time, tsval, ip_id
    cells[cell, at.CELL_PACKETS] = packets


@numba_function
def missing_bytes(state: at.State, side: int) -> int:
    """Return how many bytes of a direction are in its gaps, or were acknowledged beyond all that was seen."""
    missing = 0
    for number in range(state.sides[side, at.GAPS + at.RING_COUNT]):
        cell = cell_of(state, side, at.GAPS, number)
        missing += state.cells[cell, at.CELL_END] - state.cells[cell, at.CELL_START]
    if state.sides[side, at.HAS_SEQUENCE] != 0 and state.sides[side, at.UNA] > state.sides[side, at.MAX]:
        missing += state.sides[side, at.UNA] - state.sides[side, at.MAX]
    return missing
