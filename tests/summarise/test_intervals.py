"""Intervals of means, CVs and ratios: against hand-worked values, scipy, other code, and simulated archives."""

import itertools
import re
import statistics
from typing import Any

import duckdb
import numpy as np
import pytest
from archives import ROOT
from interval_coverage import CELLS, NAMES, Coverage, format_coverage, simulate
from scipy import stats

from ccreport.core.declarations import read_query


@pytest.fixture(scope="module")
def macros() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(read_query("macros"))
    return connection


def interval(macros: duckdb.DuckDBPyConnection, strata: Any, name: str = "cell_interval") -> Any:
    row = macros.execute(f"SELECT {name}($1::DOUBLE[][])", [strata]).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize(
    ("macro", "quantile"),
    [
        ("student_quantile", lambda df: stats.t.ppf(0.975, df)),
        ("variance_low", lambda df: df / stats.chi2.ppf(0.975, df)),
        ("variance_high", lambda df: df / stats.chi2.ppf(0.025, df)),
    ],
)
def test_quantiles_are_scipys(macros: duckdb.DuckDBPyConnection, macro: str, quantile: Any) -> None:
    for df in (1.0, 1.01, 1.5, *range(2, 40), 4.7, 100.0, 1e4, 1e6):
        row = macros.execute(f"SELECT {macro}($1::DOUBLE)", [df]).fetchone()
        assert row == pytest.approx((quantile(df),), rel=1e-4), df


def test_the_interval_of_one_condition_by_hand(macros: duckdb.DuckDBPyConnection) -> None:
    # 9, 10, 11: mean 10, standard deviation 1, standard error 0.57735 or 5.7735 % of the mean. t of 2 degrees of
    # freedom is 4.30265: e^(±0.248415) = 1.28199.
    assert interval(macros, [[9, 10, 11]]) == pytest.approx([10 / 1.28199, 10 * 1.28199], rel=1e-4)


def test_the_interval_of_two_conditions_by_hand(macros: duckdb.DuckDBPyConnection) -> None:
    # 9, 11 and 18, 22: the pooled mean is 15; its variance (2 · 2 + 2 · 8) / 4² = 1.25. Degrees of freedom after
    # Satterthwaite: 1.25² / (0.25² + 1²) = 1.470588, of which t is 6.1880 (scipy). Relative: 6.1880 · √1.25 / 15 =
    # 0.46123.
    half_width = stats.t.ppf(0.975, 1.25**2 / (0.25**2 + 1)) * 1.25**0.5 / 15
    assert half_width == pytest.approx(0.46123, abs=1e-4)
    factor = np.exp(half_width)
    assert interval(macros, [[9, 11], [18, 22]]) == pytest.approx([15 / factor, 15 * factor], rel=1e-4)


def test_two_equal_conditions_are_as_welch_has_it(macros: duckdb.DuckDBPyConnection) -> None:
    # The standard error and the degrees of freedom of a sum are those of a difference.
    draw = np.random.default_rng(5)
    one, other = draw.normal(10, 1, 5), draw.normal(10, 3, 5)
    welch = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    mean = (one.mean() + other.mean()) / 2
    factor = np.exp((welch.high - welch.low) / 4 / mean)
    found = interval(macros, [one.tolist(), other.tolist()])
    assert found == pytest.approx([mean / factor, mean * factor], rel=1e-4)


@pytest.mark.parametrize(
    "strata", [[], [[]], [None], [[5]], [[5, 6]], [[5], [6]], [[5, 6], [7]], [[0, 0, 0]], [[5], [6], [7], [8]]]
)
def test_too_few_runs_show_no_interval(macros: duckdb.DuckDBPyConnection, strata: Any) -> None:
    assert interval(macros, strata) is None
    assert interval(macros, strata, "cell_cv_interval") is None


def test_missing_values_are_not_runs(macros: duckdb.DuckDBPyConnection) -> None:
    assert interval(macros, [[9, None, 10, 11], None]) == interval(macros, [[9, 10, 11]])
    assert interval(macros, [[9, None, 11]]) is None


def test_only_differences_within_conditions_count(macros: duckdb.DuckDBPyConnection) -> None:
    assert interval(macros, [[10] * 5, [20] * 5]) == [15, 15]


def test_a_single_run_varies_as_the_other_conditions_do(macros: duckdb.DuckDBPyConnection) -> None:
    # 9, 10, 11 and 40: mean 17.5. Squares within are 2, so a variance of 1 for each of four runs: √4 / 4 = 0.5 of 17.5,
    # with 2 degrees of freedom: 4.30265 · 0.5 / 17.5 = 0.122933.
    factor = np.exp(0.122933)
    assert interval(macros, [[9, 10, 11], [40]]) == pytest.approx([17.5 / factor, 17.5 * factor], rel=1e-4)
    # Its CV could be anything.
    assert interval(macros, [[9, 10, 11], [40]], "cell_cv_interval") is None


def compute_cv_interval(strata: list[list[float]]) -> list[float]:
    """Return the interval of a CV in plain arithmetic, by the formulas of the methods page."""
    values = [value for stratum in strata for value in stratum]
    runs, mean = len(values), statistics.mean(values)
    variance = statistics.variance(values)
    own = [(len(s), statistics.mean(s), statistics.variance(s)) for s in strata]
    shares = [n / runs * v for n, _, v in own]
    within = sum(shares)
    df = within**2 / sum(share**2 / (n - 1) for share, (n, _, _) in zip(shares, own, strict=True))
    lowest, highest = (within * df / stats.chi2.ppf(q, df) for q in (0.975, 0.025))
    low = max(variance - within + lowest, lowest * (runs - len(strata)) / (runs - 1))
    high = variance - within + highest
    slopes = [n * (m - mean) / (runs - 1) / variance - n / runs / mean for n, m, _ in own]
    moved = 1.959964**2 * sum(slope**2 * v / n for slope, (n, _, v) in zip(slopes, own, strict=True))
    below, above = (np.log(end / variance) / 2 for end in (low, high))
    cv = variance**0.5 / mean
    return [cv * np.exp(-((below**2 + moved) ** 0.5)), cv * np.exp((above**2 + moved) ** 0.5)]


@pytest.mark.parametrize("seed", range(1, 20))
def test_the_interval_of_a_cv_is_that_of_other_code(macros: duckdb.DuckDBPyConnection, seed: int) -> None:
    draw = np.random.default_rng(seed)
    strata = [draw.uniform(1, 10**seed, draw.integers(3, 6)).tolist() for _ in range(draw.integers(1, 4))]
    assert interval(macros, strata, "cell_cv_interval") == pytest.approx(compute_cv_interval(strata), rel=1e-3)


def test_the_interval_of_a_cv_by_hand(macros: duckdb.DuckDBPyConnection) -> None:
    # 9, 10, 11: CV 0.1. Chi-square of 2 degrees of freedom is -2 ln(1 - q): 7.37776 and 0.0506356, so the variance is
    # 0.271085 to 39.4979 times itself: half the logarithms are -0.652648 and 1.838122. The mean moves by 1.959964 · 0.1
    # / √3 = 0.113159.
    low, high = (0.652648**2 + 0.113159**2) ** 0.5, (1.838122**2 + 0.113159**2) ** 0.5
    expected = [0.1 * np.exp(-low), 0.1 * np.exp(high)]
    assert interval(macros, [[9, 10, 11]], "cell_cv_interval") == pytest.approx(expected, rel=1e-3)


def test_the_interval_of_a_cv_holds_the_cv(macros: duckdb.DuckDBPyConnection) -> None:
    assert interval(macros, [[10] * 5, [20] * 5], "cell_cv_interval") == pytest.approx([0.35136, 0.35136], abs=1e-5)
    for sizes in itertools.product((2, 3, 5), repeat=2):
        draw = np.random.default_rng(sizes)
        strata = [draw.lognormal(0, 1, size).tolist() for size in sizes]
        low, high = interval(macros, strata, "cell_cv_interval")
        values = [value for stratum in strata for value in stratum]
        assert 0 < low < statistics.stdev(values) / statistics.mean(values) < high


@pytest.fixture(scope="module")
def coverages() -> list[Coverage]:
    return simulate()


@pytest.mark.slow
@pytest.mark.parametrize("statistic", NAMES)
@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_95_percent_intervals_hold_the_truth_in_95_percent(
    coverages: list[Coverage], statistic: str, shape: str
) -> None:
    # A bootstrap of percentiles covers 60 to 90 %.
    shares = [100 * one.share for one in coverages if (one.statistic, one.shape) == (statistic, shape)]
    assert len(shares) == len(CELLS)
    assert all(92.5 <= share <= 97.5 for share in shares), shares


def test_runs_that_stall_are_covered_by_ratios_only(coverages: list[Coverage]) -> None:
    # Nine of ten runs say nothing of the tenth. Of two algorithms that both stall, the ratio is as if they did not.
    for one in coverages:
        if one.shape == "one run in ten stalls":
            assert (one.share < 0.9) == (one.statistic in ("mean", "cv")), one
            assert one.statistic in ("mean", "cv") or one.share > 0.95, one


def test_the_methods_page_says_how_often_intervals_hold_the_truth(coverages: list[Coverage]) -> None:
    page = (ROOT / "reports/methods.qmd").read_text(encoding="utf-8")
    expected = format_coverage(coverages)
    shown = [
        line for line in page.splitlines() if line.startswith(("| Interval of", *(f"| {n} |" for n in NAMES.values())))
    ]
    assert [re.sub(r"\d+", "", line) for line in shown] == [
        re.sub(r"\d+", "", line) for line in expected if "--" not in line
    ]
    for line, simulated in zip(shown[1:], expected[2:], strict=True):
        for one, other in zip(re.findall(r"\b\d+\b", line), re.findall(r"\b\d+\b", simulated), strict=True):
            assert abs(int(one) - int(other)) <= 1, simulated
