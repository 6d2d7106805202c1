"""Sequence numbers of 32 bits, which begin again at 0, as numbers of 64 bits that do not."""

from ccreport.ingest.captures.decode.layout import ABSENT, numba_inline
from ccreport.ingest.captures.follow import state as at


@numba_inline
def difference_of_words(word: int, other: int) -> int:
    """Return a 32-bit word less another, modulo 2³² in -2³¹ … 2³¹-1."""
    difference = (word - other) & at.WORD_MASK
    return difference - at.WORD if difference >= at.WORD >> 1 else difference


@numba_inline
def unwrap(state: at.State, side: int, sequence: int) -> int:
    """Return a sequence number of a direction in 64 bits, nearest to what is known of it."""
    sides = state.sides
    if sides[side, at.HAS_SEQUENCE] != 0:
        reference = sides[side, at.MAX]
    elif sides[side, at.UNA] != ABSENT:
        reference = sides[side, at.UNA]
    else:
        return at.WORD + sequence
    unwrapped: int = reference + difference_of_words(sequence, reference)
    return unwrapped
