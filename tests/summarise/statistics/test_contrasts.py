"""Contrasts within strata: hand-worked values, textbook numbers of runs, and simulated size, coverage and power."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from ccreport.summarise.statistics.comparisons import judge_questions
from ccreport.summarise.statistics.contrasts import (
    Contrast,
    Spread,
    Stratum,
    contrast_strata,
    count_runs,
    find_least_effect,
    find_power,
    p_of_difference,
    p_of_equality,
)


def alone(first: list[float], second: list[float]) -> Stratum:
    return {"is_paired": False, "first": first, "second": second}


def test_the_effect_is_the_mean_over_strata_with_satterthwaite_s_degrees_of_freedom() -> None:
    # Means 2 and 1, then 10 and 4: differences 1 and 6. Variances 1, 1 of 3 runs, and 2, 8 of 2 runs.
    contrast = contrast_strata([alone([1, 2, 3], [0, 1, 2]), alone([9, 11], [2, 6])])
    assert contrast.effect == pytest.approx(3.5)
    # Parts 1/3, 1 (first side), 1/3, 4 (second), over 2²; degrees of freedom 2, 1, 2, 1.
    parts = [(1 / 3, 2), (1, 1), (1 / 3, 2), (4, 1)]
    total = sum(part for part, _ in parts)
    assert contrast.spread == Spread(
        pytest.approx(total / 4),
        pytest.approx(total**2 / sum(part**2 / df for part, df in parts)),
    )


def test_pairs_are_compared_run_by_run() -> None:
    contrast = contrast_strata([{"is_paired": True, "first": [3, 5, 10], "second": [1, 2, 6]}])
    # Differences 2, 3, 4: variance 1 over 3 runs, with 2 degrees of freedom.
    assert (contrast.effect, contrast.spread) == (pytest.approx(3), Spread(pytest.approx(1 / 3), pytest.approx(2)))
    # t = 3·√3 = 5.196; beyond it, on both sides, Student's t of 2 has 1 − t/√(t² + 2).
    t = 3 * math.sqrt(3)
    assert p_of_difference(3, Spread(1 / 3, 2)) == pytest.approx(1 - t / math.sqrt(t**2 + 2))


def test_a_single_run_varies_as_the_other_strata_of_its_algorithm() -> None:
    contrast = contrast_strata([alone([1, 2, 3], [0, 1, 2]), alone([5], [2, 3, 4])])
    # First side: 1·(1/3 + 1·2/2); second 1/3 and 1/3.
    assert contrast.spread is not None
    assert contrast.spread.variance == pytest.approx((4 / 3 + 2 / 3) / 4)


@pytest.mark.parametrize(
    "strata", [[alone([1], [2])], [alone([1, 2], [3, 4])], [alone([1, 2, 3], [4]), alone([1], [2])]]
)
def test_too_few_runs_have_no_spread(strata: list[Stratum]) -> None:
    contrast = contrast_strata(strata)
    assert contrast.spread is None
    assert count_runs(contrast, 0.1) is None


def test_equality_is_two_one_sided_tests() -> None:
    # One standard error from the nearer end of the margin, with so many degrees of freedom that t is normal.
    assert p_of_equality(0.5, Spread(0.25, 1e9), 1.0) == pytest.approx(0.1587, abs=1e-4)
    assert p_of_equality(-0.5, Spread(0.25, 1e9), 1.0) == pytest.approx(0.1587, abs=1e-4)
    assert p_of_equality(0.0, Spread(0.0, None), 1.0) == 0
    assert p_of_equality(2.0, Spread(0.0, None), 1.0) == 1
    assert (p_of_difference(0.0, Spread(0.0, None)), p_of_difference(0.1, Spread(0.0, None))) == (1, 0)


@pytest.mark.parametrize(
    ("effect", "is_paired", "runs"),
    # Cohen, table 2.4.1, two-sided 0.05, power 0.80: d = 0.2, 0.5, 0.8, 1.0, 1.4 take 393, 64, 26, 17, 9 of each.
    # Of pairs d = 0.5 and 1.0 take 34 and 10.
    [
        *((0.2, False, 394), (0.5, False, 64), (0.8, False, 26), (1.0, False, 17), (1.4, False, 10)),
        *((0.5, True, 34), (1.0, True, 10)),
    ],
)
def test_the_numbers_of_textbooks(effect: float, is_paired: bool, runs: int) -> None:
    side = ((1.0, 5),)
    contrast = Contrast(0.0, (side,) if is_paired else (side, side), 1)
    assert abs((count_runs(contrast, effect) or 0) - runs) <= 1


@pytest.mark.parametrize("level", [0.05, 0.001])
@pytest.mark.parametrize("df", [2, 8, 78])
@pytest.mark.parametrize("error", [0.0001, 0.05, 0.7])
def test_the_least_effect_has_the_power_asked_for(error: float, df: float, level: float) -> None:
    spread = Spread(error**2, df)
    least = find_least_effect(spread, level=level)
    if least is None:
        assert find_power(math.log(1000), spread, level) < 0.8
    else:
        assert find_power(least, spread, level) == pytest.approx(0.8, abs=1e-6)


def test_power_is_a_number_where_a_tail_is_next_to_nothing() -> None:
    # scipy's noncentral t has no number for a tail below 1e-16. The other is 0.8180.
    assert find_power(4.8, Spread(1.0, 12_000), 1e-4) == pytest.approx(0.8180, abs=1e-4)
    assert find_power(36.9, Spread(1.0, 22_000), 0.005) == 1


def draw(
    draws: np.random.Generator, ratio: float, runs: int, *, is_paired: bool, cvs: tuple[float, float]
) -> list[Any]:
    """Return two strata of runs, whose rates are log-normal and differ by a factor of 3 between the strata."""
    strata = []
    for base in (1.0, 3.0):
        shared = draws.normal(0, 0.3, runs) if is_paired else np.zeros(runs)
        first, second = (np.exp(shared + draws.normal(0, cv, runs)) * base for cv in cvs)
        known = {f"{side}_known": [True] * runs for side in ("first", "second")}
        strata.append({"is_paired": is_paired, "first": list(first * ratio), "second": list(second)} | known)
    return strata


def ask(samples: list[list[Any]], measure: str = "goodput_bps") -> pl.DataFrame:
    """Return the verdicts on questions of one table."""
    rows = [
        {
            "table_name": "t",
            "measure": measure,
            "question": str(number),
            "first_algorithm": "A",
            "second_algorithm": "B",
            "equal_within_pct": 5.0,
            "added_ratio": 0.0,
            "strata": strata,
        }
        for number, strata in enumerate(samples)
    ]
    return judge_questions(pl.DataFrame(rows))


@pytest.mark.parametrize("is_paired", [False, True])
@pytest.mark.parametrize("cvs", [(0.1, 0.1), (0.3, 0.05)])
@pytest.mark.parametrize("runs", [2, 3, 5])
def test_an_algorithm_against_itself_is_not_different(runs: int, cvs: tuple[float, float], is_paired: bool) -> None:
    draws = np.random.default_rng(runs)
    judged = ask([draw(draws, 1.0, runs, is_paired=is_paired, cvs=cvs) for _ in range(500)])
    # The correction lets any of them differ in 5 % of tables; two in one table are very rare.
    assert judged["ahead_algorithm"].count() <= 1
    # Without the correction, as a table of one question: 5 % of 500, and three standard errors (0.03) more.
    assert float((judged["p_ratio"] < 0.05).mean()) <= 0.08  # type: ignore[arg-type]
    covered = ((judged["effect_low_ratio"] <= 1) & (judged["effect_high_ratio"] >= 1)).mean()
    assert float(covered) >= 0.92  # type: ignore[arg-type]


def test_ten_algorithms_that_are_the_same_are_told_apart_in_few_tables() -> None:
    draws = np.random.default_rng(7)
    tables = [
        ask([draw(draws, 1.0, 4, is_paired=False, cvs=(0.1, 0.1)) for _ in range(10)])["ahead_algorithm"].count()
        for _ in range(150)
    ]
    # Any of ten in 5 % of the tables, and three standard errors (0.054) more.
    assert np.mean(np.greater(tables, 0)) <= 0.104


@pytest.mark.parametrize("is_paired", [False, True])
def test_a_difference_of_8_per_cent_is_found_with_the_runs_that_it_needs(is_paired: bool) -> None:
    draws = np.random.default_rng(3)
    pilot = contrast_strata(
        [
            {"is_paired": is_paired, "first": np.log(one["first"]), "second": np.log(one["second"])}
            for one in draw(draws, 1.08, 200, is_paired=is_paired, cvs=(0.08, 0.08))
        ]
    )
    needed = count_runs(pilot, math.log(1.08))
    assert needed is not None
    found = [ask([draw(draws, 1.08, needed, is_paired=is_paired, cvs=(0.08, 0.08))])["verdict"][0] for _ in range(300)]
    # 80 %, less three standard errors (0.07); an effect of 8 % may now and then pass as one within 5 %, at most 5 %.
    assert found.count("A faster") / 300 >= 0.72
    assert found.count("B faster") == 0
    assert found.count("equal within ±5 %") / 300 <= 0.05


def test_equality_is_rarely_claimed_at_the_margin_and_found_at_1() -> None:
    draws = np.random.default_rng(5)
    at_margin = [ask([draw(draws, 1.05, 6, is_paired=False, cvs=(0.03, 0.03))])["verdict"][0] for _ in range(400)]
    assert at_margin.count("equal within ±5 %") / 400 <= 0.083
    same = [ask([draw(draws, 1.0, 6, is_paired=False, cvs=(0.03, 0.03))])["verdict"][0] for _ in range(100)]
    assert same.count("equal within ±5 %") / 100 >= 0.8


def test_less_is_better_of_retransmits_and_times() -> None:
    strata: list[dict[str, Any]] = [{"is_paired": False, "first": [1.0, 1.1, 1.2], "second": [9.0, 9.9, 10.0]}]
    strata[0] |= {f"{side}_known": [True] * 3 for side in ("first", "second")}
    assert ask([strata])["verdict"].to_list() == ["B faster"]
    assert ask([strata], "retransmit_ratio")["verdict"].to_list() == ["A retransmits less"]
    assert ask([strata], "completion_s")["verdict"].to_list() == ["A faster"]
