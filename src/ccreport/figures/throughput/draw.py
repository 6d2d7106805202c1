"""Throughput and retransmits over time: the papers' standard figure of one condition.

Lines are the summed rate of each algorithm, a faint band the range of the other iterations, and a dotted rule the line
rate. Points are the retransmitted segments of each algorithm per bin where there are any, in a strip of their own below
the lines, over the same time axis: on the lines they would be taken for values of theirs. The legend is above the plot
and the notes on the path are below it, so that neither covers data. Panels are stacked, with the same scales.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import keyed_panels, theme
from ccreport.figures.kit.keyed_panels import TITLE_LIMIT_PX
from ccreport.figures.kit.label_placement import Point
from ccreport.figures.kit.text import (
    draw_band_entry,
    draw_legend_entry,
    draw_notes,
    find_band_px,
)
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.run.chart import BAND_OPACITY, TIME_TITLE, scale_of, write_names
from ccreport.figures.run.rate_plot import Placed, draw_rules, find_scale_top, list_obstacles, place_rules
from ccreport.figures.select.throughput_series import find_top
from ccreport.figures.throughput.strip import STRIP_GAP_PX, STRIP_PX, CountAxis, draw_strip, fit_count_axis

WIDTH_PX: Final = theme.PLOT_WIDTH_PX
HEIGHT_PX: Final = theme.PLOT_HEIGHT_PX
# Of one panel of several, and between two of them.
PANEL_HEIGHT_PX: Final = 250
PANEL_SPACING_PX: Final = 34
PANEL_TITLE_PX: Final = 14
# A band is as many lines, close enough that no name fits between two.
BAND_LINES: Final = 12


@dataclass(frozen=True)
class Texts:
    """What is written on a figure; `legend` has one entry per algorithm (all that are drawn), `notes` one per line.

    `choice` says below `band` by what the runs drawn were chosen.
    """

    title: Sequence[str]
    subtitle: Sequence[str]
    legend: Mapping[str, str]
    rate_axis: str
    count_axis: str
    band: str | None
    notes: Sequence[str]
    choice: str | None = None


@dataclass(frozen=True)
class Panel:
    """What one panel shows.

    `lines` (cc, time_s, rate_bps) and `points` (cc, time_s, retransmits_count) are of the representative runs, `band`
    (cc, time_s, rate_min_bps, rate_max_bps) of the other iterations; the last two may be empty. `line_rates_bps` are
    those of the bottlenecks, or of the senders, with what each is called.
    """

    lines: pl.DataFrame
    points: pl.DataFrame
    band: pl.DataFrame
    texts: Texts
    line_rates_bps: Mapping[float, str] = field(default_factory=dict)

    @property
    def top_bps(self) -> float:
        """Return the largest rate of lines and bands."""
        return max(find_top(self.lines, "rate_bps"), find_top(self.band, "rate_max_bps"))


@dataclass(frozen=True)
class Scales:
    """How values become positions: bit/s per unit of the rate axis, its ticks from 0, and the axis of retransmits.

    Where no panel has retransmits that axis is absent, and the lines take the whole height.
    """

    unit_bps: float
    time_end_s: float
    rate_ticks: Sequence[float]
    counts: CountAxis | None
    height_px: int = HEIGHT_PX

    @property
    def lines_px(self) -> int:
        """Return the height of the part above the strip of retransmits, which has the lines."""
        return self.height_px - (STRIP_PX + STRIP_GAP_PX if self.counts else 0)


def draw_throughput_over_time(panel: Panel, unit_bps: float, time_end_s: float) -> alt.LayerChart:
    """Return the chart of one condition, or of several runs overlaid.

    `unit_bps` is the unit of the rate axis in bit/s, `time_end_s` the end of the time axis.
    """
    scales = choose_scales([panel], unit_bps, time_end_s)
    return _draw_panel(panel, scales, theme.TITLE_PX)


def draw_panels(
    panels: Sequence[Panel], title: Sequence[str], unit_bps: float, ends_s: Sequence[float], *, are_alike: bool
) -> alt.VConcatChart:
    """Return charts under each other in which the same height is the same rate.

    Panels that are not `are_alike` have time axes of their own, to `ends_s`, and axes of retransmits of their own.
    """
    scales = replace(choose_scales(panels, unit_bps, max(ends_s)), height_px=PANEL_HEIGHT_PX)
    of_panels = [scales] * len(panels)
    if not are_alike:
        # Without a count above 0, the strip says so, and needs no axis but for its place.
        of_panels = [
            replace(scales, time_end_s=end_s, counts=fit_count_axis([panel.points]) or scales.counts)
            for panel, end_s in zip(panels, ends_s, strict=True)
        ]
    # The algorithms of one panel need not be those of another: each has its own list of colours.
    own = alt.ScaleResolveMap(color="independent", shape="independent", strokeDash="independent")
    return alt.vconcat(
        *(_draw_panel(panel, own_scales, PANEL_TITLE_PX) for panel, own_scales in zip(panels, of_panels, strict=True)),
        spacing=PANEL_SPACING_PX,
        resolve=alt.Resolve(scale=own),
        title=alt.TitleParams(list(title), offset=12, limit=TITLE_LIMIT_PX),
    )


def _draw_panel(panel: Panel, scales: Scales, title_px: int) -> alt.LayerChart:
    lines, points, band, texts = panel.lines, panel.points, panel.band, panel.texts
    named = _place_line_rates(panel, scales)
    throughput = alt.layer(
        *draw_rules(named, WIDTH_PX),
        _draw_band(band, scales, texts),
        _draw_lines(lines, scales, texts),
        *_draw_direct_labels(panel, named, scales),
        *_draw_legend(texts, band, has_points=find_top(points, "retransmits_count") > 0),
        *draw_notes(texts.notes, scales.height_px),
    )
    layers = [throughput, *_draw_strip(points, scales, texts)]
    title = alt.TitleParams(
        list(texts.title),
        subtitle=list(texts.subtitle),
        offset=14,
        limit=TITLE_LIMIT_PX,
        fontSize=title_px,
        lineHeight=title_px + 4,
    )
    resolve = alt.Resolve(scale=alt.ScaleResolveMap(y="independent"))
    # All at once: each method of a chart would copy all of it, which takes longer than drawing.
    return alt.LayerChart(layer=layers, resolve=resolve, width=WIDTH_PX, height=scales.height_px, title=title)


def choose_scales(panels: Sequence[Panel], unit_bps: float, time_end_s: float) -> Scales:
    """Return axes from zero that hold all that is drawn."""
    top_bps = max(panel.top_bps for panel in panels)
    line_rates_bps = {rate: name for panel in panels for rate, name in panel.line_rates_bps.items()}
    rate_ticks = choose_ticks(find_scale_top(line_rates_bps, top_bps) / unit_bps)
    return Scales(unit_bps, time_end_s, rate_ticks, fit_count_axis([panel.points for panel in panels]))


def _time(scales: Scales) -> alt.X:
    return keyed_panels.time_axis(TIME_TITLE, "time_s", scales.time_end_s, ticks=10)


def _rate(column: str, scales: Scales, texts: Texts) -> alt.Y:
    axis = alt.Axis(title=texts.rate_axis, values=list(scales.rate_ticks))
    scale = alt.Scale(domain=[0, scales.rate_ticks[-1]], nice=False, range=[scales.lines_px, 0])
    return alt.Y(f"{column}:Q", scale=scale, axis=axis)


def _style(texts: Texts, attribute: str) -> alt.Scale:
    return scale_of(list(texts.legend), attribute)


def _colour(texts: Texts) -> alt.Color:
    return alt.Color("cc:N", scale=_style(texts, "colour"), legend=None)


def _rates(frame: pl.DataFrame, scales: Scales, *columns: str) -> alt.Chart:
    in_units = frame.select("cc", "time_s", (pl.col(columns) / scales.unit_bps).round(6))
    return alt.Chart(in_units)


def _locate(frame: pl.DataFrame, column: str, end: float, scales: Scales) -> list[Point]:
    """Return where values (time_s and the column) are on an axis from 0 to `end`, in order of time."""
    return [
        (time_s / scales.time_end_s * WIDTH_PX, scales.lines_px * (1 - value / end))
        for time_s, value in frame.select("time_s", column).sort("time_s").rows()
    ]


def _place_line_rates(panel: Panel, scales: Scales) -> Placed:
    """Return the rules at the line rates; one far above the scale is left to the notes. Names keep clear of bands."""
    top_bps = scales.rate_ticks[-1] * scales.unit_bps
    low, high = pl.col("rate_min_bps"), pl.col("rate_max_bps")
    levels = [low + (high - low) * level / (BAND_LINES - 1) for level in range(BAND_LINES)]
    frames = [panel.lines, *(panel.band.with_columns(rate_bps=level) for level in levels)]
    traces = [_locate(own, "rate_bps", top_bps, scales) for frame in frames for own in frame.partition_by("cc")]
    shown = {rate_bps: name for rate_bps, name in panel.line_rates_bps.items() if rate_bps <= top_bps}
    heights = {scales.lines_px * (1 - rate_bps / top_bps): name for rate_bps, name in shown.items()}
    return place_rules(heights, traces, WIDTH_PX, scales.lines_px)


def _draw_band(band: pl.DataFrame, scales: Scales, texts: Texts) -> alt.Chart:
    # A band made of one iteration has no height: its edge shows it.
    edge = alt.OverlayMarkDef(strokeWidth=1.2, strokeOpacity=2 * BAND_OPACITY) if _is_flat(band) else False
    chart: alt.Chart = (
        _rates(band, scales, "rate_min_bps", "rate_max_bps")
        .mark_area(fillOpacity=BAND_OPACITY, line=edge)
        .encode(
            x=_time(scales),
            y=_rate("rate_max_bps", scales, texts),
            y2="rate_min_bps:Q",
            color=_colour(texts),
        )
    )
    return chart


def _is_flat(band: pl.DataFrame) -> bool:
    return bool((band["rate_min_bps"] == band["rate_max_bps"]).all())


def _draw_lines(lines: pl.DataFrame, scales: Scales, texts: Texts) -> alt.Chart:
    dash = alt.StrokeDash("cc:N", scale=_style(texts, "dash"), legend=None)
    rate = _rate("rate_bps", scales, texts)
    mark = _rates(lines, scales, "rate_bps").mark_line(strokeWidth=2)
    chart: alt.Chart = mark.encode(x=_time(scales), y=rate, color=_colour(texts), strokeDash=dash)
    return chart


def _draw_strip(points: pl.DataFrame, scales: Scales, texts: Texts) -> list[alt.Chart]:
    if scales.counts is None:
        return []
    shape = alt.Shape("cc:N", scale=_style(texts, "marker"), legend=None)
    encoding = {"x": _time(scales), "color": _colour(texts), "shape": shape}
    return draw_strip(points, scales.counts, texts.count_axis, scales.height_px, encoding)


def _draw_direct_labels(panel: Panel, named: Placed, scales: Scales) -> list[alt.Chart]:
    ccs = theme.order_algorithms(panel.lines["cc"].unique())
    top_bps = scales.rate_ticks[-1] * scales.unit_bps
    traces = {cc: _locate(panel.lines.filter(pl.col("cc") == cc), "rate_bps", top_bps, scales) for cc in ccs}
    return write_names(traces, list_obstacles(named, WIDTH_PX), scales.lines_px)


def _draw_legend(texts: Texts, band: pl.DataFrame, *, has_points: bool) -> list[alt.Chart]:
    rows = len(texts.legend)
    entries = [
        draw_legend_entry(cc, entry, row, rows, has_points=has_points)
        for row, (cc, entry) in enumerate(texts.legend.items())
    ]
    if texts.band is not None:
        x_px = find_band_px(texts.legend.values(), has_points=has_points)
        lines = [text for text in (texts.band, texts.choice) if text][:rows]
        entries.append(draw_band_entry(lines, rows, BAND_OPACITY, x_px, is_line=_is_flat(band)))
    return [layer for entry in entries for layer in entry]
