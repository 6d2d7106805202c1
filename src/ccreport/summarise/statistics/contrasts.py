"""Contrasts: how far two algorithms' runs are apart within strata, with the spread of that and what it can show.

The model is value = stratum + algorithm (+ run, where both sent at once) + error, of which each algorithm has its own
variance in each stratum. The effect is the mean over the strata of the difference of the two means; its degrees of
freedom are Satterthwaite's (1946). With as many runs in each stratum, it is what the mixed model with random strata and
runs estimates. Power is that of Student's t (J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988).
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict

import numpy as np

# Its parts are imported where they are used. `scipy.stats` gives the same numbers, in 40 times the time.
import scipy

LEVEL: Final = 0.05
POWER: Final = 0.8
RUNS_AT_MOST: Final = 10_000
# Effects of logarithms beyond this are not looked for: a factor of 1000.
LOG_AT_MOST: Final = math.log(1000)
# Beyond, scipy's noncentral t is not a number, and only an estimated variance that is too large hides an effect.
SHIFT_AT_MOST: Final = 37.0


class Stratum(TypedDict):
    """Values of the runs of two algorithms on one path under the same conditions; pairs are in the same order."""

    is_paired: bool
    first: Sequence[float]
    second: Sequence[float]


@dataclass(frozen=True)
class Spread:
    """The variance of an estimate's error, with its degrees of freedom, which are None where runs do not differ."""

    variance: float
    df: float | None

    def scale(self, factor: float) -> "Spread":
        """Return the spread that so many times the runs would have."""
        return Spread(self.variance / factor, None if self.df is None else self.df * factor)

    @property
    def half_width(self) -> float:
        """Return half the width of the 95 % interval, by Student's t."""
        if self.df is None:
            return 0.0
        return float(scipy.special.stdtrit(self.df, 1 - LEVEL / 2)) * math.sqrt(self.variance)


@dataclass(frozen=True)
class Contrast:
    """The mean over strata of first less second, and the variances and sizes of the samples of each of its sides.

    `sides` are the differences of pairs, and the values of each algorithm that sent alone; `strata` is their number.
    """

    effect: float
    sides: tuple[tuple[tuple[float, int], ...], ...]
    strata: int

    @property
    def spread(self) -> Spread | None:
        """Return the spread of the effect; None below two degrees of freedom of a side.

        ASSUME: a stratum with a single run of an algorithm varies as much as its other strata.
        """
        parts: list[tuple[float, float]] = []
        for side in self.sides:
            within = sum(size - 1 for _, size in side)
            if within < 2:
                return None
            singles = sum(size == 1 for _, size in side)
            parts += [
                (variance * (1 / size + singles * (size - 1) / within), size - 1) for variance, size in side if size > 1
            ]
        return _add_parts(parts, self.strata)

    def spread_of(self, runs: int) -> Spread | None:
        """Return the spread that so many runs of each algorithm in each stratum would have, if they varied as these."""
        parts: list[tuple[float, float]] = []
        for side in self.sides:
            within = sum(size - 1 for _, size in side)
            if within < 2:
                return None
            pooled = sum(variance * (size - 1) for variance, size in side if size > 1) / within
            parts += [((pooled if size == 1 else variance) / runs, runs - 1) for variance, size in side]
        return _add_parts(parts, self.strata)


def _add_parts(parts: Sequence[tuple[float, float]], strata: int) -> Spread:
    """Return the spread of a mean over strata of parts, each a variance with its degrees of freedom."""
    variance = sum(part for part, _ in parts)
    squares = sum(part**2 / df for part, df in parts)
    return Spread(variance / strata**2, variance**2 / squares if squares else None)


def contrast_strata(strata: Sequence[Stratum]) -> Contrast:
    """Return the contrast of two algorithms over strata, at least one, in each of which both have a value."""
    pairs: list[Any] = [np.subtract(stratum["first"], stratum["second"]) for stratum in strata if stratum["is_paired"]]
    alone = [
        [np.asarray(stratum[side]) for stratum in strata if not stratum["is_paired"]] for side in ("first", "second")
    ]
    effects = [sum(float(sample.mean()) for sample in samples) for samples in (pairs, *alone)]
    sides = [
        tuple((float(sample.var(ddof=1)) if len(sample) > 1 else 0.0, len(sample)) for sample in samples)
        for samples in (pairs, *alone)
        if samples
    ]
    return Contrast((effects[0] + effects[1] - effects[2]) / len(strata), tuple(sides), len(strata))


def p_of_difference(effect: float, spread: Spread) -> float:
    """Return the two-sided p value of an effect of 0."""
    return min(1.0, 2 * _find_tail(abs(effect), spread))


def p_of_equality(effect: float, spread: Spread, margin: float) -> float:
    """Return the p value of an effect of the margin or more to either side: two one-sided tests [Schuirmann 1987]."""
    return _find_tail(margin - abs(effect), spread)


def _find_tail(distance: float, spread: Spread) -> float:
    """Return the probability that chance puts an effect beyond a distance from the truth, to one side."""
    if spread.df is None:
        return 0.0 if distance > 0 else 0.5 if distance == 0 else 1.0
    return float(scipy.special.stdtr(spread.df, -distance / math.sqrt(spread.variance)))


def find_power(effect: float, spread: Spread, level: float = LEVEL) -> float:
    """Return the probability that a true effect is told from 0, two-sided at a level."""
    if spread.df is None:
        return 1.0 if effect else level
    shift = abs(effect) / math.sqrt(spread.variance)
    bound = -scipy.special.stdtrit(spread.df, level / 2)
    if shift > SHIFT_AT_MOST:
        return float(scipy.special.chdtr(spread.df, spread.df * (shift / bound) ** 2))
    # Not a number where it is next to nothing.
    wrong_sign, below = np.nan_to_num(scipy.special.nctdtr(spread.df, shift, (-bound, bound)))
    return float(1 - below + wrong_sign)


def count_runs(contrast: Contrast, effect: float, power: float = POWER, level: float = LEVEL) -> int | None:
    """Return the least number of runs of each algorithm in each stratum that have this power, at least 2.

    None above 10,000, and where the runs do not tell how much they vary.
    """
    if contrast.spread is None:
        return None
    counts = range(2, RUNS_AT_MOST + 1)

    def find(runs: int) -> float:
        spread = contrast.spread_of(runs)
        return 0.0 if spread is None else find_power(effect, spread, level)

    place = bisect_left(counts, power, key=find)
    return counts[place] if place < len(counts) else None


def find_least_effect(spread: Spread, power: float = POWER, level: float = LEVEL) -> float | None:
    """Return the least effect on a logarithm that is told from 0 with this power; None above a factor of 1000."""
    if spread.df is None:
        return 0.0
    if find_power(LOG_AT_MOST, spread, level) < power:
        return None
    return float(scipy.optimize.brentq(lambda effect: find_power(effect, spread, level) - power, 0.0, LOG_AT_MOST))
