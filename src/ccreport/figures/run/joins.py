"""Flows that join a run one after another: throughput of each and Jain's index of all, with marks where they do."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.run import chart
from ccreport.figures.run.event_marks import draw_joins, find_joins
from ccreport.figures.run.fair_share import ALL, measure_jain
from ccreport.figures.run.panel import FlowRates, PanelRuns, measure_flow_rates, read_single_run
from ccreport.figures.run.rate_plot import draw_rules, fit_rate_axis, list_rate_sentences, place_line_rates
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.runs import format_significant, join_names

RATE_HEIGHT_PX: Final = 240
JAIN_HEIGHT_PX: Final = 130
# Rates of each second: shorter ones show the sawtooth of single losses, not how flows share.
SHORTEST_S: Final = 1.0


def build_joins_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the run of one condition; raise MissingFigure where no flow joins another."""
    panel = read_single_run(declaration, database)
    joins = find_joins(panel.flows)
    if joins.is_empty():
        raise MissingFigure("All flows of the run that would be drawn start together.")
    measured = measure_flow_rates(panel, SHORTEST_S)
    indices = _measure_fairness(measured.rates)
    explained, line_rate = list_rate_sentences(panel, measured, measured.rates)
    key = [
        *chart.list_algorithm_key(panel.ccs, "a flow of {}"),
        KeyEntry("Jain's index of all flows", "line", theme.INK, width=2.4),
        KeyEntry("flows join", "line", theme.FAINT_INK, (2, 3), 1.2),
    ]
    return chart.compose_figure(
        panel,
        key,
        [_draw_rates(panel, measured, joins), _draw_index(panel, indices, joins)],
        _collect_data(measured.rates, indices, joins, panel.run_ids[0]),
        sentences=[
            f"Lines above: {measured.name} of each flow, {measured.origin}",
            *line_rate,
            "Line below: Jain's index (RFC 5166) of the rates of all flows active at the time",
            "Dotted upright lines: other flows join",
        ],
        what="Line charts of flows that join one after another",
        messages=_describe(measured.rates, indices, joins),
        explained=explained,
    )


def _measure_fairness(rates: pl.DataFrame) -> pl.DataFrame:
    # Flows end some tenths of a second apart; what remains of them then shares the path with nobody.
    return (
        measure_jain(rates.with_columns(cc=pl.lit(ALL)))
        .with_columns(pl.col("jain_ratio").round(5))
        .filter(pl.col("flows_count") >= pl.col("flows_count").cum_max())
    )


def _draw_rates(panel: PanelRuns, measured: FlowRates, joins: pl.DataFrame) -> alt.LayerChart:
    unit = chart.find_rate_unit(measured.rates)
    scaled = chart.scale_rates(measured.rates, unit)
    axis = fit_rate_axis(panel, measured.rates, unit, f"{measured.title} per flow")
    plot = chart.Plot(panel, axis, RATE_HEIGHT_PX, is_lowest=False)
    rules = draw_rules(place_line_rates(plot, unit, measured.rates, "flow_id"), plot.width_px)
    lines = chart.draw_lines(scaled, "rate", plot, width=1.6)
    return plot.hold([*rules, *draw_joins(joins, plot, is_named=True), lines])


def _draw_index(panel: PanelRuns, indices: pl.DataFrame, joins: pl.DataFrame) -> alt.LayerChart:
    plot = chart.Plot(panel, chart.JAIN_AXIS, JAIN_HEIGHT_PX)
    return plot.hold([*draw_joins(joins, plot, is_named=False), chart.draw_total(indices, "jain_ratio", plot)])


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
