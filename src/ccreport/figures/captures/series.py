"""Captured flows over time: which directions of a capture carry the test's data, and their steps, binned for drawing.

A flow is seen in the direction with more payload. Where two captures hold it, that taken beside the sender is used, as
only there an RTT is the whole path's.
"""

import math
from typing import Final

import polars as pl

from ccreport.figures.select.series import UNKNOWN_CC

STEP_S: Final = 0.1
# Steps are joined until a run has no more: a panel is 300 to 700 px wide.
BINS_AT_MOST: Final = 400
WIDTHS: Final = (1, 2, 5)
POINTS_OF_DISTRIBUTION: Final = 400
LINK: Final = ("raw_file_id", "flow_id", "connection_number", "direction")
SIDES: Final = ["sender", "between", "receiver"]


def list_captured_flows(connections: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per flow that a capture holds: its columns in `packet_flows`, and cc, by run and local port.

    `connections` has rows of `packet_flows`, `flows` of the table of that name; connections that are not flows, as
    control connections, are left out.
    """
    sides = pl.col("capture_side").replace_strict(SIDES, range(len(SIDES)), default=len(SIDES), return_dtype=pl.Int64)
    own = flows.select("run_id", "flow_id", pl.col("cc").fill_null(UNKNOWN_CC))
    return (
        connections.filter(pl.col("payload_bytes") > 0)
        .join(own, on=["run_id", "flow_id"])
        .sort("payload_bytes", "direction", descending=[True, False], maintain_order=True)
        .unique(LINK[:3], keep="first", maintain_order=True)
        .sort(sides, maintain_order=True)
        .unique(["run_id", "flow_id"], keep="first", maintain_order=True)
        .sort("run_id", "local_port", "remote_port", "flow_id")
    )


def place_steps(steps: pl.DataFrame, captured: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `packet_intervals` of these flows with their number, cc and start_s.

    `number` counts the flows from 0 in their order. `start_s` is the start of the step in seconds since the first
    packet of the run's flows.
    """
    starts = pl.col("first_utc").min().over("run_id").alias("zero_utc")
    numbered = captured.with_row_index("number").select(*LINK, "number", "cc", starts)
    since_s = (pl.col("interval_utc") - pl.col("zero_utc")).dt.total_microseconds() / 1e6
    return (
        steps.join(numbered, on=LINK)
        .with_columns(since_s.alias("start_s"))
        .drop("zero_utc")
        .sort("number", "interval_utc")
    )


def choose_width_s(duration_s: float, bins_at_most: int = BINS_AT_MOST) -> float:
    """Return the smallest width of bins in s, 1, 2 or 5 times 100 ms times a power of ten, that fits the number."""
    steps = duration_s / STEP_S
    power = 1
    while True:
        for width in WIDTHS:
            if steps / (width * power) <= bins_at_most:
                return round(width * power * STEP_S, 1)
        power *= 10


def bin_steps(placed: pl.DataFrame, width_s: float) -> pl.DataFrame:
    """Return steps joined to bins: number, cc, start_s, end_s, counts, ends of sequence, RTT and bytes in flight.

    Counts are sums, ends the highest so far, means weighted by RTT samples or data packets. Values of RTT and bytes in
    flight are null in bins without any.
    """
    origin = pl.col("start_s").min().over("run_id")
    # A bin is named by its number: sums of its width in floating point are not keys.
    numbered = placed.with_columns(
        pl.len().over("number").alias("_"), bin_number=((pl.col("start_s") - origin) / width_s + 1e-6).floor()
    ).with_columns(start_s=origin + pl.col("bin_number") * width_s)
    return (
        numbered.group_by("number", "bin_number", maintain_order=True)
        .agg(
            pl.col("run_id", "flow_id", "cc", "start_s").first(),
            # What comes before the first packet of the capture is not part of its time.
            pl.max_horizontal(pl.col("start_s").first() + width_s, 0.0).alias("end_s"),
            pl.col("retransmits_capture_count", "sack_blocks_count").sum(),
            pl.col("sequence_end_bytes", "acknowledged_end_bytes").max(),
            pl.col("window_end_bytes").drop_nulls().last(),
            pl.col("ack_rtt_min_ms").min(),
            pl.col("ack_rtt_max_ms").max(),
            weighted_mean("ack_rtt_mean_ms", "ack_rtt_samples_count"),
            weighted_mean("in_flight_mean_bytes", "data_packets_count"),
        )
        .drop("bin_number")
        .sort("number", "start_s")
    )


def weighted_mean(column: str, weight: str) -> pl.Expr:
    """Return the mean of what is known of a column, weighted; null without any weight."""
    weights = pl.col(weight).filter(pl.col(column).is_not_null())
    sums = (pl.col(column).drop_nulls() * weights).sum()
    return pl.when(weights.sum() > 0).then(sums / weights.sum()).alias(column)


def measure_duration_s(placed: pl.DataFrame) -> float:
    """Return the time from the first to the end of the last step in s."""
    first, last = placed.select(pl.col("start_s").min(), pl.col("start_s").max().alias("last")).row(0)
    return float(last - first + STEP_S)


def distribute_rtts(placed: pl.DataFrame) -> pl.DataFrame:
    """Return the cumulative distribution of RTT by algorithm: cc, rtt_ms, share (0 to 1), thinned out evenly.

    Each 100 ms step counts with its mean RTT and its number of samples.
    """
    parts = []
    for (cc,), steps in placed.filter(pl.col("ack_rtt_samples_count") > 0).group_by("cc", maintain_order=True):
        weights = pl.col("ack_rtt_samples_count").cast(pl.Float64)
        ranked = (
            steps.group_by(rtt_ms=pl.col("ack_rtt_mean_ms").round(3))
            .agg(weights.sum())
            .sort("rtt_ms")
            .with_columns(share=weights.cum_sum() / weights.sum())
        )
        place = (pl.col("share") * POINTS_OF_DISTRIBUTION).ceil()
        thinned = ranked.filter((place != place.shift(-1)).fill_null(True))
        parts.append(thinned.select(pl.lit(cc).alias("cc"), "rtt_ms", "share"))
    schema = {"cc": pl.String, "rtt_ms": pl.Float64, "share": pl.Float64}
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def find_quantile(distribution: pl.DataFrame, share: float) -> float:
    """Return the smallest RTT in ms at or below which this share of a distribution (rtt_ms, share) is."""
    reached = distribution.filter(pl.col("share") >= share - 1e-9)["rtt_ms"]
    return float(reached[0]) if reached.len() else math.nan
