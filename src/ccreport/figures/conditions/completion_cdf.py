"""Survival curves of flow completion times: the share of flows not yet done, a panel for each buffer size and loss."""

from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import (
    BAND_OPACITY,
    PAIR_WIDTH_PX,
    KeyEntry,
    arrange,
    mark_point,
    size_panel,
    stack,
    style_entry,
    time_axis,
)
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.run.chart import scale_of
from ccreport.figures.select.completions import (
    SETTINGS,
    measure_curves,
    read_completions,
    summarise_completions,
)
from ccreport.figures.select.condition_cells import list_varying, refuse_parts
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.completions import describe_left_out, describe_sources
from ccreport.figures.wording.conditions import describe_panel, fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant, join_names

PANEL_HEIGHT_PX: Final = 190
PANELS_AT_MOST: Final = 12


def build_completion_cdf(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of all runs that match; raise MissingFigure where they make too many panels."""
    flows = read_completions(declaration, database)
    keys = list_varying(flows, [*SETTINGS, "buffer_bytes"])
    panels = flows.select(keys).unique().sort(keys, nulls_last=True).rows() if keys else [()]
    if len(panels) > PANELS_AT_MOST:
        raise refuse_parts(f"{len(panels)} panels", flows, keys)
    ccs = theme.order_algorithms(flows["cc"].unique())
    ordered = flows.sort(*keys, "cc", "completion_s", "flow_id", nulls_last=True)
    curves, medians = measure_curves(ordered, [*keys, "cc"]), summarise_completions(ordered, [*keys, "cc"])
    end_s = choose_ticks(flows.select(pl.col("completion_s").max()).item())[-1]
    charts = []
    for number, values in enumerate(panels):
        is_here = [pl.lit(value=True), *(pl.col(k).eq_missing(pl.lit(v)) for k, v in zip(keys, values, strict=True))]
        title = f"{describe_panel(keys, values)}\n{_count(medians.filter(*is_here), ccs)}".lstrip()
        own = ordered.filter(~pl.col("is_complete"), *is_here).select("cc", time_s="completion_s")
        sides = {"is_first": number % 2 == 0, "is_lowest": number >= len(panels) - 2}
        charts.append(_draw(curves.filter(*is_here), own, end_s, title, **sides))
    names = join_names([theme.style_of(cc).name for cc in ccs])
    chart = stack(
        [" ".join(declaration.title.split())],
        [f"{names}; n: flows, censored ones included"],
        [
            *(style_entry(cc, theme.style_of(cc).name) for cc in ccs),
            KeyEntry("95 % interval", "band", theme.INK),
            KeyEntry("censored flow", "stroke", theme.INK),
        ],
        arrange(charts),
    )
    sentences = [
        "Kaplan and Meier's estimate: each step down is a flow that became complete",
        describe_sources(flows),
        *describe_left_out(database, flows),
        *(["All panels have the same scales"] if len(panels) > 1 else []),
    ]
    return Figure(chart, curves, fold_sentences(sentences), _describe(medians, keys, panels, ccs))


def _draw(
    curves: pl.DataFrame, censored: pl.DataFrame, end_s: float, title: str, *, is_first: bool, is_lowest: bool
) -> alt.LayerChart:
    ccs = theme.order_algorithms(curves["cc"].unique())
    data = curves.select("cc", "time_s", pl.col("share", "low", "high").round(5))
    axis = alt.Axis(title="Share not yet complete" if is_first else None, values=[0, 0.25, 0.5, 0.75, 1], format=".2f")
    colour = alt.Color("cc:N", scale=scale_of(ccs), legend=None)
    x = time_axis("Time (s)" if is_lowest else None, "time_s", end_s, ticks=5)
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)
    band = alt.Chart(data.drop_nulls()).mark_area(opacity=BAND_OPACITY, interpolate="step-after")
    line = alt.Chart(data).mark_line(strokeWidth=2, interpolate="step-after")
    layers = [
        line.encode(
            x=x, y=y, color=colour, strokeDash=alt.StrokeDash("cc:N", scale=scale_of(ccs, "dash"), legend=None)
        ),
        band.encode(x="time_s:Q", y="low:Q", y2="high:Q", color=colour),
    ]
    for cc in ccs:
        # Where the curve is at the time of a censoring.
        stops = censored.filter(pl.col("cc") == cc).select("time_s").sort("time_s")
        curve = data.filter(pl.col("cc") == cc).select("time_s", "share").sort("time_s")
        marks = stops.join_asof(curve, on="time_s")
        point = mark_point(alt.Chart(marks), "stroke", theme.style_of(cc).colour, 60)
        layers.append(point.encode(x="time_s:Q", y="share:Q"))
    return size_panel(layers, PAIR_WIDTH_PX, PANEL_HEIGHT_PX, title)


def _count(medians: pl.DataFrame, ccs: list[str]) -> str:
    counts = dict(medians.select("cc", "measured_count").rows())
    return ", ".join(f"{theme.style_of(cc).name} n {counts[cc]}" for cc in ccs if cc in counts)


def _describe(medians: pl.DataFrame, keys: list[str], panels: list[tuple[Any, ...]], ccs: list[str]) -> str:
    sentences = ["Survival curves of flow completion times"]
    for values in panels:
        is_here = [pl.lit(value=True), *(pl.col(k).eq_missing(pl.lit(v)) for k, v in zip(keys, values, strict=True))]
        own = dict(medians.filter(*is_here).select("cc", "median").rows())
        texts = [
            f"{theme.style_of(cc).name} {format_significant(own[cc], 3)} s" for cc in ccs if own.get(cc) is not None
        ]
        if texts:
            sentences.append(
                f"{describe_panel(keys, values) or 'All'}: half of the flows were complete after {join_names(texts)}"
            )
    return write_sentences(sentences)
