"""Intervals of what checks of claims measure: all of one claim hold at once, and extremes over cells have their own.

A query gives 95 % intervals. Where several numbers decide together, each gets the level at which all hold with 95 %
(Bonferroni), so that a claim of many checks, or an extreme over many cells, is not decided by the luckiest one.
"""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import scipy

from ccreport.compare.verdicts import LEVEL, RUNS_AT_MOST

# How rows of a query, one for each cell, become the one value of a check.
LEAST: Final = "least"
GREATEST: Final = "greatest"
# The greatest over the least.
RANGE: Final = "range"


@dataclass(frozen=True)
class Measured:
    """A value with its interval, the runs behind it, and the degrees of freedom of its error; None where not known."""

    value: float | None
    low: float | None = None
    high: float | None = None
    runs: int = 0
    df: float | None = None


def widen(measured: Measured, comparisons: int) -> Measured:
    """Return a 95 % interval at the level at which all of so many together hold with 95 %.

    The distance of each end, on the logarithm where the interval is one of a factor, grows as the quantiles of
    Student's t do; of a ratio of which nothing was counted as Poisson's limit does.
    """
    value, low, high = measured.value, measured.low, measured.high
    if comparisons <= 1 or value is None or low is None or high is None:
        return measured
    tail = (1 - LEVEL) / 2
    if value == 0 == low:
        return replace(measured, high=high * math.log(tail / comparisons) / math.log(tail))
    levels = (1 - tail / comparisons, 1 - tail)
    ends = scipy.special.ndtri(levels) if measured.df is None else scipy.special.stdtrit(measured.df, levels)
    return _stretch(measured, float(ends[0] / ends[1]))


def _stretch(measured: Measured, factor: float) -> Measured:
    """Return the interval with its ends so many times as far from the value."""
    value, low, high = measured.value, measured.low, measured.high
    if value is None or low is None or high is None:
        return measured
    # That of a mean which may be negative has its value in the middle; one of a factor has not.
    if low > 0 and not math.isclose(low + high, 2 * value, rel_tol=1e-9):
        return replace(measured, low=value * (low / value) ** factor, high=value * (high / value) ** factor)
    return replace(measured, low=value - (value - low) * factor, high=value + (high - value) * factor)


def find_extreme(cells: Sequence[Measured], extreme: str, comparisons: int = 1) -> Measured:
    """Return the extreme over cells, with the interval of the true one, whichever cell that is.

    The cells' intervals hold at once, so the true least is at most the least of their upper ends and at least the least
    of their lower ends; alike for the greatest, and for the greatest over the least, which needs two cells.
    """
    known = [widen(cell, comparisons * len(cells)) for cell in cells if cell.value is not None]
    runs = min((cell.runs for cell in cells), default=0)
    if not known or (extreme == RANGE and len(known) < 2):
        return Measured(None, runs=runs)
    values = [cell.value for cell in known if cell.value is not None]
    lows = [cell.low for cell in known if cell.low is not None]
    highs = [cell.high for cell in known if cell.high is not None]
    has_ends = len(lows) == len(highs) == len(known)
    if extreme != RANGE:
        choose = min if extreme == LEAST else max
        found = Measured(choose(values), runs=runs)
        return replace(found, low=choose(lows), high=choose(highs)) if has_ends else found
    if min(values) <= 0:
        return Measured(None, runs=runs)
    found = Measured(max(values) / min(values), runs=runs)
    if not has_ends or min(lows) <= 0:
        return found
    return replace(found, low=max(1.0, max(lows) / min(highs)), high=max(highs) / min(lows))


def is_within(measured: Measured, at_least: float, at_most: float) -> bool | None:
    """Tell whether the whole interval is within the bounds; None where it holds one, or where there is no interval."""
    low, high = measured.low, measured.high
    if low is None or high is None:
        return None
    if low >= at_least and high <= at_most:
        return True
    return False if high < at_least or low > at_most else None


def count_runs(measured: Measured, at_least: float, at_most: float) -> int | None:
    """Return how many runs would free the interval of bounds if the value stayed; None where no number would."""

    def decides(runs: int) -> bool:
        return is_within(_scale(measured, runs), at_least, at_most) is not None

    if not measured.runs or not decides(RUNS_AT_MOST):
        return None
    return bisect.bisect_left(range(RUNS_AT_MOST), True, lo=measured.runs, key=decides)


def _scale(measured: Measured, runs: int) -> Measured:
    """Return the interval that so many runs would have, whose ends come nearer as the root of their number grows."""
    factor = math.sqrt(measured.runs / runs)
    if measured.df is not None:
        quantiles = scipy.special.stdtrit((measured.df * runs / measured.runs, measured.df), (1 + LEVEL) / 2)
        factor *= float(quantiles[0] / quantiles[1])
    return _stretch(measured, factor)
