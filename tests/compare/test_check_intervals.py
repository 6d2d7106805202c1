"""Intervals of several checks, of extremes and of ratios of ratios."""

import duckdb
import numpy as np
import polars as pl
import pytest
from archives import ROOT
from scipy import stats

from ccreport.compare.intervals import Measured, find_extreme, is_within, widen
from ccreport.core.declarations import read_query
from ccreport.core.evaluation import list_evaluations, load_evaluation
from ccreport.core.words import WORDS, bound_check

EVALUATIONS = [name for name in list_evaluations() if name != "generic"]


def test_an_interval_of_two_checks_has_half_the_tail() -> None:
    # t of 4 degrees of freedom: 2.77645 at 0.975, 3.49541 at 0.9875.
    widened = widen(Measured(2.0, 1.0, 4.0, 5, 4.0), 2)
    factor = 2 ** (3.49541 / 2.77645)
    assert (widened.low, widened.high) == pytest.approx((2 / factor, 2 * factor), rel=1e-5)


def test_an_interval_below_zero_is_widened_on_both_sides_as_far() -> None:
    widened = widen(Measured(0.5, -0.5, 1.5, 5, 4.0), 2)
    reach = 3.49541 / 2.77645
    assert (widened.low, widened.high) == pytest.approx((0.5 - reach, 0.5 + reach), rel=1e-5)


def test_nothing_of_many_keeps_poissons_limit() -> None:
    # -ln(0.025 / 3) of 1000, where one alone has -ln(0.025) of them.
    widened = widen(Measured(0.0, 0.0, 3.688879e-3, 5), 3)
    assert (widened.low, widened.high) == (0.0, pytest.approx(4.787492e-3, rel=1e-5))


def test_an_extreme_over_cells_by_hand() -> None:
    # Two cells: t of 4 degrees of freedom at 0.9875, as above: 1 ×/÷ f and 3 ×/÷ f.
    factor = 2 ** (3.49541 / 2.77645)
    cells = [Measured(1.0, 0.5, 2.0, 5, 4.0), Measured(3.0, 1.5, 6.0, 6, 4.0)]
    least, greatest, spread = (find_extreme(cells, name) for name in ("least", "greatest", "range"))
    assert (least.value, least.low, least.high, least.runs) == pytest.approx((1.0, 1 / factor, factor, 5), rel=1e-5)
    assert (greatest.value, greatest.low, greatest.high) == pytest.approx((3.0, 3 / factor, 3 * factor), rel=1e-5)
    assert (spread.value, spread.low, spread.high) == pytest.approx((3.0, 1.0, 3 * factor**2), rel=1e-5)


def test_a_cell_without_an_interval_leaves_the_extreme_without_one() -> None:
    cells = [Measured(1.0, 0.5, 2.0, 5, 4.0), Measured(3.0, None, None, 2)]
    assert is_within(find_extreme(cells, "greatest"), 0, 100) is None
    alone = find_extreme(cells[:1], "range")
    # A single cell has runs, and nothing to compare them with.
    assert (alone.value, alone.runs) == (None, cells[0].runs)


@pytest.mark.parametrize("extreme", ["least", "greatest", "range"])
def test_intervals_of_extremes_cover_the_truth(extreme: str) -> None:
    # Six cells of one truth, where the extreme of the values is always off, and six of others.
    draw = np.random.default_rng(1)
    quantile = stats.t.ppf(0.975, 4)
    for levels in (np.zeros(6), np.linspace(0, 0.5, 6)):
        truth = {"least": levels.min(), "greatest": levels.max(), "range": np.ptp(levels)}[extreme]
        hits = naive = 0
        for _ in range(400):
            logs = levels[:, None] + draw.normal(0, 0.1, (6, 5))
            means, reach = logs.mean(1), quantile * logs.std(1, ddof=1) / np.sqrt(5)
            cells = [
                Measured(*np.exp([mean, mean - width, mean + width]), 5, 4.0)
                for mean, width in zip(means, reach, strict=True)
            ]
            found = find_extreme(cells, extreme)
            hits += found.low <= np.exp(truth) <= found.high
            at = means.argmin() if extreme == "least" else means.argmax()
            naive += abs(means[at] - truth) <= reach[at]
        assert hits / 400 >= 0.93
        if extreme != "range" and not levels.any():
            # What the interval of the extreme cell itself has.
            assert naive / 400 < 0.92


def test_all_checks_of_a_claim_hold_at_once() -> None:
    # Four checks of which all are true: without widening one in six claims has one whose interval misses.
    draw = np.random.default_rng(2)
    values = draw.normal(0, 1, (2000, 4, 5))
    means, errors = values.mean(2), values.std(2, ddof=1) / np.sqrt(5)
    reach = stats.t.ppf(0.975, 4) * errors
    missed = [
        any(
            not one.low <= 0 <= one.high
            for one in (widen(Measured(m, m - r, m + r, 5, 4.0), 4) for m, r in zip(*row, strict=True))
        )
        for row in zip(means[:300], reach[:300], strict=True)
    ]
    assert np.mean(missed) <= 0.075
    assert np.mean((abs(means) > reach).any(1)) > 0.15


@pytest.mark.slow
def test_a_ratio_of_ratios_covers_the_truth() -> None:
    # Two algorithms at once in five runs at each of two round-trip times; the lead grows from 2 to 3 times.
    draw = np.random.default_rng(3)
    struct = "{{'run': {{'condition': '{0}', 'id': n::VARCHAR}}, 'x': {1}::DOUBLE, 'y': 1.0::DOUBLE}}"
    query = f"""
        SELECT quotient_of_quotients(
            quotient_of(list({struct.format("a", "a1")}), list({struct.format("a", "a2")})),
            quotient_of(list({struct.format("b", "b1")}), list({struct.format("b", "b2")}))
        ) FROM drawn GROUP BY cell ORDER BY cell
    """
    count = 300
    rates = np.exp(draw.normal(0, 0.1, (4, count * 5))) * np.array([[30.0], [10.0], [20.0], [10.0]])
    with duckdb.connect() as connection:
        connection.execute(read_query("macros"))
        drawn = {"cell": np.repeat(np.arange(count), 5), "n": np.tile(np.arange(5), count)}
        drawn |= dict(zip(("a1", "a2", "b1", "b2"), rates, strict=True))
        connection.register("drawn", pl.DataFrame(drawn).to_arrow())
        found = [row for (row,) in connection.execute(query).fetchall()]
    assert np.mean([one["low"] <= 1.5 <= one["high"] for one in found]) == pytest.approx(0.95, abs=0.035)
    # By hand: variances and degrees of freedom of both leads.
    first = rates.reshape(4, count, 5)[:, 0]
    parts = [first[i] / first[i].sum() - first[i + 1] / first[i + 1].sum() for i in (0, 2)]
    variances = [5 * part.var(ddof=1) for part in parts]
    df = sum(variances) ** 2 / sum(variance**2 / 4 for variance in variances)
    half = stats.t.ppf(0.975, df) * np.sqrt(sum(variances))
    assert found[0]["df"] == pytest.approx(df, rel=1e-3)
    assert np.log(found[0]["high"] / found[0]["value"]) == pytest.approx(half, rel=1e-3)


def test_words_that_exclude_each_other_do() -> None:
    # Nothing is similar and a clear winner; between them is what is a little more.
    assert WORDS["similar"].bound(1)[1] < WORDS["clear winner"].bound(1)[0]
    assert WORDS["not more"].bound(1)[1] <= WORDS["more"].bound(1)[0]
    assert bound_check({"word": "about", "paper": 4.0}) == {"at_least": pytest.approx(8 / 3), "at_most": 6.0}
    assert bound_check({"word": "over", "of": 10.0, "paper": 8.3}) == {"at_least": 10.0}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_each_bound_stands_beside_the_words_it_is_read_from(name: str) -> None:
    for claim, facts in load_evaluation(ROOT / "evaluations" / f"{name}.yaml")["claims"].items():
        for check in facts["checks"]:
            assert check.get("quote"), (claim, check["name"])
            assert "word" in check or any(digit.isdigit() for digit in check["quote"]), (claim, check["name"])


@pytest.mark.parametrize("name", EVALUATIONS)
def test_publications_fulfil_their_own_claims(name: str) -> None:
    # The slides' 0.15 and 1.25 Gbit/s are 8.3 times, where the text has more than 10.
    known = {"cubic_beside_versions"}
    for claim, facts in load_evaluation(ROOT / "evaluations" / f"{name}.yaml")["claims"].items():
        for check in facts["checks"]:
            paper = check.get("paper")
            if paper is not None and claim not in known:
                low, high = check.get("at_least", -np.inf), check.get("at_most", np.inf)
                assert low <= paper <= high, (claim, check["name"])


ALGORITHM_RUNS = """
    CREATE TABLE algorithm_runs AS
    SELECT 'r' AS run_id, 'c' AS condition_id, 'testbed' AS path_class, 'steady' AS purpose, TRUE AS is_counted,
        NULL::DOUBLE AS bottleneck_bps, NULL::DOUBLE AS nic_bps, NULL::DOUBLE AS goodput_bps,
        NULL::DOUBLE AS throughput_bps, 0::BIGINT AS retransmits_count, 1.0::DOUBLE AS segments_count
"""


@pytest.mark.parametrize("macro", ["pooled_cvs", "within_cvs"])
def test_a_ratio_of_mean_cvs_covers_the_truth(macro: str) -> None:
    # Three cells of two conditions of five runs; rates vary by 20 % and 5 %, conditions lie 1 to 2 times that apart.
    draw = np.random.default_rng(4)
    count, sizes = 300, (3, 2, 5)
    apart = np.array([-0.5, 0.5])[None, None, :, None] * np.array([1.0, 1.5, 2.0])[None, :, None, None]
    varied = {}
    truths = {}
    for name, cv in (("a", 0.2), ("b", 0.05)):
        levels = 1 + apart * cv
        drawn = levels * (1 + draw.normal(0, cv, (count, *sizes)))
        varied[name] = [cells.tolist() for cells in drawn]
        # Of ten runs, five at each level, as a sample's variance expects it.
        within = (levels[0, :, :, 0] ** 2).mean(1) * cv**2
        between = levels[0, :, :, 0].var(1) * 10 / 9
        pooled = np.sqrt(within * 1.0 + between).mean()
        truths[name] = pooled if macro == "pooled_cvs" else cv
    with duckdb.connect() as connection:
        connection.execute(read_query("macros"))
        connection.execute(ALGORITHM_RUNS)
        connection.execute(read_query("claims"))
        connection.register("varied", pl.DataFrame({"cell": range(count), **varied}).to_arrow())
        sides = ", ".join(f"flatten(list({macro}({name})))" for name in "ab")
        query = f"""
            SELECT cv_quotient({sides}, 10) FROM (SELECT cell, unnest(a) AS a, unnest(b) AS b FROM varied) GROUP BY cell
        """
        found = [row for (row,) in connection.execute(query).fetchall()]
    truth = truths["a"] / truths["b"]
    coverage = np.mean([one["low"] <= truth <= one["high"] for one in found])
    assert len(found) == count
    assert coverage == pytest.approx(0.95, abs=0.045)


def test_a_ratio_of_coefficients_of_variation_does_not_depend_on_the_order_of_cells() -> None:
    # A release is verified against the same bytes, which another order of a sum would change.
    draw = np.random.default_rng(5)
    cells = [{"cv": cv, "weight": 1 / 12, "variance": cv / 9} for cv in draw.uniform(0.001, 0.3, 12)]
    with duckdb.connect() as connection:
        connection.execute(read_query("macros"))
        connection.execute(ALGORITHM_RUNS)
        connection.execute(read_query("claims"))
        orders = [[cells[place] for place in draw.permutation(12)] for _ in range(50)]
        found = {str(connection.execute("SELECT cv_quotient(?, ?, 5)", [one, cells]).fetchone()) for one in orders}
    assert len(found) == 1
