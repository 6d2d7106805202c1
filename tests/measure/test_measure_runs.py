import json
import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from archives import ROOT, at, save_table
from hypothesis import given
from hypothesis import strategies as st

from ccreport.archive.manifest import Manifest, ManifestRun, RawFile
from ccreport.core.identifiers import flow_id_of_connection
from ccreport.core.table_folder import TableFolder
from ccreport.measure import NEEDED_TABLES
from ccreport.measure.conditions import condition_of
from ccreport.measure.cpu import measure_cpu
from ccreport.measure.fairness import jain_index
from ccreport.measure.runs import measure_runs, sum_rates, summarise_flows

MACROS = ROOT / "src/ccreport/sql/common/macros.sql"
RUN = ManifestRun("r", "h:1:20.0ms", "h", 1, rtt_nominal_ms=20.0)


def stream(port: int, **facts: Any) -> dict[str, Any]:
    flow_id = flow_id_of_connection("r", "10.0.0.1", port, "10.0.0.2", 5201)
    known = {"local_address": "10.0.0.1", "local_port": port, "remote_address": "10.0.0.2", "remote_port": 5201}
    return {"run_id": "r", "flow_id": flow_id, "stream_number": port, **known, **facts}


def measure(
    tmp_path: Path,
    run: ManifestRun = RUN,
    files: tuple[RawFile, ...] = (),
    *,
    include_interrupted: bool = False,
    include_cpu_bound: bool = True,
    **tables: list[dict[str, Any]],
) -> tuple[dict[str, Any], pl.DataFrame]:
    manifest = Manifest("e", "2026-11-20:22:10", "job", (run,), files)
    own = TableFolder(tmp_path)
    for name in NEEDED_TABLES:
        save_table(name, tables.get(name, []), own.place(name))
    measure_runs(manifest, own, include_interrupted=include_interrupted, include_cpu_bound=include_cpu_bound)
    return own.read("runs").row(0, named=True), own.read("flows")


TEST = {"run_id": "r", "protocol": "TCP", "tool_version": "iperf 3.12", "duration_s": 8.0, "mss_bytes": 1000}


def test_a_run_is_the_sum_of_its_flows(tmp_path: Path) -> None:
    # Rates 2 and 6 Mbit/s: 2 MB and 6 MB in 8 s; Jain (2 + 6)² / (2 · (4 + 36)) = 64 / 80.
    streams = [
        stream(1, sender_bytes=2_000_000, sender_s=8.0, retransmits_iperf3_count=20),
        stream(2, sender_bytes=6_000_000, sender_s=8.0, retransmits_iperf3_count=20),
    ]
    run, flows = measure(tmp_path, tests=[TEST], streams=streams)
    assert run["throughput_bps"] == 8e6
    assert run["goodput_bps"] is None
    assert run["jain_ratio"] == pytest.approx(0.8)
    # 40 of 2020 + 6020 segments, not the mean of 0.0099 and 0.0033.
    assert run["retransmit_ratio"] == 40 / 8040
    assert (run["flows_count"], run["clients_count"], run["is_counted"]) == (2, 1, True)
    assert flows.height == 2


def test_an_overlapped_run_has_mode_both(tmp_path: Path) -> None:
    streams = [stream(port, sender_bytes=1000, sender_s=1.0) for port in (1, 2)]
    samples = [
        {**stream(port), "cc": cc, "time_utc": at(0.0), "data_segments_out_count": 200}
        for port, cc in ((1, "cubic"), (2, "bbr2"))
    ]
    for row in samples:
        del row["stream_number"]
    run, _ = measure(tmp_path, tests=[TEST | {"cc_sender": "bbr2"}], streams=streams, samples=samples)
    assert (run["mode"], run["cc_list"]) == ("both", "bbr2,cubic")
    run, _ = measure(tmp_path, tests=[TEST | {"cc_sender": "bbr2"}], streams=streams)
    assert (run["mode"], run["cc_list"]) == ("bbr2", "bbr2")


@pytest.mark.parametrize(
    ("nominal", "lat", "ping", "minrtt", "expected"),
    [
        (20.0, 10.0, 87.0, 5.0, (20.0, "nominal")),
        (None, 44.0, 87.0, 5.0, (44.0, "nominal")),
        (None, None, 87.0, 5.0, (87.0, "ping")),
        (None, None, None, 5.25, (5.25, "ss")),
        (None, None, None, None, (None, None)),
    ],
)
def test_the_rtt_of_a_run(
    nominal: float | None,
    lat: float | None,
    ping: float | None,
    minrtt: float | None,
    expected: tuple[object, object],
    tmp_path: Path,
) -> None:
    sample = {**stream(1), "time_utc": at(0.0), "data_segments_out_count": 200, "rtt_min_ms": minrtt}
    del sample["stream_number"]
    run, _ = measure(
        tmp_path,
        ManifestRun("r", "h:1", "h", 1, rtt_nominal_ms=nominal),
        tests=[TEST],
        streams=[stream(1, sender_bytes=1, sender_s=1.0)],
        samples=[sample] if minrtt else [],
        experiments=[{"experiment_id": "e", "rtt_nominal_ms": lat, "has_netem": lat is not None}],
        hosts=[{"experiment_id": "e", "host": "h", "rtt_ping_ms": ping}],
    )
    assert (run["rtt_ms"], run["rtt_source"]) == expected


@pytest.mark.parametrize(
    ("qdisc", "job", "has_netem", "expected"),
    [
        (0.02, 0.1, True, (0.02, "qdisc")),
        (0.0, None, True, (0.0, "qdisc")),
        (None, 0.1, True, (0.1, "jobmeta")),
        (None, None, True, (0.0, "jobmeta")),  # a delay was set, a loss was not
        (None, None, False, (None, None)),  # a real path: unknown, not 0
    ],
)
def test_the_loss_of_a_run(
    qdisc: float | None, job: float | None, has_netem: bool, expected: tuple[object, object], tmp_path: Path
) -> None:
    qdiscs = [{"run_id": "r", "line_number": 1, "qdisc": "netem", "loss_pct": qdisc}] if qdisc is not None else []
    experiments = [{"experiment_id": "e", "loss_pct": job, "has_netem": has_netem}]
    run, _ = measure(tmp_path, experiments=experiments, qdiscs=qdiscs)
    assert (run["loss_pct"], run["loss_source"]) == expected


@pytest.mark.parametrize(("declared", "expected"), [(None, (4000, 60)), (5000, (5000, 70))])
def test_recorded_qdiscs_tell_the_buffer_where_nothing_else_does(
    declared: int | None, expected: tuple[int, int], tmp_path: Path
) -> None:
    queues = [{"qdisc": "bfifo", "limit_bytes": 4000}, {"qdisc": "pfifo", "limit_packets_count": 60}]
    qdiscs = [{"run_id": "r", "line_number": number, **queue} for number, queue in enumerate(queues, 1)]
    job = {"buffer_bytes": declared, "limit_packets_count": 70 if declared else None}
    run, _ = measure(tmp_path, experiments=[{"experiment_id": "e"} | job], qdiscs=qdiscs)
    assert (run["buffer_bytes"], run["limit_packets_count"]) == expected


TWO_PATHS = [
    {"number": 1, "host": "h", "rtt_ms": 5.0, "congestion_control": "bbr", "start_s": 0.0},
    {"number": 2, "host": "g", "rtt_ms": 50.0, "congestion_control": "cubic", "start_s": 3.0},
]


@pytest.mark.parametrize(
    ("losses", "job", "expected"),
    [
        ((0.0, 0.0), None, (0.0, "qdisc")),  # no path loses anything
        ((0.0, 1.0), None, (None, None)),  # which of the paths does is not recorded
        ((0.1, 1.0), 0.1, (0.1, "jobmeta")),
    ],
)
def test_the_loss_of_a_run_to_several_destinations(
    losses: tuple[float, float], job: float | None, expected: tuple[object, object], tmp_path: Path
) -> None:
    qdiscs = [{"run_id": "r", "line_number": n, "qdisc": "netem", "loss_pct": loss} for n, loss in enumerate(losses, 1)]
    about = {"experiment_id": "e", "loss_pct": job, "has_netem": True, "clients_json": json.dumps(TWO_PATHS)}
    run, _ = measure(tmp_path, experiments=[about], qdiscs=qdiscs)
    assert (run["loss_pct"], run["loss_source"]) == expected


def test_clients_of_a_run_have_their_own_algorithm_and_path(tmp_path: Path) -> None:
    far = {"remote_address": "10.0.0.3", "flow_id": "r-far", "client_number": 2}
    streams = [stream(1, sender_bytes=1000, sender_s=1.0), stream(2, sender_bytes=1000, sender_s=1.0) | far]
    tests = [TEST | {"client_number": number, "start_utc": at(0.0)} for number in (1, 2)]
    about = {"experiment_id": "e", "cc_command": "reno", "clients_json": json.dumps(TWO_PATHS)}
    about |= {"queue_discipline": "fq_codel", "has_queue_ecn": True}
    run, flows = measure(tmp_path, tests=tests, streams=streams, experiments=[about])
    named = flows.sort("client_number").select("client_number", "cc", "cc_source", "rtt_nominal_ms")
    # The name of the run says 20 ms of its own path.
    assert named.rows() == [(1, "bbr", "command", 20.0), (2, "cubic", "command", 50.0)]
    # Declared 3 s apart, though both say that they started at the same time.
    assert (run["destinations_count"], run["start_spread_s"], run["mode"]) == (2, 3.0, "both")
    assert (run["queue_discipline"], run["has_queue_ecn"]) == ("fq_codel", True)


def test_without_declared_clients_starts_are_measured(tmp_path: Path) -> None:
    streams = [stream(1, sender_bytes=1000, sender_s=1.0), stream(2, sender_bytes=1000, sender_s=1.0, client_number=2)]
    tests = [TEST | {"client_number": number, "start_utc": at(2.0 * number)} for number in (1, 2)]
    run, flows = measure(tmp_path, tests=tests, streams=streams)
    assert (run["destinations_count"], run["start_spread_s"], run["clients_count"]) == (1, 2.0, 2)
    assert flows["rtt_nominal_ms"].to_list() == [20.0, 20.0]


@pytest.mark.parametrize(
    ("asked", "pacing"),
    [
        ([{"target_bitrate_bps": 8e7}], 8e7),
        ([{"target_bitrate_bps": 0.0, "fq_rate_bps": 0.0}], None),
        ([{"target_bitrate_bps": 8e7, "fq_rate_bps": 5e7}], 5e7),
        ([{"target_bitrate_bps": 8e7}, {"target_bitrate_bps": 8e7}], 8e7),
        # One rate says nothing of flows that were kept to others, or to none.
        ([{"target_bitrate_bps": 8e7}, {"target_bitrate_bps": 9e7}], None),
        ([{"target_bitrate_bps": 8e7}, {}], None),
        ([{"target_bitrate_bps": 8e7, "protocol": "UDP"}], None),
    ],
)
def test_flows_that_the_program_keeps_to_a_rate_are_paced(
    asked: list[dict[str, Any]], pacing: float | None, tmp_path: Path
) -> None:
    tests = [TEST | {"client_number": number} | facts for number, facts in enumerate(asked, 1)]
    run, _ = measure(tmp_path, tests=tests, streams=[stream(1, sender_bytes=2_000_000, sender_s=8.0)])
    assert run["pacing_bps"] == pacing
    if len(asked) == 1:
        paced = [{"experiment_id": "e", "pacing_bps": 1e6}]
        assert measure(tmp_path, tests=tests, experiments=paced)[0]["pacing_bps"] == 1e6


def test_runs_of_a_layout_that_differ_in_the_rate_asked_for_are_conditions_of_their_own(tmp_path: Path) -> None:
    run = ManifestRun("r", None, None, 1, conditions={})
    conditions = {
        rate: measure(tmp_path, run, tests=[TEST | {"target_bitrate_bps": rate}])[0]["condition_id"]
        for rate in (0.0, 4e7, 8e7)
    }
    assert len({*conditions.values()}) == 3
    assert conditions[8e7] == conditions[0.0] + "-b80000000"


@pytest.mark.parametrize(
    ("tests", "named", "expected"),
    [
        ([{}], (None, None), (None, None)),
        ([{"is_reverse": True}], (None, None), ("direction", "reverse")),
        ([{"is_bidirectional": True}], (None, None), ("direction", "both")),
        # Of two clients each sends one way.
        ([{}, {"client_number": 2, "is_reverse": True}], (None, None), ("direction", "both")),
        ([{"is_reverse": True}], ("beta", "717"), ("beta, direction", "717, reverse")),
        ([{"is_reverse": True}], ("direction", "reverse"), ("direction", "reverse")),
        ([{"is_reverse": True}], ("direction", "up"), ("direction, direction", "up, reverse")),
    ],
)
def test_the_direction_of_a_run_is_one_of_its_parameters(
    tests: list[dict[str, Any]],
    named: tuple[str | None, str | None],
    expected: tuple[str | None, str | None],
    tmp_path: Path,
) -> None:
    run = ManifestRun("r", "h:1", "h", 1, parameter_name=named[0], parameter_value=named[1])
    measured = measure(tmp_path, run, tests=[TEST | facts for facts in tests])[0]
    assert (measured["parameter_name"], measured["parameter_value"]) == expected
    forward = measure(tmp_path, run, tests=[TEST])[0]["condition_id"]
    assert (measured["condition_id"] == forward) is (expected == (None, None))


def test_an_interrupted_run_counts_only_if_asked(tmp_path: Path) -> None:
    tables: dict[str, list[dict[str, Any]]] = {
        "tests": [TEST | {"is_interrupted": True}],
        "streams": [stream(1, sender_bytes=1000, sender_s=1.0)],
    }
    assert not measure(tmp_path, **tables)[0]["is_counted"]
    run, _ = measure(tmp_path, include_interrupted=True, **tables)
    assert (run["is_counted"], run["is_interrupted"]) == (True, True)


def test_a_run_without_usable_files_still_stands_in_the_table(tmp_path: Path) -> None:
    run, flows = measure(tmp_path)
    assert (run["flows_count"], run["tool"], run["is_counted"], run["loss_pct"]) == (0, None, False, None)
    assert flows.is_empty()


def test_a_captured_run_says_so(tmp_path: Path) -> None:
    capture = RawFile("f", "j/tcpdump:h:1", "tcpdump", "pcap", 1, "0", "ignored", run_id="r")
    assert measure(tmp_path, files=(capture,))[0]["has_capture"]


def test_iterations_share_a_condition_and_nothing_else_does() -> None:
    runs = [
        ManifestRun("a", "", "h", 1, 20.0),
        ManifestRun("b", "", "h", 2, 20.0),
        ManifestRun("c", "", "h", 1, 40.0),
        ManifestRun("d", "", "g", 1, 20.0),
        ManifestRun("e", "", "h", 1, 20.0, limit=1000),
        ManifestRun("f", "", "h", 1, 20.0, None, "p", "1"),
    ]
    conditions = [condition_of("e", run) for run in runs]
    assert conditions[0] == conditions[1]
    assert len(set(conditions)) == 5
    assert condition_of("other", runs[0]) != conditions[0]


def cpu(side: str, number: int, cpu_name: str, idle: float) -> dict[str, Any]:
    return {"run_id": "r", "side": side, "sample_number": number, "cpu": cpu_name, "cpu_idle_pct": idle}


def test_cpu_leaves_out_the_first_four_samples_and_the_last(tmp_path: Path) -> None:
    # Of 7 samples, numbers 4 and 5 count. All: busy 20 and 40, mean 30. Core 0: 40 and 80, mean 60; core 1: 0.
    rows = []
    for number, busy in enumerate([100, 100, 100, 100, 20, 40, 100]):
        rows += [cpu("sender", number, "all", 100 - busy), cpu("sender", number, "0", 100 - min(100, 2 * busy))]
        rows.append(cpu("sender", number, "1", 100))
    # mpstat -P 0,1 prints no mean over all: busy 10 and 50 in each counted sample, mean 30.
    rows += [cpu("receiver", n, name, idle) for n in range(6) for name, idle in (("0", 90), ("1", 50))]
    loads = measure_cpu(save_table("cpu_samples", rows, tmp_path / "cpu.parquet")).row(0, named=True)
    assert (loads["cpu_sender_mean_pct"], loads["cpu_sender_busiest_pct"]) == (30, 60)
    assert (loads["cpu_receiver_mean_pct"], loads["cpu_receiver_busiest_pct"]) == (30, 50)


def test_too_few_cpu_samples_give_none(tmp_path: Path) -> None:
    rows = [cpu("sender", number, "all", 50) for number in range(5)]
    assert measure_cpu(save_table("cpu_samples", rows, tmp_path / "cpu.parquet")).is_empty()


def jain(rates: list[float | None]) -> float | None:
    value: float | None = pl.DataFrame({"x": rates}, schema={"x": pl.Float64}).select(jain_index(pl.col("x"))).item()
    return value


FLOW_FACTS = (
    "retransmit_ratio",
    "cwnd_mean_segments_count",
    "mss_bytes",
    "rtt_min_ms",
    "sender_bytes",
    "receiver_bytes",
)
FLOW_FACTS += ("throughput_bps", "sender_s", "retransmits_count", "segments_count", "ss_rtt_min_ms")
# Each flow's client, start, how finely that is known, length (s) and rate (Mbit/s); what they have together by hand.
TOGETHER = {
    "side by side": ([(1, 0.0, 0.5, 10.0, 3.0), (1, 0.5, 0.5, 10.0, 5.0)], 8.0),
    # 0.5 s later or at the same time.
    "the clock is too coarse": ([(1, 0.0, 0.5, 3.0, 3.0), (2, 0.5, 0.5, 3.0, 5.0)], 8.0),
    # 10 Mbit/s for 20 s and 8 Mbit/s for 10 s: 280 Mbit in 20 s.
    "one joins": ([(1, 0.0, 0.5, 20.0, 10.0), (2, 10.0, 0.5, 10.0, 8.0)], 14.0),
    # 10 Mbit in 1 s and 10 Mbit in 4 s.
    "transfers": ([(1, 0.0, 0.5, 1.0, 10.0), (2, 0.0, 0.5, 4.0, 2.5)], 5.0),
    # 3 · 2 + 5 · 2 Mbit in 7 s.
    "one after the other": ([(1, 0.0, None, 2.0, 3.0), (2, 5.0, None, 2.0, 5.0)], 16 / 7),
    "no length": ([(1, 0.0, 0.5, None, 3.0), (2, 9.0, 0.5, 1.0, 5.0)], 8.0),
    "no rate": ([(1, 0.0, 0.5, 10.0, None), (2, 0.0, 0.5, 10.0, 5.0)], None),
}


def test_a_rate_rests_on_declared_starts_where_all_have_one() -> None:
    # ss saw the second flow late: 10 Mbit/s for 4 s and 8 Mbit/s for 2 s are 56 Mbit in 4 s.
    starts = {"start_offset_s": [0.0, 2.4], "start_resolution_s": [0.5, 0.5], "start_declared_s": [0.0, 2.0]}
    facts = {"run_id": ["r", "r"], "client_number": [1, 2], "cc": ["cubic", "bbr"], "receiver_s": [4.0, 2.0]}
    flows = pl.DataFrame(facts | starts | {"goodput_bps": [10e6, 8e6]})
    absent = {name: pl.lit(None, pl.Float64) for name in FLOW_FACTS if name not in flows.columns}
    flows = flows.with_columns(**absent, remote_address=pl.lit(None, pl.String), retransmit_source=pl.lit("ss"))
    assert summarise_flows(flows)["goodput_bps"].item() == pytest.approx(14e6)
    seen = flows.with_columns(start_declared_s=pl.lit(None, pl.Float64))
    assert summarise_flows(seen)["goodput_bps"].item() == pytest.approx(56e6 / 4.4)


@pytest.mark.parametrize("case", TOGETHER)
def test_flows_of_different_times_have_the_rate_of_all_bytes_over_the_whole_time(case: str) -> None:
    given_flows, expected = TOGETHER[case]
    columns = ("client_number", "client_start_s", "start_resolution_s", "receiver_s", "goodput_bps")
    kinds = {name: pl.Int64 if name == "client_number" else pl.Float64 for name in columns}
    flows = pl.DataFrame(given_flows, schema=kinds, orient="row").with_columns(
        pl.col("client_start_s").min().over("client_number"),
        start_declared_s=pl.lit(None, pl.Float64),
        flow_id=pl.int_range(pl.len()),
    )
    of_run = flows.select(sum_rates("goodput_bps", "receiver_s")).item()
    with duckdb.connect() as connection:
        macro = re.search(r"CREATE MACRO sum_rates.*?END;", MACROS.read_text(), re.DOTALL)
        assert macro is not None
        connection.execute(macro[0])
        query = "SELECT sum_rates(goodput_bps, receiver_s, client_start_s, start_resolution_s, flow_id) FROM flows"
        assert connection.execute(query).fetchall() == [(pytest.approx(expected),)]
    assert of_run == pytest.approx(expected)


def test_jain_by_hand() -> None:
    assert jain([5.0, 5.0, 5.0]) == 1
    assert jain([8.0, 0.0, 0.0, 0.0]) == 0.25  # one has all: 1 / n
    assert jain([1.0, 3.0]) == 0.8  # 16 / (2 · 10)
    assert jain([1.0, None, 3.0]) == 0.8
    assert jain([]) is None
    assert jain([0.0, 0.0]) is None


@given(st.lists(st.floats(0.001, 1e12), min_size=1, max_size=30), st.floats(0.01, 100))
def test_jain_lies_between_a_share_and_one_whatever_the_unit(rates: list[float], factor: float) -> None:
    index = jain(list(rates))
    assert index is not None
    assert 1 / len(rates) - 1e-9 <= index <= 1
    assert jain([rate * factor for rate in rates]) == pytest.approx(index)


def count_drop(is_path: bool, after: int) -> dict[str, Any]:
    facts = {"raw_file_id": "f", "run_id": "r", "kernel_host": "far", "drop_counter": f"d{is_path} dropped"}
    return facts | {"is_path_drop": is_path, "before_count": 1, "after_count": after}


@pytest.mark.parametrize(
    ("drops", "is_limited"),
    [
        ([], None),
        ([count_drop(True, 5), count_drop(False, 1)], False),
        ([count_drop(True, 5), count_drop(False, 2)], True),
    ],
)
def test_a_run_in_which_the_host_dropped_packets_does_not_count(
    drops: list[dict[str, Any]], is_limited: bool | None, tmp_path: Path
) -> None:
    run, _ = measure(tmp_path, tests=[TEST], streams=[stream(1, sender_bytes=1000, sender_s=8.0)], kernel_drops=drops)
    assert (run["is_host_limited"], run["is_counted"]) == (is_limited, is_limited is not True)
