"""Small multiples of means with intervals over conditions: panels with the same scales, one legend above them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import CHARACTER_PX, LEAST_GAP, Position, choose_offset, draw_ticks
from ccreport.figures.kit.label_placement import Point, list_bar_points, place_labels
from ccreport.figures.kit.text import LINE_HEIGHT_PX, NO_DATA, at_x, at_y, to_x, wrap_text, write
from ccreport.figures.kit.value_axis import ValueAxis

PANEL_GAP_PX: Final = 26
# Widths of the rate axis with its title, and of the figure without it.
PLOT_WIDTH_PX: Final = theme.PLOT_WIDTH_PX
HEIGHTS_PX: Final = {1: 300, 2: 220}
LOW_HEIGHT_PX: Final = 190
# Panels side by side, by their number; more than the last are in rows of four.
COLUMNS: Final = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}
TITLE_LIMIT_PX: Final = 760
TITLE_RISE_PX: Final = 14.0
BOLD_CHARACTER_PX: Final = 7.0
CAP_PX: Final = 3.0
# Of a mean's symbol; the widest is the circle, with its outline `SYMBOL_PX`.
SYMBOL_SIZE: Final = 40
RUN_OPACITY: Final = 0.4
BOUND_DASH: Final = (2, 3)
# Fewer means of a series are not joined.
POINTS_OF_LINE: Final = 3
LEGEND_HEIGHT_PX: Final = 22
LEGEND_SAMPLE_PX: Final = 34
LEGEND_GAP_PX: Final = 26


@dataclass(frozen=True)
class Series:
    """One line: its key in the data, the name that the legend gives it, and how it is drawn.

    `by_panel` has its colour where it is not the same in all panels; then the legend shows it in the colour of text.
    """

    key: str
    name: str
    colour: str
    dash: tuple[int, int]
    marker: str
    by_panel: Sequence[str] = ()

    def colour_in(self, panel: int) -> str:
        """Return the colour in a panel."""
        return self.by_panel[panel] if self.by_panel else self.colour


@dataclass(frozen=True)
class Multiples:
    """What is drawn.

    `cells` (panel, series, x, mean, low, high) and `runs` (panel, series, x, rate_bps; may be empty) are in bit/s,
    `rates` is the axis in a unit of `unit_bps`. `positions` has the axis of each panel, `bounds_bps` the rates that are
    dotted across it and called `bound` in the legend.
    """

    title: Sequence[str]
    panels: Sequence[str]
    series: Sequence[Series]
    positions: Sequence[Position]
    rates: ValueAxis
    unit_bps: float
    cells: pl.DataFrame
    runs: pl.DataFrame = field(default_factory=pl.DataFrame)
    bounds_bps: Sequence[Sequence[float]] = ()
    bound: str = ""


def draw_multiples(drawn: Multiples) -> alt.VConcatChart:
    """Return the chart: title, legend, and the panels in rows from left to right."""
    drawn = replace(drawn, cells=_number_lines(drawn))
    columns = choose_columns(len(drawn.panels))
    rows_count = math.ceil(len(drawn.panels) / columns)
    width = (PLOT_WIDTH_PX - (columns - 1) * PANEL_GAP_PX) // columns
    height = HEIGHTS_PX.get(rows_count, LOW_HEIGHT_PX)
    panels = [_draw_panel(drawn, number, width, height, columns) for number in range(len(drawn.panels))]
    rows = [
        alt.hconcat(*panels[first : first + columns], spacing=PANEL_GAP_PX) for first in range(0, len(panels), columns)
    ]
    heading, *details = drawn.title
    title = alt.TitleParams(heading, subtitle=details, offset=12, limit=TITLE_LIMIT_PX, anchor="start")
    bounds = [Series("", drawn.bound, theme.FAINT_INK, BOUND_DASH, "")] if any(drawn.bounds_bps) else []
    legend = draw_legend([*drawn.series, *bounds], has_lines=drawn.cells["line"].is_not_null().any())
    chart: alt.VConcatChart = alt.vconcat(legend, *rows, spacing=14).properties(title=title)
    return chart


def choose_columns(panels_count: int) -> int:
    """Return how many panels are side by side."""
    return COLUMNS.get(panels_count, 4)


def _number_lines(drawn: Multiples) -> pl.DataFrame:
    """Return the cells that have a mean with their `line`, null where a mean is joined to no other."""
    known = drawn.cells.drop_nulls("mean").sort("x", maintain_order=True)
    measured = known["x"].unique().sort().to_list()
    parts = []
    for (panel, _), own in known.group_by("panel", "series", maintain_order=True):
        position = drawn.positions[int(str(panel))]
        lines = join_points(own["x"].to_list(), measured, LEAST_GAP * (position.high - position.low))
        parts.append(own.with_columns(line=pl.Series(lines, dtype=pl.Int64)))
    return pl.concat(parts)


def join_points(own: Sequence[float], measured: Sequence[float], apart: float) -> list[int | None]:
    """Return the number of the line that each point of a series is on, in order of x; None for one on no line.

    Two neighbours are joined unless another series was measured between them, further than `apart` from both. A series
    of two points shows no trend, so these are not joined.
    """
    if len(own) < POINTS_OF_LINE:
        return [None] * len(own)
    numbers = [0]
    for before, after in pairwise(own):
        numbers.append(numbers[-1] + any(before + apart < x < after - apart for x in measured))
    return [number if numbers.count(number) > 1 else None for number in numbers]


def draw_legend(series: Sequence[Series], *, has_lines: bool = True) -> alt.LayerChart:
    """Return the legend as a chart of its own: line, marker and name of each series, in as many rows as they need.

    What has no marker is a line in any case.
    """
    layers: list[alt.Chart] = []
    x_px, row = 0.0, 0
    for entry in series:
        width_px = LEGEND_SAMPLE_PX + 8 + (len(entry.name) + 1) * CHARACTER_PX
        if x_px and x_px + width_px > PLOT_WIDTH_PX:
            x_px, row = 0.0, row + 1
        colour = theme.INK if entry.by_panel else entry.colour
        y_px = (row + 0.5) * LEGEND_HEIGHT_PX
        line = alt.Chart(NO_DATA).mark_rule(color=colour, strokeWidth=2, strokeDash=list(entry.dash))
        look: dict[str, Any] = {"shape": entry.marker} if entry.marker else {}
        marker = alt.Chart(NO_DATA).mark_point(size=45, color=colour, fill="white", opacity=1, **look)
        layers += [
            *(
                [line.encode(x=at_x(x_px), x2=to_x(x_px + LEGEND_SAMPLE_PX), y=at_y(y_px))]
                if has_lines or not entry.marker
                else []
            ),
            *([marker.encode(x=at_x(x_px + LEGEND_SAMPLE_PX / 2), y=at_y(y_px))] if entry.marker else []),
            write([entry.name], (x_px + LEGEND_SAMPLE_PX + 8, y_px), align="left"),
        ]
        x_px += width_px + LEGEND_GAP_PX
    return alt.LayerChart(layer=layers, width=PLOT_WIDTH_PX, height=(row + 1) * LEGEND_HEIGHT_PX)


def _draw_panel(drawn: Multiples, number: int, width: int, height: int, columns: int) -> alt.LayerChart:
    position = drawn.positions[number]
    layers: list[alt.Chart] = [_draw_frame(drawn, position, is_first=number % columns == 0)]
    layers += _draw_bounds(drawn, number, width, height)
    in_panel = drawn.cells.filter(pl.col("panel") == number)
    present = [series for series in drawn.series if series.key in in_panel["series"].to_list()]
    per_px = (position.high - position.low) / width
    offset_px = choose_offset(in_panel["x"].to_list(), position, width, len(present))
    traces: dict[str, list[Point]] = {}
    obstacles: list[Point] = []
    for place, series in enumerate(present):
        shift = (place - (len(present) - 1) / 2) * offset_px * per_px
        cells = _prepare(in_panel, series, shift, drawn, ["mean", "low", "high"])
        if drawn.runs.height:
            own = drawn.runs.filter(pl.col("panel") == number)
            layers.append(_draw_runs(_prepare(own, series, shift, drawn, ["rate_bps"]), series, number))
        layers += _draw_series(cells, series, number, drawn.rates.least)
        longest = cells.filter(pl.col("line") == pl.col("line").mode().sort().first())
        traces[series.key] = _locate(longest, "mean", drawn, number, (width, height))
        barred = cells.drop_nulls(["mean", "low", "high"])
        lows, highs = (_locate(barred, name, drawn, number, (width, height)) for name in ("low", "high"))
        obstacles += [*_locate(cells, "mean", drawn, number, (width, height)), *list_bar_points(lows, highs)]
    layers += _draw_names(present, traces, obstacles, number, width, height)
    layers += draw_ticks(position, width, height)
    if drawn.panels[number]:
        # A title of Vega-Lite is higher over a panel with axis labels than over one without.
        lines = wrap_text(drawn.panels[number], int((width + PANEL_GAP_PX) / BOLD_CHARACTER_PX))
        rise_px = TITLE_RISE_PX + LINE_HEIGHT_PX * (len(lines) - 1)
        layers.append(write(lines, (0.0, -rise_px), align="left", weight="bold"))
    return alt.LayerChart(layer=layers, width=width, height=height)


def _locate(cells: pl.DataFrame, column: str, drawn: Multiples, number: int, size_px: tuple[int, int]) -> list[Point]:
    position, (width, height) = drawn.positions[number], size_px
    per_px = (position.high - position.low) / width
    known = cells.select("x", column).drop_nulls()
    return [((x - position.low) / per_px, height * (1 - drawn.rates.part(rate))) for x, rate in known.rows()]


def _prepare(
    frame: pl.DataFrame, series: Series, shift: float, drawn: Multiples, columns: Sequence[str]
) -> pl.DataFrame:
    """Return the rows of a series in the unit of the axis; what is below its lower end is drawn there."""
    own = frame.filter(pl.col("series") == series.key).sort("x")
    values = (pl.col(columns) / drawn.unit_bps).round(6).clip(drawn.rates.least)
    return own.select((pl.col("x") + shift).round(4), values, *({"line"} & set(own.columns)))


def _x(position: Position) -> alt.X:
    axis = alt.Axis(title=None, labels=False, grid=False, values=[at for at, _ in position.ticks])
    return alt.X("x:Q", scale=alt.Scale(domain=[position.low, position.high], nice=False, zero=False), axis=axis)


def _y(column: str, drawn: Multiples, *, is_first: bool = True) -> alt.Y:
    options: dict[str, Any] = {"format": drawn.rates.format} if drawn.rates.format else {}
    axis = alt.Axis(
        title=drawn.rates.title if is_first else None,
        labels=is_first,
        ticks=is_first,
        values=list(drawn.rates.ticks),
        **options,
    )
    return alt.Y(f"{column}:Q", scale=drawn.rates.scale, axis=axis)


def _draw_frame(drawn: Multiples, position: Position, *, is_first: bool) -> alt.Chart:
    # It alone has the axes of its panel: marks that are drawn over it share them.
    frame = pl.DataFrame({"x": [position.low], "mean": [float(drawn.rates.least)]})
    mark = alt.Chart(frame).mark_point(opacity=0, size=1)
    chart: alt.Chart = mark.encode(x=_x(position), y=_y("mean", drawn, is_first=is_first))
    return chart


def _draw_bounds(drawn: Multiples, number: int, width: int, height: int) -> list[alt.Chart]:
    """Return a dotted line for each rate that bounds those of a panel."""
    rule = alt.Chart(NO_DATA).mark_rule(color=theme.FAINT_INK, strokeWidth=1.4, strokeDash=list(BOUND_DASH))
    heights = [
        round(height * (1 - drawn.rates.part(bound_bps / drawn.unit_bps)), 1)
        for bound_bps in (drawn.bounds_bps[number] if drawn.bounds_bps else ())
    ]
    return [rule.encode(x=at_x(0), x2=to_x(width), y=at_y(y_px)) for y_px in heights]


def _draw_series(cells: pl.DataFrame, series: Series, number: int, least: float) -> list[alt.Chart]:
    colour = series.colour_in(number)
    base = alt.Chart(cells.drop("line"))
    known = cells.drop("line").drop_nulls()
    joined = cells.drop_nulls("line").select("x", "mean", "line")
    x = alt.X("x:Q")
    line = alt.Chart(joined).mark_line(color=colour, strokeWidth=1.8, strokeDash=list(series.dash))
    return [
        *([line.encode(x=x, y=alt.Y("mean:Q"), detail="line:N")] if joined.height else []),
        alt.Chart(known).mark_rule(color=colour, strokeWidth=1.4).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        *(
            # A bar that goes on below the axis has an arrow in place of its end.
            alt.Chart(known.filter(pl.col(end) > least))
            .mark_tick(color=colour, thickness=1.4, size=2 * CAP_PX, orient="horizontal")
            .encode(x=x, y=alt.Y(f"{end}:Q"))
            for end in ("low", "high")
        ),
        *([_draw_arrows(beyond, colour)] if (beyond := known.filter(pl.col("low") <= least)).height and least else []),
        base.mark_point(
            size=SYMBOL_SIZE, color=colour, shape=series.marker, fill="white", opacity=1, strokeWidth=1.5
        ).encode(x=x, y=alt.Y("mean:Q")),
    ]


def _draw_arrows(cells: pl.DataFrame, colour: str) -> alt.Chart:
    """Return arrows at the lower end of the axis, for intervals that go on below it."""
    mark = alt.Chart(cells).mark_point(shape="triangle-down", size=30, color=colour, fill=colour, opacity=1)
    chart: alt.Chart = mark.encode(x=alt.X("x:Q"), y=alt.Y("low:Q"))
    return chart


def _draw_runs(runs: pl.DataFrame, series: Series, number: int) -> alt.Chart:
    mark = alt.Chart(runs).mark_circle(size=16, color=series.colour_in(number), opacity=RUN_OPACITY)
    chart: alt.Chart = mark.encode(x=alt.X("x:Q"), y=alt.Y("rate_bps:Q"))
    return chart


def _draw_names(
    present: Sequence[Series],
    traces: dict[str, list[Point]],
    obstacles: Sequence[Point],
    number: int,
    width: int,
    height: int,
) -> list[alt.Chart]:
    names = {series.key: series.name for series in present}
    places = place_labels(names, traces, obstacles, width, height) if len(present) > 1 else {}
    if len(places) < len(names) and present[0].by_panel:
        # Lines of one colour: a name beside some of them only would be taken for the others' too.
        return []
    colours = {series.key: series.colour_in(number) for series in present}
    return [
        write([names[key]], place, align="center", weight="bold", colour=colours[key]) for key, place in places.items()
    ]
