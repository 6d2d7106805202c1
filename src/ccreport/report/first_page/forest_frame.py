"""What surrounds the marks of the forest plot: its sizes, stripes of rows, ticks at the top, and legend."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.compare.verdicts import NOT_REPRODUCED, PAIR_FACTOR, REPRODUCED, UNDECIDED
from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import CHARACTER_PX
from ccreport.figures.kit.text import NO_DATA, at_x, at_y, to_x, write

# Colour and shape of a verdict, on this page and in its strip of claims; each colour has 4.5:1 on white.
LOOKS: Final = {
    REPRODUCED: ("#1b6e3c", "circle"),
    NOT_REPRODUCED: ("#a3230b", "diamond"),
    UNDECIDED: ("#5b6472", "triangle-up"),
}
BAND: Final = "#c9d4e1"
BAND_PX: Final = 16.0
# Of marks in px², and how far they are below the middle of the row: own ones are larger, and neither hides the other.
PAPER_SIZE: Final = 30
OWN_SIZE: Final = 95
PAPER_OFFSET_PX: Final = -6.0
OWN_OFFSET_PX: Final = 0.5
NAME_STRIP_PX: Final = 16.0
LEGEND_ROW_PX: Final = 20
# Of ticks and directions above the plot.
TICKS_PX: Final = -9.0
DIRECTIONS_PX: Final = -28.0
STRIPE_OPACITY: Final = 0.08
# Of the legend: its last line above the plot, and the room for the sign before each name.
ABOVE_PX: Final = 50.0
DOT_PX: Final = 18.0
BAR_PX: Final = 36.0


@dataclass(frozen=True)
class Layout:
    """Widths in px of the whole and of the names beside the plot, none where they are above it; height of a row."""

    width: int
    names: int
    row: int

    @property
    def plot(self) -> int:
        """Return the width of the plot."""
        return self.width - self.names

    @property
    def strip(self) -> float:
        """Return the height of what a row holds above its marks: its name, where that is not beside the plot."""
        return 0.0 if self.names else NAME_STRIP_PX

    @property
    def mark(self) -> float:
        """Return how far below the upper edge of its row a mark is: nearer to the name above it than to the next."""
        return self.strip + BAND_PX / 2 if self.strip else self.row / 2


WIDE: Final = Layout(width=820, names=325, row=20)
NARROW: Final = Layout(width=330, names=0, row=34)


def draw_stripes(rows: pl.DataFrame, y: alt.Y, layout: Layout) -> alt.Chart:
    """Return a faint stripe below every other row of each table (table_name, top), from its name to the right end."""
    is_striped = pl.int_range(pl.len()).over("table_name") % 2 == 0
    stripes = rows.filter(is_striped).select(y="top", y_low=pl.col("top") + layout.row)
    mark = alt.Chart(stripes).mark_rect(color=theme.INK, opacity=STRIPE_OPACITY)
    chart: alt.Chart = mark.encode(x=at_x(-layout.names), x2=to_x(layout.plot), y=y, y2="y_low")
    return chart


def write_top_ticks(ticks: Sequence[float], domain: tuple[float, float], layout: Layout) -> list[alt.Chart]:
    """Return the numbers of the axis above the plot, which is longer than a screen."""
    low, high = domain
    return [
        write([f"{tick:g}"], (math.log(tick / low) / math.log(high / low) * layout.plot, TICKS_PX), align="center")
        for tick in ticks
    ]


def write_directions(algorithms: Sequence[str], layout: Layout) -> list[alt.Chart]:
    """Return which algorithm is faster at either side of the plot."""
    return [
        write([f"← {algorithms[1]} faster"], (0.0, DIRECTIONS_PX), align="left", colour=theme.FAINT_INK),
        write(
            [f"{algorithms[0]} faster →"], (float(layout.plot), DIRECTIONS_PX), align="right", colour=theme.FAINT_INK
        ),
    ]


def draw_legend(layout: Layout) -> list[alt.Chart]:
    """Return the legend above the plot: dots, intervals and the band, as many in a line as there is room for."""
    dots = {"the paper": (theme.INK, "circle"), **LOOKS}
    bars = {
        "95 % interval": (theme.INK, 3.0),
        "95 % prediction interval for a repeat": (theme.INK, 1.0),
        f"within a factor of {PAIR_FACTOR:g} of the paper": (BAND, BAND_PX),
    }
    rows: list[list[tuple[str, float]]] = [[]]
    x_px = 0.0
    for name in (*dots, *bars):
        width_px = (DOT_PX if name in dots else BAR_PX) + len(name) * CHARACTER_PX + 22
        if x_px and x_px + width_px > layout.width:
            x_px = 0.0
            rows.append([])
        rows[-1].append((name, x_px - layout.names))
        x_px += width_px
    layers: list[alt.Chart] = []
    for place, entries in enumerate(reversed(rows)):
        y_px = -ABOVE_PX - place * LEGEND_ROW_PX
        for name, left in entries:
            mark, size = (
                (_draw_dot(left, y_px, *dots[name], is_filled=name in LOOKS), DOT_PX)
                if name in dots
                else (_draw_bar(left, y_px, *bars[name]), BAR_PX)
            )
            layers += [mark, write([name], (left + size, y_px), align="left")]
    return layers


def _draw_dot(left: float, y_px: float, colour: str, shape: str, *, is_filled: bool) -> alt.Chart:
    fill = colour if is_filled else "white"
    size = OWN_SIZE if is_filled else PAPER_SIZE
    mark = alt.Chart(NO_DATA).mark_point(shape=shape, size=size, color=colour, fill=fill, opacity=1)
    chart: alt.Chart = mark.encode(x=at_x(left + 6), y=at_y(y_px))
    return chart


def _draw_bar(left: float, y_px: float, colour: str, thickness: float) -> alt.Chart:
    rule = alt.Chart(NO_DATA).mark_rule(color=colour, strokeWidth=thickness)
    chart: alt.Chart = rule.encode(x=at_x(left), x2=to_x(left + 28), y=at_y(y_px))
    return chart
