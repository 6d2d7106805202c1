"""How many runs a comparison takes, as the command prints it."""

import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ccreport.__main__ import main
from ccreport.summarise.statistics.contrasts import contrast_strata, count_runs, find_least_effect
from ccreport.trace.plan_runs import plan_comparison

COUNTED = ("needed_runs_count", "strata_count", "runs_count", "shown_pct")


def make_row(first: list[float], second: list[float], *, is_paired: bool = False) -> dict[str, Any]:
    strata = [{"is_paired": is_paired, "first": first, "second": second}]
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


def test_one_run_says_nothing_of_variation() -> None:
    told = plan_comparison(make_row([1.0], [2.0, 3.0]), 1.05, 0.8, 0)
    assert [told[name] for name in COUNTED] == [None, 1, 1, None]


def test_the_command_prints_the_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "archive.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("""
            CREATE TABLE comparisons AS
            SELECT 'table_2_testbed' AS table_name, 'goodput_bps' AS measure, question, 'BBR' AS first_algorithm,
                'CUBIC' AS second_algorithm, 1 AS strata_count, 3 AS first_runs_count, 3 AS second_runs_count,
                5.0::DOUBLE AS equal_within_pct, 0.0::DOUBLE AS added_ratio,
                [{'is_paired': FALSE, 'first': [1.0, 1.1, 1.2]::DOUBLE[],
                    'second': [2.0, 2.2, lowest]::DOUBLE[]}] AS strata
            FROM (VALUES ('near', 2.4), ('far', 2.1), ('stalled', 0.0)) AS questions (question, lowest)
        """)
    assert main(["plan_runs", "--database", str(path)]) == 0
    head, _, names, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith(
        "goodput_bps: runs of each algorithm in each stratum that show 5 % with a probability of 0.8"
    )
    assert names.strip("| ").split() == [*COUNTED, "algorithms", "table_name", "question"]
    # Of a run that moved nothing there is no ratio.
    assert [row.split()[1] == "null" for row in rows if "CUBIC" in row] == [False, False, True]
    assert main(["plan_runs", "--database", str(path), "--measure", "nosuch"]) == 1
    assert "no comparison is by nosuch; there are: goodput_bps" in capsys.readouterr().err
    assert main(["plan_runs", "--database", str(path), "--power", "2"]) == 1
