"""What limited each flow between two samples of `ss`: the first of LIMITS whose definition holds.

Linux counts how long a flow was busy (data unsent or unacknowledged) and, of that, how long the receive window or a
full send buffer held it back (tcp_info: tcpi_busy_time, tcpi_rwnd_limited, tcpi_sndbuf_limited; the last two are parts
of the first and exclude each other). What it does not count is told from the state at the sample: the segments in
flight against the congestion window, BBR's gains and pacing rate, the bytes in queues of the sending host (sk_wmem),
and the busiest processor of that half second.
"""

from typing import Final

import polars as pl

from ccreport.figures.select.sampled_rates import FLOW, place_flow_samples

# In the order in which they are tried; the last is where none holds.
LIMITS: Final = (
    "receive_window",
    "send_buffer",
    "idle",
    "congestion_window",
    "cpu",
    "application",
    "pacing",
    "unknown",
)
# Most of the time: at most one of exclusive shares is above.
MOST: Final = 0.5
# Mean in flight, of the congestion window: what remains is rounding of RTT and window.
FULL_WINDOW: Final = 0.9
# Rate of a flow that BBR paces, of its pacing rate without gain: cycles of gain and short pauses remain.
PACED_RATE: Final = 0.75
# A core that is busy for this share of the time has nothing left to give.
SATURATED_PCT: Final = 95.0
# TCP Small Queues let a flow have data for 1 ms at its pacing rate in the queues of its host.
LOCAL_QUEUE_MS: Final = 1.0

# What limits are drawn as, in the order in which they are stacked: where nothing was to send, the application was slow.
CATEGORIES: Final = (
    "congestion_window",
    "pacing",
    "receive_window",
    "send_buffer",
    "application",
    "cpu",
    "unknown",
)
DRAWN_AS: Final = {"idle": "application"}

COUNTERS: Final = ("busy_ms", "rwnd_limited_ms", "sndbuf_limited_ms", "sent_bytes")


def measure_growth(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return each pair of consecutive samples of a flow: run_id, flow_id, cc, from_s, until_s, and what decides.

    The state at the later sample, the growth of COUNTERS (null where one of both is unknown), and `elapsed_ms`,
    `window_segments` (mean of both samples), `unpaced_bps` (mean pacing rate, less BBR's gain). A counter that shrinks
    belongs to another connection: unknown.
    """
    placed = place_flow_samples(samples, flows)
    before = {name: pl.col(name).shift(1).over(FLOW) for name in ("time_s", "cwnd_segments_count", "rtt_ms")}
    growth = [pl.col(name).diff().over(FLOW).alias(name) for name in COUNTERS]
    unpaced = pl.col("pacing_rate_bps") / pl.when(pl.col("bbr_pacing_gain_ratio") > 0).then(
        "bbr_pacing_gain_ratio"
    ).fill_null(1.0)
    pairs = placed.with_columns(unpaced_bps=unpaced).with_columns(
        *growth,
        from_s=before["time_s"],
        window_segments=(pl.col("cwnd_segments_count") + before["cwnd_segments_count"]) / 2,
        smoothed_rtt_ms=(pl.col("rtt_ms") + before["rtt_ms"]) / 2,
        unpaced_bps=(pl.col("unpaced_bps") + pl.col("unpaced_bps").shift(1).over(FLOW)) / 2,
    )
    return (
        pairs.filter(pl.col("time_s") > pl.col("from_s"))
        .with_columns(pl.when(pl.col(name) >= 0).then(name).alias(name) for name in COUNTERS)
        .with_columns(until_s=pl.col("time_s"), elapsed_ms=1000 * (pl.col("time_s") - pl.col("from_s")))
    )


def find_busiest(growth: pl.DataFrame, loads: pl.DataFrame) -> pl.DataFrame:
    """Return `growth` with `busiest_pct`: the highest load of a core of either host at the middle of each pair.

    `loads` as place_cpu_samples returns it.
    """
    keyed = growth.with_columns(middle_s=(pl.col("from_s") + pl.col("until_s")) / 2).with_row_index("pair")
    busiest = (
        keyed.select("pair", "run_id", "middle_s")
        .join(loads, on="run_id")
        .filter(pl.col("middle_s").is_between("start_s", "end_s"))
        .group_by("pair")
        .agg(pl.col("busiest_pct").max())
    )
    return keyed.join(busiest, on="pair", how="left", maintain_order="left").drop("pair", "middle_s")


def classify(growth: pl.DataFrame) -> pl.DataFrame:
    """Return `growth` with `limit`: the first of LIMITS whose definition holds; what is not known holds nothing."""
    held = {
        "receive_window": _share_of_busy("rwnd_limited_ms") >= MOST,
        "send_buffer": _share_of_busy("sndbuf_limited_ms") >= MOST,
        "idle": (pl.col("busy_ms") < MOST * pl.col("elapsed_ms")) & (_has_unsent() == 0),
        "congestion_window": _is_window_full(),
        "cpu": pl.col("busiest_pct") >= SATURATED_PCT,
        "application": pl.col("is_app_limited") & (_has_unsent() == 0),
        "pacing": _is_paced(),
    }
    limit = pl.lit("unknown")
    for name in reversed(list(held)):
        limit = pl.when(held[name].fill_null(False)).then(pl.lit(name)).otherwise(limit)
    return growth.with_columns(limit=limit)


def _share_of_busy(column: str) -> pl.Expr:
    return pl.when(pl.col("busy_ms") > 0).then(pl.col(column) / pl.col("busy_ms"))


def _has_unsent() -> pl.Expr:
    return pl.col("not_sent_bytes").fill_null(0)


def _sent_bps() -> pl.Expr:
    """Return the rate while the flow was busy: the kernel's clock, which a sample that is taken late does not bend."""
    busy_ms = pl.coalesce("busy_ms", "elapsed_ms")
    return pl.when(busy_ms > 0).then(8000 * pl.col("sent_bytes") / busy_ms)


def _is_window_full() -> pl.Expr:
    # Linux, tcp_packets_in_flight: what was sent and is neither acknowledged nor believed lost, and sent again.
    left = pl.col("sacked_count").fill_null(0) + pl.col("lost_count").fill_null(0)
    in_flight = pl.col("unacked_count") - left + pl.col("retransmits_in_flight_count").fill_null(0)
    # Little's law: what is in flight on average is the rate times the round trip.
    mean_in_flight = _sent_bps() / 8000 * pl.col("smoothed_rtt_ms") / pl.col("mss_bytes")
    is_full = (in_flight >= pl.col("cwnd_segments_count")) & (in_flight > 0)
    is_full_on_average = (mean_in_flight >= FULL_WINDOW * pl.col("window_segments")) & (pl.col("window_segments") > 0)
    # In ProbeRTT BBR shrinks its window to drain the path; in all its other states this gain is 2 or more.
    is_probing_rtt = pl.col("bbr_cwnd_gain_ratio") <= 1
    return is_full.fill_null(False) | is_full_on_average.fill_null(False) | is_probing_rtt.fill_null(False)


def _is_paced() -> pl.Expr:
    queued_ms = 8000 * pl.col("skmem_wmem_bytes") / pl.col("pacing_rate_bps")
    waits_in_host = (pl.col("pacing_rate_bps") > 0) & (queued_ms >= LOCAL_QUEUE_MS)
    has_pacing_rate = pl.col("bbr_pacing_gain_ratio").is_not_null()
    is_at_rate = has_pacing_rate & (pl.col("unpaced_bps") > 0) & (_sent_bps() >= PACED_RATE * pl.col("unpaced_bps"))
    limited_bps = pl.col("pacing_rate_max_bps")
    is_at_limit = (limited_bps > 0) & (_sent_bps() >= PACED_RATE * limited_bps)
    return waits_in_host.fill_null(False) | is_at_rate.fill_null(False) | is_at_limit.fill_null(False)


def sum_limits(limits: pl.DataFrame, bin_s: float, end_s: float) -> pl.DataFrame:
    """Return the share of an algorithm's observed flow time that each category had in a bin.

    The columns are cc, start_s, end_s, category, share, and low and high, between which the category is drawn.
    `limits` has run_id, flow_id, cc, from_s, until_s and limit; what is before 0 or beyond `end_s` is cut off, and
    the last bin ends with the last sample. A bin of which less than half was observed for every flow is left out.
    """
    spread = _spread_over_bins(limits, bin_s, end_s)
    bins = ["cc", "bin"]
    last_s = pl.min_horizontal((pl.col("bin") + 1) * bin_s, pl.col("until_s").max().over("cc"))
    kept = (
        spread.with_columns(last_s=last_s)
        .group_by("flow_id", *bins, "last_s")
        .agg(pl.col("covered_s").sum())
        .filter(pl.col("covered_s") >= (pl.col("last_s") - pl.col("bin") * bin_s) / 2)
    )
    return (
        spread.join(kept.select(*bins, "last_s").unique(), on=bins)
        .group_by(*bins, "last_s", "category")
        .agg(pl.col("covered_s").sum())
        .with_columns(share=pl.col("covered_s") / pl.col("covered_s").sum().over(bins))
        .sort(*bins, pl.col("category").cast(pl.Enum(CATEGORIES)))
        .with_columns(high=pl.col("share").cum_sum().over(bins))
        .select(
            "cc",
            start_s=pl.col("bin") * bin_s,
            end_s="last_s",
            category="category",
            share=pl.col("share").round(4),
            low=(pl.col("high") - pl.col("share")).round(4).clip(0, 1),
            high=pl.col("high").round(4).clip(0, 1),
        )
    )


def _spread_over_bins(limits: pl.DataFrame, bin_s: float, end_s: float) -> pl.DataFrame:
    """Return one row for each bin that a pair of samples touches, with the time in s that both have in common."""
    from_bin, until_bin = ((pl.col(name) / bin_s).floor().cast(pl.Int64) for name in ("from_s", "until_s"))
    first_s = pl.max_horizontal("from_s", pl.col("bin") * bin_s)
    last_s = pl.min_horizontal("until_s", (pl.col("bin") + 1) * bin_s)
    return (
        limits.with_columns(
            from_s=pl.col("from_s").clip(0),
            until_s=pl.min_horizontal("until_s", pl.lit(end_s)),
            category=pl.col("limit").replace(DRAWN_AS),
        )
        .with_columns(bin=pl.int_ranges(from_bin, until_bin + 1))
        .explode("bin")
        .with_columns(covered_s=last_s - first_s)
        .filter(pl.col("covered_s") > 0)
    )
