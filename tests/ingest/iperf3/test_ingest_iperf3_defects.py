"""Defective, odd and hostile client outputs: what is kept of each, and what the reader is told."""

import contextlib
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from client_outputs import RESULTS, Tables, ingest, ingest_one, result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccreport.archive.manifest import Manifest, RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.identifiers import flow_id_of_stream
from ccreport.core.table_folder import TableFolder
from ccreport.ingest.iperf3 import json_repair
from ccreport.ingest.iperf3.json_repair import parse_json, read_defective
from ccreport.ingest.iperf3.reader import read_client_output
from ccreport.ingest.iperf3.tables import ClientTables, Outcome
from ccreport.ingest.reading import Reading, Settings
from ccreport.ingest.rejects import Rejects

P2 = (RESULTS / "cli-3.20-p2.json").read_text()
BIDIRECTIONAL = (RESULTS / "cli-3.7-bidir.json").read_text()
STREAM = (RESULTS / "stream-3.20.jsonl").read_text()
SOURCES = [path.read_bytes() for path in sorted(RESULTS.iterdir()) if path.stat().st_size]


def changed(change: dict[str, Any], *path: str | int) -> dict[str, Any]:
    """Return a real result with other values in the object at a path."""
    document = place = result()
    for step in path:
        place = place[step]
    place.update(change)
    return document


def test_repeated_sums_are_both_kept() -> None:
    document = parse_json(BIDIRECTIONAL.encode()).value
    assert isinstance(document, dict)
    end: Any = document["end"]
    # Read off the file by eye: 25034752 bytes one way, 25559040 the other.
    assert (end["sum_sent"]["bytes"], end["sum_sent_bidir_reverse"]["bytes"]) == (25034752, 25559040)
    assert (end["sum_received"]["sender"], end["sum_received_bidir_reverse"]["sender"]) == (True, False)


def test_sums_that_contradict_the_streams_are_told(tmp_path: Path) -> None:
    # The sender block of the stream in the other direction comes first.
    edited = BIDIRECTIONAL.replace('"bytes":\t25559040', '"bytes":\t15559040', 1)
    tables = ingest_one(edited, tmp_path)
    assert tables.reasons == [("malformed_record", False)]
    assert "add up to 15559040, but `sum_sent_bidir_reverse` says 25559040" in tables.rejects["message"][0]


def test_a_result_printed_twice(tmp_path: Path) -> None:
    other = P2.replace('"bytes":\t50069504', '"bytes":\t1')
    tables = ingest({"a": P2 + "\n" + other, "b": P2 + P2[:500]}, tmp_path)
    assert tables.reasons == [("doubled", False)] * 2
    assert tables.rejects["byte_offset_bytes"].to_list() == [len(P2) + 1, len(P2.rstrip())]
    assert tables.tests["is_doubled"].to_list() == [True, True]
    assert tables.streams["sender_bytes"].to_list() == [50069504] * 4


def test_text_around_the_json(tmp_path: Path) -> None:
    head = 'warning: {"this": is no result}\nSubmitting task...\n'
    tail = "\niperf3: error - control socket has closed unexpectedly\n"
    tables = ingest_one(head + P2 + tail, tmp_path)
    assert tables.reasons == [("repaired", False)] * 2
    assert "Submitting task" in tables.rejects["message"][0]
    assert tables.test["error"] == tail.strip()
    assert not tables.test["is_interrupted"]
    assert tables.streams["sender_bytes"].to_list() == [50069504, 50069504]


def test_text_without_a_line_break_before_the_json(tmp_path: Path) -> None:
    tables = ingest_one("warning: MSS too large" + json.dumps(result()), tmp_path)
    assert tables.reasons == [("repaired", False)]
    assert tables.streams.height == 2


def test_a_result_behind_more_damage_than_is_searched(tmp_path: Path) -> None:
    """Braces that open nothing, more than are tried; the line that begins with a whole result is still read."""
    damage = "log: " + "{ " * (json_repair.FAILURES_LIMIT + 1)
    tables = ingest_one(f"{damage}\n{P2}", tmp_path)
    assert tables.reasons == [("repaired", False)]
    assert tables.streams.height == 2


def test_not_a_number(tmp_path: Path) -> None:
    text = json.dumps(changed({"error": "saw nan, -nan and inf"}))
    for number, word in ((9366251536.1617, "-nan"), (9292839837.5323448, "nan"), (13170759861.616564, "-inf")):
        assert text.count(str(number)) == 1
        text = text.replace(str(number), word)
    tables = ingest_one(text, tmp_path)
    assert tables.reasons == [("repaired", False), ("interrupted", False)]
    assert tables.intervals["interval_bps"].null_count() == 3
    assert tables.intervals["interval_bytes"].null_count() == 0
    assert tables.test["error"] == "saw nan, -nan and inf"


def test_damaged_json_too_long_to_search(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"start": {}} and more'
    monkeypatch.setattr(json_repair, "SEARCHED_LETTERS", len(text))
    assert read_defective(text).value == {"start": {}}
    with pytest.raises(RawFileError, match="too long") as caught:
        read_defective(text + ".")
    assert caught.value.reason == "unpacks_too_large"


def test_bytes_that_are_no_unicode(tmp_path: Path) -> None:
    text = P2.replace("Linux vm", "Linux v\xe9m").encode("latin-1")
    escaped = P2.replace("Linux vm", r"Linux v\ud800m").encode()
    tables = ingest({"a": text, "b": escaped, "c": b"\xef\xbb\xbf" + P2.encode()}, tmp_path)
    assert tables.reasons == []
    assert [system.split(" 6.")[0] for system in tables.tests["system"]] == [
        r"Linux v\udce9m",
        r"Linux v\ud800m",
        "Linux vm",
    ]


def test_a_compressed_file(tmp_path: Path) -> None:
    packed = gzip.compress(P2.encode())
    tables = ingest({"a": packed, "b": packed[:-20]}, tmp_path)
    assert tables.streams["run_id"].unique().to_list() == ["e/a"]
    assert tables.reasons == [("truncated_compression", True)]


@pytest.mark.parametrize("form", [P2, json.dumps(result("cli-3.20-p2")), json.dumps(result("cli-3.20-p2"), indent=1)])
def test_cut_at_every_place(form: str, tmp_path: Path) -> None:
    text = form.strip()
    cuts = {f"{cut:05}": text[:cut] for cut in range(1, len(text), 11)}
    tables = ingest(cuts, tmp_path)
    assert set(tables.rejects["reason"]) == {"truncated_json"}
    assert tables.rejects.height == len(cuts)
    assert tables.rejects["byte_offset_bytes"].null_count() == 0
    # Each of the two intervals has two streams; a cut keeps those that end before it.
    ends = []
    position = text.index('"intervals"')
    for _ in range(2):
        _, position = json.JSONDecoder().raw_decode(text, text.index("{", position))
        ends.append(position)
    kept = dict(tables.intervals.group_by("run_id").len().iter_rows())
    for name, cut in cuts.items():
        assert kept.get(f"e/{name}", 0) == 2 * sum(end <= len(cut) for end in ends)
    assert tables.tests["is_interrupted"].all()
    assert tables.streams["receiver_bytes"].null_count() == tables.streams.height
    # Without an end block the sender's totals are those of the intervals: all of them for the last cut.
    assert tables.streams.filter(run_id=f"e/{max(cuts)}")["sender_bytes"].to_list() == [50069504, 50069504]


def test_stream_cut_in_each_line(tmp_path: Path) -> None:
    start, first, second, end = STREAM.splitlines()
    files = {
        "1 in start": start[:-9],
        "2 start": start,
        "3 in interval": f"{start}\n{first[:90]}",
        "4 interval": f"{start}\n{first}\n",
        "5 in end": f"{start}\n{first}\n{second}\n{end[:-3]}",
    }
    tables = ingest(files, tmp_path)
    reasons = {row["path"]: (row["reason"], row["is_whole_file"]) for row in tables.rejects.iter_rows(named=True)}
    assert reasons == {
        "1 in start": ("truncated_json", True),
        "2 start": ("no_measurement", True),
        "3 in interval": ("no_measurement", True),
        "4 interval": ("interrupted", False),
        "5 in end": ("truncated_json", False),
    }
    assert tables.tests["is_interrupted"].to_list() == [True, True]
    # 2621440 and 2490368 bytes in 1.000269 and 1.004655 s; only the sender's side is known.
    columns = ["sender_bytes", "sender_s", "receiver_bytes", "retransmits_iperf3_count"]
    assert tables.streams.select(columns).rows() == [
        (2621440, pytest.approx(1.000269), None, 0),
        (5111808, pytest.approx(2.004924), None, 0),
    ]
    (row,) = tables.rejects.filter(path="5 in end").iter_rows(named=True)
    assert row["line_number"] == 4
    assert row["byte_offset_bytes"] == len(f"{start}\n{first}\n{second}\n")


def test_stream_with_more_than_events(tmp_path: Path) -> None:
    start, first, second, end = STREAM.splitlines()
    error = '{"event":"error","data":"interrupt - the client has terminated by signal Interrupt(2)"}'
    server = '{"event":"server_output_text","data":"-----\\nServer listening on 5201\\n"}'
    files = {
        "a full output": STREAM + json.dumps(result("cli-3.20-p2"), indent="\t") + "\n",
        "b error": "\n".join([start, first, error]),
        "c text": "\n".join(["iperf3: warning", start, first, second, server, end]),
        "d nan": STREAM.replace("20965879.01773655", "-nan").replace("19830632.336122841", "nan"),
        "e twice": STREAM + STREAM,
    }
    tables = ingest(files, tmp_path)
    reasons = [(row["path"][0], row["reason"]) for row in tables.rejects.iter_rows(named=True)]
    assert reasons == [("b", "interrupted"), ("c", "repaired"), ("d", "repaired"), ("e", "doubled")]
    assert tables.tests["is_interrupted"].to_list() == [False, True, False, False, False]
    assert tables.tests["is_doubled"].to_list() == [False, False, False, False, True]
    assert tables.tests["error"][1].endswith("signal Interrupt(2)")
    assert tables.streams["sender_bytes"].to_list() == [5111808, 2621440, 5111808, 5111808, 5111808]
    assert tables.intervals.filter(run_id="e/d nan")["interval_bps"].null_count() == 2


def test_server_lost(tmp_path: Path) -> None:
    document = result() | {"end": {}, "error": "control socket has closed unexpectedly"}
    tables = ingest_one(document, tmp_path)
    assert tables.reasons == [("interrupted", False)]
    assert tables.test["error"] == "control socket has closed unexpectedly"
    # The intervals of a stream add up to its end block, which is missing here.
    assert tables.streams["sender_bytes"].to_list() == [4506255360, 4432855040]
    assert tables.streams["retransmits_iperf3_count"].to_list() == [16, 33]
    assert tables.streams["receiver_bytes"].null_count() == 2


def test_reverse_and_interrupted(tmp_path: Path) -> None:
    document = result("cli-3.20-rev") | {"error": "interrupt"}
    document["end"]["streams"][0]["sender"].update(bytes=0, retransmits=0)
    with_end = ingest_one(document, tmp_path / "a")
    without_end = ingest_one(document | {"end": {}}, tmp_path / "b")
    for tables in (with_end, without_end):
        assert tables.stream["is_reverse"]
        # The client counted what it received; what the server sent it never learned.
        assert (tables.stream["sender_bytes"], tables.stream["receiver_bytes"]) == (None, 50200576)
        assert tables.stream["retransmits_iperf3_count"] is None


def test_omitted_intervals(tmp_path: Path) -> None:
    document = result()
    document["intervals"][0]["streams"][0]["omitted"] = True
    document["intervals"][0]["streams"][1]["omitted"] = True
    document["start"]["test_start"]["omit"] = 1
    document["end"] = {}
    tables = ingest_one(document, tmp_path)
    assert tables.test["omit_s"] == 1.0
    assert tables.intervals["is_omitted"].to_list() == [True, False, False] * 2
    # 1646264320 + 1688207360, 1610874880 + 1659371520
    assert tables.streams["sender_bytes"].to_list() == [3334471680, 3270246400]


def test_test_by_volume_with_more_options(tmp_path: Path) -> None:
    header = {"bytes": 6000000, "duration": 0, "fqrate": 25000000, "target_bitrate": 30000000, "protocol": "SCTP"}
    document = changed(header, "start", "test_start") | {"title": "a title", "extra_data": "x"}
    document["server_output_json"] = result("srv-3.20-p2")
    document["start"] |= {"tcp_mss": 1400, "system_info": "REDACTED"}
    tables = ingest_one(document, tmp_path)
    row = tables.test
    assert tables.reasons == []
    assert (row["volume_bytes"], row["duration_s"], row["protocol"]) == (6000000, None, "SCTP")
    assert (row["fq_rate_bps"], row["target_bitrate_bps"]) == (25e6, 30e6)
    assert (row["mss_bytes"], row["system"]) == (1400, None)
    assert tables.streams.height == 2


def test_old_versions_lack_keys(tmp_path: Path) -> None:
    # As iperf 3.0.7 writes it: neither rtt nor window in the end block, numbers over 1e9 in exponents.
    text = """{"start": {"connected": [{"socket": 4, "local_host": "::ffff:10.0.1.2", "local_port": 37633,
        "remote_host": "fe80::1%eth0", "remote_port": 5201}], "version": "iperf 3.0.7",
        "system_info": "Linux client 3.13.0\\n", "timestamp": {"timesecs": 1436254758},
        "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0}},
      "intervals": [{"streams": [{"socket": 4, "start": 0, "end": 1.00068, "bytes": 1.6996624e+09,
        "bits_per_second": 1.35881e+10, "retransmits": 0, "snd_cwnd": 451776}]}],
      "end": {"streams": [{"sender": {"socket": 4, "start": 0, "end": 1.00068, "bytes": 1.6996624e+09,
        "retransmits": -1}, "receiver": {"socket": 4, "start": 0, "end": 1.1, "bytes": 1699662336}}]}}"""
    tables = ingest_one(text, tmp_path)
    assert tables.reasons == []
    assert tables.test["system"] == "Linux client 3.13.0"
    assert tables.stream["sender_bytes"] == 1699662400
    assert tables.stream["retransmits_iperf3_count"] is None
    assert (tables.stream["local_address"], tables.stream["remote_address"]) == ("10.0.1.2", "fe80::1")
    assert tables.intervals["interval_bytes"].to_list() == [1699662400]
    assert not tables.intervals["is_omitted"][0]


def test_uncounted_retransmits(tmp_path: Path) -> None:
    document = changed({"retransmits": 4294967294}, "intervals", 0, "streams", 0)
    document["end"]["streams"][1]["sender"]["retransmits"] = -1
    tables = ingest_one(document, tmp_path)
    assert tables.reasons == []
    assert tables.intervals.filter(stream_number=5)["retransmits_iperf3_count"].to_list() == [None, 6, 9]
    assert tables.streams["retransmits_iperf3_count"].to_list() == [16, None]


def test_streams_without_ports(tmp_path: Path) -> None:
    document = result()
    document["start"]["connected"] = document["start"]["connected"][:1]
    tables = ingest_one(document, tmp_path)
    assert tables.streams["local_port"].to_list() == [35498, None]
    assert tables.streams["flow_id"][1] == flow_id_of_stream("e/src", 1, 7)
    assert tables.intervals.filter(stream_number=7)["flow_id"].unique().to_list() == [flow_id_of_stream("e/src", 1, 7)]


@pytest.mark.parametrize("value", ["12", -5, True, [1], {"a": 1}, 2**70, 1e300])
def test_values_that_are_no_such_number(value: object, tmp_path: Path) -> None:
    document = changed({"rtt": value}, "intervals", 1, "streams", 0)
    document["end"]["streams"][0]["sender"]["max_snd_cwnd"] = value
    tables = ingest_one(document, tmp_path)
    # A time may be as large as it likes, a count of bytes not.
    is_time = value in (2**70, 1e300)
    assert tables.reasons == [("malformed_record", False)] * (1 if is_time else 2)
    assert "`cwnd_max_bytes` in streams" in tables.rejects["message"][0]
    assert tables.streams["cwnd_max_bytes"].to_list() == [None, 2357388]
    kept = tables.intervals.filter(stream_number=5)["rtt_ms"].to_list()
    assert (kept[1] is not None) == is_time
    assert (kept[0], kept[2]) == (pytest.approx(0.206), pytest.approx(0.203))


def test_rows_that_nothing_tells_apart(tmp_path: Path) -> None:
    document = result()
    document["intervals"][0]["streams"].append(document["intervals"][0]["streams"][0])
    document["intervals"][1]["streams"][0]["socket"] = "5"
    document["intervals"][2]["streams"][1]["omitted"] = None
    document["end"]["streams"].append(document["end"]["streams"][1])
    document["end"]["sum_sent"]["bytes"] += document["end"]["streams"][1]["sender"]["bytes"]
    document["end"]["sum_received"]["bytes"] += document["end"]["streams"][1]["receiver"]["bytes"]
    tables = ingest_one(document, tmp_path)
    assert set(tables.reasons) == {("malformed_record", False)}
    assert tables.streams["stream_number"].to_list() == [5, 7]
    rows = tables.intervals.select("stream_number", "interval_number").rows()
    assert rows == [(5, 0), (5, 2), (7, 0), (7, 1)]


def test_faults_are_told_to_their_file(tmp_path: Path) -> None:
    bad = json.dumps(changed({"rtt": "x", "snd_cwnd": "y"}, "intervals", 1, "streams", 0))
    tables = ingest({"a": P2, "b": bad, "c": P2}, tmp_path)
    assert tables.rejects["path"].to_list() == ["b", "b"]
    assert tables.tests.height == 3


def test_two_files_of_one_client(tmp_path: Path) -> None:
    tables = ingest({"a#1 raw": P2, "a#1 copy": P2}, tmp_path)
    assert tables.reasons == [("duplicate_run", True)]
    assert tables.tests.height == 1


TEXT_OF_IPERF3 = "Connecting to host 10.0.0.2, port 5201\n[ ID] Interval           Transfer     Bitrate\n"
TEXT_OF_IPERF2 = (
    "----\nClient connecting to 10.0.2.15, TCP port 5001\n[  3] local 10.0.2.4 port 5 connected with 10.0.2.15"
)
TEXT_OF_PSCHEDULER = "Submitting task...\nTask URL:\nhttps://host/pscheduler/tasks/1\nNo result.\n"
ERROR = "iperf3: error - unable to connect to server: Connection refused\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        (" \n\x00\x00", "empty"),
        (TEXT_OF_IPERF3, "plain_text"),
        (TEXT_OF_IPERF3 + "{", "plain_text"),
        (TEXT_OF_IPERF2, "iperf2"),
        ("Server listening on TCP port 5001\n", "iperf2"),
        (TEXT_OF_PSCHEDULER, "plain_text"),
        (ERROR, "error_only"),
        ("bash: iperf3: command not found\n", "not_json"),
        (b"\x93\x00\xff\xfe", "not_text"),
        ("null", "no_measurement"),
        ("12", "unexpected_structure"),
        ('"text"', "unexpected_structure"),
        ("[]", "unexpected_structure"),
        ("{}", "unexpected_structure"),
        ('{"sysstat": {"hosts": []}}', "unexpected_structure"),
        ('{"start": {"connected": []}, "intervals": [], "end": {}}', "no_measurement"),
        ('{"error": "unable to create a new stream"}', "error_only"),
        ('{"start": {}, "intervals": [{"streams": 5}}', "not_json"),
        ('{"start": {}, "intervals": [', "truncated_json"),
        ('{"a": ' * 100_000, "not_json"),
        ("[" * 100_000, "not_json"),
        ('{"start": ' + "9" * 10_000 + "}", "not_json"),
    ],
)
def test_what_is_no_result(content: str | bytes, reason: str, tmp_path: Path) -> None:
    tables = ingest_one(content, tmp_path)
    assert tables.reasons == [(reason, True)]
    assert tables.tests.is_empty()
    assert len(tables.rejects["message"][0]) < 400


@pytest.mark.parametrize("value", [None, "x", 3, True, [[]], [None], ["x"]])
@pytest.mark.parametrize(
    "path",
    [
        ["start"],
        ["start", "connected"],
        ["start", "test_start"],
        ["start", "timestamp"],
        ["intervals"],
        ["intervals", 1],
        ["intervals", 1, "streams"],
        ["intervals", 1, "streams", 0],
        ["end"],
        ["end", "streams"],
        ["end", "streams", 0],
        ["end", "streams", 0, "sender"],
        ["end", "sum_sent"],
        ["end", "cpu_utilization_percent"],
    ],
)
def test_containers_of_another_type(path: list[Any], value: object, tmp_path: Path) -> None:
    document = place = result()
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    tables = ingest_one(document, tmp_path)
    assert tables.reasons == [("unexpected_structure", True)]
    assert "rerun" in tables.rejects["message"][0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def read_and_write(data: bytes, folder: Path) -> Outcome | None:
    """Take one output all the way into the tables; whatever it is, only RawFileError may come of it."""
    try:
        outcome = read_client_output(data)
    except RawFileError as error:
        error.message.encode()
        return None
    tables = ClientTables()
    file = RawFile("id", "p", "src-cmd", None, 1, "", "ingest", run_id="e/r", client_number=1)
    tables.add(file, outcome)
    rejected = Rejects()
    manifest = Manifest("e", None, None, (), (file,))
    tables.write(Reading(manifest, [file], folder, TableFolder(folder), Settings(), rejected))
    for note in outcome.notes:
        rejected.add_error(file, note, is_whole_file=False)
    rejected.write(folder / "r.parquet")
    return outcome


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
WORDS = """start intervals end streams sum connected socket sender receiver udp bytes error omitted test_start reverse
    timestamp timesecs event data summary diags succeeded result stream-id throughput-bytes"""
KEYS = st.text(max_size=3) | st.sampled_from(WORDS.split())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
ANYTHING = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANYTHING
@given(data=st.binary(max_size=300))
def test_arbitrary_bytes(data: bytes, folder: Path) -> None:
    assert read_and_write(data, folder) is None


@ANYTHING
@given(value=st.dictionaries(KEYS, VALUES, max_size=6) | VALUES)
def test_arbitrary_json(value: object, folder: Path) -> None:
    read_and_write(json.dumps(value).encode(), folder)


@ANYTHING
@given(data=st.data())
def test_real_outputs_with_bytes_changed(data: st.DataObject, folder: Path) -> None:
    content = bytearray(data.draw(st.sampled_from(SOURCES)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.sampled_from([0, 1, 1, 40]))
        content[at : at + length] = data.draw(st.binary(max_size=3) | st.sampled_from([b"[", b"{", b'"', b"nan", b"-"]))
    read_and_write(bytes(content), folder)


@pytest.mark.slow
@ANYTHING
@given(data=st.data())
def test_real_outputs_with_values_changed(data: st.DataObject, folder: Path) -> None:
    document = result(data.draw(st.sampled_from(["iperf3_p2", "cli-3.7-bidir", "cli-3.20-udp", "int-3.20-INT"])))
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = document
        while True:
            steps = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not steps:
                break
            step = data.draw(st.sampled_from(steps))
            if not isinstance(place[step], dict | list) or data.draw(st.integers(0, 5)) == 0:
                place[step] = data.draw(VALUES)
                break
            place = place[step]
    read_and_write(json.dumps(document).encode(), folder)


@ANYTHING
@given(text=st.text(max_size=40).map(lambda text: '{"start": {"version": ' + text))
def test_defective_json_raises_nothing_else(text: str) -> None:
    with contextlib.suppress(RawFileError):
        read_defective(text)


WHOLE_NUMBERS = st.integers(0, 2**62)
MEASURES = st.fixed_dictionaries(
    {
        # Less than 10 Tbit/s, and six of the counts below what no sender of so few bytes could send again.
        "bytes": st.integers(0, 10**12),
        "retransmits": st.integers(0, 16),
        "rtt": st.integers(1, 10**9),
        "snd_cwnd": WHOLE_NUMBERS,
    }
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(measures=st.lists(st.lists(MEASURES, min_size=2, max_size=2), min_size=1, max_size=6))
def test_what_is_written_is_read(measures: list[list[dict[str, int]]], tmp_path: Path) -> None:
    intervals = [
        {"streams": [{"socket": 5 + 2 * at, "start": n, "end": n + 1} | measure for at, measure in enumerate(pair)]}
        for n, pair in enumerate(measures)
    ]
    tables: Tables = ingest_one(result() | {"intervals": intervals, "end": {}}, tmp_path)
    for at, rows in tables.intervals.partition_by("stream_number", maintain_order=True, as_dict=True).items():
        of_stream = [pair[(int(at[0]) - 5) // 2] for pair in measures]
        assert rows["interval_bytes"].to_list() == [measure["bytes"] for measure in of_stream]
        assert rows["cwnd_bytes"].to_list() == [measure["snd_cwnd"] for measure in of_stream]
        assert all(
            math.isclose(ms * 1000, measure["rtt"]) for ms, measure in zip(rows["rtt_ms"], of_stream, strict=True)
        )
    assert tables.streams["retransmits_iperf3_count"].sum() == sum(m["retransmits"] for pair in measures for m in pair)
