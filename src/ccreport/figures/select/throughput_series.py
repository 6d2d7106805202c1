"""What a figure of throughput over time draws: lines, points and bands, in bins that suit all its panels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from ccreport.figures.select.sampled_rates import (
    FLOW,
    Source,
    choose_rate_source,
    find_beginnings,
    observe_acknowledged,
)
from ccreport.figures.select.series import (
    UNKNOWN_CC,
    choose_bin_s,
    find_envelope,
    measure_duration_s,
    measure_sampling_s,
    measure_spacing_s,
    place_intervals,
    place_samples,
    sum_rates,
    sum_retransmits,
)

# Of a panel with bins that suit the others, too.
BINS_AT_LEAST: Final = 10


@dataclass(frozen=True)
class FigureTables:
    """The rows that a figure needs: `runs` of the conditions drawn, the other tables of these runs.

    `qdiscs` needs only those of the representative runs.
    """

    runs: pl.DataFrame
    flows: pl.DataFrame
    intervals: pl.DataFrame
    samples: pl.DataFrame
    qdiscs: pl.DataFrame


@dataclass(frozen=True)
class Placed:
    """What the tool and `ss` tell, on the time axis of their run; `is_drawn` selects the runs drawn.

    `rates` (run_id, flow_id, cc, start_s, end_s, interval_bps) has what was acknowledged, or by `source` the intervals.
    """

    intervals: pl.DataFrame
    rates: pl.DataFrame
    source: Source
    growth: pl.DataFrame
    is_drawn: pl.Expr


@dataclass(frozen=True)
class Bins:
    """Widths of the bins in which rates are averaged and retransmits are summed."""

    rate_s: float
    count_s: float


@dataclass(frozen=True)
class Series:
    """What is drawn: lines and points of the representative runs, the band of the others, and the widths of bins.

    `late_count` retransmits were counted after the last line ends. They are in none of the points.
    """

    lines: pl.DataFrame
    band: pl.DataFrame
    points: pl.DataFrame
    source: Source
    late_count: int
    rate_bin_s: float
    count_bin_s: float
    time_end_s: float


def place_rows(tables: FigureTables, run_ids: Sequence[str]) -> Placed:
    """Return intervals and growth of retransmits on the time axis; the runs named are drawn."""
    intervals = place_intervals(tables.intervals, tables.flows)
    source = choose_rate_source(tables.samples, tables.flows)
    return Placed(
        intervals,
        _place_acknowledged(tables, intervals) if source == "ss" else intervals,
        source,
        _place_growth(tables, source),
        pl.col("run_id").is_in(run_ids),
    )


def _place_growth(tables: FigureTables, source: Source) -> pl.DataFrame:
    """Return the growth of retransmits; where `ss` tells when data began, with late_s, as `sum_retransmits` says."""
    growth = place_samples(tables.samples, tables.flows)
    if source != "ss":
        return growth
    firsts = tables.samples.join(tables.flows, on=FLOW, how="semi").group_by("run_id").agg(pl.col("time_utc").min())
    late = (pl.col("time_utc") - pl.col("began_utc")).dt.total_microseconds() / 1e6
    lateness = find_beginnings(tables.samples, tables.flows).join(firsts, on="run_id").select("run_id", late_s=late)
    return growth.join(lateness, on="run_id", how="left").with_columns(pl.col("late_s").fill_null(0.0))


def _place_acknowledged(tables: FigureTables, intervals: pl.DataFrame) -> pl.DataFrame:
    """Return what all flows had acknowledged until the test ended; what queues drain later is not part of it."""
    algorithms = tables.flows.select(*FLOW, pl.col("cc").fill_null(UNKNOWN_CC))
    ends = intervals.group_by("run_id").agg(test_s=pl.col("end_s").max())
    observed = observe_acknowledged(tables.samples, tables.flows).join(algorithms, on=FLOW).join(ends, on="run_id")
    return observed.with_columns(pl.min_horizontal("end_s", "test_s")).filter(pl.col("end_s") > pl.col("start_s"))


def choose_bins(panels: Sequence[Placed], until_s: float = math.inf) -> list[Bins]:
    """Return widths of bins for each panel until a time: the same for all, as counts in unlike bins cannot be compared.

    Where these would leave a panel with few, as one of short tests beside one of long ones, each has its own.
    """
    widths = [_choose_own_bins(placed, until_s) for placed in panels]
    shared = Bins(max(bins.rate_s for bins in widths), max(bins.count_s for bins in widths))
    shortest_s = min(min(measure_duration_s(placed.intervals), until_s) for placed in panels)
    are_alike = all(width_s * BINS_AT_LEAST <= shortest_s for width_s in (shared.rate_s, shared.count_s))
    return [shared] * len(panels) if are_alike or len({*widths}) == 1 else widths


def _choose_own_bins(placed: Placed, until_s: float) -> Bins:
    duration_s = min(measure_duration_s(placed.intervals), until_s)
    growth = placed.growth.filter(placed.is_drawn)
    spacing_s = measure_spacing_s(placed.intervals)
    sampling_s = measure_sampling_s(growth) if growth.height else spacing_s
    sampled_s = max(duration_s, min(find_top(growth, "until_s"), until_s))
    # What is cut short is drawn for its details: as often as ss sampled, though the tool reported less often.
    rates_s = min(sampling_s, spacing_s) if placed.source == "ss" and until_s < math.inf else spacing_s
    return Bins(choose_bin_s(rates_s, duration_s), choose_bin_s(sampling_s, sampled_s))


def bin_rows(placed: Placed, bins: Bins, until_s: float = math.inf) -> Series:
    """Return lines and points of the runs drawn and the band of all others until a time, in bins of these widths."""
    is_drawn = placed.is_drawn
    rates = sum_rates(placed.rates, bins.rate_s).with_columns(pl.col("rate_bps").round())
    end_s = find_top(rates, "time_s") + bins.rate_s / 2
    counts = sum_retransmits(placed.growth.filter(is_drawn), placed.intervals.filter(is_drawn), bins.count_s)
    points = counts.with_columns(pl.col("time_s", "retransmits_count").round(3))
    # ss goes on for a moment after the test.
    is_late = pl.col("time_s") > end_s
    is_shown = pl.col("time_s") < until_s
    return Series(
        lines=rates.filter(is_drawn, is_shown),
        band=find_envelope(rates.filter(~is_drawn, is_shown)),
        points=points.filter(~is_late, is_shown),
        source=placed.source,
        late_count=round(points.filter(is_late)["retransmits_count"].sum()),
        rate_bin_s=bins.rate_s,
        count_bin_s=bins.count_s,
        time_end_s=min(end_s, until_s),
    )


def find_top(frame: pl.DataFrame, column: str) -> float:
    """Return the largest value of a column, 0 where it has none."""
    top: float | None = frame.select(pl.col(column).max()).item()
    return top or 0.0
