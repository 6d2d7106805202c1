"""The compiled walk over the text of ss, in one pass: stamps, sockets, and what belongs to each (grammar in `reader`).

It raises nothing, allocates nothing, reads only `text[:end]` and writes only where there is room; the caller makes room
and calls again until the text is used up.
"""

from ccreport.ingest.ss import layout
from ccreport.ingest.ss.cells import add_note, put
from ccreport.ingest.ss.layout import Bytes, Ints, State, kernel, numba_function, numba_inline
from ccreport.ingest.ss.parse_tokens import read_tokens
from ccreport.ingest.ss.words import at, begins, is_digit, pack_word, read_count, skip_blanks, skip_name, skip_word

# What a line is, and of a socket: state (start, end), queues, local and peer address (start, end each).
Socket = tuple[int, int, int, int, int, int, int, int, int]


@numba_function
def _contains(text: Bytes, start: int, end: int, what: bytes) -> bool:
    for pos in range(start, end):  # noqa: SIM110 (numba compiles loops, not generators)
        if begins(text, pos, end, what):
            return True
    return False


@numba_inline
def _is_stamp(text: Bytes, pos: int, end: int) -> bool:
    """Tell whether `# `, 9 or 10 digits, a point and a digit are here."""
    if pos + 12 >= end or at(text, pos + 1) != layout.SPACE:
        return False
    pos += 2
    start = pos
    while pos + 1 < end and pos - start < 11 and is_digit(at(text, pos)):
        pos += 1
    return 9 <= pos - start <= 10 and at(text, pos) == layout.DOT and pos + 1 < end and is_digit(at(text, pos + 1))


@numba_function
def _find_line_end(text: Bytes, pos: int, end: int, breaks: Ints, state: State) -> int:
    """Return where the line ends: at a newline, at a stamp that is glued to it, or at `end`."""
    number = state.line_break
    while number < len(breaks) and breaks[number] < pos:
        number += 1
    while number < len(breaks) and breaks[number] < end:
        stop = int(breaks[number])
        if at(text, stop) == layout.NEWLINE or _is_stamp(text, stop, end):
            state.line_break = number
            return stop
        number += 1
    return end


@numba_function
def _read_stamp(text: Bytes, pos: int, end: int) -> int:
    """Return the time of a line `# 1795211351.663251` in µs, or ABSENT."""
    start = pos = skip_blanks(text, pos + 1, end)
    micros = 0
    while pos < end and pos - start < 11 and is_digit(at(text, pos)):
        micros = micros * 10 + at(text, pos) - 48
        pos += 1
    if not 9 <= pos - start <= 10:
        return layout.ABSENT
    decimals = 0
    if pos < end and at(text, pos) == layout.DOT:
        pos += 1
        while pos < end and is_digit(at(text, pos)):
            if decimals < 6:
                micros = micros * 10 + at(text, pos) - 48
            elif decimals == 6 and at(text, pos) >= 53:
                micros += 1
            decimals += 1
            pos += 1
    while decimals < 6:
        micros *= 10
        decimals += 1
    return micros if pos == end or at(text, pos) <= layout.SPACE else layout.ABSENT


@numba_inline
def _read_port(text: Bytes, start: int, end: int) -> int:
    """Tell whether an address ends in a port: a number, a name (without `ss -n`), or `*` for any."""
    port = end
    while port > start and at(text, port - 1) != layout.COLON:
        port -= 1
    if port <= start + 1 or port == end:
        return layout.NO_PORT
    if at(text, port) == layout.STAR:
        return layout.ANY_PORT
    if at(text, port) >= 97:
        return layout.ONE_PORT
    return layout.ONE_PORT if 0 <= read_count(text, port, end) <= 65535 else layout.NO_PORT


@numba_function
def _is_idle(text: Bytes, start: int, end: int) -> bool:
    return (
        begins(text, start, end, b"LISTEN")
        or begins(text, start, end, b"TIME-WAIT")
        or begins(text, start, end, b"UNCONN")
    )


@numba_function
def _read_socket(text: Bytes, pos: int, end: int) -> Socket:
    """Return what a line is and, of a socket, state (start, end), queues and addresses (start, end each).

    Before the queues are up to two words: the kind of socket in small letters, the state in capitals.
    """
    words = state = state_end = 0
    is_tcp = True
    recv_q = send_q = layout.ABSENT
    while send_q == layout.ABSENT:
        pos = skip_blanks(text, pos, end)
        word_end = skip_name(text, pos, end)
        number = read_count(text, pos, word_end)
        if number != layout.ABSENT:
            recv_q, send_q = (number, layout.ABSENT) if recv_q == layout.ABSENT else (recv_q, number)
        elif recv_q != layout.ABSENT or words == 2 or pack_word(text, pos, word_end)[0] == 0:
            return layout.NO_SOCKET, 0, 0, 0, 0, 0, 0, 0, 0
        else:
            words += 1
            if at(text, pos) >= 97:
                is_tcp = word_end - pos == 3 and begins(text, pos, word_end, b"tcp")
            else:
                state, state_end = pos, word_end
        pos = word_end
    local = skip_blanks(text, pos, end)
    local_end = skip_word(text, local, end)
    peer = skip_blanks(text, local_end, end)
    peer_end = skip_word(text, peer, end)
    ports = min(_read_port(text, local, local_end), _read_port(text, peer, peer_end))
    kind = layout.CONNECTED_SOCKET
    if not is_tcp or ports == layout.ANY_PORT or _is_idle(text, state, state_end):
        kind = layout.IDLE_SOCKET
    elif ports == layout.NO_PORT or local_end - local + peer_end - peer + 2 > layout.ADDRESSES_WIDTH:
        kind = layout.UNREADABLE_SOCKET
    return kind, state, state_end, recv_q, send_q, local, local_end, peer, peer_end


@numba_function
def _find_record_end(text: Bytes, line_end: int, end: int, breaks: Ints, state: State) -> int:
    """Return where the last of the information lines ends that follow the line of a socket.

    They are indented; the first may have lost that in a copy (`cwnd:` is in all of them).
    """
    record_end = line_end
    while record_end + 1 < end and at(text, record_end) == layout.NEWLINE:
        first = skip_blanks(text, record_end, end)
        is_indented = at(text, first - 1) != layout.NEWLINE
        if first == end or at(text, first) == layout.HASH:
            break
        next_end = _find_line_end(text, first, end, breaks, state)
        if not is_indented and not (record_end == line_end and _contains(text, first, next_end, b"cwnd:")):
            break
        if _read_socket(text, first, next_end)[0] != layout.NO_SOCKET:
            break
        record_end = next_end
    return record_end


@numba_function
def _read_record(
    text: Bytes,
    pos: int,
    end: int,
    is_last: bool,
    breaks: Ints,
    tokens: Ints,
    cells: Ints,
    notes: Ints,
    state: State,
) -> int:
    """Read a socket with its information into the next row, or skip a line that is none; return where it ends."""
    line_end = _find_line_end(text, pos, end, breaks, state)
    socket = _read_socket(text, pos, line_end)
    lost = layout.CUT if is_last and line_end == end else layout.BAD_LINE
    state.last_is_record = 0
    if socket[0] == layout.NO_SOCKET:
        if not _contains(text, pos, line_end, b"Local Address"):
            add_note(notes, state, lost, pos, line_end)
        return line_end
    record_end = _find_record_end(text, line_end, end, breaks, state)
    is_open = record_end == end or at(text, record_end) == layout.HASH
    row = state.rows
    if socket[0] == layout.UNREADABLE_SOCKET:
        add_note(notes, state, lost, pos, line_end)
    elif socket[0] == layout.CONNECTED_SOCKET and state.now == layout.ABSENT:
        add_note(notes, state, layout.NO_TIME, pos, line_end)
    elif socket[0] == layout.CONNECTED_SOCKET:
        cells[layout.HAS, row] = cells[layout.HAS + 1, row] = 0
        cells[layout.BAD, row] = cells[layout.BAD + 1, row] = 0
        cells[layout.CC_HEAD, row] = cells[layout.CC_TAIL, row] = 0
        cells[layout.LAST_SLOT, row] = layout.ABSENT
        if read_tokens(text, socket[8], record_end, tokens, cells, notes, state):
            cells[layout.TIME, row] = state.now
            cells[layout.STATE_HEAD, row], cells[layout.STATE_TAIL, row] = pack_word(text, socket[1], socket[2])
            put(cells, layout.RECV_Q, row, socket[3])
            put(cells, layout.SEND_Q, row, socket[4])
            cells[layout.LOCAL, row], cells[layout.LOCAL_END, row] = socket[5], socket[6]
            cells[layout.PEER, row], cells[layout.PEER_END, row] = socket[7], socket[8]
            cells[layout.OPEN_END, row] = record_end if is_open else layout.ABSENT
            cells[layout.IS_PARTIAL, row] = cells[layout.IS_LEFT_OUT, row] = 0
            state.rows += 1
            state.last_is_record = not is_open
        else:
            state.notes = state.first_note
            if is_last and skip_blanks(text, record_end, end) == end:
                add_note(notes, state, layout.CUT, pos, record_end)
    return record_end


@kernel
def parse_block(
    text: Bytes,
    pos: int,
    end: int,
    is_last: bool,
    breaks: Ints,
    tokens: Ints,
    cells: Ints,
    notes: Ints,
    state: State,
) -> int:
    """Append the samples of text[pos:end] to the cells; return where it stopped, before `end` if there is no room.

    `breaks` are the places where a line can end, in order: all newlines, and every `#` that does not follow one. Flow
    and connection are left to `FlowTable.track`.
    """
    while pos < end and state.rows < cells.shape[1] and state.notes + layout.NOTES_PER_ROW < len(notes):
        pos = skip_blanks(text, pos, end)
        if pos == end:
            break
        state.first_note = state.notes
        if at(text, pos) == layout.HASH:
            line_end = _find_line_end(text, pos + 1, end, breaks, state)
            state.now = _read_stamp(text, pos, line_end)
            if state.now == layout.ABSENT:
                add_note(notes, state, layout.CUT if is_last and line_end == end else layout.BAD_STAMP, pos, line_end)
            else:
                notes[add_note(notes, state, layout.STAMP, pos, line_end), layout.TEXT] = state.now
            state.stamps += int(state.now != layout.ABSENT)
            if state.is_timeless and state.now == layout.ABSENT:
                state.now = 0
            state.closes_records |= state.last_is_record
            state.last_is_record = 0
            pos = line_end
        else:
            pos = _read_record(text, pos, end, is_last, breaks, tokens, cells, notes, state)
    return pos
