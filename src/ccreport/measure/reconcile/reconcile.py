"""One flow, three witnesses: what iperf3, ss and a capture say of it, side by side, and why they differ.

Why and within which tolerance a cause explains a difference is in `retransmits` and `rates`. Control
connections are in a capture and in the samples of ss, but no tool names them as flows, so they have no row.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.core.tables import load_schema
from ccreport.measure.connections import CONNECTION
from ccreport.measure.reconcile.captured_flows import STEP_US, Steps, select_captured, split_steps
from ccreport.measure.reconcile.rates import compare_iperf3_goodput, compare_rtt_minima, compare_ss_goodput
from ccreport.measure.reconcile.retransmits import (
    Flow,
    Sample,
    compare_iperf3_retransmits,
    compare_ss_retransmits,
    to_us,
)

DIRECTION: Final = ("raw_file_id", "flow_id", "connection_number", "direction")
# What the witnesses of a flow are compared by, beyond the columns of the table.
OF_FLOW: Final = (
    "flow_id",
    "client_number",
    "is_reverse",
    "cc",
    "mss_bytes",
    "omit_s",
    "sender_s",
    "receiver_s",
    "receiver_bytes",
    "retransmits_iperf3_count",
    "retransmits_ss_count",
    "dsack_dups_count",
    "data_segments_out_count",
    pl.col("goodput_bps").alias("goodput_iperf3_bps"),
    pl.col("tool_rtt_min_ms").alias("rtt_min_iperf3_ms"),
    pl.col("ss_rtt_min_ms").alias("rtt_min_ss_ms"),
)
# What is taken of a sample, as `Sample` has it.
OF_SAMPLE: Final = ("retransmits_ss_count", "retransmitted_bytes", "acked_bytes", "rtt_ms")
COMPARISONS: Final = (
    compare_ss_retransmits,
    compare_iperf3_retransmits,
    compare_iperf3_goodput,
    compare_ss_goodput,
    compare_rtt_minima,
)


def reconcile_flows(
    flows: pl.DataFrame,
    packet_flows: pl.DataFrame,
    samples: Path,
    stamps: pl.DataFrame,
    captures: pl.DataFrame,
    capture_logs: pl.DataFrame,
    packet_intervals: Path,
) -> pl.DataFrame:
    """Return the `reconciliation` of one experiment: one row for each capture and data flow in it.

    `flows` is what `join_flows` returns, the others are tables as ingested (`stamps` is `sample_stamps`).
    """
    captured = select_captured(flows, packet_flows)
    if not captured.height:
        return pl.DataFrame(schema=load_schema("reconciliation").polars)
    accepted = packet_flows.select(
        *DIRECTION[:-1],
        pl.col("direction").replace({"out": "in", "in": "out"}),
        pl.col("mss_announced_bytes").alias("mss_accepted_bytes"),
    )
    captured = captured.join(accepted, on=DIRECTION, how="left")
    facts = _join_witnesses(flows, captured, captures, capture_logs).sort("raw_file_id", "flow_id")
    steps = split_steps(_read_steps(packet_intervals, captured), DIRECTION)
    of_ss = split_steps(_read_samples(samples, stamps, captured), ["flow_id"])
    rows = [_reconcile(flow) for flow in _list_flows(facts, steps, of_ss)]
    schema = load_schema("reconciliation").polars
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)


def _join_witnesses(
    flows: pl.DataFrame, captured: pl.DataFrame, captures: pl.DataFrame, capture_logs: pl.DataFrame
) -> pl.DataFrame:
    """Return per captured flow what each witness says, and what tcpdump said at the end of the run's captures."""
    connected = pl.col("syn_utc") + pl.duration(microseconds=pl.col("handshake_rtt_ms").fill_null(0.0) * 1000)
    # At the receiver an acknowledgement answers at once; only the handshake has crossed the whole path there.
    of_path = pl.when(pl.col("capture_side") == "sender").then(
        pl.min_horizontal("ack_rtt_min_ms", "timestamp_rtt_min_ms", "handshake_rtt_ms")
    )
    # A run with several captures has one log for each, and which belongs to which is not known.
    logs = (
        capture_logs.group_by("run_id")
        .agg(
            pl.when(pl.len() == 1)
            .then((pl.col("received_packets_count").first() - pl.col("captured_packets_count").first()).clip(0))
            .alias("left_count"),
            *(
                pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()).alias(name)
                for name in ("kernel_drops_count", "interface_drops_count")
            ),
            pl.len().alias("logs_count"),
        )
        .with_columns(drops_count=pl.col("kernel_drops_count") + pl.col("interface_drops_count"))
    )
    ends = captures.select("raw_file_id", pl.col("last_utc").alias("capture_end_utc"))
    return (
        captured.join(flows.select(OF_FLOW), on="flow_id")
        .join(ends, on="raw_file_id")
        .join(logs.select("run_id", "left_count", "drops_count"), on="run_id", how="left")
        .with_columns(
            connected_utc=connected.max().over("raw_file_id", "client_number"),
            # What a socket says of its MSS while it connects is only a first guess.
            mss_bytes=pl.max_horizontal("mss_bytes", "mss_accepted_bytes"),
            rtt_min_capture_ms=pl.coalesce(of_path, "handshake_rtt_ms"),
            retransmits_ss_net_count=(pl.col("retransmits_ss_count") - pl.col("dsack_dups_count")).clip(0),
            ss_difference_count=pl.col("retransmits_capture_count") - pl.col("retransmits_ss_count"),
            iperf3_difference_count=pl.col("retransmits_capture_count") - pl.col("retransmits_iperf3_count"),
        )
    )


def _read_steps(packet_intervals: Path, captured: pl.DataFrame) -> pl.DataFrame:
    wanted = captured.lazy().select(DIRECTION)
    return pl.scan_parquet(packet_intervals, glob=False).join(wanted, on=DIRECTION, how="semi").collect()


def _read_samples(samples: Path, stamps: pl.DataFrame, captured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples of the captured flows' last connections that hold a count of retransmits, in order.

    A sample was taken between its stamp and the next one of its file (`until_utc`).
    """
    # ASSUME: the last sample of a file took no longer than the longest before it.
    gap = pl.col("time_utc").diff().max().over("raw_file_id").fill_null(pl.duration(microseconds=STEP_US))
    until = (
        stamps.lazy()
        .sort("raw_file_id", "time_utc")
        .with_columns(until_utc=pl.coalesce(pl.col("time_utc").shift(-1).over("raw_file_id"), pl.col("time_utc") + gap))
    )
    is_last = pl.col("connection_number") == pl.col("connection_number").max().over("run_id", "flow_id")
    return (
        pl.scan_parquet(samples, glob=False)
        .select(*CONNECTION, "raw_file_id", "time_utc", *OF_SAMPLE)
        .join(captured.lazy().filter(pl.col("direction") == "out").select("flow_id").unique(), on="flow_id", how="semi")
        .filter(is_last)
        .filter(pl.col("retransmits_ss_count").is_not_null())
        .join(until, on=["raw_file_id", "time_utc"])
        .sort("flow_id", "time_utc")
        .select("flow_id", "time_utc", "until_utc", *OF_SAMPLE)
        .collect()
    )


def _list_flows(
    facts: pl.DataFrame, steps: dict[tuple[object, ...], pl.DataFrame], of_ss: dict[tuple[object, ...], pl.DataFrame]
) -> Iterator[Flow]:
    # A direction without a packet has no steps.
    nothing = pl.DataFrame(schema=load_schema("packet_intervals").polars)
    for row in facts.iter_rows(named=True):
        sampled = of_ss.get((row["flow_id"],))
        samples = [] if sampled is None else sampled.drop("flow_id").rows()
        yield Flow(
            facts=row,
            steps=Steps(steps.get(tuple(row[name] for name in DIRECTION), nothing)),
            samples=[Sample(to_us(time), to_us(until), *read) for time, until, *read in samples],
            connected_us=to_us(row["connected_utc"]) if row["syn_utc"] else None,
            capture_end_us=to_us(row["capture_end_utc"]),
            left_count=row["left_count"],
            drops_count=row["drops_count"],
        )


def _reconcile(flow: Flow) -> dict[str, Any]:
    row = flow.facts
    first, last = (flow.samples[0], flow.samples[-1]) if flow.samples else (None, None)
    retransmitted = goodput = None
    if first and last:
        retransmitted = last.retransmitted_bytes
        seconds = (last.time_us - first.time_us) / 1e6
        if seconds > 0 and first.acked_bytes is not None and last.acked_bytes is not None:
            goodput = max(0, last.acked_bytes - first.acked_bytes) * 8 / seconds
    row |= {"retransmitted_ss_bytes": retransmitted, "goodput_ss_bps": goodput}
    findings = [finding for compare in COMPARISONS for finding in compare(flow)]
    texts = [finding.text if finding.holds else f"unexplained: {finding.text}" for finding in findings]
    return row | {
        "explanation": "; ".join(texts) or "all agree",
        "is_explained": all(finding.holds for finding in findings),
    }
