"""How long runs must be: batch means of series whose variance is known, and the power that a planned duration gives."""

import math

import numpy as np
import pytest

from ccreport.summarise.statistics.durations import measure_noise, plan_duration

STEP_S = 0.5


def make_series(runs: int, length: int, phi: float, seed: int) -> np.ndarray:
    """Return runs of an autoregressive process of variance 1, whose first values are as all others."""
    random = np.random.default_rng(seed)
    steps = random.normal(0, math.sqrt(1 - phi**2), (runs, length))
    values = np.empty_like(steps)
    values[:, 0] = random.normal(0, 1, runs)
    for place in range(1, length):
        values[:, place] = phi * values[:, place - 1] + steps[:, place]
    return values


def find_truth(phi: float) -> float:
    """Return V: the sum of all autocovariances, (1 + phi) / (1 - phi), times the step."""
    return (1 + phi) / (1 - phi) * STEP_S


def test_batches_worked_by_hand() -> None:
    # The first of nine is left out. Neighbours of the eight alternate, so batches of one do: variance 8 / 7 about 0, of
    # which (1 + 1/8) / 1 is missing. Batches of two are all 0, and lack (1 + 1/4) / 2 = 5/8. Both together are below 0,
    # which no variance is, so that the longer batches count.
    values = np.array([50.0, -1, 1, -1, 1, -1, 1, -1, 1])
    assert measure_noise([values], STEP_S) == 0
    # Pairs of equal values: the sum of squares is 8, of products of neighbours 4 - 3, which is not beyond chance in
    # seven pairs. Batches of two give 2 × 4/3, of which 5/8 is missing, where 9/8 is of batches of one.
    values = np.array([50.0, 1, 1, -1, -1, 1, 1, -1, -1])
    corrected = (8 / 3 * 9 / 8 - 8 / 7 * 5 / 8) / (9 / 8 - 5 / 8)
    assert measure_noise([values], STEP_S) == pytest.approx(corrected * STEP_S)


def test_a_series_that_is_too_short_or_never_settles_says_nothing() -> None:
    assert measure_noise([np.array([1.0, 2.0, 3.0])], STEP_S) is None
    assert measure_noise([np.arange(40.0)] * 8, STEP_S) is None


@pytest.mark.parametrize(("phi", "length"), [(0.0, 20), (0.6, 20), (0.6, 120), (0.8, 120)])
def test_the_variance_of_means_over_time_is_found(phi: float, length: int) -> None:
    found = [measure_noise(list(make_series(8, length, phi, seed)), STEP_S) for seed in range(200)]
    ratios = np.array([value / find_truth(phi) for value in found if value is not None])
    assert len(ratios) > 170
    assert 0.8 < np.mean(ratios) < 1.15
    assert np.std(ratios) < 0.7


@pytest.mark.parametrize(
    ("share", "factor", "duration_s"),
    # Half the variance: all of it noise takes twice the time; of 0.8 that is noise 0.3 may stay, 0.8 / 0.3 times.
    [(1.0, 0.5, 20.0), (0.8, 0.5, 10 * 0.8 / 0.3), (0.5, 0.5, None), (0.2, 0.5, None), (0.1, 1.5, 10.0)],
)
def test_durations_worked_by_hand(share: float, factor: float, duration_s: float | None) -> None:
    assert plan_duration(10.0, share, factor) == pytest.approx(duration_s)


def test_runs_of_the_planned_duration_vary_as_planned() -> None:
    phi, between, length = 0.6, 0.03, 60
    random = np.random.default_rng(2)
    pilot = make_series(100, length, phi, 3)
    noise = measure_noise(list(pilot), STEP_S)
    assert noise is not None
    duration_s = length * STEP_S
    variance = between + find_truth(phi) / duration_s
    planned_s = plan_duration(duration_s, noise / duration_s / variance, 0.6)
    assert planned_s is not None
    longer = make_series(4000, round(planned_s / STEP_S), phi, 4).mean(axis=1) + random.normal(
        0, math.sqrt(between), 4000
    )
    assert np.var(longer) / variance == pytest.approx(0.6, rel=0.12)
