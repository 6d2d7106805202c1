"""Means with intervals at places of a category axis, a panel for each setting: what three of these figures share."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import Position
from ccreport.figures.kit.small_multiples import Multiples, Series, draw_multiples
from ccreport.figures.kit.value_axis import fit_value_axis
from ccreport.figures.wording.conditions import describe_panel
from ccreport.figures.wording.runs import format_significant, join_names


def draw_categories(
    title: Sequence[str],
    cells: pl.DataFrame,
    panel_keys: Sequence[str],
    places: Mapping[Any, str],
    axes: tuple[str, str],
) -> alt.VConcatChart:
    """Return a chart of cells: the panel keys, cc, place (a key of `places`, which has their labels), mean, low, high.

    `axes` are the titles of the horizontal and of the vertical axis.
    """
    panels = list_panels(cells, panel_keys)
    order = list(places)
    ccs = theme.order_algorithms(cells["cc"].unique())
    styles = {cc: theme.style_of(cc) for cc in ccs}
    tagged = cells.select(
        pl.Series("panel", [panels.index(values) for values in cells.select(panel_keys).rows()] or None, pl.Int64)
        if panel_keys
        else pl.lit(0, pl.Int64).alias("panel"),
        pl.col("cc").replace_strict({cc: style.name for cc, style in styles.items()}).alias("series"),
        pl.Series("x", [float(order.index(place)) for place in cells["place"]]),
        "mean",
        "low",
        "high",
    )
    top = cells.select(pl.max_horizontal(pl.col("mean").max(), pl.col("high").max())).item()
    ticks = [(float(at), label) for at, label in enumerate(places.values())]
    return draw_multiples(
        Multiples(
            title=title,
            panels=[describe_panel(panel_keys, values) for values in panels],
            series=[
                Series(style.name, style.name, style.colour, style.dash, style.marker) for style in styles.values()
            ],
            positions=[Position(axes[0], -0.5, len(order) - 0.5, ticks)] * len(panels),
            rates=fit_value_axis(axes[1], cells["mean"], [top], cells["low"]),
            unit_bps=1.0,
            cells=tagged,
        )
    )


def list_panels(cells: pl.DataFrame, panel_keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the values of the panel keys in order."""
    return cells.select(panel_keys).unique().sort(panel_keys, nulls_last=True).rows() if panel_keys else [()]


def describe_cells(cells: pl.DataFrame, panel_keys: Sequence[str], places: Mapping[Any, str], unit: str) -> list[str]:
    """Return a sentence for each panel with the mean of each algorithm at each place."""
    sentences = []
    for values in list_panels(cells, panel_keys):
        is_here = [
            pl.lit(value=True),
            *(pl.col(k).eq_missing(pl.lit(v)) for k, v in zip(panel_keys, values, strict=True)),
        ]
        own = {(row["cc"], row["place"]): row["mean"] for row in cells.filter(*is_here).rows(named=True)}
        texts = []
        for cc in theme.order_algorithms({cc for cc, _ in own}):
            told = [
                f"{format_significant(own[cc, place], 3)}{unit} ({label})"
                for place, label in places.items()
                if (cc, place) in own
            ]
            texts.append(f"{theme.style_of(cc).name} {join_names(told)}")
        named = describe_panel(panel_keys, values)
        sentences.append(f"{named}: {'; '.join(texts)}" if named else "; ".join(texts))
    return sentences
