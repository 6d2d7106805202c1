"""The plot of rates over time: its axis, the rule at the line rate, and the words for rates above it."""

from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.label_placement import Point, cover_label, place_labels
from ccreport.figures.kit.text import NO_DATA, at_x, at_y, to_x, write
from ccreport.figures.kit.value_axis import ValueAxis
from ccreport.figures.run.chart import Plot, fit_axis
from ccreport.figures.run.panel import FlowRates, PanelRuns
from ccreport.figures.wording.captions import EXCESS, LINE_RATE
from ccreport.summarise.grids.settings import RATE_UNITS

# A line rate further above all rates than this would flatten them; its name needs room above it.
LINE_RATE_AT_MOST: Final = 4.0
LINE_RATE_HEADROOM: Final = 1.04
# Nobody takes the name for that of a coloured line.
RULE_CLEARANCE_PX: Final = 1.0
# So close that a label of a line has no room between two of them.
RULE_POINTS: Final = 60
# The height in px of a rule: its name and the middle of that, or None.
Placed = Mapping[float, tuple[str, Point | None]]


def list_near(line_rates_bps: Mapping[float, str], top_bps: float) -> dict[float, str]:
    """Return the line rates that can be drawn without flattening rates up to `top_bps`."""
    return {rate: name for rate, name in line_rates_bps.items() if rate <= LINE_RATE_AT_MOST * top_bps}


def find_scale_top(line_rates_bps: Mapping[float, str], top_bps: float) -> float:
    """Return what an axis has to hold of rates up to `top_bps`, and of the line rates near them with their names."""
    return max([top_bps, *(LINE_RATE_HEADROOM * rate for rate in list_near(line_rates_bps, top_bps))])


def is_exceeded(line_rates_bps: Mapping[float, str], top_bps: float) -> bool:
    """Tell whether rates up to `top_bps` are seen above every line rate that is drawn."""
    near = list_near(line_rates_bps, top_bps)
    return bool(near) and top_bps > LINE_RATE_HEADROOM * max(near)


def fit_rate_axis(panel: PanelRuns, rates: pl.DataFrame, unit: str, title: str) -> ValueAxis:
    """Return the axis of rates (rate_bps) in this unit, which holds the line rate where that is near."""
    top_bps = find_scale_top(panel.line_rates_bps, _find_top(rates))
    return fit_axis(f"{title} ({unit})", pl.Series([top_bps / RATE_UNITS[unit]]))


def list_rate_sentences(panel: PanelRuns, measured: FlowRates, rates: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return what a caption says of the line rate in a plot of these rates: what is never folded away, and the rest."""
    top_bps = _find_top(rates)
    named = [LINE_RATE] if list_near(panel.line_rates_bps, top_bps) else []
    return ([EXCESS[measured.source]] if is_exceeded(panel.line_rates_bps, top_bps) else []), named


def place_line_rates(plot: Plot, unit: str, rates: pl.DataFrame, group: str | None = None) -> Placed:
    """Return the rules at line rates near these rates (time_s, rate_bps), as `place_rules` does; a line per `group`."""
    scale = RATE_UNITS[unit]

    def locate(rate_bps: float) -> float:
        return plot.height_px * (1 - plot.values.part(rate_bps / scale))

    traces = [
        [(time_s / plot.end_s * plot.width_px, locate(rate)) for time_s, rate in own.sort("time_s").rows()]
        for own in (part.select("time_s", "rate_bps") for part in (rates.partition_by(group) if group else [rates]))
    ]
    near = list_near(plot.panel.line_rates_bps, _find_top(rates))
    heights = {locate(rate_bps): name for rate_bps, name in near.items()}
    return place_rules(heights, traces, plot.width_px, plot.height_px)


def place_rules(
    heights: Mapping[float, str], traces: Sequence[Sequence[Point]], width_px: int, height_px: int
) -> Placed:
    """Return for the height in px of each rule its name and the middle of that, or None.

    Names keep clear of traces and of each other.
    """
    others = {f"line {number}": trace for number, trace in enumerate(traces)}
    placed: dict[float, tuple[str, Point | None]] = {}
    for y_px, name in heights.items():
        rule = {name: [(0.0, y_px), (float(width_px), y_px)]}
        named = _cover_names(placed)
        places = place_labels({name: name}, rule | others, named, width_px, height_px, RULE_CLEARANCE_PX)
        placed[y_px] = name, places.get(name)
    return placed


def draw_rules(placed: Placed, width_px: int) -> list[alt.Chart]:
    """Return a dotted rule at each height, with its name where it has a place."""
    layers: list[alt.Chart] = []
    for y_px, (name, place) in placed.items():
        rule = alt.Chart(NO_DATA).mark_rule(color=theme.FAINT_INK, strokeWidth=1.4, strokeDash=[2, 3])
        layers.append(rule.encode(x=at_x(0), x2=to_x(width_px), y=at_y(round(y_px, 1))))
        if place is not None:
            layers.append(write([name], place, align="center", colour=theme.FAINT_INK))
    return layers


def list_obstacles(placed: Placed, width_px: int) -> list[Point]:
    """Return the points of rules and of their names that labels of lines keep clear of."""
    rules = [(width_px * part / RULE_POINTS, y_px) for y_px in placed for part in range(RULE_POINTS + 1)]
    return rules + _cover_names(placed)


def _cover_names(placed: Placed) -> list[Point]:
    return [point for name, place in placed.values() if place for point in cover_label(name, place)]


def _find_top(rates: pl.DataFrame) -> float:
    top: float | None = rates.select(pl.col("rate_bps").max()).item()
    return top or 0.0
