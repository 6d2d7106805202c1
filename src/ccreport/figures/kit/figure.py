"""A figure before it is written to files: what every kind's builder returns."""

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt
import polars as pl

from ccreport.core.text import count_things


@dataclass(frozen=True)
class Figure:
    """A chart, the data that it draws as one table, caption and text alternative, both plain text.

    The caption is a line of two sentences, where needed with a second line of details; the alternative is one line.
    """

    chart: alt.TopLevelMixin
    data: pl.DataFrame
    caption: str
    alternative: str


def deny(count: int, verb: str = "match") -> str:
    """Return the beginning of a sentence that denies something of runs that match: "Of 2 runs that match, none"."""
    ending = "es" if verb.endswith("ch") else "s"
    return f"Of {count_things(count, 'run')} that {verb}{ending if count == 1 else ''}, none"


def stack_parts(parts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of all parts of a drawing below each other; `drawn_as` names the part, such as line or band."""
    named = [frame.select(pl.lit(name).alias("drawn_as"), pl.all()) for name, frame in parts.items()]
    return pl.concat(named, how="diagonal_relaxed")
