"""How many runs a comparison takes, as the command prints it."""

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ccreport.__main__ import main
from ccreport.summarise.statistics.comparisons import contrast_logarithms
from ccreport.summarise.statistics.contrasts import contrast_strata, count_runs, find_least_effect
from ccreport.trace.plan_runs import plan_comparison
from ccreport.trace.run_noise import RunNoise, find_noise, read_rates

COUNTED = ("needed_runs_count", "needed_s", "duration_s", "strata_count", "runs_count", "shown_pct")


def make_row(first: list[float], second: list[float], *, is_paired: bool = False) -> dict[str, Any]:
    known = {"first_known": [True] * len(first), "second_known": [True] * len(second)}
    strata = [{"is_paired": is_paired, "first": first, "second": second} | known]
    counts = {"first_runs_count": len(first), "second_runs_count": len(second)}
    return {"strata": strata, "added_ratio": 0.0, "strata_count": 1} | counts


@pytest.mark.parametrize("is_paired", [False, True])
def test_the_plan_is_that_of_the_logarithms_at_the_corrected_level(is_paired: bool) -> None:
    first, second = [1.0, 1.1, 1.2], [1.0, 1.02, 0.97]
    strata: Any = [
        {"is_paired": is_paired, "first": [*map(math.log, first)], "second": [*map(math.log, second)]},
    ]
    contrast = contrast_strata(strata)
    plan = plan_comparison(make_row(first, second, is_paired=is_paired), 1.05, 0.8, 10)
    assert plan["needed_runs_count"] == count_runs(contrast, math.log(1.05), 0.8, 0.005)
    assert plan["needed_runs_count"] > (count_runs(contrast, math.log(1.05), 0.8, 0.05) or 0)
    assert contrast.spread is not None
    least = find_least_effect(contrast.spread, 0.8, 0.005)
    assert plan["shown_pct"] == (None if least is None else round(100 * math.expm1(least), 2))


def add_rates(connection: duckdb.DuckDBPyConnection, rates: dict[tuple[str, str], list[float]]) -> None:
    """Make the tables of runs over time, in steps of 0.5 s; `rates` are by run and algorithm."""
    connection.execute("""
        CREATE TABLE comparisons_runs (table_name VARCHAR, question VARCHAR, measure VARCHAR, run_id VARCHAR,
            algorithm VARCHAR, value DOUBLE, sharing VARCHAR);
        CREATE TABLE flows (run_id VARCHAR, flow_id VARCHAR, cc VARCHAR);
        CREATE TABLE algorithms (cc VARCHAR, algorithm VARCHAR);
        INSERT INTO algorithms VALUES ('bbr', 'BBR'), ('cubic', 'CUBIC');
        CREATE TABLE intervals (run_id VARCHAR, flow_id VARCHAR, interval_number INTEGER, start_s DOUBLE, end_s DOUBLE,
            interval_bps DOUBLE, is_omitted BOOLEAN)
    """)
    runs = [run for run, _ in rates]
    for (run, algorithm), values in rates.items():
        sharing = "both" if runs.count(run) > 1 else "alone"
        row = ["table_2_testbed", "near", "goodput_bps", run, algorithm, 1.0, sharing]
        connection.execute("INSERT INTO comparisons_runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        # Two flows, each with half of the rate.
        for flow in ("1", "2"):
            name = f"{algorithm}{flow}"
            connection.execute("INSERT INTO flows VALUES (?, ?, ?)", [run, name, algorithm.lower()])
            steps = [[run, name, n, n / 2, n / 2 + 0.5, value / 2, False] for n, value in enumerate(values)]
            # The last one, cut short, does not count.
            steps.append([run, name, len(values), len(values) / 2, len(values) / 2 + 0.01, 9e9, False])
            connection.executemany("INSERT INTO intervals VALUES (?, ?, ?, ?, ?, ?, ?)", steps)


@pytest.mark.parametrize("is_paired", [False, True])
def test_noise_within_runs_is_that_of_their_rates(is_paired: bool) -> None:
    random = np.random.default_rng(5)
    names = [("BBR", "run" if is_paired else "first"), ("CUBIC", "run" if is_paired else "second")]
    rates = {
        (f"{run}{number}", algorithm): list(1e6 * (1 + 0.1 * random.normal(size=200)))
        for algorithm, run in names
        for number in range(4)
    }
    row = make_row([1.0] * 4, [1.0] * 4, is_paired=is_paired)
    row |= {"first_algorithm": "BBR", "second_algorithm": "CUBIC", "table_name": "table_2_testbed", "question": "near"}
    with duckdb.connect() as connection:
        add_rates(connection, rates)
        noise = find_noise(row, read_rates(connection, "goodput_bps"))
        assert read_rates(connection, "retransmit_ratio") is None
    assert noise is not None
    # Independent steps: 0.01 over 200 of them, of each algorithm, over 4 runs or pairs.
    assert noise.duration_s == 100
    assert noise.variance == pytest.approx(2 * 0.01 / 200 / 4, rel=0.25)


def test_a_plan_in_seconds_is_that_of_the_variance() -> None:
    row = make_row([1.0, 1.1, 1.2], [1.0, 1.02, 0.97])
    contrast = contrast_logarithms(row)
    assert contrast is not None
    assert contrast.spread is not None
    least = find_least_effect(contrast.spread)
    assert least is not None
    factor = (math.log(1.05) / least) ** 2
    for share, needed_s in ((1.0, 10 / factor), (0.5, None)):
        plan = plan_comparison(row, 1.05, 0.8, 1, RunNoise(10.0, share * contrast.spread.variance))
        assert plan["duration_s"] == 10
        assert plan["needed_s"] == (None if needed_s is None else pytest.approx(needed_s, abs=0.1))


def test_one_run_says_nothing_of_variation() -> None:
    told = plan_comparison(make_row([1.0], [2.0, 3.0]), 1.05, 0.8, 0)
    assert [told[name] for name in COUNTED] == [None, None, None, 1, 1, None]


def test_the_command_prints_the_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "archive.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("""
            CREATE TABLE runs AS SELECT 'r1' AS run_id;
            CREATE TABLE comparisons AS
            SELECT 'table_2_testbed' AS table_name, 'goodput_bps' AS measure, question, 'BBR' AS first_algorithm,
                'CUBIC' AS second_algorithm, 1 AS strata_count, 3 AS first_runs_count, 3 AS second_runs_count,
                5.0::DOUBLE AS equal_within_pct, 0.0::DOUBLE AS added_ratio,
                [{'is_paired': FALSE, 'first': [1.0, 1.1, 1.2]::DOUBLE[],
                    'second': [2.0, 2.2, lowest]::DOUBLE[],
                    'first_known': [TRUE, TRUE, TRUE], 'second_known': [TRUE, TRUE, TRUE]}] AS strata
            FROM (VALUES ('near', 2.4), ('far', 2.1), ('stalled', 0.0)) AS questions (question, lowest)
        """)
        add_rates(connection, {})
    assert main(["plan_runs", "--database", str(path)]) == 0
    head, _, names, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith(
        "goodput_bps: runs of each algorithm in each stratum, or their duration, that show 5 % with a probability of"
    )
    assert names.strip("| ").split() == [*COUNTED, "algorithms", "table_name", "question"]
    assert rows[-1].startswith("null: too few runs to plan from")
    # Of a run that moved nothing there is no ratio.
    assert [row.split()[1] == "null" for row in rows if "CUBIC" in row] == [False, False, True]
    assert {row.split()[3] for row in rows if "CUBIC" in row} == {"null"}
    assert main(["plan_runs", "--database", str(path), "--measure", "nosuch"]) == 1
    assert "no comparison is by nosuch; there are: goodput_bps" in capsys.readouterr().err
    assert main(["plan_runs", "--database", str(path), "--power", "2"]) == 1
