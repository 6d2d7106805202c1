"""Read the JSON that iperf3 and pscheduler print, defects included.

iperf3 writes one JSON object (`-J`); the harness stores standard output and standard error of the command in one file.
Seen in real files, with their issues at esnet/iperf:

- 3.7 to 3.10 with `--bidir` repeat `sum`, `sum_sent` and `sum_received` in one object, the second for the reverse
  direction (952, 1196); 3.2 to 3.13 with `-P` repeat socket buffer sizes of equal value (856, 1491, 1492).
- 3.16 and 3.17 can print the whole object twice (1688, 1716).
- Text stands before (1086) or after the object (1143: `iperf3: error - …`).
- Numbers can be the tokens `nan` and `-nan` (613).

A fast parser goes first; the standard library's follows where it fails or where keys repeat.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import orjson

from ccreport.ingest.json_values import Json, JsonObject, quote
from ccreport.raw import RawFileError

# Keys that a bidirectional test repeats; from 3.11 on the second of each is called `…_bidir_reverse`.
REPEATED_KEYS: Final = frozenset({"sum", "sum_sent", "sum_received"})
# iperf 3.7 · iperf 3.10.1
REPEATING_VERSION: Final = re.compile(r"iperf 3\.(?:7|8|9|10)\b")

# "bits_per_second":	-nan, (and strings, which may hold such words, so that they stay as they are)
NOT_A_NUMBER: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|-?\b(?:nan|inf(?:inity)?)\b', re.IGNORECASE | re.DOTALL)
# {"start":	{"connected":	[{ (the first line of an object; not a brace inside a warning)
OBJECT_LINE: Final = re.compile(r"^[ \t]*(\{)", re.MULTILINE)
# the beginnings of true, false, null and -1, and what is left of 1.5 and 1e+10, at the end of a text
CUT_TOKEN: Final = re.compile(r"t(?:ru?)?|f(?:als?|a)?|n(?:ul?)?|-|\.|[eE][+-]?")
# "start":	{"connected": (the header; the `start` of an interval is a number)
START_KEY: Final = re.compile(r'"start"\s*:\s*(?=\{)')
# "intervals":	[{
INTERVALS_KEY: Final = re.compile(r'"intervals"\s*:\s*\[')
SEPARATOR: Final = re.compile(r"[\s,]*")
# What is whole of damaged JSON is searched in a text of at most so many letters, of which several copies are made.
SEARCHED_LETTERS: Final = 2**28


@dataclass
class Content:
    """The first JSON value of a file, with what was wrong around it."""

    value: Json
    is_doubled: bool = False
    is_cut: bool = False
    tail: str = ""
    notes: list[RawFileError] = field(default_factory=list)


def parse_json(data: bytes) -> Content:
    """Return the one JSON value that these bytes are, with the keys a bidirectional test repeats kept.

    Raise ValueError where they are anything else, so that `read_defective` may look closer.
    """
    value: Json = orjson.loads(data)
    if _may_repeat_sums(value) and data.count(b'"sum_sent"') > 1:
        # The fast parser keeps the last of equal keys: the wrong direction.
        return read_defective(decode(data))
    return Content(value)


def _may_repeat_sums(value: Json) -> bool:
    start = value.get("start") if isinstance(value, dict) else None
    version = start.get("version") if isinstance(start, dict) else None
    return isinstance(version, str) and REPEATING_VERSION.match(version) is not None


def decode(data: bytes) -> str:
    """Return the text of these bytes; one that is no UTF-8 becomes a lone surrogate, so that offsets can be counted."""
    return data.decode("utf-8", "surrogateescape")


def read_defective(text: str) -> Content:
    """Return the first JSON object of a text that has one.

    Raise RawFileError: `truncated_json` where it ends early before the first complete interval, `unpacks_too_large`
    where it is too long for a search, else `not_json`.
    """
    if len(text) > SEARCHED_LETTERS:
        message = f"the JSON is damaged, and too long ({len(text)} letters) to look for what is whole: copy it again"
        raise RawFileError("unpacks_too_large", message)
    for candidate, start in _candidates(text):
        try:
            value, end = _decode_object(candidate, start)
        except (ValueError, RecursionError):
            continue
        content = Content(value)
        if candidate is not text:
            message = "the tool wrote `nan` or `inf` for numbers; they are read as null"
            content.notes.append(RawFileError("repaired", message))
        _note_surroundings(content, text, start, end)
        return content
    return _read_cut(_mark_not_numbers(text), _first_object(text))


def _first_object(text: str) -> int:
    line = OBJECT_LINE.search(text)
    return line.start(1) if line else text.find("{")


def _candidates(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text, as it is and with readable numbers, and where an object may begin in it."""
    first, brace = _first_object(text), text.find("{")
    yield text, first
    numbers = _mark_not_numbers(text)
    candidates = dict.fromkeys(((text, first), (numbers, first), (text, brace), (numbers, brace)))
    yield from list(candidates)[1:]


def _mark_not_numbers(text: str) -> str:
    """Return the text with bare `nan` and `-nan` as the token `NaN`, of the same length, and the same for infinity."""

    def mark(match: re.Match[str]) -> str:
        token = match[0]
        return token if token.startswith('"') else "NaN".rjust(len(token))

    return NOT_A_NUMBER.sub(mark, text)


def _keep_repeated(pairs: list[tuple[str, Json]]) -> JsonObject:
    kept: JsonObject = {}
    for key, value in pairs:
        kept[f"{key}_bidir_reverse" if key in REPEATED_KEYS and key in kept else key] = value
    return kept


DECODER: Final = json.JSONDecoder(object_pairs_hook=_keep_repeated, parse_constant=lambda _: None, strict=False)


def _decode_object(text: str, start: int) -> tuple[Json, int]:
    if start < 0:
        raise ValueError("no object")
    value, end = DECODER.raw_decode(text, start)
    return value, end


def _note_surroundings(content: Content, text: str, start: int, end: int) -> None:
    head, tail = text[:start].strip("\ufeff \t\r\n\0"), text[end:].strip("\ufeff \t\r\n\0")
    if head:
        content.notes.append(RawFileError("repaired", f"text before the JSON is left out: {quote(head)!r}", offset=0))
    if tail.startswith("{"):
        content.is_doubled = True
        message = "the result stands there more than once; the first copy is used"
        content.notes.append(RawFileError("doubled", message, offset=byte_offset(text, end)))
    elif tail:
        content.tail = tail
        message = f"text after the JSON is left out: {quote(tail)!r}"
        content.notes.append(RawFileError("repaired", message, offset=byte_offset(text, end)))


def byte_offset(text: str, position: int) -> int:
    """Return where a position of a decoded text lies in its bytes."""
    return len(text[:position].encode("utf-8", "surrogateescape"))


def _read_cut(text: str, start: int) -> Content:
    """Return what is complete of an iperf3 object that ends early; raise RawFileError where nothing is."""
    try:
        _decode_object(text, start)
    except json.JSONDecodeError as error:
        at = {"offset": byte_offset(text, error.pos), "line": error.lineno}
        if not _is_cut(text, error):
            message = f"the JSON is damaged ({error.msg}): rerun the test, or restore the file from its source"
            raise RawFileError("not_json", message, **at) from error
    except (ValueError, RecursionError) as error:
        message = f"the JSON cannot be read ({quote(str(error))}): this is no output of iperf3 or pscheduler"
        raise RawFileError("not_json", message, offset=byte_offset(text, max(start, 0))) from error
    header, intervals = _complete_intervals(text)
    ends_early = "the JSON ends early: the tool was killed or the file not copied whole"
    if not intervals:
        raise RawFileError("truncated_json", f"{ends_early}; nothing of it can be used, rerun or copy it again", **at)
    message = f"{ends_early}; its {len(intervals)} complete intervals are kept and the test counts as interrupted"
    value: JsonObject = {"start": header, "intervals": intervals}
    return Content(value, is_cut=True, notes=[RawFileError("truncated_json", message, **at)])


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    rest = text[error.pos :].strip()
    is_cut_escape = error.msg.startswith("Invalid \\u") and len(rest) < len(r"\u0000")
    return not rest or error.msg.startswith("Unterminated") or is_cut_escape or CUT_TOKEN.fullmatch(rest) is not None


def _complete_intervals(text: str) -> tuple[Json, list[Json]]:
    """Return header and intervals of an iperf3 object as far as they go; no intervals where it is something else."""
    intervals: list[Json] = []
    start, key = START_KEY.search(text), INTERVALS_KEY.search(text)
    if start is None or key is None:
        return {}, intervals
    header: Json = {}
    position = key.end()
    try:
        header, _ = _decode_object(text, start.end())
        while True:
            separator = SEPARATOR.match(text, position)
            interval, position = _decode_object(text, separator.end() if separator else position)
            if not isinstance(interval, dict):
                return header, intervals
            intervals.append(interval)
    except (ValueError, RecursionError):
        return header, intervals
