"""The answers to a made-up archive: what the tables must say of it, beside the archive as four Parquet files.

`conditions` (the numbers chosen, and those that whole bytes and segments amount to), `runs`, `flows`, and `files` with
the state and the reasons that the ledger must have. A run is found in the ledger by the path of its `src-cmd`. Of a run
with a defect the key says what was true of it, which the files may no longer tell.
"""

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

import polars as pl

from ccreport.core.text import display_name

from .draws import Flow, Run
from .files import FOREIGN_NAME, File, suffix_of
from .plan import LAT_SWEEP, Job
from .side_files import ping_ms

PLACE: Final = {"session": pl.String(), "job": pl.String()}
SCHEMAS: Final[Mapping[str, Mapping[str, pl.DataType]]] = {
    "conditions": PLACE
    | {
        "host": pl.String(),
        "point": pl.String(),
        "runs_count": pl.Int64(),
        "goodput_chosen_bps": pl.Float64(),
        "throughput_chosen_bps": pl.Float64(),
        "rate_chosen_cv": pl.Float64(),
        "retransmit_chosen_ratio": pl.Float64(),
        "goodput_bps": pl.Float64(),
        "goodput_cv": pl.Float64(),
        "throughput_bps": pl.Float64(),
        "throughput_cv": pl.Float64(),
        "retransmit_ratio": pl.Float64(),
    },
    "runs": PLACE
    | {
        "path": pl.String(),
        "run_number": pl.Int64(),
        "host": pl.String(),
        "point": pl.String(),
        "iteration": pl.Int64(),
        "defect": pl.String(),
        "is_counted": pl.Boolean(),
        "tool": pl.String(),
        "tool_version": pl.String(),
        "is_stream": pl.Boolean(),
        "has_diags": pl.Boolean(),
        "ss_version": pl.String(),
        "cc_list": pl.String(),
        "mode": pl.String(),
        "flows_count": pl.Int64(),
        "rtt_ms": pl.Float64(),
        "rtt_source": pl.String(),
        "rtt_min_ms": pl.Float64(),
        "loss_pct": pl.Float64(),
        "limit_packets_count": pl.Int64(),
        "parameter_value": pl.String(),
        "nic_bps": pl.Float64(),
        "throughput_bps": pl.Float64(),
        "goodput_bps": pl.Float64(),
        "retransmits_count": pl.Int64(),
        "segments_count": pl.Int64(),
        "cpu_sender_mean_pct": pl.Float64(),
    },
    "flows": {
        "path": pl.String(),
        "stream_number": pl.Int64(),
        "local_port": pl.Int64(),
        "cc": pl.String(),
        "sender_bytes": pl.Int64(),
        "sender_s": pl.Float64(),
        "receiver_bytes": pl.Int64(),
        "receiver_s": pl.Float64(),
        "retransmits_count": pl.Int64(),
        "segments_count": pl.Int64(),
        "rtt_min_ms": pl.Float64(),
    },
    "files": {
        "path": pl.String(),
        "run_number": pl.Int64(),
        "state": pl.String(),
        "reasons": pl.String(),
        "size_bytes": pl.Int64(),
    },
}
Rows = dict[str, list[dict[str, Any]]]


def answer_job(job: Job, runs: list[Run], files: list[File]) -> Rows:
    """Return the rows of the key about one job."""
    numbers = {suffix_of(job, run): run.number for run in runs}
    return {
        "conditions": [row for point in job.points if (row := _condition(job, runs, point.tail))],
        "runs": [_run(job, run) for run in runs],
        "flows": [_flow(job, run, flow) for run in runs for flow in run.flows],
        "files": [_file(job, file, numbers) for file in files],
    }


def _path(job: Job, name: bytes) -> str:
    path = f"{job.session}/{job.name}/{os.fsdecode(name)}"
    return path if path.isascii() else display_name(path)


def _host(job: Job, run: Run) -> str:
    return display_name(os.fsdecode(FOREIGN_NAME)) if run.defect == "non_utf8_name" else job.destination.name


def _rates(job: Job, run: Run) -> tuple[float, float | None]:
    """Return throughput and goodput of a run in bit/s; a result without diags knows nothing of the receiver."""
    sent, received = (sum(getattr(flow, f"{side}_bytes") for flow in run.flows) for side in ("sender", "receiver"))
    return sent * 8e6 / run.sender_us, received * 8e6 / run.receiver_us if job.client.names_connections else None


def _condition(job: Job, runs: list[Run], tail: str) -> dict[str, Any] | None:
    pooled = [run for run in runs if run.point.tail == tail and run.is_in_condition]
    if not pooled:
        return None
    point = pooled[0].point
    rates = [_rates(job, run) for run in pooled]
    throughput_bps, throughput_cv = _mean_and_cv([sent for sent, _ in rates])
    goodput_bps, goodput_cv = _mean_and_cv([received for _, received in rates if received is not None])
    retransmits, segments = (
        sum(getattr(flow, name) for run in pooled for flow in run.flows) for name in ("retransmits", "segments")
    )
    return {
        "session": job.session,
        "job": job.name,
        "host": job.destination.name,
        "point": tail,
        "runs_count": len(pooled),
        "goodput_chosen_bps": point.goodput_bps,
        "throughput_chosen_bps": point.goodput_bps * point.throughput_ratio,
        "rate_chosen_cv": point.goodput_cv if len(pooled) > 1 else None,
        "retransmit_chosen_ratio": point.retransmit_ratio,
        "goodput_bps": goodput_bps,
        "goodput_cv": goodput_cv,
        "throughput_bps": throughput_bps,
        "throughput_cv": throughput_cv,
        "retransmit_ratio": retransmits / segments,
    }


def _mean_and_cv(values: list[float]) -> tuple[float | None, float | None]:
    """Return mean and sample CV; no CV of one value."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean


def _run(job: Job, run: Run) -> dict[str, Any]:
    algorithms = sorted({flow.cc for flow in run.flows})
    throughput, goodput = _rates(job, run)
    rtt_min_ms = min(flow.rtt_min_us for flow in run.flows) / 1000
    rtt_ms, rtt_source = _rtt(job, run, rtt_min_ms)
    knows_version = job.client.tool == "iperf3" or job.client.has_diags
    return {
        "session": job.session,
        "job": job.name,
        "path": _path(job, b"src-cmd:" + suffix_of(job, run)),
        "run_number": run.number,
        "host": _host(job, run),
        "point": run.point.tail,
        "iteration": run.iteration,
        "defect": run.defect,
        "is_counted": run.is_counted,
        "tool": job.client.tool,
        "tool_version": f"iperf {job.client.version}" if knows_version else None,
        "is_stream": job.client.is_stream,
        "has_diags": job.client.has_diags,
        "ss_version": job.ss_version,
        "cc_list": ",".join(algorithms),
        "mode": "both" if len(algorithms) > 1 else algorithms[0],
        "flows_count": len(run.flows),
        "rtt_ms": rtt_ms,
        "rtt_source": rtt_source,
        "rtt_min_ms": rtt_min_ms,
        "loss_pct": run.point.loss_pct if job.has_netem else None,
        "limit_packets_count": run.point.limit,
        "parameter_value": run.point.parameter_value,
        "nic_bps": job.line_rate_bps,
        "throughput_bps": throughput,
        "goodput_bps": goodput,
        "retransmits_count": sum(flow.retransmits for flow in run.flows),
        "segments_count": sum(flow.segments for flow in run.flows),
        "cpu_sender_mean_pct": 100 - run.cpu_idle_pct,
    }


def _rtt(job: Job, run: Run, rtt_min_ms: float) -> tuple[float, str]:
    if job.has_netem and (job.path == LAT_SWEEP or run.defect != "missing_jobmeta"):
        return run.point.rtt_ms, "nominal"
    if ping_ms(job) and run.defect != "non_utf8_name":
        return float(ping_ms(job)), "ping"
    return rtt_min_ms, "ss"


def _flow(job: Job, run: Run, flow: Flow) -> dict[str, Any]:
    knows_all = job.client.names_connections
    return {
        "path": _path(job, b"src-cmd:" + suffix_of(job, run)),
        "stream_number": flow.socket,
        "local_port": flow.local_port if knows_all else None,
        "cc": flow.cc,
        "sender_bytes": flow.sender_bytes,
        "sender_s": run.sender_us / 1e6,
        "receiver_bytes": flow.receiver_bytes if knows_all else None,
        "receiver_s": run.receiver_us / 1e6 if knows_all else None,
        "retransmits_count": flow.retransmits,
        "segments_count": flow.segments,
        "rtt_min_ms": flow.rtt_min_us / 1000,
    }


def _file(job: Job, file: File, numbers: Mapping[bytes, int]) -> dict[str, Any]:
    _, _, rest = PurePosixPath(os.fsdecode(file.name)).name.partition(":")
    suffix = os.fsencode(rest.removesuffix(".json").removesuffix(".gz"))
    return {
        "path": _path(job, file.name),
        "run_number": numbers.get(suffix),
        "state": file.state,
        "reasons": ",".join(file.reasons),
        "size_bytes": len(file.content),
    }


def frames_of(rows: Iterable[Rows]) -> dict[str, pl.DataFrame]:
    """Return the rows of many jobs as one frame for each part of the key."""
    listed = list(rows)
    return {
        name: pl.DataFrame([row for tables in listed for row in tables[name]], schema=schema)
        for name, schema in SCHEMAS.items()
    }
