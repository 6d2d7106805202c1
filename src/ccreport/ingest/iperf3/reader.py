"""Outputs of the harness's source commands (`src-cmd`, `src-cmd-n`) into the `tests`, `streams` and `intervals` tables.

What a file is shows in its content: iperf3 `-J` (one JSON object, versions 3.0 to 3.20 and newer), iperf3
`--json-stream` (one event a line), or a pscheduler result. `iperf3_json`, `iperf3_json_stream`, `iperf3_document`,
`iperf3_streams` and `pscheduler` say how each is written and what is wrong in it.
"""

from pathlib import Path

from ccreport.ingest.client_tables import ClientTables, Outcome
from ccreport.ingest.iperf3_document import read_document
from ccreport.ingest.iperf3_json import Content, decode, parse_json, read_defective
from ccreport.ingest.iperf3_json_stream import is_stream, read_stream
from ccreport.ingest.iperf3_text import explain_text
from ccreport.ingest.pscheduler import find_result, read_result
from ccreport.raw import RawFileError, read_manifest, read_whole
from ccreport.rejects import Rejects


def ingest_iperf3(manifest: Path, root: Path, tests: Path, streams: Path, intervals: Path, rejects: Path) -> None:
    """Write the client outputs of one experiment as three tables, and what could not be used of them."""
    tables = ClientTables()
    rejected = Rejects()
    for file in read_manifest(manifest).files_for("ingest_iperf3"):
        try:
            outcome = read_client_output(read_whole(root / file.path))
            tables.add(file, outcome)
        except RawFileError as error:
            rejected.add_error(file, error)
            continue
        for note in outcome.notes:
            rejected.add_error(file, note, is_whole_file=False)
    tables.write(tests, streams, intervals, rejected)
    rejected.write(rejects)


def read_client_output(data: bytes) -> Outcome:
    """Return what one client measured, from the bytes of its output in any of the known forms.

    Raise RawFileError with the reason where none of it can be used.
    """
    content = _read_content(data)
    result = find_result(content.value)
    if result is not None:
        return read_result(result, content)
    if content.value is None:
        raise RawFileError("no_measurement", "the result is null: the task failed before it measured; rerun it")
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
