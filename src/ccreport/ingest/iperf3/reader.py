"""Outputs of the harness's source commands (`src-cmd`, `src-cmd-n`) into the `tests`, `streams` and `intervals` tables.

What a file is shows in its content: iperf3 `-J` (one JSON object, versions 3.0 to 3.20 and newer), iperf3
`--json-stream` (one event a line), or a pscheduler result. `json_repair`, `json_stream`, `document`,
`streams` and `pscheduler` say how each is written and what is wrong in it.
"""

from typing import Final

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.ingest.iperf3.choice import choose_result, is_result
from ccreport.ingest.iperf3.document import read_document
from ccreport.ingest.iperf3.json_repair import Content, decode, parse_json, read_defective
from ccreport.ingest.iperf3.json_stream import is_stream, read_stream
from ccreport.ingest.iperf3.plain_text import explain_text
from ccreport.ingest.iperf3.pscheduler import find_result, read_result
from ccreport.ingest.iperf3.tables import ClientTables, Outcome
from ccreport.ingest.reading import Reading

XFR_KEYS: Final = frozenset({"bytes_total", "duration_ms", "throughput_mbps"})
XFR: Final = "this is a result of xfr, which tells neither direction nor time nor ports: measure with iperf3 -J"


def read_iperf3(reading: Reading) -> None:
    """Write the client outputs of one experiment as three tables."""
    tables = ClientTables()

    def read(file: RawFile) -> None:
        outcome = read_client_output(read_whole(reading.root / file.path))
        tables.add(file, outcome)
        for note in outcome.notes:
            reading.rejected.add_error(file, note, is_whole_file=False)

    reading.read_each(read)
    tables.write(reading)


def read_client_output(data: bytes) -> Outcome:
    """Return what one client measured, from the bytes of its output in any of the known forms.

    Raise RawFileError with the reason where none of it can be used.
    """
    content = _read_content(data)
    if isinstance(content.value, list) and any(is_result(value) for value in content.value):
        choice = choose_result(content.value)
        content.value = content.value[choice.position]
        content.is_doubled = content.is_doubled or choice.is_doubled
        content.notes += choice.notes
    result = find_result(content.value)
    if result is not None:
        return read_result(result, content)
    if content.value is None:
        raise RawFileError("no_measurement", "the result is null: the task failed before it measured; rerun it")
    if isinstance(content.value, dict) and content.value.keys() >= XFR_KEYS:
        raise RawFileError("unexpected_structure", XFR)
    if not isinstance(content.value, dict) or not content.value.keys() & {"start", "intervals", "end", "error"}:
        message = "this JSON is neither a result of iperf3 nor of pscheduler; keep the output of iperf3 -J"
        raise RawFileError("unexpected_structure", message)
    return read_document(content)


def _read_content(data: bytes) -> Content:
    try:
        content = parse_json(data)
    except ValueError:
        if is_stream(data):
            return read_stream(data)
        return _read_text(decode(data))
    is_event = isinstance(content.value, dict) and "event" in content.value
    return read_stream(data) if is_event else content


def _read_text(text: str) -> Content:
    try:
        return read_defective(text)
    except RawFileError as error:
        raise explain_text(text) or error from None
