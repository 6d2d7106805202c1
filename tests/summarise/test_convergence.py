from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import EPOCH
from condition_runs import Rows, make_run
from test_comparisons import summarise

MBIT_BYTES = 125_000


def make_shares(flows: list[tuple[str, float, list[float]]], **facts: Any) -> Rows:
    """Return a run whose flows (algorithm, start, Mbit/s in each second from then on) `ss` sampled every second."""
    names: dict[str, list[float]] = {}
    for cc, _, _ in flows:
        names.setdefault(cc, []).append(1.0)
    tables = make_run(1, names, clients_count=2, session="s", **facts)
    tables["samples"] = []
    ordered = sorted(flows, key=lambda one: list(names).index(one[0]))
    for client, (flow, (_, start_s, rates)) in enumerate(zip(tables["flows"], ordered, strict=True), 1):
        total = sum(rates) * MBIT_BYTES
        flow |= {"start_offset_s": start_s, "client_number": client, "rtt_min_ms": 10.0, "receiver_bytes": int(total)}
        flow["receiver_s"] = float(len(rates))
        for second in range(len(rates) + 1):
            row = {"run_id": flow["run_id"], "flow_id": flow["flow_id"], "connection_number": 0, "raw_file_id": "f"}
            row["time_utc"] = EPOCH + timedelta(seconds=start_s + second)
            counters = {"acked_bytes": int(sum(rates[:second]) * MBIT_BYTES), "rtt_ms": 20.0}
            tables["samples"].append(row | counters | {"is_partial": False, "extra": []})
    return tables


# B joins A after 4 s; the fair share is 5 of 10 Mbit/s. Distances 0.6, 0.6, 0.4, 0.08, 0, 0 of it.
JOINED: list[tuple[str, float, list[float]]] = [
    ("cubic", 0.0, [10, 10, 10, 10, 8, 8, 7, 5.4, 5, 5]),
    ("bbr", 4.0, [2, 2, 3, 4.6, 5, 5]),
]


def test_shares_converge_three_seconds_after_a_join(tmp_path: Path) -> None:
    (row,) = summarise(tmp_path, make_shares(JOINED), "convergence")
    assert (row["event"], row["joined"], row["event_number"], row["at_s"]) == ("join", "BBRv1", 2, 4.0)
    assert (row["flows_count"], row["seconds_count"]) == (2, 6)
    assert (row["convergence_s"], row["settled_count"]) == (3.0, 3)
    assert row["deviation_last_ratio"] == pytest.approx(0.0)
    # (8 + 2)²/(2 (64 + 4)); then 100/(2 · 58) and 100/(2 (5.4² + 4.6²)).
    jain = [100 / 136, 100 / 136, 100 / 116, 100 / 100.64, 1, 1]
    assert row["jain_min_ratio"] == pytest.approx(100 / 136)
    assert row["jain_mean_ratio"] == pytest.approx(sum(jain) / 6)


def test_flows_that_were_to_start_one_after_another_join_one_after_another(tmp_path: Path) -> None:
    flows = [("cubic", 0.0, [9.0] * 6), ("bbr", 1.2, [3.0] * 4), ("cubic", 2.1, [3.0] * 3)]
    tables = make_shares(flows)
    (row,) = summarise(tmp_path, tables, "convergence")
    assert (row["joined"], row["at_s"], row["flows_count"]) == ("BBRv1, CUBIC", 1.2, 3)
    for flow in tables["flows"]:
        flow["start_declared_s"] = {0.0: 0.0, 1.2: 1.0, 2.1: 2.0}[flow["start_offset_s"]]
    rows = summarise(tmp_path, tables, "convergence")
    # No whole second is between the two joins.
    assert [(row["event_number"], row["joined"], row["at_s"]) for row in rows] == [(3, "CUBIC", 2.1)]


def test_a_fair_moment_is_no_convergence(tmp_path: Path) -> None:
    flows = [("cubic", 0.0, [10, 10, 5, 5, 8, 8]), ("bbr", 2.0, [5, 5, 2, 2])]
    (row,) = summarise(tmp_path, make_shares(flows), "convergence")
    assert (row["convergence_s"], row["settled_count"]) == (None, 0)
    assert row["deviation_last_ratio"] == pytest.approx(0.6)


def test_a_stage_is_an_event_and_ends_the_one_before(tmp_path: Path) -> None:
    flows = [("cubic", 0.0, [5, 5, 5, 5, 2, 2]), ("bbr", 0.0, [5, 5, 5, 5, 8, 8])]
    stages = '[{"at_s": 4, "rtt_ms": 60}, {"at_s": "soon"}, {"no": 1}, 7]'
    first, second = summarise(tmp_path, make_shares(flows, stages_json=stages), "convergence")
    assert (first["event"], first["at_s"], first["convergence_s"], first["seconds_count"]) == ("join", 0.0, 0.0, 4)
    assert (second["event"], second["at_s"], second["convergence_s"], second["joined"]) == ("stage", 4.0, None, None)


@pytest.mark.parametrize("stages", ["no json", "{}", "[]", "null", '"text"', "7"])
def test_stages_that_are_no_list_of_changes_are_none(tmp_path: Path, stages: str) -> None:
    flows = [("cubic", 0.0, [5.0, 5.0]), ("bbr", 0.0, [5.0, 5.0])]
    (row,) = summarise(tmp_path, make_shares(flows, stages_json=stages), "convergence")
    assert row["event"] == "join"


def test_without_samples_the_intervals_tell(tmp_path: Path) -> None:
    tables = make_shares(JOINED)
    tables["samples"] = []
    tables["intervals"] = [
        {
            "run_id": flow["run_id"],
            "flow_id": flow["flow_id"],
            "client_number": flow["client_number"],
            "stream_number": 1,
            "is_reverse": False,
            "raw_file_id": "f",
            "interval_number": second,
            "start_s": float(second),
            "end_s": second + 1.0,
            "is_omitted": False,
            "interval_bps": rate * 1e6,
        }
        for flow, (_, _, rates) in zip(tables["flows"], JOINED, strict=True)
        for second, rate in enumerate(rates)
    ]
    (row,) = summarise(tmp_path, tables, "convergence")
    assert (row["convergence_s"], row["settled_count"], row["seconds_count"]) == (3.0, 3, 6)


def test_a_flow_alone_converges_to_nothing(tmp_path: Path) -> None:
    assert summarise(tmp_path, make_shares([("cubic", 0.0, [5.0, 5.0])]), "convergence") == []


def test_the_scores_of_transperf(tmp_path: Path) -> None:
    facts = {"bottleneck_bps": 20e6, "retransmit_ratio": 0.02, "jain_ratio": 0.9, "cc_list": "bbr,cubic"}
    (row,) = summarise(tmp_path, make_shares(JOINED, **facts), "transperf")
    # 78.4 and 21.6 Mbit in 10 s are 10 of 20 Mbit/s; the smallest RTT is 10 ms, the median of the samples 20 ms.
    assert row["throughput_score_pct"] == pytest.approx(50.0)
    assert row["rtt_score_pct"] == pytest.approx(50.0)
    assert row["non_loss_score_pct"] == pytest.approx(98.0)
    assert row["lifetime_fairness_score_pct"] == pytest.approx(90.0)
    # Settled are the seconds with Jain's index 100/100.64, 1 and 1.
    assert row["convergence_fairness_score_pct"] == pytest.approx(100 * (100 / 100.64 + 2) / 3)
    assert (row["convergence_s"], row["settled_count"]) == (3.0, 3)


def test_a_flow_that_no_receiver_reported_leaves_the_run_without_a_score_of_throughput(tmp_path: Path) -> None:
    tables = make_shares(JOINED, bottleneck_bps=20e6)
    tables["flows"][0]["receiver_bytes"] = None
    (row,) = summarise(tmp_path, tables, "transperf")
    assert row["throughput_score_pct"] is None


def test_scores_that_nothing_tells_are_absent(tmp_path: Path) -> None:
    tables = make_shares([("cubic", 0.0, [9.0, 9.0]), ("bbr", 0.0, [1.0, 1.0])])
    (row,) = summarise(tmp_path, tables, "transperf")
    names = ("throughput_score_pct", "non_loss_score_pct", "convergence_fairness_score_pct", "convergence_s")
    assert [row[name] for name in names] == [None] * 4
