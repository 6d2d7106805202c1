"""Throughput of each algorithm over time, and under it the share of its flows that each limit held back."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.kit.value_axis import ValueAxis
from ccreport.figures.run import chart
from ccreport.figures.run.cpu import place_loads
from ccreport.figures.run.flows import sum_algorithms
from ccreport.figures.run.panel import FlowRates, PanelRuns, measure_flow_rates, read_panel
from ccreport.figures.run.rate_plot import (
    draw_rules,
    fit_rate_axis,
    list_obstacles,
    list_rate_sentences,
    place_line_rates,
)
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.limit_classes import classify, find_busiest, measure_growth, sum_limits
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.series import UNKNOWN_CC, choose_width_s
from ccreport.figures.wording.runs import format_significant, join_names

RATE_HEIGHT_PX: Final = 210
STRIP_HEIGHT_PX: Final = 62
# A strip takes as much room in a file as this many lines.
STRIP_LINES: Final = 16
# A swatch of the key: a line this wide.
SWATCH_PX: Final = 11.0
# In the order of limits.CATEGORIES. Their CIE lightness differs by 10 or more, so that they stay apart in grey print,
# and their colours by 20 (CIE 1976) or more for readers with protanopia, deuteranopia or tritanopia; that of the
# congestion window, which is the most frequent, differs as much from those of CUBIC and BBR.
CATEGORIES: Final = {
    "congestion_window": ("congestion window", "#884984"),
    "pacing": ("pacing or the sender's queue", "#efbf94"),
    "receive_window": ("receive window", "#15124f"),
    "send_buffer": ("send buffer", "#8d8350"),
    "application": ("application", "#b9a3d6"),
    "cpu": ("CPU", "#7d1530"),
    "unknown": ("not known", "#e6e6e6"),
}


def build_limits_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one condition; raise MissingFigure where `ss` did not sample what tells the limits."""
    panel = read_panel(declaration, database)
    growth = measure_growth(panel.tables.samples, panel.flows)
    limits = classify(find_busiest(growth, place_loads(panel, database)))
    limits = limits.filter(pl.col("from_s") < panel.end_s, pl.col("until_s") > 0)
    if limits.filter(pl.col("limit") != "unknown").is_empty():
        raise MissingFigure(
            "The archive has no consecutive samples of ss with busy times, windows or pacing rates for this run."
        )
    spacing_s = limits.select((pl.col("until_s") - pl.col("from_s")).median()).item()
    strip_bin_s = choose_width_s(spacing_s, panel.end_s, STRIP_LINES)
    strips = sum_limits(limits, strip_bin_s, panel.end_s)
    measured = measure_flow_rates(panel)
    rates = sum_algorithms(panel, measured)
    explained, line_rate = list_rate_sentences(panel, measured, rates)
    return chart.compose_figure(
        panel,
        chart.list_algorithm_key(panel.ccs) + _list_category_key(strips),
        [_draw_rates(panel, rates, measured.title), *_draw_strips(panel, strips)],
        _collect_data(rates, strips),
        sentences=[*line_rate, *_list_sentences(limits, measured, strip_bin_s)],
        what=f"Lines of the {measured.name} over time above strips of what limited the flows",
        messages=_describe(strips, panel.ccs),
        finding=_sum_up(strips, panel.ccs),
        explained=explained,
    )


def _list_sentences(limits: pl.DataFrame, measured: FlowRates, strip_bin_s: float) -> list[str]:
    sources = "differences between samples of ss and the state at the later one"
    sentences = [
        f"Lines: {measured.name} summed over each algorithm's flows, {measured.origin}",
        f"Strips: share of the algorithm's flows that each limit held back, per {strip_bin_s:g} s, from {sources}",
        "the methods page defines the limits and their order",
    ]
    if limits["busiest_pct"].count() == 0:
        sentences.append("the archive has no mpstat samples for the time shown, so CPU is never shown as the limit")
    return sentences


def _draw_rates(panel: PanelRuns, rates: pl.DataFrame, title: str) -> alt.LayerChart:
    unit = chart.find_rate_unit(rates)
    scaled = chart.scale_rates(rates, unit, 5)
    plot = chart.Plot(panel, fit_rate_axis(panel, rates, unit, title), RATE_HEIGHT_PX, is_lowest=False)
    rules = place_line_rates(plot, unit, rates, "cc")
    names = chart.draw_names(scaled, "rate", plot, list_obstacles(rules, plot.width_px))
    return plot.hold([*draw_rules(rules, plot.width_px), chart.draw_lines(scaled, "rate", plot), *names])


def _draw_strips(panel: PanelRuns, strips: pl.DataFrame) -> list[alt.LayerChart]:
    """Return the strip of each algorithm."""
    counts = dict(panel.flows.select(pl.col("cc").fill_null(UNKNOWN_CC)).group_by("cc").len().rows())
    axis = ValueAxis("Flows (%)", [0, 50, 100])
    drawn = []
    for cc in panel.ccs:
        plot = chart.Plot(panel, axis, STRIP_HEIGHT_PX, cc == panel.ccs[-1])
        of_flows = "its flow" if counts[cc] == 1 else f"its {counts[cc]} flows"
        heading = f"{theme.style_of(cc).name}: what limited {of_flows}"
        drawn.append(plot.hold([_draw_areas(_outline(strips.filter(cc=cc)), plot)], heading))
    return drawn


def _draw_areas(outline: pl.DataFrame, plot: chart.Plot) -> alt.Chart:
    colours = {name: colour for name, (_, colour) in CATEGORIES.items()}
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    # A hairline of the same colour closes the seams between neighbours.
    areas: alt.Chart = (
        alt.Chart(outline)
        .mark_area(opacity=1, strokeWidth=0.6)
        .encode(
            x=plot.time,
            y=plot.value("low"),
            y2="high:Q",
            fill=alt.Fill("category:N", scale=scale, legend=None),
            stroke=alt.Stroke("category:N", scale=scale, legend=None),
            detail="part:N",
        )
    )
    return areas


def _outline(strip: pl.DataFrame) -> pl.DataFrame:
    """Return both ends of each bin, so that steps are drawn: time_s, category, low, high, and `part`, told by gaps."""
    ordered = strip.sort("category", "start_s")
    begins = (pl.col("start_s") - pl.col("end_s").shift(1)).over("category").fill_null(1.0) > 1e-6
    parts = ordered.with_columns(part=begins.cum_sum())
    edges = [
        parts.with_columns(pl.col("low", "high") * 100, time_s=pl.col(edge).round(3), edge=pl.lit(number))
        for number, edge in enumerate(("start_s", "end_s"))
    ]
    return pl.concat(edges).sort("part", "start_s", "edge").select("part", "time_s", "category", "low", "high")


def _list_category_key(strips: pl.DataFrame) -> list[KeyEntry]:
    seen = set(strips["category"])
    return [
        KeyEntry(text, "line", colour, width=SWATCH_PX) for name, (text, colour) in CATEGORIES.items() if name in seen
    ]


def _collect_data(rates: pl.DataFrame, strips: pl.DataFrame) -> pl.DataFrame:
    parts = {"line": rates, "strip": strips.drop("low", "high")}
    columns = ("drawn_as", "run_id", "cc", "time_s", "rate_bps", "start_s", "end_s", "category", "share")
    return stack_parts(parts).select(columns)


def _describe(strips: pl.DataFrame, ccs: Sequence[str]) -> list[str]:
    """Return for each algorithm what limited its flows, the most frequent first; what is below 0.5 % is left out."""
    told = {cc: [f"{name} {share}" for name, share in _rank(strips, cc)] for cc in ccs}
    return [
        f"{theme.style_of(cc).name}'s flows were limited by {join_names(texts)} of the time"
        for cc, texts in told.items()
        if texts
    ]


def _sum_up(strips: pl.DataFrame, ccs: Sequence[str]) -> str:
    """Return what limited the flows of each algorithm most, and for how much of the time."""
    most = {cc: ranked[0] for cc in ccs if (ranked := _rank(strips, cc))}
    told = [f"of {theme.style_of(cc).name} {name} ({share} of the time)" for cc, (name, share) in most.items()]
    return f"What limited flows most: {join_names(told)}"


def _rank(strips: pl.DataFrame, cc: str) -> list[tuple[str, str]]:
    """Return what limited an algorithm's flows, with its share of the time, the most frequent first."""
    of_cc = strips.filter(pl.col("cc") == cc)
    bins = of_cc["start_s"].n_unique()
    shares = of_cc.group_by("category").agg(share=pl.col("share").sum() / max(bins, 1))
    ranked = shares.filter(pl.col("share") >= 0.005).sort("share", "category", descending=[True, False])
    return [
        (CATEGORIES[name][0], f"{format_significant(100 * share, 2 if share < 0.995 else 3)} %")
        for name, share in ranked.rows()
    ]
