import contextlib
import gzip
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from archives import FIXTURES
from hypothesis import given
from hypothesis import strategies as st
from rpc_inputs import Tables, ingest

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.rpc.flent import read_flent
from ccreport.inventory.formats import recognise_format

FLENT = FIXTURES / "flent"


def document(**changes: Any) -> dict[str, Any]:
    """Return a small file of version 4 that began at 2026-11-21 08:00:00 UTC: one ping series, one upload."""
    begin = 1795248000.0
    return {
        "metadata": {
            "FLENT_VERSION": "2.1.1",
            "NAME": "tcp_1up",
            "TITLE": None,
            "HOST": "10.0.0.2",
            "T0": "2026-11-21T08:00:00.000000Z",
            "SERIES_META": {
                "Ping (ms) ICMP": {"UNITS": "ms", "RUNNER": "PingRunner"},
                "TCP upload": {
                    "UNITS": "Mbits/s",
                    "MEAN_VALUE": 12.5,
                    "COMMAND": "netperf -H 10.0.0.9 -t TCP_STREAM -l 3",
                    "CONG_CONTROL": "bbr",
                    "TCP_RETRANSMIT": "92",
                    "BYTES_SENT": 5000,
                    "ELAPSED_TIME": 3.01,
                },
            },
        },
        "raw_values": {
            "Ping (ms) ICMP": [
                {"t": begin + n, "val": value, "seq": n} for n, value in enumerate((1.0, 2.0, 3.0, 6.0))
            ],
            "TCP upload": [{"t": begin + 0.5, "dur": 0.5, "val": 10.0}, {"t": begin + 1.0, "dur": 0.5, "val": 20.0}],
        },
        "results": {
            "Ping (ms) ICMP": [1.0, None, 3.0],
            "TCP upload": [None, 10.0, 20.0],
            "TCP totals": [None, 9, 11.0],
        },
        "x_values": [0.0, 0.5, 1.0],
        "version": 4,
    } | changes


def ingest_one(content: dict[str, Any] | str | bytes, folder: Path) -> Tables:
    return ingest({"a.flent": json.dumps(content) if isinstance(content, dict) else content}, folder)


@pytest.mark.parametrize("path", sorted(FLENT.glob("*.gz")), ids=lambda path: path.stem)
def test_real_files(path: Path, tmp_path: Path) -> None:
    plain = json.loads(gzip.decompress(path.read_bytes()))
    tables = ingest({path.name: path.read_bytes()}, tmp_path)
    assert tables.reasons == []
    assert tables.tests["data_series"].to_list() == sorted(plain["results"])
    assert set(tables.tests["test_name"]) == {plain["metadata"]["NAME"]}
    for name, entries in plain["raw_values"].items():
        values, factor = [entry["val"] for entry in entries if "val" in entry], 1e6 if name.startswith("TCP") else 1
        if not values:
            continue
        assert tables.values(name)["sampled_value"].to_list() == [pytest.approx(value * factor) for value in values]
        assert not tables.values(name)["is_resampled"].any()
        if name.startswith("Ping"):
            row = tables.series(name)
            assert row["latency_mean_ms"] == pytest.approx(statistics.fmean(values))
            assert row["latency_p50_ms"] == pytest.approx(statistics.median(values))
            assert row["latency_stddev_ms"] == pytest.approx(statistics.stdev(values))
            assert (row["latency_max_ms"], row["latency_values_count"]) == (max(values), len(values))


def test_the_two_algorithms_of_a_real_test(tmp_path: Path) -> None:
    tables = ingest({"a.flent.gz": (FLENT / "tcp_nup.flent.gz").read_bytes()}, tmp_path)
    assert [tables.series(f"TCP upload::{n}")["cc"] for n in (1, 2)] == ["cubic", "bbr"]
    assert tables.series("TCP upload::1")["payload_direction"] == "send"
    assert tables.values("TCP upload sum")["is_resampled"].all()


def test_socket_statistics_are_read_where_they_were_sampled(tmp_path: Path) -> None:
    plain = json.loads(gzip.decompress((FLENT / "tcp_1up.flent.gz").read_bytes()))
    entries = [entry for entry in plain["raw_values"]["TCP upload"] if "tcp_cwnd" in entry]
    tables = ingest({"a.flent.gz": (FLENT / "tcp_1up.flent.gz").read_bytes()}, tmp_path)
    rows = tables.values("TCP upload::tcp_cwnd")
    assert rows["sampled_value"].to_list() == [entry["tcp_cwnd"] for entry in entries] != []
    assert tables.series("TCP upload::tcp_cwnd")["value_unit"] == "segments"
    # The link was shaped to 200 Mbit/s; flent writes 10^6 bit/s.
    rates = tables.values("TCP upload::tcp_delivery_rate")
    assert (rates["sampled_value"].max(), set(rates["value_unit"])) == (pytest.approx(200e6, rel=0.1), {"bit/s"})
    assert tables.series("TCP upload::tcp_delivery_rate")["payload_rate_bps"] is None
    rtt = tables.series("TCP upload::tcp_rtt")
    assert rtt["latency_mean_ms"] == pytest.approx(
        statistics.fmean(entry["tcp_rtt"] for entry in entries if "tcp_rtt" in entry)
    )


def test_a_small_file(tmp_path: Path) -> None:
    tables = ingest_one(document(), tmp_path)
    ping, upload = tables.series("Ping (ms) ICMP"), tables.series("TCP upload")
    # Of 1, 2, 3, 6 the mean is 3, the median (2 + 3) / 2; the 90th percentile lies 0.9 × 3 = 2.7 steps up: 3 + 0.7 × 3.
    assert [ping[f"latency_{name}_ms"] for name in ("min", "mean", "p50", "p90", "max")] == [
        1.0,
        3.0,
        2.5,
        pytest.approx(5.1),
        6.0,
    ]
    assert (ping["transport"], ping["server_host"], ping["latency_source"]) == ("ICMP", "10.0.0.2", "values")
    assert (upload["payload_rate_bps"], upload["retransmits_local_count"], upload["sent_local_bytes"]) == (
        12.5e6,
        92,
        5000,
    )
    assert (upload["server_host"], upload["retransmits_remote_count"], upload["cc_local"]) == ("10.0.0.9", None, "bbr")
    assert tables.values("TCP upload").select("sampled_s", "interval_s", "sampled_value").rows() == [
        (0.5, 0.5, 10e6),
        (1.0, 0.5, 20e6),
    ]
    # Computed series have no raw values: those of the grid, without nulls.
    assert tables.values("TCP totals").select("sampled_s", "sampled_value", "is_resampled").rows() == [
        (0.5, 9e6, True),
        (1.0, 11e6, True),
    ]
    assert upload["start_utc"].isoformat() == "2026-11-21T08:00:00+00:00"
    assert tables.reasons == []


def test_a_download_is_the_servers(tmp_path: Path) -> None:
    content = document()
    content["metadata"]["SERIES_META"]["TCP upload"]["COMMAND"] = "netperf -t TCP_MAERTS -l 3"
    row = ingest_one(content, tmp_path).series("TCP upload")
    assert (row["payload_direction"], row["retransmits_remote_count"], row["retransmits_local_count"]) == (
        "receive",
        92,
        None,
    )


def test_old_versions(tmp_path: Path) -> None:
    begin = 1795248000.0
    udp = {"Ping (ms) UDP BE": [{"t": begin + 1, "dur": 1.0, "val": 500.0}, {"t": begin + 2, "dur": 1.0, "val": 0.0}]}
    old = document(version=3, raw_values=udp, results={}, x_values=[])
    # 500 transactions in a second, one at a time: 2 ms each; with none there is no time.
    assert ingest_one(old, tmp_path / "3").values("Ping (ms) UDP BE")["sampled_value"].to_list() == [2.0]
    first = document()
    del first["version"], first["raw_values"]
    first["metadata"]["SERIES_META"] = {"Ping (ms) ICMP": {"RAW_VALUES": [{"t": begin + 0.25, "val": 7.0}]}}
    first["metadata"]["NETPERF_WRAPPER_VERSION"] = first["metadata"].pop("FLENT_VERSION")
    tables = ingest_one(first, tmp_path / "1")
    assert tables.values("Ping (ms) ICMP").select("sampled_s", "sampled_value").rows() == [(0.25, 7.0)]
    assert tables.values("TCP upload")["is_resampled"].all()


def test_a_local_time_without_a_zone_is_set_right_by_the_raw_values(tmp_path: Path) -> None:
    content = document()
    content["metadata"]["T0"] = "2026-11-21T03:00:00.000000"  # UTC-5
    tables = ingest_one(content, tmp_path)
    assert tables.values("TCP upload")["sampled_s"].to_list() == [0.5, 1.0]
    assert tables.series("TCP upload")["start_utc"].hour == 8


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        (json.dumps(document())[:-40], "truncated_json"),
        ('{"FLENT_VERSION": "1", ]}', "not_json"),
        ("[]", "unexpected_structure"),
        (json.dumps({"metadata": {}}), "unexpected_structure"),
        (json.dumps(document(version=5)), "unexpected_structure"),
        (json.dumps(document(version=True)), "unexpected_structure"),
        (json.dumps(document(raw_values=[])), "unexpected_structure"),
        (json.dumps(document(raw_values={}, results={})), "no_measurement"),
        (json.dumps(document(raw_values={}, results={"x": [None, None, None]})), "no_measurement"),
        (json.dumps(document(raw_values={}, results={"x": [1.0]})), "malformed_record"),
        (gzip.compress(json.dumps(document()).encode(), mtime=0)[:-30], "truncated_compression"),
    ],
)
def test_what_cannot_be_used_is_rejected(content: str | bytes, reason: str, tmp_path: Path) -> None:
    tables = ingest({"flent:10.0.0.2:1": content}, tmp_path)
    assert tables.tests.is_empty()
    assert tables.reasons == [(reason, True)]


def test_values_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    values = [1.0, None, "2", True, float("nan"), float("inf"), 10**400, [], 4]
    content = document(raw_values={"Ping (ms) ICMP": [{"t": 1795248000.0 + n, "val": v} for n, v in enumerate(values)]})
    tables = ingest_one(content, tmp_path)
    assert tables.values("Ping (ms) ICMP").select("sampled_s", "sampled_value").rows() == [(0.0, 1.0), (8.0, 4.0)]
    assert tables.reasons == [("malformed_record", False)]
    assert "5 more like it" in tables.rejects["message"][0]


def test_one_way_delays_below_zero_have_no_latency(tmp_path: Path) -> None:
    raw = {"Ping (ms) ICMP": [{"t": 1795248000.0, "val": -1.5}]}
    row = ingest_one(document(raw_values=raw), tmp_path).series("Ping (ms) ICMP")
    assert (row["latency_min_ms"], row["latency_source"]) == (None, None)


def test_hostile_names_and_metadata_do_nothing(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>\x1b'; DROP TABLE x --"
    content = document(results={name: [1.0, 2.0, 3.0]}, raw_values={})
    content["metadata"] |= {"NAME": ["list"], "TITLE": {"a": 1}, "HOST": "\x00" * 3, "SERIES_META": [], "T0": "now"}
    row = ingest_one(content, tmp_path).test
    assert row["data_series"] == "<img src=x onerror=alert(1)>\\x1b'; DROP TABLE x --"
    assert (row["test_name"], row["test_label"], row["start_utc"]) == (None, None, None)


def test_a_name_in_an_iperf3_result_is_no_flent_file() -> None:
    text = json.dumps({"title": json.dumps({"FLENT_VERSION": "2"}), "start": {"connected": []}})
    assert recognise_format(text.encode()) == "iperf3"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["t", "val", "dur", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {
            "metadata": st.dictionaries(st.sampled_from(["T0", "TIME", "NAME", "SERIES_META"]), json_values),
            "results": st.dictionaries(st.text(max_size=5), json_values, max_size=2),
            "raw_values": st.dictionaries(st.sampled_from(["Ping UDP", "a::val"]), st.lists(json_values, max_size=3)),
            "x_values": st.lists(json_values, max_size=3),
            "version": st.integers(1, 4),
        }
    )
)
def test_no_json_raises_anything_but_a_raw_file_error(content: dict[str, Any]) -> None:
    with contextlib.suppress(RawFileError):
        read_flent(json.dumps(content).encode())
