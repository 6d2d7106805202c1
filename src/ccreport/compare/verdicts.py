"""Verdicts: whether a mean, and the ratio of two means, are those of another archive, as far as the runs can tell.

All errors are of logarithms, as those of the intervals in `sql/macros.sql` are: an interval of a ratio is a factor.
"""

import math
from dataclasses import dataclass
from typing import Final

import scipy

from ccreport.summarise.statistics.contrasts import Spread, p_of_difference

CONSISTENT: Final = "consistent"
INCONSISTENT: Final = "inconsistent"
REPRODUCED: Final = "reproduced"
NOT_REPRODUCED: Final = "not reproduced"
UNDECIDED: Final = "undecided"
# "Reproduced" allows this factor between two ratios of rates.
PAIR_FACTOR: Final = 2.0
# More runs than these are not proposed to anybody.
RUNS_AT_MOST: Final = 1000
LEVEL: Final = 0.95


@dataclass(frozen=True)
class Estimate:
    """A ratio with its 95 % interval; without a spread there is none."""

    value: float
    spread: Spread | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the two ends."""
        if self.spread is None:
            return None
        factor = math.exp(self.spread.half_width)
        return self.value / factor, self.value * factor

    @property
    def direction(self) -> int:
        """Return 1 for a ratio above 1, -1 for one below, 0 where that cannot be told."""
        if self.interval is None:
            return 0
        low, high = self.interval
        return (low > 1) - (high < 1)

    def compare_with_margin(self, margin: float) -> str:
        """Return equal where the interval is between 1 / margin and margin, apart where it is outside, open else."""
        if self.interval is None:
            return "open"
        low, high = self.interval
        is_apart = low > margin or high < 1 / margin
        return "apart" if is_apart else "equal" if low >= 1 / margin and high <= margin else "open"

    @property
    def p_ratio(self) -> float | None:
        """Return the two-sided p value of a ratio of 1: below 0.05 where `direction` is not 0."""
        return None if self.spread is None else p_of_difference(math.log(self.value), self.spread)


def add_spreads(first: Spread, second: Spread) -> Spread:
    """Return the spread of a difference of two independent logarithms, with Satterthwaite's degrees of freedom."""
    variance = first.variance + second.variance
    parts = [
        spread.variance**2 / spread.df for spread in (first, second) if spread.df is not None and spread.variance > 0
    ]
    return Spread(variance, variance**2 / sum(parts) if parts else None)


def spread_published(cv: float, runs: int) -> Spread:
    """Return the spread of a published mean: of its CV, which also holds what differs between conditions it pools."""
    return Spread(cv**2 / runs, runs - 1)


def spread_of_interval(value: float, high: float, runs: int) -> Spread:
    """Return the spread of a mean of which another archive has the interval, as if its runs were of one condition."""
    quantile = float(scipy.special.stdtrit(runs - 1, (1 + LEVEL) / 2))
    return Spread((math.log(high / value) / quantile) ** 2, runs - 1)


def judge_cell(ratio: Estimate, factor: float) -> str:
    """Return whether a mean is that of another archive, `ratio` times which it is.

    Consistent where the interval of the ratio holds 1 and reaches no further than by `factor`; undecided where it
    reaches further, or there is none.
    """
    if ratio.spread is None:
        return UNDECIDED
    if ratio.direction:
        return INCONSISTENT
    return CONSISTENT if ratio.spread.half_width <= math.log(factor) else UNDECIDED


def count_runs_needed(theirs: Spread, own: Spread, runs: int, factor: float) -> int | None:
    """Return how many runs of a cell would make its interval narrow enough to tell; None where no number would.

    `own` is the spread that `runs` runs have here; those of the other archive stay as they are.
    """

    def is_enough(count: int) -> bool:
        return add_spreads(theirs, own.scale(count / runs)).half_width <= math.log(factor)

    if not is_enough(RUNS_AT_MOST):
        return None
    low, high = 0, RUNS_AT_MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def judge_pair(theirs: Estimate, own: Estimate, p_holm: float | None, margin: float) -> str:
    """Return whether the ratio of two algorithms' rates is that of another archive.

    `p_holm` is the p value of a ratio of 1 here, corrected for all pairs that are compared: of many pairs of algorithms
    that do not differ, some have an interval without 1 by chance. Ratios up to `margin`, as 1.05, are called equal.

    The first of these that is true decides. Reproduced: the whole interval of both ratios is within the margin,
    whichever algorithm is ahead. Not reproduced: another algorithm is ahead, by more than the margin in one of the two,
    or the whole interval of the factor between the ratios is beyond PAIR_FACTOR, or the algorithms are equal in one and
    further apart in the other. Reproduced: the same algorithm is ahead in both, as far as their runs can tell, in none
    of them equal, and the interval of the factor is within PAIR_FACTOR. Undecided else, so wherever more runs might
    show that both are equal, or that one is not.
    """
    factor = compare_ratios(theirs, own)
    if factor.interval is None or p_holm is None:
        return UNDECIDED
    low, high = factor.interval
    sizes = {estimate.compare_with_margin(margin) for estimate in (theirs, own)}
    if sizes == {"equal"}:
        return REPRODUCED
    agreement = theirs.direction * own.direction if p_holm < 1 - LEVEL else 0
    is_reversed = agreement < 0 and "apart" in sizes
    if is_reversed or low > PAIR_FACTOR or high < 1 / PAIR_FACTOR or sizes == {"equal", "apart"}:
        return NOT_REPRODUCED
    is_within = low >= 1 / PAIR_FACTOR and high <= PAIR_FACTOR
    return REPRODUCED if agreement > 0 and is_within and "equal" not in sizes else UNDECIDED


def compare_ratios(theirs: Estimate, own: Estimate) -> Estimate:
    """Return by what factor the ratio here is above the other."""
    spread = None if theirs.spread is None or own.spread is None else add_spreads(theirs.spread, own.spread)
    return Estimate(own.value / theirs.value, spread)
