"""Loss episodes of one captured flow, packet by packet: segments, retransmits, SACK blocks and the ACK line.

After tcptrace's time-sequence graph, zoomed: https://tcptrace.org/manual/manual.html
"""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from ccreport.figures.captures.episodes import ROLES, Episode
from ccreport.figures.captures.marks import draw_segments
from ccreport.figures.kit import keyed_panels, theme
from ccreport.figures.kit.keyed_panels import KeyEntry
from ccreport.figures.kit.theme import RETRANSMIT_COLOUR, SACK_COLOUR, SENT_COLOUR
from ccreport.figures.kit.ticks import choose_ticks

SHAPES: Final = {
    "retransmit_fast": "circle",
    "retransmit_timeout": "square",
    "retransmit_probe": "diamond",
}
SINGLE_HEIGHT_PX: Final = 380
PAIR_HEIGHT_PX: Final = 240


def list_episode_key(episodes: Sequence[Episode]) -> list[KeyEntry]:
    """Return the key: only the roles of retransmits that are drawn have an entry."""
    kinds = {kind for episode in episodes for kind in episode.marks["kind"].unique()}
    entries = [KeyEntry("data", "stroke", SENT_COLOUR)]
    entries += [KeyEntry(ROLES[role], shape, RETRANSMIT_COLOUR) for role, shape in SHAPES.items() if role in kinds]
    entries += [KeyEntry("SACK block", "stroke", SACK_COLOUR)] if "sack" in kinds else []
    return [*entries, KeyEntry("acknowledged", "line", theme.INK, width=1.1)]


def draw_loss_episodes(
    episodes: Sequence[Episode], names: Sequence[str], title: Sequence[str], subtitle: Sequence[str]
) -> alt.VConcatChart:
    """Return the chart of up to four episodes, one panel each with axes of its own; `names` are the panels' titles."""
    is_single = len(episodes) == 1
    panels = [
        _draw_panel(episode, name, place, is_single=is_single)
        for place, (episode, name) in enumerate(zip(episodes, names, strict=True))
    ]
    return keyed_panels.stack(title, subtitle, list_episode_key(episodes), keyed_panels.arrange(panels))


def _draw_panel(episode: Episode, name: str, place: int, *, is_single: bool) -> alt.LayerChart:
    marks = episode.marks
    x = keyed_panels.time_axis(
        "Time in the episode (ms)", "time_ms", (episode.shown_until_s - episode.start_s) * 1000, ticks=6
    )
    top: float = marks["to_kb"].max() or 1.0  # type: ignore[assignment]
    ticks = choose_ticks(top)

    def y(column: str) -> alt.Y:
        return keyed_panels.value_axis("Sequence number (kB)", column, ticks[-1], ticks, is_named=place % 2 == 0)

    resent = marks.filter(pl.col("kind").is_in(list(ROLES)))
    layers = [
        draw_segments(marks.filter(kind="sack"), SACK_COLOUR, 1.0, x, y("kb")),
        draw_segments(marks.filter(kind="data"), SENT_COLOUR, 1.6, x, y("kb")),
        _draw_acks(marks.filter(kind="ack"), x, y("to_kb")),
        draw_segments(resent, RETRANSMIT_COLOUR, 2.4, x, y("kb")),
        *[_draw_role(resent.filter(kind=role), SHAPES[role], x, y("middle_kb")) for role in ROLES],
    ]
    width = theme.PLOT_WIDTH_PX if is_single else keyed_panels.PAIR_WIDTH_PX
    height = SINGLE_HEIGHT_PX if is_single else PAIR_HEIGHT_PX
    return keyed_panels.size_panel(layers, width, height, name)


def _draw_acks(acks: pl.DataFrame, x: alt.X, y: alt.Y) -> alt.Chart:
    # An acknowledgement that arrives late says less than is known.
    highest = acks.select("time_ms", pl.col("to_kb").cum_max())
    marked = alt.Chart(highest).mark_line(interpolate="step-after", color=theme.INK, strokeWidth=1.1, clip=True)
    chart: alt.Chart = marked.encode(x=x, y=y)
    return chart


def _draw_role(resent: pl.DataFrame, shape: str, x: alt.X, y: alt.Y) -> alt.Chart:
    middles = resent.select("time_ms", middle_kb=((pl.col("from_kb") + pl.col("to_kb")) / 2).round(3))
    points = keyed_panels.mark_point(alt.Chart(middles), shape, RETRANSMIT_COLOUR, 42)
    chart: alt.Chart = points.encode(x=x, y=y)
    return chart
