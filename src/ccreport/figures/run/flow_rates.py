"""Throughput of each flow over time: thin lines coloured by algorithm, and the mean of each algorithm."""

import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.run import chart
from ccreport.figures.run.panel import measure_flow_rates, read_panel
from ccreport.figures.run.rate_plot import draw_rules, fit_rate_axis, list_rate_sentences, place_line_rates
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.runs import format_rate


def build_flow_rates_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the flows of one condition; raise MissingFigure where no run has their data."""
    panel = read_panel(declaration, database)
    measured = measure_flow_rates(panel)
    rates, means = measured.rates, _average(measured.rates)
    unit = chart.find_rate_unit(rates)
    key = chart.list_algorithm_key(panel.ccs, "{}: mean of its flows", width=2.6)
    key.append(KeyEntry("one flow", "line", theme.FAINT_INK, width=1.0))
    scaled, averaged = (chart.scale_rates(frame, unit) for frame in (rates, means))
    plot = chart.Plot(panel, fit_rate_axis(panel, rates, unit, f"{measured.title} per flow"))
    rules = draw_rules(place_line_rates(plot, unit, rates, "flow_id"), plot.width_px)
    explained, line_rate = list_rate_sentences(panel, measured, rates)
    columns = ("drawn_as", "run_id", "flow_id", "cc", "time_s", "rate_bps", "flows_count")
    messages = _describe(rates, panel.ccs, unit)
    return chart.compose_figure(
        panel,
        key,
        [plot.hold([*rules, *chart.draw_flows_under(scaled, averaged, "rate", plot)])],
        stack_parts({"flow": rates, "mean": means}).select(columns),
        sentences=[
            f"Thin lines: {measured.name} of each flow, {measured.origin}",
            "Thick lines: mean over the algorithm's flows active at the time",
            *line_rate,
        ],
        what=f"Line chart of the {measured.name} of each flow over time",
        messages=messages,
        finding="; ".join(messages),
        explained=explained,
    )


def _average(rates: pl.DataFrame) -> pl.DataFrame:
    return (
        rates.group_by("run_id", "cc", "time_s")
        .agg(rate_bps=pl.col("rate_bps").mean().round(), flows_count=pl.len())
        .sort("run_id", "cc", "time_s")
    )


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
