"""A logarithmic axis of shares in %: its decades, and a place of its own for 0, which no logarithm has."""

import math
from dataclasses import dataclass

import altair as alt
import polars as pl


@dataclass(frozen=True)
class LogAxis:
    """An axis from 10^least to 10^most; what is less is drawn at the lower end, and 0 one decade below it."""

    least: int
    most: int
    has_zero: bool = False
    has_less: bool = False

    @property
    def bottom(self) -> int:
        """Return the power of ten at the lower end of the scale."""
        return self.least - self.has_zero

    @property
    def scale(self) -> alt.Scale:
        """Return the scale."""
        return alt.Scale(type="log", domain=[10.0**self.bottom, 10.0**self.most], nice=False)

    def draw(self, title: str) -> alt.Axis:
        """Return the axis with a tick at each decade."""
        decades = [10.0**power for power in range(self.bottom, self.most + 1)]
        least = 10.0**self.least
        label = f"datum.value < {2 * least:g} ? '≤ ' + datum.label : datum.label" if self.has_less else "datum.label"
        if self.has_zero:
            label = f"datum.value < {least / 2:g} ? '0' : {label}"
        return alt.Axis(title=title, values=decades, format="~r", grid=True, labelExpr=label)

    def place(self, value: pl.Expr, mean: pl.Expr) -> pl.Expr:
        """Return where a mean or an end of its interval is drawn."""
        return pl.when(mean > 0).then(value.clip(10.0**self.least)).when(value.is_not_null()).then(10.0**self.bottom)

    def part(self, placed: float) -> float:
        """Return how far along the axis a value is that `place` returned, 0 to 1."""
        return (math.log10(placed) - self.bottom) / (self.most - self.bottom)


def fit_log_axis(means: pl.Series, tops: pl.Series, least: int | None = None) -> LogAxis:
    """Return the axis of means and of the tops of their intervals (null where unknown), at least one decade long.

    It begins at 10^least, else below the least mean above 0.
    """
    positive = means.filter(means > 0)
    if least is None:
        least = math.floor(math.log10(positive.sort()[0])) if positive.len() else -1
    top = max([*positive, *tops.drop_nulls().filter(tops.drop_nulls() > 0)], default=0.0)
    most = max(math.ceil(math.log10(top)) if top else 0, least + 1)
    return LogAxis(least, most, positive.len() < means.len(), bool((positive < 10.0**least).any()))
