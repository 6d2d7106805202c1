import io
import json
import re
import tarfile
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import FIXTURES, JOB, iperf3_json, save_table
from rpc_inputs import RpcDatabase, build_rpc_database, ingest, rpc

from ccreport.figures.kit.figure import Figure
from ccreport.figures.rpc.latency_by_load import build_rpc_latency_by_load
from ccreport.figures.rpc.retransmits_by_load import build_rpc_retransmits_by_load
from ccreport.figures.rpc.rtt_over_time import build_rpc_rtt_over_time
from ccreport.figures.select.declaration import FigureError, read_declaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.ingest.rpc.labels import read_labels
from ccreport.summarise.database import connect
from ccreport.trace.explain import explain


@pytest.mark.parametrize(
    ("text", "cc", "load"),
    [
        ("rpc/bbr/load=8/rep=2/client-3.txt", "bbr", 8),
        ("10kB_cc=bbr2_load-16_rep-2.csv", "bbr2", 16),
        ("cc=my_cc/load4", "my_cc", 4),
        ("Two_RPCs_CUBIC.txt", "cubic", None),
        ("cubic_vs_bbr/load=1/load=2", None, None),  # nobody can tell which
        ("download/8.txt", None, None),
        ("load=0", None, None),
    ],
)
def test_labels_of_paths_and_titles(text: str, cc: str | None, load: int | None) -> None:
    labels = read_labels(text)
    assert (labels.cc, labels.load_count) == (cc, load)


def test_what_the_file_says_goes_before_what_its_path_says(tmp_path: Path) -> None:
    said = ingest({"bbr/load=4.txt": rpc("cubic", 1000, 1.0, RESULT_BRAND="load=2")}, tmp_path / "said").test
    assert (said["cc"], said["rpc_cc_source"], said["load_count"], said["load_source"]) == ("cubic", "file", 2, "file")
    silent = ingest({"bbr/load=4.txt": rpc(None, 1000, 1.0)}, tmp_path / "silent").test
    assert (silent["cc"], silent["rpc_cc_source"], silent["load_count"], silent["load_source"]) == (
        "bbr",
        "path",
        4,
        "path",
    )


def test_the_pings_of_a_flent_file_have_its_algorithm_and_its_bulk_transfers_as_load(tmp_path: Path) -> None:
    tables = ingest({"a.flent.gz": (FIXTURES / "flent/rrul.flent.gz").read_bytes()}, tmp_path)
    ping = tables.series("Ping (ms) UDP BK")
    # rrul: four uploads and four downloads.
    assert (ping["cc"], ping["rpc_cc_source"], ping["load_count"], ping["load_source"]) == ("bbr", "file", 8, "file")
    assert (ping["transport"], ping["payload_direction"]) == ("UDP", "transactions")
    assert tables.series("Ping (ms) avg")["payload_direction"] is None


def test_latency_over_the_repetitions_of_loose_folders(tmp_path: Path) -> None:
    # Two connections at a time with latencies of 1 and 3 ms (equal rates), then 3 and 5, 2 and 4 ms: means 2, 4 and 3.
    files = {
        f"cc=bbr/load=2/rep={rep}/client{client}.txt": rpc(None, 1000, mean)
        for rep, client, mean in ((1, 1, 1.0), (1, 2, 3.0), (2, 1, 3.0), (2, 2, 5.0), (3, 1, 2.0), (3, 2, 4.0))
    }
    (row,) = build_rpc_database(files, tmp_path).read("rpc_latency")
    assert (row["algorithm"], row["rpc_test"], row["host"]) == ("BBR", "TCP_RR", "10.0.0.2")
    assert (row["request_bytes"], row["response_bytes"], row["load_count"], row["load_basis"]) == (1000, 1, 2, "path")
    assert (row["repetitions_count"], row["rpc_connections_count"]) == (3, 6)
    # Factors 0.5, 0.9, 2, 4 and 8 of `rpc`; the least of all is 0.5 · 1, the most 8 · 5.
    assert (row["rpc_latency_min_ms"], row["rpc_latency_max_ms"]) == (0.5, 40.0)
    means = ["rpc_latency_mean_ms", "latency_p50_mean_ms", "latency_p90_mean_ms", "latency_p99_mean_ms"]
    assert [row[name] for name in means] == pytest.approx([3.0, 2.7, 6.0, 12.0])
    # Standard error 1/√3 of 3, 19.245 %, and t of 2 degrees of freedom 4.30265: e^(±0.828046).
    expected = (3 / 2.288843, 3 * 2.288843)
    assert (row["rpc_latency_low_ms"], row["rpc_latency_high_ms"]) == pytest.approx(expected, rel=1e-4)
    assert row["transaction_rate_mean_tps"] == 200.0
    assert row["retransmits_rpc_count"] == 30
    assert row["latency_p999_mean_ms"] is None


def test_a_connection_counts_by_its_transactions(tmp_path: Path) -> None:
    files = {
        "rep=1/a.txt": rpc("cubic", 1000, 1.0, THROUGHPUT="300.00"),
        "rep=1/b.txt": rpc("cubic", 1000, 5.0, THROUGHPUT="100.00"),
    }
    (row,) = build_rpc_database(files, tmp_path).read("rpc_latency")
    # (300 · 1 + 100 · 5)/400
    assert row["rpc_latency_mean_ms"] == pytest.approx(2.0)
    assert (row["load_count"], row["load_basis"], row["repetitions_count"]) == (2, "counted", 1)
    assert row["rpc_latency_low_ms"] is None  # one repetition has no interval


def test_the_load_of_a_job_is_its_number_of_clients_of_a_size(tmp_path: Path) -> None:
    names = ["netperf:10.0.0.2:1", "netperf-2:10.0.0.2:1", "netperf:10.0.0.2:2", "netperf-2:10.0.0.2:2"]
    files = {f"{JOB}/{name}": rpc("bbr", 10000, 1.0) for name in names}
    files |= {f"{JOB}/netperf-3:10.0.0.2:{n}": rpc("bbr", 1000000, 50.0) for n in (1, 2)}
    rows = build_rpc_database(files, tmp_path).read("rpc_latency")
    assert [(row["request_bytes"], row["load_count"], row["repetitions_count"]) for row in rows] == [
        (10000, 2, 2),
        (1000000, 1, 2),
    ]
    assert {row["load_basis"] for row in rows} == {"counted"}


def test_a_load_that_tests_of_a_row_tell_in_other_ways_is_of_mixed_sources(tmp_path: Path) -> None:
    files = {
        "cc=bbr/load=1/rep=1/a.txt": rpc(None, 1000, 1.0),
        "cc=bbr/rep=2/a.txt": rpc(None, 1000, 1.0, RESULT_BRAND="load=1"),
    }
    database = build_rpc_database(files, tmp_path)
    for table in ("rpc_latency", "rpc_load"):
        (row,) = database.read(table)
        assert (row["repetitions_count"], row["load_basis"]) == (2, "mixed")


def test_runs_of_other_settings_are_other_rows(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for value, mean in (("9", 1.0), ("10", 5.0)):
        job = f"2026-11-20:22:10/beta_{value}"
        files[f"{job}/jobmeta.json"] = json.dumps({"settings": {"beta": value}, "dst": "10.0.0.2"})
        files[f"{job}/netperf:10.0.0.2:1"] = rpc("bbr", 1000, mean)
    database = build_rpc_database(files, tmp_path)
    swept = [(row["parameter_name"], row["parameter_value"], row["flows_count"]) for row in database.read("rpc_load")]
    assert swept == [("beta", "9", 0), ("beta", "10", 0)]
    rows = database.read("rpc_latency")
    assert [(row["parameter_value"], row["rpc_latency_mean_ms"]) for row in rows] == [("9", 1.0), ("10", 5.0)]


def test_tests_that_follow_each_other_in_a_file_are_repetitions(tmp_path: Path) -> None:
    (row,) = build_rpc_database({"all.txt": rpc("bbr", 1, 1.0) + rpc("bbr", 1, 2.0)}, tmp_path).read("rpc_latency")
    assert (row["repetitions_count"], row["load_count"], row["rpc_latency_mean_ms"]) == (2, 1, 1.5)


def test_retransmits_of_all_sizes_of_a_load(tmp_path: Path) -> None:
    # 1000 transactions each, of 10 segments and of 2: 10 of 12000 segments were sent again.
    files = {f"rep=1/{size}.txt": rpc("cubic", size, 1.0, RESULT_BRAND="load=1") for size in (10000, 1500)}
    database = build_rpc_database(files, tmp_path)
    (row,) = database.read("rpc_load")
    assert (row["retransmits_rpc_count"], row["segments_count"]) == (10, 12000.0)
    assert row["retransmit_rpc_ratio"] == row["retransmit_rpc_mean_ratio"] == pytest.approx(10 / 12000)
    assert (row["load_basis"], row["rpc_rtt_mean_ms"]) == ("file", None)


def test_the_side_that_sends_more_counts(tmp_path: Path) -> None:
    text = rpc("cubic", 100, 1.0, RESPONSE_SIZE=5000, REMOTE_TRANSPORT_RETRANS=7, REMOTE_CONG_CONTROL="bbr")
    (row,) = build_rpc_database({"a.txt": text}, tmp_path).read("rpc_load")
    assert (row["algorithm"], row["retransmits_rpc_count"], row["segments_count"]) == ("BBR", 7, 5000.0)


def test_without_an_mss_or_retransmits_there_is_no_ratio(tmp_path: Path) -> None:
    text = rpc("cubic", 100, 1.0, TRANSPORT_MSS=-1)
    (row,) = build_rpc_database({"a.txt": text}, tmp_path).read("rpc_load")
    assert (row["retransmits_rpc_count"], row["retransmit_rpc_ratio"]) == (None, None)


def test_round_trip_times_are_those_that_flent_sampled(tmp_path: Path) -> None:
    database = build_rpc_database({"a.flent.gz": (FIXTURES / "flent/tcp_1up.flent.gz").read_bytes()}, tmp_path)
    samples = ingest({"a.flent.gz": (FIXTURES / "flent/tcp_1up.flent.gz").read_bytes()}, tmp_path / "i")
    (row,) = database.read("rpc_load")
    assert row["rpc_rtt_mean_ms"] == pytest.approx(samples.values("TCP upload::tcp_rtt")["sampled_value"].mean())
    assert (row["algorithm"], row["load_count"]) == ("BBR", 1)
    (latency,) = database.read("rpc_latency")
    assert (latency["rpc_test"], latency["latency_basis"]) == ("ping", "values")


def test_an_archive_without_rpcs_has_empty_tables(tmp_path: Path) -> None:
    database = build_rpc_database({"a.txt": "MIGRATED TCP STREAM TEST from 0.0.0.0", "b.json": iperf3_json()}, tmp_path)
    assert database.read("rpc_latency") == database.read("rpc_load") == []


def test_the_condition_of_a_table_selects_tests(tmp_path: Path) -> None:
    files = {"a/load=1.txt": rpc("cubic", 100, 1.0), "b/load=1.txt": rpc("bbr", 100, 1.0)}
    where = {"rpc_latency": {"title": "t", "where": "path LIKE '%b/%' AND request_bytes = 100"}}
    rows = build_rpc_database(files, tmp_path, tables=where).read("rpc_latency")
    assert [row["algorithm"] for row in rows] == ["BBR"]


def test_a_number_is_traced_to_its_files(tmp_path: Path) -> None:
    files = {f"{cc}/load=2/rep={rep}/x.txt": rpc(cc, 100, 1.0 * rep) for cc in ("cubic", "bbr") for rep in (1, 2)}
    database = build_rpc_database(files, tmp_path)
    told = io.StringIO()
    with redirect_stdout(told):
        explain("rpc_latency", row="algorithm=BBR", database=database.path)
    text = told.getvalue()
    assert re.search(r"^  RPC latency mean \(ms\) +1\.500$", text, re.MULTILINE)
    for part in ("bbr/load=2/rep=1/x.txt", "bbr/load=2/rep=2/x.txt"):
        assert part in text
    assert "cubic/load" not in text


FIGURES = {
    "latency": {"kind": "rpc_latency_by_load", "title": "Latency", "where": "TRUE"},
    "load": {"kind": "rpc_retransmits_by_load", "title": "Retransmits", "where": "TRUE"},
    "rtts": {"kind": "rpc_rtt_over_time", "title": "RTTs", "where": "TRUE"},
}


def build_figure(name: str, files: dict[str, str | bytes], folder: Path, **changes: str) -> Figure:
    figures = {name: FIGURES[name] | changes}
    database = build_rpc_database(files, folder, figures=figures)
    builders = {"latency": build_rpc_latency_by_load, "load": build_rpc_retransmits_by_load}
    builder = builders.get(name, build_rpc_rtt_over_time)
    with Database(database.path) as opened:
        return builder(read_declaration(database.evaluation, name), opened)


def make_loads() -> dict[str, str | bytes]:
    """Return RPCs of 10 kB and 1 MB at loads of 1 and 4, latencies of CUBIC 10 times the load and 5 more with 1 MB."""
    return {
        f"{cc}/load={load}/rep={rep}/{size}.txt": rpc(cc, size, factor * load + (5 if size > 10000 else 0))
        for cc, factor in (("cubic", 10.0), ("bbr", 20.0))
        for load in (1, 4)
        for rep in (1, 2)
        for size in (10000, 1000000)
    }


@pytest.mark.slow
def test_latency_is_drawn_by_size_and_algorithm(tmp_path: Path) -> None:
    figure = build_figure("latency", make_loads(), tmp_path)
    text = figure.alternative
    assert "10 kB requests, 1 B responses, mean latency: CUBIC 10.0 ms at load 1 and 40.0 ms at 4" in text
    # The 99th percentile of `rpc` is 4 times the mean: 4 · (20 · 4 + 5).
    assert "1 MB requests, 1 B responses, 99 % latency: CUBIC 60.0 ms at load 1 and 180 ms at 4" in text
    assert "BBR 100 ms at load 1 and 340 ms at 4" in text
    assert "over 2 repetitions to a point" in figure.caption
    assert "the load is what paths say" in figure.caption.lower()
    drawn = figure.chart.to_json()
    assert "Mean latency (ms)" in drawn
    assert "server 10.0.0.2" in drawn


def test_retransmits_are_drawn_for_both_sizes_together(tmp_path: Path) -> None:
    figure = build_figure("load", make_loads(), tmp_path)
    # 2 · 5 segments of 1000 · (10 + 1000).
    assert figure.data["retransmit_rpc_mean_ratio"].to_list() == pytest.approx([10 / 1_010_000] * 4)
    assert "Retransmitted segments (%)" in figure.chart.to_json()
    assert "RTT of the connections" not in figure.chart.to_json()
    assert "Nothing sampled the connections, so their RTT is not known" in figure.caption


def test_one_load_is_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(MissingFigure, match="one load"):
        build_figure("latency", {"a/load=1.txt": rpc("bbr", 1, 1.0), "b/x": "y"}, tmp_path)


def test_without_tests_there_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(MissingFigure, match="no test of RPCs"):
        build_figure("load", {"a.txt": "nothing", "b.json": iperf3_json()}, tmp_path)


def test_a_condition_that_is_no_sql_is_the_fault_of_the_evaluation(tmp_path: Path) -> None:
    with pytest.raises(FigureError, match="nonsense"):
        build_figure("latency", {"a.txt": rpc("bbr", 1, 1.0)}, tmp_path, where="nonsense = 1")


def test_hostile_hosts_stand_in_a_figure_as_they_are_and_without_control_characters(tmp_path: Path) -> None:
    host = "<script>alert(1)</script>\x1b[2J"
    files: dict[str, str | bytes] = {f"a/load={load}.txt": rpc("bbr", 1, 1.0, DEST_ADDR=host) for load in (1, 2)} | {
        "b/x": "y"
    }
    figure = build_figure("latency", files, tmp_path)
    assert "\x1b" not in figure.alternative + figure.caption + figure.chart.to_json()


@pytest.mark.slow
def test_recorded_rpcs_at_several_loads(tmp_path: Path) -> None:
    with tarfile.open(FIXTURES / "rpc_load.tar.xz") as packed:
        files: dict[str, str | bytes] = {
            member.name: stream.read() for member in packed if (stream := packed.extractfile(member)) is not None
        }
    rows = build_rpc_database(files, tmp_path).read("rpc_latency")
    # Two algorithms, two sizes, loads of 1, 2, 4 and 8 pairs, each three times.
    assert len(rows) == 16
    assert {(row["repetitions_count"], row["load_basis"]) for row in rows} == {(3, "path")}
    assert all(row["rpc_connections_count"] == 3 * row["load_count"] for row in rows)
    assert all(row["rpc_latency_min_ms"] <= row["latency_p50_mean_ms"] <= row["latency_p99_mean_ms"] for row in rows)
    # A MB takes 40 ms at 200 Mbit/s, eight at a time eight times as long.
    (alone, eight) = (
        row
        for row in rows
        if (row["request_bytes"], row["algorithm"]) == (10**6, "CUBIC") and row["load_count"] in (1, 8)
    )
    assert 40 < alone["rpc_latency_mean_ms"] < 80
    assert 300 < eight["rpc_latency_mean_ms"] < 640


def add_rows(database: RpcDatabase, table: str, make: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """Put rows of a table beside the RPC tests: `make` gives those of one test's run."""
    with connect(database.path) as connection:
        tests = connection.sql("SELECT experiment_id, run_id, cc, load_count FROM labelled_rpc ORDER BY ALL").pl()
    for (experiment,), own in tests.group_by("experiment_id", maintain_order=True):
        rows = [row for test in own.iter_rows(named=True) for row in make(test)]
        save_table(table, rows, database.path.parent / f"tables/{table}/{experiment}.parquet")


def draw(database: RpcDatabase, name: str, builder: Callable[..., Figure]) -> Figure:
    with Database(database.path) as opened:
        return builder(read_declaration(database.evaluation, name), opened)


RTT_FACTORS = {"cubic": 20.0, "bbr": 5.0}


def make_flow(test: dict[str, Any]) -> list[dict[str, Any]]:
    rtt = {"cc": test["cc"], "rtt_p50_ms": RTT_FACTORS[test["cc"]] * test["load_count"]}
    return [{"run_id": test["run_id"], "flow_id": "a"} | rtt]


@pytest.mark.slow
def test_retransmits_and_round_trip_times_stand_side_by_side(tmp_path: Path) -> None:
    files = {name: text for name, text in make_loads().items() if "/10000.txt" in name}
    database = build_rpc_database(files, tmp_path, figures={"load": FIGURES["load"]})
    add_rows(database, "flows", make_flow)
    figure = draw(database, "load", build_rpc_retransmits_by_load)
    assert figure.data.sort("algorithm", "load_count")["rpc_rtt_mean_ms"].to_list() == [5.0, 20.0, 20.0, 80.0]
    assert "Retransmitted segments (%)" in figure.chart.to_json()
    assert "RTT of the connections (ms)" in figure.chart.to_json()
    assert (
        "RTT: CUBIC 20.0 ms at load 1 and 80.0 ms at 4 and BBR 5.00 ms at load 1 and 20.0 ms at 4" in figure.alternative
    )


def make_samples(test: dict[str, Any]) -> list[dict[str, Any]]:
    """Return samples of ss by second: 20 or 5 ms times the load, from second 3 twice that; and a control connection."""
    times = [(0.0, 1.0), (1.5, 1.0), (3.5, 2.0)]
    rtt = RTT_FACTORS[test["cc"]] * test["load_count"]
    start = datetime(2026, 1, 1, tzinfo=UTC)
    made = [
        {"run_id": test["run_id"], "cc": test["cc"], "local_port": 40000, "remote_port": 40001, "rtt_ms": rtt * factor}
        | {"time_utc": start + timedelta(seconds=at_s), "connection_number": 0}
        for at_s, factor in times
    ]
    return [*made, made[0] | {"remote_port": 12865, "rtt_ms": 9000.0, "connection_number": 1}]


@pytest.mark.slow
def test_round_trip_times_over_time_are_those_of_the_highest_load(tmp_path: Path) -> None:
    files = {name: text for name, text in make_loads().items() if "/10000.txt" in name}
    database = build_rpc_database(files, tmp_path, figures={"rtts": FIGURES["rtts"]})
    add_rows(database, "samples", make_samples)
    figure = draw(database, "rtts", build_rpc_rtt_over_time)
    # At load 4, of two repetitions each.
    assert figure.data.select("algorithm", "second", "rtt_p50_ms", "samples_count").rows() == [
        ("BBR", 0, 20.0, 2),
        ("BBR", 1, 20.0, 2),
        ("BBR", 3, 40.0, 2),
        ("CUBIC", 0, 80.0, 2),
        ("CUBIC", 1, 80.0, 2),
        ("CUBIC", 3, 160.0, 2),
    ]
    assert "From ss: n = 12 samples of 2 repetitions" in figure.caption
    assert "lower loads are left out" in figure.caption
    assert "BBR 20.0 ms in the first second and 40.0 ms in the last" in figure.alternative


def test_round_trip_times_over_time_of_a_real_flent_file(tmp_path: Path) -> None:
    content = (FIXTURES / "flent/tcp_1up.flent.gz").read_bytes()
    values = ingest({"a.flent.gz": content}, tmp_path / "i").values("TCP upload::tcp_rtt")
    figure = build_figure("rtts", {"a.flent.gz": content}, tmp_path)
    assert figure.data["algorithm"].unique().to_list() == ["BBR"]
    assert figure.data["samples_count"].sum() == values.height
    assert "From flent's samples of its sockets" in figure.caption


def test_without_samples_of_connections_there_is_no_figure_over_time(tmp_path: Path) -> None:
    with pytest.raises(MissingFigure, match="Neither ss nor flent"):
        build_figure("rtts", {"a/load=1.txt": rpc("bbr", 1, 1.0), "b/x": "y"}, tmp_path)
