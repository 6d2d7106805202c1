"""What `pscheduler task --format=json throughput` prints, with the tools' whole output in `diags` or without.

iperf3's keys are renamed and most are left out; `tcp-window-size` is the congestion window. Where iperf3 reports an
error, the result is a failure, though it has intervals.
"""

import json
from typing import Any

from .draws import PORT, Run
from .intervals import Intervals
from .iperf3_output import INTERRUPTED, REFUSED, print_raw
from .plan import Job


def print_pscheduler(job: Job, run: Run, intervals: Intervals, duration_s: int, *, is_interrupted: bool = False) -> str:
    """Return the whole result of a run."""
    result: dict[str, Any] = {"succeeded": not is_interrupted, "diags": ""}
    if job.client.has_diags:
        raw = print_raw(job, run, intervals, duration_s, is_interrupted=is_interrupted)
        command = _command(job, duration_s)
        server = f"iperf3 -p {PORT} -s -1 --json"
        result["diags"] = f"Participant 0:\n{command}\n\n{raw}\nParticipant 1:\n{server}\n\n\n"
    if is_interrupted:
        result["error"] = f"Iperf3 failed: {INTERRUPTED}"
    starts = [0, *intervals.ends_us[:-1]]
    result["intervals"] = [
        _interval(run, intervals, place, span) for place, span in enumerate(zip(starts, intervals.ends_us, strict=True))
    ]
    result["summary"] = _summary(job, run, intervals, is_interrupted=is_interrupted)
    return json.dumps(result) + "\n"


def print_failure(job: Job, duration_s: int) -> str:
    """Return the result of a task whose iperf3 found no server."""
    diags = f"Participant 0:\n{_command(job, duration_s)}\n" if job.client.has_diags else ""
    return json.dumps({"succeeded": False, "diags": diags, "error": f"Iperf3 failed: {REFUSED}"}) + "\n"


def _command(job: Job, duration_s: int) -> str:
    options = f"-t {duration_s} --json -P {job.flows_count} -C {job.cc}"
    return f"iperf3 -p {PORT} -c {job.destination.address} {options}"


def _interval(run: Run, intervals: Intervals, place: int, span: tuple[int, int]) -> dict[str, Any]:
    streams = [
        _stream(flow.socket, intervals.sent[number][place], span, intervals.retransmits[number][place])
        | {"tcp-window-size": intervals.cwnd[number][place], "rtt": intervals.rtt[number][place], "omitted": False}
        for number, flow in enumerate(run.flows)
    ]
    return {"streams": streams, "summary": _added(streams, span) | {"omitted": False}}


def _summary(job: Job, run: Run, intervals: Intervals, *, is_interrupted: bool) -> dict[str, Any]:
    span = (0, intervals.ends_us[-1])
    streams = []
    for number, flow in enumerate(run.flows):
        rtts = intervals.rtt[number]
        stream = _stream(flow.socket, sum(intervals.sent[number]), span, sum(intervals.retransmits[number]))
        streams.append(stream | {"rtt": sum(rtts) // len(rtts)})
    total = _added(streams, span)
    if not is_interrupted and job.client.has_diags:
        received = sum(flow.receiver_bytes for flow in run.flows)
        total["receiver-throughput-bits"] = received * 8e6 / run.receiver_us
    return {"streams": streams, "summary": total}


def _stream(number: int | None, sent: int, span: tuple[int, int], retransmits: int) -> dict[str, Any]:
    start_us, end_us = span
    return {
        "stream-id": number,
        "start": start_us / 1e6,
        "end": end_us / 1e6,
        "throughput-bytes": sent,
        "throughput-bits": sent * 8e6 / (end_us - start_us),
        "retransmits": retransmits,
    }


def _added(streams: list[dict[str, Any]], span: tuple[int, int]) -> dict[str, Any]:
    sent, retransmits = (sum(stream[key] for stream in streams) for key in ("throughput-bytes", "retransmits"))
    return _stream(None, sent, span, retransmits)
