"""Panels of a quantity against the load of RPCs: a line and intervals for each algorithm, on a scale of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.keyed_panels import PAIR_WIDTH_PX, PANEL_GAP_PX, TITLE_LIMIT_PX, size_panel
from ccreport.figures.kit.series_styles import name_series
from ccreport.figures.kit.small_multiples import Series, draw_legend
from ccreport.figures.kit.ticks import MARK_ROOM, choose_ticks

PANEL_HEIGHT_PX: Final = 190
# Room for the axis title of the second panel beside labels up to `1,200`.
ROW_GAP_PX: Final = PANEL_GAP_PX + 14
# Parts of the width of the axis: between algorithms at one load, and free at its ends.
DODGE: Final = 0.012
MARGIN: Final = 0.06


@dataclass(frozen=True)
class LoadPanel:
    """What one panel draws: rows (algorithm, load_count and the three columns of mean, low and high), and its texts.

    What is drawn is `factor` times the columns.
    """

    rows: pl.DataFrame
    columns: tuple[str, str, str]
    axis: str
    title: str = ""
    factor: float = 1.0

    @property
    def is_known(self) -> bool:
        """Tell whether there is a mean to draw."""
        return bool(self.rows[self.columns[0]].is_not_null().any())


def draw_rows(
    title: Sequence[str], subtitle: Sequence[str], styles: Mapping[str, str], rows: Sequence[Sequence[LoadPanel]]
) -> alt.VConcatChart:
    """Return the figure: title, legend, and rows of up to two panels; all have the loads of all on their axis.

    `styles` names for each algorithm the one in whose style it is drawn.
    """
    loads = sorted({load for row in rows for panel in row for load in panel.rows["load_count"]})
    drawn = [theme.style_of(cc) for cc in styles.values()]
    legend = [
        Series(name, name_series(name), style.colour, style.dash, style.marker)
        for name, style in zip(styles, drawn, strict=True)
    ]
    width_px = PAIR_WIDTH_PX if max(map(len, rows)) > 1 else theme.PLOT_WIDTH_PX
    lines = [
        alt.hconcat(*(draw_panel(panel, loads, styles, width_px) for panel in row), spacing=ROW_GAP_PX, bounds="flush")
        for row in rows
    ]
    params = alt.TitleParams(list(title), subtitle=list(subtitle), offset=12, limit=TITLE_LIMIT_PX, anchor="start")
    chart: alt.VConcatChart = alt.vconcat(draw_legend(legend), *lines, spacing=14).properties(title=params)
    return chart


def draw_panel(panel: LoadPanel, loads: Sequence[int], styles: Mapping[str, str], width_px: int) -> alt.LayerChart:
    """Return one panel, its value axis from 0, its load axis logarithmic from the first to the last of `loads`."""
    names = dict(zip(("mean", "low", "high"), panel.columns, strict=True))
    known = panel.rows.select(
        "algorithm", "load_count", *((pl.col(column) * panel.factor).alias(name) for name, column in names.items())
    ).filter(pl.col("mean").is_not_null())
    ticks = choose_ticks(MARK_ROOM * known.select(pl.max_horizontal("mean", "high").max()).item() or 1.0)
    span = max(loads[-1] / loads[0], 2.0)
    ends = [round(loads[0] * span**-MARGIN, 4), round(loads[-1] * span**MARGIN, 4)]
    load_axis = alt.Axis(
        title="Load (parallel connections)", values=list(loads), format="d", grid=False, labelOverlap=True
    )
    x = alt.X("load:Q", scale=alt.Scale(type="log", domain=ends, nice=False), axis=load_axis)
    value_axis = alt.Axis(title=panel.axis, values=list(ticks))
    y = alt.Y("mean:Q", scale=alt.Scale(domain=[0, ticks[-1]], nice=False), axis=value_axis)
    layers: list[alt.Chart] = []
    for place, (algorithm, cc) in enumerate(styles.items()):
        shift = span ** (DODGE * (place - (len(styles) - 1) / 2))
        own = known.filter(pl.col("algorithm") == algorithm).sort("load_count")
        layers += _draw_line(own, shift, cc, x, y)
    return size_panel(layers, width_px, PANEL_HEIGHT_PX, panel.title or None)


def _draw_line(own: pl.DataFrame, shift: float, cc: str, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    style = theme.style_of(cc)
    data = own.select((pl.col("load_count") * shift).round(4).alias("load"), pl.col("mean", "low", "high").round(6))
    base = alt.Chart(data)
    bars = alt.Chart(data.drop_nulls()).mark_rule(color=style.colour, strokeWidth=1.4)
    points = base.mark_point(size=40, color=style.colour, shape=style.marker, fill="white", opacity=1, strokeWidth=1.5)
    return [
        base.mark_line(color=style.colour, strokeWidth=1.8, strokeDash=list(style.dash)).encode(x=x, y=y),
        bars.encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        points.encode(x=x, y=y),
    ]
