"""pscheduler results, made from real iperf3 outputs as pscheduler makes them; none with `diags` is at hand.

The grammar is that of pscheduler's own source (`pscheduler-tool-iperf3`: run, merged-results, iperf3_parser.py).
"""

import copy
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import SHARED
from client_outputs import ingest, ingest_one, result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccreport.archive.raw_file import RawFileError
from ccreport.core.identifiers import flow_id_of_connection, flow_id_of_stream
from ccreport.ingest.iperf3.reader import read_client_output

CORPUS = SHARED / "corpus" / "pscheduler"
CLIENT = "/usr/bin/iperf3 -p 5201 -B 10.0.0.1 -c 10.0.0.2 -t 3 --json -i 1 -P 2 -C bbr2"
SERVER = "/usr/bin/iperf3 -s -1 --json -p 5201 -B 10.0.0.2"
NAMES = {
    "socket": "stream-id",
    "start": "start",
    "end": "end",
    "bytes": "throughput-bytes",
    "bits_per_second": "throughput-bits",
    "omitted": "omitted",
    "jitter_ms": "jitter",
    "packets": "sent",
    "lost_packets": "lost",
    "retransmits": "retransmits",
    "snd_cwnd": "tcp-window-size",
    "rtt": "rtt",
    "mean_rtt": "rtt",
}


def rename(block: dict[str, Any]) -> dict[str, Any]:
    return {NAMES[key]: value for key, value in block.items() if key in NAMES}


def summarise(document: dict[str, Any]) -> dict[str, Any]:
    """Return what pscheduler makes of an iperf3 result, without `diags`."""
    end = document["end"]
    total = rename(end.get("sum_sent", end.get("sum")))
    if "sum_received" in end:
        total["receiver-throughput-bits"] = end["sum_received"]["bits_per_second"]
    return {
        "succeeded": True,
        "intervals": [
            {"streams": [rename(stream) for stream in interval["streams"]], "summary": rename(interval["sum"])}
            for interval in document["intervals"]
        ],
        "summary": {
            "streams": [rename(block.get("udp", block.get("sender"))) for block in end["streams"]],
            "summary": total,
        },
    }


def participant(command: str, document: dict[str, Any] | None, notes: str = "") -> str:
    """Return one host's part of `diags`: the command line, and iperf3's output where it succeeded."""
    if document is None:
        return f"{notes}{command}"
    blotted = copy.deepcopy(document)
    blotted["start"]["system_info"] = "REDACTED"
    return f"{notes}{command}\n\n{json.dumps(blotted, indent=2)}"


def merge(first: str, second: str, summary: dict[str, Any]) -> dict[str, Any]:
    return summary | {"diags": f"Participant 0:\n{first}\nParticipant 1:\n{second}\n"}


def test_raw_output_is_recovered(tmp_path: Path) -> None:
    notes = "Unable to use NUMA for this test.  Disabling it.\n"
    server = participant(SERVER, result("srv-3.20-p2"))
    task = merge(participant(f"numactl -N 0 {CLIENT}", result(), notes), server, summarise(result()))
    tables = ingest_one(task, tmp_path / "task")
    plain = ingest_one(result(), tmp_path / "plain")
    assert tables.reasons == []
    assert tables.test == plain.test | {
        "tool": "pscheduler",
        "is_recovered": True,
        "command": f"numactl -N 0 {CLIENT}",
        "cc_command": "bbr2",
        "system": None,
    }
    assert tables.streams.equals(plain.streams)
    assert tables.intervals.equals(plain.intervals)
    # ports, receiver and CPU, none of which pscheduler's own summary has
    assert tables.stream["local_port"] == 35498
    assert tables.stream["receiver_bytes"] == 4505337856
    assert tables.test["cpu_remote_total_pct"] > 0


def test_plain_summary(tmp_path: Path) -> None:
    tables = ingest_one(summarise(result()), tmp_path)
    assert tables.reasons == []
    row = tables.test
    assert (row["tool"], row["is_recovered"], row["is_interrupted"], row["protocol"]) == (
        "pscheduler",
        False,
        False,
        "TCP",
    )
    known = {"run_id", "client_number", "raw_file_id", "tool", "protocol"} | {n for n in row if n.startswith("is_")}
    assert all(value is None for name, value in row.items() if name not in known)
    columns = ["stream_number", "sender_bytes", "sender_s", "receiver_bytes", "retransmits_iperf3_count"]
    # As in the end blocks of the iperf3 result; the receivers' are dropped by pscheduler.
    assert tables.streams.select(columns).rows() == [
        (5, 4506255360, 3.000706, None, 16),
        (7, 4432855040, 3.000706, None, 33),
    ]
    assert tables.streams["rtt_mean_ms"].to_list() == pytest.approx([0.209, 0.219])
    assert tables.streams["flow_id"].to_list() == [flow_id_of_stream("e/src", 1, number) for number in (5, 7)]
    # tcp-window-size is the congestion window, in bytes.
    second = tables.intervals.filter(stream_number=7, interval_number=1).row(0, named=True)
    assert second["cwnd_bytes"] == 1833524
    assert second["rtt_ms"] == pytest.approx(0.204)
    assert (second["interval_bytes"], second["interval_bps"]) == (1610874880, 12887552881.926329)


def test_udp_summary(tmp_path: Path) -> None:
    tables = ingest_one(summarise(result("cli-3.7-udp")), tmp_path)
    assert tables.reasons == []
    assert tables.test["protocol"] == "UDP"
    columns = ["sender_bytes", "packets_count", "lost_packets_count", "jitter_ms", "retransmits_iperf3_count"]
    assert tables.streams.select(columns).rows() == [
        (2523136, 77, 0, 0.02853850452183606, None),
        (2523136, 77, 0, 0.02753778368606502, None),
    ]


def test_reverse_takes_the_clients_output(tmp_path: Path) -> None:
    client, server = result("cli-3.20-rev"), result("srv-3.20-rev")
    task = merge(participant(f"{CLIENT} -R", client), participant(SERVER, server), summarise(server))
    tables = ingest_one(task, tmp_path / "both")
    assert tables.test["is_reverse"]
    assert tables.stream["is_reverse"]
    # What arrived is known to the client alone, and the flow is the one that `ss` sees beside it.
    assert (tables.stream["sender_bytes"], tables.stream["receiver_bytes"]) == (50200576, 50200576)
    flow = flow_id_of_connection("e/src", "127.0.0.1", 36306, "127.0.0.1", 6027)
    assert tables.stream["flow_id"] == flow
    assert tables.test["command"] == f"{CLIENT} -R"
    # Where only the server's output is there, that is taken: it sent, so it has retransmits and round-trip times.
    task = merge(participant(f"{CLIENT} -R", None), participant(SERVER, server), summarise(server))
    tables = ingest_one(task, tmp_path / "server")
    assert tables.test["is_recovered"]
    assert tables.test["cc_command"] == "bbr2"
    assert tables.stream["is_reverse"]
    assert tables.stream["receiver_bytes"] is None
    assert tables.stream["rtt_mean_ms"] == pytest.approx(0.044)
    # Where neither is, the command still tells the direction.
    task = merge(participant(f"{CLIENT} --reverse", None), participant(SERVER, None), summarise(server))
    tables = ingest_one(task, tmp_path / "neither")
    assert not tables.test["is_recovered"]
    assert tables.stream["is_reverse"]
    assert (tables.stream["sender_bytes"], tables.stream["retransmits_iperf3_count"]) == (50200576, 2)


def test_loopback_and_old_forms(tmp_path: Path) -> None:
    summary = summarise(result())
    text = json.dumps(result())
    files = {
        "a loopback": summary | {"diags": f"Client:\n\n{CLIENT}\n\n{text}\n\nServer:\n\n{SERVER}\n\n"},
        "b diag": summary | {"diag": text},
        "c run": {"href": "x", "state": "finished", "result": merge(participant(CLIENT, result()), "", summary)},
        "d list": [merge(participant(CLIENT, result()), participant(SERVER, None), summary)],
    }
    tables = ingest({name: json.dumps(content) for name, content in files.items()}, tmp_path)
    assert tables.reasons == []
    assert tables.tests["is_recovered"].to_list() == [True] * 4
    assert tables.tests["cc_command"].to_list() == ["bbr2", None, "bbr2", "bbr2"]
    assert tables.streams["local_port"].null_count() == 0


def test_printed_after_the_progress_of_the_command(tmp_path: Path) -> None:
    head = "Submitting task...\nTask URL:\nhttps://h/pscheduler/tasks/1\nRunning with tool 'iperf3'\n\n"
    tables = ingest_one(head + json.dumps(summarise(result()), indent=4) + "\n\nNo further runs scheduled.\n", tmp_path)
    assert tables.reasons == [("repaired", False)] * 2
    assert tables.streams.height == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-C cubic", "cubic"),
        ("-Cbbr", "bbr"),
        ("--congestion bbr3", "bbr3"),
        ("--congestion=bbr3", "bbr3"),
        ("--linux-congestion reno", "reno"),
        ("-P 4", None),
        ("-C", None),
        ("--title 'it is", None),
    ],
)
def test_congestion_control_of_the_command(options: str, expected: str | None, tmp_path: Path) -> None:
    command = f"/usr/bin/iperf3 -c 10.0.0.2 --json {options}"
    tables = ingest_one(merge(participant(command, result()), "", summarise(result())), tmp_path)
    assert tables.test["cc_command"] == expected
    assert tables.test["command"] == command


def test_failed_with_and_without_data(tmp_path: Path) -> None:
    error = "Iperf3 failed: control socket has closed unexpectedly"
    broken = result("int-3.20-INT")
    files = {
        "a only error": {"succeeded": False, "diags": "", "error": error, "intervals": None, "summary": None},
        "b refused": merge(participant(CLIENT, None), participant(SERVER, None), {"succeeded": False, "error": error}),
        "c intervals": summarise(result()) | {"succeeded": False, "error": error, "summary": None},
        "d recovered": merge(participant(CLIENT, broken), "", {"succeeded": False, "error": error}),
        "e whole but failed": merge(participant(CLIENT, result()), "", {"succeeded": False, "error": error}),
        "f quoted": {"succeeded": False, "error": f"iperf3 returned an error: \n{json.dumps(broken)}\n\n"},
        "g silent": {"succeeded": False},
        "h refused, raw": merge(participant(CLIENT, result("err-3.20")), "", {"succeeded": False, "error": error}),
        "i null": None,
        "j empty": {"succeeded": True, "intervals": [], "summary": {"streams": [], "summary": {}}},
    }
    tables = ingest({name: json.dumps(content) for name, content in files.items()}, tmp_path)
    reasons = [(r["path"][0], r["reason"], r["is_whole_file"]) for r in tables.rejects.iter_rows(named=True)]
    assert reasons == [
        ("a", "error_only", True),
        ("b", "error_only", True),
        ("c", "interrupted", False),
        ("d", "interrupted", False),
        ("e", "interrupted", False),
        ("f", "interrupted", False),
        ("g", "error_only", True),
        ("h", "error_only", True),
        ("i", "no_measurement", True),
        ("j", "no_measurement", True),
    ]
    assert error in tables.rejects["message"][0]
    assert tables.tests["run_id"].to_list() == ["e/c intervals", "e/d recovered", "e/e whole but failed", "e/f quoted"]
    assert tables.tests["is_interrupted"].all()
    assert tables.tests["is_recovered"].to_list() == [False, True, True, True]
    assert tables.tests["error"].to_list()[:3] == [error] * 3
    # Without totals the intervals are summed.
    assert tables.streams.filter(run_id="e/c intervals")["sender_bytes"].to_list() == [4506255360, 4432855040]


def test_damaged_diags_leave_the_summary(tmp_path: Path) -> None:
    text = json.dumps(result())
    files = {
        "a cut in the header": merge(f"{CLIENT}\n\n{text[:200]}", "", summarise(result())),
        "b cut in the end": merge(f"{CLIENT}\n\n{text[:-200]}", "", summarise(result())),
        "c no object": merge(f"{CLIENT}\n\n{{broken", "", summarise(result())),
        "d other structure": merge(f"{CLIENT}\n\n" + '{"intervals": 5}', "", summarise(result())),
    }
    tables = ingest({name: json.dumps(content) for name, content in files.items()}, tmp_path)
    assert tables.streams.height == 8
    assert tables.streams["sender_bytes"].unique().to_list() == [4432855040, 4506255360]
    assert tables.tests["is_recovered"].to_list() == [False, False, False, False]
    assert tables.tests["is_interrupted"].to_list() == [False, False, False, False]


# [  5]  0.0- 1.0 sec  50 Bytes, as the iperf2 tool gives it: texts for streams, and the whole test among the intervals.
def iperf2_stream(number: str, start: float, end: float, size: float) -> dict[str, Any]:
    rate = size * 8 / (end - start)
    block = {"stream-id": number, "start": start, "end": end, "throughput-bytes": size, "throughput-bits": rate}
    return block | {"jitter": None, "lost": None, "sent": None}


def test_iperf2_tool(tmp_path: Path) -> None:
    spans = [(0.0, 1.0, 50.0, 70.0), (1.0, 2.0, 60.0, 80.0), (0.0, 2.0, 110.0, 150.0)]
    intervals = [
        {
            "streams": [iperf2_stream("5", start, end, first), iperf2_stream("3", start, end, second)],
            "summary": iperf2_stream("SUM", start, end, first + second),
        }
        for start, end, first, second in spans
    ]
    total = intervals[-1]
    as_list = [*total["streams"], total["summary"]]
    for name, summary in (("object", total), ("list", as_list)):
        task = {"succeeded": True, "mss": 1448, "diags": "", "intervals": intervals, "summary": summary}
        tables = ingest_one(task, tmp_path / name)
        assert tables.reasons == []
        assert tables.streams.select("stream_number", "sender_bytes", "sender_s").rows() == [
            (3, 150, 2.0),
            (5, 110, 2.0),
        ]
        # The interval from 0 to 2 s is the total again.
        assert tables.intervals.group_by("stream_number").agg(pl.sum("interval_bytes")).sort(
            "stream_number"
        ).rows() == [
            (3, 150),
            (5, 110),
        ]
        assert tables.streams["retransmits_iperf3_count"].null_count() == 2


@pytest.mark.skipif(not CORPUS.exists(), reason="other people's files are not at hand (../shared/corpus)")
def test_other_peoples_files(tmp_path: Path) -> None:
    # EXPECTED.tsv: 10 intervals of one UDP stream, 61943992 bytes, 42779 sent, jitter 0.018;
    # 20 intervals of two TCP streams, 18273067604 bytes, 33 retransmits.
    files = {path.stem[-1]: path.read_bytes() for path in CORPUS.glob("*esmond*")}
    tables = ingest(files, tmp_path)
    assert tables.reasons == []
    udp, tcp = (tables.streams.filter(run_id=f"e/{name}") for name in ("4", "6"))
    columns = ["sender_bytes", "packets_count", "lost_packets_count", "jitter_ms"]
    assert udp.select(columns).rows() == [(61943992, 42779, 0, 0.018)]
    assert tcp["stream_number"].to_list() == [4, 6]
    assert (tcp["sender_bytes"].sum(), tcp["retransmits_iperf3_count"].sum()) == (18273067604, 33)
    numbers = tables.intervals.group_by("run_id").agg(pl.n_unique("interval_number")).sort("run_id").rows()
    assert numbers == [("e/4", 10), ("e/6", 20)]


KEYS = st.sampled_from(["diags", "error", "succeeded", "summary", "intervals", "streams", "stream-id", "start", "sent"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just("Participant 0:\n{}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=KEYS, value=VALUES, depth=st.integers(0, 3))
def test_whatever_stands_in_a_result(key: str, value: object, depth: int, tmp_path: Path) -> None:
    task: Any = summarise(result()) | {"diags": ""}
    place = [task, task["summary"], task["summary"]["streams"][0], task["intervals"][0]["streams"][1]][depth]
    place[key] = value
    ingest_one(task, tmp_path)


@settings(max_examples=80, deadline=None)
@given(diags=st.text(alphabet='Participant 01:\n{}[]",iperf3 -CR\\', max_size=60))
def test_whatever_stands_in_diags(diags: str) -> None:
    try:
        outcome = read_client_output(json.dumps(summarise(result()) | {"diags": diags}).encode())
    except RawFileError as error:
        pytest.fail(f"the summary is whole: {error}")
    assert len(outcome.streams) == 2


def test_the_receiver_s_rate_of_a_summary(tmp_path: Path) -> None:
    # 3 and 1 parts of the bytes: so are the parts of the rate.
    streams = [
        {"stream-id": 5 + 2 * n, "start": 0, "end": 10.0, "throughput-bytes": size, "throughput-bits": size * 0.8}
        for n, size in enumerate((3_000_000, 1_000_000))
    ]
    total = {"throughput-bytes": 4_000_000, "receiver-throughput-bits": 3_000_000.0}
    task = {"succeeded": True, "diags": "", "intervals": [], "summary": {"streams": streams, "summary": total}}
    tables = ingest_one(task, tmp_path)
    assert tables.streams["receiver_bps"].to_list() == [2_250_000.0, 750_000.0]
    assert tables.streams["receiver_bytes"].null_count() == 2


def test_a_task_that_succeeded_without_a_measurement_says_why(tmp_path: Path) -> None:
    failed = {"start": {"connected": []}, "intervals": [{"streams": []}], "end": {"streams": []}}
    output = json.dumps(failed | {"error": "error - unable to connect to server: Connection timed out"}, indent=1)
    task = {
        "diags": f"SENDER START\nbwctl: exec_line: iperf3 -c h -J\n{output}\nbwctl: stop_tool\nSENDER END\n",
        "succeeded": True,
        "intervals": [{"streams": [], "summary": {}}],
        "summary": {"streams": [], "summary": {"throughput-bytes": 0}},
    }
    for value in (task, {"result-merged": task}):
        tables = ingest_one(value, tmp_path)
        assert tables.reasons == [("error_only", True)]
        assert "Connection timed out" in tables.rejects["message"][0]


def test_a_task_that_failed_says_why_in_its_diags(tmp_path: Path) -> None:
    diags = "Participant 0:\niperf3 -c h -t 10\niperf3: error - unable to connect to server: No route to host\n"
    tables = ingest_one({"succeeded": False, "diags": diags, "error": None, "summary": None}, tmp_path)
    assert tables.reasons == [("error_only", True)]
    assert "No route to host" in tables.rejects["message"][0]


def test_what_a_record_says_of_its_task(tmp_path: Path) -> None:
    block = {"stream-id": 5, "start": 0, "end": 10.0, "throughput-bytes": 1000}
    spec = {"dest": "h", "reverse": True, "duration": "PT1M30S", "omit": "PT5S", "parallel": 4, "congestion": "bbr"}
    record = {
        "test": {"type": "throughput", "spec": spec},
        "schedule": {"start": "2024-05-01T12:00:00+02:00", "duration": "PT2M"},
        "result": {"succeeded": True, "diags": "", "intervals": [], "summary": {"streams": [block], "summary": {}}},
    }
    tables = ingest_one(record, tmp_path)
    assert tables.reasons == []
    test = tables.test
    assert (test["is_reverse"], test["duration_s"], test["omit_s"], test["streams_count"]) == (True, 90.0, 5.0, 4)
    assert (test["cc_command"], str(test["start_utc"])) == ("bbr", "2024-05-01 10:00:00+00:00")
    assert tables.stream["is_reverse"]
    other = record | {"schedule": None, "test": {"spec": {"udp": True, "duration": "10 s", "parallel": "x"}}}
    test = ingest_one(other, tmp_path).test
    assert (test["protocol"], test["duration_s"], test["streams_count"], test["start_utc"]) == ("UDP", None, None, None)


def test_several_runs_in_a_list(tmp_path: Path) -> None:
    good = summarise(result()) | {"diags": ""}
    failed = {"succeeded": False, "diags": "", "error": "Iperf3 failed", "intervals": None, "summary": None}
    tables = ingest_one(json.dumps([{"result": failed}, {"result": good}]), tmp_path)
    assert tables.reasons == [("repaired", False)]
    assert tables.streams.height == 2
    other = json.loads(json.dumps(good))
    other["summary"]["streams"][0]["throughput-bytes"] += 1
    assert ingest_one(json.dumps([good, other]), tmp_path).reasons == [("duplicate_run", False)]
