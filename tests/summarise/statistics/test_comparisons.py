import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import ROOT, summarise_one, write_yaml
from condition_runs import Rows, build_database, gather, make_run, make_transfers

from ccreport.core.declarations import load_yaml
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table
from ccreport.summarise.algorithm_names import show_algorithms
from ccreport.summarise.database import connect
from ccreport.summarise.statistics.comparisons import add_verdicts
from ccreport.summarise.statistics.correction import correct_holm
from ccreport.summarise.statistics.survival import Time, estimate_curve, find_quantile
from ccreport.summarise.summarise import summarise_tables
from ccreport.trace.rows.load_trace import load_trace

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
    assert (row["first_algorithm"], row["second_algorithm"], row["is_paired"]) == ("BBRv1", "CUBIC", True)
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


def test_unequal_numbers_of_flows_are_compared_per_flow(tmp_path: Path) -> None:
    # One flow of BBR has what each of two of CUBIC has; the sums, 50 and 100, would call CUBIC faster.
    unequal = [make_run(n, {"bbr": [50.0 + n], "cubic": [50.0 + n] * 2}, **OWN) for n in range(3)]
    equal = [
        make_run(n, {"bbr": [30.0] * 2, "cubic": [20.0 + n] * 2}, **OWN | {"buffer_bytes": 2000}) for n in (3, 4, 5)
    ]
    rows = summarise(tmp_path, gather(*unequal, *equal))
    per_flow, of_run = (row for row in rows if row["measure"] != "retransmit_ratio")
    assert per_flow["measure"] == "goodput_per_flow_bps"
    assert per_flow["question"].endswith(", 3 flows, alone, rate per flow (flows: 1 BBRv1, 2 CUBIC)")
    assert (per_flow["first_mean"], per_flow["second_mean"], per_flow["effect_mean_ratio"]) == (51e6, 51e6, 1)
    # With as many flows each, as published pairs have, rates are sums.
    assert (of_run["measure"], of_run["first_mean"]) == ("goodput_bps", 60e6)
    assert "per flow" not in of_run["question"]


def test_nothing_over_nothing_is_not_a_ratio(tmp_path: Path) -> None:
    runs = [make_run(n, {"bbr": 50.0, "cubic": 50.0}, **OWN) for n in range(3)]
    for run in runs:
        for flow in run["flows"]:
            flow |= {"retransmits_count": 0, "segments_count": 1000, "retransmit_ratio": 0.0, "retransmit_source": "ss"}
    (row,) = (row for row in summarise(tmp_path, gather(*runs)) if row["measure"] == "retransmit_ratio")
    assert (row["first_mean"], row["second_mean"]) == (0.0, 0.0)
    assert row["effect_mean_ratio"] is row["effect_low_ratio"] is row["effect_high_ratio"] is None


def test_a_run_without_the_value_of_one_algorithm_is_not_a_pair(tmp_path: Path) -> None:
    runs = [make_run(n, {"bbr": 10.0 + n, "cubic": 4.0}, **OWN) for n in range(3)]
    runs[1]["flows"][1] |= {"goodput_bps": None, "throughput_bps": None}
    (row,) = compare_rates(tmp_path, *runs)
    assert (row["first_runs_count"], row["second_runs_count"]) == (2, 2)
    assert row["difference_mean"] == pytest.approx(7e6)
    assert [row[name] for name in ("effect_low_ratio", "p_ratio", "verdict")] == [None, None, "undecided"]


def test_many_flows_of_a_run_are_one_value(tmp_path: Path) -> None:
    times = {"bbr": [1.0, 2.0, 3.0, 2.0], "cubic": [8.0, 8.0, 9.0, -1.0]}
    runs = [
        make_transfers(n, {cc: [time * 1.01**n for time in of_cc] for cc, of_cc in times.items()}, buffer_bytes=1000)
        for n in range(3)
    ]
    (row,) = summarise(tmp_path, gather(*runs))
    # Half of BBR's flows are complete after 2 s. CUBIC's flow that stopped after 1 s may have been as late as the
    # others, of which half are complete after 8 s.
    assert (row["measure"], row["first_runs_count"], row["is_paired"]) == ("completion_s", 3, True)
    assert (row["effect_mean_ratio"], row["verdict"]) == (pytest.approx(0.25), "BBRv1 faster")
    assert row["log_rank_z"] is None


@pytest.mark.slow
def test_a_run_without_a_completion_time_leaves_the_log_rank_test_alone(tmp_path: Path) -> None:
    # No flow of CUBIC's is complete after 9 s in one run; in the others after 8 s.
    times = [*([8.0] * 5), -9.0]
    runs = [make_transfers(n, {"bbr": [2.0], "cubic": [time]}, buffer_bytes=1000) for n, time in enumerate(times)]
    (row,) = summarise(tmp_path, gather(*runs))
    names = ("first_mean", "second_mean", "difference_mean", "effect_mean_ratio", "p_equal_ratio", "least_effect_pct")
    assert [row[name] for name in names] == [None] * 6
    # Of the 2⁶ exchanges within runs two are as far apart.
    assert (row["p_ratio"], row["verdict"], row["ahead_algorithm"]) == (2 / 64, "BBRv1 faster", "BBRv1")
    assert row["log_rank_z"] > 0
    swapped = [make_transfers(n, {"bbr": [time], "cubic": [2.0]}, buffer_bytes=1000) for n, time in enumerate(times)]
    (row,) = summarise(tmp_path, gather(*swapped))
    assert (row["log_rank_z"] < 0, row["verdict"]) == (True, "CUBIC faster")


@pytest.mark.parametrize(
    ("times", "half"),
    [
        ([1.0, 2.0, 3.0], (2.0, True)),
        ([1.0, 2.0, 3.0, 4.0], (2.0, True)),
        # 3/4 are left after 1 s, half of them after 3 s: the flow that stopped after 2 s counts as both that are left.
        ([1.0, -2.0, 3.0, 4.0], (3.0, True)),
        # Those that complete come before those that stop at the same time: 1/2 are left after 2 s.
        ([2.0, -2.0], (2.0, True)),
        ([1.0, -2.0, -3.0], (3.0, False)),
        ([-4.0], (4.0, False)),
    ],
)
def test_half_of_the_flows_of_a_run_are_complete(tmp_path: Path, times: list[float], half: tuple[float, bool]) -> None:
    database = build_database(tmp_path, make_transfers(1, {"bbr": times}), EVALUATION)
    with connect(database) as connection:
        found = connection.execute("SELECT cc, completion_s, is_complete FROM run_completions ORDER BY cc").fetchall()
    assert found == [("bbr", *half), (None, *half)]
    # As scipy has it.
    curve = estimate_curve([Time(abs(time), time > 0) for time in times])
    assert find_quantile(curve, 0.5) == (half[0] if half[1] else None)


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
    assert "<strong>15.1</strong>" in text
    assert r"\textbf{15.1}" in (tmp_path / "table_2_testbed.tex").read_text()


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_pages_call_an_algorithm_of_no_group_as_figures_do(tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml") | {"algorithms": {"BBRv2": {"members": ["bbr2"]}}}
    path = tmp_path / "own.yaml"
    write_yaml(path, declared)
    rates = {"bbr": [15.0, 15.1, 15.2], "bbr2": [10.0, 10.1, 10.2], "cubic": [9.0, 9.1, 9.2]}
    both: dict[str, Any] = {**OWN, "mode": "both", "cc_list": "bbr,bbr2"}
    shared = [make_run(20 + n, {"bbr2": 10.0 + n / 10, "bbr": 9.0}, **both) for n in range(3)]
    database = build_database(tmp_path, gather(*make_cell(0, rates), *shared), path)
    summarise_tables(path, database, tmp_path / "summaries")
    means, comparisons = ((tmp_path / f"summaries/{name}.html").read_text() for name in ("means", "comparisons"))
    for name in ("BBR", "BBRv2", "CUBIC", "BBR and BBRv2"):
        assert f">{name}<" in means
    assert "both BBRv2 and BBR<" in comparisons
    assert ">BBR faster<" in comparisons
    assert not re.search(r">(bbr|bbr2|cubic)\b", means + comparisons)
    # Files keep the kernel's.
    assert {"bbr", "BBRv2", "cubic"} == {*read_table("means", [tmp_path / "summaries/means.parquet"])["algorithm"]}


def test_an_algorithm_that_figures_call_as_a_group_keeps_the_kernel_s_name() -> None:
    rows = pl.DataFrame({"algorithm": ["BBR", "bbr", "bbr3", "cubic"], "beside": [None, "bbr,cubic", "bbr3", "x"]})
    groups = {"BBR": {"members": ["bbr2", "bbr"]}}
    shown = show_algorithms(rows, {"algorithms": groups, "algorithm_names": {}})
    assert shown["algorithm"].to_list() == ["BBR", "bbr", "BBRv3", "CUBIC"]
    assert shown["beside"].to_list() == [None, "BBR,CUBIC", "BBRv3", "x"]
    # So in runs, in what captures draw, in lists and in words.
    rows = pl.DataFrame({"mode": ["bbr2", "both"], "line": ["bbr3", "rtt"], "algorithms": [["bbr2", "cubic"], []]})
    assert show_algorithms(rows, {"algorithms": groups, "algorithm_names": {"bbr": "BBRv1"}}).rows() == [
        ("BBRv2", "BBRv3", ["BBRv2", "CUBIC"]),
        ("both", "rtt", []),
    ]
    asked = pl.DataFrame({"question": ["2 flows, both BBR and bbr"]})
    told = show_algorithms(asked, {"algorithms": groups, "algorithm_names": {"bbr": "BBRv1"}})
    assert told["question"][0] == "2 flows, both BBR and BBRv1"
    # Of two with one name the second keeps its own.
    declared = {"algorithms": {}, "algorithm_names": {"bbr": "BBRv1"}}
    own = show_algorithms(pl.DataFrame({"algorithm": ["bbr", "bbr1"]}), declared)
    assert own["algorithm"].to_list() == ["BBRv1", "bbr1"]
