"""Time-sequence graph of captured flows: what was sent, acknowledged and allowed, and where data were sent again.

The graph is tcptrace's, of 100 ms steps in place of packets: https://tcptrace.org/manual/manual.html
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.captures.marks import choose_byte_unit
from ccreport.figures.kit import keyed_panels, theme
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.kit.ticks import choose_ticks

SINGLE_HEIGHT_PX: Final = 380
PAIR_HEIGHT_PX: Final = 230
ENDS: Final = ("sequence_end_bytes", "acknowledged_end_bytes", "window_end_bytes")
# Marks of retransmits grow with their count from the first to the second area, px².
AREAS: Final = (60, 180)
# A panel has at most so many marks of a kind, which stay apart; alone it has twice as many.
MARKS_IN_PANEL: Final = 60
# SACKs are this far below the line, where they hide nothing.
SACK_BELOW_PX: Final = 13
SACK_LOWEST_PX: Final = 5


@dataclass(frozen=True)
class SequenceScales:
    """Scales that all panels share: the unit of bytes, ends of the axes, the largest count of a mark, ticks of time."""

    unit: str
    unit_bytes: int
    end_s: float
    ticks: Sequence[float]
    count_max: int
    is_single: bool


def choose_sequence_scales(bins: pl.DataFrame, marks: pl.DataFrame) -> SequenceScales:
    """Return the scales for bins and marks of all flows drawn; the window does not stretch the axis."""
    top = bins.select(pl.max_horizontal(pl.col(ENDS[:2]).max())).item() or 1
    unit, unit_bytes = choose_byte_unit(top)
    count: int = marks["retransmits_capture_count"].max() or 0  # type: ignore[assignment]
    end_s: float = pl.concat([bins["end_s"], marks["end_s"]]).max() or 1.0  # type: ignore[assignment]
    is_single = bins["number"].n_unique() == 1
    return SequenceScales(unit, unit_bytes, end_s, choose_ticks(top / unit_bytes), count, is_single)


def draw_time_sequence(
    bins: pl.DataFrame,
    marks: pl.DataFrame,
    names: Sequence[str],
    title: Sequence[str],
    subtitle: Sequence[str],
    key: Sequence[KeyEntry],
) -> alt.VConcatChart:
    """Return the chart of up to four flows, one panel each, all on one scale.

    `bins` has the rows of `bin_steps` of these flows, `marks` those of wider bins for retransmits and SACKs, `names`
    the title of each panel, in their order.
    """
    scales = choose_sequence_scales(bins, marks)
    numbers = bins["number"].unique(maintain_order=True)
    panels = [
        _draw_panel(bins.filter(number=number), marks.filter(number=number), name, scales, place)
        for place, (number, name) in enumerate(zip(numbers, names, strict=True))
    ]
    return keyed_panels.stack(title, subtitle, key, keyed_panels.arrange(panels))


def _draw_panel(
    bins: pl.DataFrame, marks: pl.DataFrame, name: str, scales: SequenceScales, place: int
) -> alt.LayerChart:
    ends, marked = (_in_units(frame, scales) for frame in (bins, marks))
    # The lines are drawn above the circles, which may be many.
    layers = [
        _draw_end(ends, ENDS[2], theme.WINDOW_COLOUR, 1.2, scales, place),
        *_draw_retransmits(marked, scales, place),
        _draw_end(ends, ENDS[0], theme.style_of(bins["cc"][0]).colour, 2.2, scales, place),
        _draw_end(ends, ENDS[1], theme.INK, 0.9, scales, place),
        *_draw_sacks(marked, scales, place),
    ]
    width = theme.PLOT_WIDTH_PX if scales.is_single else keyed_panels.PAIR_WIDTH_PX
    height = SINGLE_HEIGHT_PX if scales.is_single else PAIR_HEIGHT_PX
    return keyed_panels.size_panel(layers, width, height, None if scales.is_single else name)


def _in_units(frame: pl.DataFrame, scales: SequenceScales) -> pl.DataFrame:
    ends = (pl.col(ENDS) / scales.unit_bytes).round(5)
    return frame.select(pl.col("end_s").round(2), "retransmits_capture_count", "sack_blocks_count", ends)


def _axes(column: str, scales: SequenceScales, place: int) -> tuple[alt.X, alt.Y]:
    x = keyed_panels.time_axis("Time (s)", "end_s", scales.end_s, ticks=10 if scales.is_single else 6)
    title = f"Sequence number ({scales.unit})"
    y = keyed_panels.value_axis(title, column, scales.ticks[-1], scales.ticks, is_named=place % 2 == 0)
    return x, y


def _draw_end(
    data: pl.DataFrame, column: str, colour: str, width_px: float, scales: SequenceScales, place: int
) -> alt.Chart:
    x, y = _axes(column, scales, place)
    marked = alt.Chart(data.drop_nulls(column).select("end_s", column)).mark_line(
        color=colour, strokeWidth=width_px, clip=True
    )
    chart: alt.Chart = marked.encode(x=x, y=y)
    return chart


def _draw_retransmits(data: pl.DataFrame, scales: SequenceScales, place: int) -> list[alt.Chart]:
    drawn = data.filter(pl.col("retransmits_capture_count") > 0, pl.col(ENDS[0]).is_not_null())
    if drawn.is_empty():
        return []
    x, y = _axes(ENDS[0], scales, place)
    size = alt.Size(
        "retransmits_capture_count:Q",
        scale=alt.Scale(domain=[1, max(scales.count_max, 2)], range=list(AREAS)),
        legend=None,
    )
    chart = alt.Chart(drawn.select("end_s", ENDS[0], "retransmits_capture_count"))
    points = keyed_panels.mark_point(chart, "circle", theme.RETRANSMIT_COLOUR, AREAS[0])
    return [points.encode(x=x, y=y, size=size)]


def _draw_sacks(data: pl.DataFrame, scales: SequenceScales, place: int) -> list[alt.Chart]:
    drawn = data.filter(pl.col("sack_blocks_count") > 0, pl.col(ENDS[1]).is_not_null())
    if drawn.is_empty():
        return []
    x, y = _axes("below", scales, place)
    per_px = scales.ticks[-1] / (SINGLE_HEIGHT_PX if scales.is_single else PAIR_HEIGHT_PX)
    below = (pl.col(ENDS[1]) - SACK_BELOW_PX * per_px).clip(lower_bound=SACK_LOWEST_PX * per_px)
    chart = alt.Chart(drawn.select("end_s", below=below.round(5)))
    strokes = keyed_panels.mark_point(chart, "stroke", theme.SACK_COLOUR, 30)
    return [strokes.encode(x=x, y=y)]
