import json
from pathlib import Path

import polars as pl
import pytest
from archives import JOB, SHARED, iperf3_json, list_one, write_archive
from hypothesis import given
from hypothesis import strategies as st
from readings import read_files

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.harness.jobmeta import find_congestion, parse_loss
from ccreport.ingest.harness.qdiscs import find_buffer, parse_qdiscs


def ingest(files: dict[str, str | bytes], tmp_path: Path) -> dict[str, pl.DataFrame]:
    archive = write_archive(tmp_path / "raw", files)
    return read_files("metadata", list_one(archive, tmp_path / "w"), archive, tmp_path)


JOBMETA = {
    "uuid": "c4d9",
    "name": "both_p16",
    "type": "iperf3",
    "iters": 5,
    "hostname": "sender-1",
    "src_cmd": "iperf3 -c {dst} -J -P 16 -C bbr",
    "pre_src_cmd": None,
    "loss": "0.001 gemodel",
    "lat": "20",
    "limit": "10000",
    "pacing": "2.4gbit",
    "NIC_speed": "10000Mb/s",
    "MTU": "9000",
    "kernel": "5.10.0",
    "buffer_bytes": 250000,
    "bottleneck": "50mbit",
    "background_udp": "5mbit",
    "stages": [{"at_s": 10, "rtt_ms": 60}],
    "start_time": "2026-11-20:22:10",
}


def test_jobmeta_is_typed(tmp_path: Path) -> None:
    tables = ingest({f"{JOB}/jobmeta.json": json.dumps(JOBMETA)}, tmp_path)
    row = tables["experiments"].row(0, named=True)
    assert row["cc_command"] == "bbr"
    assert (row["loss_pct"], row["loss_model"]) == (0.001, "gemodel")
    assert row["rtt_nominal_ms"] == 40  # `lat` is one way
    assert row["has_netem"]
    assert (row["limit_packets_count"], row["iterations_count"], row["mtu_bytes"]) == (10000, 5, 9000)
    assert (row["pacing_bps"], row["nic_bps"]) == (2.4e9, 10e9)
    assert (row["buffer_bytes"], row["bottleneck_bps"], row["background_udp_bps"]) == (250000, 50e6, 5e6)
    assert json.loads(row["stages_json"]) == JOBMETA["stages"]
    assert tables["rejects"].is_empty()
    assert (row["clients_json"], row["queue_discipline"], row["has_queue_ecn"]) == (None, None, None)


def test_jobmeta_of_a_collected_job_says_which_client_is_which(tmp_path: Path) -> None:
    clients = [{"number": 1, "command": "iperf3", "host": "h", "rtt_ms": 10, "port": 5201, "flows_count": 2}]
    clients += [{"number": 2, "congestion_control": "bbr", "start_s": 0.5, "rtt_ms": "far"}, {"port": 1}, 7]  # type: ignore[list-item]
    facts = JOBMETA | {"queue": "red", "ecn": False, "campaign": "small", "clients": clients}
    tables = ingest({f"{JOB}/jobmeta.json": json.dumps(facts)}, tmp_path)
    row = tables["experiments"].row(0, named=True)
    assert (row["queue_discipline"], row["has_queue_ecn"], row["campaign"]) == ("red", False, "small")
    assert json.loads(row["clients_json"]) == [
        {"number": 1, "host": "h", "rtt_ms": 10.0, "port": 5201},
        {"number": 2, "congestion_control": "bbr", "start_s": 0.5},
    ]
    # An RTT that is a text, and two clients without a number.
    assert tables["rejects"]["reason"].to_list() == ["bad_metadata"] * 3
    assert not tables["rejects"]["is_whole_file"].any()


def test_changes_of_the_path_are_read_value_by_value(tmp_path: Path) -> None:
    stages: list[object] = [{"at_s": 10.0, "rtt_ms": 60.5}, {"at_s": 20, "rate": "20mbit", "loss": 0.1}]
    stages += [{"at_s": 30, "rate": "fast", "loss": "0,1", "rtt": 5}, {"rtt_ms": 20}, {"at_s": "1 s"}, 7]
    tables = ingest({f"{JOB}/jobmeta.json": json.dumps({"stages": stages})}, tmp_path)
    (recorded,) = tables["experiments"]["stages_json"]
    assert recorded == '[{"at_s": 10, "rtt_ms": 60.5}, {"at_s": 20, "loss": "0.1", "rate": "20mbit"}, {"at_s": 30}]'
    late = "a stage without at_s, the second in which it begins; it is left out"
    assert tables["rejects"]["message"].to_list() == [
        "stages[2]: rate is 'fast': not a rate such as 50Mbit or 9.8Gbit: 'fast'; the value is left out",
        "stages[2]: loss is '0,1': not a loss in percent such as 0.001; the value is left out",
        "stages[2]: nothing is read from the key 'rtt'; a stage has at_s, rtt_ms, rate, loss",
        f"stages[3]: {late}",
        "stages[4]: at_s is '1 s' where a number of at least 0 belongs; the value is left out",
        f"stages[4]: {late}",
        f"stages[5]: {late}",
    ]


def test_every_key_of_jobmeta_is_optional(tmp_path: Path) -> None:
    row = ingest({f"{JOB}/jobmeta.json": "{}"}, tmp_path)["experiments"].row(0, named=True)
    assert {name for name, value in row.items() if value is not None} == {"experiment_id", "raw_file_id", "has_netem"}


def test_a_value_that_cannot_be_read_is_named_and_left_out(tmp_path: Path) -> None:
    content = json.dumps({"pacing": "fast", "iters": -1, "loss": "150", "MTU": "Metric:1", "lat": "5"})
    tables = ingest({f"{JOB}/jobmeta.json": content}, tmp_path)
    row = tables["experiments"].row(0, named=True)
    assert (row["pacing_bps"], row["iterations_count"], row["loss_pct"], row["mtu_bytes"]) == (None,) * 4
    assert row["rtt_nominal_ms"] == 10
    assert set(tables["rejects"]["reason"]) == {"bad_metadata"}
    assert sorted(tables["rejects"]["message"]) == [
        "iters is '-1': not a whole number from 0 on; the value is left out",
        "loss is '150': not a loss in percent such as 0.001; the value is left out",
        "pacing is 'fast': not a rate such as 50Mbit or 9.8Gbit: 'fast'; the value is left out",
    ]


@pytest.mark.parametrize(
    ("key", "value", "column", "message"),
    [
        ("loss", "1 in 1000", "loss_pct", "'in 1000' is not a loss model of netem, such as gemodel"),
        ("loss", "1 1000", "loss_pct", "'1000' is not a loss model of netem, such as gemodel"),
        ("loss", "0,1", "loss_pct", "not a loss in percent such as 0.001"),
        # tc(8): bytes per second.
        ("pacing", "100mbps", "pacing_bps", "bytes per second to tc, bits to most people; write 100mbit or 800mbit"),
        ("background_udp", "1Gbps", "background_udp_bps", "bytes per second to tc, bits to most people; write 1gbit"),
        ("bottleneck", "12.5 MB/s", "bottleneck_bps", "not a rate such as 50Mbit or 9.8Gbit"),
        ("NIC_speed", "10GB/s", "nic_bps", "not a rate such as 50Mbit or 9.8Gbit"),
        ("MTU", "jumbo", "mtu_bytes", "not a whole number from 0 on"),
        ("ecn", "on", "has_queue_ecn", "not true or false"),
    ],
)
def test_a_value_that_may_mean_another_is_not_guessed(
    key: str, value: str, column: str, message: str, tmp_path: Path
) -> None:
    tables = ingest({f"{JOB}/jobmeta.json": json.dumps({key: value})}, tmp_path)
    assert tables["experiments"][column].to_list() == [None]
    (said,) = tables["rejects"]["message"]
    assert said.startswith(f"{key} is '{value}': {message}")
    assert said.endswith("; the value is left out")


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("0.1 %", (0.1, None)),
        ("0.001% gemodel", (0.001, "gemodel")),
        ("0.1 gemodel 20%", (0.1, "gemodel 20%")),
        ("1 state 5% 10%", (1, "state 5% 10%")),
        ("0.1 25%", (0.1, "25%")),
        (str(0.00001), (0.00001, None)),  # 1e-05
    ],
)
def test_a_loss_has_netem_s_model_behind_it(text: str, loss: tuple[float, str | None]) -> None:
    assert parse_loss(text) == loss


@pytest.mark.parametrize(
    ("loss", "is_known"), [({"loss": None}, True), ({"loss": "0.1"}, True), ({"loss": "?"}, False), ({}, False)]
)
def test_a_delay_without_a_word_on_the_loss_leaves_it_unknown(
    loss: dict[str, str | None], is_known: bool, tmp_path: Path
) -> None:
    row = ingest({f"{JOB}/jobmeta.json": json.dumps({"lat": "5ms", **loss})}, tmp_path)["experiments"]
    assert row["has_netem"].to_list() == [is_known]


def test_a_misspelt_key_is_named_with_the_one_that_is_meant(tmp_path: Path) -> None:
    content = json.dumps({"los": "0.01", "mtu": "9000", "lat": "5", "user": "me", "of_another_version": 1})
    rejects = ingest({f"{JOB}/jobmeta.json": content}, tmp_path)["rejects"]
    assert rejects.select("message", "is_whole_file").rows() == [
        ("nothing is read from the key 'los'; did you mean `loss`?", False),
        ("nothing is read from the key 'mtu'; did you mean `MTU`?", False),
    ]


@pytest.mark.parametrize("text", ["1.2.3", ".", "1..", "abc"])
def test_what_is_not_a_loss_is_said_in_words_of_our_own(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a loss in percent such as 0\.001$"):
        parse_loss(text)


@pytest.mark.parametrize(
    ("command", "cc"),
    [
        ("iperf3 -c h -P 16 -C bbr2", "bbr2"),
        ("pscheduler task throughput --congestion=bbr2 --parallel 16", "bbr2"),
        ("iperf3 -c h --congestion cubic", "cubic"),
        ("/usr/sbin/sysctl -w net.ipv4.tcp_congestion_control=bbr2", "bbr2"),
        ("iperf3 -c h", None),
    ],
)
def test_the_algorithm_of_a_command(command: str, cc: str | None) -> None:
    assert find_congestion(command) == cc


@given(st.text())
def test_a_loss_is_a_percentage_or_an_error(text: str) -> None:
    try:
        percent, _ = parse_loss(text)
    except ValueError:
        return
    assert 0 <= percent <= 100


def test_hosts(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"{JOB}/jobmeta.json": "{}",
        f"{JOB}/cern.example.net-meta.json": json.dumps({"hostname": "10.0.0.4", "alias": "cern", "rtt": 87}),
        f"{JOB}/near.example.net-meta.json": json.dumps({"hostname": "10.0.0.5", "rtt": 0}),
        f"{JOB}/odd.example.net-meta.json": json.dumps({"hostname": 5, "rtt": "x"}),
    }
    tables = ingest(files, tmp_path)
    assert tables["hosts"].select("host", "host_address", "rtt_ping_ms").rows() == [
        ("cern.example.net", "10.0.0.4", 87.0),
        ("near.example.net", "10.0.0.5", None),  # 0 is a failed or sub-millisecond ping
        ("odd.example.net", None, None),
    ]
    assert tables["rejects"]["reason"].to_list() == ["bad_metadata"]


def test_a_job_without_metadata_says_so_once(tmp_path: Path) -> None:
    rejects = ingest({f"{JOB}/src-cmd:h:1": iperf3_json()}, tmp_path)["rejects"]
    assert rejects.select("reason", "is_whole_file").rows() == [("no_metadata", False)]
    assert "copy the file from the harness's output" in rejects["message"][0]


def test_files_of_other_names_are_not_said_to_lack_what_the_harness_writes(tmp_path: Path) -> None:
    rejects = ingest({"mine/result.json": iperf3_json()}, tmp_path)["rejects"]
    assert rejects.select("reason", "is_whole_file").rows() == [("no_metadata", False)]
    assert "say it in a layout.yaml" in rejects["message"][0]
    assert "harness" not in rejects["message"][0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [("", "empty"), ("{", "not_json"), ("[1]", "unexpected_structure"), ("[" * 99999, "not_json")],
)
def test_broken_metadata_is_rejected(content: str, reason: str, tmp_path: Path) -> None:
    rejects = ingest({f"{JOB}/jobmeta.json": content}, tmp_path)["rejects"]
    assert rejects.select("reason", "is_whole_file").rows() == [(reason, True)]


def test_recorded_qdiscs() -> None:
    text = (
        "setting loss to 1\n"
        "qdisc noqueue 0: dev lo root refcnt 2 \n"
        " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n"
        "qdisc netem 80f3: dev r0 root refcnt 2 limit 200000 delay 5ms\n"
        "qdisc netem 80f2: dev r1 root refcnt 2 limit 10000 delay 2.5ms  1ms loss 0.00100001%\n"
        "qdisc tbf 10: dev r1 parent 1:1 rate 50Mbit burst 32Kb lat 14.8ms \n"
        "qdisc netem 1: dev r2 root refcnt 2 limit 1000 delay 100us loss gemodel p 1% r 3% 1-h 100% 1-k 0%\n"
        "qdisc netem 1: dev c1 root refcnt 2 limit 1000 delay 1ms loss gemodel p 1% r 3% 1-h 50% 1-k 2%\n"
        "qdisc netem 1: dev c2 root refcnt 2 limit 10000 delay 20ms  2ms reorder 1% gap 1\n"
        "qdisc red 10: dev r0 parent 1:1 limit 250000b min 41666b max 125000b ecn \n"
        "qdisc fq_codel 10: dev r0 parent 1:1 limit 166p flows 1024 quantum 1514 target 5ms interval 100ms ecn \n"
        "qdisc cake 1: dev r0 root refcnt 2 bandwidth 50Mbit besteffort rtt 100ms raw memlimit 382464b \n"
        "qdisc netem 1: dev c3 root refcnt 2 limit 9 delay 1ms loss gemodel p 0.002% r 20% 1-h 100% 1-k 0%\n"
        "qdisc netem 1: dev c4 root refcnt 2 limit 9 delay 1ms loss 9.98843e-06%\n"
        "qdisc tbf 8001: root refcnt 2 rate 50Mbit burst 32Kb lat 34.8ms \n"
        "qdisc netem 8002: parent 8001:1 limit 1000 delay 10ms loss 0.1%\n"
    )
    columns = (
        "line_number",
        "device",
        "qdisc",
        "delay_ms",
        "delay_jitter_ms",
        "loss_pct",
        "limit_packets_count",
        "rate_bps",
    )
    assert [tuple(row[column] for column in columns) for row in parse_qdiscs(text)] == [
        (2, "lo", "noqueue", None, None, None, None, None),
        (4, "r0", "netem", 5.0, None, 0.0, 200000, None),
        (5, "r1", "netem", 2.5, 1.0, 0.001, 10000, None),
        (6, "r1", "tbf", None, None, None, None, 50e6),
        (7, "r2", "netem", 0.1, None, 25.0, 1000, None),  # Gilbert–Elliott: p / (p + r) = 1 / 4
        (8, "c1", "netem", 1.0, None, 14.0, 1000, None),  # (1 · 50 + 3 · 2) / 4
        (9, "c2", "netem", 20.0, 2.0, 0.0, 10000, None),
        (10, "r0", "red", None, None, None, None, None),
        (11, "r0", "fq_codel", None, None, None, 166, None),
        (12, "r0", "cake", None, None, None, None, 50e6),
        (13, "c3", "netem", 1.0, None, 0.01, 9, None),  # 0.2 / 20.002 is 0.009999, which means 0.01
        (14, "c4", "netem", 1.0, None, 0.00001, 9, None),  # 429 / (2³² - 1)
        # Of a single device, tc leaves out its name.
        (15, None, "tbf", None, None, None, None, 50e6),
        (16, None, "netem", 10.0, None, 0.1, 1000, None),
    ]
    models = {row["line_number"]: row["loss_model"] for row in parse_qdiscs(text) if row["loss_model"]}
    assert models == {7: "gemodel", 8: "gemodel", 13: "gemodel"}


@pytest.mark.parametrize(
    ("printed", "model"),
    [("0.1%", None), ("random 0.1%", None), ("0.1% 25%", "25%"), ("state p13 1% p31 5%", "state")],
)
def test_losses_that_depend_on_each_other_have_a_model(printed: str, model: str | None) -> None:
    (row,) = parse_qdiscs(f"qdisc netem 1: dev r1 root refcnt 2 limit 9 delay 1ms loss {printed}\n")
    assert row["loss_model"] == model


TBF = "qdisc tbf 1: dev r0 root refcnt 2 rate 50Mbit burst 32Kb lat 34.8ms \n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 50e6 · 0.0348 / 8 + 32 · 1024 = 250,268, of which three digits are known.
        (TBF, (250000, None)),
        ("qdisc tbf 1: dev r0 root refcnt 2 rate 10Mbit burst 3000b lat 800us \n", (4000, None)),
        ("qdisc bfifo 8002: dev lo root refcnt 2 limit 250000b\n", (250000, None)),
        ("qdisc bfifo 8002: dev lo root refcnt 2 limit 256Kb\n", (262144, None)),
        ("qdisc pfifo 8003: dev lo root refcnt 2 limit 1000p\n", (None, 1000)),
        # What waits, waits in the discipline below the tbf.
        (TBF + "qdisc bfifo 10: dev r0 parent 1: limit 90000b\n", (90000, None)),
        (TBF + "qdisc pfifo 10: dev r0 parent 1:1 limit 60p\n", (None, 60)),
        (TBF + "qdisc netem 10: dev r0 parent 1:1 limit 1000 delay 10ms\n", (None, None)),
        # Below a netem the tbf has a queue of its own, and those of other devices are not the bottleneck's.
        ("qdisc netem 8: dev r0 root limit 9 delay 1ms\n" + TBF.replace("root", "parent 8:1"), (250000, None)),
        (TBF + TBF.replace("r0", "r1").replace("50M", "90M"), (250000, None)),
        (TBF + "qdisc bfifo 1: dev r1 root limit 90000b\nqdisc pfifo 1: dev r2 root limit 7p\n", (250000, None)),
        # Two of one rate with different queues: nothing says which counts.
        (TBF + TBF.replace("r0", "r1").replace("34.8", "90"), (None, None)),
        ("qdisc fq_codel 0: dev e0 root refcnt 2 limit 10240p flows 1024 memory_limit 32Mb ecn\n", (None, None)),
    ],
)
def test_the_buffer_is_that_of_the_slowest_shaper(text: str, expected: tuple[int | None, int | None]) -> None:
    assert find_buffer(parse_qdiscs(text)) == expected


@pytest.mark.parametrize("declared", [0.001, 0.005, 0.0001, 0.00005, 0.000003, 0.1, 12.345, 99.9, 100.0])
def test_a_loss_is_the_one_that_was_declared(declared: float) -> None:
    # As netem rounds and tc prints it.
    printed = f"{round(declared / 100 * (2**32 - 1)) * 100 / (2**32 - 1):.6g}"
    rows = parse_qdiscs(f"qdisc netem 1: dev r1 root refcnt 2 limit 9 delay 1ms loss {printed}%\n")
    assert rows[0]["loss_pct"] == declared


@given(st.text())
def test_no_text_of_qdiscs_is_an_error_of_another_kind(text: str) -> None:
    with pytest.raises(RawFileError):
        parse_qdiscs("nothing " + text.replace("qdisc", ""))


def test_result_rows(tmp_path: Path) -> None:
    rows = [
        ["far.example.org", "both", 16, "cubic", 4.7, "0.00011604", 341, 13],
        ["far.example.org", "both", 16, "bbr2", 4.083, "0.00007878", 328, 13.5],
        ["short", "row"],
        ["far.example.org", "both", 16, "bbr2", -1, "0", 0, 13],
    ]
    tables = ingest({"20210802_bost_10g.dat": json.dumps(rows)}, tmp_path)
    columns = ("row_number", "host", "mode", "flows_count", "cc", "throughput_bps", "retransmit_ratio", "rtt_median_ms")
    assert tables["harness_results"].select(columns).rows() == [
        (0, "far.example.org", "both", 16, "cubic", 4.7e9, 0.00011604, 13.0),
        (1, "far.example.org", "both", 16, "bbr2", 4.083e9, 0.00007878, 13.5),
    ]
    assert tables["harness_results"]["path"].unique().to_list() == ["20210802_bost_10g.dat"]
    assert tables["rejects"]["reason"].to_list() == ["malformed_record"] * 2
    assert tables["rejects"]["message"][0].startswith("result row 2: ")


@pytest.mark.skipif(not (SHARED / "results").exists(), reason="the harness's own result files are not here")
def test_real_result_rows(tmp_path: Path) -> None:
    content = (SHARED / "results/20210802_bost_10g.dat").read_bytes()
    tables = ingest({"20210802_bost_10g.dat": content}, tmp_path)
    assert tables["harness_results"].height == len(json.loads(content))
    assert tables["rejects"].is_empty()
