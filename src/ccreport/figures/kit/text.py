"""What surrounds the data of a figure: texts at fixed places, the legend above the plot and the notes below it."""

import re
from collections.abc import Callable, Iterable, Sequence
from textwrap import wrap
from typing import Any, Final, Literal

import altair as alt

from ccreport.figures.kit import theme
from ccreport.figures.kit.label_placement import Point
from ccreport.figures.kit.text_colours import find_text_colour
from ccreport.figures.kit.text_lengths import measure_text

LEGEND_ROW_PX: Final = 21
LEGEND_LINE_PX: Final = 30
LEGEND_MARKER_PX: Final = 42
LEGEND_TEXT_PX: Final = 56
BAND_LEGEND_PX: Final = 460
# Between the longest text and the band, at least.
BAND_GAP_PX: Final = 8.0
NOTES_BELOW_PX: Final = 31
# Beside "Time since the start of the test (s)".
NOTE_LETTERS: Final = 70
LINE_HEIGHT_PX: Final = 17
# 13 ms · 0.02 %
BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=[A-Za-z%])")
NO_BREAK_SPACE: Final = "\N{NO-BREAK SPACE}"

# A place in px, or the further end of what stretches from one. Not `alt.value`, which makes a dictionary: for each,
# Altair makes a list of all its classes, in which it looks for the one that is meant.
at_x: Final[Callable[[float], Any]] = alt.XValue
to_x: Final[Callable[[float], Any]] = alt.X2Value
at_y: Final[Callable[[float], Any]] = alt.YValue
to_y: Final[Callable[[float], Any]] = alt.Y2Value

# One row without content: a mark at fixed places is drawn once.
NO_DATA: Final[dict[str, list[dict[str, float]]]] = {"values": [{}]}


def write(
    lines: Sequence[str],
    place: Point,
    *,
    align: Literal["left", "center", "right"],
    baseline: Literal["top", "middle"] = "middle",
    weight: Literal["normal", "bold"] = "normal",
    colour: str = theme.INK,
) -> alt.Chart:
    """Return a text at a place in px of the plot area, which may be outside it, in a colour as dark as text needs."""
    mark = alt.Chart(NO_DATA).mark_text(
        text=list(lines),
        align=align,
        baseline=baseline,
        fontWeight=weight,
        color=find_text_colour(colour),
        lineHeight=LINE_HEIGHT_PX,
    )
    chart: alt.Chart = mark.encode(x=at_x(round(place[0], 1)), y=at_y(round(place[1], 1)))
    return chart


def wrap_text(text: str, letters: int) -> list[str]:
    """Return a text in lines of at most so many letters; a number stays with its unit."""
    lines = wrap(BEFORE_UNIT.sub(NO_BREAK_SPACE, text), letters, break_on_hyphens=False)
    return [line.replace(NO_BREAK_SPACE, " ") for line in lines]


def draw_legend_entry(cc: str, entry: str, row: int, rows: int, *, has_points: bool) -> list[alt.Chart]:
    """Return one algorithm's row of the legend above the plot: its line, its marker and the text."""
    style = theme.style_of(cc)
    y_px = _legend_row_px(row, rows)
    line = alt.Chart(NO_DATA).mark_rule(color=style.colour, strokeWidth=2, strokeDash=list(style.dash))
    layers: list[alt.Chart] = [line.encode(x=at_x(0), x2=to_x(LEGEND_LINE_PX), y=at_y(y_px))]
    if has_points:
        marker = alt.Chart(NO_DATA).mark_point(
            size=50, strokeWidth=1.5, opacity=0.9, color=style.colour, shape=style.marker
        )
        layers.append(marker.encode(x=at_x(LEGEND_MARKER_PX), y=at_y(y_px)))
    return [*layers, write([entry], (_legend_text_px(has_points=has_points), y_px), align="left")]


def _legend_text_px(*, has_points: bool) -> float:
    return LEGEND_TEXT_PX if has_points else LEGEND_MARKER_PX - 2


def find_band_px(entries: Iterable[str], *, has_points: bool) -> float:
    """Return where the band's entry begins in a legend of these texts: behind the longest, if they are long."""
    widths = [measure_text(entry, theme.TEXT_PX, is_bold=False) or 0.0 for entry in entries]
    return max(BAND_LEGEND_PX, _legend_text_px(has_points=has_points) + max(widths, default=0.0) + BAND_GAP_PX)


def draw_band_entry(
    lines: Sequence[str], rows: int, opacity: float, x_px: float = BAND_LEGEND_PX, *, is_line: bool
) -> list[alt.Chart]:
    """Return what the band means, at the right of the legend's first rows; a band of one iteration is a line."""
    y_px = _legend_row_px(0, rows)
    half_px = 0.8 if is_line else 6.0
    swatch: alt.Chart = (
        alt.Chart(NO_DATA)
        .mark_rect(color=theme.INK, opacity=2 * opacity if is_line else opacity)
        .encode(
            x=at_x(x_px),
            x2=to_x(x_px + 24),
            y=at_y(y_px - half_px),
            y2=to_y(y_px + half_px),
        )
    )
    texts = [write([line], (x_px + 32, _legend_row_px(row, rows)), align="left") for row, line in enumerate(lines)]
    return [swatch, *texts]


def _legend_row_px(row: int, rows: int) -> float:
    return 2.0 + LEGEND_ROW_PX * (row - rows)


def draw_notes(notes: Sequence[str], height_px: int = theme.PLOT_HEIGHT_PX) -> list[alt.Chart]:
    """Return the notes in the lower right corner, under the time axis, where they cover neither data nor its title."""
    place = (float(theme.PLOT_WIDTH_PX), float(height_px + NOTES_BELOW_PX))
    lines = [line for note in notes for line in wrap_text(note, NOTE_LETTERS)]
    return [write(lines, place, align="right", baseline="top")] if lines else []
