"""How many runs a comparison takes: against hand-worked values, textbook tables, and simulation."""

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ccreport.__main__ import main
from ccreport.summarise.statistics.power import count_runs, find_least_ratio, find_power
from ccreport.trace.plan_runs import CONDITIONS, plan_comparison

COUNTED = ("needed_runs_count", "runs_count", "shown_pct", "cv_pct")


@pytest.mark.parametrize(
    ("effect", "is_paired", "runs"),
    # Cohen, table 2.4.1, two-sided 0.05, power 0.80: d = 0.2, 0.5, 0.8, 1.0, 1.4 take 393, 64, 26, 17, 9 of each.
    # Of pairs d = 0.5 and 1.0 take 34 and 10.
    [
        (0.2, False, 394),
        (0.5, False, 64),
        (0.8, False, 26),
        (1.0, False, 17),
        (1.4, False, 10),
        (0.5, True, 34),
        (1.0, True, 10),
    ],
)
def test_the_numbers_of_textbooks(effect: float, is_paired: bool, runs: int) -> None:
    assert abs((count_runs(math.exp(effect), 1.0, 0.8, is_paired=is_paired) or 0) - runs) <= 1


@pytest.mark.parametrize("is_paired", [False, True])
def test_power_is_what_simulated_archives_have(is_paired: bool) -> None:
    draws = np.random.default_rng(1)
    spread, ratio, runs, trials = 0.1, 1.12, 6, 4000
    first = draws.normal(math.log(ratio), spread, (trials, runs))
    if is_paired:
        statistic = first.mean(1) / (first.std(1, ddof=1) / math.sqrt(runs))
        bound = 2.5706  # t of 5 degrees of freedom, 0.975
    else:
        second = draws.normal(0, spread, (trials, runs))
        pooled = np.sqrt((first.var(1, ddof=1) + second.var(1, ddof=1)) / 2)
        statistic = (first.mean(1) - second.mean(1)) / (pooled * math.sqrt(2 / runs))
        bound = 2.2281  # of 10
    found = float(np.mean(np.abs(statistic) > bound))
    assert find_power(ratio, spread, runs, is_paired=is_paired) == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize("is_paired", [False, True])
@pytest.mark.parametrize("spread", [0.0001, 0.01, 0.0867, 0.5, 1.0])
@pytest.mark.parametrize("runs", [3, 5, 40])
def test_the_least_ratio_is_the_one_that_the_runs_are_enough_for(spread: float, runs: int, is_paired: bool) -> None:
    least = find_least_ratio(spread, runs, 0.8, is_paired=is_paired)
    assert least is not None
    assert find_power(1 + (least - 1) * 0.98, spread, runs, is_paired=is_paired) < 0.8
    assert find_power(1 + (least - 1) * 1.02, spread, runs, is_paired=is_paired) > 0.8


def test_what_no_number_of_runs_shows_has_none() -> None:
    assert find_least_ratio(0.05, 1, 0.8, is_paired=False) is None
    assert count_runs(1.0001, 1.0, 0.8, is_paired=False) is None


def test_runs_that_do_not_vary_show_everything() -> None:
    assert count_runs(1.05, 0.0, 0.8, is_paired=False) == 2


def plan(first: list[float], second: list[float], *, is_paired: bool) -> dict[str, Any]:
    row = {"is_paired": is_paired, "first_values": first, "second_values": second}
    return plan_comparison(row, 1.05, 0.8)


def test_the_variation_is_pooled_or_that_of_pairs() -> None:
    # Logarithms 0, 0.2 and 0, 0.4: variances 0.02 and 0.08, pooled 0.05.
    alone = plan([1.0, math.exp(0.2)], [1.0, math.exp(0.4)], is_paired=False)
    assert alone["cv_pct"] == round(100 * math.sqrt(math.expm1(0.05)), 2)
    assert alone["needed_runs_count"] == count_runs(1.05, math.sqrt(0.05), 0.8, is_paired=False)
    # Differences of pairs 0 and -0.2: variance 0.02.
    paired = plan([1.0, math.exp(0.2)], [1.0, math.exp(0.4)], is_paired=True)
    assert paired["cv_pct"] == round(100 * math.sqrt(math.expm1(0.02)), 2)
    assert (paired["runs_count"], alone["runs_count"]) == (2, 2)


def test_one_run_says_nothing_of_variation() -> None:
    told = plan([1.0], [2.0, 3.0], is_paired=False)
    assert [told[name] for name in COUNTED] == [None, 1, None, None]


def test_the_command_prints_what_differs_between_comparisons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "archive.duckdb"
    constant = ", ".join(f"NULL AS {name}" for name in CONDITIONS if name not in ("rtt_ms", "flows_count"))
    with duckdb.connect(path) as connection:
        connection.execute(f"""
            CREATE TABLE comparisons AS
            SELECT 'goodput_bps' AS measure, {constant}, 16 AS flows_count, rtt_ms::DOUBLE AS rtt_ms,
                'BBR' AS first_algorithm,
                'CUBIC' AS second_algorithm, FALSE AS is_paired, [1.0, 1.1, 1.2]::DOUBLE[] AS first_values,
                [2.0, 2.2, lowest]::DOUBLE[] AS second_values
            FROM (VALUES (10.0, 2.4), (80.0, 2.1), (90.0, 0.0)) AS paths (rtt_ms, lowest)
        """)
    assert main(["plan_runs", "--database", str(path)]) == 0
    head, _, names, *rows = capsys.readouterr().out.splitlines()
    assert head == "goodput_bps: runs of each algorithm that show 5 % with a probability of 0.8"
    assert names.strip("| ").split() == [*COUNTED, "algorithms", "condition"]
    # Of values of 0 no ratio can be told.
    assert [row.split()[-3:-1] for row in rows if "CUBIC" in row] == [["rtt_ms", "10"], ["rtt_ms", "80"]]
    assert main(["plan_runs", "--database", str(path), "--measure", "nosuch"]) == 1
    assert "no comparison is by nosuch; there are: goodput_bps" in capsys.readouterr().err
    assert main(["plan_runs", "--database", str(path), "--power", "2"]) == 1
