"""Read iperf3's `--json-stream` output (3.17 and newer): one event a line, as the one object that `-J` would print.

    {"event":"start","data":{…}}   then interval, end, error, server_output_json or server_output_text

A killed client leaves no `end` and perhaps half a line; what comes before is good. With `--json-stream-full-output`
(3.20) the whole object follows after `end`, on many lines; it repeats the events. Tests that were appended to one file,
or client and server that write to it at once, each begin with a `start`.
"""

import re
from typing import Final

import orjson

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.iperf3.choice import choose_result
from ccreport.ingest.iperf3.json_repair import Content, decode, read_defective
from ccreport.ingest.json_values import Json, JsonObject, quote

# {"event":"start","data":{"connected":[
FIRST_EVENT: Final = re.compile(rb'^[ \t]*\{\s*"event"\s*:\s*"', re.MULTILINE)
# The first line of the object that --json-stream-full-output appends.
FULL_OUTPUT: Final = re.compile(rb'\{\s*(?:"start".*)?', re.DOTALL)


def is_stream(data: bytes) -> bool:
    """Return whether a line of this output is an event of a JSON stream."""
    return FIRST_EVENT.search(data) is not None


def read_stream(data: bytes) -> Content:
    """Return the events as the object `{start, intervals, end, error}`, without `end` where the stream has none.

    Of several streams in one file it is that which `choose_result` takes. Raise RawFileError (`truncated_json`) where
    not one event is whole.
    """
    streams: list[_Stream] = []
    content = Content(None)
    offset = strangers = 0
    is_in_full_output = False
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        event = _read_event(line.strip(), content)
        if event is not None:
            is_in_full_output = False
            if event[0] == "start" or not streams:
                streams.append(_Stream(offset))
            stream = _stream_of(streams, event)
            if stream is None:
                strangers += 1
            else:
                stream.add(event)
        elif streams and "end" in streams[-1].document and FULL_OUTPUT.fullmatch(line.strip()):
            is_in_full_output = True
        elif not is_in_full_output:
            _note_line(content, line, number, offset)
        offset += len(line)
    if not any(stream.document for stream in streams):
        message = (
            "the stream ends inside its first line: the tool was killed; nothing of it can be used, rerun the test"
        )
        raise RawFileError("truncated_json", message, line=1, offset=0)
    choice = choose_result([stream.document for stream in streams], [stream.offset for stream in streams])
    content.value = streams[choice.position].document
    content.is_doubled = choice.is_doubled
    content.notes += choice.notes
    if strangers:
        message = f"{strangers} intervals are of the other host (`sender` says so) and are left out"
        content.notes.append(RawFileError("repaired", message))
    content.is_cut = "end" not in streams[choice.position].document
    return content


class _Stream:
    """The events of one test, in the order of the file, as the object that `-J` would print."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.document: JsonObject = {}
        self._intervals: list[Json] = []

    def add(self, event: tuple[str, Json]) -> None:
        """Take over an event; those of other names say nothing of the test."""
        name, data = event
        if name == "interval":
            self._intervals.append(data)
            self.document["intervals"] = self._intervals
        elif name in ("start", "end", "error"):
            self.document[name] = data

    def can_have(self, interval: Json) -> bool:
        """Return whether an interval is of the host of this stream: not where all of it says that the other sends."""
        start = self.document.get("start")
        header = start.get("test_start") if isinstance(start, dict) else None
        if not isinstance(start, dict) or not isinstance(header, dict) or header.get("bidir"):
            return True
        told = _senders(interval)
        return not told or (("accepted_connection" in start) == bool(header.get("reverse"))) in told


def _stream_of(streams: list[_Stream], event: tuple[str, Json]) -> _Stream | None:
    """Return the stream that an event belongs to: client and server may write to one file at once."""
    if event[0] != "interval":
        return streams[-1]
    is_open = [stream for stream in streams if "end" not in stream.document] or streams[-1:]
    return next((stream for stream in reversed(is_open) if stream.can_have(event[1])), None)


def _senders(interval: Json) -> set[bool]:
    blocks = interval.get("streams") if isinstance(interval, dict) else None
    listed = blocks if isinstance(blocks, list) else []
    return {told for block in listed if isinstance(block, dict) and isinstance(told := block.get("sender"), bool)}


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
        message = f"a line that is not an event is left out: {quote(text)!r}"
        content.notes.append(RawFileError("repaired", message, line=number, offset=offset))
