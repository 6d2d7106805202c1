"""Files in which a result is not alone: debug output, failed attempts, appended tests, two hosts; and UDP."""

import json
from pathlib import Path
from typing import Any

import pytest
from client_outputs import RESULTS, ingest_one, result

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.iperf3.reader import read_client_output

GOOD = json.dumps(result(), indent=1)
BUSY = json.dumps(
    {"start": {"connected": [], "version": "iperf 3.7"}, "intervals": [], "end": {}, "error": "error - server is busy"}
)
# As `iperf3 -d -J` prints what goes over the control connection.
DEBUG = 'send_parameters:\n{\n\t"tcp":\ttrue,\n\t"omit":\t0,\n\t"time":\t8\n}\nsent {5 blocks}\n'
BYTES = [block["sender"]["bytes"] for block in result()["end"]["streams"]]
STREAM = (RESULTS / "stream-3.20.jsonl").read_text()


def another(**start: Any) -> dict[str, Any]:
    """Return the result of another test: cookie and ports differ."""
    document = result()
    document["start"] |= {"cookie": "of another test"} | start
    for connection in document["start"]["connected"]:
        connection["local_port"] += 100
    return document


@pytest.mark.parametrize(
    "text",
    [DEBUG + GOOD, GOOD + "\nget_results:\n" + '{"cpu_util_total": 3}', DEBUG * 3 + GOOD + "\n" + DEBUG],
)
def test_debug_output_around_the_result(text: str, tmp_path: Path) -> None:
    tables = ingest_one(text, tmp_path)
    assert tables.streams["sender_bytes"].to_list() == BYTES
    assert {reason for reason, _ in tables.reasons} <= {"repaired"}
    assert not tables.test["is_doubled"]
    assert not tables.test["is_interrupted"]


@pytest.mark.parametrize("text", [f"{BUSY}\n{GOOD}", f"{BUSY}{BUSY}{GOOD}", f"{GOOD}\n{BUSY}", f"[{BUSY},{GOOD}]"])
def test_a_failed_attempt_beside_the_result(text: str, tmp_path: Path) -> None:
    tables = ingest_one(text, tmp_path)
    assert tables.streams["sender_bytes"].to_list() == BYTES
    assert tables.test["error"] is None
    assert ("repaired", False) in tables.reasons
    assert any("server is busy" in message for message in tables.rejects["message"])


def test_a_failed_attempt_before_a_result_that_is_cut(tmp_path: Path) -> None:
    cut = GOOD[: GOOD.index('"end": {\n')]
    tables = ingest_one(BUSY + "\n" + cut, tmp_path)
    assert tables.intervals.height == 2 * len(result()["intervals"])
    assert ("truncated_json", False) in tables.reasons
    assert tables.test["is_interrupted"]


@pytest.mark.parametrize("separator", ["", "\n", "[,]"])
def test_another_test_is_never_called_a_copy(separator: str, tmp_path: Path) -> None:
    left, between, right = separator if len(separator) == 3 else ("", separator, "")
    text = f"{left}{GOOD}{between}{json.dumps(another())}{right}"
    tables = ingest_one(text, tmp_path)
    assert tables.reasons == [("duplicate_run", False)]
    assert "split the file" in tables.rejects["message"][0]
    assert not tables.test["is_doubled"]
    assert tables.streams["sender_bytes"].to_list() == BYTES


def test_results_wrapped_in_one_another_without_end() -> None:
    nested = '{"diags": "", "result": ' * 900 + "null" + "}" * 900
    with pytest.raises(RawFileError):
        read_client_output(nested.encode())
    with pytest.raises(RawFileError):
        read_client_output(f"text {nested}".encode())


def test_a_list_of_one_result_and_its_copy(tmp_path: Path) -> None:
    assert ingest_one(f"[{GOOD}]", tmp_path).reasons == []
    tables = ingest_one(f"[{GOOD}, {GOOD}]", tmp_path)
    assert (tables.reasons, tables.test["is_doubled"]) == ([("doubled", False)], True)


def test_an_interrupted_test_before_a_complete_one(tmp_path: Path) -> None:
    interrupted = another() | {"error": "interrupt - the client has terminated"}
    tables = ingest_one(json.dumps(interrupted) + GOOD, tmp_path)
    assert tables.streams["local_port"].to_list() == [c["local_port"] for c in result()["start"]["connected"]]
    assert not tables.test["is_interrupted"]


def test_the_result_inside_a_damaged_one_is_not_the_client_s(tmp_path: Path) -> None:
    text = GOOD.replace('"end": {\n', f'"server_output_json": {GOOD}, "end": ?\n')
    assert text.count("?") == 1
    assert ingest_one(text, tmp_path).streams.is_empty()


def test_a_result_without_streams_at_its_end(tmp_path: Path) -> None:
    document = result()
    single = [interval | {"streams": interval["streams"][:1]} for interval in document["intervals"]]
    end = {
        "sum_sent": {"start": 0, "end": 2.0, "bytes": 5000, "retransmits": 3},
        "sum_received": {"start": 0, "end": 2.5, "bytes": 4000},
    }
    tables = ingest_one(document | {"intervals": single, "end": end}, tmp_path)
    assert (tables.reasons, tables.streams.height) == ([], 1)
    row = tables.stream
    assert (row["sender_bytes"], row["sender_s"], row["receiver_bytes"], row["receiver_s"]) == (5000, 2.0, 4000, 2.5)
    assert row["retransmits_iperf3_count"] == 3
    assert not tables.test["is_interrupted"]
    # Of several streams the intervals tell more than the sum.
    tables = ingest_one(document | {"end": end}, tmp_path)
    assert tables.streams["sender_bytes"].to_list() == [
        sum(interval["streams"][number]["bytes"] for interval in document["intervals"]) for number in (0, 1)
    ]
    assert not tables.test["is_interrupted"]


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_two_tests_in_one_stream_file(tmp_path: Path) -> None:
    plain = ingest_one(STREAM, tmp_path)
    other = events(STREAM)
    other[0]["data"]["cookie"] = "of another test"
    text = STREAM + "\n".join(json.dumps(event) for event in other) + "\n"
    tables = ingest_one(text, tmp_path)
    assert tables.reasons == [("duplicate_run", False)]
    assert tables.streams.equals(plain.streams)
    tables = ingest_one(STREAM + STREAM, tmp_path)
    assert (tables.reasons, tables.test["is_doubled"]) == ([("doubled", False)], True)


def test_a_killed_stream_before_a_complete_one(tmp_path: Path) -> None:
    other = events(STREAM)
    other[0]["data"]["cookie"] = "of another test"
    killed = "\n".join(json.dumps(event) for event in other if event["event"] != "end") + "\n"
    tables = ingest_one(killed + STREAM, tmp_path)
    assert not tables.test["is_interrupted"]
    assert tables.intervals.equals(ingest_one(STREAM, tmp_path).intervals)


def test_client_and_server_write_to_one_stream_file(tmp_path: Path) -> None:
    plain = ingest_one(STREAM, tmp_path)
    mixed = []
    for event in events(STREAM):
        mixed.append(event)
        if event["event"] == "interval":
            blocks = [block | {"sender": False, "bytes": 1} for block in event["data"]["streams"]]
            mixed.append({"event": "interval", "data": {"streams": blocks}})
    tables = ingest_one("\n".join(json.dumps(event) for event in mixed), tmp_path)
    assert tables.intervals.equals(plain.intervals)
    assert tables.reasons == [("repaired", False)]
    assert "of the other host" in tables.rejects["message"][0]


def test_a_stream_with_the_full_output_behind_it(tmp_path: Path) -> None:
    plain = ingest_one(STREAM, tmp_path)
    parts = {event["event"]: event["data"] for event in events(STREAM)}
    full = {"start": parts["start"], "intervals": [parts["interval"]], "end": parts["end"]}
    for text in (json.dumps(full, indent="\t"), json.dumps(full)):
        tables = ingest_one(STREAM + text + "\n" + STREAM, tmp_path)
        assert (tables.reasons, tables.streams.equals(plain.streams)) == ([("doubled", False)], True)


def datagrams(*, is_reverse: bool, flows: int = 1, **sums: Any) -> dict[str, Any]:
    """Return a UDP result: of 1000 datagrams of 1000 bytes of each flow in 10 s, 600 arrive."""
    blocks = [{"socket": 5 + flow, "start": 0, "end": 10.0, "sender": not is_reverse} for flow in range(flows)]
    counts = {"jitter_ms": 0.25, "lost_packets": 400, "packets": 1000}
    own = 600_000 if is_reverse else 1_000_000
    return {
        "start": {
            "version": "iperf 3.17",
            "connecting_to": {"host": "h"},
            "connected": [],
            "test_start": {"protocol": "UDP", "reverse": int(is_reverse)},
        },
        "intervals": [{"streams": [block | {"bytes": own} for block in blocks]}],
        "end": {"streams": [{"udp": block | counts | {"bytes": 1_000_000}} for block in blocks]} | sums,
    }


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("flows", [1, 2])
def test_what_the_receiver_of_datagrams_says(is_reverse: bool, flows: int, tmp_path: Path) -> None:
    received = {"start": 0, "end": 10.0, "bytes": 600_000 * flows}
    tables = ingest_one(datagrams(is_reverse=is_reverse, flows=flows, sum_received=received), tmp_path)
    assert tables.reasons == []
    assert tables.streams["sender_bytes"].to_list() == [1_000_000] * flows
    assert tables.streams["receiver_bytes"].to_list() == [600_000] * flows
    assert tables.streams["receiver_s"].to_list() == [10.0] * flows
    assert tables.streams["lost_packets_count"].to_list() == [400] * flows


def test_a_sender_of_datagrams_that_is_not_told(tmp_path: Path) -> None:
    tables = ingest_one(datagrams(is_reverse=False), tmp_path)
    assert (tables.stream["receiver_bytes"], tables.stream["receiver_s"]) == (None, None)


def test_an_interrupted_test_whose_sums_are_zero_keeps_its_intervals(tmp_path: Path) -> None:
    end = {"streams": [], "sum_sent": {"start": 0, "end": 0, "bytes": 0}, "sum_received": {"bytes": 0}}
    tables = ingest_one(result() | {"end": end, "error": "interrupt - the client has terminated"}, tmp_path)
    expected = [sum(interval["streams"][n]["bytes"] for interval in result()["intervals"]) for n in (0, 1)]
    assert tables.streams["sender_bytes"].to_list() == expected
    assert tables.test["is_interrupted"]
