"""How single flows of a run are told apart: by a shade of their algorithm's colour and a dash, in order of starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.run.chart import Plot
from ccreport.figures.select.series import UNKNOWN_CC

# Of more flows than these, lines are told apart by algorithm alone.
NUMBERED_FLOWS: Final = 8
DASHES: Final = ((1, 0), (7, 2), (3, 2), (11, 3), (1, 2), (7, 2, 2, 2), (4, 1), (14, 4))
# How far the palest shade is on the way to white; its dash tells it apart as well.
PALEST: Final = 0.45
FAINT_OPACITY: Final = 0.38
WIDTH_PX: Final = 1.6


@dataclass(frozen=True)
class FlowStyle:
    """One flow: its number in the order of starts, its algorithm, and how it is drawn."""

    flow_id: str
    number: int
    cc: str
    colour: str
    dash: Sequence[int]


def style_flows(flows: pl.DataFrame) -> list[FlowStyle]:
    """Return the styles of the flows of a run, in order of their starts; none where they are too many to tell apart."""
    ordered = flows.select(
        "flow_id", pl.col("cc").fill_null(UNKNOWN_CC), start_s=pl.col("start_offset_s").fill_null(0.0)
    ).sort("start_s", "flow_id")
    if ordered.height > NUMBERED_FLOWS:
        return []
    counts = dict(ordered.group_by("cc").len().iter_rows())
    seen: dict[str, int] = {}
    styles = []
    for number, (flow_id, cc, _) in enumerate(ordered.iter_rows(), 1):
        place = seen.get(cc, 0)
        seen[cc] = place + 1
        part = PALEST * place / max(counts[cc] - 1, 1)
        styles.append(FlowStyle(flow_id, number, cc, lighten(theme.style_of(cc).colour, part), DASHES[place]))
    return styles


def lighten(colour: str, part: float) -> str:
    """Return a colour (`#rrggbb`) moved by a part of the way to white."""
    channels = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(channel + (255 - channel) * part):02x}" for channel in channels)


def list_flow_key(styles: Sequence[FlowStyle], ccs: Sequence[str]) -> list[KeyEntry]:
    """Return an entry of the key for each flow, or for each algorithm where flows are not told apart."""
    if not styles:
        return [KeyEntry(f"a flow of {theme.style_of(cc).name}", "line", theme.style_of(cc).colour) for cc in ccs]
    return [
        KeyEntry(f"{style.number}: {theme.style_of(style.cc).name}", "line", style.colour, tuple(style.dash))  # type: ignore[arg-type]
        for style in styles
    ]


def draw_flows(frame: pl.DataFrame, column: str, plot: Plot, styles: Sequence[FlowStyle]) -> alt.Chart:
    """Return one line for each flow of a frame (flow_id, cc, time_s and the column)."""
    numbers = frame.select(line=pl.col("flow_id").rank("dense")).to_series()
    options: dict[str, Any]
    if styles:
        of_flow = {style.flow_id: style.number for style in styles}
        numbers = frame["flow_id"].replace_strict(of_flow, return_dtype=pl.Int64)
        named = [str(style.number) for style in styles]
        options = {
            "color": alt.Color(
                "line:N", scale=alt.Scale(domain=named, range=[style.colour for style in styles]), legend=None
            ),
            "strokeDash": alt.StrokeDash(
                "line:N", scale=alt.Scale(domain=named, range=[list(style.dash) for style in styles]), legend=None
            ),
        }
    else:
        options = {"color": alt.Color("cc:N", scale=plot.style(), legend=None), "detail": "line:N"}
    data = frame.with_columns(line=numbers.cast(pl.String)).select("line", "cc", pl.col("time_s").round(3), column)
    mark = alt.Chart(data.sort("line", "time_s")).mark_line(
        strokeWidth=WIDTH_PX if styles else 1.0, opacity=1.0 if styles else FAINT_OPACITY, strokeJoin="round"
    )
    chart: alt.Chart = mark.encode(x=plot.time, y=plot.value(column), **options)
    return chart
