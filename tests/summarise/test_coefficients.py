from pathlib import Path

import duckdb
import polars as pl
import pytest
from condition_runs import build_database, gather, make_run

from ccreport.core.tables import conform
from ccreport.summarise.database import connect

COEFFICIENTS = ("utilization_concavity_ratio", "monotonicity_ratio", "utilization_concavity_monotonicity_ratio")


def summarise(database: Path) -> pl.DataFrame:
    with connect(database) as connection:
        return conform(connection.sql("FROM coefficients").pl(), "coefficients")


def list_coefficients(table: pl.DataFrame) -> list[tuple[float | None, ...]]:
    return [tuple(row) for row in table.select(COEFFICIENTS).rows()]


def test_a_falling_rate_is_monotonic(tmp_path: Path) -> None:
    # θ 10, 8, 2 Mbit/s at 10, 20, 40 ms; θ/θmax 1, 0.8, 0.2 over τ/τmax 0.25, 0.5, 1.
    # ∫ = 0.25 (1 + 0.8)/2 + 0.5 (0.8 + 0.2)/2 = 0.225 + 0.25 = 0.475; UC = 0.475 − (10 + 2)/40 + 0.25 = 0.425.
    # V = 3 · 8/(2 · (2 + 6)) − 1/2 = 1.5 − 0.5 = 1; UCV = (0.85 + 1)/3.
    runs = [
        make_run(n, {"cubic": rate}, rtt_ms=rtt)
        for n, (rtt, rate) in enumerate([(10.0, 10.0), (20.0, 8.0), (40.0, 2.0)])
    ]
    table = summarise(build_database(tmp_path, gather(*runs)))
    assert table.select("test_group", "sharing", "flows_count", "algorithm", "rtts_count", "runs_count").rows() == [
        ("no loss", "alone", 1, "CUBIC", 3, 3)
    ]
    assert table.select("rtt_lowest_ms", "rtt_highest_ms", "rate_basis").rows() == [(10.0, 40.0, "goodput")]
    assert list_coefficients(table)[0] == pytest.approx((0.425, 1.0, 1.85 / 3))


def test_runs_of_one_rtt_are_averaged_and_a_detour_lowers_monotonicity(tmp_path: Path) -> None:
    # At 10 ms the mean of 4 and 6 is 5; θ 5, 10, 6 at 10, 20, 40 ms.
    # ∫ = 0.25 (0.5 + 1)/2 + 0.5 (1 + 0.6)/2 = 0.1875 + 0.4 = 0.5875; UC = 0.5875 − 11/40 + 0.25 = 0.5625.
    # V = 3 · 5/(2 · (5 + 4)) − 1/2 = 5/6 − 1/2 = 1/3; UCV = (1.125 + 1/3)/3.
    runs = [
        make_run(n, {"bbr": rate}, rtt_ms=rtt)
        for n, (rtt, rate) in enumerate([(40.0, 6.0), (10.0, 4.0), (10.0, 6.0), (20.0, 10.0)])
    ]
    table = summarise(build_database(tmp_path, gather(*runs)))
    assert table.select("algorithm", "rtts_count", "runs_count").rows() == [("BBR", 3, 4)]
    assert list_coefficients(table)[0] == pytest.approx((0.5625, 1 / 3, (1.125 + 1 / 3) / 3))


def test_equal_rates_have_no_monotonicity(tmp_path: Path) -> None:
    # θ 7, 7 at 20, 40 ms: ∫ = 0.5; UC = 0.5 − 14/28 + 0.25 = 0.25.
    runs = [make_run(n, {"bbr": 7.0}, rtt_ms=rtt) for n, rtt in enumerate((20.0, 40.0))]
    assert list_coefficients(summarise(build_database(tmp_path, gather(*runs)))) == [(pytest.approx(0.25), None, None)]


def test_rates_of_zero_have_no_coefficients(tmp_path: Path) -> None:
    runs = [make_run(n, {"bbr": 0.0}, rtt_ms=rtt) for n, rtt in enumerate((20.0, 40.0))]
    assert list_coefficients(summarise(build_database(tmp_path, gather(*runs)))) == [(None, None, None)]


def test_one_rtt_or_none_is_no_profile(tmp_path: Path) -> None:
    runs = [make_run(1, {"bbr": 7.0}), make_run(2, {"bbr": 8.0}), make_run(3, {"bbr": 9.0}, rtt_ms=None)]
    assert summarise(build_database(tmp_path, gather(*runs))).is_empty()


def test_groups_are_apart_and_in_order_of_loss(tmp_path: Path) -> None:
    runs = [
        make_run(n, rates, rtt_ms=rtt, loss_pct=loss)
        for n, (rates, rtt, loss) in enumerate(
            [
                ({"cubic": 1.0, "bbr": 4.0}, 10.0, 0.1),
                ({"cubic": 1.0, "bbr": 4.0}, 20.0, 0.1),
                ({"cubic": 9.0}, 10.0, 0.1),
                ({"cubic": 8.0}, 20.0, 0.1),
                ({"cubic": 9.0}, 10.0, 0.0),
                ({"cubic": 9.0}, 30.0, 0.0),
                ({"cubic": 9.0}, 30.0, 0.01),
            ]
        )
    ]
    table = summarise(build_database(tmp_path, gather(*runs)))
    assert table.select("test_group", "sharing", "flows_count", "algorithm").rows() == [
        ("no loss", "alone", 1, "CUBIC"),
        ("0.1 % loss", "alone", 1, "CUBIC"),
        ("0.1 % loss", "both", 2, "BBR"),
        ("0.1 % loss", "both", 2, "CUBIC"),
    ]


def compute(profile: list[tuple[float, float]]) -> tuple[float, float]:
    """Return UC and V of (RTT, mean rate), straight from the definition."""
    n = len(profile)
    tau, theta = [rtt for rtt, _ in profile], [rate for _, rate in profile]
    top = max(theta)
    area = sum((tau[i + 1] - tau[i]) / tau[-1] * (theta[i] + theta[i + 1]) / top / 2 for i in range(n - 1))
    changes = sum(abs(theta[i + 1] - theta[i]) for i in range(n - 1))
    return (
        area - (theta[0] + theta[-1]) / (4 * top) + 0.25,
        n * (top - min(theta)) / ((n - 1) * changes) - 1 / (n - 1),
    )


def test_the_table_equals_a_recomputation_from_the_runs(tmp_path: Path) -> None:
    rates = [(7 * n * n + 13 * n) % 41 + 1.5 for n in range(24)]
    runs = [
        make_run(n, {"cubic" if n % 2 else "bbr": rate}, rtt_ms=(5.0, 12.5, 31.0, 80.0)[n % 4 // 2 + 2 * (n // 12)])
        for n, rate in enumerate(rates)
    ]
    database = build_database(tmp_path, gather(*runs))
    with duckdb.connect(str(database), read_only=True) as connection:
        measured = connection.sql("SELECT cc, rtt_ms, flows.goodput_bps FROM flows JOIN runs USING (run_id)").fetchall()
    table = {row["algorithm"]: row for row in summarise(database).rows(named=True)}
    for cc, algorithm in (("bbr", "BBR"), ("cubic", "CUBIC")):
        by_rtt: dict[float, list[float]] = {}
        for _, rtt, rate in (row for row in measured if row[0] == cc):
            by_rtt.setdefault(rtt, []).append(rate)
        profile = [(rtt, sum(of_rtt) / len(of_rtt)) for rtt, of_rtt in sorted(by_rtt.items())]
        uc, v = compute(profile)
        expected = (uc, v, (2 * uc + v) / 3)
        assert table[algorithm]["rtts_count"] == len(profile) == 4
        assert tuple(table[algorithm][name] for name in COEFFICIENTS) == pytest.approx(expected)
