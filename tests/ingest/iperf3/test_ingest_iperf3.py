"""Every real output at hand, of iperf3 3.0 to 3.20: what it must yield, counted independently or read off by eye."""

import csv
import io
import json
import re
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from archives import SHARED
from client_outputs import RESULTS, Tables, all_values, ingest, ingest_one, result

from ccreport.core.identifiers import flow_id_of_connection

CORPUS = SHARED / "corpus"
CUT = Path(__file__).parents[2] / "golden" / "cut.tar.zst"

WHOLE = sorted(path.stem for path in RESULTS.glob("*.json") if path.stem.startswith(("cli", "srv", "iperf3")))
INTERRUPTED = sorted(path.stem for path in RESULTS.glob("int-*") if not path.stem.endswith("KILL"))
TOTALS = {
    "sum_sent": "sender_bytes",
    "sum_received": "receiver_bytes",
    "sum_sent_bidir_reverse": "sender_bytes",
    "sum_received_bidir_reverse": "receiver_bytes",
}


def read(name: str, tmp_path: Path) -> Tables:
    return ingest_one((RESULTS / name).read_text(), tmp_path)


@pytest.mark.parametrize("name", WHOLE)
def test_streams_and_intervals_of_every_version(name: str, tmp_path: Path) -> None:
    text = (RESULTS / f"{name}.json").read_text()
    document = json.loads(text)
    tables = ingest_one(text, tmp_path)
    blocks = [block for interval in document["intervals"] for block in interval["streams"]]
    assert tables.reasons == []
    assert tables.test["tool_version"] == document["start"]["version"] == f"iperf {version_of(name)}"
    assert not tables.test["is_interrupted"]
    assert sorted(tables.streams["stream_number"]) == sorted(c["socket"] for c in document["start"]["connected"])
    assert tables.intervals.height == len(blocks)
    # An omitted or missing key of the tool sums to 0 in both.
    for column, key in {"interval_bytes": "bytes", "retransmits_iperf3_count": "retransmits"}.items():
        assert tables.intervals[column].sum() == sum(block.get(key, 0) for block in blocks)
    assert tables.intervals["rtt_ms"].sum() == pytest.approx(sum(block.get("rtt", 0) for block in blocks) / 1000)
    assert tables.intervals["end_s"].sum() == pytest.approx(sum(block["end"] for block in blocks))


def version_of(name: str) -> str:
    return "3.12" if name == "iperf3_p2" else name.split("-")[1]


@pytest.mark.parametrize("name", [name for name in WHOLE if "udp" not in name])
def test_streams_add_up_to_the_sums_of_their_direction(name: str, tmp_path: Path) -> None:
    text = (RESULTS / f"{name}.json").read_text()
    tables = ingest_one(text, tmp_path)
    is_server = "accepted_connection" in json.loads(text)["start"]
    is_reversed = tables.test["is_reverse"]
    for key, column in TOTALS.items():
        # 3.7 to 3.10 repeat sum_sent and sum_received for the second direction.
        for total in all_values(text, key):
            sends = total.get("sender", is_server == is_reversed)
            of_direction = tables.streams.filter(pl.col("is_reverse") == (sends == is_server))
            # What the other host counted is never known to a server, which prints 0 for it.
            is_known = not is_server or total["bytes"] > 0
            assert of_direction[column].null_count() == (0 if is_known else of_direction.height)
            assert of_direction[column].sum() == total["bytes"]
            if "retransmits" in total:
                assert of_direction["retransmits_iperf3_count"].sum() == total["retransmits"]


def test_one_stream_in_every_column(tmp_path: Path) -> None:
    tables = read("iperf3_p2.json", tmp_path)
    assert tables.tests.height == 1
    assert tables.test == {
        "run_id": "e/src",
        "client_number": 1,
        "raw_file_id": "id of src",
        "tool": "iperf3",
        "tool_version": "iperf 3.12",
        "is_recovered": False,
        "is_doubled": False,
        "is_interrupted": False,
        "error": None,
        "protocol": "TCP",
        "is_reverse": False,
        "is_bidirectional": False,
        "streams_count": 2,
        "duration_s": 3.0,
        "omit_s": 0.0,
        "volume_bytes": None,
        "block_bytes": 131072,
        "mss_bytes": 32768,
        "target_bitrate_bps": 0.0,
        "fq_rate_bps": None,
        # timesecs 1795210352 is 2026-11-20 21:32:32 UTC
        "start_utc": datetime(2026, 11, 20, 21, 32, 32, tzinfo=UTC),
        "cc_sender": "bbr",
        "cc_receiver": "bbr",
        "cc_command": None,
        "command": None,
        "system": "Linux vm 6.18.44-fc-v657 #1 SMP PREEMPT_DYNAMIC @0 x86_64",
        "cpu_host_total_pct": 65.371083342214646,
        "cpu_host_user_pct": 0.48125599488436532,
        "cpu_host_system_pct": 64.8898273473303,
        "cpu_remote_total_pct": 36.1908700539688,
        "cpu_remote_user_pct": 0.94818354723736153,
        "cpu_remote_system_pct": 35.242653209093184,
    }
    flow = flow_id_of_connection("e/src", "127.0.0.1", 35502, "127.0.0.1", 5999)
    assert tables.streams.row(1, named=True) == {
        "run_id": "e/src",
        "flow_id": flow,
        "client_number": 1,
        "stream_number": 7,
        "is_reverse": False,
        "raw_file_id": "id of src",
        "local_address": "127.0.0.1",
        "local_port": 35502,
        "remote_address": "127.0.0.1",
        "remote_port": 5999,
        "sender_bytes": 4432855040,
        "sender_s": 3.000706,
        "receiver_bytes": 4431806464,
        # the receiver's own end, not the `seconds` 3.000706 that stand beside it
        "receiver_s": 3.003205,
        "retransmits_iperf3_count": 33,
        "cwnd_max_bytes": 2357388,
        "rtt_mean_ms": pytest.approx(0.219),
        "rtt_min_ms": pytest.approx(0.204),
        "rtt_max_ms": pytest.approx(0.234),
        "packets_count": None,
        "lost_packets_count": None,
        "jitter_ms": None,
        "receiver_bps": None,
    }
    assert tables.intervals.filter(stream_number=7, interval_number=1).row(0, named=True) == {
        "run_id": "e/src",
        "flow_id": flow,
        "client_number": 1,
        "stream_number": 7,
        "is_reverse": False,
        "interval_number": 1,
        "raw_file_id": "id of src",
        "start_s": 1.000864,
        "end_s": 2.000821,
        "is_omitted": False,
        "interval_bytes": 1610874880,
        "interval_bps": 12887552881.926329,
        "retransmits_iperf3_count": 23,
        "cwnd_bytes": 1833524,
        "snd_wnd_bytes": 32900096,
        "rtt_ms": pytest.approx(0.204),
        "rttvar_ms": pytest.approx(0.172),
        "pmtu_bytes": 65535,
    }


# Read off cli-3.x-bidir.json by eye: socket 5 sends, socket 7 receives (its retransmits are the server's).
@pytest.mark.parametrize(
    ("version", "forward", "backward"),
    [
        ("3.7", (25034752, 25034752, 2.046605, 2), (25559040, 25559040, 2.046605, 5)),
        ("3.9", (25034752, 25034752, 2.043273, 0), (25559040, 25559040, 2.043273, 1)),
        ("3.17.1", (25034752, 25034752, 2.00216, 0), (25034752, 25034752, 2.00216, 0)),
        ("3.20", (25034752, 25034752, 2.002504, 3), (25034752, 25034752, 2.002504, 1)),
    ],
)
def test_both_directions(version: str, forward: tuple[Any, ...], backward: tuple[Any, ...], tmp_path: Path) -> None:
    tables = read(f"cli-{version}-bidir.json", tmp_path)
    columns = [
        "stream_number",
        "is_reverse",
        "sender_bytes",
        "receiver_bytes",
        "receiver_s",
        "retransmits_iperf3_count",
    ]
    assert tables.streams.select(columns).rows() == [(5, False, *forward), (7, True, *backward)]
    assert tables.test["is_bidirectional"]
    assert not tables.test["is_reverse"]
    directions = tables.intervals.select("stream_number", "is_reverse").unique().sort("stream_number").rows()
    assert directions == [(5, False), (7, True)]


def test_bidirectional_seen_from_the_server(tmp_path: Path) -> None:
    tables = read("srv-3.7-bidir.json", tmp_path)
    # Socket 5 receives what the client sends; of the stream it sends, the server never learns what arrived.
    columns = ["stream_number", "is_reverse", "sender_bytes", "receiver_bytes", "retransmits_iperf3_count"]
    assert tables.streams.select(columns).rows() == [(5, False, None, 25034752, None), (8, True, 25559040, None, 5)]
    assert tables.test["cpu_remote_total_pct"] is None
    assert tables.test["mss_bytes"] is None


@pytest.mark.parametrize("version", ["3.1.7", "3.7", "3.9", "3.17.1", "3.20"])
def test_reverse(version: str, tmp_path: Path) -> None:
    client = read(f"cli-{version}-rev.json", tmp_path / "client")
    server = read(f"srv-{version}-rev.json", tmp_path / "server")
    assert client.test["is_reverse"]
    assert server.test["is_reverse"]
    assert client.streams["is_reverse"].to_list() == server.streams["is_reverse"].to_list() == [True]
    assert client.stream["sender_bytes"] == server.stream["sender_bytes"] > 0
    assert client.stream["receiver_bytes"] > 0
    assert server.stream["receiver_bytes"] is None
    # The client neither retransmits nor knows the sender's window; it prints 0 for what it does not know.
    assert client.stream["retransmits_iperf3_count"] == server.stream["retransmits_iperf3_count"] > 0
    assert client.intervals["retransmits_iperf3_count"].null_count() == client.intervals.height
    for column in ("cwnd_max_bytes", "rtt_mean_ms", "rtt_min_ms", "rtt_max_ms"):
        assert client.stream[column] is None
        assert server.stream[column] > 0


@pytest.mark.parametrize("version", ["3.1.7", "3.7", "3.9", "3.17.1", "3.20"])
def test_udp(version: str, tmp_path: Path) -> None:
    client = read(f"cli-{version}-udp.json", tmp_path / "client")
    server = read(f"srv-{version}-udp.json", tmp_path / "server")
    document = result(f"cli-{version}-udp")
    assert client.test["protocol"] == server.test["protocol"] == "UDP"
    blocks = [block["udp"] for block in document["end"]["streams"]]
    columns = ["sender_bytes", "packets_count", "lost_packets_count", "jitter_ms"]
    keys = ["bytes", "packets", "lost_packets", "jitter_ms"]
    assert client.streams.select(columns).rows() == [tuple(block[key] for key in keys) for block in blocks]
    # 32768 bytes a datagram
    assert client.streams.filter(pl.col("sender_bytes") != pl.col("packets_count") * 32768).is_empty()
    assert server.streams["sender_bytes"].null_count() == 2
    assert server.streams["jitter_ms"].null_count() == 0


@pytest.mark.parametrize("name", INTERRUPTED)
def test_interrupted_by_a_signal(name: str, tmp_path: Path) -> None:
    tables = read(f"{name}.json", tmp_path)
    document = result(name)
    assert tables.test["is_interrupted"]
    assert tables.test["error"] == document["error"]
    assert tables.reasons == [("interrupted", False)]
    assert document["error"] in tables.rejects["message"][0]
    assert tables.intervals.height == len(document["intervals"]) == 3
    # The end block has the sender's totals, and zeros for all that the server would have told.
    (block,) = document["end"]["streams"]
    assert block["receiver"]["bytes"] == 0
    assert tables.stream["sender_bytes"] == block["sender"]["bytes"] == tables.intervals["interval_bytes"].sum()
    assert tables.stream["receiver_bytes"] is None
    assert tables.stream["receiver_s"] is None
    assert tables.test["cpu_host_total_pct"] > 0
    assert tables.test["cpu_remote_total_pct"] is None
    assert (tables.test["cc_sender"], tables.test["cc_receiver"]) == ("bbr", None)


def test_killed_and_refused_clients(tmp_path: Path) -> None:
    names = [path.name for path in RESULTS.iterdir() if path.stem.endswith("KILL") or path.stem.startswith("err-")]
    tables = ingest({name: (RESULTS / name).read_bytes() for name in names}, tmp_path)
    assert tables.tests.is_empty()
    messages = {row["path"]: row for row in tables.rejects.iter_rows(named=True)}
    assert len(messages) == len(names) == 8
    for name, row in messages.items():
        assert row["is_whole_file"]
        assert row["reason"] == ("empty" if "KILL" in name else "error_only")
        assert "rerun" in row["message"]
        assert ("Connection refused" in row["message"]) == ("err-" in name)


@pytest.mark.parametrize("name", ["stream-3.17.1.jsonl", "stream-3.20.jsonl"])
def test_json_stream(name: str, tmp_path: Path) -> None:
    tables = read(name, tmp_path)
    assert tables.reasons == []
    assert not tables.test["is_interrupted"]
    assert tables.intervals.height == 2
    assert tables.stream["sender_bytes"] == tables.stream["receiver_bytes"] == 5111808
    assert tables.stream["receiver_s"] == (2.002056 if "3.17.1" in name else 2.005928)
    # timemillisecs 1795211119585, from 3.20 on
    microseconds = 585000 if "3.20" in name else 0
    assert tables.test["start_utc"].microsecond == microseconds


def test_several_clients_of_a_run(tmp_path: Path) -> None:
    content = (RESULTS / "cli-3.20-p2.json").read_text()
    other = re.sub(r'(?<="local_port":)(\s*)(\d+)', lambda match: f"{match[1]}{int(match[2]) + 1000}", content)
    tables = ingest({"a": content, "a#2": other, "b": content}, tmp_path)
    assert tables.tests.select("run_id", "client_number").rows() == [("e/a", 1), ("e/a", 2), ("e/b", 1)]
    assert tables.streams.height == 6
    assert tables.reasons == []


def test_two_clients_cannot_have_the_same_connections(tmp_path: Path) -> None:
    content = (RESULTS / "cli-3.20-p2.json").read_text()
    tables = ingest({"a": content, "a#2": content, "b": content}, tmp_path)
    assert tables.tests.select("run_id", "client_number").rows() == [("e/a", 1), ("e/b", 1)]
    assert tables.reasons == [("duplicate_run", True)]
    assert tables.rejects["message"].to_list() == [
        "its connections are those of a, a file of the same run; remove one of them"
    ]


def test_an_experiment_without_outputs(tmp_path: Path) -> None:
    tables = ingest({}, tmp_path)
    assert tables.tests.height == tables.streams.height == tables.intervals.height == tables.rejects.height == 0


def test_sums_of_the_small_archive(tmp_path: Path) -> None:
    files = {}
    plain = zstandard.ZstdDecompressor().stream_reader(CUT.read_bytes()).read()
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        for member in archive.getmembers():
            if member.isfile() and "src-cmd" in member.name and (content := archive.extractfile(member)):
                files[re.sub(r"\W", "_", member.name)] = content.read()
    documents = [json.loads(content) for content in files.values()]
    tables = ingest(files, tmp_path)
    ends = [block for document in documents for block in document["end"]["streams"]]
    intervals = [b for document in documents for interval in document["intervals"] for b in interval["streams"]]
    assert tables.reasons == []
    assert (tables.tests.height, tables.streams.height, tables.intervals.height) == (
        len(documents),
        len(ends),
        len(intervals),
    )
    assert tables.streams["sender_bytes"].sum() == sum(end["sender"]["bytes"] for end in ends)
    assert tables.streams["receiver_bytes"].sum() == sum(end["receiver"]["bytes"] for end in ends)
    assert tables.streams["retransmits_iperf3_count"].sum() == sum(end["sender"]["retransmits"] for end in ends)
    assert tables.streams["receiver_s"].sum() == pytest.approx(sum(end["receiver"]["end"] for end in ends))
    assert tables.intervals["interval_bytes"].sum() == sum(interval["bytes"] for interval in intervals)
    assert tables.intervals["cwnd_bytes"].sum() == sum(interval["snd_cwnd"] for interval in intervals)
    assert tables.intervals["rtt_ms"].sum() == pytest.approx(sum(interval["rtt"] for interval in intervals) / 1000)


def expected_facts() -> list[dict[str, str]]:
    path = CORPUS / "EXPECTED.tsv"
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return [row for row in csv.DictReader(stream, delimiter="\t") if row["file"].startswith("iperf3/")]


@pytest.mark.skipif(not CORPUS.exists(), reason="other people's files are not at hand (../shared/corpus)")
@pytest.mark.parametrize("row", expected_facts(), ids=lambda row: row["file"])
def test_other_peoples_files(row: dict[str, str], tmp_path: Path) -> None:
    facts = row["expected_facts"]
    tables = ingest_one((CORPUS / row["file"]).read_bytes(), tmp_path)
    if "strict JSON parse fails" in facts or "error=" in facts:
        expected = "error_only" if "error=" in facts else "plain_text" if row["file"].endswith(".txt") else "not_json"
        assert tables.reasons == [(expected, True)]
        return
    assert tables.reasons == []
    # version=iperf 3.9; proto=TCP num_streams=1 omit=0 duration=10 reverse=0 bidir=None; intervals=10;
    # omitted_intervals=0; end.streams=1; sum_sent:seconds=10.0001 bytes=11905173712 … retransmits=112; sum_received:…
    told = dict(re.findall(r"([\w.]+)=([^;]*?)(?= \w+=|;|$)", facts.replace("sum_sent:", "").split("sum_received")[0]))
    received = dict(re.findall(r"(\w+)=(\S+)", facts.split("sum_received:")[1]))
    assert tables.test["tool_version"] == told["version"]
    assert tables.test["protocol"] == told["proto"]
    assert tables.test["duration_s"] == float(told["duration"])
    assert tables.test["cc_sender"] == told.get("cc", received.get("cc"))
    assert tables.intervals["interval_number"].n_unique() == int(told["intervals"])
    assert tables.streams.height == int(told["end.streams"])
    assert tables.streams["sender_bytes"].sum() == int(told["bytes"])
    assert tables.streams["sender_s"].max() == pytest.approx(float(told["seconds"]), rel=1e-5)
    assert tables.streams["retransmits_iperf3_count"].sum() == int(told["retransmits"])
    assert tables.streams["receiver_bytes"].sum() == int(received["bytes"])
    assert tables.streams["receiver_s"].max() == pytest.approx(float(received["seconds"].rstrip(";")), rel=1e-5)
