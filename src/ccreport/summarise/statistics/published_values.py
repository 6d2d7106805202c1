"""What the published table `published_values` has beyond its query: predictions of the published numbers, and verdicts.

A publication prints a number of so many runs, often one. Runs that vary as this archive's would give a number in the
prediction interval (W. Q. Meeker, G. J. Hahn, L. A. Escobar, Statistical Intervals, 2017, 4.8: of the mean of m
further observations), by Student's t on the logarithm, as the interval of the mean is.
"""

import math
from typing import Any, Final, NamedTuple

import polars as pl

CONSISTENT: Final = "consistent"
INCONSISTENT: Final = "inconsistent"
UNDECIDED: Final = "undecided"
MISSING: Final = "missing here"
# What the query has for this module alone.
INPUTS: Final = ("df", "within_factor")


class Interval(NamedTuple):
    """The two ends of an interval, which may be infinite."""

    low: float
    high: float


def add_published_verdicts(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the query with value_ratio, predicted_low, predicted_high and published_verdict."""
    found = [_compare(row) for row in cells.iter_rows(named=True)]
    schema = dict.fromkeys(("value_ratio", "predicted_low", "predicted_high"), pl.Float64)
    return cells.drop(INPUTS).hstack(pl.DataFrame(found, schema={**schema, "published_verdict": pl.String}))


def _compare(row: dict[str, Any]) -> dict[str, float | str | None]:
    value, published = row["found_mean"], row["published_value"]
    if value is None:
        return {"published_verdict": MISSING}
    known = {"value_ratio": value / published if published else None}
    predicted = predict(value, row["found_mean_high"], row["runs_count"], row["published_runs_count"])
    if predicted is None:
        return {**known, "published_verdict": UNDECIDED}
    ends = zip((row["published_low"], row["published_high"]), (-math.inf, math.inf), strict=True)
    printed = Interval(*(end if stated is None else stated for stated, end in ends))
    verdict = judge(predicted, printed, row["within_factor"])
    return {**known, "predicted_low": predicted.low, "predicted_high": predicted.high, "published_verdict": verdict}


def predict(value: float, high: float | None, runs: int, published_runs: int) -> Interval | None:
    """Return where the mean of so many further runs is with 95 %; `high` is the upper end of the interval of the mean.

    None where the mean has no interval. Where nothing was counted in any run, the interval is that of the mean.
    """
    if high is None:
        return None
    if value <= 0:
        return Interval(0.0, high)
    factor = (high / value) ** math.sqrt(1 + runs / published_runs)
    return Interval(value / factor, value * factor)


def judge(predicted: Interval, printed: Interval, within_factor: float) -> str:
    """Return whether a printed number is what runs as these would give; `printed` is all that it stands for.

    Inconsistent where the two intervals do not meet. Consistent where they do, and the prediction reaches no further
    than by `within_factor` from its middle, or not beyond the printed number; a wider one tells nothing.
    """
    if predicted.low > printed.high or predicted.high < printed.low:
        return INCONSISTENT
    is_inside = printed.low <= predicted.low and predicted.high <= printed.high
    is_narrow = predicted.low > 0 and math.sqrt(predicted.high / predicted.low) <= within_factor
    return CONSISTENT if is_inside or is_narrow else UNDECIDED
