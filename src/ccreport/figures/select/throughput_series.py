"""What a figure of throughput over time draws: lines, points and bands, in bins that suit all its panels."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ccreport.figures.select.series import (
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


@dataclass(frozen=True)
class FigureTables:
    """The rows that a figure needs: `runs` of the conditions drawn, the other tables of these runs.

    `samples` and `qdiscs` need only those of the representative runs.
    """

    runs: pl.DataFrame
    flows: pl.DataFrame
    intervals: pl.DataFrame
    samples: pl.DataFrame
    qdiscs: pl.DataFrame


@dataclass(frozen=True)
class Placed:
    """Intervals and growth of retransmits on the time axis of their run; `is_drawn` selects the runs drawn."""

    intervals: pl.DataFrame
    growth: pl.DataFrame
    is_drawn: pl.Expr


@dataclass(frozen=True)
class Bins:
    """Widths of the bins in which rates are averaged and retransmits are summed."""

    rate_s: float
    count_s: float


@dataclass(frozen=True)
class Series:
    """What is drawn: lines and points of the representative runs, the band of the others, and the widths of bins."""

    lines: pl.DataFrame
    band: pl.DataFrame
    points: pl.DataFrame
    rate_bin_s: float
    count_bin_s: float
    time_end_s: float


def place_rows(tables: FigureTables, run_ids: Sequence[str]) -> Placed:
    """Return intervals and growth of retransmits on the time axis; the runs named are drawn."""
    return Placed(
        place_intervals(tables.intervals, tables.flows),
        place_samples(tables.samples, tables.flows),
        pl.col("run_id").is_in(run_ids),
    )


def choose_bins(panels: Sequence[Placed]) -> Bins:
    """Return widths of bins that suit all panels: counts in bins of different widths cannot be compared."""
    widths = [_choose_own_bins(placed) for placed in panels]
    return Bins(max(one.rate_s for one in widths), max(one.count_s for one in widths))


def _choose_own_bins(placed: Placed) -> Bins:
    duration_s = measure_duration_s(placed.intervals)
    growth = placed.growth.filter(placed.is_drawn)
    spacing_s = measure_spacing_s(placed.intervals)
    sampling_s = measure_sampling_s(growth) if growth.height else spacing_s
    return Bins(
        choose_bin_s(spacing_s, duration_s), choose_bin_s(sampling_s, max(duration_s, find_top(growth, "until_s")))
    )


def bin_rows(placed: Placed, bins: Bins) -> Series:
    """Return lines and points of the runs drawn and the band of all others, in bins of these widths."""
    is_drawn = placed.is_drawn
    rates = sum_rates(placed.intervals, bins.rate_s).with_columns(pl.col("rate_bps").round())
    end_s = find_top(rates, "time_s") + bins.rate_s / 2
    counts = sum_retransmits(placed.growth.filter(is_drawn), placed.intervals.filter(is_drawn), bins.count_s)
    # ss goes on for a moment after the test: what it saw then is drawn where it is more than nothing.
    points = counts.with_columns(pl.col("time_s", "retransmits_count").round(3)).filter(
        (pl.col("time_s") <= end_s) | (pl.col("retransmits_count") > 0)
    )
    return Series(
        lines=rates.filter(is_drawn),
        band=find_envelope(rates.filter(~is_drawn)),
        points=points,
        rate_bin_s=bins.rate_s,
        count_bin_s=bins.count_s,
        time_end_s=max(end_s, find_top(points, "time_s")),
    )


def find_top(frame: pl.DataFrame, column: str) -> float:
    """Return the largest value of a column, 0 where it has none."""
    top: float | None = frame.select(pl.col(column).max()).item()
    return top or 0.0
