"""Numbers and words of names that only name their test: T001, hashes, times of day, and serials."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.path_words import escape
from ccreport.adopt.patterns import Column, ProposedPattern, find_start

# 3f2a9c
HASH: Final = re.compile("[0-9a-f]{6,}")
# Before the number of a test, in small letters.
NUMBERED: Final = frozenset({"t", "r", "id", "no", "nr"})
# 2210 · 221059
CLOCK: Final = re.compile("(?:[01][0-9]|2[0-3])(?P<minute>[0-5][0-9])(?:[0-5][0-9])?")
# Shorter numbers may be swept, and so may those that are all multiples of one of these.
SERIAL: Final = re.compile("[0-9]{5,}")
ROUND: Final = (4, 10)
# Groups of numbers without a word.
BARE: Final = ("number", "iteration")


def find_run_name(own: ProposedPattern, contents: Mapping[str, Content]) -> tuple[Column, str] | None:
    """Return the column that names the tests, each (but for flows of one) by another text, and an expression of it."""
    count = len({*own.read_values(("flow", "cc")).values()}) if "flow" in own.groups else len(own.paths)
    days = [column for column in own.columns if column.kind == "run" and column.words[0].text[0].isdigit()]
    for column in own.columns:
        if column.group is None:
            continue
        if column.group in BARE and len({*_join([*days, column])}) >= max(count, 2):
            if _are_times(column, contents, own.paths, has_days=bool(days)) or _are_serials(column):
                return column, "[0-9]+"
            continue
        if len(column.texts) < count:
            continue
        if column.kind == "word" and all(map(HASH.fullmatch, column.texts)):
            return column, HASH.pattern
        (start, *others) = {find_start(word) for word in column.words}
        is_padded = column.words[0].text.startswith(f"{start}0")
        is_whole = all(word.text.removeprefix(start).isdigit() for word in column.words)
        if column.kind == "counted" and not others and is_whole and (is_padded or start.lower() in NUMBERED):
            return column, rf"{escape(start)}[0-9]+"
    return None


def _join(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """Return what some columns hold together in each path."""
    return [tuple(word.text for word in words) for words in zip(*(column.words for column in columns), strict=True)]


def _are_times(column: Column, contents: Mapping[str, Content], paths: Sequence[str], *, has_days: bool) -> bool:
    """Tell whether numbers are times of day, by the days beside them, or by when the tests began in any time zone."""
    times = [CLOCK.fullmatch(word.text) for word in column.words]
    if not all(times) or len({len(text) for text in column.texts}) > 1:
        return False
    starts_s = [contents[path].start_s for path in paths]
    late_by = [
        None if start_s is None or match is None else (start_s // 60 - int(match["minute"])) % 60
        for start_s, match in zip(starts_s, times, strict=True)
    ]
    return has_days or all(minutes in (0, 1) for minutes in late_by)


def _are_serials(column: Column) -> bool:
    """Tell whether numbers are as long as each other, as those that count everything somebody ever ran."""
    are_long = all(map(SERIAL.fullmatch, column.texts)) and len({len(text) for text in column.texts}) == 1
    return are_long and not any(all(int(text) % step == 0 for text in column.texts) for step in ROUND)
