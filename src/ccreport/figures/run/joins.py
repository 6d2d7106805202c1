"""Flows that join a run one after another: throughput of each and Jain's index of all, with marks where they do."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry, style_entry
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.run.chart import (
    Plot,
    ValueAxis,
    choose_width_s,
    draw_lines,
    list_algorithms,
    list_notes,
    size_plot,
    stack_plots,
    write_heading,
    write_run_alternative,
    write_run_caption,
)
from ccreport.figures.run.event_marks import draw_joins, find_joins
from ccreport.figures.run.fair_share import ALL, measure_jain
from ccreport.figures.run.panel import read_panel
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import SOURCES, choose_rate_source, list_flow_rates
from ccreport.figures.select.series import measure_duration_s, measure_spacing_s, place_intervals
from ccreport.figures.wording.runs import RATE_UNITS, choose_rate_unit, format_significant, join_names

RATE_HEIGHT_PX: Final = 240
JAIN_HEIGHT_PX: Final = 130
# Rates of each second: shorter ones show the sawtooth of single losses, not how flows share.
SHORTEST_S: Final = 1.0


def build_joins_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the run of one condition; raise MissingFigure where no flow joins another."""
    panel = read_panel(declaration, database)
    # One run: joins of two would be marks over each other.
    is_drawn = pl.col("run_id") == panel.run_ids[0]
    flows = panel.tables.flows.filter(is_drawn)
    joins = find_joins(flows)
    if joins.is_empty():
        raise MissingFigure("All flows of the run that would be drawn start together.")
    placed = place_intervals(panel.tables.intervals.filter(is_drawn), flows)
    source = choose_rate_source(panel.tables.samples, flows)
    end_s = measure_duration_s(placed)
    bin_s = max(choose_width_s(measure_spacing_s(placed), end_s, flows.height), SHORTEST_S)
    rates = list_flow_rates(panel.tables.samples, flows, placed, bin_s, source).with_columns(pl.col("rate_bps").round())
    indices = _measure_fairness(rates)
    ccs = list_algorithms(flows)
    key = [style_entry(cc, f"a flow of {theme.style_of(cc).name}") for cc in ccs]
    key += [
        KeyEntry("Jain's index of all flows", "line", theme.INK, width=2.4),
        KeyEntry("flows join", "line", theme.FAINT_INK, (2, 3), 1.2),
    ]
    unit = choose_rate_unit(rates.select(pl.col("rate_bps").max()).item() or 0.0)
    plots = [_draw_rates(rates, joins, unit, end_s), _draw_index(indices, joins, end_s, list_notes(panel))]
    sentences = [
        f"Lines above: throughput of each flow, from {SOURCES[source]}, per {bin_s:g} s",
        "Line below: Jain's index (RFC 5166) of the rates of all flows active at the time",
        "Dotted lines: other flows join",
    ]
    return Figure(
        stack_plots(write_heading(panel, ccs), key, plots),
        _collect_data(rates, indices, joins, panel.run_ids[0]),
        write_run_caption(panel, ccs, sentences),
        write_run_alternative(
            panel, ccs, "Line charts of flows that join one after another", _describe(rates, indices, joins)
        ),
    )


def _measure_fairness(rates: pl.DataFrame) -> pl.DataFrame:
    # Flows end some tenths of a second apart; what remains of them then shares the path with nobody.
    return (
        measure_jain(rates.with_columns(cc=pl.lit(ALL)))
        .with_columns(pl.col("jain_ratio").round(5))
        .filter(pl.col("flows_count") >= pl.col("flows_count").cum_max())
    )


def _draw_rates(rates: pl.DataFrame, joins: pl.DataFrame, unit: str, end_s: float) -> alt.LayerChart:
    scaled = rates.with_columns(
        rate=(pl.col("rate_bps") / RATE_UNITS[unit]).round(4), line=pl.col("flow_id").rank("dense")
    )
    ticks = choose_ticks(scaled.select(pl.col("rate").max()).item() or 1.0)
    plot = Plot(end_s, ValueAxis(f"Throughput of a flow ({unit})", ticks), RATE_HEIGHT_PX, is_lowest=False)
    return size_plot([*draw_joins(joins, plot, is_named=True), draw_lines(scaled, "rate", plot, width=1.6)], plot, None)


def _draw_index(indices: pl.DataFrame, joins: pl.DataFrame, end_s: float, notes: list[str]) -> alt.LayerChart:
    plot = Plot(end_s, ValueAxis("Jain's index", [0, 0.25, 0.5, 0.75, 1], ".2f"), JAIN_HEIGHT_PX)
    line = alt.Chart(indices.select(pl.col("time_s").round(3), "jain_ratio")).mark_line(
        strokeWidth=2.4, color=theme.INK
    )
    layers = [*draw_joins(joins, plot, is_named=False), line.encode(x=plot.time, y=plot.value("jain_ratio"))]
    return size_plot(layers, plot, None, notes)


def _collect_data(rates: pl.DataFrame, indices: pl.DataFrame, joins: pl.DataFrame, run_id: str) -> pl.DataFrame:
    marks = joins.select(
        pl.lit(run_id).alias("run_id"),
        pl.col("ccs").list.join(",").alias("cc"),
        pl.col("at_s").alias("time_s"),
        "flows_count",
    )
    parts = {"flow": rates, "jain": indices, "join": marks}
    columns = ("drawn_as", "run_id", "flow_id", "cc", "time_s", "rate_bps", "flows_count", "jain_ratio")
    return stack_parts(parts).select(columns)


def _describe(rates: pl.DataFrame, indices: pl.DataFrame, joins: pl.DataFrame) -> list[str]:
    """Return when flows joined, and the mean index from each join to the next."""
    times = joins["at_s"].to_list()
    ends = [*times[1:], (rates.select(pl.col("time_s").max()).item() or 0.0) + 1]
    texts = []
    for start_s, end_s in zip(times, ends, strict=True):
        mean = indices.filter(pl.col("time_s").is_between(start_s, end_s)).select(pl.col("jain_ratio").mean()).item()
        known = "unknown" if mean is None else format_significant(mean, 2)
        texts.append(f"{known} from {format_significant(start_s, 2)} s")
    return [f"mean of Jain's index: {join_names(texts)}"]
