"""The horizontal axis of figures over conditions: where values are, and their labels, which are plain text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import altair as alt

from ccreport.figures.kit.text import LINE_HEIGHT_PX, write

# Of a text of usual letters, its width by its length.
CHARACTER_PX: Final = 6.6
TICK_LABEL_PX: Final = 8
AXIS_TITLE_PX: Final = 12
LABEL_GAP_PX: Final = 5.0
# Places nearer to each other than this part of the axis are one.
LEAST_GAP: Final = 0.01
# The width of a mean's symbol.
SYMBOL_PX: Final = 9.0


@dataclass(frozen=True)
class Position:
    """The horizontal axis: its title, the ends of its scale, and ticks as (position, label); labels may have lines."""

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]


def draw_ticks(position: Position, width: int, height: int) -> list[alt.Chart]:
    """Return the labels of the ticks under the axis, as many as fit without touching, and the title of the axis."""
    per_px = (position.high - position.low) / width
    layers: list[alt.Chart] = []
    free_from = -math.inf
    for at, label in position.ticks:
        x_px = (at - position.low) / per_px
        half_px = max(len(line) for line in label.split("\n")) * CHARACTER_PX / 2
        if x_px - half_px >= free_from:
            place = (x_px, float(height + TICK_LABEL_PX))
            layers.append(write(label.split("\n"), place, align="center", baseline="top"))
            free_from = x_px + half_px + LABEL_GAP_PX
    lines = max((label.count("\n") + 1 for _, label in position.ticks), default=1)
    below = float(height + TICK_LABEL_PX + lines * LINE_HEIGHT_PX + AXIS_TITLE_PX)
    return [*layers, write([shorten(position.title, width)], (width / 2, below), align="center")]


def shorten(text: str, width_px: float) -> str:
    """Return the text, or its beginning with an ellipsis where it is wider than the room for it."""
    room = int(width_px / CHARACTER_PX)
    return text if len(text) <= room else text[: max(room - 1, 1)] + "…"


def choose_offset(places: Sequence[float], position: Position, width: int, series_count: int) -> float:
    """Return by how many pixels series are set apart: the width of a symbol, or what two neighbouring places leave.

    Between two places is twice as much, so that it shows which symbols belong together. Places that are hardly apart
    count as one.
    """
    least = LEAST_GAP * (position.high - position.low)
    gaps = [after - before for before, after in pairwise(sorted(set(places))) if after - before > least]
    per_px = (position.high - position.low) / width
    return min([SYMBOL_PX, *(gap / per_px / (series_count + 1) for gap in gaps)])
