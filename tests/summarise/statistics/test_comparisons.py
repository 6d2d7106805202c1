import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import ROOT, summarise_one
from condition_runs import Rows, build_database, gather, make_run

from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table
from ccreport.summarise.database import connect
from ccreport.summarise.statistics.comparisons import add_verdicts
from ccreport.summarise.statistics.correction import correct_holm
from ccreport.summarise.summarise import summarise_tables
from ccreport.trace.explain import load_trace

EVALUATION = ROOT / "evaluations/mininet-bbr2.yaml"
ESNET = ROOT / "evaluations/esnet-dtn.yaml"
OWN = {"job": "buffer_1", "buffer_bytes": 1000}


def summarise(folder: Path, tables: Rows, table: str = "comparisons", evaluation: Path = EVALUATION) -> list[Any]:
    database = build_database(folder, tables, evaluation)
    summarise_one(table, evaluation, database, folder)
    return read_table(table, [folder / f"{table}.parquet"]).rows(named=True)


def compare_rates(folder: Path, *runs: Rows) -> list[dict[str, Any]]:
    """Return the comparisons of the rates of runs."""
    return [row for row in summarise(folder, gather(*runs)) if row["measure"] == "goodput_bps"]


def test_holm_multiplies_by_the_tests_that_are_left() -> None:
    # Sorted 0.01·3 = 0.03, 0.03·2 = 0.06, 0.04·1 = 0.04, which may not be below the one before.
    assert correct_holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])
    assert correct_holm([0.6, 0.9]) == [1.0, 1.0]
    assert correct_holm([]) == []


def test_algorithms_that_sent_at_once_are_pairs_of_one_run(tmp_path: Path) -> None:
    ratios = [2.0, 2.0, 4.0]
    runs = [make_run(n, {"bbr": ratio * (n + 1.0), "cubic": n + 1.0}, **OWN) for n, ratio in enumerate(ratios)]
    (row,) = compare_rates(tmp_path, *runs)
    assert (row["first_algorithm"], row["second_algorithm"], row["is_paired"]) == ("BBR", "CUBIC", True)
    assert (row["first_runs_count"], row["second_runs_count"], row["strata_count"]) == (3, 3, 1)
    # 2, 4, 12 and 1, 2, 3 Mbit/s.
    assert (row["first_mean"], row["second_mean"], row["difference_mean"]) == pytest.approx((6e6, 2e6, 4e6))
    assert row["effect_mean_ratio"] == pytest.approx(2 ** (4 / 3))
    # Logarithms to the base 2: 1, 1, 2, with a standard error of 1/3; Student's t of 2 at 0.975 is 4.3027.
    assert row["effect_low_ratio"] == pytest.approx(2 ** (4 / 3 - 4.3027 / 3), rel=1e-4)
    assert row["effect_high_ratio"] == pytest.approx(2 ** (4 / 3 + 4.3027 / 3), rel=1e-4)
    # t = 4: beyond it lies 1 − 4/√18.
    assert row["p_ratio"] == pytest.approx(1 - 4 / math.sqrt(18))
    assert (row["tests_count"], row["p_holm_ratio"], row["verdict"]) == (1, row["p_ratio"], "undecided")


def test_a_run_without_the_value_of_one_algorithm_is_not_a_pair(tmp_path: Path) -> None:
    runs = [make_run(n, {"bbr": 10.0 + n, "cubic": 4.0}, **OWN) for n in range(3)]
    runs[1]["flows"][1] |= {"goodput_bps": None, "throughput_bps": None}
    (row,) = compare_rates(tmp_path, *runs)
    assert (row["first_runs_count"], row["second_runs_count"]) == (2, 2)
    assert row["difference_mean"] == pytest.approx(7e6)
    assert [row[name] for name in ("effect_low_ratio", "p_ratio", "verdict")] == [None, None, "undecided"]


def test_many_flows_of_a_run_are_one_value(tmp_path: Path) -> None:
    runs = [make_run(n, {"bbr": [1] * 4, "cubic": [1] * 4}, volume_bytes=8000, buffer_bytes=1000) for n in range(3)]
    for number, run in enumerate(runs):
        for flow, time in zip(run["flows"], [1.0, 2.0, 3.0, 2.0, 8.0, 8.0, 8.0, 8.0], strict=True):
            flow |= {"completion_s": time * 1.01**number, "completion_source": "capture"}
    (row,) = summarise(tmp_path, gather(*runs))
    # Means of flows 2 and 8 s, in three runs.
    assert (row["measure"], row["first_runs_count"], row["is_paired"]) == ("completion_s", 3, True)
    assert (row["effect_mean_ratio"], row["verdict"]) == (pytest.approx(0.25), "BBR faster")


def test_completion_times_of_the_sender_do_not_stand_beside_those_of_a_capture(tmp_path: Path) -> None:
    run = make_run(1, {"bbr": [1, 1], "cubic": [1, 1]}, volume_bytes=8000, buffer_bytes=1000)
    for flow, time, source in zip(run["flows"], [1.0, 9.0, 2.0, 9.0], ["capture", "sender"] * 2, strict=True):
        flow |= {"completion_s": time, "completion_source": source}
    (row,) = summarise(tmp_path, run)
    assert (row["first_mean"], row["second_mean"]) == (1, 2)


def test_only_runs_under_the_same_conditions_are_compared(tmp_path: Path) -> None:
    others: list[dict[str, Any]] = [
        {"host": "10.0.0.3"},
        {"rtt_ms": 20.0},
        {"loss_pct": 1.0},
        {"nic_bps": 1e9},
        {"pacing_bps": 1e6},
        {"bottleneck_bps": 2e6},
        {"background_udp_bps": 1e6},
        {"parameter_value": "x"},
        {"buffer_bytes": 2000},
    ]
    runs = [make_run(0, {"bbr": 10.0}, **OWN)]
    runs += [make_run(n, {"cubic": 4.0}, **OWN | other) for n, other in enumerate(others, 1)]
    assert summarise(tmp_path, gather(*runs)) == []


def test_measured_rtts_of_one_destination_are_one_stratum(tmp_path: Path) -> None:
    runs = [
        make_run(n, {cc: 10.0}, **OWN, rtt_ms=rtt_ms, rtt_source="ss")
        for n, (cc, rtt_ms) in enumerate([("bbr", 10.2), ("bbr", 10.4), ("cubic", 10.1), ("cubic", 10.3)])
    ]
    (row,) = compare_rates(tmp_path, *runs)
    assert (row["first_runs_count"], row["second_runs_count"], row["strata_count"]) == (2, 2, 1)


@pytest.mark.parametrize("runs_count", [1, 2])
def test_one_or_two_runs_decide_nothing(tmp_path: Path, runs_count: int) -> None:
    (row,) = compare_rates(tmp_path, *(make_run(n, {"bbr": 10.0 + n, "cubic": 1.0}, **OWN) for n in range(runs_count)))
    assert row["effect_mean_ratio"] > 1
    names = ("effect_low_ratio", "difference_mean_low", "p_ratio", "p_holm_ratio", "ahead_algorithm")
    assert [row[name] for name in (*names, "least_effect_pct", "runs_to_show_count")] == [None] * 7
    assert (row["verdict"], row["tests_count"]) == ("undecided", 0)


def test_an_archive_without_such_runs_has_no_comparison(tmp_path: Path) -> None:
    assert summarise(tmp_path, make_run(1, {"bbr": 10.0})) == []
    with connect(tmp_path / "archive.duckdb") as connection:
        assert add_verdicts(connection.sql("FROM comparisons").pl()).is_empty()


def make_cell(first: int, rates: dict[str, list[float]], **facts: Any) -> list[Rows]:
    """Return runs of algorithms alone on the testbed, numbered from `first`."""
    pairs = [(cc, rate) for cc, of_cc in rates.items() for rate in of_cc]
    return [
        make_run(n, {cc: rate}, rtt_source="nominal", nic_bps=1e9, **facts) for n, (cc, rate) in enumerate(pairs, first)
    ]


def test_a_question_is_a_row_of_a_published_table_over_its_paths(tmp_path: Path) -> None:
    # BBR is 1.5 times as fast over both paths; CUBIC has more runs over the faster one, which is not an effect.
    runs = make_cell(0, {"bbr": [15.0, 15.0, 15.3], "cubic": [10.0, 10.0, 10.2]}, rtt_ms=20.0)
    runs += make_cell(20, {"bbr": [150.0, 151.0, 153.0], "cubic": [100.0, 101.0, 102.0] * 3}, rtt_ms=10.0)
    # Lossy: no difference. With another loss: CUBIC has no runs.
    runs += make_cell(60, {"bbr": [10.0, 10.1, 10.0], "cubic": [10.0, 10.0, 10.1]}, loss_pct=1.0)
    runs += make_cell(80, {"bbr": [10.0]}, loss_pct=2.0)
    tables = gather(*runs)
    rows = [row for row in summarise(tmp_path, tables, evaluation=ESNET) if row["table_name"] == "table_2_testbed"]
    assert [(row["question"], row["strata_count"], row["verdict"]) for row in rows] == [
        ("no loss, alone, 1 flow, RTT < 30 ms", 2, "BBR faster"),
        ("1 % loss, alone, 1 flow, RTT < 30 ms", 1, "equal within ±5 %"),
    ]
    assert rows[0]["effect_mean_ratio"] == pytest.approx(1.5, rel=0.005)
    assert (rows[0]["first_runs_count"], rows[0]["second_runs_count"], rows[0]["tests_count"]) == (6, 12, 2)
    # The page of the row lists these runs.
    with connect(tmp_path / "archive.duckdb") as connection:
        assert load_trace(connection, "comparisons").select_runs(rows[0]).height == 18


def test_bold_type_follows_the_verdict_alone(tmp_path: Path) -> None:
    # Intervals do not overlap in either row, but 2 % are within what counts as equal.
    runs = make_cell(0, {"bbr": [10.2, 10.2, 10.21], "cubic": [10.0, 10.0, 10.01]})
    runs += make_cell(20, {"bbr": [15.0, 15.1, 15.2], "cubic": [10.0, 10.1, 10.2]}, loss_pct=1.0)
    database = build_database(tmp_path, gather(*runs), ESNET)
    summarise_one("table_2_testbed", ESNET, database, tmp_path)
    text = (tmp_path / "table_2_testbed.html").read_text()
    assert text.count("<strong>") == 1
    assert "<strong>15.10</strong>" in text
    assert r"\textbf{15.10}" in (tmp_path / "table_2_testbed.tex").read_text()


def test_a_run_without_retransmits_has_a_ratio_too(tmp_path: Path) -> None:
    runs = make_cell(0, {"bbr": [10.0] * 3, "cubic": [10.0] * 3})
    for run, retransmits in zip(runs, [0, 0, 0, 10, 10, 10], strict=True):
        run["flows"][0] |= {
            "retransmits_count": retransmits,
            "segments_count": 1000.0,
            "retransmit_ratio": retransmits / 1000,
            "retransmit_source": "ss",
        }
    (row,) = (r for r in summarise(tmp_path, gather(*runs), evaluation=ESNET) if r["measure"] == "retransmit_ratio")
    # Half a retransmit more in each run: 0.5 over 10.5.
    assert row["effect_mean_ratio"] == pytest.approx(0.5 / 10.5)
    assert (row["verdict"], row["difference_mean"]) == ("BBR retransmits less", pytest.approx(-0.01))


def test_the_margin_is_the_evaluation_s(tmp_path: Path) -> None:
    evaluation = tmp_path / "own.yaml"
    evaluation.write_text(EVALUATION.read_text() + "equal_within_pct: 20\n")
    runs = [make_run(n, {"bbr": 11.0 + 0.01 * n, "cubic": 10.0}, **OWN) for n in range(3)]
    rows = summarise(tmp_path, gather(*runs), evaluation=evaluation)
    assert [row["verdict"] for row in rows if row["measure"] == "goodput_bps"] == ["equal within ±20 %"]


def test_the_archive_s_own_evaluation_asks_about_its_means(tmp_path: Path) -> None:
    generic = ROOT / "evaluations/generic.yaml"
    runs = make_cell(0, {"bbr": [15.0, 15.1, 15.2], "cubic": [10.0, 10.1, 10.2]})
    database = build_database(tmp_path, gather(*runs), generic)
    summarise_tables(generic, database, tmp_path / "summaries")
    (row,) = read_table("comparisons", [tmp_path / "summaries/comparisons.parquet"]).rows(named=True)
    assert (row["table_name"], row["question"], row["verdict"]) == (
        "means",
        "10.0.0.2, RTT 10 ms, 0 % loss, 1 flow, alone",
        "BBR faster",
    )
    assert "<strong>" in (tmp_path / "summaries/means.html").read_text()
    assert isinstance(load_evaluation(generic)["equal_within_pct"], int | float)
    assert pl.read_csv(tmp_path / "summaries/comparisons.csv").height == 1
