"""The vertical axis of values: from 0, or logarithmic where means are so far apart that the least would lie on it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import altair as alt
import polars as pl

from ccreport.figures.kit.ticks import MARK_ROOM, choose_ticks

# Means of which the greatest is more than so many times the least.
FAR_APART: Final = 20.0
# A logarithmic axis goes down to ends of intervals that are at most so many times below the least mean.
FAR_BELOW: Final = 10.0
# A logarithmic axis with more ticks than this has those at powers of ten only.
TICKS_AT_MOST: Final = 12
# Above its last tick a logarithmic axis goes on by this part of its length, so that a mark at the tick is whole.
LOG_ROOM: Final = 0.03


@dataclass(frozen=True)
class ValueAxis:
    """The vertical axis of a plot: its title, ticks from 0, and how its numbers are written (d3-format).

    A logarithmic one begins at its first tick and ends above its last.
    """

    title: str
    ticks: Sequence[float]
    format: str = ""
    is_log: bool = False

    @property
    def least(self) -> float:
        """Return the value at the lower end."""
        return self.ticks[0] if self.is_log else 0

    @property
    def most(self) -> float:
        """Return the value at the upper end."""
        last = self.ticks[-1]
        return float(f"{last * (last / self.least) ** LOG_ROOM:.4g}") if self.is_log else last

    @property
    def scale(self) -> alt.Scale:
        """Return the scale, from the lower end to the upper one."""
        kind: Literal["log", "linear"] = "log" if self.is_log else "linear"
        return alt.Scale(type=kind, domain=[self.least, self.most], nice=False)

    def part(self, value: float) -> float:
        """Return how far up the axis a value is, 0 to 1."""
        if self.is_log:
            return math.log(max(value, self.least) / self.least) / math.log(self.most / self.least)
        return value / self.most


def fit_value_axis(
    title: str, means: pl.Series, tops: Sequence[float], lows: pl.Series | None = None, least: float | None = None
) -> ValueAxis:
    """Return an axis that holds means, and the tops of what else is drawn; it is not logarithmic where a value is 0.

    A logarithmic one holds also the lower ends of intervals, `lows`, that are not far below the least mean, and the
    least of single values, if any are drawn.
    """
    known = means.drop_nulls().sort()
    top = max([*known[-1:], *tops, 0.0])
    values = [*known[:1], *([] if least is None else [least])]
    if not known.len() or min(values) <= 0 or known[-1] <= FAR_APART * known[0]:
        return ValueAxis(title, choose_ticks(MARK_ROOM * top or 1.0))
    ends = pl.Series([], dtype=pl.Float64) if lows is None else lows.filter(lows >= known[0] / FAR_BELOW)
    return lay_log_axis(title, min([*values, *ends]), top)


def lay_log_axis(title: str, least: float, most: float) -> ValueAxis:
    """Return a logarithmic axis that begins below a value above 0 and ends above another, with ticks at 1, 2 and 5."""
    low, high = least / MARK_ROOM, most * MARK_ROOM
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    first, last = max(tick for tick in ticks if tick <= low), min(tick for tick in ticks if tick >= high)
    between = [tick for tick in ticks if first <= tick <= last]
    if len(between) > TICKS_AT_MOST:
        between = [10.0**power for power in powers]
    return ValueAxis(f"{title}, log scale", between, ",~r", is_log=True)
