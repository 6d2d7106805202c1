"""Flows of a run over time in three plots: goodput of each and their sum, windows with retransmissions, RTTs."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.kit.theme import RETRANSMIT_COLOUR
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.run.chart import (
    Plot,
    ValueAxis,
    choose_width_s,
    list_algorithms,
    list_notes,
    size_plot,
    stack_plots,
    write_heading,
    write_run_alternative,
    write_run_caption,
)
from ccreport.figures.run.fair_share import ALL
from ccreport.figures.run.flow_styles import FlowStyle, draw_flows, list_flow_key, style_flows
from ccreport.figures.run.panel import read_panel
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import (
    FLOW,
    SOURCES,
    Source,
    choose_rate_source,
    list_flow_rates,
    place_acknowledged,
    place_flow_samples,
)
from ccreport.figures.select.series import measure_duration_s, measure_spacing_s, place_intervals, sum_rates
from ccreport.figures.wording.runs import RATE_UNITS, choose_rate_unit, format_rate, format_significant

RATE_HEIGHT_PX: Final = 210
PANEL_HEIGHT_PX: Final = 170
# Rates of each second, as of flows that join: shorter ones show the sawtooth of single losses.
SHORTEST_S: Final = 1.0
RATE_NAMES: Final[dict[Source, str]] = {"ss": "Goodput", "interval": "Throughput"}
MEASURES: Final = {"cwnd_segments_count": "Congestion window (segments)", "rtt_ms": "Smoothed RTT (ms)"}
MARK_WIDTH_PX: Final = 0.8
MARK_OPACITY: Final = 0.55


def build_flows_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one run of one condition; raise MissingFigure where `ss` did not sample its flows."""
    panel = read_panel(declaration, database)
    # One run: lines of two would be flows that never met.
    is_drawn = pl.col("run_id") == panel.run_ids[0]
    flows = panel.tables.flows.filter(is_drawn)
    placed = place_intervals(panel.tables.intervals.filter(is_drawn), flows)
    end_s = measure_duration_s(placed)
    sampled = place_flow_samples(panel.tables.samples, flows).filter(pl.col("time_s").is_between(0, end_s))
    if sampled.select(pl.any_horizontal(pl.col(list(MEASURES)).is_not_null().any())).item() is not True:
        raise MissingFigure(
            f"The archive has no samples of ss with a window or an RTT for the flows of run {panel.run_ids[0]}."
        )
    source = choose_rate_source(panel.tables.samples, flows)
    bin_s = max(choose_width_s(measure_spacing_s(placed), end_s, flows.height), SHORTEST_S)
    rates = list_flow_rates(panel.tables.samples, flows, placed, bin_s, source).with_columns(pl.col("rate_bps").round())
    totals = sum_flows(panel.tables.samples, flows, placed, bin_s, source)
    marks = list_retransmits(sampled)
    lines = sampled.select(*FLOW, "cc", pl.col("time_s").round(3), *MEASURES)
    styles, ccs = style_flows(flows), list_algorithms(flows)
    key = [
        *list_flow_key(styles, flows),
        KeyEntry("all flows", "line", theme.INK, width=2.4),
        KeyEntry("retransmissions", "line", RETRANSMIT_COLOUR, width=MARK_WIDTH_PX),
    ]
    plots = [
        _draw_rates(rates, totals, styles, RATE_NAMES[source], end_s),
        _draw_measure(lines, "cwnd_segments_count", styles, end_s, marks=marks),
        _draw_measure(lines, "rtt_ms", styles, end_s, notes=list_notes(panel)),
    ]
    return Figure(
        stack_plots(write_heading(panel, ccs), key, plots),
        _collect_data(rates, totals, lines, marks),
        write_run_caption(panel, ccs, _list_sentences(source, bin_s, styles)),
        write_run_alternative(
            panel, ccs, "Line charts of each flow over time", _describe(rates, totals, lines, marks, styles)
        ),
    )


def _list_sentences(source: Source, bin_s: float, styles: list[FlowStyle]) -> list[str]:
    return [
        f"Above: {RATE_NAMES[source].lower()} of each flow and of all, from {SOURCES[source]}, per {bin_s:g} s",
        "Middle and below: congestion window and smoothed RTT of each flow as ss reports them",
        "A red line stands where ss first reports that any flow has retransmitted since it was sampled before",
        *(["Flows are numbered in the order in which they started"] if styles else []),
    ]


def sum_flows(
    samples: pl.DataFrame, flows: pl.DataFrame, placed: pl.DataFrame, bin_s: float, source: Source
) -> pl.DataFrame:
    """Return the rate of all flows together per bin: run_id, time_s, rate_bps; parameters as for list_flow_rates.

    No sum of the flows' own rates: those lack the bin in which a flow joins, and what it sent before its first sample.
    """
    observed = [place_acknowledged(samples, flows), _place_first(samples, flows)] if source == "ss" else [placed]
    pieces = pl.concat(one.select(*FLOW, "start_s", "end_s", "interval_bps", cc=pl.lit(ALL)) for one in observed)
    rates = sum_rates(pieces, bin_s)
    return rates.select("run_id", "time_s", pl.col("rate_bps").round()).filter(
        pl.col("time_s") < measure_duration_s(placed)
    )


def _place_first(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return what was acknowledged before each flow's first sample, over the time in which the flow had been busy.

    A flow that was busy before the clock of the run began is left out: it is not known how much of that it sent before.
    """
    firsts = place_flow_samples(samples, flows).group_by(FLOW, maintain_order=True).first()
    busy_s = pl.col("busy_ms") / 1000
    return firsts.filter(busy_s > 0, busy_s <= pl.col("time_s"), pl.col("acked_bytes") > 0).select(
        *FLOW, start_s=pl.col("time_s") - busy_s, end_s="time_s", interval_bps=8 * pl.col("acked_bytes") / busy_s
    )


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


def _draw_rates(
    rates: pl.DataFrame, totals: pl.DataFrame, styles: list[FlowStyle], name: str, end_s: float
) -> alt.LayerChart:
    unit = choose_rate_unit(totals.select(pl.col("rate_bps").max()).item() or 0.0)
    of_flows, of_all = (
        frame.with_columns(rate=(pl.col("rate_bps") / RATE_UNITS[unit]).round(4)) for frame in (rates, totals)
    )
    ticks = choose_ticks(of_all.select(pl.col("rate").max()).item() or 1.0)
    plot = Plot(end_s, ValueAxis(f"{name} ({unit})", ticks), RATE_HEIGHT_PX, is_lowest=False)
    line = alt.Chart(of_all.select(pl.col("time_s").round(3), "rate")).mark_line(strokeWidth=2.4, color=theme.INK)
    return size_plot(
        [line.encode(x=plot.time, y=plot.value("rate")), draw_flows(of_flows, "rate", plot, styles)], plot, None
    )


def _draw_measure(
    lines: pl.DataFrame,
    column: str,
    styles: list[FlowStyle],
    end_s: float,
    *,
    marks: pl.DataFrame | None = None,
    notes: list[str] | None = None,
) -> alt.LayerChart:
    known = lines.drop_nulls(column)
    ticks = choose_ticks(known.select(pl.col(column).max()).item() or 1.0)
    axis = ValueAxis(MEASURES[column], ticks, ",d" if ticks[1] >= 1 else "")
    plot = Plot(end_s, axis, PANEL_HEIGHT_PX, is_lowest=notes is not None)
    layers: list[alt.Chart] = []
    if marks is not None and marks.height:
        rule = alt.Chart(marks.select("time_s")).mark_rule(
            color=RETRANSMIT_COLOUR, strokeWidth=MARK_WIDTH_PX, opacity=MARK_OPACITY
        )
        layers.append(rule.encode(x=plot.time))
    return size_plot([*layers, draw_flows(known, column, plot, styles)], plot, None, notes or ())


def _collect_data(rates: pl.DataFrame, totals: pl.DataFrame, lines: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    parts = {"rate": rates, "sum": totals, "sample": lines, "retransmission": marks}
    columns = (
        "drawn_as",
        "run_id",
        "flow_id",
        "cc",
        "time_s",
        "rate_bps",
        *MEASURES,
        "retransmits_count",
    )
    return stack_parts(parts).select(columns)


def _describe(
    rates: pl.DataFrame, totals: pl.DataFrame, lines: pl.DataFrame, marks: pl.DataFrame, styles: list[FlowStyle]
) -> list[str]:
    """Return the mean rates, the largest window, the range of RTTs, and how much was retransmitted."""
    unit = choose_rate_unit(totals.select(pl.col("rate_bps").max()).item() or 0.0)
    mean = totals.select(pl.col("rate_bps").mean()).item() or 0.0
    sentences = [f"all flows together had {format_rate(mean, unit)} on average"]
    means = dict(rates.group_by("flow_id").agg(pl.col("rate_bps").mean()).iter_rows())
    if told := [
        f"flow {one.number} ({theme.style_of(one.cc).name}) {format_rate(means[one.flow_id], unit)}"
        for one in styles
        if one.flow_id in means
    ]:
        sentences.append(f"while it was active, {', '.join(told)}")
    for column, name, measure in (("cwnd_segments_count", "windows", "segments"), ("rtt_ms", "smoothed RTTs", "ms")):
        known = lines[column].drop_nulls().cast(pl.Float64).sort()
        if len(known):
            low, high = (format_significant(float(value), 3) for value in (known[0], known[-1]))
            sentences.append(f"{name} were from {low} to {high} {measure}")
    count = marks["retransmits_count"].sum()
    return [*sentences, f"ss reports {count:,} retransmissions, at {marks.height:,} times of sampling"]
