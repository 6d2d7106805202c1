"""A run's flows for other programs: as CSV, and as qlog that is as its drafts say."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from figure_inputs import make_database, make_tables
from jsonschema import Draft202012Validator, FormatChecker

from ccreport.__main__ import main
from ccreport.trace.qlog import name_state

SCHEMA = yaml.safe_load(Path(__file__).with_name("qlog.schema.yaml").read_text(encoding="utf-8"))
RUN = "experiment-cubic/1"
MSS = 1000
# Of a run of CUBIC: nine samples, a window that doubles twice and is halved by a loss of 2 segments at 1.5 s.
WINDOWS = [10, 20, 40, 40, 20, 20, 20, 20, 20]
LOST = [0, 0, 0, 2, 0, 0, 0, 0, 0]
PACKETS = [(0, 5_000), (500, 5_000), (1500, 10_000), *((time_ms, 5_000) for time_ms in range(2000, 4500, 500))]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    tables = make_tables("10.0.0.2", "sender")
    by_time = pl.int_range(pl.len()).over("flow_id")
    tables["samples"] = tables["samples"].with_columns(
        cwnd_segments_count=pl.lit(pl.Series([WINDOWS])).first().list.get(by_time),
        lost_count=pl.lit(pl.Series([LOST])).first().list.get(by_time),
        # ss did not tell in the third sample.
        sent_bytes=pl.when(by_time != 2).then((by_time + 1) * 5_000),
        ssthresh_segments_count=pl.when(by_time >= 3).then(20),
        unacked_count=pl.lit(8),
        sacked_count=pl.lit(1),
        retransmits_in_flight_count=pl.lit(1),
        rtt_ms=pl.lit(20.5),
        mss_bytes=pl.lit(MSS),
        pacing_rate_bps=pl.lit(1.5e6),
    )
    tables["intervals"] = tables["intervals"].with_columns(cwnd_bytes=pl.lit(50_000), rtt_ms=pl.lit(21.0))
    # Nothing sampled the run of BBR.
    tables["samples"] = tables["samples"].filter(~pl.col("run_id").str.contains("-bbr"))
    return make_database(tmp_path, tables)


def read_qlog(database: Path, run: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["export", run, "--qlog", "--database", str(database)]) == 0
    written: dict[str, Any] = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA, format_checker=FormatChecker()).validate(written)
    return written


def events_of(trace: dict[str, Any], name: str) -> list[tuple[float, dict[str, Any]]]:
    return [(event["time"], event["data"]) for event in trace["events"] if event["name"] == f"quic:{name}"]


def test_samples_of_ss_are_metrics_where_they_change(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = read_qlog(database, RUN, capsys)
    assert [trace["title"] for trace in written["traces"]] == [f"{RUN}/cubic1", f"{RUN}/cubic2"]
    trace = written["traces"][0]
    assert trace["common_fields"]["reference_time"] == {"clock_type": "system", "epoch": "2026-11-20T22:11:00.000000Z"}
    metrics = events_of(trace, "recovery_metrics_updated")
    # In flight: 8 sent + 1 again - 1 acknowledged selectively = 8 segments; 2 less where 2 are lost.
    first = {"smoothed_rtt": 20.5, "congestion_window": 10_000, "bytes_in_flight": 8_000, "packets_in_flight": 8}
    assert metrics == [
        (0, first | {"pacing_rate": 1_500_000}),
        (500, {"congestion_window": 20_000}),
        (1000, {"congestion_window": 40_000}),
        (1500, {"bytes_in_flight": 6_000, "packets_in_flight": 6, "ssthresh": 20_000}),
        (2000, {"congestion_window": 20_000, "bytes_in_flight": 8_000, "packets_in_flight": 8}),
    ]
    assert events_of(trace, "congestion_state_updated") == [
        (0, {"new": "slow_start"}),
        (1500, {"old": "slow_start", "new": "recovery"}),
        (2000, {"old": "recovery", "new": "congestion_avoidance"}),
    ]


def test_without_ss_intervals_tell_window_and_rtt(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (trace, _) = read_qlog(database, "experiment-bbr/1", capsys)["traces"]
    assert trace["common_fields"]["reference_time"] == {"clock_type": "monotonic", "epoch": "unknown"}
    assert trace["events"] == [
        {
            "time": 500,
            "name": "quic:recovery_metrics_updated",
            "data": {"smoothed_rtt": 21.0, "congestion_window": 50_000},
        }
    ]


def test_qvis_reads_an_earlier_version(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    current = read_qlog(database, RUN, capsys)
    assert main(["export", RUN, "--qvis", "--database", str(database)]) == 0
    earlier = json.loads(capsys.readouterr().out)
    assert (earlier["qlog_version"], earlier["title"]) == ("0.3", RUN)
    for before, now in zip(earlier["traces"], current["traces"], strict=True):
        # 2026-11-20T22:11:00Z.
        assert before["common_fields"] == {"time_format": "relative", "reference_time": 1795212660000}
        packets = [event for event in before["events"] if event["name"] == "transport:packet_sent"]
        others = [event for event in before["events"] if event not in packets]
        assert [(event["time"], event["data"]) for event in others] == [
            (event["time"], event["data"]) for event in now["events"]
        ]
        assert {event["name"] for event in others} == {"recovery:metrics_updated", "recovery:congestion_state_updated"}
        # Without packets qvis has an axis of 10 ms.
        assert [(event["time"], event["data"]["raw"]["length"]) for event in packets] == PACKETS
    assert main(["export", "experiment-bbr/1", "--qvis", "--database", str(database)]) == 0
    assert json.loads(capsys.readouterr().out)["traces"][0]["common_fields"]["reference_time"] == 0


@pytest.mark.parametrize(
    ("pacing", "window", "state"),
    # The gains of the kernel's BBR: 2/ln 2 in startup, its reciprocal to drain, a cycle, and a window of 4 segments.
    [
        (2.886, 2.886, "startup"),
        (0.347, 2.886, "drain"),
        (0.75, 2, "probe_bw"),
        (1.25, 2, "probe_bw"),
        (1, 1, "probe_rtt"),
    ],
)
def test_gains_tell_the_state_of_bbr(pacing: float, window: float, state: str) -> None:
    gains = {"bbr_pacing_gain_ratio": pacing, "bbr_cwnd_gain_ratio": window}
    counts = {"cwnd_segments_count": 4, "ssthresh_segments_count": None, "lost_count": 3}
    assert name_state(gains | counts) == state


def test_a_schema_that_is_broken_is_seen() -> None:
    event = {"time": 0.0, "name": "quic:recovery_metrics_updated", "data": {"congestion_window": 1.5}}
    trace = {"event_schemas": ["urn:ietf:params:qlog:events:quic-12"], "events": [event]}
    file = {"file_schema": "urn:ietf:params:qlog:file:contained", "serialization_format": "application/qlog+json"}
    assert not Draft202012Validator(SCHEMA).is_valid(file | {"traces": [trace]})
    event["data"] = {"congestion_window": 1}
    assert Draft202012Validator(SCHEMA).is_valid(file | {"traces": [trace]})


def test_two_forms_of_qlog_are_not_one_file(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", RUN, "--qlog", "--qvis", "--database", str(database)]) == 1
    printed = capsys.readouterr()
    assert (printed.out, "name one of the two" in printed.err) == ("", True)


def test_flows_are_csv_with_all_columns(database: Path, tmp_path: Path) -> None:
    assert main(["export", "both/2", "--database", str(database), "--output", str(tmp_path / "flows.csv")]) == 0
    flows = pl.read_csv(tmp_path / "flows.csv")
    assert flows.select("cc", "goodput_bps").rows() == [("bbr", 20e6), ("bbr", 20e6), ("cubic", 5e6), ("cubic", 5e6)]
    assert flows["run_id"].unique().to_list() == ["experiment-both/2"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("experiment-both", "3 runs have `experiment-both` in their names: experiment-both/1, experiment-both/2"),
        ("experiment-cubic1", "no run `experiment-cubic1`; did you mean `experiment-cubic/1`?"),
        ("", "a run's name is needed, or a part of one; `python -m ccreport sql "),
        (" ", "a run's name is needed, or a part of one; `python -m ccreport sql "),
        ("nothing", 'no run `nothing`; `python -m ccreport sql "SELECT run_id FROM runs" --database /'),
    ],
)
def test_a_name_that_fits_no_run_or_several(
    database: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    assert main(["export", name, "--database", str(database)]) == 1
    assert said in capsys.readouterr().err
