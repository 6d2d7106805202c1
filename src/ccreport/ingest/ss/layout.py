"""What the compiled parts of the ss reader share: the layout of the arrays they work on, and how they are compiled.

Arrays instead of objects, because numba passes those at no cost. `state` is what is known of the file, `cells` are the
rows, `notes` what has no cell, `tokens` the declared tokens (made by `tokens`).
"""

from pathlib import Path
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from ccreport.ingest.compiled import kernel_of, numba_function, numba_inline

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
__all__ = ["kernel", "numba_function", "numba_inline"]

# The token table is a hash table; a line with LENGTH 0 is not used. A name is two words of up to 8 characters.
HEAD, TAIL, LENGTH, PARENT, NUMBER, SHAPE, UNIT, SLOT, SECOND_SLOT, IS_FLOAT, IS_INFO, ENDS_CC, TOKEN_FACTS = range(13)
# How a token is written: `sack`, `mss:1448`, `send 1bps`, `bbr:(bw:1bps)`, `skmem:(r0)`, or in any way (kept whole).
FLAG, VALUE, BLANK_VALUE, GROUP, GLUED_GROUP, KEPT = range(6)
# What follows the number: nothing, `ms` (or nothing), `bps` with a decimal prefix, `%)`.
PLAIN, MILLISECONDS, RATE, SHARE = range(4)
# Cells: one line for each quantity, one column for each row. HAS has two lines of bits, one for each slot with a value;
# BAD too, for those whose value could not be read.
TIME, FLOW, CONNECTION, STATE_HEAD, STATE_TAIL, CC_HEAD, CC_TAIL, IS_PARTIAL, IS_LEFT_OUT, RECV_Q, SEND_Q = range(11)
HAS, BAD, LOCAL, LOCAL_END, PEER, PEER_END, OPEN_END, LAST_SLOT, FIRST_SLOT = 11, 13, 15, 16, 17, 18, 19, 20, 21
# Notes are stamps, tokens without a column and problems; of a token the name ends at KEY_END, its value begins at TEXT,
# where a stamp has its time.
KIND, ROW, START, END, PREFIX, PREFIX_END, KEY_END, TEXT, NOTE_FACTS = range(9)
STAMP, KEPT_TOKEN, UNKNOWN_TOKEN, BAD_VALUE, CROWDED, BAD_STAMP, BAD_LINE, NO_TIME, DOUBLED, CUT = range(10)
# Flows: one line each, the counters last.
TEXT_LENGTH, KEY, LAST_TIME, REUSES, TRAILING, FIRST_COUNTER = range(6)
# What a line is: none, one that cannot be read, one without samples (LISTEN, UDP, …), a TCP connection.
NO_SOCKET, UNREADABLE_SOCKET, IDLE_SOCKET, CONNECTED_SOCKET = range(4)
NO_PORT, ANY_PORT, ONE_PORT = range(3)

ABSENT: Final = -1
ROOT: Final = -1
NO_GROUP: Final = -2
NOTES_PER_ROW: Final = 1000
# Both addresses, a blank after each.
ADDRESSES_WIDTH: Final = 128
HASH_FACTORS: Final = (0x9E3779B1, 0x85EBCA77, 0x27D4EB2F)
HASH_SHIFT: Final = 33
NEWLINE, SPACE, HASH, PERCENT, OPEN, CLOSE, STAR, PLUS, COMMA, MINUS, DOT, SLASH, COLON, LINE = b"\n #%()*+,-./:_"
BRACKET, CLOSING_BRACKET = b"[]"


class State(Protocol):
    """What is known of the file: a record of NumPy's, which numba passes at no cost either.

    `closes_records`: this ss ends the last record before a stamp with a newline. `is_timeless`: there are no stamps,
    and the samples of a flow are counted instead. `seen` has a bit for each declared token, in words of 64.
    """

    now: int
    stamps: int
    line_break: int
    rows: int
    notes: int
    first_note: int
    last_is_record: int
    closes_records: int
    flows: int
    is_timeless: int
    seen: Ints


STATE: Final = np.dtype([(name, np.int64, 2 if name == "seen" else ()) for name in State.__annotations__])


def make_state(rows: int) -> State:
    """Return the state of a file that is read from its beginning, into rows from this one on."""
    state: State = np.zeros(1, STATE).view(np.recarray)[0]
    state.now, state.rows = ABSENT, rows
    return state


kernel = kernel_of(
    "ss",
    [
        Path(__file__).with_name(f"{name}.py")
        for name in ("layout", "words", "cells", "parse_tokens", "parse_sockets", "flows")
    ],
)
