"""The decision rule of comparisons of kernels: hand-worked values, and its errors by simulation."""

import math

import numpy as np
import pytest

from ccreport.compare_kernels.decide import Effect, decide, measure_effect


def judge(first: list[float], second: list[float], margin: float = 5.0, scale: str = "ratio") -> Effect:
    (effect,) = decide([measure_effect(first, second, scale)], [margin])  # type: ignore[arg-type]
    return effect


def test_an_interval_of_three_pairs_is_the_one_worked_by_hand() -> None:
    # Logarithms of b / a: 0.1, 0.2, 0.3; mean 0.2, sd 0.1, t(0.975, 2) = 4.302653, half 4.302653 × 0.1 / √3 = 0.248414.
    effect = judge([1.0, 1.0, 1.0], [math.exp(0.1), math.exp(0.2), math.exp(0.3)])
    assert effect.value == pytest.approx(math.exp(0.2))
    assert math.log(effect.low or 0) == pytest.approx(0.2 - 0.248414, abs=1e-5)
    assert math.log(effect.high or 0) == pytest.approx(0.2 + 0.248414, abs=1e-5)
    # t = 0.2 / 0.057735 = 3.4641; two-sided with 2 degrees of freedom: 1 − t / √(t² + 2) = 1 − 3.4641 / 3.741657
    assert effect.p == pytest.approx(1 - 3.464102 / 3.741657, abs=1e-5)
    assert effect.verdict == "undecided"


def test_percentage_points_are_differences() -> None:
    effect = judge([1.0, 2.0], [1.1, 2.3], scale="points")
    # mean 0.2, sd 0.141421, t(0.975, 1) = 12.7062, half 12.7062 × 0.1
    assert effect.value == pytest.approx(0.2)
    assert effect.high == pytest.approx(0.2 + 1.27062, abs=1e-4)


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        ([100.0, 200.0, 300.0], "equal"),
        ([102.0, 204.0, 306.0], "equal"),
        ([120.0, 240.0, 360.0], "up"),
        ([80.0, 160.0, 240.0], "down"),
        # Exact clocks can repeat every pair; a difference beyond the bound is one without any spread.
        ([106.0, 212.0, 318.0], "up"),
        ([90.0, 220.0, 250.0], "undecided"),
    ],
)
def test_verdicts(second: list[float], verdict: str) -> None:
    assert judge([100.0, 200.0, 300.0], second).verdict == verdict


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_is_decided_on_one_pair(count: int) -> None:
    effect = judge([1.0] * count, [2.0] * count)
    assert (effect.verdict, effect.low, effect.p, effect.needed_count) == ("undecided", None, None, None)


def test_a_difference_of_one_of_many_tests_is_held_to_a_stricter_level() -> None:
    first, second = [1.0] * 4, [math.exp(x) for x in (0.1, 0.2, 0.3, 0.4)]
    assert judge(first, second).verdict == "up"
    noise = [measure_effect([1.0, 1.0], [math.exp(0.3), math.exp(-0.2)], "ratio") for _ in range(9)]
    effects = decide([measure_effect(first, second, "ratio"), *noise], [5.0] * 10)
    # t = 0.25 / (0.1291 / 2) = 3.873 with 3 degrees of freedom: p = 0.0305, ten times that is above 0.05.
    assert effects[0].p == pytest.approx(0.0305, abs=1e-3)
    assert [effect.verdict for effect in effects] == ["undecided"] * 10


def simulate(mean: float, spread: float, pairs: int, tests: int, trials: int) -> list[list[Effect]]:
    draws = np.random.default_rng(1).normal(mean, spread, (trials, tests, pairs))
    ones = [1.0] * pairs
    return [
        decide([measure_effect(ones, list(np.exp(values)), "ratio") for values in trial], [5.0] * tests)
        for trial in draws
    ]


@pytest.mark.slow
def test_a_comparison_of_equals_finds_any_difference_at_most_one_time_in_twenty() -> None:
    found = [
        any(effect.verdict in ("up", "down") for effect in trial)
        for trial in simulate(0.0, 0.1, pairs=4, tests=4, trials=500)
    ]
    # 5 % less what the band of equality takes back; three standard errors of 500 trials are 2.9 points.
    assert 0.005 < np.mean(found) < 0.079


@pytest.mark.slow
def test_intervals_hold_the_truth_nineteen_times_in_twenty() -> None:
    held = [
        (effect.low or 0) <= math.exp(0.03) <= (effect.high or 0)
        for (effect,) in simulate(0.03, 0.05, pairs=5, tests=1, trials=1000)
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


def test_sides_at_the_bound_are_called_equal_at_most_one_time_in_forty() -> None:
    verdicts = [effect.verdict for (effect,) in simulate(math.log(1.05), 0.02, pairs=6, tests=1, trials=1000)]
    assert verdicts.count("equal") / len(verdicts) < 0.025 + 0.015


def test_as_many_pairs_as_are_asked_for_tell_with_the_promised_probability() -> None:
    # Truth, spread: no difference, which is to be found equal within 5 %, and one of 12 %, which is to be found.
    for mean, verdict in ((0.0, "equal"), (math.log(1.12), "up")):
        spread = 0.09
        # Pairs with exactly this mean and spread.
        unit = np.array([-1.0, -1.0, 1.0, 1.0]) * math.sqrt(3 / 4)
        effect = judge([1.0] * 4, list(np.exp(mean + spread * unit)))
        assert effect.verdict == "undecided"
        assert effect.needed_count is not None
        told = [one.verdict for (one,) in simulate(mean, spread, effect.needed_count, tests=1, trials=400)]
        assert told.count(verdict) / len(told) > 0.72
