import hashlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import at, make_table, save_table

from ccreport.core.identifiers import flow_id_of_connection, flow_id_of_stream, normalise_address
from ccreport.measure.clients import CLIENT_SCHEMA
from ccreport.measure.connections import sampling_intervals
from ccreport.measure.flows import join_flows

NO_CLIENTS = pl.DataFrame(schema=CLIENT_SCHEMA)
NO_INTERVALS = pl.DataFrame(schema={"run_id": pl.String(), "sample_interval_s": pl.Float64()})

HOST = {"local_address": "10.0.0.1", "remote_address": "10.0.0.2"}


def ends(local_port: int, remote_port: int = 5201) -> dict[str, Any]:
    flow_id = flow_id_of_connection("r", "10.0.0.1", local_port, "10.0.0.2", remote_port)
    return HOST | {"flow_id": flow_id, "local_port": local_port, "remote_port": remote_port, "run_id": "r"}


def stream(local_port: int, **facts: Any) -> dict[str, Any]:
    return ends(local_port) | {"stream_number": local_port, "sender_bytes": 1448_000, "sender_s": 8.0} | facts


def sample(local_port: int, second: float, remote_port: int = 5201, **facts: Any) -> dict[str, Any]:
    return ends(local_port, remote_port) | {"time_utc": at(second)} | facts


def join(
    streams: list[dict[str, Any]],
    samples: list[dict[str, Any]],
    tmp_path: Path,
    tests: list[dict[str, Any]] | None = None,
    cc_command: str | None = None,
) -> dict[int | None, dict[str, Any]]:
    if tests is None:
        tests = [{"run_id": "r", "protocol": "TCP", "mss_bytes": 1448}]
    path = save_table("samples", samples, tmp_path / "samples.parquet")
    stamps = [{"time_utc": time} for time in {row["time_utc"] for row in samples}]
    intervals = sampling_intervals(path, make_table("sample_stamps", stamps))
    flows = join_flows(
        make_table("tests", tests), make_table("streams", streams), path, intervals, cc_command, NO_CLIENTS
    )
    return {row["local_port"]: row for row in flows.sort("local_port").iter_rows(named=True)}


def test_rates_stand_apart(tmp_path: Path) -> None:
    # Sender: 1,448,000 B * 8 / 8 s = 1,448,000 bit/s. Receiver: 1,200,000 B * 8 / 10 s = 960,000 bit/s.
    (flow,) = join([stream(1, receiver_bytes=1_200_000, receiver_s=10.0)], [], tmp_path).values()
    assert flow["throughput_bps"] == 1_448_000
    assert flow["goodput_bps"] == 960_000
    assert flow["received_share_ratio"] == pytest.approx(1_200_000 / 1_448_000)


def test_a_receiver_that_did_not_report_has_no_goodput(tmp_path: Path) -> None:
    (flow,) = join([stream(1)], [], tmp_path).values()
    assert flow["goodput_bps"] is None


def test_retransmits_come_from_the_last_sample(tmp_path: Path) -> None:
    samples = [
        sample(1, 0.0, retransmits_ss_count=0, data_segments_out_count=100, cc="bbr"),
        sample(1, 0.5, retransmits_ss_count=3, data_segments_out_count=400, cc="bbr"),
        sample(1, 1.0, retransmits_ss_count=5, data_segments_out_count=1000, cc="bbr", rtt_ms=30.0, rtt_min_ms=10.0),
    ]
    (flow,) = join([stream(1, retransmits_iperf3_count=9)], samples, tmp_path).values()
    assert (flow["retransmits_count"], flow["segments_count"], flow["retransmit_source"]) == (5, 1000, "ss")
    assert flow["retransmit_ratio"] == 0.005
    assert (flow["cc"], flow["cc_source"], flow["samples_count"]) == ("bbr", "ss", 3)


def test_both_counts_of_a_retransmit_ratio_are_of_one_whole_line(tmp_path: Path) -> None:
    whole, cut = {"is_partial": False}, {"is_partial": True}
    samples = [
        sample(1, 0.5, data_segments_out_count=1000, retransmits_ss_count=8, dsack_dups_count=1, **whole),
        sample(1, 1.0, data_segments_out_count=2000, **cut),
        # Of a connection whose only line was cut, what is known of it stays.
        sample(2, 1.0, data_segments_out_count=500, retransmits_ss_count=2, **cut),
    ]
    flows = join([stream(1), stream(2)], samples, tmp_path)
    assert [flows[port]["retransmit_ratio"] for port in (1, 2)] == [0.008, 0.004]
    assert [flows[port]["segments_count"] for port in (1, 2)] == [1000, 500]


def test_without_ss_segments_are_estimated_from_bytes_and_mss(tmp_path: Path) -> None:
    # 1,448,000 B / 1448 B = 1000 segments, of which 250 were sent again: 1250 in all.
    (flow,) = join([stream(1, retransmits_iperf3_count=250)], [], tmp_path, cc_command="cubic").values()
    assert (flow["segments_count"], flow["retransmit_ratio"], flow["retransmit_source"]) == (1250, 0.2, "iperf3")
    assert (flow["cc"], flow["cc_source"]) == ("cubic", "command")


def test_medians_and_means_of_samples(tmp_path: Path) -> None:
    samples = [
        sample(1, second, rtt_ms=rtt, cwnd_segments_count=cwnd, rtt_min_ms=minimum, data_segments_out_count=200)
        for second, rtt, cwnd, minimum in [(0.0, 10.0, 10, 10.0), (0.5, 40.0, 20, 9.5), (1.0, 12.0, 60, 9.5)]
    ]
    (flow,) = join([stream(1)], samples, tmp_path).values()
    assert (flow["rtt_p50_ms"], flow["cwnd_mean_segments_count"], flow["rtt_min_ms"]) == (12.0, 30.0, 9.5)


def test_a_local_port_alone_is_no_flow(tmp_path: Path) -> None:
    """The same local port carries a data flow to 5201 and another client's control connection to 5202."""
    samples = [
        sample(1, 0.5, cc="bbr", data_segments_out_count=500, retransmits_ss_count=50),
        sample(1, 0.5, 5202, cc="cubic", data_segments_out_count=3, retransmits_ss_count=0),
    ]
    flows = join([stream(1)], samples, tmp_path)
    assert len(flows) == 1
    assert (flows[1]["cc"], flows[1]["retransmits_count"], flows[1]["segments_count"]) == ("bbr", 50, 500)


def test_control_connections_are_no_flows(tmp_path: Path) -> None:
    samples = [sample(1, 0.5, data_segments_out_count=500), sample(2, 0.0, data_segments_out_count=3)]
    assert set(join([stream(1)], samples, tmp_path)) == {1}


def test_a_retried_4_tuple_counts_by_its_last_connection(tmp_path: Path) -> None:
    samples = [
        sample(1, 0.0, connection_number=0, data_segments_out_count=9000, retransmits_ss_count=900),
        sample(1, 5.0, connection_number=1, data_segments_out_count=1000, retransmits_ss_count=1),
    ]
    assert join([stream(1)], samples, tmp_path)[1]["retransmit_ratio"] == 0.001


def test_without_a_tool_only_the_last_attempts_data_connections_are_flows(tmp_path: Path) -> None:
    samples = [
        sample(1, 0.0, data_segments_out_count=5000),  # first attempt, gone before the next
        sample(1, 2.0, data_segments_out_count=5000),
        sample(2, 10.0, data_segments_out_count=5),  # control connection
        sample(2, 18.0, data_segments_out_count=9),
        sample(3, 10.0, data_segments_out_count=200),
        sample(3, 18.0, data_segments_out_count=4000, cc="cubic"),
        sample(4, 14.0, data_segments_out_count=300, cc="bbr"),  # joined later, in the same attempt
        sample(4, 18.0, data_segments_out_count=2000, cc="bbr"),
    ]
    flows = join([], samples, tmp_path, tests=[])
    assert set(flows) == {3, 4}
    assert flows[4]["start_offset_s"] == 4.0
    assert flows[3]["throughput_bps"] is None


def test_start_offsets_come_from_ss_with_their_resolution(tmp_path: Path) -> None:
    samples = [
        sample(port, first + 0.5 * n, data_segments_out_count=200 + n)
        for port, first in ((1, 0.0), (2, 4.0))
        for n in range(16)
    ]
    flows = join([stream(1), stream(2, client_number=2)], samples, tmp_path, tests=clients(2))
    assert [flows[port]["start_offset_s"] for port in (1, 2)] == [0.0, 4.0]
    assert flows[1]["start_resolution_s"] == 0.5


@pytest.mark.parametrize(("missing", "gap_s"), [((), 0.1), ((0.4, 0.5), 0.3)])
def test_a_pause_without_connections_is_not_a_gap_of_stamps(
    missing: tuple[float, ...], gap_s: float, tmp_path: Path
) -> None:
    # Two transfers of r at 0.1 to 0.3 s and at 0.7 to 0.9 s; the file is also of another run, from 2 s on.
    seconds = [n / 10 for n in range(30) if n not in (11, 12, 13) and n / 10 not in missing]
    stamps = [{"raw_file_id": "ss", "time_utc": at(second)} for second in seconds]
    rows = [sample(1 if t < 0.5 else 2, t, raw_file_id="ss") for t in seconds if 0.1 <= t <= 0.3 or 0.7 <= t <= 0.9]
    rows += [sample(3, t, raw_file_id="ss", run_id="s") for t in seconds if t >= 2]
    path = save_table("samples", rows, tmp_path / "samples.parquet")
    found = sampling_intervals(path, make_table("sample_stamps", stamps)).sort("run_id")
    assert found.rows() == [
        ("r", pytest.approx(0.1), pytest.approx(gap_s)),
        ("s", pytest.approx(0.1), pytest.approx(0.1)),
    ]


def clients(count: int) -> list[dict[str, Any]]:
    return [
        {"run_id": "r", "client_number": number, "protocol": "TCP", "start_utc": at(3.0 * number)}
        for number in range(1, count + 1)
    ]


def test_start_offsets_without_ss_come_from_whole_seconds(tmp_path: Path) -> None:
    flows = join([stream(1), stream(2, client_number=2)], [], tmp_path, tests=clients(2))
    assert [(flows[port]["start_offset_s"], flows[port]["start_resolution_s"]) for port in (1, 2)] == [(0, 1), (3, 1)]


def unnamed(number: int, sender_bytes: int) -> dict[str, Any]:
    flow_id = flow_id_of_stream("r", 1, number)
    return {"run_id": "r", "flow_id": flow_id, "stream_number": number, "sender_bytes": sender_bytes, "sender_s": 8.0}


def test_streams_without_ports_find_their_samples_by_rank_of_bytes(tmp_path: Path) -> None:
    samples = [
        sample(11, 0.5, cc="cubic", sent_bytes=900, data_segments_out_count=150, retransmits_ss_count=3),
        sample(12, 0.5, cc="bbr", sent_bytes=5000, data_segments_out_count=800, retransmits_ss_count=8),
    ]
    path = save_table("samples", samples, tmp_path / "samples.parquet")
    tests = make_table("tests", [{"run_id": "r", "tool": "pscheduler"}])
    flows = join_flows(
        tests, make_table("streams", [unnamed(4, 4900), unnamed(6, 850)]), path, NO_INTERVALS, "bbr", NO_CLIENTS
    )
    by_stream = {row["stream_number"]: row for row in flows.iter_rows(named=True)}
    assert (by_stream[4]["cc"], by_stream[4]["cc_source"], by_stream[4]["segments_count"]) == ("bbr", "rank", 800)
    assert (by_stream[6]["cc"], by_stream[6]["cc_source"], by_stream[6]["segments_count"]) == ("cubic", "rank", 150)


def test_streams_and_samples_that_differ_in_number_share_only_a_common_algorithm(tmp_path: Path) -> None:
    samples = [sample(port, 0.5, cc="bbr", data_segments_out_count=200) for port in (11, 12, 13)]
    path = save_table("samples", samples, tmp_path / "samples.parquet")
    tests = make_table("tests", [{"run_id": "r", "tool": "pscheduler"}])
    flows = join_flows(tests, make_table("streams", [unnamed(4, 4900)]), path, NO_INTERVALS, None, NO_CLIENTS)
    assert flows.select("cc", "cc_source", "segments_count").rows() == [("bbr", "ss", None)]


def test_udp_streams_are_no_flows(tmp_path: Path) -> None:
    assert join([stream(1)], [], tmp_path, tests=[{"run_id": "r", "protocol": "UDP"}]) == {}


def test_reverse_flows_have_no_sender_samples_here(tmp_path: Path) -> None:
    samples = [sample(1, 0.5, data_segments_out_count=2, retransmits_ss_count=0, cc="cubic")]
    (flow,) = join([stream(1, is_reverse=True)], samples, tmp_path).values()
    assert (flow["retransmit_ratio"], flow["cc"]) == (None, None)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("[fe80::1%eth0]", "fe80::1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("host", "host"),
    ],
)
def test_addresses_have_one_spelling(written: str, address: str) -> None:
    assert normalise_address(written) == address


def test_connections_of_a_run_of_very_many_are_told_apart() -> None:
    # Found among a million 4-tuples: their SHA-256 begin with the same 40 bits.
    connections = (("10.0.34.223", 40006), ("10.1.68.250", 40011))
    digests = {hashlib.sha256(f"{host} {port} 192.0.2.1 5201".encode()).hexdigest()[:10] for host, port in connections}
    assert len(digests) == 1
    assert len({flow_id_of_connection("r", host, port, "192.0.2.1", 5201) for host, port in connections}) == 2


def test_empty_tables_give_no_flows(tmp_path: Path) -> None:
    assert join([], [], tmp_path, tests=[]) == {}
    assert isinstance(make_table("flows", []), pl.DataFrame)
