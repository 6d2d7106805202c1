"""Distribution of flow completion times: the share of flows done by a time, a panel for each buffer size and loss."""

from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.figure import Figure
from ccreport.figures.kit.keyed_panels import PAIR_WIDTH_PX, arrange, size_panel, stack, style_entry, time_axis
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.run.chart import scale_of
from ccreport.figures.select.completions import SETTINGS, describe_left_out, describe_sources, read_completions
from ccreport.figures.select.condition_cells import list_varying
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import describe_panel, fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant, join_names

PANEL_HEIGHT_PX: Final = 190
PANELS_AT_MOST: Final = 12


def build_completion_cdf(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of all runs that match; raise MissingFigure where they make too many panels."""
    flows = read_completions(declaration, database)
    keys = list_varying(flows, [*SETTINGS, "buffer_bytes"])
    panels = flows.select(keys).unique().sort(keys, nulls_last=True).rows() if keys else [()]
    if len(panels) > PANELS_AT_MOST:
        raise MissingFigure(f"The runs that match make {len(panels)} panels: narrow `where` for this archive.")
    ccs = theme.order_algorithms(flows["cc"].unique())
    steps = measure_shares(flows, keys)
    end_s = choose_ticks(flows.select(pl.col("completion_s").max()).item())[-1]
    charts = []
    for number, values in enumerate(panels):
        own = steps.filter(
            pl.lit(value=True), *(pl.col(k).eq_missing(pl.lit(v)) for k, v in zip(keys, values, strict=True))
        )
        title = f"{describe_panel(keys, values)} ({_count(own, ccs)})".lstrip()
        charts.append(_draw(own, end_s, title, is_first=number % 2 == 0, is_lowest=number >= len(panels) - 2))
    names = join_names([theme.style_of(cc).name for cc in ccs])
    chart = stack(
        [" ".join(declaration.title.split())],
        [f"{names}; n: flows with a completion time"],
        [style_entry(cc, theme.style_of(cc).name) for cc in ccs],
        arrange(charts),
    )
    sentences = [
        "Each step is a flow: the share of the flows of its algorithm that were complete by that time",
        describe_sources(flows),
        *describe_left_out(database, flows),
        *(["All panels have the same scales"] if len(panels) > 1 else []),
    ]
    return Figure(chart, steps, fold_sentences(sentences), _describe(steps, keys, panels, ccs))


def measure_shares(flows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the empirical distribution: keys, cc, completion_s, share (of the flows done by then), flows_count."""
    count = pl.len().over(*keys, "cc")
    return (
        flows.sort(*keys, "cc", "completion_s", "flow_id", nulls_last=True)
        .select(
            *keys,
            "cc",
            "completion_s",
            share=(pl.col("completion_s").rank("max").over(*keys, "cc") / count).round(5),
            flows_count=count,
        )
        .unique(maintain_order=True)
    )


def _draw(steps: pl.DataFrame, end_s: float, title: str, *, is_first: bool, is_lowest: bool) -> alt.LayerChart:
    ccs = theme.order_algorithms(steps["cc"].unique())
    starts = pl.DataFrame({"cc": ccs, "completion_s": [0.0] * len(ccs), "share": [0.0] * len(ccs)})
    ends = pl.DataFrame({"cc": ccs, "completion_s": [float(end_s)] * len(ccs), "share": [1.0] * len(ccs)})
    data = pl.concat([starts, steps.select("cc", "completion_s", "share"), ends])
    axis = alt.Axis(title="Share of flows" if is_first else None, values=[0, 0.25, 0.5, 0.75, 1], format=".2f")
    line = alt.Chart(data).mark_line(strokeWidth=2, interpolate="step-after")
    chart = line.encode(
        x=time_axis("Completion time (s)" if is_lowest else None, "completion_s", end_s, ticks=5),
        y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis),
        color=alt.Color("cc:N", scale=scale_of(ccs), legend=None),
        strokeDash=alt.StrokeDash("cc:N", scale=scale_of(ccs, "dash"), legend=None),
    )
    return size_panel([chart], PAIR_WIDTH_PX, PANEL_HEIGHT_PX, title)


def _count(steps: pl.DataFrame, ccs: list[str]) -> str:
    counts = dict(steps.select("cc", "flows_count").unique().rows())
    return ", ".join(f"{theme.style_of(cc).name} n {counts[cc]}" for cc in ccs if cc in counts)


def _describe(steps: pl.DataFrame, keys: list[str], panels: list[tuple[Any, ...]], ccs: list[str]) -> str:
    sentences = ["Cumulative distributions of flow completion times"]
    for values in panels:
        own = steps.filter(
            pl.lit(value=True), *(pl.col(k).eq_missing(pl.lit(v)) for k, v in zip(keys, values, strict=True))
        )
        texts = []
        for cc in ccs:
            done = own.filter(pl.col("cc") == cc, pl.col("share") >= 0.5)["completion_s"]
            if len(done):
                texts.append(f"{theme.style_of(cc).name} {format_significant(done[0], 3)} s")
        sentences.append(
            f"{describe_panel(keys, values) or 'All'}: half of the flows were done after {join_names(texts)}"
        )
    return write_sentences(sentences)
