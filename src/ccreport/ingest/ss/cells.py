"""How the compiled reader of ss writes: values into cells, and notes of what has none."""

import numpy as np

from ccreport.ingest.ss import layout
from ccreport.ingest.ss.layout import Ints, State, numba_function, numba_inline


@numba_inline
def put(cells: Ints, slot: int, row: int, value: int) -> None:
    """Put a value into a cell."""
    cells[np.uintp(slot), np.uintp(row)] = value
    cells[np.uintp(layout.HAS + (slot >> 6)), np.uintp(row)] |= 1 << (slot & 63)


@numba_inline
def take_back(cells: Ints, slot: int, row: int) -> None:
    """Empty a cell whose value cannot be trusted."""
    cells[slot, row] = 0
    cells[layout.HAS + (slot >> 6), row] &= ~(1 << (slot & 63))
    cells[layout.BAD + (slot >> 6), row] |= 1 << (slot & 63)


@numba_function
def add_note(notes: Ints, state: State, kind: int, start: int, end: int) -> int:
    """Add a note and return its number; the row that is being read has room for a limited number of them."""
    number = int(state.notes)
    rest = state.first_note + layout.NOTES_PER_ROW - number
    if rest > 0:
        notes[number, layout.KIND] = kind if rest > 1 else layout.CROWDED
        notes[number, layout.ROW] = state.rows
        notes[number, layout.START] = start
        notes[number, layout.END] = end
        state.notes += 1
    return number


@numba_function
def add_token_note(
    notes: Ints, state: State, kind: int, prefix: tuple[int, int], name: tuple[int, int], value: tuple[int, int]
) -> None:
    """Note a token without a column, with the name of its group (if any), its own and its value."""
    number = add_note(notes, state, kind, name[0], value[1])
    notes[number, layout.PREFIX], notes[number, layout.PREFIX_END] = prefix
    notes[number, layout.KEY_END], notes[number, layout.TEXT] = name[1], value[0]
