"""Verdicts on pairs of runs: whether side b has more, less or as much of a measure as side a, or cannot be told yet.

A pair is one run of each side with the same conditions and the same seed. Ratios are judged by the logarithm of b / a,
shares by their difference in percentage points. The 95 % interval of the mean is Student's; a verdict of a difference
asks for p < 0.05 after Holm's correction for all tests of the comparison, so that a comparison of equals finds any
difference at most one time in twenty. Equality asks for an interval that is within the bounds, which is stricter
than two one-sided tests at 5 % (D. J. Schuirmann, J. Pharmacokin. Biopharm. 15, 1987, 657).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from ccreport.summarise.statistics.contrasts import (
    LEVEL,
    POWER,
    Contrast,
    Spread,
    count_runs,
    find_least_effect,
    p_of_difference,
)
from ccreport.summarise.statistics.correction import correct_holm

Verdict = Literal["up", "down", "equal", "undecided", "not measured"]
Scale = Literal["ratio", "points"]

# Differences of logarithms below it are those of floating-point numbers.
NO_SPREAD: Final = 1e-12


@dataclass(frozen=True)
class Effect:
    """What the pairs of a condition say of one measure: the mean of their `scale` with its interval.

    `value`, `low` and `high` are ratios b / a, or percentage points b − a. They are null below two pairs, `value` below
    one. `p` is two-sided, `variance` that of the differences (of logarithms) of pairs. `needed_count` is how many
    pairs a verdict is likely to take (power 0.8), `needed_factor` how many times the variance as many pairs as there
    are may have for it; both are null where there is a verdict or nothing is known.
    """

    scale: Scale
    pairs_count: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    verdict: Verdict = "undecided"
    variance: float | None = None
    needed_count: int | None = None
    needed_factor: float | None = None


def measure_effect(first: Sequence[float], second: Sequence[float], scale: Scale) -> Effect:
    """Return the effect of pairs (a in `first`, b in `second`, in the same order), its verdict still open.

    Values of a ratio are above 0, those of points in %.
    """
    differences = _subtract(first, second, scale)
    count = len(differences)
    if not count:
        return Effect(scale, 0)
    mean = _drop_noise(float(np.mean(differences)))
    if count < 2:
        return Effect(scale, count, _unscale(mean, scale))
    variance = _find_variance(differences)
    spread = Spread(variance / count, count - 1 if variance else None)
    value, low, high = (_unscale(mean + step * spread.half_width, scale) for step in (0, -1, 1))
    return Effect(scale, count, value, low, high, p_of_difference(mean, spread), variance=variance)


def decide(effects: Sequence[Effect], margins: Sequence[float]) -> list[Effect]:
    """Return effects of one comparison with their verdicts; `margins` are %, or percentage points, as the effect is."""
    corrected = correct_holm([effect.p for effect in effects])
    return [
        _judge(replace(effect, p_holm=p_holm), margin)
        for effect, margin, p_holm in zip(effects, margins, corrected, strict=True)
    ]


def _judge(effect: Effect, margin: float) -> Effect:
    if effect.value is None or effect.low is None or effect.high is None or effect.p_holm is None:
        return effect
    bound = math.log1p(margin / 100) if effect.scale == "ratio" else margin
    mean, low, high = (_scale(end, effect.scale) for end in (effect.value, effect.low, effect.high))
    if -bound <= low and high <= bound:
        return replace(effect, verdict="equal")
    if effect.p_holm < LEVEL:
        return replace(effect, verdict="up" if mean > 0 else "down")
    # Whichever verdict takes less. An interval around 1 leaves the bounds at two ends; each takes half of the risk.
    tried = [(abs(mean), POWER), (bound - abs(mean), (1 + POWER) / 2)]
    possible = [(distance, power) for distance, power in tried if distance > 0]
    return replace(
        effect, needed_count=_count_pairs(effect, mean, possible), needed_factor=_find_factor(effect, possible)
    )


def _count_pairs(effect: Effect, mean: float, tried: Sequence[tuple[float, float]]) -> int | None:
    """Return how many pairs would tell by one of the distances and powers, if pairs go on as they are."""
    pairs = Contrast(mean, (((effect.variance or 0.0, effect.pairs_count),),), strata=1)
    needed = [count_runs(pairs, distance, power) for distance, power in tried]
    told = [number for number in needed if number is not None]
    return max(min(told), effect.pairs_count + 1) if told else None


def _find_factor(effect: Effect, tried: Sequence[tuple[float, float]]) -> float | None:
    """Return how many times the variance present pairs may have to tell by one of the distances and powers.

    The least effect that is told goes with the square root of the variance.
    """
    count = effect.pairs_count
    spread = Spread((effect.variance or 0.0) / count, count - 1)
    least = [(distance, find_least_effect(spread, power)) for distance, power in tried]
    return max(((distance / shown) ** 2 for distance, shown in least if shown), default=None)


def _subtract(first: Sequence[float], second: Sequence[float], scale: Scale) -> np.ndarray:
    if scale == "ratio":
        return np.log(second) - np.log(first)
    return np.subtract(second, first)


def _find_variance(differences: np.ndarray) -> float:
    return _drop_noise(float(np.std(differences, ddof=1))) ** 2


def _drop_noise(value: float) -> float:
    return value if abs(value) > NO_SPREAD else 0.0


def _scale(value: float, scale: Scale) -> float:
    return math.log(value) if scale == "ratio" else value


def _unscale(value: float, scale: Scale) -> float:
    return math.exp(value) if scale == "ratio" else value
