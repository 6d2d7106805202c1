"""What surrounds the marks of the forest plot: its sizes, stripes of rows, ticks at the top, and legend."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from ccreport.compare.verdicts import NOT_REPRODUCED, PAIR_FACTOR, REPRODUCED, UNDECIDED
from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import CHARACTER_PX
from ccreport.figures.kit.text import NO_DATA, at_x, at_y, to_x, to_y, write

# Colour and shape of a verdict, on this page and in its strip of claims; each colour has 4.5:1 on white.
LOOKS: Final = {
    REPRODUCED: ("#1b6e3c", "circle"),
    NOT_REPRODUCED: ("#a3230b", "diamond"),
    UNDECIDED: ("#5b6472", "triangle-up"),
}
BAND: Final = "#c9d4e1"
BAND_PX: Final = 16.0
# Of the paper's intervals: lighter than its dots, and darker than the band.
PAPER_INTERVAL: Final = "#6b7280"
# Of marks in px², and how far they are below the middle of the row: own ones are larger, and neither hides the other.
PAPER_SIZE: Final = 30
OWN_SIZE: Final = 95
PAPER_OFFSET_PX: Final = -6.0
OWN_OFFSET_PX: Final = 0.5
NAME_STRIP_PX: Final = 16.0
LEGEND_ROW_PX: Final = 20
# Of ticks and directions above the plot.
TICKS_PX: Final = -9.0
TICK_PX: Final = 4.0
DIRECTIONS_PX: Final = -28.0
STRIPE_OPACITY: Final = 0.08
# Of the legend: its last line above the plot, and the room for the sign before each name.
ABOVE_PX: Final = 50.0
DOT_PX: Final = 18.0
BAR_PX: Final = 36.0
BAR_LENGTH_PX: Final = 28.0


@dataclass(frozen=True)
class Sign:
    """An entry of the legend: a bar of this thickness, a dot of this shape, or both, as of the paper."""

    name: str
    colour: str
    thickness: float = 0.0
    shape: str = ""

    @property
    def width(self) -> float:
        """Return the room before the name."""
        return BAR_PX if self.thickness else DOT_PX


SIGNS: Final = (
    Sign("the paper, with its 95 % interval", PAPER_INTERVAL, 1.0, "circle"),
    *(Sign(verdict, colour, shape=shape) for verdict, (colour, shape) in LOOKS.items()),
    Sign("95 % interval here", theme.INK, 3.0),
    Sign("95 % prediction interval for a repeat", theme.INK, 1.0),
    Sign(f"within a factor of {PAIR_FACTOR:g} of the paper", BAND, BAND_PX),
)


@dataclass(frozen=True)
class Layout:
    """Widths in px of the whole and of the names beside the plot, none where they are above it; height of a row.

    `text` is the size of text. A `compact` one has notes beside what they are on, and its axis above the plot only.
    """

    width: int
    names: int
    row: int
    text: float = theme.TEXT_PX
    compact: bool = False

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

    def scale(self, px: float) -> float:
        """Return a length in px that grows with the text."""
        return px * self.text / theme.TEXT_PX


WIDE: Final = Layout(width=820, names=325, row=20)
NARROW: Final = Layout(width=330, names=0, row=34)
# On a page of A4, beside the contents: so wide there its text has 7 pt.
PAPER: Final = Layout(width=1000, names=435, row=20, text=17.5, compact=True)


def draw_stripes(rows: pl.DataFrame, y: alt.Y, layout: Layout) -> alt.Chart:
    """Return a faint stripe below every other row of each table (table_name, top), from its name to the right end."""
    is_striped = pl.int_range(pl.len()).over("table_name") % 2 == 0
    stripes = rows.filter(is_striped).select(y="top", y_low=pl.col("top") + layout.row)
    mark = alt.Chart(stripes).mark_rect(color=theme.INK, opacity=STRIPE_OPACITY)
    chart: alt.Chart = mark.encode(x=at_x(-layout.names), x2=to_x(layout.plot), y=y, y2="y_low")
    return chart


def draw_top_ticks(ticks: Sequence[float], x: alt.X) -> alt.Chart:
    """Return short lines at the ticks above the plot, also at those without a number."""
    places = pl.DataFrame({"ratio": ticks}, schema={"ratio": pl.Float64})
    mark = alt.Chart(places).mark_rule(color=theme.DOMAIN, strokeWidth=1)
    chart: alt.Chart = mark.encode(x=x, y=at_y(-1), y2=to_y(TICK_PX))
    return chart


def write_top_ticks(ticks: Sequence[float], domain: tuple[float, float], layout: Layout) -> list[alt.Chart]:
    """Return the numbers of the axis above the plot, which is longer than a screen."""
    low, high = domain
    return [
        write(
            [f"{tick:g}"],
            (math.log(tick / low) / math.log(high / low) * layout.plot, layout.scale(TICKS_PX)),
            align="center",
        )
        for tick in ticks
    ]


def write_directions(algorithms: Sequence[str], layout: Layout) -> list[alt.Chart]:
    """Return which algorithm is faster at either side of the plot, and where no axis is below it, what is drawn."""
    y_px, right = layout.scale(DIRECTIONS_PX), float(layout.plot)
    title = [write([name_ratio(algorithms)], (right / 2, y_px), align="center")] if layout.compact else []
    return [
        write([f"← {algorithms[1]} faster"], (0.0, y_px), align="left", colour=theme.FAINT_INK),
        *title,
        write([f"{algorithms[0]} faster →"], (right, y_px), align="right", colour=theme.FAINT_INK),
    ]


def name_ratio(algorithms: Sequence[str]) -> str:
    """Return the title of the axis."""
    return f"{algorithms[0]}’s rate over {algorithms[1]}’s"


def draw_legend(layout: Layout) -> list[alt.Chart]:
    """Return the legend above the plot: dots, intervals and the band, as many in a line as there is room for."""
    rows: list[list[tuple[Sign, float]]] = [[]]
    x_px = 0.0
    for sign in SIGNS:
        width_px = sign.width + layout.scale(len(sign.name) * CHARACTER_PX + 22)
        if x_px and x_px + width_px > layout.width:
            x_px = 0.0
            rows.append([])
        rows[-1].append((sign, x_px - layout.names))
        x_px += width_px
    return [
        layer
        for place, entries in enumerate(reversed(rows))
        for sign, left in entries
        for layer in _draw_sign(sign, left, layout.scale(-ABOVE_PX - place * LEGEND_ROW_PX))
    ]


def _draw_sign(sign: Sign, left: float, y_px: float) -> Iterator[alt.Chart]:
    """Yield the bar, the dot in its middle or in its place, and the name."""
    middle = left + (BAR_LENGTH_PX / 2 if sign.thickness else 6)
    if sign.thickness:
        rule = alt.Chart(NO_DATA).mark_rule(color=sign.colour, strokeWidth=sign.thickness)
        yield rule.encode(x=at_x(left), x2=to_x(left + BAR_LENGTH_PX), y=at_y(y_px))
    if sign.shape:
        own = (sign.colour, sign.colour, OWN_SIZE)
        colour, fill, size = own if sign.name in LOOKS else (theme.INK, "white", PAPER_SIZE)
        dot = alt.Chart(NO_DATA).mark_point(shape=sign.shape, size=size, color=colour, fill=fill, opacity=1)
        yield dot.encode(x=at_x(middle), y=at_y(y_px))
    yield write([sign.name], (left + sign.width, y_px), align="left")
