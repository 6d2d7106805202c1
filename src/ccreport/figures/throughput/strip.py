"""The strip of retransmits at the foot of a plot of throughput over time, with an axis of its own."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import polars as pl

from ccreport.figures.kit import theme
from ccreport.figures.kit.text import write
from ccreport.figures.kit.ticks import round_up_step

# Of the strip, and between it and the lines.
STRIP_PX: Final = 60
STRIP_GAP_PX: Final = 34
# Of the middle of its name above its upper edge, on which markers of the largest count are.
NAME_PX: Final = 17.0
INTERVALS: Final = 3
# On a linear axis a count of this part of the largest is within a marker of 0.
LINEAR_AT_MOST: Final = 20
# Of a logarithmic axis, besides 0: more would touch.
DECADES_AT_MOST: Final = 4
# Most bins of a run for which markers of this area (px²) and stroke (px) stay apart; then the smallest.
MARKERS: Final = ((70, 30, 1.4), (200, 16, 1.2), (math.inf, 9, 1.0))


@dataclass(frozen=True)
class CountAxis:
    """Ticks from 0 to the end of the axis of retransmits, which may be symmetric-logarithmic."""

    ticks: Sequence[float]
    is_log: bool = False

    def scale(self, bottom_px: int) -> alt.Scale:
        """Return the scale of a strip with this lower edge."""
        domain, place = [0, self.ticks[-1]], [bottom_px, bottom_px - STRIP_PX]
        if self.is_log:
            return alt.Scale(type="symlog", constant=1, domain=domain, nice=False, range=place)
        return alt.Scale(domain=domain, nice=False, range=place)


def fit_count_axis(panels: Sequence[pl.DataFrame]) -> CountAxis | None:
    """Return the axis that holds the counts of all panels (retransmits_count); None where all are 0.

    It is logarithmic where the largest count of a panel is more than 20 times the median of its counts above 0.
    """
    counts = [points.filter(pl.col("retransmits_count") > 0)["retransmits_count"] for points in panels]
    top = max((float(own.max()) for own in counts if own.len()), default=0.0)  # type: ignore[arg-type]
    if not top:
        return None
    if any(own.len() and own.max() > LINEAR_AT_MOST * own.median() for own in counts):  # type: ignore[operator]
        last = max(1, math.ceil(math.log10(top)))
        powers = range(last, 0, -math.ceil(last / DECADES_AT_MOST))
        return CountAxis([0.0, *(10.0**power for power in reversed(powers))], is_log=True)
    step = round_up_step(top / INTERVALS, smallest=1.0)
    return CountAxis([number * step for number in range(math.ceil(top / step) + 1)])


def draw_strip(
    points: pl.DataFrame, axis: CountAxis, name: str, bottom_px: int, encoding: Mapping[str, Any]
) -> list[alt.Chart]:
    """Return the counts above 0 of a panel (cc, time_s, retransmits_count), and the name of their strip above it.

    `encoding` has the time axis, colours and shapes. Without such counts the strip says so.
    """
    counted = points.filter(pl.col("retransmits_count") > 0).select("cc", "time_s", "retransmits_count")
    place = (0.0, float(bottom_px - STRIP_PX - NAME_PX))
    if counted.is_empty():
        said = "no retransmits recorded" if points.is_empty() else "no retransmits"
        middle = (theme.PLOT_WIDTH_PX / 2, bottom_px - STRIP_PX / 2)
        return [write([name], place, align="left"), write([said], middle, align="center", colour=theme.FAINT_INK)]
    size, stroke = next((area, width) for bins, area, width in MARKERS if counted["time_s"].n_unique() <= bins)
    count = alt.Y(
        "retransmits_count:Q",
        scale=axis.scale(bottom_px),
        axis=alt.Axis(title=None, orient="left", values=list(axis.ticks), format=",d", labelOverlap=False),
    )
    # Hollow, so that two algorithms with the same count are both seen.
    mark = alt.Chart(counted).mark_point(size=size, strokeWidth=stroke, opacity=0.9)
    title = f"{name} (log scale)" if axis.is_log else name
    return [mark.encode(y=count, **encoding), write([title], place, align="left")]
