"""Columns of captured connections: integers that may be absent, times in ns, quotients."""

from typing import Final

import polars as pl

from ccreport.ingest.captures.decode.layout import ABSENT, Ints

# By the number of the direction of a connection.
DIRECTIONS: Final = ("out", "in")


def optional(values: Ints) -> pl.Series:
    """Return integers with null for ABSENT."""
    return pl.Series(values).set(pl.Series(values == ABSENT), None)


def nanoseconds(values: Ints, unit: float) -> pl.Series:
    """Return times in ns as parts of a unit of so many ns, null for ABSENT."""
    return optional(values).cast(pl.Float64) / unit


def utc(values: Ints) -> pl.Series:
    """Return times in ns since 1970 to the microsecond; null where there is none, and 1970 where packets have none."""
    return pl.Series(values // 1000).set(pl.Series(values < 0), None).cast(pl.Datetime("us", "UTC"))


def divide(numerators: Ints, denominators: Ints) -> pl.Series:
    """Return quotients, null where the denominator is 0."""
    parts = pl.DataFrame({"n": numerators, "d": denominators})
    return parts.select(pl.when(pl.col("d") > 0).then(pl.col("n") / pl.col("d"))).to_series()
