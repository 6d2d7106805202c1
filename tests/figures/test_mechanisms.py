"""Theory beside measurements, each worked out by hand."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from condition_runs import Rows, build_database, gather, make_run, write_evaluation

from ccreport.figures.kinds import BUILDERS
from ccreport.figures.kit.figure import Figure
from ccreport.figures.mechanisms.response import predict
from ccreport.figures.mechanisms.retransmit_causes import measure_causes
from ccreport.figures.mechanisms.theory import (
    bbr_loss_threshold,
    cubic_window,
    predict_bbr,
    predict_cubic,
    rate_of_window,
    reno_window,
)
from ccreport.figures.select.declaration import read_declaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database


def build(folder: Path, kind: str, tables: Rows, **figure: Any) -> Figure:
    evaluation = write_evaluation(folder, kind=kind, **figure)
    with Database(build_database(folder, tables, evaluation)) as database:
        return BUILDERS[kind](read_declaration(evaluation, "f"), database)


def test_windows_are_those_of_the_tables_of_rfc_9438() -> None:
    # Table 1 of RFC 9438 (RTT 100 ms): average windows of Reno and CUBIC at a loss of 10⁻² to 10⁻⁸.
    for loss, reno, cubic in (
        (1e-2, 12, 12),
        (1e-3, 38, 38),
        (1e-4, 120, 187),
        (1e-6, 1200, 5926),
        (1e-8, 12000, 187400),
    ):
        assert reno_window(loss) == pytest.approx(reno, rel=0.03)
        assert predict_cubic(loss, 0.1) == pytest.approx(cubic, rel=0.03)
    # (0.4 · 3.7 / 1.2)^(1/4) = 1.05382, and (0.1 / 10⁻⁴)^(3/4) = 177.828.
    assert cubic_window(1e-4, 0.1) == pytest.approx(1.05382 * 177.828, rel=1e-5)
    assert reno_window(0.015) == pytest.approx(10.0)


def test_a_window_is_sent_each_round_trip() -> None:
    # 10 · 1,448 B · 8 in 20 ms.
    assert rate_of_window(10, 1448, 0.02) == pytest.approx(5_792_000)


def test_versions_of_bbr_have_their_thresholds() -> None:
    assert bbr_loss_threshold("bbr") == pytest.approx(0.2)
    assert bbr_loss_threshold("bbr3") == 0.02
    assert predict_bbr(0.1, 50e6, "bbr") == pytest.approx(45e6)
    assert predict_bbr(0.1, 50e6, "bbr2") == 0.0


def make_lone(number: int, cc: str, loss_pct: float, rate_mbps: float) -> Rows:
    path = {"loss_pct": loss_pct, "rtt_ms": 20.0, "nic_bps": 50e6}
    tables = make_run(number, {cc: rate_mbps}, **path)
    tables["runs"][0]["mss_bytes"] = tables["flows"][0]["mss_bytes"] = 1448
    return tables


LONE = gather(
    make_lone(1, "cubic", 0.01, 40.0), make_lone(2, "cubic", 1.5, 5.0), make_lone(3, "bbr", 1.5, 44.0),
    make_lone(4, "bbr", 0.0, 48.0),
)  # fmt: skip


def make_lossy(number: int, rate_mbps: float, **facts: Any) -> Rows:
    return make_run(number, {"cubic": rate_mbps}, **{"loss_pct": 1.0, "nic_bps": 50e6} | facts)


PATTERNS = gather(
    make_lossy(1, 4.0), make_lossy(2, 6.0), make_lossy(3, 10.0, loss_pct=0.99989),
    # Of another RTT there is only random loss.
    make_lossy(4, 9.0, rtt_ms=80.0),
) | {
    # As netem's recorded model has it, whatever the job is called.
    "qdiscs": [{"run_id": "r003", "line_number": 1, "qdisc": "netem", "loss_model": "gemodel"}]
}  # fmt: skip


def test_measured_rates_stand_beside_theory(tmp_path: Path) -> None:
    figure = build(tmp_path, "response_to_loss", LONE)
    rows = figure.data.sort("cc", "loss_pct").select("cc", "loss_pct", "goodput_mean_bps").rows()
    # Without loss there is no response to it.
    assert rows == [("bbr", 1.5, 44e6), ("cubic", 0.01, 40e6), ("cubic", 1.5, 5e6)]
    # At 1.5 % the window is 10 segments, 5.792 Mbit/s: 5 is 0.86 of it. At 0.01 % CUBIC's window is 56, Reno's 122: so
    # 71 Mbit/s would need more than the line's 50 · 1,448/1,538 = 47.07: 40 is 0.85 of that.
    assert "0.85 to 0.86 times" in figure.caption
    assert "CUBIC 40.0 Mbit/s at 0.01 %, 5.00 Mbit/s at 1.5 %" in figure.alternative
    # 1 - 1/1.25.
    key = json.dumps(figure.chart.to_dict(validate=False))
    for name in ("CUBIC in theory, RFC 9438", "Reno in theory, Mathis et al.", "BBR in theory, up to 20 % loss"):
        assert name in key
    # No mean has an interval, and the axis ends where the data do: 20 % is far above.
    assert "; marks: measured; lines: theory" in key
    assert "95 % intervals" not in key
    tops = [float(top) for top in re.findall(r'"domain": \[[\d.e-]+, ([\d.]+)\], "nice": false, "type": "log"', key)]
    assert 2.1 in [round(top, 6) for top in tops]
    assert 28.0 not in [round(top, 6) for top in tops]


def test_one_rate_of_loss_is_no_response(tmp_path: Path) -> None:
    with pytest.raises(MissingFigure, match="fewer than two rates of loss above 0 with"):
        build(tmp_path, "response_to_loss", LONE, where="loss_pct = 1.5")


@pytest.mark.parametrize(("column", "told"), [("nic_bps", "bottleneck_bps: 1e9"), ("mss_bytes", "whose MSS is known")])
def test_what_theory_lacks_is_told_by_its_name(column: str, told: str, tmp_path: Path) -> None:
    without = {name: list(rows) for name, rows in LONE.items()}
    without["runs"] = [run | {column: None} for run in without["runs"]]
    with pytest.raises(MissingFigure, match=told):
        build(tmp_path, "response_to_loss", without)


@pytest.mark.parametrize(
    ("kind", "tables", "told"),
    [
        (
            "response_to_loss",
            LONE,
            r"more than one line rate, pacing rate or MSS.* They have .*pacing_bps IN \(1000000",
        ),
        ("rate_by_loss_pattern", PATTERNS, "No condition of the runs that match has both"),
    ],
)
def test_runs_of_other_pacing_are_not_compared(kind: str, tables: Rows, told: str, tmp_path: Path) -> None:
    paced = {name: list(rows) for name, rows in tables.items()}
    paced["runs"] = [run | {"pacing_bps": 1e6 * n} for n, run in enumerate(paced["runs"], 1)]
    build(tmp_path, kind, tables)
    (tmp_path / "paced").mkdir()
    with pytest.raises(MissingFigure, match=told):
        build(tmp_path / "paced", kind, paced)


def test_predictions_stop_at_the_line_rate() -> None:
    cells = pl.DataFrame(
        {"rtt_ms": [20.0] * 2, "cc": ["bbr2", "cubic"], "loss_pct": [0.001, 1.5], "line_bps": [50e6] * 2}
    ).with_columns(mss_bytes=pl.lit(1448))
    expected = predict(cells)
    line = 50e6 * 1448 / 1538
    at = {(law, loss): rate for _, law, loss, rate in expected.rows()}
    assert at["cubic", 0.001] == at["reno", 0.001] == pytest.approx(line)
    assert at["cubic", 1.5] == pytest.approx(5_792_000)
    assert at["bbr2", 1.5] == pytest.approx(line * 0.985)
    assert max(loss for law, loss in at) == 2.0


def test_random_and_burst_loss_are_compared_under_the_same_condition(tmp_path: Path) -> None:
    figure = build(tmp_path, "rate_by_loss_pattern", PATTERNS)
    assert figure.data.sort("goodput_mean_bps").select("loss_pattern", "runs_count", "goodput_mean_bps").rows() == [
        ("random", 2, 5e6), ("bursts", 1, 10e6)
    ]  # fmt: skip
    assert "With bursts it is 2.0 times that with random loss" in figure.caption
    with pytest.raises(MissingFigure, match="both random loss and bursts"):
        build(tmp_path, "rate_by_loss_pattern", PATTERNS, where="loss_pattern <> 'bursts'")


def test_flows_of_several_rtts_have_multiples_of_the_fair_share(tmp_path: Path) -> None:
    tables = make_run(1, {"cubic": [6.0, 4.0, 1.0, 1.0]})
    for flow, rtt_ms in zip(tables["flows"], (10.0, 10.0, 40.0, 40.0), strict=True):
        flow["rtt_nominal_ms"] = rtt_ms
    figure = build(tmp_path, "share_by_rtt", tables)
    # The mean of all flows is 3: (6 + 4)/2 is 5/3 of it, 1 is 1/3.
    rows = figure.data.sort("rtt_nominal_ms").select("cc", "rtt_nominal_ms", "fair_share_mean_ratio").rows()
    assert rows == [("cubic", 10.0, pytest.approx(5 / 3)), ("cubic", 40.0, pytest.approx(1 / 3))]
    assert "a factor of 5.0, between flows of 10 and 40 ms" in figure.caption
    for flow in tables["flows"]:
        flow["rtt_nominal_ms"] = 10.0
    with pytest.raises(MissingFigure, match="several known RTTs"):
        build(tmp_path, "share_by_rtt", tables)


def count(data: int, repeated: int, spurious: int, loss_pct: float) -> tuple[float, float]:
    flows = pl.DataFrame(
        {
            "cc": ["cubic"],
            "loss_pct": [loss_pct],
            "data_packets_count": [data],
            "retransmits_count": [repeated],
            "spurious_count": [spurious],
        }
    )
    row = measure_causes(flows, ["cc"]).row(0, named=True)
    return row["overflow_count"], row["random_count"]


def test_retransmissions_have_their_causes() -> None:
    # Of 1,000, 190 are lost: x at the queue, and 10 % of what it lets through: x + 0.1 (1,000 - x) = 190, so x = 100.
    assert count(1000, 190, 0, 10.0) == (pytest.approx(100), pytest.approx(90))
    assert count(1000, 200, 10, 10.0) == (pytest.approx(100), pytest.approx(90))
    assert count(1000, 50, 0, 0.0) == (50, 0)
    # Less was lost than is expected: all of it is random.
    assert count(1000, 5, 0, 1.0) == (0, 5)


def test_a_capture_of_the_sample_archive_agrees_with_its_queues() -> None:
    # Run 1 of fctcap_12KB_both_p10_loss1: tc counts 1,139 drops of the tbf and 68 of the netem behind it.
    assert count(7677, 1194, 0, 1.0) == (pytest.approx(1139, rel=0.02), pytest.approx(68, rel=0.05))


def test_captured_flows_have_a_bar_for_each_algorithm(tmp_path: Path) -> None:
    tables = make_run(1, {"bbr": 8.0, "cubic": 2.0}, loss_pct=0.0)
    tables["packet_flows"] = [
        {
            "run_id": "r001", "raw_file_id": "f", "flow_id": flow["flow_id"], "connection_number": 1,
            "direction": "out", "capture_side": "sender", "data_packets_count": 1000,
            "retransmits_capture_count": repeated, "retransmits_spurious_count": spurious,
        }
        for flow, (repeated, spurious) in zip(tables["flows"], [(40, 10), (0, 0)], strict=True)
    ]  # fmt: skip
    figure = build(tmp_path, "retransmit_causes", tables)
    columns = ("cc", "retransmits_count", "overflow_count", "random_count", "spurious_count")
    assert figure.data.select(columns).rows() == [("bbr", 40, 30.0, 0.0, 10), ("cubic", 0, 0.0, 0.0, 0)]
    assert "Of 40 retransmissions: queue overflow 75 %, random loss (expected) 0 %, spurious 25 %" in figure.caption
    assert "BBR: 3.0 % queue overflow, 1.0 % spurious. CUBIC: none." in figure.alternative
    for captured in tables["packet_flows"]:
        captured["capture_side"] = "receiver"
    with pytest.raises(MissingFigure, match="at the sender"):
        build(tmp_path, "retransmit_causes", tables)
