"""RTT of captured flows: over time together with bytes in flight, and as a cumulative distribution."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.captures import marks
from ccreport.figures.kit import keyed_panels, theme
from ccreport.figures.kit.keyed_panels import BAND_OPACITY, KeyEntry
from ccreport.figures.kit.ticks import choose_ticks

PANEL_HEIGHT_PX: Final = 190
DISTRIBUTION_HEIGHT_PX: Final = 330
# More flows than this have one line of RTT for each algorithm, without bands that would cover each other.
FLOWS_WITH_BANDS: Final = 2
RTTS: Final = {"mean": "rtt_ms", "min": "rtt_min_ms", "max": "rtt_max_ms"}


@dataclass(frozen=True)
class RttAxes:
    """The time axis and the algorithms of both panels, and the value axis of each: its ticks and unit."""

    ccs: Sequence[str]
    start_s: float
    end_s: float
    rtt_ticks: Sequence[float]
    unit: str
    unit_bytes: int
    flight_ticks: Sequence[float]


def has_bands(bins: pl.DataFrame) -> bool:
    """Return whether each flow has its own line of RTT, with a band."""
    return bins["number"].n_unique() <= FLOWS_WITH_BANDS


def list_rtt_lines(bins: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of RTT: line (a flow's number, else an algorithm), cc, middle_s, rtt_ms, rtt_min_ms, rtt_max_ms.

    Where there are too many flows for bands, a line is the median of an algorithm's flows, and the last two are null.
    """
    known = bins.drop_nulls("ack_rtt_mean_ms").with_columns(middle_s=(pl.col("start_s") + pl.col("end_s")) / 2)
    if has_bands(bins):
        lines = known.select(
            pl.col("number").cast(pl.String).alias("line"),
            *("cc", "middle_s"),
            *(pl.col(f"ack_rtt_{which}_ms").round(3).alias(name) for which, name in RTTS.items()),
        )
    else:
        bare = [pl.lit(None, pl.Float64).alias(name) for name in ("rtt_min_ms", "rtt_max_ms")]
        lines = (
            known.group_by("cc", "middle_s")
            .agg(rtt_ms=pl.col("ack_rtt_mean_ms").median().round(3))
            .select(pl.col("cc").alias("line"), "cc", "middle_s", "rtt_ms", *bare)
        )
    return lines.sort("line", "middle_s")


def list_flights(bins: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of bytes in flight, one a flow: line (its number), cc, middle_s, in_flight_bytes."""
    return bins.drop_nulls("in_flight_mean_bytes").select(
        pl.col("number").cast(pl.String).alias("line"),
        "cc",
        middle_s=(pl.col("start_s") + pl.col("end_s")) / 2,
        in_flight_bytes=pl.col("in_flight_mean_bytes").round(),
    )


def draw_rtt_in_flight(
    lines: pl.DataFrame,
    flights: pl.DataFrame,
    title: Sequence[str],
    subtitle: Sequence[str],
    key: Sequence[KeyEntry],
) -> alt.VConcatChart:
    """Return the chart of RTT above bytes in flight; `lines` and `flights` as listed by this module."""
    axes = _choose_axes(lines, flights)
    rtts = [_draw_lines(lines, "rtt_ms", _rtt_axis("rtt_ms", axes), axes, is_lowest=False)]
    if lines["rtt_min_ms"].count():
        rtts.insert(0, _draw_band(lines, axes))
    scaled = flights.with_columns((pl.col("in_flight_bytes") / axes.unit_bytes).round(5))
    y = keyed_panels.value_axis(f"In flight ({axes.unit})", "in_flight_bytes", axes.flight_ticks[-1], axes.flight_ticks)
    in_flight = [_draw_lines(scaled, "in_flight_bytes", y, axes, is_lowest=True)]
    rows = [
        [keyed_panels.size_panel(layers, theme.PLOT_WIDTH_PX, PANEL_HEIGHT_PX, None)] for layers in (rtts, in_flight)
    ]
    return keyed_panels.stack(title, subtitle, key, rows)


def _choose_axes(lines: pl.DataFrame, flights: pl.DataFrame) -> RttAxes:
    ends = pl.concat([lines["middle_s"], flights["middle_s"]])
    top_ms: float = lines.select(pl.max_horizontal(pl.col("rtt_ms", "rtt_max_ms").max())).item() or 1.0
    top_bytes: float = flights["in_flight_bytes"].max() or 1.0  # type: ignore[assignment]
    unit, unit_bytes = marks.choose_byte_unit(top_bytes)
    start_s, end_s = float(ends.min() or 0.0), float(ends.max() or 1.0)  # type: ignore[arg-type]
    return RttAxes(
        [*lines["cc"], *flights["cc"]],
        min(start_s, 0.0),
        end_s,
        choose_ticks(top_ms),
        unit,
        unit_bytes,
        choose_ticks(top_bytes / unit_bytes),
    )


def _rtt_axis(column: str, axes: RttAxes) -> alt.Y:
    return keyed_panels.value_axis("RTT (ms)", column, axes.rtt_ticks[-1], axes.rtt_ticks)


def _time(axes: RttAxes, *, is_lowest: bool) -> alt.X:
    title = "Time since the first packet (s)" if is_lowest else None
    return keyed_panels.time_axis(title, "middle_s", axes.end_s, ticks=10, start=axes.start_s)


def _colour(ccs: Sequence[str], attribute: str = "colour") -> alt.Scale:
    ordered = theme.order_algorithms(set(ccs))
    return alt.Scale(domain=ordered, range=[getattr(theme.style_of(cc), attribute) for cc in ordered])


def _draw_band(lines: pl.DataFrame, axes: RttAxes) -> alt.Chart:
    data = lines.select("line", "cc", pl.col("middle_s").round(3), "rtt_min_ms", "rtt_max_ms")
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_area(fillOpacity=BAND_OPACITY)
        .encode(
            x=_time(axes, is_lowest=False),
            y=_rtt_axis("rtt_max_ms", axes),
            y2="rtt_min_ms:Q",
            color=alt.Color("cc:N", scale=_colour(axes.ccs), legend=None),
            detail="line:N",
        )
    )
    return chart


def _draw_lines(frame: pl.DataFrame, column: str, y: alt.Y, axes: RttAxes, *, is_lowest: bool) -> alt.Chart:
    data = frame.select("line", "cc", pl.col("middle_s").round(3), column)
    width = 2.0 if data["line"].n_unique() <= FLOWS_WITH_BANDS else 1.2
    marked = alt.Chart(data).mark_line(strokeWidth=width, opacity=0.85)
    chart: alt.Chart = marked.encode(
        x=_time(axes, is_lowest=is_lowest),
        y=y,
        color=alt.Color("cc:N", scale=_colour(axes.ccs), legend=None),
        strokeDash=alt.StrokeDash("cc:N", scale=_colour(axes.ccs, "dash"), legend=None),
        detail="line:N",
    )
    return chart


def starts_at_zero(distribution: pl.DataFrame, minima: Mapping[str, float]) -> bool:
    """Return whether the axis of a distribution starts at 0: where all of it is far from 0, it would show little."""
    largest_ms: float = distribution.select(pl.col("rtt_ms").max()).item()
    return min(minima.values()) < largest_ms / 2


def draw_rtt_distribution(
    distribution: pl.DataFrame,
    minima: Mapping[str, float],
    title: Sequence[str],
    subtitle: Sequence[str],
    key: Sequence[KeyEntry],
) -> alt.VConcatChart:
    """Return the chart of a distribution (cc, rtt_ms, share); `minima` has the least RTT of each algorithm in ms."""
    axis = alt.Axis(title="RTT (ms)", titleAnchor="start", grid=False, labelFlush=False, tickCount=10)
    x = alt.X("rtt_ms:Q", scale=alt.Scale(zero=starts_at_zero(distribution, minima), nice=True), axis=axis)
    share_axis = alt.Axis(title="Share of RTT samples", format="%", tickCount=5)
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=share_axis)
    ccs = distribution["cc"].to_list()
    colour = alt.Color("cc:N", scale=_colour(ccs), legend=None)
    rules = pl.DataFrame({"cc": list(minima), "rtt_ms": [round(minimum, 3) for minimum in minima.values()]})
    lowest = alt.Chart(rules).mark_rule(strokeWidth=1.2, opacity=0.7, strokeDash=[2, 3]).encode(x=x, color=colour)
    # Each line begins at the least RTT that it has, with a share of nothing.
    feet = distribution.group_by("cc", maintain_order=True).agg(pl.col("rtt_ms").min(), share=pl.lit(0.0))
    lines = pl.concat([feet, distribution.with_columns(pl.col("share").round(5))])
    marked = alt.Chart(lines).mark_line(strokeWidth=2, interpolate="step-after")
    dash = alt.StrokeDash("cc:N", scale=_colour(ccs, "dash"), legend=None)
    curve = marked.encode(x=x, y=y, color=colour, strokeDash=dash)
    panel = keyed_panels.size_panel([lowest, curve], theme.PLOT_WIDTH_PX, DISTRIBUTION_HEIGHT_PX, None)
    return keyed_panels.stack(title, subtitle, key, [[panel]])
