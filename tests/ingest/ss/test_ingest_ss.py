import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import CONFORMANCE
from ss_inputs import END, LINE, OUTPUTS, STAMP, ingest, ingest_information, ingest_text, read_versions

from ccreport.core.identifiers import flow_id_of_connection
from ccreport.core.tables import load_schema
from ccreport.ingest.ss.tokens import SLOTS, TOKENS

VERSIONS = read_versions()
# Beside the values in conformance/expected.csv, which were read by hand from the lines of the same socket.
ALWAYS: dict[str, Any] = {
    "local_address": "127.0.0.1",
    "local_port": 48198,
    "remote_address": "127.0.0.1",
    "remote_port": 6200,
    "connection_number": 0,
    "is_partial": False,
    "extra": [],
}


@pytest.mark.parametrize("version", [path.stem.removeprefix("v") for path in sorted((CONFORMANCE / "ss").iterdir())])
def test_each_version(version: str, tmp_path: Path) -> None:
    tables = ingest_text(STAMP + VERSIONS[version]["-tinm"], tmp_path)
    assert {name: tables.sample[name] for name in ALWAYS} == ALWAYS
    # 1795211351.663251 s after the epoch, by `date -u -d @1795211351`.
    assert tables.sample["time_utc"] == datetime(2026, 11, 20, 21, 49, 11, 663251, tzinfo=UTC)
    assert tables.sample["flow_id"] == flow_id_of_connection("run of ss", "127.0.0.1", 48198, "127.0.0.1", 6200)
    assert tables.rejects.is_empty()


@pytest.mark.parametrize(
    ("version", "send_bps", "pacing_rate_bps", "delivery_rate_bps"),
    [
        ("4.9.0", 237117.4e6, 282681.1e6, None),
        ("4.15.0", 381799.2e6, 455265.4e6, 44902.6e6),
        ("5.4.0", 536337.0e6, 632313.0e6, 56128.3e6),
        ("5.8.0", 609e9, 714e9, 62.9e9),
        ("7.1.0", 451e9, 537e9, 62.9e9),
    ],
)
def test_rates_without_n(
    version: str, send_bps: float, pacing_rate_bps: float, delivery_rate_bps: float | None, tmp_path: Path
) -> None:
    sample = ingest_information("cubic cwnd:10 " + VERSIONS[version]["-tim (no n)"] + END, tmp_path).sample
    rates = [sample[name] for name in ("send_bps", "pacing_rate_bps", "delivery_rate_bps")]
    assert rates == [send_bps, pacing_rate_bps, delivery_rate_bps]


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("1e+06bps", 1e6),
        ("1.5e3Kbps", 1.5e6),
        ("999bps", 999),
        ("12.5Kbps", 12500),
        ("12.5kbps", 12500),
        ("2.4Gbps", 2.4e9),
        ("1.23Tbps", 1.23e12),
        ("233029.2Mbps", 233029200000),
        ("18446744073709551615bps", 18446744073709551615.0),
    ],
)
def test_notations_of_rates(text: str, bps: float, tmp_path: Path) -> None:
    line = f"bbr cwnd:1 bbr:(bw:{text},mrtt:1) send {text} pacing_rate {text}/{text} delivery_rate {text} {END}"
    sample = ingest_information(line, tmp_path).sample
    names = ["bbr_bw_bps", "send_bps", "pacing_rate_bps", "pacing_rate_max_bps", "delivery_rate_bps"]
    assert [sample[name] for name in names] == [bps] * 5


def test_stamps_without_connections_are_kept(tmp_path: Path) -> None:
    header = VERSIONS["7.1.0"]["header"]
    calls = [f"# 179521135{second}.5\n{header}" for second in range(5)]
    socket = f"{LINE}\t cubic cwnd:10 {END}"
    tables = ingest({"ss": "".join([*calls[:2], socket, *calls[2:4], socket, calls[4]]), "none": calls[0]}, tmp_path)
    assert tables.samples["time_utc"].dt.second().to_list() == [11, 13]
    assert tables.sample_stamps["time_utc"].dt.second().to_list() == [10, 11, 12, 13, 14]
    assert set(tables.sample_stamps["raw_file_id"]) == {"id of ss"}


@pytest.mark.parametrize("version", list(VERSIONS))
def test_the_state_column_can_be_missing(version: str, tmp_path: Path) -> None:
    excerpt = VERSIONS[version]["state established"].rsplit(" ", 1)[0]
    sample = ingest_text(f"{STAMP}{VERSIONS[version]['header']}{excerpt}\n", tmp_path).sample
    assert (sample["tcp_state"], sample["local_port"], sample["cc"]) == (None, 48198, "cubic")
    # The excerpt ends before minrtt, but there is no earlier sample that shows it.
    assert not sample["is_partial"]


@pytest.mark.parametrize("version", list(VERSIONS))
def test_ipv6(version: str, tmp_path: Path) -> None:
    # 4.9 writes ::1:38932, the others [::1]:38932.
    sample = ingest_text(STAMP + VERSIONS[version]["v6"], tmp_path).sample
    addresses = [sample[name] for name in ("local_address", "local_port", "remote_address", "remote_port")]
    assert addresses == ["::1", 38932, "::1", 6201]
    assert sample["cc"] == "bbr"
    assert sample["mss_bytes"] == 65464


def test_four_outputs_of_the_harness(tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in sorted(OUTPUTS.glob("h_v*"))}
    tables = ingest(files, tmp_path)
    # h_v4.15.0 has two stamps and no socket. The others have 2 stamps with 3 sockets: sorted by file, then time.
    assert tables.reasons == [("no_measurement", True)]
    assert tables.samples["raw_file_id"].to_list() == [
        f"id of h_v{version}" for version in ("4.20.0", "5.4.0", "5.8.0") for _ in range(6)
    ]
    assert tables.samples["local_port"].to_list() == [48238, 48240, 48246] * 6
    assert not tables.samples["is_partial"].any()
    # 5.4 glues the second stamp to minrtt:0.004 and ends without a newline.
    glued = tables.samples.filter(raw_file_id="id of h_v5.4.0")
    assert glued["rtt_min_ms"].to_list() == [0.008, 0.005, 0.004] * 2
    assert glued["sent_bytes"].to_list() == [186, 19136549, 19136549, 186, 20578341, 20578341]
    assert [time.microsecond for time in glued["time_utc"]] == [548732] * 3 + [663251] * 3
    first = tables.samples.row(0, named=True)
    expected = {
        "cc": "bbr",
        "bbr_bw_bps": 23831.3e6,
        "bbr_rtt_min_ms": 0.008,
        "bbr_pacing_gain_ratio": 2.88672,
        "bbr_cwnd_gain_ratio": 2.88672,
        "ato_ms": 40.0,
        "received_bytes": 4,
        "ssthresh_segments_count": None,
        "is_app_limited": True,
    }
    assert {name: first[name] for name in expected} == expected


# token: (column, what a missing one means in the ss 6.1 that wrote the file)
SIMPLE = {
    "mss": ("mss_bytes", None),
    "cwnd": ("cwnd_segments_count", None),
    "ssthresh": ("ssthresh_segments_count", None),
    "bytes_sent": ("sent_bytes", 0),
    "bytes_retrans": ("retransmitted_bytes", 0),
    "bytes_acked": ("acked_bytes", 0),
    "bytes_received": ("received_bytes", 0),
    "segs_out": ("segments_out_count", 0),
    "segs_in": ("segments_in_count", 0),
    "data_segs_out": ("data_segments_out_count", 0),
    "lastsnd": ("last_send_ms", 0),
    "delivered": ("delivered_count", 0),
    "unacked": ("unacked_count", 0),
    "lost": ("lost_count", 0),
    "sacked": ("sacked_count", 0),
    "notsent": ("not_sent_bytes", 0),
    "minrtt": ("rtt_min_ms", None),
    "ato": ("ato_ms", None),
    "snd_wnd": ("snd_wnd_bytes", None),
    "rcv_space": ("rcv_space_bytes", None),
}


def read_with_patterns(text: str) -> list[dict[str, Any]]:
    """Return some columns of every socket, read with one pattern for each."""
    rows = []
    for block in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        for socket, line in re.findall(r"^([A-Z].*5201) *\n\t(.*)$", block, flags=re.MULTILINE):
            row = {
                "micros": round(float(block.split("\n")[0]) * 1e6),
                "state": socket.split()[0],
                "port": int(socket.split()[3][11:]),
            }
            for token, (column, absent) in SIMPLE.items():
                found = re.search(rf" {token}:([0-9.]+)", line)
                row[column] = float(found[1]) if found else absent
            retrans = re.search(r" retrans:(\d+)/(\d+)", line)
            row["retransmits_ss_count"] = int(retrans[2]) if retrans else 0
            bandwidth = re.search(r"bbr:\(bw:(\d+)bps", line)
            row["bbr_bw_bps"] = float(bandwidth[1]) if bandwidth else None
            limited = re.search(r"rwnd_limited:(\d+)ms\(([0-9.]+)%\)", line)
            row["rwnd_limited_ms"] = int(limited[1]) if limited else 0
            row["rwnd_limited_pct"] = float(limited[2]) if limited else None
            row["cc"] = re.search(r"\) (cubic|bbr) ", line)[1]  # type: ignore[index]
            rows.append(row)
    return rows


def test_a_file_of_the_archive_against_patterns(tmp_path: Path) -> None:
    text = (OUTPUTS / "both_p16_loss1").read_text()
    tables = ingest_text(text, tmp_path)
    expected = read_with_patterns(text)
    assert tables.samples.height == len(expected) == 63
    samples = tables.samples.with_columns(
        pl.col("time_utc").dt.timestamp("us").alias("micros"),
        pl.col("tcp_state").alias("state"),
        pl.col("local_port").alias("port"),
    )
    for name in expected[0]:
        assert samples[name].to_list() == [row[name] for row in expected], name
    assert tables.samples["retransmits_ss_count"].max() > 0  # type: ignore[operator]
    assert set(tables.samples["tcp_state"]) == {"SYN-SENT", "ESTAB", "FIN-WAIT-1"}
    assert tables.rejects.is_empty()


def test_every_token_has_columns_of_its_type() -> None:
    schema = {column.name: column for column in load_schema("samples").columns}
    assert len(TOKENS) <= 128
    assert set(SLOTS) <= set(schema)
    for token in TOKENS:
        assert len(token.columns) <= 2
        assert len(token.name.rpartition(".")[2]) <= 16
        for column in token.columns:
            assert schema[column].nullable
            since = schema[column].since
            assert since is None or since == f"iproute2 {token.ss}" or token.ss is None, column


def test_the_flow_of_a_socket_ignores_how_its_address_is_written(tmp_path: Path) -> None:
    sockets = [
        "10.0.0.1:1 10.0.0.2:5201",
        "[::ffff:10.0.0.1]:1 [::ffff:10.0.0.2]:5201",
        "10.0.0.1%eth0:1 10.0.0.2:5201",
    ]
    sockets += ["[fe80::1%eth0]:1 [fe80::2]:5201", "fe80::1:1 fe80::2:5201"]
    files = {str(number): f"{STAMP}ESTAB 0 0 {socket}\n\t cubic {END}" for number, socket in enumerate(sockets)}
    samples = ingest(files, tmp_path).samples
    assert samples["local_address"].to_list() == ["10.0.0.1"] * 3 + ["fe80::1"] * 2
    assert samples["flow_id"][1] == flow_id_of_connection("run of 1", "10.0.0.1", 1, "10.0.0.2", 5201)
