"""Marks of what happens during a run: flows that join it, and stages in which its path is another."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.core.units import UnitError, parse_tc_rate_bps
from ccreport.figures.kit import theme
from ccreport.figures.kit.label_placement import LABEL_HEIGHT_PX, Point, cover_label
from ccreport.figures.kit.text import at_y, to_y, write
from ccreport.figures.run.chart import Plot
from ccreport.figures.wording.runs import Row, format_significant
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit

STAGE_COLOURS: Final = ("#d0021b", "#e0a800", "#2b7bba")
STAGE_OPACITY: Final = 0.12
# Flows that start within this time join together: ss samples them up to that far apart.
TOGETHER_S: Final = 1.0
NAME_RISE_PX: Final = -9.0
# Below such a name, where that of a line would be read with it.
BELOW_NAME_PX: Final = 8.0
# A path is the same again within this part of its RTT or rate.
SAME: Final = 0.02


@dataclass(frozen=True)
class Stage:
    """A time, in s since the start of the run, in which the path is not as it was at first, and in what it differs."""

    start_s: float
    end_s: float
    name: str


def find_joins(flows: pl.DataFrame) -> pl.DataFrame:
    """Return when flows joined others of a run: at_s, flows_count, ccs (list); the first start is not a join."""
    starts = flows.select(
        pl.col("cc").fill_null("unknown"), start_s=pl.col("start_offset_s").fill_null(0.0), flow_id="flow_id"
    ).sort("start_s", "flow_id")
    is_first = pl.col("start_s").diff().fill_null(0.0) > TOGETHER_S
    return (
        starts.with_columns(number=is_first.cum_sum())
        .group_by("number", maintain_order=True)
        .agg(at_s=pl.col("start_s").min(), flows_count=pl.len(), ccs=pl.col("cc").unique().sort())
        .filter(pl.col("number") > 0)
        .drop("number")
    )


def draw_joins(joins: pl.DataFrame, plot: Plot, *, is_named: bool) -> list[alt.Chart]:
    """Return a dotted line where flows join; named ones have above them who joins."""
    if joins.is_empty():
        return []
    rule = alt.Chart(joins.select(time_s=pl.col("at_s").round(3))).mark_rule(
        color=theme.FAINT_INK, strokeDash=[2, 3], strokeWidth=1.2
    )
    layers = [rule.encode(x=plot.time)]
    if is_named:
        for name, x_px in _name_joins(joins, plot):
            layers.append(write([name], (x_px, NAME_RISE_PX), align="center", colour=theme.FAINT_INK))
    return layers


def list_join_places(joins: pl.DataFrame, plot: Plot) -> list[Point]:
    """Return the places that names of lines keep clear of: below the names of joins, and along their lines."""
    named = _name_joins(joins, plot)
    below = [point for name, x_px in named for point in cover_label(name, (x_px, BELOW_NAME_PX))]
    return below + [(x_px, float(y_px)) for _, x_px in named for y_px in range(0, plot.height_px, int(LABEL_HEIGHT_PX))]


def _name_joins(joins: pl.DataFrame, plot: Plot) -> list[tuple[str, float]]:
    """Return who joins and where that is across the plot, in px."""
    return [
        (f"+{count} {'/'.join(theme.style_of(cc).name for cc in ccs)}", at_s / plot.end_s * theme.PLOT_WIDTH_PX)
        for at_s, count, ccs in joins.select("at_s", "flows_count", "ccs").rows()
    ]


def read_stages(text: str | None, run: Row, end_s: float) -> list[Stage]:
    """Return the stages that a job's metadata announce for a run, in order; none where the text is not such a list.

    A stage lasts until the next change; one in which the path is as at first again is not listed.
    """
    try:
        changes = json.loads(text or "[]")
    except ValueError:
        return []
    timed = [change for change in changes if isinstance(change, dict)] if isinstance(changes, list) else []
    timed = [change for change in timed if isinstance(change.get("at_s"), int | float) and 0 <= change["at_s"] < end_s]
    timed.sort(key=lambda change: change["at_s"])
    stages = []
    state: dict[str, Any] = {}
    for number, change in enumerate(timed):
        state |= {key: value for key, value in change.items() if key != "at_s"}
        until_s = timed[number + 1]["at_s"] if number + 1 < len(timed) else end_s
        names = _name_differences(state, run)
        if names and until_s > change["at_s"]:
            stages.append(Stage(float(change["at_s"]), float(until_s), ", ".join(names)))
    return stages


def _name_differences(state: Mapping[str, Any], run: Row) -> list[str]:
    names = []
    rtt_ms, rate_bps = state.get("rtt_ms"), _parse_rate(state.get("rate"))
    if isinstance(rtt_ms, int | float) and _differs(rtt_ms, run["rtt_ms"]):
        names.append(f"RTT {rtt_ms:g} ms")
    if rate_bps is not None and _differs(rate_bps, run["bottleneck_bps"]):
        unit = choose_rate_unit(rate_bps)
        names.append(f"{format_significant(rate_bps / RATE_UNITS[unit], 3)} {unit}")
    return names


def _parse_rate(value: object) -> float | None:
    try:
        return parse_tc_rate_bps(value) if isinstance(value, str) else None
    except UnitError:
        return None


def _differs(value: float, base: float | None) -> bool:
    return base is None or abs(value - base) > SAME * base


def draw_stages(stages: Sequence[Stage], plot: Plot, *, is_named: bool) -> list[alt.Chart]:
    """Return a shade over each stage, whose colour is that of its name; named ones have it above them."""
    names = list(dict.fromkeys(stage.name for stage in stages))
    layers: list[alt.Chart] = []
    for stage in stages:
        colour = STAGE_COLOURS[names.index(stage.name) % len(STAGE_COLOURS)]
        data = pl.DataFrame({"time_s": [round(stage.start_s, 3)], "until_s": [round(stage.end_s, 3)]})
        shade = alt.Chart(data).mark_rect(color=colour, opacity=STAGE_OPACITY)
        layers.append(shade.encode(x=plot.time, x2="until_s:Q", y=at_y(0), y2=to_y(plot.height_px)))
        if is_named:
            middle = (stage.start_s + stage.end_s) / 2 / plot.end_s * theme.PLOT_WIDTH_PX
            layers.append(write([stage.name], (middle, NAME_RISE_PX), align="center", colour=theme.FAINT_INK))
    return layers
