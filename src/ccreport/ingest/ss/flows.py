"""The flows of one ss file: which row is of which flow and connection, and whether it was cut."""

from typing import Final

import numpy as np

from ccreport.ingest.ss import layout
from ccreport.ingest.ss.cells import take_back
from ccreport.ingest.ss.layout import Bytes, Ints, State, kernel, numba_function, numba_inline
from ccreport.ingest.ss.tokens import COUNTERS, SLOTS, TRAILING
from ccreport.ingest.ss.words import at, begins

# A 32-bit counter that wraps falls from the last quarter of its range into the first.
QUARTER: Final = 2**30
# The first trailing tokens are in every line of a connection once it was established.
ALWAYS_TRAILING: Final = 0b11
FIRST_CAPACITY: Final = 1024
COUNTER_SLOTS: Final = np.array([SLOTS[column] for column in COUNTERS], np.int64)
TRAILING_SLOTS: Final = np.array([SLOTS[column] for column in TRAILING], np.int64)


class FlowTable:
    """Grows with the flows; `texts` has the addresses, `flows` the rest, both one line for each flow.

    `ids` tells which line made which flow identifier.
    """

    def __init__(self) -> None:
        self.texts = np.zeros((FIRST_CAPACITY, layout.ADDRESSES_WIDTH), np.uint8)
        self.flows = np.zeros((FIRST_CAPACITY, layout.FIRST_COUNTER + len(COUNTERS)), np.int64)
        self.probe = np.full(4 * FIRST_CAPACITY, layout.ABSENT, np.int64)
        self.ids: dict[str, int] = {}

    def track(self, text: Bytes, row: int, cells: Ints, notes: Ints, state: State) -> None:
        """Give flow and connection to the rows from this one on, and mark those that are cut or left out."""
        while row < state.rows:
            tables = (self.texts, self.probe, self.flows)
            row = _track_flows(text, row, cells, notes, state, COUNTER_SLOTS, TRAILING_SLOTS, *tables)
            if row < state.rows:
                self._grow(int(state.flows))

    def _grow(self, count: int) -> None:
        self.texts = np.concatenate([self.texts, np.zeros((3 * len(self.texts), layout.ADDRESSES_WIDTH), np.uint8)])
        self.flows = np.concatenate([self.flows, np.zeros((3 * len(self.flows), self.flows.shape[1]), np.int64)])
        self.probe = np.full(4 * len(self.probe), layout.ABSENT, np.int64)
        _place_flows(count, self.probe, self.flows)


@numba_inline
def _find_place(key: int, probe: Ints) -> int:
    return (key ^ (key >> 15)) & (len(probe) - 1)


@kernel
def _place_flows(count: int, probe: Ints, flows: Ints) -> None:
    """Fill an empty hash table `probe` with the first `count` flows."""
    for flow in range(count):
        place = _find_place(flows[flow, layout.KEY], probe)
        while probe[place] != layout.ABSENT:
            place = (place + 1) & (len(probe) - 1)
        probe[place] = flow


@numba_function
def _copy_address(text: Bytes, pos: int, end: int, texts: Bytes, line: int, length: int) -> int:
    """Copy an address to a line of texts from `length` on, without brackets, scope and `::ffff:` before IPv4."""
    start = length
    is_scope = False
    has_point = False
    for place in range(pos, end):
        char = at(text, place)
        is_scope = (is_scope or char == layout.PERCENT) and char != layout.COLON
        if not is_scope and char not in (layout.BRACKET, layout.CLOSING_BRACKET):
            texts[line, length] = char
            length += 1
            has_point = has_point or char == layout.DOT
    if has_point and length - start > 7 and begins(texts[line], start, length, b"::ffff:"):
        for place in range(start + 7, length):
            texts[line, place - 7] = texts[line, place]
        length -= 7
    return length


@numba_function
def _add_flow(text: Bytes, row: int, cells: Ints, state: State, texts: Bytes, probe: Ints, flows: Ints) -> int:
    """Return the number of the flow with the addresses of this row, with an empty history if it is new."""
    new = int(state.flows)
    length = key = 0
    for span in (layout.LOCAL, layout.PEER):
        length = _copy_address(text, cells[span, row], cells[span + 1, row], texts, new, length)
        texts[new, length] = layout.SPACE
        length += 1
    for place in range(length):
        key = (key * 31 + int(texts[new, place])) & 0x7FFFFFFF
    place = _find_place(key, probe)
    while probe[place] != layout.ABSENT:
        known = int(probe[place])
        i = 0
        while i < length and texts[known, i] == texts[new, i]:
            i += 1
        if i == length and flows[known, layout.TEXT_LENGTH] == length:
            return known
        place = (place + 1) & (len(probe) - 1)
    probe[place] = new
    flows[new, :] = layout.ABSENT
    flows[new, layout.TEXT_LENGTH], flows[new, layout.KEY] = length, key
    flows[new, layout.REUSES] = flows[new, layout.TRAILING] = 0
    state.flows += 1
    return new


@numba_function
def _read_trailing(row: int, cells: Ints, trailing: Ints) -> int:
    bits = 0
    for i in range(len(trailing)):
        bits |= ((cells[layout.HAS + (trailing[i] >> 6), row] >> (trailing[i] & 63)) & 1) << i
    return int(bits)


@numba_function
def _is_cut(row: int, flow: int, cells: Ints, state: State, trailing: Ints, flows: Ints) -> bool:
    """Tell whether a record without a newline at its end was cut.

    iproute2 5.3 and 5.4 end the last record of a sample so; all do where they were stopped while writing. Cut are all
    records where this ss closes them with a newline; else those without the trailing tokens that the flow had; else (a
    new flow) those that do not end in one of these.
    """
    if state.closes_records:
        return True
    if flows[flow, layout.LAST_TIME] != layout.ABSENT:
        return bool(flows[flow, layout.TRAILING] & ~_read_trailing(row, cells, trailing) != 0)
    for i in range(len(trailing)):  # noqa: SIM110
        if cells[layout.LAST_SLOT, row] == trailing[i]:
            return False
    return True


@numba_function
def _distrust_end(row: int, note: int, cells: Ints, notes: Ints, state: State) -> None:
    """Forget what touches the end of a cut record: 43 could have been 4321, and `rcv_s` is not a token."""
    cells[layout.IS_PARTIAL, row] = 1
    if cells[layout.LAST_SLOT, row] != layout.ABSENT:
        take_back(cells, cells[layout.LAST_SLOT, row], row)
        if cells[layout.LAST_SLOT, row] == layout.CC_HEAD:
            cells[layout.CC_TAIL, row] = 0
    while note < state.notes and notes[note, layout.ROW] == row:
        if notes[note, layout.END] == cells[layout.OPEN_END, row]:
            notes[note, layout.KIND] = layout.ABSENT
        note += 1


@numba_function
def _number_connection(row: int, flow: int, cells: Ints, counters: Ints, trailing: Ints, flows: Ints) -> None:
    """Count the connections of a flow: a counter that went down is a port used again."""
    is_reused = False
    for i in range(len(counters)):
        before, value = flows[flow, layout.FIRST_COUNTER + i], cells[counters[i], row]
        if value < before and (cells[layout.HAS + (counters[i] >> 6), row] >> (counters[i] & 63)) & 1:
            has_wrapped = 3 * QUARTER <= before < 4 * QUARTER and value < QUARTER
            is_reused = is_reused or not has_wrapped
    if is_reused:
        flows[flow, layout.FIRST_COUNTER :] = layout.ABSENT
        flows[flow, layout.TRAILING] = 0
        flows[flow, layout.REUSES] += 1
    present = _read_trailing(row, cells, trailing)
    if flows[flow, layout.TRAILING] & ~present & ALWAYS_TRAILING:
        cells[layout.IS_PARTIAL, row] = 1
    flows[flow, layout.TRAILING] |= present
    flows[flow, layout.LAST_TIME] = cells[layout.TIME, row]
    for i in range(len(counters)):
        if (cells[layout.HAS + (counters[i] >> 6), row] >> (counters[i] & 63)) & 1:
            flows[flow, layout.FIRST_COUNTER + i] = cells[counters[i], row]
    cells[layout.CONNECTION, row] = flows[flow, layout.REUSES]


@kernel
def _track_flows(
    text: Bytes,
    row: int,
    cells: Ints,
    notes: Ints,
    state: State,
    counters: Ints,
    trailing: Ints,
    texts: Bytes,
    probe: Ints,
    flows: Ints,
) -> int:
    """Give flow and connection to the rows from this one on; return where it stopped, early if there is no room.

    Rows that are not later than the one before them of the same flow are marked to be left out.
    """
    note = 0
    while row < state.rows and state.flows + 1 < len(flows):
        flow = _add_flow(text, row, cells, state, texts, probe, flows)
        cells[layout.FLOW, row] = flow
        while note < state.notes and notes[note, layout.ROW] < row:
            note += 1
        if state.is_timeless and cells[layout.TIME, row] <= flows[flow, layout.LAST_TIME]:
            cells[layout.TIME, row] = flows[flow, layout.LAST_TIME] + 1
        if cells[layout.TIME, row] <= flows[flow, layout.LAST_TIME]:
            cells[layout.IS_LEFT_OUT, row] = 1
        else:
            if cells[layout.OPEN_END, row] != layout.ABSENT and _is_cut(row, flow, cells, state, trailing, flows):
                _distrust_end(row, note, cells, notes, state)
            _number_connection(row, flow, cells, counters, trailing, flows)
        row += 1
    return row
