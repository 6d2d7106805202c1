"""Boxes and lines: senders on the left, what is between them in the middle, destinations on the right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt

from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import CHARACTER_PX, shorten
from ccreport.figures.kit.label_placement import Point
from ccreport.figures.kit.text import LINE_HEIGHT_PX, NO_DATA, at_x, at_y, to_x, to_y, wrap_text, write

WIDTH_PX: Final = 780
# Left edge and width of the columns.
SENDER: Final = (0, 220)
PATH: Final = (262, 236)
DESTINATION: Final = (540, 240)
PADDING_PX: Final = 8
GAP_PX: Final = 8
LANE_GAP_PX: Final = 16
FILL: Final = "#f4f4f4"
PATH_FILL: Final = "#e8eef7"


@dataclass(frozen=True)
class Box:
    """A box: its name, in bold, and lines below it."""

    name: str
    lines: Sequence[str]

    @property
    def height_px(self) -> int:
        """Return the height that its text needs."""
        return 2 * PADDING_PX + LINE_HEIGHT_PX * (1 + len(self.lines)) - 3


@dataclass(frozen=True)
class Lane:
    """One sender, what its packets pass, and where they go."""

    sender: Box
    path: Box
    destinations: Sequence[Box]

    @property
    def height_px(self) -> int:
        """Return the height of its highest column."""
        stacked = sum(box.height_px for box in self.destinations) + GAP_PX * (len(self.destinations) - 1)
        return max(self.sender.height_px, self.path.height_px, stacked)


def draw_topology(title: str, lanes: Sequence[Lane]) -> alt.LayerChart:
    """Return the drawing, a lane for each sender, one below the other."""
    layers: list[alt.Chart] = []
    top = 0
    for lane in lanes:
        layers += _draw_lane(_wrap_lane(lane), top)
        top += _wrap_lane(lane).height_px + LANE_GAP_PX
    heading = alt.TitleParams([title], offset=14, limit=WIDTH_PX)
    return alt.LayerChart(layer=layers, width=WIDTH_PX, height=top - LANE_GAP_PX, title=heading)


def _wrap_lane(lane: Lane) -> Lane:
    return Lane(
        _wrap(lane.sender, SENDER[1]),
        _wrap(lane.path, PATH[1]),
        [_wrap(box, DESTINATION[1]) for box in lane.destinations],
    )


def _wrap(box: Box, width_px: int) -> Box:
    """Return a box whose lines fit: broken after a comma, else at a space, else within a word."""
    room_px = width_px - 2 * PADDING_PX
    lines: list[str] = []
    for line in box.lines:
        lines.append("")
        for part in line.split(", "):
            joined = f"{lines[-1]}, {part}" if lines[-1] else part
            if not lines[-1] or (len(joined) + 1) * CHARACTER_PX <= room_px:
                lines[-1] = joined
            else:
                lines[-1] += ","
                lines.append(part)
    letters = int(room_px / CHARACTER_PX)
    broken = [part for line in lines for part in wrap_text(line, letters)]
    # A bold letter is wider.
    return Box(shorten(box.name, 0.93 * room_px), broken)


def _draw_lane(lane: Lane, top: int) -> list[alt.Chart]:
    middle = top + lane.height_px / 2
    layers = [
        *_connect((SENDER[0] + SENDER[1], middle), (PATH[0], middle)),
        *_draw_box(lane.sender, SENDER, middle - lane.sender.height_px / 2, FILL),
        *_draw_box(lane.path, PATH, middle - lane.path.height_px / 2, PATH_FILL),
    ]
    stacked = sum(box.height_px for box in lane.destinations) + GAP_PX * (len(lane.destinations) - 1)
    y = middle - stacked / 2
    bus = (PATH[0] + PATH[1] + DESTINATION[0]) / 2
    layers += _connect((PATH[0] + PATH[1], middle), (bus, middle))
    ends = []
    for box in lane.destinations:
        ends.append(y + box.height_px / 2)
        layers += _connect((bus, ends[-1]), (DESTINATION[0], ends[-1]))
        layers += _draw_box(box, DESTINATION, y, FILL)
        y += box.height_px + GAP_PX
    return [*_connect((bus, min(ends)), (bus, max(ends))), *layers]


def _connect(start: Point, end: Point) -> list[alt.Chart]:
    line = alt.Chart(NO_DATA).mark_rule(color=theme.FAINT_INK, strokeWidth=1.6)
    return [_stretch(line, start, end)]


def _stretch(mark: alt.Chart, start: Point, end: Point) -> alt.Chart:
    """Return a mark from one place to another, both in px."""
    chart: alt.Chart = mark.encode(
        x=at_x(round(start[0], 1)),
        y=at_y(round(start[1], 1)),
        x2=to_x(round(end[0], 1)),
        y2=to_y(round(end[1], 1)),
    )
    return chart


def _draw_box(box: Box, column: tuple[int, int], top: float, fill: str) -> list[alt.Chart]:
    left, width = column
    rect = alt.Chart(NO_DATA).mark_rect(fill=fill, stroke=theme.DOMAIN, strokeWidth=1, cornerRadius=3)
    first = top + PADDING_PX
    layers: list[alt.Chart] = [
        _stretch(rect, (left, top), (left + width, top + box.height_px)),
        write([box.name], (left + PADDING_PX, first), align="left", baseline="top", weight="bold"),
    ]
    if box.lines:
        place = (float(left + PADDING_PX), first + LINE_HEIGHT_PX)
        layers.append(write(box.lines, place, align="left", baseline="top", colour=theme.FAINT_INK))
    return layers
