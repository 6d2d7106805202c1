"""Throughput of each flow over time: thin lines coloured by algorithm, and the mean of each algorithm."""

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry, style_entry
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.run.chart import (
    FAINT_FLOWS,
    Plot,
    ValueAxis,
    choose_width_s,
    draw_lines,
    list_algorithms,
    list_notes,
    select_drawn,
    size_plot,
    stack_plots,
    write_heading,
    write_run_alternative,
    write_run_caption,
)
from ccreport.figures.run.panel import read_panel
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import SOURCES, choose_rate_source, list_flow_rates
from ccreport.figures.select.series import measure_duration_s, measure_spacing_s, place_intervals
from ccreport.figures.wording.runs import RATE_UNITS, choose_rate_unit, format_rate


def build_flow_rates_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the flows of one condition; raise MissingFigure where no run has their data."""
    panel = read_panel(declaration, database)
    flows, samples = select_drawn(panel, panel.tables.flows), panel.tables.samples
    placed = place_intervals(select_drawn(panel, panel.tables.intervals), flows)
    source = choose_rate_source(samples, flows)
    bin_s = choose_width_s(measure_spacing_s(placed), measure_duration_s(placed), flows.height)
    rates = list_flow_rates(samples, flows, placed, bin_s, source).with_columns(pl.col("rate_bps").round())
    means = _average(rates)
    ccs = list_algorithms(flows)
    unit = choose_rate_unit(rates.select(pl.col("rate_bps").max()).item() or 0.0)
    key = [style_entry(cc, f"{theme.style_of(cc).name}: mean of its flows", width=2.6) for cc in ccs]
    key += [KeyEntry("one flow", "line", theme.FAINT_INK, width=1.0)]
    plot, layers = _draw(rates, means, unit, measure_duration_s(placed))
    chart = stack_plots(write_heading(panel, ccs), key, [size_plot(layers, plot, None, list_notes(panel))])
    sentences = [
        f"Thin lines: throughput of each flow, from {SOURCES[source]}, per {bin_s:g} s",
        "Thick lines: mean over the algorithm's flows active at the time",
    ]
    return Figure(
        chart,
        _collect_data(rates, means),
        write_run_caption(panel, ccs, sentences),
        write_run_alternative(
            panel, ccs, "Line chart of the throughput of each flow over time", _describe(rates, ccs, unit)
        ),
    )


def _average(rates: pl.DataFrame) -> pl.DataFrame:
    return (
        rates.group_by("run_id", "cc", "time_s")
        .agg(rate_bps=pl.col("rate_bps").mean().round(), flows_count=pl.len())
        .sort("run_id", "cc", "time_s")
    )


def _draw(rates: pl.DataFrame, means: pl.DataFrame, unit: str, end_s: float) -> tuple[Plot, list[alt.Chart]]:
    scaled, averaged = (
        frame.with_columns((pl.col("rate_bps") / RATE_UNITS[unit]).round(4).alias("rate")) for frame in (rates, means)
    )
    ticks = choose_ticks(scaled.select(pl.col("rate").max()).item() or 1.0)
    plot = Plot(end_s, ValueAxis(f"Throughput of a flow ({unit})", ticks), theme.PLOT_HEIGHT_PX)
    count = rates["flow_id"].n_unique()
    thin = draw_lines(
        scaled.with_columns(line=pl.col("flow_id").rank("dense")),
        "rate",
        plot,
        width=1.0,
        opacity=0.7 if count <= FAINT_FLOWS else 0.38,
        is_dashed=False,
    )
    thick = draw_lines(averaged.with_columns(line=pl.col("cc")), "rate", plot, width=2.6)
    return plot, [thin, thick]


def _collect_data(rates: pl.DataFrame, means: pl.DataFrame) -> pl.DataFrame:
    parts = {"flow": rates, "mean": means}
    columns = ("drawn_as", "run_id", "flow_id", "cc", "time_s", "rate_bps", "flows_count")
    return stack_parts(parts).select(columns)


def _describe(rates: pl.DataFrame, ccs: list[str], unit: str) -> list[str]:
    """Return for each algorithm how its flows' means over the time drawn spread."""
    means = rates.group_by("cc", "flow_id").agg(pl.col("rate_bps").mean())
    sentences = []
    for cc in ccs:
        of_flows = means.filter(pl.col("cc") == cc)["rate_bps"]
        if not len(of_flows):
            continue
        spread = of_flows.to_frame().select(low=pl.all().min(), mean=pl.all().mean(), high=pl.all().max()).row(0)
        low, middle, high = (format_rate(value, unit) for value in spread)
        name = theme.style_of(cc).name
        if len(of_flows) == 1:
            sentences.append(f"the flow of {name} had {middle} on average")
        else:
            sentences.append(f"the {len(of_flows)} flows of {name} had from {low} to {high}, {middle} on average")
    return sentences
