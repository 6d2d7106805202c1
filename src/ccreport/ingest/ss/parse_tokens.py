"""The tokens of one socket, their values straight into cells."""

import numpy as np

from ccreport.ingest.ss import layout
from ccreport.ingest.ss.cells import add_note, add_token_note, put, take_back
from ccreport.ingest.ss.layout import Bytes, Ints, State, numba_function, numba_inline
from ccreport.ingest.ss.words import (
    PREFIX_POWERS,
    at,
    begins,
    is_digit,
    is_word_char,
    pack_word,
    scale,
    scan_number,
    skip_blanks,
    skip_token,
    strip_blanks,
)

# More than the kernel's 64 bits hold, and so little that sums and squares of any number of values are finite.
LARGEST_VALUE = 1e21


@numba_inline
def _find_token(tokens: Ints, parent: int, head: int, tail: int, length: int) -> int:
    """Return the line of the token with this name in this group (or ROOT), or ABSENT."""
    mask = len(tokens) - 1
    line = (
        (head * layout.HASH_FACTORS[0] + tail * layout.HASH_FACTORS[1] + parent * layout.HASH_FACTORS[2])
        >> layout.HASH_SHIFT
    ) & mask
    while tokens[line, layout.LENGTH]:
        if (
            tokens[line, layout.HEAD] == head
            and tokens[line, layout.TAIL] == tail
            and tokens[line, layout.LENGTH] == length
            and tokens[line, layout.PARENT] == parent
        ):
            return line
        line = (line + 1) & mask
    return layout.ABSENT


@numba_inline
def _read_number(text: Bytes, pos: int, end: int, unit: int, is_float: int, slot: int, row: int, cells: Ints) -> int:
    """Read a number with its unit into a cell; return where it ends, or ABSENT if it is none or does not fit."""
    mantissa, power, after = scan_number(text, pos, end)
    if after == pos:
        return layout.ABSENT
    if unit == layout.RATE:
        if after < end:
            power += PREFIX_POWERS[at(text, after)]
            after += int(PREFIX_POWERS[at(text, after)] > 0)
        if not begins(text, after, end, b"bps"):
            return layout.ABSENT
        after += 3
    elif unit == layout.MILLISECONDS and begins(text, after, end, b"ms"):
        after += 2
    elif unit == layout.SHARE:
        if not begins(text, after, end, b"%)"):
            return layout.ABSENT
        after += 2
    if is_float:
        value = scale(mantissa, power)
        if not value <= LARGEST_VALUE:
            return layout.ABSENT
        put(cells, slot, row, int(np.float64(value).view(np.int64)))
    elif power == 0:
        put(cells, slot, row, mantissa)
    else:
        return layout.ABSENT
    if after == end:
        cells[layout.LAST_SLOT, row] = slot
    return after


@numba_inline
def _read_value(
    text: Bytes, pos: int, end: int, line: int, is_in_group: bool, tokens: Ints, cells: Ints, row: int
) -> int:
    """Read the one or two numbers of a token into its cells; return where it ends, or ABSENT if it is malformed.

    The second one is in `rtt:0.1/0.2`, `wscale:10,10` and `rwnd_limited:2072ms(68.6%)`, with a blank before the
    parenthesis in copies from PDF.
    """
    slot, unit, is_float = tokens[line, layout.SLOT], tokens[line, layout.UNIT], tokens[line, layout.IS_FLOAT]
    pos = _read_number(text, pos, end, unit, is_float, slot, row, cells)
    second = tokens[line, layout.SECOND_SLOT]
    if second != layout.ABSENT and layout.ABSENT != pos < end:
        number = pos
        if at(text, pos) == layout.SLASH or at(text, pos) == layout.COMMA:
            number = pos + 1
        elif unit == layout.MILLISECONDS:
            share = skip_blanks(text, pos, end)
            if share < end and at(text, share) == layout.OPEN:
                number, unit, is_float = share + 1, layout.SHARE, 1
        if number > pos:
            pos = _read_number(text, number, end, unit, is_float, second, row, cells)
    if pos != layout.ABSENT:
        if is_in_group:
            pos = skip_blanks(text, pos, end)
        # iproute2 4.0 glues the next token: data_segs_in:5dctcp:(…)
        is_over = pos == end or at(text, pos) <= layout.SPACE or begins(text, pos, end, b"dctcp:")
        if is_over or (is_in_group and (at(text, pos) == layout.COMMA or at(text, pos) == layout.CLOSE)):
            return pos
    take_back(cells, slot, row)
    if second != layout.ABSENT:
        take_back(cells, second, row)
    return layout.ABSENT


@numba_function
def _has_pairs(text: Bytes, pos: int, end: int) -> bool:
    """Tell whether what follows an opening parenthesis begins with `NAME:`."""
    while pos < end and is_word_char(at(text, pos)):
        pos += 1
    return pos < end and at(text, pos) == layout.COLON


@numba_inline
def _read_group(
    text: Bytes,
    name: tuple[int, int],
    pos: int,
    end: int,
    group: int,
    tokens: Ints,
    cells: Ints,
    notes: Ints,
    state: State,
) -> int:
    """Read `bw:1bps,mrtt:2)` or `r0,rb131072)` of a group from behind its parenthesis; return where it ends."""
    is_glued = group != layout.NO_GROUP and tokens[group, layout.SHAPE] == layout.GLUED_GROUP
    while True:
        pos = skip_blanks(text, pos, end)
        if pos == end or at(text, pos) == layout.CLOSE:
            return min(pos + 1, end)
        key, head, tail = pos, 0, 0
        while pos < end and is_word_char(at(text, pos)):
            if is_glued and (is_digit(at(text, pos)) or at(text, pos) == layout.MINUS):
                break
            if pos - key < 8:
                head = (head << 8) | at(text, pos)
            else:
                tail = (tail << 8) | at(text, pos)
            pos += 1
        line = layout.ABSENT if group == layout.NO_GROUP else _find_token(tokens, group, head, tail, pos - key)
        key_end = pos
        pos = skip_blanks(text, pos, end)
        if pos < end and at(text, pos) == layout.COLON:
            pos = skip_blanks(text, pos + 1, end)
        value = pos
        if line != layout.ABSENT:
            state.seen[(tokens[line, layout.NUMBER] >> 6)] |= 1 << (tokens[line, layout.NUMBER] & 63)
        is_value = line != layout.ABSENT and tokens[line, layout.SHAPE] == layout.VALUE
        if is_value:
            pos = _read_value(text, value, end, line, True, tokens, cells, state.rows)
        if not is_value or pos == layout.ABSENT:
            pos = value
            while (
                pos < end
                and at(text, pos) != layout.COMMA
                and at(text, pos) != layout.CLOSE
                and at(text, pos) != layout.NEWLINE
            ):
                pos += 1
            if is_value:
                add_note(notes, state, layout.BAD_VALUE, key, pos)
            else:
                kind = layout.UNKNOWN_TOKEN if line == layout.ABSENT else layout.KEPT_TOKEN
                add_token_note(notes, state, kind, name, (key, key_end), (value, strip_blanks(text, value, pos)))
        if pos < end and at(text, pos) == layout.COMMA:
            pos += 1
        elif pos < end and at(text, pos) != layout.CLOSE:
            return pos


@numba_inline
def _read_token(
    text: Bytes,
    name: tuple[int, int],
    end: int,
    line: int,
    tokens: Ints,
    cells: Ints,
    notes: Ints,
    state: State,
) -> int:
    """Read the value of the token with this name (start, end); return where it ends."""
    start, name_end = name
    shape = tokens[line, layout.SHAPE] if line != layout.ABSENT else layout.KEPT
    is_word = name_end == end or at(text, name_end) != layout.COLON
    if shape == layout.FLAG and is_word:
        put(cells, tokens[line, layout.SLOT], state.rows, 1)
        return name_end
    value = name_end if is_word else name_end + 1
    if shape == (layout.BLANK_VALUE if is_word else layout.VALUE):
        value = skip_blanks(text, value, end) if is_word else value
        after = _read_value(text, value, end, line, False, tokens, cells, state.rows)
        if after == layout.ABSENT:
            after = skip_token(text, value, end)
            add_note(notes, state, layout.BAD_VALUE, start, after)
        return after
    opening = end if is_word else skip_blanks(text, value, end)
    if opening < end and at(text, opening) == layout.OPEN:
        is_group = shape in (layout.GROUP, layout.GLUED_GROUP)
        if is_group or (line == layout.ABSENT and _has_pairs(text, opening + 1, end)):
            group = line if is_group else layout.NO_GROUP
            return _read_group(text, name, opening + 1, end, group, tokens, cells, notes, state)
        value = opening
    after = skip_token(text, value, end)
    kind = layout.UNKNOWN_TOKEN if line == layout.ABSENT else layout.KEPT_TOKEN
    add_token_note(notes, state, kind, (start, start), name, (value, after))
    return after


@numba_function
def read_tokens(text: Bytes, pos: int, end: int, tokens: Ints, cells: Ints, notes: Ints, state: State) -> bool:
    """Read all tokens of a record, first those behind the addresses (`timer:(…)`); tell whether any is information."""
    row = state.rows
    can_be_cc = True
    has_info = False
    while True:
        start = pos = skip_blanks(text, pos, end)
        if pos == end:
            return has_info
        head = tail = 0
        while pos < end and at(text, pos) > layout.SPACE and at(text, pos) != layout.COLON:
            if pos - start < 8:
                head = (head << 8) | at(text, pos)
            else:
                tail = (tail << 8) | at(text, pos)
            pos += 1
        line = _find_token(tokens, layout.ROOT, head, tail, pos - start)
        is_word = pos == end or at(text, pos) != layout.COLON
        can_be = can_be_cc and is_word and (line == layout.ABSENT or tokens[line, layout.SHAPE] == layout.GROUP)
        if can_be and pack_word(text, start, pos)[0]:
            # The first other word is the congestion control: `bbr`, with its values later in `bbr:(…)`.
            put(cells, layout.CC_HEAD, row, head)
            cells[layout.CC_TAIL, row] = tail
            cells[layout.LAST_SLOT, row] = layout.CC_HEAD if pos == end else layout.ABSENT
            can_be_cc = False
            continue
        if line != layout.ABSENT:
            state.seen[(tokens[line, layout.NUMBER] >> 6)] |= 1 << (tokens[line, layout.NUMBER] & 63)
            has_info = has_info or tokens[line, layout.IS_INFO] == 1
            can_be_cc = can_be_cc and tokens[line, layout.ENDS_CC] == 0
        pos = _read_token(text, (start, pos), end, line, tokens, cells, notes, state)
