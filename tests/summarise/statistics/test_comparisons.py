import itertools
import random
import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import ROOT, summarise_one
from condition_runs import Rows, build_database, gather, make_run

from ccreport.core.tables import read_table
from ccreport.summarise.statistics.comparisons import add_rank_tests
from ccreport.summarise.statistics.rank_tests import compare_pairs, compare_samples, correct_holm

EVALUATION = ROOT / "evaluations/mininet-bbr2.yaml"


def summarise(folder: Path, tables: Rows, table: str = "comparisons") -> list[dict[str, Any]]:
    database = build_database(folder, tables, EVALUATION)
    summarise_one(table, EVALUATION, database, folder)
    return read_table(table, [folder / f"{table}.parquet"]).rows(named=True)


def test_separate_samples_have_the_exact_p_value() -> None:
    # 3 and 3 values in 20 orders, of which the two with all of one sample first are as far apart: 2/20.
    assert compare_samples([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)
    # 4 and 4: 70 orders.
    assert compare_samples([8, 6, 7, 5], [1, 4, 2, 3]) == pytest.approx(2 / 70)
    # U = 4 of 0 … 9 is next to the middle: U of 5 and more, or 4 and less, are all orders.
    assert compare_samples([1, 4, 5], [2, 3, 6]) == pytest.approx(1.0)


def test_ties_take_the_normal_approximation() -> None:
    # Ranks 1, 2.5 and 2.5, 4: U = 3.5 - 3 = 0.5 and 3.5. Variance 4/12 (5 - 6/12) = 1.5.
    # z = (3.5 - 2 - 0.5)/√1.5 = 0.8165, beyond which on both sides lie 0.4142.
    assert compare_samples([1, 2], [2, 3]) == pytest.approx(0.4142, abs=1e-4)
    assert compare_samples([5, 5], [5, 5]) == 1.0


def test_pairs_have_the_exact_p_value() -> None:
    # Of the 2^4 ways to give signs, all plus and all minus: 2/16.
    assert compare_pairs([5, 6, 7, 8], [1, 1, 1, 1]) == pytest.approx(0.125)
    # Differences 1, 2, 3 and -4: rank sums 6 and 4. Of the 16 sums of subsets of 1 … 4, 7 are 6 or more.
    assert compare_pairs([1, 2, 3, 0], [0, 0, 0, 4]) == pytest.approx(14 / 16)
    # Equal sizes share rank 2: subsets of 2, 2, 2 with a sum of 6: one of 8.
    assert compare_pairs([1, 1, 1], [0, 0, 0]) == pytest.approx(0.25)
    assert compare_pairs([3, 3], [3, 3]) == 1.0


@pytest.mark.parametrize("size", range(2, 9))
def test_pairs_of_equal_differences_have_the_p_value_of_all_signs(size: int) -> None:
    chance = random.Random(size)  # noqa: S311 (not for secrets)
    for _ in range(20):
        differences = [chance.choice((-3, -2, -1, 1, 2, 3)) for _ in range(size)]
        # The rank of a size is the mean of its places among all.
        sizes = sorted(map(abs, differences))
        ranks = [statistics.mean(n for n, one in enumerate(sizes, 1) if one == abs(d)) for d in differences]
        sums = [
            sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
            for signs in itertools.product((0, 1), repeat=size)
        ]
        seen = sum(rank for rank, d in zip(ranks, differences, strict=True) if d > 0)
        tails = sum(one >= seen for one in sums), sum(one <= seen for one in sums)
        expected = min(1.0, 2 * min(tails) / len(sums))
        assert compare_pairs(differences, [0] * size) == pytest.approx(expected), differences


def test_one_value_is_no_sample() -> None:
    assert compare_samples([1], [2, 3, 4]) is None
    assert compare_pairs([1], [2]) is None
    assert compare_samples([], []) is None


def test_holm_multiplies_by_the_tests_that_are_left() -> None:
    # Sorted 0.01·3 = 0.03, 0.03·2 = 0.06, 0.04·1 = 0.04, which may not be below the one before.
    assert correct_holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])
    assert correct_holm([0.6, 0.9]) == [1.0, 1.0]
    assert correct_holm([]) == []


def test_algorithms_that_sent_at_once_are_compared_in_pairs(tmp_path: Path) -> None:
    rates = [(10.0, 4.0), (12.0, 4.5), (14.0, 5.0), (16.0, 20.0), (18.0, 5.5), (20.0, 6.0)]
    runs = [
        make_run(n, {"bbr": bbr, "cubic": cubic}, job="buffer_1", buffer_bytes=1000)
        for n, (bbr, cubic) in enumerate(rates)
    ]
    (row,) = (row for row in summarise(tmp_path, gather(*runs)) if row["measure"] == "goodput_bps")
    assert (row["first_algorithm"], row["second_algorithm"], row["test"]) == ("BBR", "CUBIC", "signed-rank")
    assert (row["first_count"], row["second_count"]) == (6, 6)
    assert row["first_median"] == pytest.approx(15e6)
    # CUBIC's 20 is above 5 values of BBR and equal to one: (36 - 5 - 1) above, 5 below, of 36.
    assert row["cliffs_delta_ratio"] == pytest.approx(25 / 36)
    # Differences 6, 7.5, 9, -4, 12.5, 14: rank sums 20 and 1; of 64 sums of subsets of 1 … 6, two are 20 or more.
    assert row["p_ratio"] == pytest.approx(4 / 64)
    assert row["p_holm_ratio"] == pytest.approx(4 / 64)
    assert row["is_different"] is False


def test_completion_times_of_flows_are_compared_as_two_samples(tmp_path: Path) -> None:
    runs = [make_run(n, {"bbr": [1, 1], "cubic": [1, 1]}, volume_bytes=8000, buffer_bytes=1000) for n in range(2)]
    time_transfers(runs, [[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]])
    (row,) = summarise(tmp_path, gather(*runs))
    # BBR 1 … 4 s, CUBIC 5 … 8 s: all differences from -7 to -1, their median -4.
    assert (row["measure"], row["test"], row["shift"], row["cliffs_delta_ratio"]) == (
        *("completion_s (capture)", "rank-sum"),
        *(pytest.approx(-4.0), -1.0),
    )
    assert row["p_ratio"] == pytest.approx(2 / 70)
    assert (row["runs_count"], row["tests_count"], row["is_different"]) == (2, 1, True)


def time_transfers(runs: list[Rows], times: list[list[float]], source: str = "capture") -> None:
    for tables, of_run in zip(runs, times, strict=True):
        for flow, completion_s in zip(tables["flows"], of_run, strict=True):
            flow |= {"completion_s": completion_s, "completion_source": source}


def test_many_flows_of_one_run_tell_of_no_difference(tmp_path: Path) -> None:
    run = make_run(1, {"bbr": [1] * 4, "cubic": [1] * 4}, volume_bytes=8000, buffer_bytes=1000)
    time_transfers([run], [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]])
    (row,) = summarise(tmp_path, run)
    assert (row["p_ratio"], row["runs_count"], row["is_different"]) == (pytest.approx(2 / 70), 1, None)


def test_completion_times_of_the_sender_do_not_stand_beside_those_of_a_capture(tmp_path: Path) -> None:
    run = make_run(1, {"bbr": [1, 1], "cubic": [1, 1]}, volume_bytes=8000, buffer_bytes=1000)
    time_transfers([run], [[1.0, 9.0, 2.0, 9.0]])
    for flow in run["flows"][1::2]:
        flow["completion_source"] = "sender"
    (row,) = summarise(tmp_path, run)
    assert (row["measure"], row["first_count"], row["second_count"]) == ("completion_s (capture)", 1, 1)


def test_a_run_without_the_value_of_one_algorithm_is_no_pair(tmp_path: Path) -> None:
    runs = [make_run(n, {"bbr": 10.0 + n, "cubic": 4.0}, job="buffer_1", buffer_bytes=1000) for n in range(3)]
    runs[1]["flows"][1] |= {"goodput_bps": None, "throughput_bps": None}
    (row,) = (row for row in summarise(tmp_path, gather(*runs)) if row["measure"] == "goodput_bps")
    # Differences 6 and 8: means of two of them, or of one with itself, 6, 7 and 8.
    assert (row["runs_count"], row["first_count"], row["second_count"], row["shift"]) == (2, 2, 2, pytest.approx(7e6))


def test_only_runs_under_the_same_conditions_are_compared(tmp_path: Path) -> None:
    own = {"job": "buffer_1", "buffer_bytes": 1000}
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
    runs = [make_run(0, {"bbr": 10.0}, **own)]
    runs += [make_run(n, {"cubic": 4.0}, **own | other) for n, other in enumerate(others, 1)]
    assert summarise(tmp_path, gather(*runs)) == []


def test_measured_rtts_of_one_destination_are_one_condition(tmp_path: Path) -> None:
    runs = [
        make_run(n, {cc: 10.0}, job="buffer_1", buffer_bytes=1000, rtt_ms=rtt_ms, rtt_source="ss")
        for n, (cc, rtt_ms) in enumerate([("bbr", 10.2), ("bbr", 10.4), ("cubic", 10.1), ("cubic", 10.3)])
    ]
    (row,) = summarise(tmp_path, gather(*runs))
    assert (row["rtt_ms"], row["first_count"], row["second_count"]) == (10.1, 2, 2)


def test_nothing_is_called_different_on_one_run(tmp_path: Path) -> None:
    tables = make_run(1, {"bbr": 10.0, "cubic": 1.0}, job="buffer_1", buffer_bytes=1000)
    (row,) = summarise(tmp_path, tables)
    assert (row["first_count"], row["shift"]) == (1, pytest.approx(9e6))
    assert [row[name] for name in ("test", "p_ratio", "p_holm_ratio", "is_different")] == [None] * 4


def test_an_archive_without_such_runs_has_no_comparison(tmp_path: Path) -> None:
    assert summarise(tmp_path, make_run(1, {"bbr": 10.0})) == []
    empty = pl.DataFrame(
        schema={"is_paired": pl.Boolean, "runs_count": pl.Int64}
        | dict.fromkeys(("first_values", "second_values"), pl.List(pl.Float64))
    )
    assert add_rank_tests(empty).is_empty()
