"""A run's flows as qlog, which viewers of QUIC's congestion control show: windows, RTTs and states over time.

The format is that of draft-ietf-quic-qlog-main-schema-13 and draft-ietf-quic-qlog-quic-events-12. A flow is a trace
with the events `quic:recovery_metrics_updated` and `quic:congestion_state_updated`. What TCP counts in segments is in
bytes, as QUIC has it. Nothing is sampled at the moment of a change: the time of an event is when it was seen.

The viewer qvis reads no file without `qlog_version`, which these drafts do not have any more, and qlog 0.3 at the
latest: `convert_for_qvis` makes one. Its axis of time is as long as the packets that a file has, of which samples have
none; so each sample, or interval, becomes one packet of all bytes that were sent since the sample before.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

EVENT_SCHEMA: Final = "urn:ietf:params:qlog:events:quic-12"
METRICS: Final = "quic:recovery_metrics_updated"
STATE: Final = "quic:congestion_state_updated"
# Their names in qlog 0.3.
FORMER_NAMES: Final = {METRICS: "recovery:metrics_updated", STATE: "recovery:congestion_state_updated"}
SENT: Final = "transport:packet_sent"
Row = Mapping[str, Any]


def write_file(run_id: str, traces: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON object of a whole file."""
    return {
        "file_schema": "urn:ietf:params:qlog:file:contained",
        "serialization_format": "application/qlog+json",
        "title": run_id,
        "description": "TCP flows of a run as ss or iperf3 sampled them; windows are segments times the MSS",
        "traces": traces,
    }


def convert_for_qvis(file: Mapping[str, Any], sent: Sequence[Sequence[tuple[float, int]]]) -> dict[str, Any]:
    """Return a file of `write_file` as qlog 0.3, in which the reference time is a number of ms since 1970.

    `sent` are what `list_sent` returns, for each trace.
    """
    return {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": file["title"],
        "description": f"{file['description']}; a packet is all that was sent since the sample before",
        "traces": [_convert_trace(trace, packets) for trace, packets in zip(file["traces"], sent, strict=True)],
    }


def list_sent(samples: Sequence[Row], intervals: Sequence[Row]) -> list[tuple[float, int]]:
    """Return when a flow was sampled, in ms, with the bytes that it had sent since; of intervals without samples."""
    if not samples:
        return [(row["end_s"] * 1000, row["interval_bytes"] or 0) for row in intervals]
    counted = [row for row in samples if row["sent_bytes"] is not None]
    before = [0, *(row["sent_bytes"] for row in counted)][: len(counted)]
    return [
        ((row["time_utc"] - samples[0]["time_utc"]).total_seconds() * 1000, row["sent_bytes"] - former)
        for row, former in zip(counted, before, strict=True)
    ]


def _convert_trace(trace: Mapping[str, Any], sent: Sequence[tuple[float, int]]) -> dict[str, Any]:
    epoch = trace["common_fields"]["reference_time"]["epoch"]
    start_ms = 0.0 if epoch == "unknown" else datetime.fromisoformat(epoch).timestamp() * 1000
    packets = [
        _make_event(
            time_ms, SENT, {"header": {"packet_type": "1RTT", "packet_number": number}, "raw": {"length": length}}
        )
        for number, (time_ms, length) in enumerate(sent)
        if length > 0
    ]
    events = [event | {"name": FORMER_NAMES[event["name"]]} for event in trace["events"]]
    return {
        **{name: trace[name] for name in ("title", "description", "vantage_point")},
        "common_fields": {"time_format": "relative", "reference_time": start_ms},
        "events": sorted([*events, *packets], key=lambda event: float(event["time"])),
    }


def describe_flow(
    flow: Row, samples: Sequence[Row], intervals: Sequence[Row], start: datetime | None
) -> dict[str, Any]:
    """Return the trace of a flow: its samples of ss, else what its intervals say of window and round-trip time.

    `samples` are rows of the table, with a time and in its order; `start` is that of the run, in UTC.
    """
    epoch = samples[0]["time_utc"] if samples else start
    events = _follow_samples(samples, flow["mss_bytes"]) if samples else _follow_intervals(intervals)
    known = {"clock_type": "system", "epoch": _format_time(epoch)} if epoch else None
    return {
        "title": flow["flow_id"],
        "description": f"{flow['cc'] or 'unknown algorithm'}, sampled by {'ss' if samples else 'iperf3'}",
        "common_fields": {
            "time_format": "relative_to_epoch",
            "reference_time": known or {"clock_type": "monotonic", "epoch": "unknown"},
            "group_id": flow["flow_id"],
        },
        # Both are the client's own view, also of flows that it receives.
        "vantage_point": {"type": "client"},
        "event_schemas": [EVENT_SCHEMA],
        "events": list(events),
    }


def _format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _follow_samples(samples: Sequence[Row], mss_bytes: int | None) -> Iterator[dict[str, Any]]:
    start = samples[0]["time_utc"]
    last: dict[str, Any] = {}
    state: str | None = None
    for row in samples:
        time_ms = (row["time_utc"] - start).total_seconds() * 1000
        metrics = _drop_unknown(measure_sample(row, row["mss_bytes"] or mss_bytes))
        yield from _update(time_ms, metrics, last)
        if (now := name_state(row)) not in (None, state):
            yield _make_event(time_ms, STATE, _drop_unknown({"old": state, "new": now}))
            state = now


def measure_sample(row: Row, mss_bytes: int | None) -> dict[str, float | int | None]:
    """Return qlog's metrics of a sample of ss, null where it does not tell: ms, bytes and bit/s."""
    counts = [row[name] for name in ("unacked_count", "retransmits_in_flight_count", "lost_count", "sacked_count")]
    # As the kernel's tcp_packets_in_flight counts.
    sent, again, lost, sacked = (count or 0 for count in counts)
    in_flight = None if None in counts else max(sent + again - lost - sacked, 0)
    return {
        "min_rtt": row["rtt_min_ms"],
        "smoothed_rtt": row["rtt_ms"],
        "rtt_variance": row["rttvar_ms"],
        "congestion_window": _to_bytes(row["cwnd_segments_count"], mss_bytes),
        "bytes_in_flight": _to_bytes(in_flight, mss_bytes),
        "ssthresh": _to_bytes(row["ssthresh_segments_count"], mss_bytes),
        "packets_in_flight": in_flight,
        "pacing_rate": None if row["pacing_rate_bps"] is None else round(row["pacing_rate_bps"]),
    }


def name_state(row: Row) -> str | None:
    """Return the state of congestion control that a sample of ss shows, null where it does not tell.

    BBR's states follow from its gains, those of other algorithms from window and threshold, as RFC 9002 names them.
    """
    cwnd, threshold, lost = (row[name] for name in ("cwnd_segments_count", "ssthresh_segments_count", "lost_count"))
    pacing, gain = row["bbr_pacing_gain_ratio"], row["bbr_cwnd_gain_ratio"]
    if pacing is not None and gain is not None:
        # ASSUME: BBR's gains are those of the kernel: 2.89 in startup, 0.35 to drain, a window of 1 to probe the RTT.
        if pacing > 2:
            return "startup"
        if pacing < 0.5:
            return "drain"
        return "probe_rtt" if gain <= 1 else "probe_bw"
    if cwnd is None:
        return None
    if lost:
        return "recovery"
    # Before the first loss there is no threshold, and ss prints none.
    return "slow_start" if threshold is None or cwnd < threshold else "congestion_avoidance"


def _follow_intervals(intervals: Iterable[Row]) -> Iterator[dict[str, Any]]:
    last: dict[str, Any] = {}
    for row in intervals:
        # An interval's window and round-trip time are those at its end.
        metrics = {
            "smoothed_rtt": row["rtt_ms"],
            "rtt_variance": row["rttvar_ms"],
            "congestion_window": row["cwnd_bytes"],
        }
        yield from _update(row["end_s"] * 1000, _drop_unknown(metrics), last)


def _update(time_ms: float, metrics: Mapping[str, Any], last: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an event of the metrics that are not as they were last, and remember them."""
    if changed := {name: value for name, value in metrics.items() if last.get(name) != value}:
        last |= changed
        yield _make_event(time_ms, METRICS, changed)


def _make_event(time_ms: float, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"time": round(time_ms, 3), "name": name, "data": data}


def _to_bytes(segments: int | None, mss_bytes: int | None) -> int | None:
    return None if segments is None or mss_bytes is None else segments * mss_bytes


def _drop_unknown(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
