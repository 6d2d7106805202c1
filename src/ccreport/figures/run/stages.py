"""Flows of a run while its path changes: the throughput of each and their RTT, the stages shaded."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import style_entry
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
from ccreport.figures.run.event_marks import Stage, draw_stages, read_stages
from ccreport.figures.run.panel import read_panel
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import SOURCES, choose_rate_source, list_flow_rates, place_flow_samples
from ccreport.figures.select.series import measure_duration_s, measure_spacing_s, place_intervals
from ccreport.figures.wording.runs import RATE_UNITS, choose_rate_unit, format_rate, join_names

RATE_HEIGHT_PX: Final = 230
RTT_HEIGHT_PX: Final = 170
SHORTEST_S: Final = 1.0


def build_stages_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the run of one condition; raise MissingFigure where its metadata announce no stage."""
    panel = read_panel(declaration, database)
    drawn = panel.drawn[0].run
    is_drawn = pl.col("run_id") == drawn["run_id"]
    flows, samples = panel.tables.flows.filter(is_drawn), panel.tables.samples.filter(is_drawn)
    placed = place_intervals(panel.tables.intervals.filter(is_drawn), flows)
    end_s = measure_duration_s(placed)
    text = database.ask("SELECT stages_json FROM runs WHERE run_id = ?", [drawn["run_id"]]).item()
    stages = read_stages(text, drawn, end_s)
    if not stages:
        raise MissingFigure("The metadata of the run that would be drawn announce no change of the path.")
    source = choose_rate_source(samples, flows)
    bin_s = max(choose_width_s(measure_spacing_s(placed), end_s, flows.height), SHORTEST_S)
    rates = list_flow_rates(samples, flows, placed, bin_s, source).with_columns(pl.col("rate_bps").round())
    rtts = _list_rtts(samples, flows, end_s)
    ccs = list_algorithms(flows)
    unit = choose_rate_unit(rates.select(pl.col("rate_bps").max()).item() or 0.0)
    notes = list_notes(panel)
    plots = [_draw_rates(rates, stages, unit, Plot(end_s, ValueAxis("", []), RATE_HEIGHT_PX, rtts.is_empty()), notes)]
    if rtts.height:
        plots.append(_draw_rtts(rtts, stages, end_s, notes))
    sentences = [
        f"Throughput of each flow, from {SOURCES[source]}, per {bin_s:g} s",
        "below it the smoothed RTT that ss reports" if rtts.height else "No sample of ss has an RTT",
        f"Shaded: {join_names([f'{one.start_s:g} to {one.end_s:g} s, {one.name}' for one in stages])}",
    ]
    return Figure(
        stack_plots(write_heading(panel, ccs), [style_entry(cc, theme.style_of(cc).name) for cc in ccs], plots),
        _collect_data(rates, rtts, stages, drawn["run_id"]),
        write_run_caption(panel, ccs, sentences),
        write_run_alternative(
            panel, ccs, "Line charts of throughput and RTT while the path changes", _describe(rates, stages, ccs, unit)
        ),
    )


def _list_rtts(samples: pl.DataFrame, flows: pl.DataFrame, end_s: float) -> pl.DataFrame:
    return (
        place_flow_samples(samples, flows)
        .filter(pl.col("time_s").is_between(0, end_s), pl.col("rtt_ms").is_not_null())
        .select("run_id", "flow_id", "cc", "time_s", "rtt_ms")
    )


def _draw_rates(rates: pl.DataFrame, stages: list[Stage], unit: str, frame: Plot, notes: list[str]) -> alt.LayerChart:
    scaled = rates.with_columns(
        rate=(pl.col("rate_bps") / RATE_UNITS[unit]).round(4), line=pl.col("flow_id").rank("dense")
    )
    ticks = choose_ticks(scaled.select(pl.col("rate").max()).item() or 1.0)
    plot = Plot(frame.end_s, ValueAxis(f"Throughput of a flow ({unit})", ticks), frame.height_px, frame.is_lowest)
    layers = [*draw_stages(stages, plot, is_named=True), draw_lines(scaled, "rate", plot)]
    return size_plot(layers, plot, None, notes if plot.is_lowest else ())


def _draw_rtts(rtts: pl.DataFrame, stages: list[Stage], end_s: float, notes: list[str]) -> alt.LayerChart:
    ticks = choose_ticks(rtts.select(pl.col("rtt_ms").max()).item() or 1.0)
    plot = Plot(end_s, ValueAxis("Smoothed RTT (ms)", ticks), RTT_HEIGHT_PX)
    lines = draw_lines(rtts.with_columns(line=pl.col("flow_id").rank("dense")), "rtt_ms", plot, width=1.4)
    return size_plot([*draw_stages(stages, plot, is_named=False), lines], plot, None, notes)


def _collect_data(rates: pl.DataFrame, rtts: pl.DataFrame, stages: list[Stage], run_id: str) -> pl.DataFrame:
    shaded = pl.DataFrame(
        [{"run_id": run_id, "time_s": one.start_s, "until_s": one.end_s, "stage": one.name} for one in stages]
    )
    parts = {"rate": rates, "rtt": rtts.with_columns(pl.col("time_s").round(3)), "stage": shaded}
    columns = ("drawn_as", "run_id", "flow_id", "cc", "time_s", "rate_bps", "rtt_ms", "until_s", "stage")
    return stack_parts(parts).select(columns)


def _describe(rates: pl.DataFrame, stages: list[Stage], ccs: list[str], unit: str) -> list[str]:
    """Return the mean rate of each algorithm's flows outside of the stages and in each."""
    outside = ~pl.any_horizontal([pl.col("time_s").is_between(one.start_s, one.end_s) for one in stages])
    inside = {one.name: pl.col("time_s").is_between(one.start_s, one.end_s) for one in stages}
    sentences = []
    for name, condition in {"outside of the stages": outside, **inside}.items():
        means = {cc: rates.filter(condition, pl.col("cc") == cc).select(pl.col("rate_bps").mean()).item() for cc in ccs}
        texts = [f"{theme.style_of(cc).name} {format_rate(mean, unit)}" for cc, mean in means.items()]
        sentences.append(f"{name}: {join_names(texts)}")
    return sentences
