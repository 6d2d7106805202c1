"""A figure before it is written to files: what every kind's builder returns."""

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt
import polars as pl


@dataclass(frozen=True)
class Figure:
    """A chart, the data that it draws as one table, caption and text alternative, both plain text.

    The caption is a line of two sentences, where needed with a second line of details; the alternative is one line.
    """

    chart: alt.TopLevelMixin
    data: pl.DataFrame
    caption: str
    alternative: str


def stack_parts(parts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of all parts of a drawing below each other; `drawn_as` names the part, such as line or band."""
    named = [frame.select(pl.lit(name).alias("drawn_as"), pl.all()) for name, frame in parts.items()]
    return pl.concat(named, how="diagonal_relaxed")
