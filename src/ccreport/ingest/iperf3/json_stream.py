"""Read iperf3's `--json-stream` output (3.17 and newer): one event a line, as the one object that `-J` would print.

    {"event":"start","data":{…}}   then interval, end, error, server_output_json or server_output_text

A killed client leaves no `end` and perhaps half a line; what stands before is good. With `--json-stream-full-output`
(3.20) the whole object follows after `end`, on many lines; it repeats the events.
"""

import re
from typing import Final

import orjson

from ccreport.ingest.iperf3_json import Content, decode, read_defective
from ccreport.ingest.json_values import Json, JsonObject, quote
from ccreport.raw import RawFileError

# {"event":"start","data":{"connected":[
FIRST_EVENT: Final = re.compile(rb'^[ \t]*\{\s*"event"\s*:\s*"', re.MULTILINE)
# The first line of the object that --json-stream-full-output appends.
FULL_OUTPUT: Final = re.compile(rb'\{\s*(?:"start".*)?', re.DOTALL)


def is_stream(data: bytes) -> bool:
    """Return whether a line of this output is an event of a JSON stream."""
    return FIRST_EVENT.search(data) is not None


def read_stream(data: bytes) -> Content:
    """Return the events as the object `{start, intervals, end, error}`, without `end` where the stream has none.

    Raise RawFileError (`truncated_json`) where not one event is whole.
    """
    document: JsonObject = {}
    intervals: list[Json] = []
    content = Content(document)
    offset = 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        event = _read_event(line.strip(), content)
        if event is None and "end" in document and FULL_OUTPUT.fullmatch(line.strip()):
            break
        if event is None:
            _note_line(content, line, number, offset)
        elif event[0] == "start" and "start" in document:
            content.is_doubled = True
            message = "a second stream follows the first one, which is used"
            content.notes.append(RawFileError("doubled", message, line=number, offset=offset))
            break
        elif event[0] == "interval":
            intervals.append(event[1])
        elif event[0] in ("start", "end", "error"):
            document[event[0]] = event[1]
        offset += len(line)
    if intervals:
        document["intervals"] = intervals
    if not document:
        message = (
            "the stream ends inside its first line: the tool was killed; nothing of it can be used, rerun the test"
        )
        raise RawFileError("truncated_json", message, line=1, offset=0)
    content.is_cut = "end" not in document
    return content


def _read_event(line: bytes, content: Content) -> tuple[str, Json] | None:
    try:
        event: Json = orjson.loads(line)
    except orjson.JSONDecodeError:
        if not line.startswith(b'{"') or not line.endswith(b"}"):
            return None
        try:
            repaired = read_defective(decode(line))
        except RawFileError:
            return None
        event = repaired.value
        known = {note.message for note in content.notes}
        content.notes += [note for note in repaired.notes if note.message not in known]
    if not isinstance(event, dict):
        return None
    name = event.get("event")
    return (name, event.get("data")) if isinstance(name, str) else None


def _note_line(content: Content, line: bytes, number: int, offset: int) -> None:
    text = decode(line).strip("\ufeff \t\r\n\0")
    if text.startswith("{"):
        message = "the line ends early: the tool was killed; the lines before it are kept"
        content.notes.append(RawFileError("truncated_json", message, line=number, offset=offset))
    elif text:
        content.tail = text
        message = f"a line that is no event is left out: {quote(text)!r}"
        content.notes.append(RawFileError("repaired", message, line=number, offset=offset))
