import math

import numpy as np
import pytest

from ccreport.summarise.statistics.survival import (
    Stratum,
    Time,
    compare_runs,
    estimate_curve,
    find_quantile,
    list_strata,
)

# Weeks in remission of Freireich et al. (1963), with 6-MP and with a placebo; + are censored.
WITH_6MP = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"
PLACEBO = "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23"


def read_times(text: str) -> tuple[Time, ...]:
    return tuple(Time(float(word.rstrip("+")), not word.endswith("+")) for word in text.split())


def test_the_curve_is_kaplan_and_meiers() -> None:
    # 5 flows, of which the second and fourth are censored: 4/5, then 4/5 · 2/3, then 0.
    curve = estimate_curve(read_times("1 2+ 3 4+ 5"))
    assert curve["time_s"].to_list() == [1, 2, 3, 4, 5]
    assert curve["share"].to_list() == pytest.approx([4 / 5, 4 / 5, 8 / 15, 8 / 15, 0])
    # Greenwood: (0.8 ln 0.8)⁻² · 0.8² · 1/(5 · 4) = 1.0021² on log(-log): 0.8^exp(±1.959964 · 1.0021).
    assert curve.row(0)[2:] == pytest.approx((0.8 ** math.exp(1.96408), 0.8 ** math.exp(-1.96408)), rel=1e-4)


def test_medians_of_a_published_trial_have_their_published_intervals() -> None:
    drug, placebo = (estimate_curve(read_times(text)) for text in (WITH_6MP, PLACEBO))
    assert [find_quantile(drug, 0.5, column) for column in ("share", "low", "high")] == [23, 13, None]
    assert [find_quantile(placebo, 0.5, column) for column in ("share", "low", "high")] == [8, 4, 11]


def test_a_curve_that_ends_above_one_half_has_no_median() -> None:
    times = read_times("1 2+ 3+")
    assert find_quantile(estimate_curve(times), 0.5) is None


def test_the_log_rank_statistic_of_a_published_trial() -> None:
    # Chi-square of this trial is 16.79; more exchanges than are tried leave the least p value of those drawn.
    z, p = compare_runs([Stratum(read_times(WITH_6MP), read_times(PLACEBO))], is_paired=False)
    assert z == pytest.approx(-math.sqrt(16.793), rel=1e-4)
    assert p == pytest.approx(1 / 1001)


def test_pairs_are_exchanged_within_their_runs() -> None:
    # With three pairs, 2 of 8 exchanges are as extreme; with two strata of them 2 of 64.
    stratum = Stratum(read_times("1 2 3"), read_times("4 5 6"))
    assert compare_runs([stratum], is_paired=True)[1] == 0.25
    assert compare_runs([stratum, stratum], is_paired=True)[1] == 2 / 64
    # Without pairs it is 2 of the 20 ways to choose three of six.
    assert compare_runs([stratum], is_paired=False)[1] == 0.1


def test_what_cannot_be_compared_has_no_p_value() -> None:
    assert compare_runs([Stratum(read_times("1"), read_times("2"))], is_paired=True) == (None, None)
    assert compare_runs([Stratum(read_times("1+ 2+"), read_times("2+ 3+"))], is_paired=True) == (None, None)


def test_the_unit_is_the_run_and_pairs_are_of_one_run() -> None:
    def run(stratum: int, run_id: str, time_s: float) -> dict[str, object]:
        return {"stratum": stratum, "run_id": run_id, "time_s": time_s, "is_complete": True}

    first = [run(1, "a", 3.0), run(1, "b", 4.0), run(2, "c", 1.0)]
    second = [run(1, "a", 5.0), run(2, "c", 7.0), run(2, "d", 8.0)]
    paired = list_strata(first, second, is_paired=True)
    assert paired == [Stratum(read_times("3"), read_times("5")), Stratum(read_times("1"), read_times("7"))]
    unpaired = list_strata(first, second, is_paired=False)
    assert unpaired == [Stratum(read_times("3 4"), read_times("5")), Stratum(read_times("1"), read_times("7 8"))]


@pytest.mark.slow
@pytest.mark.parametrize("is_paired", [True, False])
def test_runs_that_do_not_differ_are_rarely_called_different(is_paired: bool) -> None:
    draw = np.random.default_rng(1)
    p_values = []
    for _ in range(300):
        # The runs of a pair share a bottleneck: what one is late the other is early.
        shift = draw.normal(size=(2, 3))
        other = -shift if is_paired else draw.normal(size=(2, 3))
        strata = [
            Stratum(*(tuple(Time(round(10 + x, 3), bool(x < 1.5)) for x in side) for side in sides))
            for sides in zip(shift, other, strict=True)
        ]
        p_values.append(compare_runs(strata, is_paired=is_paired)[1])
    # 5 % of 300 are 15; 26 or more have a chance below 0.5 %.
    assert sum(p is not None and p <= 0.05 for p in p_values) <= 25
    assert sum(p is not None and p <= 0.5 for p in p_values) >= 100


def test_intervals_of_medians_hold_the_true_median() -> None:
    draw = np.random.default_rng(2)
    held = 0
    for _ in range(300):
        done, stopped = draw.exponential(10, size=30), draw.uniform(5, 40, size=30)
        times = [Time(float(min(t, s)), bool(t <= s)) for t, s in zip(done, stopped, strict=True)]
        curve = estimate_curve(times)
        low, high = (find_quantile(curve, 0.5, end) for end in ("low", "high"))
        held += (low is None or low <= 10 * math.log(2)) and (high is None or high >= 10 * math.log(2))
    assert 0.92 <= held / 300 <= 0.99
