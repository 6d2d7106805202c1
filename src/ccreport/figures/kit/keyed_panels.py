"""Panels that share a key: their sizes, axes, and the key that says what each mark is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

from ccreport.figures.kit import theme
from ccreport.figures.kit.text import NO_DATA, at_x, at_y, to_x, to_y, wrap_text, write

# Between the plot areas of two panels: the labels of an axis, up to `1,000`, and free space.
PANEL_GAP_PX: Final = 62
PAIR_WIDTH_PX: Final = (theme.PLOT_WIDTH_PX - PANEL_GAP_PX) // 2
BAND_OPACITY: Final = 0.18
# A short upright line as a point shape.
STROKE: Final = "M0,-1L0,1"
KEY_ROW_PX: Final = 21
KEY_SYMBOL_PX: Final = 28
KEY_POINT_PX: Final = 12
KEY_GAP_PX: Final = 22
CHARACTER_PX: Final = 6.7
BOLD_CHARACTER_PX: Final = 7.3
TITLE_LIMIT_PX: Final = 760


@dataclass(frozen=True)
class KeyEntry:
    """One entry of a key: `form` is line, band, or a point shape of Vega-Lite."""

    text: str
    form: str
    colour: str
    dash: tuple[int, int] = (1, 0)
    width: float = 2.0


def style_entry(cc: str, text: str, *, width: float = 2.0) -> KeyEntry:
    """Return the entry of an algorithm's line."""
    style = theme.style_of(cc)
    return KeyEntry(text, "line", style.colour, style.dash, width)


def draw_key(entries: Sequence[KeyEntry], width: int = theme.PLOT_WIDTH_PX) -> alt.LayerChart:
    """Return a chart of a width that holds only a key, its entries in as many rows as they need."""
    layers: list[alt.Chart] = []
    x_px, row = 0.0, 0
    for entry in entries:
        symbol_px = KEY_SYMBOL_PX if entry.form in ("line", "band") else KEY_POINT_PX
        entry_px = symbol_px + 8 + CHARACTER_PX * len(entry.text)
        if x_px and x_px + entry_px > width:
            x_px, row = 0.0, row + 1
        y_px = KEY_ROW_PX * row + KEY_ROW_PX / 2
        layers += [_draw_symbol(entry, x_px, y_px), write([entry.text], (x_px + symbol_px + 8, y_px), align="left")]
        x_px += entry_px + KEY_GAP_PX
    return size_panel(layers, width, KEY_ROW_PX * (row + 1), None)


def _draw_symbol(entry: KeyEntry, x_px: float, y_px: float) -> alt.Chart:
    left, right = at_x(round(x_px, 1)), to_x(round(x_px + KEY_SYMBOL_PX, 1))
    chart = alt.Chart(NO_DATA)
    drawn: alt.Chart
    if entry.form == "line":
        rule = chart.mark_rule(color=entry.colour, strokeWidth=entry.width, strokeDash=list(entry.dash))
        drawn = rule.encode(x=left, x2=right, y=at_y(y_px))
    elif entry.form == "band":
        band = chart.mark_rect(color=entry.colour, opacity=BAND_OPACITY)
        drawn = band.encode(x=left, x2=right, y=at_y(y_px - 6), y2=to_y(y_px + 6))
    else:
        point = mark_point(chart, entry.form, entry.colour, 60)
        drawn = point.encode(x=at_x(round(x_px + KEY_POINT_PX / 2, 1)), y=at_y(y_px))
    return drawn


def mark_point(chart: alt.Chart, shape: str, colour: str, area_px: float, **options: Any) -> alt.Chart:
    """Return a chart of points: strokes have no fill, all other shapes are filled a little, so that overlaps show."""
    is_stroke = shape == "stroke"
    marked: alt.Chart = chart.mark_point(
        shape=STROKE if is_stroke else shape,
        stroke=colour,
        fill="transparent" if is_stroke else colour,
        fillOpacity=0.25,
        strokeWidth=1.4,
        opacity=1,
        size=area_px,
        **options,
    )
    return marked


def size_panel(layers: Sequence[alt.Chart], width_px: int, height_px: int, title: str | None) -> alt.LayerChart:
    """Return one panel of layers in its size; its title, unless it is the only one, ends before that beside it."""
    panel = alt.LayerChart(layer=list(layers))
    panel.width, panel.height = width_px, height_px
    if title is not None:
        letters = int((width_px + PANEL_GAP_PX) / BOLD_CHARACTER_PX)
        lines = [line for part in title.splitlines() for line in wrap_text(part, letters)]
        text = lines if len(lines) > 1 else title
        panel.title = alt.TitleParams(text, fontSize=theme.TEXT_PX, anchor="start", frame="group", offset=6)
    return panel


def stack(
    title: Sequence[str], subtitle: Sequence[str], key: Sequence[KeyEntry], panels: Sequence[Sequence[alt.LayerChart]]
) -> alt.VConcatChart:
    """Return a figure: its title, the key below it, and rows of panels, aligned by their plot areas."""
    params = alt.TitleParams(list(title), subtitle=list(subtitle), offset=12, limit=TITLE_LIMIT_PX)
    # Each panel declares its colours: flow 1 of one is not that of another.
    own = alt.Resolve(scale=alt.ScaleResolveMap(color="independent", strokeDash="independent"))
    # By their plot areas alone, so that stacked panels are aligned whatever their labels.
    rows = [
        alt.hconcat(*row, spacing=PANEL_GAP_PX, bounds="flush", resolve=own) if len(row) > 1 else row[0]
        for row in panels
    ]
    return alt.vconcat(draw_key(key), *rows, spacing=14, resolve=own, title=params)


def arrange(panels: Sequence[alt.LayerChart]) -> list[list[alt.LayerChart]]:
    """Return panels in rows of two."""
    return [list(panels[first : first + 2]) for first in range(0, len(panels), 2)]


def value_axis(title: str, column: str, end: float, ticks: Sequence[float], *, is_named: bool = True) -> alt.Y:
    """Return a vertical axis from 0; one beside another of the same scale has no name."""
    axis = alt.Axis(title=title if is_named else None, values=list(ticks))
    return alt.Y(f"{column}:Q", scale=alt.Scale(domain=[0, end], nice=False), axis=axis)


def time_axis(title: str | None, column: str, end: float, *, ticks: int, start: float = 0.0) -> alt.X:
    """Return a time axis; without a title it also has no numbers, as one above another of the same scale."""
    labelled: dict[str, Any] = {} if title else {"labels": False, "ticks": False}
    axis = alt.Axis(title=title, titleAnchor="start", grid=False, tickCount=ticks, labelFlush=False, **labelled)
    return alt.X(f"{column}:Q", scale=alt.Scale(domain=[start, end], nice=False), axis=axis)
