"""Read the JSON that iperf3 and pscheduler print, defects included.

iperf3 writes one JSON object (`-J`); the harness stores standard output and standard error of the command in one file.
Seen in real files, with their issues at esnet/iperf:

- 3.7 to 3.10 with `--bidir` repeat `sum`, `sum_sent` and `sum_received` in one object, the second for the reverse
  direction (952, 1196); 3.2 to 3.13 with `-P` repeat socket buffer sizes of equal value (856, 1491, 1492).
- 3.16 and 3.17 can print the whole object twice (1688, 1716); log files hold several tests (`choice`).
- Text comes before (1086) or after the object (1143: `iperf3: error - …`); with `-d` it has JSON objects in it, those
  of the control connection.
- Numbers can be the tokens `nan` and `-nan` (613).

A fast parser goes first; the standard library's follows where it fails or where keys repeat.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Final

import orjson

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.iperf3.choice import FAILED, choose_result, grade, is_result
from ccreport.ingest.json_values import Json, JsonObject, quote

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
# "server_output_json":	{
UNDER_KEY: Final = re.compile(r'"\s*:\s*\Z')
# So many braces of a text may begin no object, and so many times its length may be read in vain.
FAILURES_LIMIT: Final = 200
WASTE_LIMIT: Final = 4
SEPARATOR: Final = re.compile(r"[\s,]*")
# What is whole of damaged JSON is searched in a text of at most so many letters, of which several copies are made.
SEARCHED_LETTERS: Final = 2**28


@dataclass
class Content:
    """The JSON value of a file that is its result, with what was wrong around it."""

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
    """Return the result among the JSON objects of a text, else its first object.

    Raise RawFileError: `truncated_json` where it ends early before the first complete interval, `unpacks_too_large`
    where it is too long for a search, else `not_json`.
    """
    if len(text) > SEARCHED_LETTERS:
        message = f"the JSON is damaged, and too long ({len(text)} letters) to look for what is whole: copy it again"
        raise RawFileError("unpacks_too_large", message)
    for repair in (str, _mark_not_numbers):
        candidate = repair(text)
        objects = _find_objects(candidate)
        if not objects:
            continue
        content = _choose(objects, text)
        if candidate is not text:
            message = "the tool wrote `nan` or `inf` for numbers; they are read as null"
            content.notes.insert(0, RawFileError("repaired", message))
        return content
    return _read_cut(_mark_not_numbers(text), _first_object(text))


def _first_object(text: str) -> int:
    line = OBJECT_LINE.search(text)
    return line.start(1) if line else text.find("{")


def _find_objects(text: str) -> list[tuple[Json, int, int]]:
    """Return the results in a text, which may have braces of its own, with where each begins and ends.

    Without a result it is the first object, if that begins the text or a line of it. What is under a key of an
    object that is damaged (`server_output_json`) is not a result.
    """
    results: list[tuple[Json, int, int]] = []
    others: list[tuple[Json, int, int]] = []
    place = text.find("{")
    begins = (place, _first_object(text))
    failures = wasted = 0
    while place >= 0 and failures < FAILURES_LIMIT and wasted <= WASTE_LIMIT * len(text):
        end = place + 1
        try:
            value, end = _decode_object(text, place)
            if is_result(value) and not UNDER_KEY.search(text, max(0, place - 40), place):
                results.append((value, place, end))
            elif place in begins:
                others.append((value, place, end))
        except json.JSONDecodeError as error:
            failures += 1
            wasted += error.pos - place
        except (ValueError, RecursionError):
            failures += 1
            wasted += len(text) - place
        place = text.find("{", end)
    return results or others[:1]


def _choose(objects: list[tuple[Json, int, int]], text: str) -> Content:
    """Return the object that is the file's result, with what is to be said of the rest of the text."""
    choice = choose_result([value for value, _, _ in objects], [byte_offset(text, start) for _, start, _ in objects])
    value, start, end = objects[choice.position]
    results = [(first, last) for other, first, last in objects if is_result(other)]
    if grade(value) == FAILED and (cut := _read_rest(text, max([end, *(last for _, last in results)]))) is not None:
        cut.notes += [RawFileError("repaired", "an attempt before it measured nothing and is left out")]
        return cut
    content = Content(value, is_doubled=choice.is_doubled)
    _note_surroundings(content, text, (start, end), results)
    content.notes += choice.notes
    return content


def _read_rest(text: str, start: int) -> Content | None:
    """Return what is complete of a result that is cut behind a failed attempt, None where there is none."""
    if START_KEY.search(text, start) is None:
        return None
    try:
        rest = _mark_not_numbers(text[start:])
        return _read_cut(rest, _first_object(rest))
    except RawFileError:
        return None


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


def _note_surroundings(content: Content, text: str, span: tuple[int, int], results: list[tuple[int, int]]) -> None:
    """Note text before and behind the result; other results are noted by `choose_result`."""
    start, end = span
    first, last = (
        min([start, *(position for position, _ in results)]),
        max([end, *(position for _, position in results)]),
    )
    head, tail = (part.strip("\ufeff \t\r\n\0,[]") for part in (text[:first], text[last:]))
    if head:
        content.notes.append(RawFileError("repaired", f"text before the JSON is left out: {quote(head)!r}", offset=0))
    if tail.startswith("{"):
        rest = text[last:].lstrip("\ufeff \t\r\n\0")
        content.is_doubled = text[start:end].startswith(rest.rstrip())
        message = "the file has the result more than once; the first copy is used"
        if not content.is_doubled:
            message = "another result that follows is damaged or ends early, and is left out; rerun that test"
        reason = "doubled" if content.is_doubled else "truncated_json"
        content.notes.append(RawFileError(reason, message, offset=byte_offset(text, last)))
    elif tail:
        content.tail = tail
        message = f"text after the JSON is left out: {quote(tail)!r}"
        content.notes.append(RawFileError("repaired", message, offset=byte_offset(text, last)))


def byte_offset(text: str, position: int) -> int:
    """Return where a position of a decoded text is in its bytes."""
    return len(text[:position].encode("utf-8", "surrogateescape"))


def _read_cut(text: str, start: int) -> Content:
    """Return what is complete of an iperf3 object that ends early; raise RawFileError where nothing is.

    An object that is whole after all is returned as it is: it comes after more damage than is searched.
    """
    try:
        value, end = _decode_object(text, start)
    except json.JSONDecodeError as error:
        at = {"offset": byte_offset(text, error.pos), "line": error.lineno}
        if not _is_cut(text, error):
            message = f"the JSON is damaged ({error.msg}): rerun the test, or restore the file from its source"
            if not OBJECT_LINE.search(text):
                message = "no line begins with `{`: this is not JSON of iperf3 or pscheduler, or its beginning is lost"
            raise RawFileError("not_json", message, **at) from error
    except (ValueError, RecursionError) as error:
        message = f"the JSON cannot be read ({quote(str(error))}): this is not output of iperf3 or pscheduler"
        raise RawFileError("not_json", message, offset=byte_offset(text, max(start, 0))) from error
    else:
        content = Content(value)
        _note_surroundings(content, text, (start, end), [])
        return content
    header, intervals = _complete_intervals(text)
    ends_early = "the JSON ends early: the tool was killed or the file not copied whole"
    if not intervals:
        raise RawFileError("truncated_json", f"{ends_early}; nothing of it can be used, rerun or copy it again", **at)
    message = f"{ends_early}; its complete intervals ({len(intervals)}) are kept and the test counts as interrupted"
    partial: JsonObject = {"start": header, "intervals": intervals}
    return Content(partial, is_cut=True, notes=[RawFileError("truncated_json", message, **at)])


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
