"""How two quantities of connections go together: a heat map for each series, on the same axes and colours."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.edge.quantities import (
    QUANTITIES,
    check_grouping,
    find_integers,
    name_absent,
    query_aggregates,
    read_aggregates,
    tell_left_out,
)
from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.series_styles import name_series, style_series
from ccreport.figures.kit.small_multiples import PANEL_GAP_PX, TITLE_LIMIT_PX, TITLE_RISE_PX
from ccreport.figures.kit.text import write
from ccreport.figures.select.declaration import FigureDeclaration, FigureError
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import fold_sentences, write_sentences

HEIGHT_PX: Final = 280
COLOUR_BAR_PX: Final = 60
BINS_PER_DECADE: Final = 10
LABELLED: Final = (1, 2, 5)
# With fewer of them the edges of bins are labelled instead.
TICKS_AT_LEAST: Final = 3
# Where values of 0 are drawn, below the smallest bin: a gap, then one row.
ZERO_GAP: Final = 1
ORDER: Final = "series, x_bin_number, y_bin_number NULLS FIRST"
PANELS_AT_MOST: Final = 3
LEFT_OUT: Final = """
    FROM edge_connections WHERE (grouped_by, series) IN (SELECT (grouped_by, series) FROM edge_heat_maps WHERE (
{where}
)) ORDER BY ALL
"""


@dataclass(frozen=True)
class Axes:
    """Both quantities, and the ends of the axes as numbers of bins; `zero` is the row of zeros, if there are any."""

    x_quantity: str
    y_quantity: str
    x: tuple[int, int]
    y: tuple[int, int]
    zero: int | None


def build_heat_map(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the heat maps of the series whose bins of `edge_heat_maps` match, all of one pair of quantities.

    Raise MissingFigure where no bin matches, FigureError where they are of several pairs or more than three series.
    """
    bins = read_aggregates(declaration, database, "edge_heat_maps", ORDER)
    check_grouping(declaration, bins)
    pairs = bins.select("x_quantity", "y_quantity").unique().sort("x_quantity", "y_quantity").rows()
    if len(pairs) > 1:
        raise FigureError(f"figure {declaration.name!r}: its `where` selects several pairs of quantities: {pairs}")
    styles = style_series(bins["series"].unique(maintain_order=True).to_list())
    if len(styles) > PANELS_AT_MOST:
        raise FigureError(f"figure {declaration.name!r}: its `where` selects {len(styles)} series; three have room")
    axes = _measure_axes(bins)
    connections = query_aggregates(declaration, database, LEFT_OUT.format(where=declaration.where))
    return Figure(
        _draw(bins, axes, styles, declaration.title),
        bins.drop("x_quantity", "y_quantity", "grouped_by"),
        _write_caption(bins, axes, styles, tell_left_out(connections, " others"), name_absent(declaration, styles)),
        _write_alternative(bins, axes, styles),
    )


def _measure_axes(bins: pl.DataFrame) -> Axes:
    low_x, high_x = bins.select(low=pl.col("x_bin_number").min(), high=pl.col("x_bin_number").max()).row(0)
    known = bins.drop_nulls("y_bin_number")
    low_y, high_y = known.select(low=pl.col("y_bin_number").min(), high=pl.col("y_bin_number").max()).row(0)
    if low_y is None:
        low_y, high_y = 0, 0
    zero = low_y - ZERO_GAP - 1 if bins["y_bin_number"].null_count() else None
    first = low_y if zero is None else zero
    return Axes(bins["x_quantity"][0], bins["y_quantity"][0], (low_x, high_x + 1), (first, high_y + 1), zero)


def _draw(bins: pl.DataFrame, axes: Axes, styles: dict[str, str], title: str) -> alt.HConcatChart:
    width = (theme.PLOT_WIDTH_PX - COLOUR_BAR_PX - (len(styles) - 1) * PANEL_GAP_PX) // len(styles)
    share = 100 * pl.col("binned_ratio")
    ends = bins.select(low=share.min(), high=share.max()).row(0)
    panels = [
        _draw_panel(bins.filter(pl.col("series") == series), series, axes, width, ends, is_first=not number)
        for number, series in enumerate(styles)
    ]
    heading = alt.TitleParams([" ".join(title.split())], offset=14, limit=TITLE_LIMIT_PX, anchor="start")
    chart: alt.HConcatChart = alt.hconcat(*panels, spacing=PANEL_GAP_PX).properties(title=heading)
    return chart


def _draw_panel(
    bins: pl.DataFrame, series: str, axes: Axes, width: int, ends: tuple[float, float], *, is_first: bool
) -> alt.LayerChart:
    row = pl.col("y_bin_number").fill_null(axes.zero if axes.zero is not None else 0)
    bottom, top = (_find_ends(end, QUANTITIES[axes.y_quantity].is_count) for end in (0, 1))
    cells = bins.select(
        left="x_bin_number",
        right=pl.col("x_bin_number") + 1,
        bottom=pl.col("y_bin_number").map_elements(bottom, pl.Float64).fill_null(row),
        top=pl.col("y_bin_number").map_elements(top, pl.Float64).fill_null(row + 1),
        share=(100 * pl.col("binned_ratio")).round(9),
    )
    colour = alt.Color(
        "share:Q",
        # From pale to dark: what is rare stays faint.
        scale=alt.Scale(type="log", scheme="blues", domain=[ends[0], max(ends[1], ends[0] * 10)]),
        legend=alt.Legend(title="% per bin", format="~g", gradientLength=HEIGHT_PX - 30, tickCount=4),
    )
    y_axis = _axis(axes.y_quantity, axes.y, axes.zero)
    if not is_first:
        y_axis = alt.Axis(title=None, labels=False, values=y_axis["values"], grid=False)
    marks = alt.Chart(cells).mark_rect()
    layers: list[alt.Chart] = [
        marks.encode(
            x=alt.X("left:Q", scale=_scale(axes.x), axis=_axis(axes.x_quantity, axes.x, None)),
            x2="right:Q",
            y=alt.Y("bottom:Q", scale=_scale(axes.y), axis=y_axis),
            y2="top:Q",
            color=colour,
        ),
        write([name_series(series)], (0.0, -TITLE_RISE_PX), align="left", weight="bold"),
        write([_count(bins)], (float(width), -TITLE_RISE_PX), align="right", colour=theme.FAINT_INK),
    ]
    return alt.LayerChart(layer=layers, width=width, height=HEIGHT_PX)


def _find_ends(end: int, is_count: bool) -> Callable[[int], float]:
    """Return where a bin begins (0) or ends (1), in bins; of whole numbers it is from its first to that of the next."""

    def find(number: int) -> float:
        held = find_integers(number) if is_count else ()
        return BINS_PER_DECADE * math.log10(held[-1] + 1 if end else held[0]) if held else float(number + end)

    return find


def _scale(ends: tuple[int, int]) -> alt.Scale:
    return alt.Scale(domain=list(ends), nice=False, zero=False)


def _axis(name: str, ends: tuple[int, int], zero: int | None) -> alt.Axis:
    """Return an axis over numbers of bins, labelled with values at 1, 2 and 5 in each decade, else at edges of bins."""
    quantity = QUANTITIES[name]
    lowest = ends[0] if zero is None else zero + ZERO_GAP + 1
    decades = range(math.floor(lowest / BINS_PER_DECADE), ends[1] // BINS_PER_DECADE + 1)
    places = [BINS_PER_DECADE * (decade + math.log10(part)) for decade in decades for part in LABELLED]
    ticks = [place for place in places if lowest <= place <= ends[1]]
    if len(ticks) < TICKS_AT_LEAST:
        step = max(1, (ends[1] - lowest) // 5)
        ticks = [float(place) for place in range(lowest, ends[1] + 1, step)]
    style = "s" if quantity.format.endswith("s") else "r"
    label = f"format(pow(10, datum.value / {BINS_PER_DECADE}), '.2~{style}')"
    if zero is not None:
        label = f"datum.value < {lowest} ? '0' : {label}"
        ticks.insert(0, zero + 0.5)
    return alt.Axis(title=quantity.title, values=ticks, labelExpr=label, grid=False)


def _count(bins: pl.DataFrame) -> str:
    return f"n = {bins['binned_count'].sum():,}"


def _name_pair(axes: Axes, joined: str) -> str:
    return joined.join(QUANTITIES[name].lower_name for name in (axes.x_quantity, axes.y_quantity))


def _write_caption(bins: pl.DataFrame, axes: Axes, styles: dict[str, str], left_out: str, absent: list[str]) -> str:
    counts = [f"{name_series(series)} {_count(bins.filter(pl.col('series') == series))}" for series in styles]
    return fold_sentences(
        [
            f"Connections by {_name_pair(axes, ' and ')}: {', '.join(counts)}",
            *absent,
            left_out,
            "Ten bins per decade on both axes; the colour is a bin's share of the series' connections, on a log scale",
            *(["The lowest row holds values of 0"] if axes.zero is not None else []),
        ]
    )


def _write_alternative(bins: pl.DataFrame, axes: Axes, styles: dict[str, str]) -> str:
    told = []
    for series in styles:
        own = bins.filter(pl.col("series") == series).sort("binned_count", descending=True, maintain_order=True)
        x_bin, y_bin = own.select("x_bin_number", "y_bin_number").row(0)
        y = (
            "0"
            if y_bin is None
            else f"{10 ** ((y_bin + 0.5) / BINS_PER_DECADE):.3g} {QUANTITIES[axes.y_quantity].unit}"
        )
        x = f"{10 ** ((x_bin + 0.5) / BINS_PER_DECADE):.3g} {QUANTITIES[axes.x_quantity].unit}"
        told.append(f"{name_series(series)}: {_count(own)}, the fullest bin near {x} and {y}")
    return write_sentences(
        [
            f"Heat maps of {QUANTITIES[axes.x_quantity].lower_name} against {QUANTITIES[axes.y_quantity].lower_name}",
            *told,
        ]
    )
