"""Congestion window and smoothed RTT of each flow over time, as `ss` sampled them, in two plots above each other."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
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
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import FLOW, place_flow_samples
from ccreport.figures.select.series import measure_duration_s, place_intervals
from ccreport.figures.wording.runs import format_significant, join_names

PANEL_HEIGHT_PX: Final = 200
# Bins this much wider than the samples lie apart hold several of them.
THINNED: Final = 1.5
# Column, title of its axis, unit in sentences.
MEASURES: Final = {
    "cwnd_segments_count": ("Congestion window (segments)", "segments"),
    "rtt_ms": ("Smoothed RTT (ms)", "ms"),
}


def build_cwnd_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one condition's flows; raise MissingFigure where `ss` did not sample them."""
    panel = read_panel(declaration, database)
    flows = select_drawn(panel, panel.tables.flows)
    placed = place_flow_samples(panel.tables.samples, flows)
    if placed.select(pl.any_horizontal(pl.col(list(MEASURES)).is_not_null().any())).item() is not True:
        raise MissingFigure(
            f"The archive has no samples of ss with a window or an RTT for {_name_runs(panel.run_ids)}."
        )
    end_s = measure_duration_s(place_intervals(select_drawn(panel, panel.tables.intervals), flows))
    placed = placed.filter(pl.col("time_s").is_between(0, end_s))
    spacing_s = placed.select(pl.col("time_s").diff().over(FLOW).median()).item() or 0.0
    width_s = choose_width_s(spacing_s, end_s, flows.height)
    lines = _thin(placed, width_s, spacing_s)
    ccs = list_algorithms(flows)
    is_single = all(count == 1 for count in flows.group_by("run_id", "cc").len()["len"])
    of_flows = "" if is_single else ": median of its flows"
    key = [style_entry(cc, f"{theme.style_of(cc).name}{of_flows}", width=2.6) for cc in ccs]
    key += [] if is_single else [KeyEntry("one flow", "line", theme.FAINT_INK, width=1.0)]
    medians = _take_medians(lines)
    rows = [_draw(lines, medians, column, end_s, list_notes(panel)) for column in MEASURES]
    thick = "" if is_single else ", thick lines the median of the algorithm's flows"
    thinned = f", one value each {width_s:g} s" if width_s > spacing_s * THINNED else ""
    sentences = [f"Congestion window and smoothed RTT of each flow as ss reports them{thick}{thinned}"]
    return Figure(
        stack_plots(write_heading(panel, ccs), key, rows),
        pl.concat(
            [lines.insert_column(0, _tag("flow", lines)), medians.insert_column(0, _tag("median", medians))],
            how="diagonal_relaxed",
        ),
        write_run_caption(panel, ccs, sentences),
        write_run_alternative(panel, ccs, "Line charts of congestion window and RTT over time", _describe(placed, ccs)),
    )


def _name_runs(run_ids: list[str]) -> str:
    return join_names([f"run {run_id}" for run_id in run_ids])


def _tag(drawn_as: str, frame: pl.DataFrame) -> pl.Series:
    return pl.Series("drawn_as", [drawn_as] * frame.height, dtype=pl.String)


def _thin(placed: pl.DataFrame, width_s: float, spacing_s: float) -> pl.DataFrame:
    """Return run_id, flow_id, cc, time_s and the measures; where the samples are too many, the last of each bin."""
    lines = placed.select(*FLOW, "cc", pl.col("time_s").round(3), *MEASURES)
    if width_s <= spacing_s * THINNED:
        return lines
    return (
        lines.group_by(*FLOW, "cc", (pl.col("time_s") / width_s).floor().alias("bin"), maintain_order=True)
        .agg(pl.col("time_s", *MEASURES).last())
        .drop("bin")
    )


def _take_medians(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the medians over each algorithm's flows at each time of sampling."""
    return lines.group_by("run_id", "cc", "time_s").agg(pl.col(list(MEASURES)).median()).sort("run_id", "cc", "time_s")


def _draw(lines: pl.DataFrame, medians: pl.DataFrame, column: str, end_s: float, notes: list[str]) -> alt.LayerChart:
    is_lowest = column == list(MEASURES)[-1]
    known = lines.drop_nulls(column)
    ticks = choose_ticks(known.select(pl.col(column).max()).item() or 1.0)
    plot = Plot(end_s, ValueAxis(MEASURES[column][0], ticks, ",d" if ticks[1] >= 1 else ""), PANEL_HEIGHT_PX, is_lowest)
    count = lines["flow_id"].n_unique()
    thin = draw_lines(
        known.with_columns(line=pl.col("flow_id").rank("dense")),
        column,
        plot,
        width=1.0,
        opacity=0.7 if count <= FAINT_FLOWS else 0.38,
        is_dashed=False,
    )
    thick = draw_lines(medians.drop_nulls(column).with_columns(line=pl.col("cc")), column, plot, width=2.6)
    return size_plot([thin, thick], plot, None, notes if is_lowest else ())


def _describe(placed: pl.DataFrame, ccs: list[str]) -> list[str]:
    sentences = []
    for column, (title, unit) in MEASURES.items():
        known = {cc: placed.filter(pl.col("cc") == cc)[column].drop_nulls() for cc in ccs}
        texts = [
            f"{theme.style_of(cc).name} {_number(values.median())} {unit} "
            f"({_number(values.min())} to {_number(values.max())})"
            for cc, values in known.items()
            if len(values)
        ]
        name = title.split(" (")[0]
        sentences.append(
            f"median (and range) of the {name if name.isupper() else name[0].lower() + name[1:]}: {join_names(texts)}"
        )
    return sentences


def _number(value: object) -> str:
    return format_significant(float(value), 3) if isinstance(value, int | float) else "unknown"
