"""Flows of a run while its path changes: the throughput of each and their RTT, the stages shaded."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.run import chart
from ccreport.figures.run.event_marks import Stage, draw_stages, read_stages
from ccreport.figures.run.panel import PanelRuns, measure_flow_rates, read_single_run
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import place_flow_samples
from ccreport.figures.wording.runs import format_rate, join_names

RATE_HEIGHT_PX: Final = 230
RTT_HEIGHT_PX: Final = 170
SHORTEST_S: Final = 1.0


def build_stages_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the run of one condition; raise MissingFigure where its metadata announce no stage."""
    panel = read_single_run(declaration, database)
    run = panel.drawn[0].run
    text = database.ask("SELECT stages_json FROM runs WHERE run_id = ?", [run["run_id"]]).item()
    stages = read_stages(text, run, panel.end_s)
    if not stages:
        raise MissingFigure("The metadata of the run that would be drawn announce no change of the path.")
    measured = measure_flow_rates(panel, SHORTEST_S)
    rtts = _list_rtts(panel)
    unit = chart.find_rate_unit(measured.rates)
    scaled = chart.scale_rates(measured.rates, unit)
    rate_axis = chart.fit_axis(f"{measured.title} per flow ({unit})", scaled["rate"])
    plots = [_draw(scaled, "rate", stages, chart.Plot(panel, rate_axis, RATE_HEIGHT_PX, rtts.is_empty()))]
    if rtts.height:
        rtt_axis = chart.fit_axis("Smoothed RTT (ms)", rtts["rtt_ms"])
        plots.append(_draw(rtts, "rtt_ms", stages, chart.Plot(panel, rtt_axis, RTT_HEIGHT_PX), width=1.4))
    return chart.compose_figure(
        panel,
        chart.list_algorithm_key(panel.ccs),
        plots,
        _collect_data(measured.rates, rtts, stages, run["run_id"]),
        sentences=[
            f"{measured.name.capitalize()} of each flow, {measured.origin}",
            "below it the smoothed RTT that ss reports" if rtts.height else "No sample of ss has an RTT",
            f"Shaded: {join_names([f'{stage.start_s:g} to {stage.end_s:g} s, {stage.name}' for stage in stages])}",
        ],
        what=f"Line charts of the {measured.name} and RTT while the path changes",
        messages=_describe(measured.rates, stages, panel.ccs, unit),
    )


def _list_rtts(panel: PanelRuns) -> pl.DataFrame:
    return (
        place_flow_samples(panel.tables.samples, panel.flows)
        .filter(pl.col("time_s").is_between(0, panel.end_s), pl.col("rtt_ms").is_not_null())
        .select("run_id", "flow_id", "cc", "time_s", "rtt_ms")
    )


def _draw(
    lines: pl.DataFrame, column: str, stages: list[Stage], plot: chart.Plot, width: float = 2.0
) -> alt.LayerChart:
    """Return a line for each flow over the shaded stages, which the upper plot names."""
    shades = draw_stages(stages, plot, is_named=column == "rate")
    return plot.hold([*shades, chart.draw_lines(lines, column, plot, width=width)])


def _collect_data(rates: pl.DataFrame, rtts: pl.DataFrame, stages: list[Stage], run_id: str) -> pl.DataFrame:
    shaded = pl.DataFrame(
        [{"run_id": run_id, "time_s": stage.start_s, "until_s": stage.end_s, "stage": stage.name} for stage in stages]
    )
    parts = {"rate": rates, "rtt": rtts.with_columns(pl.col("time_s").round(3)), "stage": shaded}
    columns = ("drawn_as", "run_id", "flow_id", "cc", "time_s", "rate_bps", "rtt_ms", "until_s", "stage")
    return stack_parts(parts).select(columns)


def _describe(rates: pl.DataFrame, stages: list[Stage], ccs: list[str], unit: str) -> list[str]:
    """Return the mean rate of each algorithm's flows outside of the stages and in each."""
    outside = ~pl.any_horizontal([pl.col("time_s").is_between(stage.start_s, stage.end_s) for stage in stages])
    inside = {stage.name: pl.col("time_s").is_between(stage.start_s, stage.end_s) for stage in stages}
    sentences = []
    for name, condition in {"outside of the stages": outside, **inside}.items():
        means = {cc: rates.filter(condition, pl.col("cc") == cc).select(pl.col("rate_bps").mean()).item() for cc in ccs}
        texts = [f"{theme.style_of(cc).name} {format_rate(mean, unit)}" for cc, mean in means.items()]
        sentences.append(f"{name}: {join_names(texts)}")
    return sentences
