"""Fairness against buffer size: Jain's index of a run's flows, and the throughput of what they are grouped by.

Groups are the algorithms of runs in which several sent at once; of one algorithm, flows with about the same RTT, the
nominal one where it is known, else the smallest. Each group's rate is the sum over its flows. Runs of other algorithms,
or of others beside them, have a panel of their own: an index over both would be that of neither.
"""

from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.conditions.rate_axes import KINDS, MULTIPLES
from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import Position, draw_ticks
from ccreport.figures.kit.figure import Figure, deny, stack_parts
from ccreport.figures.kit.keyed_panels import KeyEntry, size_panel, stack
from ccreport.figures.kit.text import draw_notes
from ccreport.figures.kit.ticks import choose_ticks
from ccreport.figures.select.condition_cells import (
    BURSTS,
    read_matching,
    refuse_parts,
    require_two,
    summarise_cells,
)
from ccreport.figures.select.declaration import FigureDeclaration, keep_fitting
from ccreport.figures.select.queries import IS_EMULATED, QUEUE, MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.series import UNKNOWN_CC
from ccreport.figures.wording.conditions import (
    describe_conditions,
    describe_value,
    find_ends,
    fold_sentences,
    write_sentences,
)
from ccreport.figures.wording.runs import format_significant, join_names, wrap_title
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit

RUN_COLUMNS: Final = f"""
    run_id, condition_id, mode, sharing, sender_host, host, flows_count, rtt_ms, loss_pct, buffer_bytes, bottleneck_bps,
    {QUEUE} AS queue_discipline, parameter_name, parameter_value, jain_ratio,
    coalesce(cc_list, 'unknown') AS cc_list, {BURSTS}, {IS_EMULATED}
"""
PANELS_AT_MOST: Final = 4
LOW_HEIGHT_PX: Final = 230
# A flow whose smallest RTT is larger than the one before it by this factor begins another group.
RTT_STEP: Final = 1.5
# Lines of one algorithm, by their place among its groups.
DASHES: Final = ((1, 0), (7, 3), (2, 2), (12, 4))
JAIN: Final = "Jain's index of all flows"
CAP_PX: Final = 6


@dataclass(frozen=True)
class Group:
    """One line of throughput: the algorithm, what tells it from others of that algorithm, and its dash."""

    cc: str
    name: str
    dash: tuple[int, int]


@dataclass(frozen=True)
class Placed:
    """What is drawn: means of the groups' rates and of the indices, with the place `x` of their buffer."""

    cells: pl.DataFrame
    indices: pl.DataFrame
    position: Position


def build_fairness_by_buffer(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of all runs that match; raise MissingFigure where fewer than two buffer sizes compare."""
    matching = read_matching(declaration, database, "labelled_runs", RUN_COLUMNS, "run_id")
    fitting = keep_fitting(matching, declaration)
    if fitting.is_empty():
        raise MissingFigure(f"{deny(matching.height)} ran as the figure is declared.")
    runs = require_two(fitting.drop_nulls("jain_ratio"), "buffer_bytes", "buffer size and Jain's index")
    places, position = KINDS["rate_by_buffer"].place(runs)
    runs = runs.filter(pl.col("buffer_bytes").is_in(list(places)))
    flows = _read_flows(database, runs)
    mixes = runs["cc_list"].unique().sort().to_list()
    if len(mixes) > PANELS_AT_MOST:
        raise refuse_parts(f"{len(mixes)} panels", runs, ["cc_list"])
    rates = group_flows(flows).join(runs, on="run_id")
    keys = ["cc_list", "buffer_bytes", "cc", "rtt_group"]
    cells = summarise_cells(database, rates, keys, "rate_bps")
    indices = summarise_cells(database, runs, ["cc_list", "buffer_bytes"], "jain_ratio")
    # The index is never above 1.
    indices = indices.with_columns(pl.col("high").clip(upper_bound=1))
    at = pl.col("buffer_bytes").replace_strict(places, return_dtype=pl.Float64)
    groups = _style_groups(cells)
    unit = choose_rate_unit(cells.select(pl.max_horizontal("mean", "high").max()).item() or 0.0)
    title = [" ".join(declaration.title.split()), *wrap_title(describe_conditions(_name_algorithms(runs, flows)))]
    key = [KeyEntry(group.name, "line", theme.style_of(group.cc).colour, group.dash) for group in groups.values()]
    key.append(KeyEntry(f"{JAIN} (right axis)", "line", theme.INK, width=2.6))
    placed = Placed(cells.with_columns(x=at), indices.with_columns(x=at), position)
    chart = stack(title[:1], title[1:], key, [[_draw_mix(mix, mixes, placed, groups, unit)] for mix in mixes])
    sentences = [
        describe_conditions(_name_algorithms(runs, flows)),
        "Coloured: throughput of each group, summed over its flows",
        "Black: Jain's index (RFC 5166) of the mean rates of all flows of a run, mean over the runs",
        "Bars: 95 % intervals of the means",
        f"{_count(indices)} to a point",
        *(["Panels: runs of other algorithms, all with the same scales"] if len(mixes) > 1 else []),
        MULTIPLES,
        *find_ends(runs).tell_names(),
    ]
    return Figure(chart, _collect_data(cells, indices), fold_sentences(sentences), _describe(indices))


def _read_flows(database: Database, runs: pl.DataFrame) -> pl.DataFrame:
    query = """
        SELECT
            run_id, flow_id, coalesce(cc, ?) AS cc, coalesce(rtt_nominal_ms, rtt_min_ms) AS rtt_min_ms,
            coalesce(goodput_bps, throughput_bps) AS rate_bps
        FROM flows WHERE run_id IN (SELECT unnest(?)) ORDER BY run_id, flow_id
    """
    return database.ask(query, [UNKNOWN_CC, runs["run_id"].to_list()])


def group_flows(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the summed rate of each group of flows of each run: run_id, cc, rtt_group (ms, or null), rate_bps.

    Runs of several algorithms are grouped by these alone, and so are runs whose flows have about the same RTT.
    """
    sorted_flows = flows.sort("run_id", "rtt_min_ms", "flow_id", nulls_last=True)
    is_step = (pl.col("rtt_min_ms") > RTT_STEP * pl.col("rtt_min_ms").shift(1)).over("run_id").fill_null(value=False)
    numbered = sorted_flows.with_columns(number=is_step.cast(pl.Int64).cum_sum().over("run_id"))
    is_apart = (pl.col("cc").n_unique().over("run_id") == 1) & (pl.col("number").max().over("run_id") > 0)
    # The smallest of a group is nearest to the path's own; rounded, since it differs from run to run.
    rtt = pl.col("rtt_min_ms").min().over("run_id", "number").round()
    return (
        numbered.with_columns(rtt_group=pl.when(is_apart).then(rtt))
        .group_by("run_id", "cc", "rtt_group", maintain_order=True)
        .agg(pl.col("rate_bps").sum())
        .sort("run_id", "cc", "rtt_group", nulls_last=True)
    )


def _style_groups(cells: pl.DataFrame) -> dict[tuple[str, float | None], Group]:
    found = cells.select("cc", "rtt_group").unique().sort("rtt_group", nulls_last=True).rows()
    groups = {}
    for cc in theme.order_algorithms({cc for cc, _ in found}):
        own = [rtt for name, rtt in found if name == cc]
        for number, rtt in enumerate(own):
            style = theme.style_of(cc)
            name = style.name if rtt is None else f"{style.name}, RTT {rtt:g} ms"
            groups[cc, rtt] = Group(cc, name, style.dash if len(own) == 1 else DASHES[number % len(DASHES)])
    return groups


def _name_algorithms(runs: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    return runs.join(flows.select("run_id", "cc").unique(), on="run_id").sort("run_id", "cc")


def _draw_mix(
    mix: str, mixes: list[str], placed: Placed, groups: dict[tuple[str, float | None], Group], unit: str
) -> alt.LayerChart:
    """Return the panel of the runs of some algorithms, with a title where there are several panels."""
    own = pl.col("cc_list") == mix
    cells, position = placed.cells.filter(own), placed.position
    columns = ["mean", "low", "high"]
    top = placed.cells.select(pl.max_horizontal("mean", "high").max()).item() / RATE_UNITS[unit]
    ticks = choose_ticks(top or 1.0)
    rate_axis = alt.Axis(title=f"Throughput of a group ({unit})", values=list(ticks))
    rate = alt.Y("mean:Q", scale=alt.Scale(domain=[0, ticks[-1]], nice=False), axis=rate_axis)
    scaled = cells.with_columns((pl.col(columns) / RATE_UNITS[unit]).round(6))
    lines = [
        mark
        for (cc, rtt), group in groups.items()
        for mark in _draw_line(
            scaled.filter(pl.col("cc") == cc, pl.col("rtt_group").eq_missing(pl.lit(rtt, pl.Float64))),
            theme.style_of(cc).colour,
            group.dash,
            rate,
            position,
            1.8,
        )
    ]
    jain_axis = alt.Axis(title="Jain's index", values=[0, 0.25, 0.5, 0.75, 1], format=".2f", orient="right", grid=False)
    jain = alt.Y("mean:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=jain_axis)
    black = _draw_line(
        placed.indices.filter(own).with_columns(pl.col(columns).round(5)), theme.INK, (1, 0), jain, position, 2.6
    )
    height_px = theme.PLOT_HEIGHT_PX if len(mixes) == 1 else LOW_HEIGHT_PX
    ends = draw_ticks(position, theme.PLOT_WIDTH_PX, height_px)
    left, right = alt.layer(*lines), alt.layer(*black)
    plot = alt.layer(left, right).resolve_scale(y="independent")
    title = describe_value("cc_list", mix) if len(mixes) > 1 else None
    return size_panel([plot, *ends, *draw_notes([], height_px)], theme.PLOT_WIDTH_PX, height_px, title)


def _draw_line(
    cells: pl.DataFrame, colour: str, dash: tuple[int, ...], value: alt.Y, position: Position, width: float
) -> list[alt.Chart]:
    """Return a line of means with their intervals over the logarithm of the buffer."""
    data = cells.select("x", "mean", "low", "high").sort("x")
    axis = alt.Axis(title=None, labels=False, grid=False, values=[place for place, _ in position.ticks])
    x = alt.X("x:Q", scale=alt.Scale(domain=[position.low, position.high], nice=False, zero=False), axis=axis)
    base, known = alt.Chart(data), alt.Chart(data.drop_nulls())
    return [
        base.mark_line(color=colour, strokeWidth=width, strokeDash=list(dash)).encode(x=x, y=value),
        known.mark_rule(color=colour, strokeWidth=1.4).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(color=colour, fill="white", size=40, opacity=1, strokeWidth=1.6).encode(x=x, y=value),
    ]


def _count(indices: pl.DataFrame) -> str:
    counts = indices["runs_count"].sort().to_list()
    least, most = counts[0], counts[-1]
    return f"{most} runs" if least == most else f"{least} to {most} runs"


def _collect_data(cells: pl.DataFrame, indices: pl.DataFrame) -> pl.DataFrame:
    named = {name: f"rate_{name}_bps" for name in ("mean", "low", "high")}
    of_jain = {name: f"jain_{name}_ratio" for name in ("mean", "low", "high")}
    parts = {"rate": cells.rename(named), "jain": indices.rename(of_jain)}
    return stack_parts(parts).rename({"rtt_group": "rtt_group_ms"})


def _describe(indices: pl.DataFrame) -> str:
    sentences = ["Line chart of throughput and fairness against buffer size"]
    for (mix,), own in indices.group_by("cc_list", maintain_order=True):
        texts = [
            f"{format_significant(mean, 2)} with {size:,} B" for size, mean in own.select("buffer_bytes", "mean").rows()
        ]
        sentences.append(f"Jain's index of {describe_value('cc_list', mix)} was {join_names(texts)}")
    return write_sentences(sentences)
