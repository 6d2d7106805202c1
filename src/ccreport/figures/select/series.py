"""Time series of a run from its intervals and `ss` samples, summed over the flows of each algorithm.

Two clocks meet here. Intervals are on the clock of their iperf3 client, which starts with its first stream; samples
are on that of the host. Both are counted from the first data sample of the run: a client that joined late is moved
by the start offset of its first flow. `ss` sees a flow up to one sampling interval after it began, so the two agree to
within that interval.
"""

from typing import Final

import polars as pl

# Bins of the papers' figures, and the next round widths for runs so long that the eye cannot part them.
BIN_WIDTHS_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
BINS_LIMIT: Final = 700
# What a plot of one line for each flow may hold: a file of some 100 kB.
POINTS_LIMIT: Final = 6000
# ASSUME: an interval or a start offset of more than a day is a broken number, no measurement.
LONGEST_S: Final = 86_400.0
# Regular samples are taken this closely (in bins) to the same time in every interval.
SNAP_BINS: Final = 0.2
UNKNOWN_CC: Final = "unknown"

RUN_CC: Final = ("run_id", "cc")


def choose_bin_s(spacing_s: float, duration_s: float) -> float:
    """Return the bin width in s: 0.5, or more where observations are further apart or a run would need 700 bins."""
    fitting = (width for width in BIN_WIDTHS_S if width * 1.5 >= spacing_s and duration_s / width <= BINS_LIMIT)
    return next(fitting, BIN_WIDTHS_S[-1])


def choose_width_s(spacing_s: float, duration_s: float, lines_count: int) -> float:
    """Return the width of bins in s for a line for each flow: 0.5, or the next that keeps the drawing small."""
    fitting = (
        width for width in BIN_WIDTHS_S if width * 1.5 >= spacing_s and lines_count * duration_s / width <= POINTS_LIMIT
    )
    return next(fitting, BIN_WIDTHS_S[-1])


def start_of_client() -> pl.Expr:
    """Return when a flow's client started, in s since the start of its run, as an expression over `flows`.

    Streams of one client share its clock even where `ss` saw some of them a sample later than the others.
    """
    return pl.col("start_offset_s").min().over("run_id", "client_number").fill_null(0.0)


def place_intervals(intervals: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return the intervals that count (not omitted, of a data flow, of known rate) with `cc`, on the run's clock.

    `intervals` and `flows` as the tables are; start_s and end_s of the result count from the start of the run.
    """
    flow = ["run_id", "flow_id"]
    algorithms = flows.select(*flow, pl.col("cc").fill_null(UNKNOWN_CC), offset_s=start_of_client())
    # iperf3's clock starts again after the omitted intervals.
    omitted_s = pl.col("end_s").filter("is_omitted").max().over(flow).fill_null(0.0)
    shift_s = pl.col("offset_s") + pl.col("omitted_s")
    length_s = pl.col("end_s") - pl.col("start_s")
    return (
        intervals.with_columns(omitted_s=omitted_s)
        .join(algorithms, on=flow)
        .filter(~pl.col("is_omitted"), pl.col("interval_bps").is_not_null())
        .filter(length_s > 0, pl.col("end_s") <= LONGEST_S, pl.col("start_s") >= 0, shift_s <= LONGEST_S)
        .with_columns(pl.col("start_s", "end_s") + shift_s)
    )


def measure_spacing_s(placed: pl.DataFrame) -> float:
    """Return the median length in s of placed intervals; 0 if there are none."""
    return _number(placed.select((pl.col("end_s") - pl.col("start_s")).median()))


def measure_duration_s(placed: pl.DataFrame) -> float:
    """Return where the last placed interval ends, in s since the start of its run; 0 if there are none."""
    return _number(placed.select(pl.col("end_s").max()))


def _number(frame: pl.DataFrame) -> float:
    number: float | None = frame.item()
    return number or 0.0


def sum_rates(placed: pl.DataFrame, bin_s: float) -> pl.DataFrame:
    """Return the summed rate of each algorithm per bin: run_id, cc, time_s (middle of the bin), rate_bps.

    An interval's bits are spread evenly over the bins it touches, so that the sum over bins is the sum over intervals.
    A bin that an algorithm's intervals cover less than half is left out: the rate of a sliver at the end is noise.
    """
    covered = pl.min_horizontal("end_s", pl.col("bin") * bin_s + bin_s) - pl.max_horizontal(
        "start_s", pl.col("bin") * bin_s
    )
    per_flow = (
        placed.with_columns(bin=pl.int_ranges(_bin_of("start_s", bin_s), _bin_of("end_s", bin_s) + 1))
        .explode("bin")
        .group_by(*RUN_CC, "flow_id", "bin", maintain_order=True)
        .agg(bits=(pl.col("interval_bps") * covered).sum(), covered_s=covered.sum())
    )
    return (
        per_flow.group_by(*RUN_CC, "bin", maintain_order=True)
        .agg(pl.col("bits").sum(), pl.col("covered_s").max())
        .filter(pl.col("covered_s") >= bin_s / 2)
        .select(*RUN_CC, time_s=(pl.col("bin") + 0.5) * bin_s, rate_bps=pl.col("bits") / pl.col("covered_s"))
        .sort(*RUN_CC, "time_s")
    )


def _bin_of(column: str, bin_s: float) -> pl.Expr:
    return (pl.col(column) / bin_s).floor().cast(pl.Int64())


def place_samples(samples: pl.DataFrame, flows: pl.DataFrame, *, each_run: bool = False) -> pl.DataFrame:
    """Return how much each data flow's retransmit counter grew from sample to sample.

    `samples` and `flows` as the tables are. The result has run_id, flow_id, cc, from_s and until_s (the sample before
    and this one, counted from the run's first data sample) and retransmits_count. A first sample contributes its count,
    as if one had been taken an interval earlier: the usual one of all runs, or of `each_run` by itself. Where a 4-tuple
    was used by several connections, the last of them is the flow. Samples whose counter is unknown are left out.
    """
    flow = ["run_id", "flow_id"]
    algorithms = flows.select(*flow, pl.col("cc").fill_null(UNKNOWN_CC))
    since_start = (pl.col("time_utc") - pl.col("time_utc").min().over("run_id")).dt.total_microseconds() / 1e6
    growth = (
        samples.select(*flow, "connection_number", "time_utc", "retransmits_ss_count")
        .join(algorithms, on=flow)
        .filter(pl.col("connection_number") == pl.col("connection_number").max().over(flow))
        .with_columns(until_s=since_start)
        .filter(pl.col("retransmits_ss_count").is_not_null(), pl.col("until_s") <= LONGEST_S)
        .sort(*flow, "until_s")
        .with_columns(
            from_s=pl.col("until_s").shift(1).over(flow),
            retransmits_count=pl.col("retransmits_ss_count")
            .diff()
            .over(flow)
            .fill_null(pl.col("retransmits_ss_count")),
        )
    )
    usual_s = _usual_sampling_s(each_run=each_run)
    interval_s = pl.when(usual_s > 0).then(usual_s).otherwise(BIN_WIDTHS_S[0])
    return growth.select(
        *flow, "cc", pl.col("from_s").fill_null(pl.col("until_s") - interval_s), "until_s", "retransmits_count"
    )


def measure_sampling_s(growth: pl.DataFrame) -> float:
    """Return the median time in s between two samples of a flow; 0 where no flow has two."""
    return _number(growth.select(_usual_sampling_s(each_run=False)))


def _usual_sampling_s(*, each_run: bool) -> pl.Expr:
    usual_s = (pl.col("until_s") - pl.col("from_s")).median()
    return usual_s.over("run_id") if each_run else usual_s


def sum_retransmits(
    growth: pl.DataFrame, placed: pl.DataFrame, bin_s: float, *, each_run: bool = False
) -> pl.DataFrame:
    """Return the retransmitted segments of each algorithm per bin: run_id, cc, time_s, retransmits_count, source.

    From `ss` (`growth` of `place_samples`); where that lacks a flow which iperf3 (`placed` of `place_intervals`) knows,
    all of that algorithm in that run from iperf3. time_s is the middle of the bin. A bin that no observation covers is
    absent, not zero. `growth` may have late_s, by how much the first sample of its run was late; else it is half a
    sampling interval, as it is on average. Bins of all runs have the same edges, to be compared, or those of
    `each_run` as it was sampled.
    """
    reported = placed.filter(pl.col("retransmits_iperf3_count").is_not_null())
    lacking = reported.join(growth, on=["run_id", "flow_id"], how="anti").select(*RUN_CC).unique()
    if "late_s" not in growth.columns:
        growth = growth.with_columns(late_s=(_usual_sampling_s(each_run=each_run) / 2).round(2))
    sampled_bins = _spread_growth(growth.join(lacking, on=RUN_CC, how="anti"), bin_s)
    reported_bins = reported.join(lacking, on=RUN_CC, how="semi").select(
        *RUN_CC,
        time_s=_middle_of((pl.col("start_s") + pl.col("end_s")) / 2, bin_s),
        retransmits_count=pl.col("retransmits_iperf3_count").cast(pl.Float64()),
        source=pl.lit("iperf3"),
    )
    return (
        pl.concat([sampled_bins, reported_bins])
        .group_by(*RUN_CC, "time_s", "source", maintain_order=True)
        .agg(pl.col("retransmits_count").sum())
        .select(*RUN_CC, "time_s", "retransmits_count", "source")
        .sort(*RUN_CC, "time_s")
    )


def _spread_growth(growth: pl.DataFrame, bin_s: float) -> pl.DataFrame:
    """Spread what a counter grew evenly over the bins between its two samples.

    A loaded host samples late: some 0.5 s bins then hold two stamps and the next none. Bins end where regular samples
    are taken. The first of them is late by `late_s`: what a bin holds counts for the bin of the run's clock that its
    middle is in, as rates have them.
    """
    edges = [_snap(pl.col(column) / bin_s).alias(column) for column in ("from_s", "until_s")]
    # Two stamps near the same edge: all that is between them belongs to the bin that ends there.
    from_before_until = pl.min_horizontal("from_s", pl.col("until_s") - SNAP_BINS)
    covered = pl.min_horizontal("until_s", "bin") - pl.max_horizontal("from_s", pl.col("bin") - 1)
    share = covered / (pl.col("until_s") - pl.col("from_s"))
    return (
        growth.with_columns(edges)
        .with_columns(from_s=from_before_until)
        .with_columns(bin=pl.int_ranges(pl.col("from_s").floor().cast(int) + 1, pl.col("until_s").ceil().cast(int) + 1))
        .explode("bin")
        .select(
            *RUN_CC,
            # What came before the first sample belongs to the bin that ends there.
            time_s=_middle_of((pl.col("bin").clip(0) - 0.5) * bin_s + pl.col("late_s"), bin_s),
            retransmits_count=pl.col("retransmits_count") * share,
            source=pl.lit("ss"),
        )
    )


def _middle_of(time_s: pl.Expr, bin_s: float) -> pl.Expr:
    """Return the middle of the bin that a time is in; one before the start belongs to the first."""
    # A late middle is a multiple of the width but for its rounding.
    return ((time_s / bin_s + 1e-6).floor().clip(0) + 0.5) * bin_s


def _snap(edge: pl.Expr) -> pl.Expr:
    """Return a position in bins, moved to the nearest edge of a bin where it is close to one."""
    return pl.when((edge - edge.round()).abs() < SNAP_BINS).then(edge.round()).otherwise(edge)


def find_envelope(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the smallest and largest rate over the runs given: cc, time_s, rate_min_bps, rate_max_bps.

    A bin that some run of the algorithm lacks, as after the end of a shorter one, is left out: it is not their range.
    """
    return (
        rates.with_columns(runs_count=pl.col("run_id").n_unique().over("cc"))
        .group_by("cc", "time_s")
        .agg(
            rate_min_bps=pl.col("rate_bps").min(),
            rate_max_bps=pl.col("rate_bps").max(),
            is_of_all=pl.col("run_id").n_unique() == pl.col("runs_count").first(),
        )
        .filter("is_of_all")
        .drop("is_of_all")
        .sort("cc", "time_s")
    )
