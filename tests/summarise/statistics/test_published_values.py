import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archives import ROOT, summarise_one
from condition_runs import Rows, build_database, gather, make_run
from scipy import stats

from ccreport.core.declared_files import DeclarationError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table
from ccreport.summarise.database import connect
from ccreport.summarise.statistics.published_values import Interval, judge, predict
from ccreport.trace.rows.load_trace import load_trace, recompute_row

EVALUATION = ROOT / "evaluations/brakmo-bbr.yaml"
TABLE_5 = "Table 5, share of packets retransmitted at 10 Mbit/s and 40 ms"


def make_queue(number: int, pct: float, packets: int = 64, cc: str = "bbr", **facts: Any) -> Rows:
    """Return a run of six flows that retransmit so many per cent of 10,000 packets each through such a queue."""
    path = {"bottleneck_bps": 10e6, "rtt_ms": 40.0, "limit_packets_count": packets, "condition_id": f"{cc}{packets}"}
    tables = make_run(number, {cc: [1.0] * 6}, **path | facts)
    counts = {"segments_count": 10_000.0, "retransmits_count": round(pct * 100), "retransmit_ratio": pct / 100}
    for flow in tables["flows"]:
        flow |= {"retransmit_source": "ss", **counts}
    return tables


def summarise(folder: Path, *runs: Rows) -> dict[str, dict[str, Any]]:
    """Return the rows of Table 5 by cell."""
    summarise_one("published_values", EVALUATION, build_database(folder, gather(*runs), EVALUATION), folder)
    rows = read_table("published_values", [folder / "published_values.parquet"]).rows(named=True)
    return {row["cell"]: row for row in rows if row["exhibit"] == TABLE_5}


def test_a_published_number_is_one_that_such_runs_could_give(tmp_path: Path) -> None:
    runs = [make_queue(n, pct) for n, pct in enumerate([10.8, 11.0, 11.2])]
    runs += [make_queue(n, pct, packets=500) for n, pct in enumerate([4.4, 4.5, 4.6], 10)]
    runs += [make_queue(n, pct, packets=500, cc="cubic") for n, pct in enumerate([0.2, 0.5, 1.2], 20)]
    # Another path, and both algorithms at once, are not of the table.
    runs += [make_queue(30, 50.0, rtt_ms=10.0), make_queue(31, 50.0, mode="both")]
    rows = summarise(tmp_path, *runs)
    assert len(rows) == 20
    row = rows["queue of 64 packets, 6 flows, BBR"]
    assert (row["published_value"], row["runs_count"], row["published_verdict"]) == (11.0, 3, "consistent")
    assert (row["found_mean"], row["value_ratio"]) == (pytest.approx(11.0), pytest.approx(1.0))
    # Of the logarithm, a standard deviation of 0.2/11 and Student's t of 2 at 0.975 of 4.3027; of the mean of three,
    # and of one run more.
    assert row["found_mean_high"] == pytest.approx(11 * math.exp(4.3027 * 0.2 / 11 / math.sqrt(3)), rel=1e-4)
    assert row["predicted_high"] == pytest.approx(11 * math.exp(4.3027 * 0.2 / 11 * math.sqrt(1 + 1 / 3)), rel=1e-4)
    assert row["predicted_low"] * row["predicted_high"] == pytest.approx(121)
    # 3.8 % was published, and these runs are of 4.5 ± 0.1 %.
    assert rows["queue of 500 packets, 6 flows, BBR"]["published_verdict"] == "inconsistent"
    assert rows["queue of 500 packets, 6 flows, CUBIC"]["published_verdict"] == "undecided"
    missing = rows["queue of 1000 packets, 3 flows, CUBIC"]
    assert (missing["published_value"], missing["runs_count"]) == (1.0, 0)
    assert (missing["found_mean"], missing["published_verdict"]) == (None, "missing here")
    with connect(tmp_path / "archive.duckdb") as connection:
        trace = load_trace(connection, "published_values")
        assert trace.select_runs(row)["run_id"].to_list() == ["r000", "r001", "r002"]
        assert recompute_row(connection, trace, row)["found_mean"] == pytest.approx(11.0)


def test_single_runs_decide_nothing(tmp_path: Path) -> None:
    row = summarise(tmp_path, make_queue(1, 11.0))["queue of 64 packets, 6 flows, BBR"]
    assert (row["found_mean"], row["predicted_low"], row["published_verdict"]) == (
        pytest.approx(11.0),
        None,
        "undecided",
    )


@pytest.mark.parametrize(
    ("predicted", "verdict"),
    [
        ((0.30, 0.36), "consistent"),
        ((0.354, 0.5), "inconsistent"),
        # Meets 0.25 to 0.35, but reaches by a factor of 1.6 to either side.
        ((0.2, 0.512), "undecided"),
        # Nothing was counted: all of it rounds to less than what was published, to that, or some of it does.
        ((0.0, 0.2), "inconsistent"),
        ((0.0, 0.3), "undecided"),
    ],
)
def test_verdicts_allow_for_rounding(predicted: tuple[float, float], verdict: str) -> None:
    assert judge(Interval(*predicted), Interval(0.25, 0.35), 1.5) == verdict


@pytest.mark.parametrize(
    ("printed", "predicted", "verdict"),
    [
        ((80, math.inf), (90, 110), "consistent"),
        ((80, math.inf), (60, 79), "inconsistent"),
        # All of it is in the range, however wide it is.
        ((-math.inf, 10), (1, 9), "consistent"),
        ((-math.inf, 10), (1, 11), "undecided"),
        ((2, 4), (4.1, 4.2), "inconsistent"),
    ],
)
def test_a_range_may_be_open(printed: tuple[float, float], predicted: tuple[float, float], verdict: str) -> None:
    assert judge(Interval(*predicted), Interval(*printed), 1.5) == verdict


def test_nothing_counted_is_what_rounds_to_zero() -> None:
    predicted = predict(0.0, 0.04, 5, 1)
    assert predicted == (0.0, 0.04)
    assert judge(predicted, Interval(0.0, 0.05), 1.5) == "consistent"


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("published_runs", [1, 10])
def test_predictions_hold_the_mean_of_further_runs(runs: int, published_runs: int) -> None:
    draw = np.random.default_rng(1)
    own = np.exp(draw.normal(0, 0.1, size=(2000, runs)))
    further = np.exp(draw.normal(0, 0.1, size=(2000, published_runs))).mean(axis=1)
    means, errors = own.mean(axis=1), own.std(axis=1, ddof=1) / own.mean(axis=1) / math.sqrt(runs)
    highs = means * np.exp(stats.t.ppf(0.975, runs - 1) * errors)
    held = 0
    for mean, high, number in zip(means, highs, further, strict=True):
        predicted = predict(mean, high, runs, published_runs)
        held += predicted is not None and predicted.low <= number <= predicted.high
    # 95 % of 2000, give or take three standard errors.
    assert abs(held / 2000 - 0.95) < 0.015


@pytest.mark.parametrize("cell", ["['CUBIC, CUBIC', 1, 890]", "['CUBIC, CUBIC', [null, null]]", "[[1, 2], 890]"])
def test_cells_that_do_not_fit_their_columns_are_named(tmp_path: Path, cell: str) -> None:
    evaluation = tmp_path / "own.yaml"
    evaluation.write_text(EVALUATION.read_text().replace("['CUBIC, CUBIC', 890]", cell))
    with pytest.raises(DeclarationError, match="lan_rtts"):
        load_evaluation(evaluation)
