"""Read one iperf3 result object, of any version from 3.0 on, as rows of the three client tables.

    {"start": {"version": …, "connected": […], "test_start": {…}}, "intervals": […],
     "end": {"streams": […], "cpu_utilization_percent": {…}, "sender_tcp_congestion": …}, "error": …}

Keys come with versions: target_bitrate 3.7, `bidir` and fq_rate 3.13, `timemillisecs` 3.20. Policy for a test that
ended before its time (signal, lost server): its intervals are kept and it is marked; one that never sent is a reject.
"""

from typing import Final

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.iperf3.json_repair import Content
from ccreport.ingest.iperf3.streams import Document, check_sums, read_intervals, read_streams, split_document
from ccreport.ingest.iperf3.tables import Outcome, Row
from ccreport.ingest.json_values import JsonObject, get_object, quote, wrong_type

REMOTE_CPU: Final = ("remote_total", "remote_user", "remote_system")


def read_document(content: Content) -> Outcome:
    """Return the rows of an iperf3 result.

    Raise RawFileError: `error_only` where the tool only reports an error, `no_measurement` where there are no data,
    `unexpected_structure` where an object or list of the format is something else.
    """
    if not isinstance(content.value, dict):
        raise wrong_type("the result", content.value, "an object")
    error = _error_text(content.value, content.tail)
    document = split_document(content.value, is_interrupted=content.is_cut or content.value.get("error") is not None)
    streams = read_streams(document)
    intervals = read_intervals(document)
    if not intervals["stream_number"] and not any(
        row.get("sender_bytes") or row.get("receiver_bytes") for row in streams
    ):
        raise nothing_measured(error)
    notes = [*content.notes, *check_sums(document)]
    if document.is_interrupted and not any(note.reason == "truncated_json" for note in notes):
        notes.append(interrupted(error))
    test: Row = {
        "tool": "iperf3",
        "is_recovered": False,
        "is_doubled": content.is_doubled,
        "is_interrupted": document.is_interrupted,
        "error": error,
    }
    test |= _header(document) | _end(document)
    test["is_bidirectional"] = bool(document.header.get("bidir")) or len({row["is_reverse"] for row in streams}) > 1
    return Outcome(test, streams, intervals, notes)


def nothing_measured(error: str | None) -> RawFileError:
    """Return the reject of a result without data, with the tool's own error if it reports one."""
    if error is None:
        return RawFileError("no_measurement", "the result has neither intervals nor totals; rerun the test")
    message = (
        f"the tool reports: {error}; nothing was measured: check that the server runs and is reachable, then rerun"
    )
    return RawFileError("error_only", message)


def interrupted(error: str | None) -> RawFileError:
    """Return the note on a test that ended before its time."""
    reason = error or "the result has no end block"
    return RawFileError("interrupted", f"{reason}; the intervals are kept, but the run stays out of means: rerun it")


def _error_text(document: JsonObject, tail: str) -> str | None:
    if (error := document.get("error")) is not None:
        return quote(error if isinstance(error, str) else repr(error))
    return quote(tail) if tail.startswith("iperf3: ") else None


def _header(document: Document) -> Row:
    start, header = document.start, document.header
    timestamp = get_object(start, "timestamp")
    seconds, system = timestamp.get("timesecs"), start.get("system_info")
    return {
        "tool_version": start.get("version"),
        "protocol": header.get("protocol"),
        "is_reverse": bool(header.get("reverse")),
        "streams_count": header.get("num_streams"),
        # The time is 0 in a test by volume, and the volume in one by time.
        "duration_s": header.get("duration") or None,
        "omit_s": header.get("omit"),
        "volume_bytes": header.get("bytes") or None,
        "block_bytes": header.get("blksize"),
        # A server prints 0.
        "mss_bytes": start.get("tcp_mss") or start.get("tcp_mss_default") or None,
        "target_bitrate_bps": header.get("target_bitrate", start.get("target_bitrate")),
        "fq_rate_bps": header.get("fqrate", start.get("fq_rate")),
        "start_utc": timestamp.get("timemillisecs", seconds * 1000 if isinstance(seconds, int) else seconds),
        # pscheduler blots out the host's name.
        "system": None if system == "REDACTED" else system.strip() if isinstance(system, str) else system,
    }


def _end(document: Document) -> Row:
    end = document.end
    shares = get_object(end, "cpu_utilization_percent")
    row: Row = {f"cpu_{key}_pct": shares.get(key) for key in ("host_total", "host_user", "host_system")}
    # All zero where nothing of the other host came over the control connection.
    if document.knows_both_hosts or any(shares.get(key) for key in REMOTE_CPU):
        row |= {f"cpu_{key}_pct": shares.get(key) for key in REMOTE_CPU}
    return row | {"cc_sender": end.get("sender_tcp_congestion"), "cc_receiver": end.get("receiver_tcp_congestion")}
