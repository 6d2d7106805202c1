"""Numbers in the text of Gomez et al., each beside runs whose values are worked by hand."""

from pathlib import Path
from typing import Any

import pytest
from archives import ROOT, summarise_one
from condition_runs import Rows, build_database, gather, make_run, make_transfers
from test_convergence import make_shares

from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table

EVALUATION = ROOT / "evaluations/mininet-bbr2.yaml"
# 1 Gbit/s and 20 ms: 2.5 MB are one bandwidth-delay product.
PATH = {"bottleneck_bps": 1e9, "rtt_ms": 20.0}


def summarise(folder: Path, *runs: Rows) -> dict[str, dict[str, Any]]:
    """Return the rows of the table by figure and cell."""
    summarise_one("published_values", EVALUATION, build_database(folder, gather(*runs), EVALUATION), folder)
    rows = read_table("published_values", [folder / "published_values.parquet"]).rows(named=True)
    titles = {facts["title"]: name for name, facts in load_evaluation(EVALUATION)["published"].items()}
    return {f"{titles[row['exhibit']]}: {row['cell']}": row for row in rows}


def make_buffer(number: int, cc: str, bdp: float, jain: float) -> Rows:
    facts = {"job": "buffer", "buffer_bytes": round(bdp * 2.5e6), "jain_ratio": jain, "condition_id": f"{cc}{bdp}"}
    return make_run(number, {cc: 8.0, "cubic": 2.0}, **PATH, **facts)


def test_all_numbers_of_the_text_are_there() -> None:
    cells = [cell for facts in load_evaluation(EVALUATION)["published"].values() for cell in facts["cells"]]
    # Figures 2a: 3, 2b: 4, 3: 8 indices and a rate, 4: 2 round-trip times, 5: 2 times and a quotient.
    assert len(cells) == 21


def test_fairness_by_buffer_is_that_of_the_runs(tmp_path: Path) -> None:
    runs = [make_buffer(n, "bbr", 0.2, jain) for n, jain in enumerate((0.49, 0.50, 0.51))]
    runs += [make_buffer(10 + n, "bbr2", 4, jain) for n, jain in enumerate((0.71, 0.70, 0.69))]
    # One BDP is neither below nor above, and 4 is not the largest.
    runs += [make_buffer(20, "bbr", 1, 0.9), make_buffer(21, "bbr", 4, 0.9), make_buffer(22, "bbr", 16, 0.96)]
    rows = summarise(tmp_path, *runs)
    small = rows["figure_2b: BBRv1, buffer below 1 BDP"]
    assert (small["printed"], small["found_mean"], small["published_runs_count"]) == ("50 %", pytest.approx(50.0), 10)
    assert (small["published_low"], small["published_high"], small["published_verdict"]) == (45, 55, "consistent")
    large = rows["figure_2b: BBRv2, buffer above 1 BDP"]
    assert (large["printed"], large["published_value"], large["value_ratio"]) == ("at least 80 %", None, None)
    # 70 % with a prediction from 68.4 to 71.6 %, below 75.
    assert (large["found_mean"], large["published_verdict"]) == (pytest.approx(70.0), "inconsistent")
    assert rows["figure_2b: BBRv1, buffer above 1 BDP, the largest"]["found_mean"] == pytest.approx(96.0)


def test_a_range_open_above_holds_what_lies_above(tmp_path: Path) -> None:
    runs = [make_buffer(10 + n, "bbr2", 4, jain) for n, jain in enumerate((0.89, 0.90, 0.91))]
    row = summarise(tmp_path, *runs)["figure_2b: BBRv2, buffer above 1 BDP"]
    assert (row["published_high"], row["published_verdict"]) == (None, "consistent")


def test_flows_of_two_round_trip_times_are_told_by_their_own(tmp_path: Path) -> None:
    def make(number: int, cc: str, bdp: float, jain: float) -> Rows:
        tables = make_run(number, {cc: [1.0, 1.0]}, **PATH, buffer_bytes=round(bdp * 2.5e6), jain_ratio=jain)
        for flow, rtt in zip(tables["flows"], (10.0, 50.0), strict=True):
            flow["rtt_nominal_ms"] = rtt
        return tables

    rows = summarise(tmp_path, make(1, "bbr", 0.6, 0.97), make(2, "bbr", 0.7, 0.5), make(3, "bbr2", 12.1, 0.8))
    assert rows["figure_2a: BBRv1, buffer up to 0.6 BDP"]["found_mean"] == pytest.approx(97.0)
    assert rows["figure_2a: BBRv2, buffer above 12 BDP"]["found_mean"] == pytest.approx(80.0)
    assert rows["figure_2a: BBRv2, buffer below 0.4 BDP"]["published_verdict"] == "missing here"


def test_indices_after_joins_are_those_of_their_seconds(tmp_path: Path) -> None:
    # 8 and 2, then 6, 2 and 2, of 10 Mbit/s.
    flows = [("cubic", 0.0, [10.0] * 4 + [2.0] * 8), ("bbr", 4.0, [8.0] * 4 + [6.0] * 4), ("bbr", 8.0, [2.0] * 4)]
    rows = summarise(tmp_path, make_shares(flows, bottleneck_bps=1e7))
    first = rows["figure_3: BBRv1, after the first join"]
    # 10²/(2 (4 + 64)); with three 10²/(3 (4 + 36 + 4)).
    assert (first["printed"], first["found_mean"]) == ("60 %", pytest.approx(100 * 100 / 136))
    assert rows["figure_3: BBRv1, after the second join"]["found_mean"] == pytest.approx(100 * 100 / 132)
    assert rows["figure_3: BBRv1, after the fourth join"]["runs_count"] == 0
    # 2 of 10 Mbit/s, where at most 100 of 1,000 were published.
    share = rows["figure_3a_cubic: after the first flow of BBRv1 joined"]
    assert (share["printed"], share["found_mean"]) == ("at most 10 % of the line rate", pytest.approx(20.0))


def test_the_last_seconds_are_five(tmp_path: Path) -> None:
    flows = [("cubic", 0.0, [10.0] * 4 + [2.0] * 3 + [5.0] * 5), ("bbr2", 4.0, [8.0] * 3 + [5.0] * 5)]
    rows = summarise(tmp_path, make_shares(flows, bottleneck_bps=1e7))
    assert rows["figure_3: BBRv2, in the last 5 s"]["found_mean"] == pytest.approx(100.0)


@pytest.mark.parametrize(("stage_ms", "found"), [(60, 90.0), (40, None)])
def test_the_round_trip_time_is_that_of_the_stage_with_60_ms(
    tmp_path: Path, stage_ms: int, found: float | None
) -> None:
    stages = f'[{{"at_s": 2, "rtt_ms": {stage_ms}}}, {{"at_s": 4, "rtt_ms": 20}}]'
    tables = make_shares([("cubic", 0.0, [5.0] * 6), ("bbr", 0.0, [5.0] * 6)], stages_json=stages)
    for number, sample in enumerate(tables["samples"]):
        # Seven samples of each flow: those at 2 and 3 s are of the stage.
        sample["rtt_ms"] = {2: 80.0, 3: 100.0}.get(number % 7, 20.0)
    # A connection that is not a flow, as iperf3's for control, has the round-trip time of its start.
    first = tables["samples"][: len(tables["samples"]) // 2]
    tables["samples"] += [sample | {"flow_id": "r001/control", "rtt_ms": 20.0} for sample in first]
    row = summarise(tmp_path, tables)["figure_4: BBRv1 beside CUBIC"]
    assert row["found_mean"] == (None if found is None else pytest.approx(found))


def make_transfer(number: int, cc: str, times: list[float], bdp: float = 4, **facts: Any) -> Rows:
    """Return a run of a flow of `cc` and one of CUBIC that take a minute at the line rate, with iperf3's times."""
    path = {"bottleneck_bps": 8 * 8000 / 58, "rtt_ms": 20.0, "condition_id": f"{cc}{bdp}"}
    size = round(bdp * path["bottleneck_bps"] * 20 / 8e3)
    tables = make_transfers(number, {cc: [1.0], "cubic": [1.0]}, **path, buffer_bytes=size, **facts)
    for flow, time in zip(tables["flows"], times, strict=True):
        flow["receiver_s"] = time
    return tables


def test_completion_times_are_means_over_flows_as_iperf3_has_them(tmp_path: Path) -> None:
    runs = [make_transfer(1, "bbr", [58.0, 66.0]), make_transfer(2, "bbr2", [50.0, 52.0], bdp=2.9)]
    rows = summarise(tmp_path, *runs)
    assert rows["figure_5: CUBIC and BBRv1"]["found_mean"] == pytest.approx(62.0)
    assert rows["figure_5: CUBIC and BBRv2"]["published_verdict"] == "missing here"


@pytest.mark.slow
def test_a_quotient_is_of_one_group_of_runs_over_the_other(tmp_path: Path) -> None:
    first = [make_transfer(n, "bbr", [99.0 + n, 99.0 + n], loss_pct=1.0) for n in range(3)]
    second = [make_transfer(10 + n, "bbr2", [96.0 + n, 96.0 + n], loss_pct=1.0) for n in range(3)]
    # Only one of them has this size of a buffer.
    others = [make_transfer(20 + n, "bbr2", [10.0, 10.0], bdp=8, loss_pct=1.0) for n in range(3)]
    row = summarise(tmp_path, *first, *second, *others)["figure_5_lossy: all buffer sizes"]
    assert (row["printed"], row["unit"], row["runs_count"]) == ("96 to 98 %", "%", 3)
    assert (row["found_mean"], row["published_verdict"]) == (pytest.approx(97.0), "consistent")
    # One group alone has no quotient.
    (tmp_path / "one").mkdir()
    alone = summarise(tmp_path / "one", *first)["figure_5_lossy: all buffer sizes"]
    assert (alone["runs_count"], alone["published_verdict"]) == (0, "missing here")
