"""Stability of parallel streams: the rates of the single flows of each run, in order, with the run's Jain index."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.core.text import count_things, display_name
from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import Position, draw_ticks
from ccreport.figures.kit.figure import Figure, deny
from ccreport.figures.kit.small_multiples import PANEL_GAP_PX, TITLE_LIMIT_PX, TITLE_RISE_PX
from ccreport.figures.kit.text import write
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.select.declaration import (
    FigureDeclaration,
    Rate,
    choose_rate,
    keep_fitting,
    select_condition_runs,
)
from ccreport.figures.select.queries import MissingFigure, name_run, read_matching_runs, read_rows
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.series import UNKNOWN_CC
from ccreport.figures.wording.captions import describe_left_out
from ccreport.figures.wording.conditions import fold_sentences, tell_unlike, write_sentences
from ccreport.figures.wording.runs import DrawnRun, describe_runs, find_ends, format_rate, join_names, wrap_title
from ccreport.measure.fairness import jain_index
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit

HEIGHT_PX: Final = 280
# Width that a run needs for its Jain index.
RUN_PX: Final = 42
# Part of a run's place that its flows fill, from the slowest to the fastest.
FILLED: Final = 0.7
# Room above the fastest flow for the Jain index.
HEADROOM: Final = 1.12
JAIN_PX: Final = 9.0


@dataclass(frozen=True)
class Spread:
    """What is drawn.

    `flows` (run_id, cc, flow_id, place, x, rate_bps) and `strips`, one per run and algorithm (run_id, cc, place,
    flows_count, mean_bps, jain_ratio).
    """

    flows: pl.DataFrame
    strips: pl.DataFrame
    rate: Rate
    unit: str
    left_out_count: int


def build_flow_spread(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one condition's runs (of each algorithm's, where they ran alone), a panel per algorithm.

    Raise MissingFigure where no run of it has two flows of one algorithm with a rate.
    """
    matching = read_matching_runs(declaration, database)
    fitting = keep_fitting(matching, declaration)
    declaration = name_run(declaration, fitting)
    runs = select_condition_runs(matching, declaration)
    flows = read_rows(database, "flows", runs)
    rate: Rate = choose_rate(declaration, flows) if flows.height else "goodput"
    spread = measure_spread(runs, flows, rate)
    if spread.strips.is_empty():
        raise MissingFigure(f"{deny(runs.height, 'fit')} has two flows of one algorithm with a rate.")
    drawn = [
        DrawnRun(row, 1, is_declared=False)
        for row in runs.unique("condition_id", keep="first", maintain_order=True).rows(named=True)
    ]
    ccs = theme.order_algorithms(spread.strips["cc"].unique())
    conditions = describe_runs(ccs, drawn, overlapped=declaration.overlapped)
    title = [" ".join(declaration.title.split()), *wrap_title(conditions)]
    data = spread.flows.join(spread.strips.select("run_id", "cc", "jain_ratio"), on=["run_id", "cc"], how="left")
    data = data.select("run_id", "cc", "flow_id", "rate_bps", "jain_ratio")
    chart = _draw(spread, ccs, title)
    others_count = fitting["condition_id"].n_unique() - runs["condition_id"].n_unique()
    kept = "the one" if declaration.overlapped else "for each algorithm the most similar one"
    left_out = [
        *tell_unlike(drawn),
        *find_ends(drawn).tell_names(),
        *describe_left_out(others_count, f"{kept} with the most runs"),
    ]
    return Figure(
        chart, data, _write_caption(spread, ccs, conditions, left_out), _write_alternative(spread, ccs, conditions)
    )


def measure_spread(runs: pl.DataFrame, flows: pl.DataFrame, rate: Rate) -> Spread:
    """Return the flows by run and algorithm, and mean and Jain index of each, (Σx)² / (n Σx²).

    Runs are in order of their iteration; where an algorithm has more than fit side by side, the first are taken.
    """
    known = flows.with_columns(pl.col("cc").fill_null(UNKNOWN_CC), rate_bps=pl.col(f"{rate}_bps"))
    known = known.drop_nulls("rate_bps").join(runs.select("run_id", "iteration"), on="run_id")
    strips = (
        known.sort("iteration", "run_id", "flow_id", nulls_last=True)
        .group_by("cc", "iteration", "run_id", maintain_order=True)
        .agg(
            flows_count=pl.len(),
            mean_bps=pl.col("rate_bps").mean(),
            jain_ratio=jain_index(pl.col("rate_bps")),
        )
        .filter(pl.col("flows_count") > 1)
        .with_columns(place=pl.int_range(pl.len()).over("cc"))
    )
    shown = strips.filter(pl.col("place") < _measure_panel(strips["cc"].n_unique()) // RUN_PX)
    placed = (
        known.join(shown.select("run_id", "cc", "place", "flows_count"), on=["run_id", "cc"])
        .sort("cc", "place", "rate_bps", "flow_id")
        .with_columns(rank=pl.int_range(pl.len()).over("cc", "place"))
        .with_columns(
            x=(pl.col("place") + FILLED * (pl.col("rank") / (pl.col("flows_count") - 1) - 0.5)).round(4),
        )
    )
    top: float = placed.select(pl.col("rate_bps").max()).item() or 0.0
    return Spread(placed, shown, rate, choose_rate_unit(top), strips.height - shown.height)


def _measure_panel(count: int) -> int:
    return (theme.PLOT_WIDTH_PX - (count - 1) * PANEL_GAP_PX) // max(count, 1)


def _draw(spread: Spread, ccs: Sequence[str], title: Sequence[str]) -> alt.HConcatChart:
    unit_bps = RATE_UNITS[spread.unit]
    top: float = spread.flows.select(pl.col("rate_bps").max()).item()
    ticks = choose_ticks(HEADROOM * top / unit_bps or 1.0)
    width = _measure_panel(len(ccs))
    places = spread.strips["place"].n_unique()
    panels = [_draw_panel(spread, cc, ticks, width, places, is_first=not number) for number, cc in enumerate(ccs)]
    chart: alt.HConcatChart = alt.hconcat(*panels, spacing=PANEL_GAP_PX).properties(
        title=alt.TitleParams(title[0], subtitle=list(title[1:]), offset=14, limit=TITLE_LIMIT_PX, anchor="start")
    )
    return chart


def _draw_panel(
    spread: Spread, cc: str, ticks: Sequence[float], width: int, places: int, *, is_first: bool
) -> alt.LayerChart:
    style = theme.style_of(cc)
    unit_bps = RATE_UNITS[spread.unit]
    strips = spread.strips.filter(pl.col("cc") == cc)
    flows = spread.flows.filter(pl.col("cc") == cc).select("x", (pl.col("rate_bps") / unit_bps).round(6))
    title = f"{spread.rate.capitalize()} of a flow ({spread.unit})" if is_first else None
    axis = alt.Axis(title=title, labels=is_first, ticks=is_first, values=list(ticks))
    rate = alt.Y("rate_bps:Q", scale=alt.Scale(domain=[0, ticks[-1]], nice=False), axis=axis)
    # Not by iteration: runs of several sessions have the same ones.
    position = Position("Run", -0.5, places - 0.5, [(float(place), f"{place + 1}") for place in strips["place"]])
    none = alt.Axis(title=None, labels=False, ticks=False, grid=False)
    x = alt.X("x:Q", scale=alt.Scale(domain=[position.low, position.high], nice=False, zero=False), axis=none)
    dots = alt.Chart(flows).mark_point(size=30, color=style.colour, shape=style.marker, strokeWidth=1.3, opacity=0.9)
    means = strips.select(
        x=pl.col("place") - FILLED / 2 - 0.06,
        right=pl.col("place") + FILLED / 2 + 0.06,
        rate_bps=(pl.col("mean_bps") / unit_bps).round(6),
    )
    lines = alt.Chart(means).mark_rule(color=theme.INK, strokeWidth=1.2)
    layers: list[alt.Chart] = [
        lines.encode(x=x, x2="right:Q", y=rate),
        dots.encode(x=x, y=rate),
        *draw_ticks(position, width, HEIGHT_PX),
        write([style.name], (0.0, -TITLE_RISE_PX), align="left", weight="bold", colour=style.colour),
        write(["Jain index of each run"], (float(width), -TITLE_RISE_PX), align="right", colour=theme.FAINT_INK),
    ]
    for place, jain in strips.select("place", "jain_ratio").rows():
        text = "–" if jain is None else f"{jain:.3f}"
        layers.append(write([text], (width * (place + 0.5) / places, JAIN_PX), align="center", colour=theme.FAINT_INK))
    return alt.LayerChart(layer=layers, width=width, height=HEIGHT_PX)


def _write_caption(spread: Spread, ccs: Sequence[str], conditions: str, left_out: Sequence[str]) -> str:
    count = spread.strips["run_id"].n_unique()
    means = dict(spread.strips.group_by("cc").agg(pl.col("jain_ratio").mean()).drop_nulls().iter_rows())
    told = [f"{theme.style_of(cc).name} {means[cc]:.3f}" for cc in ccs if cc in means]
    return fold_sentences(
        [
            conditions,
            *([f"Jain’s fairness index of a run’s flows, mean over the runs: {join_names(told)}"] if told else []),
            f"Each mark is the mean {spread.rate} of one flow, those of a run from the slowest to the fastest",
            count_things(count, "run"),
            "Lines: the mean of the run's flows of that algorithm",
            "Numbers above: Jain's fairness index of these flows, 1 where all are equal",
            *([f"Left out: {count_things(spread.left_out_count, 'later run')}"] if spread.left_out_count else []),
            *left_out,
        ]
    )


def _write_alternative(spread: Spread, ccs: Sequence[str], conditions: str) -> str:
    told = []
    for cc in ccs:
        flows = spread.flows.filter(pl.col("cc") == cc)["rate_bps"].sort()
        jains = spread.strips.filter(pl.col("cc") == cc)["jain_ratio"].drop_nulls().sort()
        lowest, highest = (format_rate(rate, spread.unit) for rate in (flows[0], flows[-1]))
        index = ""
        if len(jains):
            ends = dict.fromkeys(f"{jain:.3f}" for jain in (jains[0], jains[-1]))
            index = f", Jain index {' to '.join(ends)}"
        told.append(f"{theme.style_of(cc).name}: single flows from {lowest} to {highest}{index}")
    return write_sentences([f"Rates of single flows by run: {display_name(conditions)}", *told])
