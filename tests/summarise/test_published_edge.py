"""Numbers in Ivanov's text, each beside runs whose values are worked by hand."""

from pathlib import Path
from typing import Any

import pytest
from archives import ROOT, summarise_one
from condition_runs import Rows, build_database
from test_edge import of_machines, requests

from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table

EVALUATION = ROOT / "evaluations/edge-bbr2.yaml"


def summarise(folder: Path, tables: Rows) -> dict[str, dict[str, Any]]:
    """Return the rows of the table by name and cell."""
    summarise_one("published_values", EVALUATION, build_database(folder, tables, EVALUATION), folder)
    rows = read_table("published_values", [folder / "published_values.parquet"]).rows(named=True)
    titles = {facts["title"]: name for name, facts in load_evaluation(EVALUATION)["published"].items()}
    return {f"{titles[row['exhibit']]}: {row['cell']}": row for row in rows}


def lose(*shares: int, **facts: Any) -> list[list[dict[str, Any]]]:
    """Return two connections of 10,000 segments for each machine, of which so many are sent again."""
    return [
        [
            {
                "data_segments_out_count": 10_000, "retransmits_ss_count": lost, "retransmit_ratio": lost / 10_000,
                "unacked_count": lost,
            } | facts
        ] * 2
        for lost in shares
    ]  # fmt: skip


def test_numbers_of_connections_are_those_of_their_runs(tmp_path: Path) -> None:
    rows = of_machines("cubic", lose(48, 50, 52)) + of_machines(
        "bbr1", lose(396, 400, 404, has_ecn=True, has_ecnseen=True)
    )
    rows += of_machines("bbr2", lose(98, 100, 102, has_ecn=False))
    found = summarise(tmp_path, {"connections": rows})
    # Retransmit ratios of 0.5, 4 and 1 %.
    cubic = found["retransmits: CUBIC"]
    assert (cubic["printed"], cubic["found_mean"], cubic["runs_count"]) == ("0.5 %", pytest.approx(0.5), 3)
    bbr = found["retransmits: BBRv1"]
    assert (bbr["printed"], bbr["found_mean"], bbr["published_verdict"]) == (
        "at most 6 %",
        pytest.approx(4.0),
        "consistent",
    )
    quotients = [found[f"{name}: {pair}"] for name, pair in (
        ("retransmit_quotients", "BBRv1 over BBRv2"), ("retransmit_quotients", "BBRv2 over CUBIC"),
        ("in_flight", "BBRv1 over BBRv2"),
    )]  # fmt: skip
    assert [row["found_mean"] for row in quotients] == pytest.approx([4.0, 2.0, 4.0])
    # A further run would give 3.7 to 4.4, which rounds to 4 and not to 3, and 1.7 to 2.4.
    assert [row["published_verdict"] for row in quotients] == ["consistent", "consistent", "inconsistent"]
    assert [row["runs_count"] for row in quotients] == [3, 3, 3]
    # Half of those of which it is known; all of these have seen it.
    assert found["ecn: negotiated"]["found_mean"] == pytest.approx(50.0)
    assert found["ecn_seen: seen"]["found_mean"] == pytest.approx(100.0)
    assert found["kernels: median of answers"]["published_verdict"] == "missing here"


def test_outliers_are_a_share_of_connections(tmp_path: Path) -> None:
    values = lose(100, 100, 6100)
    found = summarise(tmp_path, {"connections": of_machines("bbr2", values)})["outliers: BBRv2"]
    assert (found["printed"], found["unit"], found["found_mean"]) == ("0.0001 %", "%", pytest.approx(100 / 3))


def test_a_share_of_nothing_counted_reaches_to_poissons_limit_in_per_cent(tmp_path: Path) -> None:
    values = lose(100, 100, 100)
    found = summarise(tmp_path, {"connections": of_machines("bbr2", values)})["outliers: BBRv2"]
    # None of 6 connections: -ln(0.025) / 6.
    assert (found["found_mean"], found["found_mean_low"]) == (0, 0)
    assert found["found_mean_high"] == pytest.approx(100 * 3.688879 / 6, rel=1e-6)


def test_kernels_are_compared_by_the_medians_of_their_runs(tmp_path: Path) -> None:
    rows = [
        row
        for kernel, rates in (("4.15.0", (1.9, 2.0, 2.1)), ("5.3.0-18", (2.2, 2.3, 2.4)))
        for number, rate in enumerate(rates)
        for row in requests(
            "bbr", [rate * 1e6] * 3, kernel=kernel, machine=str(number), raw_file_id=f"{kernel}{number}"
        )
    ]
    row = summarise(tmp_path, {"web_requests": rows})["kernels: median of answers"]
    assert (row["printed"], row["found_mean"], row["runs_count"]) == ("115 %", pytest.approx(115.0), 3)
