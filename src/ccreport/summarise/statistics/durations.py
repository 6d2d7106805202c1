"""How long a run must be: how much of the variance between runs goes when each of them lasts longer.

The mean of a rate over T seconds has the variance V / T once T is far above the time over which the rate depends on
itself; V is estimated from batch means (A. M. Law, Simulation Modeling and Analysis, 5th ed., section 9.5.3). A batch
is doubled until the means of batches that follow each other are hardly correlated any more, of all series together. Of
b batches of m values V comes out less by a share c (1 + 1 / b) / m, which the estimate from batches twice as long takes
away (the idea of D. Vats and J. M. Flegal, Biometrika 109, 2022, 735, with the share for few batches). The rest of the
variance between runs (a queue that one run met and another did not) stays however long they last.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

# Fewer do not tell whether those that follow each other are correlated.
BATCHES_AT_LEAST: Final = 4
# One-sided, 5 %: as far as chance puts the correlation of so many independent means from 0.
CHANCE: Final = 1.645
# Less than this is within what the correction for the length of batches makes good.
NEGLIGIBLE: Final = 0.2
# Of a run, in which it starts.
LEFT_OUT: Final = 0.1


def measure_noise(series: Sequence[np.ndarray], step_s: float) -> float | None:
    """Return V of series of a quantity in steps of `step_s`, in the quantity's unit squared times s.

    Each is of one run; its first tenth is left out. None where they are too short to tell: below four batches, or where
    the longest batches of which there are four are still correlated.
    """
    kept = [values[math.ceil(LEFT_OUT * len(values)) :] for values in series]
    size = 1
    while True:
        kept = [values for values in kept if len(values) >= BATCHES_AT_LEAST * size]
        if not kept:
            return None
        if not _are_correlated([_average(values, size) for values in kept]):
            return _correct(kept, size) * step_s
        size *= 2


def scale_rates(rates: Sequence[float]) -> np.ndarray:
    """Return rates relative to their mean, which vary as their logarithm does; zeros where nothing was moved."""
    values = np.asarray(rates, dtype=float)
    scaled: np.ndarray = values / max(values.mean(), np.finfo(float).tiny)
    return scaled


def subtract_rates(first: Sequence[float], second: Sequence[float]) -> np.ndarray:
    """Return how the logarithm of the ratio of two rates at the same times varies; the longer one is cut."""
    count = min(len(first), len(second))
    difference: np.ndarray = scale_rates(first[:count]) - scale_rates(second[:count])
    return difference


def plan_duration(duration_s: float, noise_share: float, factor: float) -> float | None:
    """Return how long runs must be for `factor` times the variance between them; None if no duration does that.

    `noise_share` is V / T of the variance between runs of `duration_s`, 1 at most.
    """
    if factor >= 1:
        return duration_s
    share = min(noise_share, 1.0)
    left = factor - (1 - share)
    return duration_s * share / left if left > 0 else None


def _correct(series: Sequence[np.ndarray], size: int) -> float:
    """Return V in steps from batches of a size and of twice the size."""
    (once, missing), (twice, missing_twice) = (_estimate(series, length) for length in (size, 2 * size))
    corrected = (twice * missing - once * missing_twice) / (missing - missing_twice)
    return corrected if corrected > 0 else twice


def _estimate(series: Sequence[np.ndarray], size: int) -> tuple[float, float]:
    """Return V in steps from batches of a size, and the share that it lacks in units of c."""
    batches = [_average(values, size) for values in series]
    missing = np.mean([(1 + 1 / len(means)) / size for means in batches])
    return size * float(np.mean([np.var(means, ddof=1) for means in batches])), float(missing)


def _average(values: np.ndarray, size: int) -> np.ndarray:
    """Return the means of batches of a size, which end with the series."""
    count = len(values) // size
    means: np.ndarray = values[len(values) - count * size :].reshape(count, size).mean(axis=1)
    return means


def _are_correlated(series: Sequence[np.ndarray]) -> bool:
    """Tell whether values that follow each other are correlated, beyond chance, in all series together."""
    centred = [values - values.mean() for values in series]
    squares = sum(float(np.sum(values**2)) for values in centred)
    products = sum(float(np.sum(values[1:] * values[:-1])) for values in centred)
    pairs = sum(len(values) - 1 for values in centred)
    # Of n independent values around their own mean the products of neighbours sum to -s² (n - 1) / n.
    bound = max(CHANCE / math.sqrt(pairs), NEGLIGIBLE)
    return squares > 0 and products / squares + len(series) / (pairs + len(series)) > bound
