"""Characters, words and numbers in the text of ss, for the compiled reader."""

from typing import Final

import numpy as np

from ccreport.core.units import DECIMAL_STEPS
from ccreport.ingest.ss import layout
from ccreport.ingest.ss.layout import Bytes, Ints, kernel, numba_function, numba_inline

# How far beyond a blank in parentheses their end is looked for.
PARENTHESES_LIMIT: Final = 256
# The largest mantissa that surely takes one more digit, and the powers of ten that a float holds exactly.
MANTISSA_LIMIT: Final = 922337203685477579
EXACT_POWER: Final = 22
POWERS: Final = np.array([10.0**power for power in range(EXACT_POWER + 1)])
# Powers of ten of the letters before `bps`.
PREFIX_POWERS: Final = np.zeros(256, np.int64)
for _prefix in "kKMGT":
    PREFIX_POWERS[ord(_prefix)] = len(str(DECIMAL_STEPS[_prefix.lower()])) - 1


@numba_inline
def at(text: Bytes, pos: int) -> int:
    """Return a character. Indices are unsigned: of a signed one numba first asks whether it counts from the end."""
    return int(text[np.uintp(pos)])


@numba_inline
def is_digit(char: int) -> bool:
    """Tell whether a character is a digit."""
    return 48 <= char <= 57


@numba_inline
def is_word_char(char: int) -> bool:
    """Tell whether a character can be in a name such as `FIN-WAIT-1` or `bbr2`."""
    return 97 <= char <= 122 or 65 <= char <= 90 or 48 <= char <= 57 or char in (layout.LINE, layout.MINUS)


@numba_inline
def skip_blanks(text: Bytes, pos: int, end: int) -> int:
    """Return where the next character is that is neither blank nor line break."""
    while pos < end and at(text, pos) <= layout.SPACE:
        pos += 1
    return pos


@numba_inline
def skip_name(text: Bytes, pos: int, end: int) -> int:
    """Return where a name ends that a blank or line break follows; `pos` if there is none."""
    start = pos
    while pos < end and is_word_char(at(text, pos)):
        pos += 1
    return pos if pos == end or at(text, pos) <= layout.SPACE else start


@numba_inline
def skip_word(text: Bytes, pos: int, end: int) -> int:
    """Return where the next blank or line break is."""
    while pos < end and at(text, pos) > layout.SPACE:
        pos += 1
    return pos


@numba_inline
def begins(text: Bytes, start: int, end: int, what: bytes) -> bool:
    """Tell whether text[start:end] begins with this."""
    if end - start < len(what):
        return False
    for i in range(len(what)):  # noqa: SIM110 (numba compiles loops, not generators)
        if at(text, start + i) != what[i]:
            return False
    return True


@numba_inline
def strip_blanks(text: Bytes, start: int, end: int) -> int:
    """Return the end of text[start:end] without blanks behind it."""
    while end > start and at(text, end - 1) <= layout.SPACE:
        end -= 1
    return end


@numba_function
def skip_token(text: Bytes, pos: int, end: int) -> int:
    """Return where the token ends: at a blank, but not at one in parentheses that are closed soon in the same line."""
    blank = layout.ABSENT
    depth = 0
    while pos < end and at(text, pos) != layout.NEWLINE:
        if at(text, pos) <= layout.SPACE:
            if depth <= 0:
                return pos
            blank = pos if blank == layout.ABSENT else blank
        if blank != layout.ABSENT and pos - blank > PARENTHESES_LIMIT:
            return blank
        depth += int(at(text, pos) == layout.OPEN) - int(at(text, pos) == layout.CLOSE)
        pos += 1
    return pos if depth <= 0 or blank == layout.ABSENT else blank


@numba_inline
def read_count(text: Bytes, start: int, end: int) -> int:
    """Return a number of 1 to 18 digits and nothing else, or ABSENT."""
    count = 0
    for pos in range(start, end):
        if not is_digit(at(text, pos)):
            return layout.ABSENT
        count = count * 10 + at(text, pos) - 48
    return count if 1 <= end - start <= 18 else layout.ABSENT


@numba_inline
def pack_word(text: Bytes, start: int, end: int) -> tuple[int, int]:
    """Return a name of up to 16 characters as two numbers; (0, 0) for anything else."""
    head = tail = 0
    for pos in range(start, end):
        if not is_word_char(at(text, pos)) or pos - start == 16:
            return 0, 0
        if pos - start < 8:
            head = (head << 8) | at(text, pos)
        else:
            tail = (tail << 8) | at(text, pos)
    return head, tail


@numba_inline
def scan_number(text: Bytes, pos: int, end: int) -> tuple[int, int, int]:
    """Return mantissa, power of ten and end of `12`, `0.116` or `1.5e+06`; the end is `pos` if there is none."""
    start = pos
    mantissa = power = 0
    while pos < end and is_digit(at(text, pos)):
        if mantissa <= MANTISSA_LIMIT:
            mantissa = mantissa * 10 + at(text, pos) - 48
        else:
            power += 1
        pos += 1
    if pos > start and pos + 1 < end and at(text, pos) == layout.DOT and is_digit(at(text, pos + 1)):
        pos += 1
        while pos < end and is_digit(at(text, pos)):
            if mantissa <= MANTISSA_LIMIT:
                mantissa = mantissa * 10 + at(text, pos) - 48
                power -= 1
            pos += 1
    if pos > start and pos + 1 < end and (at(text, pos) == 69 or at(text, pos) == 101):
        has_sign = at(text, pos + 1) == layout.PLUS or at(text, pos + 1) == layout.MINUS
        digit = first = pos + 2 if has_sign else pos + 1
        exponent = 0
        while digit < end and is_digit(at(text, digit)):
            exponent = min(exponent * 10 + at(text, digit) - 48, 99999)
            digit += 1
        if digit > first:
            power += -exponent if at(text, pos + 1) == layout.MINUS else exponent
            pos = digit
    return mantissa, power, pos


@numba_inline
def scale(mantissa: int, power: int) -> float:
    """Return mantissa × 10^power, correctly rounded for up to 15 digits and 22 powers."""
    if mantissa == 0:
        return 0.0
    if 0 <= power <= EXACT_POWER:
        return float(mantissa * POWERS[power])
    if -EXACT_POWER <= power < 0:
        return float(mantissa / POWERS[-power])
    return float(mantissa * 10.0**power)


@kernel
def copy_spans(text: Bytes, starts: Ints, ends: Ints, copy: Bytes) -> None:
    """Copy text[starts[i]:ends[i]] one after another to `copy`, which has room for them."""
    place = 0
    for i in range(len(starts)):
        for pos in range(starts[i], ends[i]):
            copy[place] = text[pos]
            place += 1
