"""Congestion window and smoothed RTT of each flow over time, as `ss` sampled them, in two plots above each other."""

from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.run import chart
from ccreport.figures.run.panel import PanelRuns, read_panel
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import FLOW, place_flow_samples
from ccreport.figures.select.series import choose_width_s
from ccreport.figures.wording.runs import format_significant, join_names

PANEL_HEIGHT_PX: Final = 200
# Bins this much wider than the distance between samples hold several of them.
THINNED: Final = 1.5
# Values this many times the least are drawn on a logarithmic axis, or the small ones were one line at the bottom.
LOG_FROM: Final = 100
# Column, title of its axis, unit in sentences.
MEASURES: Final = {
    "cwnd_segments_count": ("Congestion window (segments)", "segments"),
    "rtt_ms": ("Smoothed RTT (ms)", "ms"),
}


def build_cwnd_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one condition's flows; raise MissingFigure where `ss` did not sample them."""
    panel = read_panel(declaration, database)
    placed = list_window_samples(panel)
    spacing_s = placed.select(pl.col("time_s").diff().over(FLOW).median()).item() or 0.0
    width_s = choose_width_s(spacing_s, panel.end_s, panel.flows.height)
    lines = _thin(placed, width_s, spacing_s)
    medians = _take_medians(lines)
    is_single = all(count == 1 for count in panel.flows.group_by("run_id", "cc").len()["len"])
    key = chart.list_algorithm_key(panel.ccs, "{}" if is_single else "{}: median of its flows", width=2.6)
    key += [] if is_single else [KeyEntry("one flow", "line", theme.FAINT_INK, width=1.0)]
    thick = "" if is_single else ", thick lines the median of the algorithm's flows"
    thinned = f", one value each {width_s:g} s" if width_s > spacing_s * THINNED else ""
    return chart.compose_figure(
        panel,
        key,
        [_draw(panel, lines, medians, column) for column in MEASURES],
        stack_parts({"flow": lines, "median": medians}),
        sentences=[f"Congestion window and smoothed RTT of each flow as ss reports them{thick}{thinned}"],
        what="Line charts of congestion window and RTT over time",
        messages=_describe(placed, panel.ccs),
    )


def list_window_samples(panel: PanelRuns) -> pl.DataFrame:
    """Return the samples of the flows drawn during the test, as `place_flow_samples` does.

    Raise MissingFigure where none has a window or an RTT.
    """
    placed = place_flow_samples(panel.tables.samples, panel.flows)
    if placed.select(pl.any_horizontal(pl.col(list(MEASURES)).is_not_null().any())).item() is not True:
        runs = join_names([f"run {run_id}" for run_id in panel.run_ids])
        raise MissingFigure(f"The archive has no samples of ss with a window or an RTT for the flows of {runs}.")
    return placed.filter(pl.col("time_s").is_between(0, panel.end_s))


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


def plot_measure(panel: PanelRuns, column: str, values: pl.Series, height_px: int) -> chart.Plot:
    """Return the frame of one of MEASURES, the last of which is the lowest."""
    title, known = MEASURES[column][0], values.drop_nulls()
    is_wide = known.len() > 0 and known.min() > 0 and known.max() > LOG_FROM * known.min()  # type: ignore[operator]
    axis = chart.fit_log_axis(title, known) if is_wide else chart.fit_axis(title, values, has_groups=True)
    return chart.Plot(panel, axis, height_px, is_lowest=column == list(MEASURES)[-1])


def _draw(panel: PanelRuns, lines: pl.DataFrame, medians: pl.DataFrame, column: str) -> alt.LayerChart:
    plot = plot_measure(panel, column, lines[column], PANEL_HEIGHT_PX)
    return plot.hold(chart.draw_flows_under(lines.drop_nulls(column), medians.drop_nulls(column), column, plot))


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
