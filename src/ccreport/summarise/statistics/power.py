"""How many runs tell a ratio of two means from 1: the power of Student's t test on logarithms.

Rates of runs are compared by the logarithm of their ratio, as everywhere in the report. `spread` is the standard
deviation of the logarithm: of the runs of an algorithm, or, for pairs, of the ratio in a run. The noncentral t
distribution gives the exact power for normal logarithms (J. Cohen, Statistical Power Analysis for the Behavioral
Sciences, 1988).
"""

import importlib
import math
from bisect import bisect_left
from typing import Final

from ccreport.summarise.statistics.rank_tests import load_stats

SIGNIFICANCE: Final = 0.05
RUNS_AT_MOST: Final = 10_000
# Ratios further from 1 than this are not looked for.
RATIO_AT_MOST: Final = 1000.0
# Beyond, a wrong sign has a probability below 1e-9, for which scipy's noncentral t may be not a number.
SHIFT_OF_BOTH_SIGNS: Final = 5.0
# Beyond, the right one too, and the power is above 0.99 with two pairs already.
SHIFT_AT_MOST: Final = 37.0


def find_power(ratio: float, spread: float, runs: int, *, is_paired: bool) -> float:
    """Return the probability that `runs` runs of each algorithm tell a true ratio from 1, two-sided at 5 %."""
    stats = load_stats()
    freedom, error = (runs - 1, spread / math.sqrt(runs)) if is_paired else (2 * runs - 2, spread * math.sqrt(2 / runs))
    if error == 0:
        return 1.0 if ratio != 1 else SIGNIFICANCE
    shift = abs(math.log(ratio)) / error
    if shift > SHIFT_AT_MOST:
        return 1.0
    bound = stats.t.ppf(1 - SIGNIFICANCE / 2, freedom)
    wrong_sign = stats.nct.cdf(-bound, freedom, shift) if shift < SHIFT_OF_BOTH_SIGNS else 0.0
    return float(stats.nct.sf(bound, freedom, shift) + wrong_sign)


def count_runs(ratio: float, spread: float, power: float, *, is_paired: bool) -> int | None:
    """Return the least number of runs of each algorithm with this power, at least 2; null above 10,000."""
    counts = range(2, RUNS_AT_MOST + 1)
    place = bisect_left(counts, power, key=lambda runs: find_power(ratio, spread, runs, is_paired=is_paired))
    return counts[place] if place < len(counts) else None


def find_least_ratio(spread: float, runs: int, power: float, *, is_paired: bool) -> float | None:
    """Return the least ratio above 1 that `runs` runs of each algorithm tell from 1; null for one run or above 1000."""
    if runs < 2:
        return None
    highest = math.log(RATIO_AT_MOST)

    def find_surplus(log_ratio: float) -> float:
        return find_power(math.exp(log_ratio), spread, runs, is_paired=is_paired) - power

    if find_surplus(highest) < 0:
        return None
    return math.exp(importlib.import_module("scipy.optimize").brentq(find_surplus, 0.0, highest))
