"""Jain's index of the active flows over time: over all flows of a run, and over each algorithm's own."""

from dataclasses import replace
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.run import chart
from ccreport.figures.run.event_marks import draw_joins, find_joins
from ccreport.figures.run.fair_share import ALL, find_range, measure_jain
from ccreport.figures.run.panel import read_panel
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import SOURCES, choose_rate_source, list_flow_rates
from ccreport.figures.select.series import choose_bin_s, measure_duration_s, measure_spacing_s, place_intervals
from ccreport.figures.wording.runs import format_significant, join_names

ALL_WIDTH_PX: Final = 2.6


def build_fairness_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one condition; raise MissingFigure where no two flows were active at once."""
    panel = read_panel(declaration, database)
    flows = panel.tables.flows
    samples = panel.tables.samples
    placed = place_intervals(panel.tables.intervals, flows)
    bin_s = choose_bin_s(measure_spacing_s(placed), measure_duration_s(placed))
    # Of the run that is drawn; the others' band is of the same kind of rate or absent.
    source = choose_rate_source(samples, panel.flows)
    indices = measure_jain(list_flow_rates(samples, flows, placed, bin_s, source)).with_columns(
        pl.col("jain_ratio").round(5)
    )
    drawn = panel.keep_drawn(indices)
    if drawn.is_empty():
        raise MissingFigure("No two flows of the run that would be drawn moved data at the same time.")
    band = find_range(indices.join(drawn.select("run_id").unique(), on="run_id", how="anti"), "jain_ratio")
    # Bands of each algorithm would cover each other.
    wide = band.filter(pl.col("cc") == ALL) if ALL in drawn["cc"] else band
    others = chart.list_band_key(panel) if wide.height else []
    plot = chart.Plot(panel, chart.JAIN_AXIS)
    joins = find_joins(panel.flows)
    shade = wide.filter(pl.col("time_s") <= plot.end_s)
    return chart.compose_figure(
        panel,
        _list_key(drawn, panel.ccs, others),
        [plot.hold([*draw_joins(joins, plot, is_named=True), *_draw(drawn, shade, plot)])],
        _collect_data(drawn, wide),
        sentences=[
            "Lines: Jain's index (RFC 5166) of the rates of all flows active at the time, and of each algorithm's own",
            "it is 1 where all rates are equal, 1/n where one of n flows has everything",
            *(["Dotted lines: other flows join"] if joins.height else []),
            f"Rates are from {SOURCES[source]}, per {bin_s:g} s",
            *(f"Band: {entry.text}" for entry in others),
        ],
        what="Line chart of Jain's index over time",
        messages=_describe(drawn, panel.ccs),
        finding=_sum_up(drawn, panel.ccs),
    )


def _list_key(drawn: pl.DataFrame, ccs: list[str], others: list[KeyEntry]) -> list[KeyEntry]:
    present = set(drawn["cc"])
    entries = [KeyEntry("all flows", "line", theme.INK, width=ALL_WIDTH_PX)] if ALL in present else []
    entries += chart.list_algorithm_key([cc for cc in ccs if cc in present], "flows of {}")
    of = " (all flows)" if ALL in present else ""
    return entries + [replace(entry, text=entry.text + of) for entry in others]


def _draw(drawn: pl.DataFrame, band: pl.DataFrame, plot: chart.Plot) -> list[alt.Chart]:
    together, own = drawn.filter(pl.col("cc") == ALL), drawn.filter(pl.col("cc") != ALL)
    layers = []
    if band.height and together.height:
        area = alt.Chart(band.select(pl.col("time_s").round(3), "low", "high"))
        shade = area.mark_area(
            fillOpacity=chart.BAND_OPACITY, color=theme.INK, line=chart.edge_of(band, stroke=theme.INK)
        )
        layers.append(shade.encode(x=plot.time, y=plot.value("high"), y2="low:Q"))
    elif band.height:
        layers.append(chart.draw_band(band, plot))
    # Under the others, which are thinner.
    if together.height:
        layers.append(chart.draw_total(together, "jain_ratio", plot, ALL_WIDTH_PX))
    if own.height:
        layers.append(chart.draw_lines(own, "jain_ratio", plot, width=1.4))
    return layers


def _collect_data(drawn: pl.DataFrame, band: pl.DataFrame) -> pl.DataFrame:
    named = band.rename({"low": "jain_min_ratio", "high": "jain_max_ratio"})
    parts = {"line": drawn, "band": named}
    columns = ("drawn_as", "run_id", "cc", "time_s", "flows_count", "jain_ratio", "jain_min_ratio", "jain_max_ratio")
    return stack_parts(parts).select(columns)


def _sum_up(drawn: pl.DataFrame, ccs: list[str]) -> str:
    means = dict(drawn.group_by("cc").agg(pl.col("jain_ratio").mean()).drop_nulls().iter_rows())
    who = {ALL: "all flows"} | {cc: f"flows of {theme.style_of(cc).name}" for cc in ccs}
    told = [f"{name} {format_significant(means[cc], 3)}" for cc, name in who.items() if cc in means]
    return f"Jain's index on average over the test: {join_names(told)}"


def _describe(drawn: pl.DataFrame, ccs: list[str]) -> list[str]:
    sentences = []
    for cc in [ALL, *ccs]:
        values = drawn.filter(pl.col("cc") == cc)["jain_ratio"]
        if len(values):
            who = "all flows" if cc == ALL else f"the flows of {theme.style_of(cc).name}"
            mean, low = (format_significant(float(value), 3) for value in (values.mean(), values.min()))  # type: ignore[arg-type]
            sentences.append(f"the index of {who} was {mean} on average and {low} at its least")
    return sentences
