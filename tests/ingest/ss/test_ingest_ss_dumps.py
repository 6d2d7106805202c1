"""Dumps of ss as people make them by hand: without stamps, header or -n; and what newer ones print."""

from pathlib import Path

import pytest
from ss_inputs import ADDRESSES, END, LINE, STAMP, ingest_text
from test_measure_runs import TEST, measure, stream

from ccreport.ingest.ss.service_names import NAMED_PORTS

HEADER = "State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n"


def information(segments: int, retransmits: int) -> str:
    counted = f"segs_out:{segments + 10} segs_in:9 data_segs_out:{segments} retrans:0/{retransmits}"
    return f"\t cubic wscale:7,7 rtt:20.5/0.5 mss:1448 cwnd:43 bytes_sent:{segments * 1448} {counted} {END}"


DUMP = HEADER + LINE + information(1000, 10)


def test_one_dump_without_a_stamp_is_a_sample_at_an_unknown_time(tmp_path: Path) -> None:
    tables = ingest_text(DUMP, tmp_path)
    row = tables.sample
    assert (row["time_utc"], row["data_segments_out_count"], row["retransmits_ss_count"]) == (None, 1000, 10)
    assert (row["rtt_min_ms"], row["is_partial"]) == (20.12, False)
    assert tables.reasons == [("repaired", False)]
    assert "no time stamp" in tables.rejects["message"][0]
    assert "date '+# %s.%N'" in tables.rejects["message"][0]


@pytest.mark.parametrize("header", [HEADER, ""])
def test_of_several_dumps_without_stamps_the_last_counts(header: str, tmp_path: Path) -> None:
    other = LINE.replace("43802", "43804")
    text = "".join(
        f"{header}{LINE}{information(1000 * n, n)}" + (other + information(50, 0) if n == 1 else "") for n in (1, 2, 3)
    )
    tables = ingest_text(text, tmp_path)
    columns = ("local_port", "data_segments_out_count", "retransmits_ss_count", "connection_number")
    assert sorted(tables.samples.select(columns).rows()) == [(43802, 3000, 3, 0), (43804, 50, 0, 0)]
    assert tables.samples["time_utc"].null_count() == 2
    assert tables.reasons == [("repaired", False)]


def test_a_port_used_again_is_another_connection(tmp_path: Path) -> None:
    tables = ingest_text(DUMP + LINE + information(20, 0), tmp_path)
    columns = ("connection_number", "data_segments_out_count")
    assert sorted(tables.samples.select(columns).rows()) == [(0, 1000), (1, 20)]


def test_stamps_that_cannot_be_read_leave_samples_without_a_time(tmp_path: Path) -> None:
    tables = ingest_text("# yesterday\n" + DUMP, tmp_path)
    assert tables.sample["time_utc"] is None
    assert tables.reasons == [("malformed_record", False), ("repaired", False)]


def test_a_sample_without_a_time_tells_the_totals_of_its_flow(tmp_path: Path) -> None:
    sample = stream(43802, retransmits_ss_count=10, data_segments_out_count=1000, rtt_min_ms=20.0, cc="bbr")
    del sample["stream_number"]
    run, flows = measure(tmp_path, tests=[TEST], streams=[stream(43802, sender_bytes=8_000_000)], samples=[sample])
    assert (run["retransmit_ratio"], run["retransmit_source"], run["mode"]) == (0.01, "ss", "bbr")
    assert flows.select("samples_count", "start_offset_s", "start_resolution_s").row(0) == (1, None, None)
    # No tool at all: the connection is a flow.
    run, _ = measure(tmp_path, samples=[sample])
    assert (run["tool"], run["flows_count"], run["retransmits_count"]) == ("ss", 1, 10)


@pytest.mark.parametrize(("name", "port"), [("http", 80), ("https", 443), ("ssh", 22), ("targus-getdata1", 5201)])
def test_ports_by_name(name: str, port: int, tmp_path: Path) -> None:
    text = STAMP + (LINE + information(1000, 10)).replace(ADDRESSES, f"10.0.0.1:43802 10.0.0.2:{name}")
    assert ingest_text(text, tmp_path).sample["remote_port"] == port


def test_names_of_ports_are_names_and_ports() -> None:
    assert all(0 < port < 65536 for port in NAMED_PORTS.values())
    assert len(NAMED_PORTS) > 200


def test_a_port_by_a_name_that_is_not_known(tmp_path: Path) -> None:
    text = STAMP + (LINE + information(1000, 10)).replace("5201", "no-such-service")
    tables = ingest_text(text, tmp_path)
    assert tables.samples.is_empty()
    assert tables.reasons == [("no_measurement", True)]
    assert "no-such-service" in tables.rejects["message"][0]
    assert "ss -n" in tables.rejects["message"][0]


def test_fields_of_accurate_ecn_are_kept_and_move_nothing(tmp_path: Path) -> None:
    # By the names of Linux's struct tcp_info (6.18).
    fields = "received_ce:3 delivered_e1_bytes:10 delivered_ce_bytes:20 accecn_opt_seen:1"
    text = STAMP + LINE + information(1000, 10).replace(END, f"{fields} {END}")
    tables = ingest_text(text, tmp_path)
    assert (tables.sample["retransmits_ss_count"], tables.sample["rtt_min_ms"]) == (10, 20.12)
    assert {"received_ce": "3", "delivered_ce_bytes": "20"}.items() <= tables.extra.items()


def test_retransmits_that_are_not_counted(tmp_path: Path) -> None:
    tables = ingest_text(STAMP + LINE + information(1000, 2**32 - 1), tmp_path)
    assert (tables.sample["retransmits_ss_count"], tables.sample["data_segments_out_count"]) == (None, 1000)
