"""A figure before it is written to files: what every kind's builder returns."""

from dataclasses import dataclass

import altair as alt
import polars as pl


@dataclass(frozen=True)
class Figure:
    """A chart, the data that it draws as one table, caption and text alternative (plain text, one line each)."""

    chart: alt.TopLevelMixin
    data: pl.DataFrame
    caption: str
    alternative: str
