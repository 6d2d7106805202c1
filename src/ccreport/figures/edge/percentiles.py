"""Percentiles of one quantity over all connections of servers: one line per series, from its slow to its fast end."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.edge.distributions import keep_large, write_counts, write_entry, write_percentiles
from ccreport.figures.edge.quantities import Quantity, find_quantity, read_aggregates
from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.series_styles import style_series
from ccreport.figures.kit.small_multiples import TITLE_LIMIT_PX
from ccreport.figures.kit.text import draw_legend_entry
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import fold_sentences

PERCENTILES: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def build_distribution_percentiles(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the percentiles of the series whose rows of `edge_distributions` match, all of one quantity.

    Raise MissingFigure where none has enough values, FigureError where they are of several quantities.
    """
    rows = read_aggregates(declaration, database, "edge_distributions", "series")
    quantity = find_quantity(declaration, rows)
    facts, few = keep_large(rows)
    styles = style_series(facts["series"].to_list())
    points = list_points(facts)
    return Figure(
        _draw(points, facts, quantity, styles, declaration.title),
        points,
        fold_sentences(
            [
                f"Percentiles of {quantity.lower_name}: p % of a series' values are below its value at percentile p",
                *write_counts(facts, few, quantity),
                *(["Values of 0 have no place on the axis"] * bool(facts["zeros_count"].sum() and quantity.is_log)),
            ]
        ),
        write_percentiles(facts, quantity, styles, f"Percentiles of {quantity.lower_name}"),
    )


def list_points(facts: pl.DataFrame) -> pl.DataFrame:
    """Return series, percentile and value, one row per point."""
    return pl.concat(
        facts.select("series", percentile=pl.lit(p, pl.Int64), value=f"value_p{p:02d}") for p in PERCENTILES
    ).sort("series", "percentile", maintain_order=True)


def _draw(
    points: pl.DataFrame, facts: pl.DataFrame, quantity: Quantity, styles: dict[str, str], title: str
) -> alt.LayerChart:
    # Percentile 0 and 100 are single connections, which say nothing of the others.
    x_axis = alt.Axis(title="Percentile", values=list(PERCENTILES), grid=True, labelOverlap="greedy")
    x = alt.X("percentile:Q", scale=alt.Scale(domain=[0, 100], nice=False), axis=x_axis)
    y_axis = alt.Axis(title=quantity.title, format=quantity.format, tickCount=6)
    y = alt.Y("value:Q", scale=alt.Scale(type="log") if quantity.is_log else alt.Scale(domain=[0, 100]), axis=y_axis)
    layers: list[alt.Chart] = []
    for row, (series, cc) in enumerate(styles.items()):
        style = theme.style_of(cc)
        own = points.filter(pl.col("series") == series).select("percentile", "value")
        drawn = alt.Chart(own.filter(pl.col("value") > 0) if quantity.is_log else own)
        layers.append(drawn.mark_line(color=style.colour, strokeDash=list(style.dash), strokeWidth=2).encode(x=x, y=y))
        layers.append(drawn.mark_point(color=style.colour, shape=style.marker, size=50).encode(x=x, y=y))
        entry = write_entry(facts.row(by_predicate=pl.col("series") == series, named=True), quantity)
        layers += draw_legend_entry(cc, entry, row, len(styles), has_points=True)
    heading = alt.TitleParams([" ".join(title.split())], offset=12, limit=TITLE_LIMIT_PX)
    return alt.LayerChart(layer=layers, width=theme.PLOT_WIDTH_PX, height=theme.PLOT_HEIGHT_PX, title=heading)
