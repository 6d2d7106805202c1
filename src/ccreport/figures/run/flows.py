"""Flows of a run over time in three plots: rate of each and their sum, windows with retransmissions, RTTs."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.kit.theme import RETRANSMIT_COLOUR
from ccreport.figures.run import chart
from ccreport.figures.run.cwnd import MEASURES, list_window_samples, plot_measure
from ccreport.figures.run.fair_share import ALL
from ccreport.figures.run.flow_styles import FlowStyle, draw_flows, list_flow_key, style_flows
from ccreport.figures.run.panel import FlowRates, PanelRuns, measure_flow_rates, read_single_run
from ccreport.figures.run.rate_plot import draw_rules, fit_rate_axis, list_rate_sentences, place_line_rates
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import FLOW, observe_acknowledged
from ccreport.figures.select.series import UNKNOWN_CC, sum_rates
from ccreport.figures.wording.runs import format_rate, format_significant

RATE_HEIGHT_PX: Final = 210
PANEL_HEIGHT_PX: Final = 170
# Rates of each second, as of flows that join: shorter ones show the sawtooth of single losses.
SHORTEST_S: Final = 1.0
MARK_WIDTH_PX: Final = 0.8
MARK_OPACITY: Final = 0.55


def build_flows_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one run of one condition; raise MissingFigure where `ss` did not sample its flows."""
    panel = read_single_run(declaration, database)
    sampled = list_window_samples(panel)
    measured = measure_flow_rates(panel, SHORTEST_S)
    totals, marks = sum_flows(panel, measured), list_retransmits(sampled)
    explained, line_rate = list_rate_sentences(panel, measured, totals)
    lines = sampled.select(*FLOW, "cc", pl.col("time_s").round(3), *MEASURES)
    styles = style_flows(panel.flows)
    key = [
        *list_flow_key(styles, panel.ccs),
        KeyEntry("all flows", "line", theme.INK, width=2.4),
        KeyEntry("retransmissions", "line", RETRANSMIT_COLOUR, width=MARK_WIDTH_PX),
    ]
    plots = [
        _draw_rates(panel, measured, totals, styles),
        *(_draw_measure(panel, lines, column, styles, marks) for column in MEASURES),
    ]
    return chart.compose_figure(
        panel,
        key,
        plots,
        _collect_data(measured.rates, totals, lines, marks),
        sentences=[
            f"Above: {measured.name} of each flow and of all, {measured.origin}",
            *line_rate,
            "Middle and below: congestion window and smoothed RTT of each flow as ss reports them",
            "A red line marks where ss first reports that any flow has retransmitted since it was sampled before",
            *(["Flows are numbered in the order in which they started"] if styles else []),
        ],
        what="Line charts of each flow over time",
        messages=_describe(measured.rates, totals, lines, marks, styles),
        explained=explained,
    )


def sum_flows(panel: PanelRuns, measured: FlowRates) -> pl.DataFrame:
    """Return the rate of all flows together, in the bins of each one's: run_id, time_s, rate_bps."""
    return _sum_observed(panel, measured, panel.flows.select(*FLOW, cc=pl.lit(ALL))).drop("cc")


def sum_algorithms(panel: PanelRuns, measured: FlowRates) -> pl.DataFrame:
    """Return the rate of each algorithm's flows together, in the bins of each flow's: run_id, cc, time_s, rate_bps."""
    return _sum_observed(panel, measured, panel.flows.select(*FLOW, pl.col("cc").fill_null(UNKNOWN_CC)))


def _sum_observed(panel: PanelRuns, measured: FlowRates, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the rate of the flows of each group (run_id, flow_id, cc) together.

    No sum of the flows' own rates: those lack the bin in which a flow joins, and what it sent before its first sample.
    """
    of_ss = measured.source == "ss"
    observed = observe_acknowledged(panel.tables.samples, panel.flows) if of_ss else panel.intervals
    pieces = observed.select(*FLOW, "start_s", "end_s", "interval_bps").join(groups, on=FLOW, maintain_order="left")
    rates = sum_rates(pieces, measured.bin_s).select("run_id", "cc", "time_s", pl.col("rate_bps").round())
    return rates.filter(pl.col("time_s") < panel.end_s)


def list_retransmits(sampled: pl.DataFrame) -> pl.DataFrame:
    """Return what the flows retransmitted from sample to sample, where they did: run_id, time_s, retransmits_count.

    `sampled` as place_flow_samples returns it; a flow's first sample counts with all that it has. Flows of one dump of
    `ss` share its time.
    """
    count = pl.col("retransmits_ss_count")
    return (
        sampled.filter(count.is_not_null())
        .sort(*FLOW, "time_s")
        .with_columns(grown_count=count.diff().over(FLOW).fill_null(count))
        .group_by("run_id", pl.col("time_s").round(3))
        .agg(retransmits_count=pl.col("grown_count").clip(0).sum())
        .filter(pl.col("retransmits_count") > 0)
        .sort("run_id", "time_s")
    )


def _draw_rates(panel: PanelRuns, measured: FlowRates, totals: pl.DataFrame, styles: list[FlowStyle]) -> alt.LayerChart:
    unit = chart.find_rate_unit(totals)
    of_flows, of_all = (chart.scale_rates(frame, unit) for frame in (measured.rates, totals))
    plot = chart.Plot(panel, fit_rate_axis(panel, totals, unit, measured.title), RATE_HEIGHT_PX, is_lowest=False)
    rules = draw_rules(place_line_rates(plot, unit, totals), plot.width_px)
    return plot.hold([*rules, chart.draw_total(of_all, "rate", plot), draw_flows(of_flows, "rate", plot, styles)])


def _draw_measure(
    panel: PanelRuns, lines: pl.DataFrame, column: str, styles: list[FlowStyle], marks: pl.DataFrame
) -> alt.LayerChart:
    """Return the plot of a measure, with the marks of retransmissions where it is the window."""
    known = lines.drop_nulls(column)
    plot = plot_measure(panel, column, known[column], PANEL_HEIGHT_PX)
    layers = draw_marks(marks, plot) if column == "cwnd_segments_count" else []
    return plot.hold([*layers, draw_flows(known, column, plot, styles)])


def draw_marks(marks: pl.DataFrame, plot: chart.Plot) -> list[alt.Chart]:
    """Return a line at each time of retransmissions (time_s), none without any."""
    if marks.is_empty():
        return []
    rule = alt.Chart(marks.select("time_s")).mark_rule(
        color=RETRANSMIT_COLOUR, strokeWidth=MARK_WIDTH_PX, opacity=MARK_OPACITY
    )
    return [rule.encode(x=plot.time)]


def _collect_data(rates: pl.DataFrame, totals: pl.DataFrame, lines: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    parts = {"rate": rates, "sum": totals, "sample": lines, "retransmission": marks}
    columns = ("drawn_as", *FLOW, "cc", "time_s", "rate_bps", *MEASURES, "retransmits_count")
    return stack_parts(parts).select(columns)


def _describe(
    rates: pl.DataFrame, totals: pl.DataFrame, lines: pl.DataFrame, marks: pl.DataFrame, styles: list[FlowStyle]
) -> list[str]:
    """Return the mean rates, the largest window, the range of RTTs, and how much was retransmitted."""
    unit = chart.find_rate_unit(totals)
    mean = totals.select(pl.col("rate_bps").mean()).item() or 0.0
    sentences = [f"all flows together had {format_rate(mean, unit)} on average"]
    means = dict(rates.group_by("flow_id").agg(pl.col("rate_bps").mean()).iter_rows())
    if told := [
        f"flow {style.number} ({theme.style_of(style.cc).name}) {format_rate(means[style.flow_id], unit)}"
        for style in styles
        if style.flow_id in means
    ]:
        sentences.append(f"while it was active, {', '.join(told)}")
    for column, name, measure in (("cwnd_segments_count", "windows", "segments"), ("rtt_ms", "smoothed RTTs", "ms")):
        known = lines[column].drop_nulls().cast(pl.Float64).sort()
        if len(known):
            low, high = (format_significant(float(value), 3) for value in (known[0], known[-1]))
            sentences.append(f"{name} were from {low} to {high} {measure}")
    count = marks["retransmits_count"].sum()
    return [*sentences, f"ss reports {count:,} retransmissions, at {marks.height:,} times of sampling"]
