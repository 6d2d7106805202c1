"""Unknown is not zero: `flows` and `runs` have null where no input says a value, or says that it is unknown."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import at
from client_outputs import ingest_one, result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_ingest_metadata import ingest as ingest_metadata_files
from test_measure_runs import TEST, measure, stream

from ccreport.archive.manifest import ManifestRun
from ccreport.core.tables import load_schema
from ccreport.ingest.edge.rows import _share
from ccreport.ingest.plausible import clear_not_counted, is_not_counted
from ccreport.ingest.rpc.flent import _take_count

MARKS = (-1, -2, 2**32 - 1, 2**32 - 2, 2**64 - 1, 2**64 - 2)
# What every row has, or what counts rows.
NEVER_NULL = {"flows_count", "clients_count", "samples_count", "client_number", "stream_number", "iteration"}
# What the run's own file names say here.
NAMED = {"rtt_ms", "rtt_nominal_ms", "rtt_source"}


@pytest.mark.parametrize("mark", MARKS)
def test_retransmits_that_the_kernel_does_not_count(mark: int, tmp_path: Path) -> None:
    document = result()
    for block in document["end"]["streams"]:
        block["sender"]["retransmits"] = mark
    for interval in document["intervals"]:
        for block in interval["streams"]:
            block["retransmits"] = mark
    tables = ingest_one(document, tmp_path)
    assert tables.reasons == []
    assert tables.streams["retransmits_iperf3_count"].to_list() == [None, None]
    assert tables.intervals["retransmits_iperf3_count"].null_count() == tables.intervals.height


@pytest.mark.parametrize("mark", MARKS)
def test_the_sum_of_intervals_that_are_not_counted_is_unknown(mark: int, tmp_path: Path) -> None:
    document = result() | {"end": {}}
    document["intervals"][0]["streams"][0]["retransmits"] = mark
    tables = ingest_one(document, tmp_path)
    first, second = tables.streams["retransmits_iperf3_count"].to_list()
    assert first is None
    assert second == sum(interval["streams"][1]["retransmits"] for interval in document["intervals"])


def test_marks_among_values_of_any_type() -> None:
    assert clear_not_counted([3, {}, None, 2**32 - 1, True]) == [3, {}, None, None, True]
    assert not is_not_counted(value=True)
    assert is_not_counted(_take_count("4294967295"))


def test_more_sent_again_than_can_be(tmp_path: Path) -> None:
    document = result()
    blocks = [block["sender"] for block in document["end"]["streams"]]
    mss_bytes = document["start"]["tcp_mss_default"]
    # Of a path that loses most packets each segment is sent again more than once.
    blocks[0]["retransmits"] = 9 * blocks[0]["bytes"] // mss_bytes
    blocks[1]["retransmits"] = 11 * blocks[1]["bytes"] // mss_bytes
    tables = ingest_one(document, tmp_path)
    assert tables.reasons == [("malformed_record", False)]
    assert "each segment would have been sent again 10 times and more" in tables.rejects["message"][0]
    assert tables.streams["retransmits_iperf3_count"].to_list() == [blocks[0]["retransmits"], None]
    assert tables.streams["sender_bytes"].to_list() == [block["bytes"] for block in blocks]


def test_more_bytes_than_a_line_carries(tmp_path: Path) -> None:
    document = result()
    document["end"]["streams"][0]["sender"]["bytes"] = 2**62
    document["end"].pop("sum_sent")
    document["intervals"][0]["streams"][0] |= {"bytes": 2**62, "bits_per_second": 2.0**65}
    tables = ingest_one(document, tmp_path)
    assert tables.reasons == [("malformed_record", False)] * 3
    assert all("10 Tbit/s" in message for message in tables.rejects["message"])
    assert tables.streams["sender_bytes"].null_count() == 1
    assert tables.intervals.select("interval_bytes", "interval_bps").null_count().row(0) == (1, 1)


def test_more_datagrams_lost_than_sent(tmp_path: Path) -> None:
    document = result("cli-3.17.1-udp")
    udp = document["end"]["streams"][0]["udp"]
    udp["lost_packets"] = 2 * udp["packets"]
    tables = ingest_one(document, tmp_path)
    assert "more datagrams are lost than were sent" in tables.rejects["message"][0]
    assert tables.stream["lost_packets_count"] is None
    assert tables.stream["packets_count"] == udp["packets"]


SAMPLED = dict.fromkeys(("retransmits_ss_count", "data_segments_out_count", "rtt_min_ms", "mss_bytes"))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(streams=st.integers(0, 3), clients=st.integers(1, 3), samples=st.booleans())
def test_what_nothing_says_is_null(streams: int, clients: int, samples: bool, tmp_path: Path) -> None:
    tests = [{"run_id": "r", "protocol": "TCP", "client_number": client + 1} for client in range(clients)]
    rows = [stream(port + 1) for port in range(streams)]
    sampled = [{**stream(1), "time_utc": at(0.0), **SAMPLED}] if samples and streams else []
    for row in sampled:
        del row["stream_number"]
    run, flows = measure(tmp_path, tests=tests, streams=rows, samples=sampled)
    for name, row in [("runs", run), *(("flows", flow) for flow in flows.iter_rows(named=True))]:
        known = {
            column.name: row[column.name]
            for column in load_schema(name).columns
            if column.unit is not None and column.name not in NEVER_NULL and row[column.name] is not None
        }
        unknown = set(known) - NAMED
        # Where ss saw a flow, and how many addresses flows lead to, are facts.
        unknown -= {"start_offset_s", "start_spread_s", "destinations_count", "local_port", "remote_port"}
        assert not unknown, known


def test_processors_of_several_clients_add_up_only_where_all_are_known(tmp_path: Path) -> None:
    tests: list[dict[str, Any]] = [TEST | {"client_number": n, "cpu_host_total_pct": 10.0 * n} for n in (1, 2)]
    tests[0]["cpu_remote_total_pct"] = 5.0
    run, _ = measure(tmp_path, tests=tests, streams=[])
    assert (run["cpu_host_total_pct"], run["cpu_remote_total_pct"]) == (30.0, None)


def test_the_source_of_a_round_trip_time_is_what_was_there(tmp_path: Path) -> None:
    unnamed = ManifestRun("r", "h:1", "h", 1)
    facts = {"sender_bytes": 10_000, "sender_s": 1.0, "rtt_min_ms": 7.0, "retransmits_iperf3_count": 1}
    run, _ = measure(tmp_path, unnamed, tests=[TEST], streams=[stream(1, **facts)])
    assert (run["rtt_ms"], run["rtt_source"], run["retransmit_source"]) == (7.0, "iperf3", "iperf3")
    sample = {**stream(1), "time_utc": at(0.0), "rtt_min_ms": 5.0, "data_segments_out_count": 10}
    del sample["stream_number"]
    run, flows = measure(tmp_path, unnamed, tests=[TEST], streams=[stream(1, **facts)], samples=[sample])
    assert (run["rtt_ms"], run["rtt_source"]) == (5.0, "ss")
    # These samples do not say how much was sent again; iperf3 does.
    assert (run["retransmit_source"], run["retransmit_ratio"], flows["samples_count"][0]) == ("iperf3", 1 / 11, 1)


def test_a_flow_whose_syn_was_sent_again_more_often_than_data_has_no_ratio(tmp_path: Path) -> None:
    sample = {**stream(1), "time_utc": at(0.0), "retransmits_ss_count": 3, "data_segments_out_count": 2}
    del sample["stream_number"]
    run, flows = measure(tmp_path, tests=[TEST], streams=[stream(1)], samples=[sample])
    assert (flows["retransmits_ss_count"][0], flows["retransmit_ratio"][0]) == (3, None)
    assert (run["retransmit_ratio"], run["retransmit_source"], run["retransmits_count"]) == (None, None, None)


def test_the_ratio_of_a_dumped_connection_is_at_most_1() -> None:
    counts = pl.DataFrame({"again": [3, 1, None, 1], "sent": [2, 2, 2, 0]})
    assert counts.select(ratio=_share("again", "sent", most=1.0))["ratio"].to_list() == [None, 0.5, None, None]


def test_result_rows_of_impossible_ratios_and_rates(tmp_path: Path) -> None:
    rows = [["h", "bbr", 1, "bbr", gbps, ratio, 0, 20] for gbps, ratio in ((1.0, "0.5"), (2.0, "7"), (2e4, "0.1"))]
    tables = ingest_metadata_files({"20210802_bost_10g.dat": json.dumps(rows)}, tmp_path)
    assert tables["harness_results"].select("throughput_bps", "retransmit_ratio").rows() == [(1e9, 0.5), (2e9, None)]
    assert [message.partition(":")[0] for message in tables["rejects"]["message"]] == ["result row 1", "result row 2"]
