import contextlib
import re
from pathlib import Path

import pytest
from archives import FIXTURES, JOB, list_archive, write_archive
from hypothesis import given
from hypothesis import strategies as st
from rpc_inputs import ingest

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.rpc.labels import Labels, read_labels
from ccreport.ingest.rpc.netperf import read_netperf
from ccreport.ingest.rpc.netperf_forms import find_banners
from ccreport.ingest.rpc.netperf_histogram import parse_histogram, summarise_histogram
from ccreport.inventory.formats import recognise_format

NETPERF = FIXTURES / "netperf"
RR = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to h () port 0 AF_INET : demo : first burst 0\n"
STREAM = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h () port 0 AF_INET : demo\n"


def recorded(name: str) -> str:
    return (NETPERF / f"{name}.txt").read_text()


@pytest.mark.parametrize("path", sorted(NETPERF.glob("*.txt")), ids=lambda path: path.stem)
def test_every_recorded_file_is_recognised_by_its_content(path: Path) -> None:
    # Values without labels could be anybody's.
    assert recognise_format(path.read_bytes()) == ("text" if path.stem == "csv_without_labels" else "netperf")


@pytest.mark.parametrize("cc", ["cubic", "bbr"])
def test_every_selector_as_keyval(cc: str, tmp_path: Path) -> None:
    text = recorded(f"rr_1_keyval_{cc}")
    written = dict(line.split("=", 1) for line in text.splitlines()[1:])
    tables = ingest({"a.txt": text}, tmp_path)
    row = tables.test
    assert row["output_form"] == "keyval"
    assert row["transport"] == "TCP"
    assert row["payload_direction"] == "transactions"
    assert (row["cc"], row["cc_local"], row["cc_remote"]) == (cc, cc, cc)
    assert (row["request_bytes"], row["response_bytes"], row["burst_count"]) == (1, 1, 0)
    assert (row["client_host"], row["server_host"]) == (None, "10.77.0.1")
    assert row["transaction_rate_tps"] == float(written["TRANSACTION_RATE"])
    assert row["payload_rate_bps"] is None
    for column, selector in (("min", "MIN"), ("mean", "MEAN"), ("p50", "P50"), ("p99", "P99"), ("max", "MAX")):
        assert row[f"latency_{column}_ms"] == pytest.approx(float(written[f"{selector}_LATENCY"]) / 1000)
    assert row["latency_p999_ms"] is None
    assert row["latency_source"] == "tool"
    assert row["mss_bytes"] == 1448
    assert row["cpu_local_pct"] is None  # -1.00: not asked for
    assert row["command"] == written["COMMAND_LINE"]
    assert tables.reasons == []


def test_csv_and_human_output_say_the_same_as_keyval(tmp_path: Path) -> None:
    rows = {form: ingest({"a": recorded(f"rr_1_{form}_all")}, tmp_path / form).test for form in ("csv", "human")}
    labels, values = recorded("rr_1_csv_all").splitlines()[1:3]
    plain = dict(zip(labels.split(","), values.split(","), strict=False))  # commas stand only in the last value
    assert rows["csv"]["latency_p90_ms"] == float(plain["90th Percentile Latency Microseconds"]) / 1000
    assert rows["csv"]["sent_remote_bytes"] == int(plain["Remote Bytes Sent"])
    assert {name for name, value in rows["csv"].items() if value is not None} == {
        name for name, value in rows["human"].items() if value is not None
    }
    same = ("test_name", "transport", "cc_remote", "request_bytes", "server_host", "mss_bytes", "burst_count")
    assert [rows["human"][name] for name in same] == [rows["csv"][name] for name in same]


def test_human_output_has_four_lines_of_labels_even_where_the_last_are_blank(tmp_path: Path) -> None:
    # netperf pads each line of labels with blanks to the width of its columns, and puts an empty line between blocks.
    text = "OMNI Send|Recv TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n"
    text += "Throughput Throughput \n           Units      \n" + 2 * (22 * " " + "\n") + "941.38     Trans/s    \n\n"
    text += "Minimum      Mean         \nLatency      Latency      \nMicroseconds Microseconds \n" + 26 * " " + "\n"
    text += "85           122.96       \n"
    tables = ingest({"a": text}, tmp_path)
    assert tables.test["transaction_rate_tps"] == 941.38
    assert (tables.test["latency_min_ms"], tables.test["latency_mean_ms"]) == (0.085, pytest.approx(0.12296))
    assert tables.reasons == []


@pytest.mark.parametrize(
    ("banner", "server"), [("TCP STREAM TEST to 10.0.0.2 : histogram", "10.0.0.2"), ("TCP STREAM TEST", None)]
)
def test_a_banner_need_not_name_both_hosts(banner: str, server: str | None, tmp_path: Path) -> None:
    text = f"{banner}\nTHROUGHPUT=5\nTHROUGHPUT_UNITS=10^6bits/s\n"
    test = ingest({"a": text}, tmp_path).test
    assert (test["test_name"], test["client_host"], test["server_host"]) == ("TCP_STREAM", None, server)
    assert test["payload_rate_bps"] == 5e6


def test_a_line_that_repeats_the_word_of_a_banner_is_read_in_one_pass() -> None:
    # Looking for the start of the line at each of 400,000 words would take minutes.
    text = "MIGRATED TCP STREAM TEST from a TEST " * 200_000
    assert list(find_banners(text)) == []
    assert [found["name"] for found in find_banners(f"{text}\nTCP STREAM TEST to b\n")] == ["TCP STREAM"]


def test_the_algorithm_of_a_test_is_that_of_the_side_that_sends_more(tmp_path: Path) -> None:
    text = "THROUGHPUT=5\nTHROUGHPUT_UNITS=Trans/s\nDIRECTION=Send|Recv\nREQUEST_SIZE={}\nRESPONSE_SIZE={}\n"
    text += "LOCAL_CONG_CONTROL=cubic\nREMOTE_CONG_CONTROL=bbr\n"
    assert ingest({"a": text.format(128, 16384)}, tmp_path / "1").test["cc"] == "bbr"
    assert ingest({"a": text.format(16384, 128)}, tmp_path / "2").test["cc"] == "cubic"


def test_interim_results_are_samples(tmp_path: Path) -> None:
    tables = ingest({"a": recorded("stream_keyval_cubic")}, tmp_path)
    written = re.findall(r"INTERIM_RESULT\[\d+\]=(.*)", recorded("stream_keyval_cubic"))
    assert tables.samples["sampled_value"].to_list() == [pytest.approx(float(value) * 1e6) for value in written]
    assert set(tables.samples["value_unit"]) == {"bit/s"}
    # NETPERF_ENDING[0]=1795249067.020 after NETPERF_INTERVAL[0]=0.318: the test began at …066.702.
    assert tables.samples["sampled_s"][:2].to_list() == [pytest.approx(0.318), pytest.approx(0.522)]
    assert tables.test["payload_rate_bps"] == pytest.approx(191.76e6)


@pytest.mark.parametrize("name", ["rr_burst_csv", "rr_no_banner", "stream_classic_interim"])
def test_interim_results_of_every_form(name: str, tmp_path: Path) -> None:
    tables = ingest({"a": recorded(name)}, tmp_path)
    assert tables.reasons == []
    assert tables.samples.height >= 1
    rate = tables.test["payload_rate_bps"] or tables.test["transaction_rate_tps"]
    assert tables.samples["sampled_value"].mean() == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize(
    ("name", "test", "direction", "has_bits"),
    [
        ("stream_classic", "TCP_STREAM", "send", True),
        ("maerts_classic", "TCP_MAERTS", "receive", True),
        ("udp_stream_classic", "UDP_STREAM", "send", True),
        ("rr_classic", "TCP_RR", "transactions", False),
        ("rr_classic_cpu", "TCP_RR", "transactions", False),
        ("crr_classic", "TCP_CRR", "transactions", False),
        ("udp_rr_classic", "UDP_RR", "transactions", False),
    ],
)
def test_fixed_columns(name: str, test: str, direction: str, has_bits: bool, tmp_path: Path) -> None:
    tables = ingest({"a": recorded(name)}, tmp_path)
    row = tables.test
    assert (row["output_form"], row["test_name"], row["payload_direction"]) == ("classic", test, direction)
    assert (row["payload_rate_bps"] is not None, row["transaction_rate_tps"] is not None) == (has_bits, not has_bits)
    assert row["latency_source"] == (None if has_bits else "rate")
    assert tables.reasons == []


def test_numbers_of_the_fixed_columns(tmp_path: Path) -> None:
    text = STREAM + (
        "Recv   Send    Send                          \nSocket Socket  Message  Elapsed              \n"
        "Size   Size    Size     Time     Throughput  \nbytes  bytes   bytes    secs.    MBytes/sec  \n\n"
        "131072  16384  65536    2.50       10.00   \n"
    )
    row = ingest({"a": text}, tmp_path).test
    # 10 MBytes/s of 2^20 bytes: 10 × 8 × 1048576 bit/s.
    assert (row["send_bytes"], row["elapsed_s"], row["payload_rate_bps"]) == (65536, 2.5, 83886080.0)


def test_of_datagrams_only_those_that_arrived_count(tmp_path: Path) -> None:
    text = recorded("udp_stream_classic").replace("17473            195.69", "10000            112.00")
    assert ingest({"a": text}, tmp_path).test["payload_rate_bps"] == 112e6


def test_a_mean_from_the_rate_counts_what_is_in_flight(tmp_path: Path) -> None:
    text = RR.replace("burst 0", "burst 4") + "THROUGHPUT=1000.00\nTHROUGHPUT_UNITS=Trans/s\n"
    row = ingest({"a": text}, tmp_path).test
    # 5 in flight, 1000 of them done per second: 5 ms each.
    assert (row["latency_mean_ms"], row["latency_source"]) == (5.0, "rate")


@pytest.mark.parametrize(
    ("unit", "bits"), [("10^3bits/s", 1e3), ("10^9bits/s", 1e9), ("KBytes/s", 8192.0), ("GBytes/s", 8589934592.0)]
)
def test_units(unit: str, bits: float, tmp_path: Path) -> None:
    text = f"THROUGHPUT=2.00\nTHROUGHPUT_UNITS={unit}\nDIRECTION=Recv\n"
    row = ingest({"a": text}, tmp_path).test
    assert (row["payload_rate_bps"], row["payload_direction"]) == (2 * bits, "receive")


def test_several_tests_in_one_file(tmp_path: Path) -> None:
    one = "THROUGHPUT={}\nTHROUGHPUT_UNITS=Trans/s\n"
    with_banners = RR + one.format(1) + RR + one.format(2)
    assert ingest({"a": with_banners}, tmp_path / "1").tests["transaction_rate_tps"].to_list() == [1.0, 2.0]
    without = one.format(1) + one.format(2) + one.format(3)
    assert ingest({"a": without}, tmp_path / "2").tests["transaction_rate_tps"].to_list() == [1.0, 2.0, 3.0]
    csv = "Throughput,Throughput Units\n1,Trans/s\n2,Trans/s\n"
    assert ingest({"a": csv}, tmp_path / "3").tests["test_number"].to_list() == [0, 1]


def test_long_csv_says_the_same_as_its_lines(tmp_path: Path) -> None:
    labels = "Throughput,Throughput Units,Result Tag,Command Line\n"
    lines = [f'{number}.5,Trans/s, rep {number},"netperf -r 1,1 -t TCP_RR"\n' for number in range(400)]
    long = ingest({"a": RR + labels + "".join(lines)}, tmp_path / "long")
    # A text in quotes with quotes in it is not plain, so all lines are read singly.
    odd = ingest({"a": RR + labels + "".join(lines) + '1,Trans/s,,"say "x", y"\n'}, tmp_path / "odd")
    names = [name for name in long.tests.columns if name not in ("run_id", "raw_file_id", "repetition_id")]
    assert odd.tests[:400].select(names).equals(long.tests.select(names))
    assert long.tests["test_label"][399] == "rep 399"
    assert long.tests["transaction_rate_tps"][399] == 399.5
    assert long.reasons == odd.reasons[:0]


def test_long_csv_with_a_line_too_short(tmp_path: Path) -> None:
    text = "Throughput,Throughput Units\n" + "1,Trans/s\n" * 300 + "1\n" + "x,Trans/s\n"
    tables = ingest({"a": text}, tmp_path)
    assert tables.tests.height == 301
    assert tables.rejects["message"].to_list() == [
        "1 values under 2 labels: 1 (and 2 more like it)"  # x is not a number, and its rate is lost
    ]


def test_many_interim_results_are_read_as_few(tmp_path: Path) -> None:
    step = "NETPERF_INTERIM_RESULT[{0}]={0}.50\nNETPERF_UNITS[{0}]=10^6bits/s\n"
    step += "NETPERF_INTERVAL[{0}]=0.250\nNETPERF_ENDING[{0}]=17.250\n"
    result = "THROUGHPUT=1\nTHROUGHPUT_UNITS=10^6bits/s\n"
    steps = [step.format(number) for number in range(100)]
    many = ingest({"a": "".join(steps) + result}, tmp_path / "many")
    # Without the four lines' fixed order they are searched for one by one.
    odd = ingest({"a": "".join(steps) + "X=1\n" + step.format(100) + result}, tmp_path / "odd")
    assert many.samples["sampled_value"].to_list() == [(number + 0.5) * 1e6 for number in range(100)]
    assert odd.samples["sampled_value"][:100].equals(many.samples["sampled_value"])
    assert odd.samples.height == 101
    assert many.reasons == []


def test_a_malformed_value_is_told_of_its_file_and_line(tmp_path: Path) -> None:
    good = "THROUGHPUT=1\nTHROUGHPUT_UNITS=Trans/s\n"
    tables = ingest({"netperf:h:1": good, "netperf:h:2": RR + good + RR + good + "MIN_LATENCY=x\n"}, tmp_path)
    (reject,) = tables.rejects.iter_rows(named=True)
    assert reject["path"].endswith("netperf:h:2")
    # Three lines of the first test with its banner.
    assert (reject["line_number"], reject["message"]) == (4, "MIN_LATENCY is not a value of netperf: x")


HISTOGRAM = """Histogram of request/response times
UNIT_USEC     :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
TEN_USEC      :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
HUNDRED_USEC  :    0:   80:   10:    0:    0:    0:    0:    0:    0:    0
UNIT_MSEC     :    0:    9:    0:    0:    0:    0:    0:    0:    0:    0
TEN_MSEC      :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
HUNDRED_MSEC  :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
UNIT_SEC      :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
TEN_SEC       :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
>100_SECS: 1
HIST_TOTAL:      100
"""


def test_histograms(tmp_path: Path) -> None:
    tables = ingest({"a": recorded("rr_classic").rstrip() + "\n" + HISTOGRAM}, tmp_path)
    edges = tables.histograms.select("latency_from_ms", "latency_to_ms", "transactions_count").rows()
    assert edges == [(0.1, 0.2, 80), (0.2, 0.3, 10), (1.0, 2.0, 9), (100000.0, None, 1)]
    row = tables.test
    # Of 100 the 50th is in 0.1–0.2, the 90th in 0.2–0.3, the 99th in 1–2 ms, and the last beyond all buckets.
    assert [row[f"latency_{name}_ms"] for name in ("p50", "p90", "p99", "p999")] == [0.2, 0.3, 2.0, None]
    assert (row["latency_source"], row["latency_values_count"]) == ("histogram", 100)
    assert tables.reasons == []


def test_a_histogram_of_finer_buckets() -> None:
    lines = [
        line.replace(":    0" * 10, ":0" * 20).replace(":    0:   80:   10", ":0:80:10")
        for line in HISTOGRAM.splitlines()
    ]
    lines[3] = "HUNDRED_USEC :0:0:0:80" + ":0" * 16
    lines[4] = "UNIT_MSEC :" + "0:" * 20
    # 20 buckets in 1 ms: the fourth is 0.15 to 0.2 ms.
    buckets = parse_histogram([line for line in lines[1:] if not line.startswith("HIST_TOTAL")])
    assert (buckets[0].from_ms, buckets[0].to_ms, buckets[0].count) == (
        pytest.approx(0.15),
        pytest.approx(0.2),
        80,
    )
    assert summarise_histogram([]) == {}


@pytest.mark.parametrize(
    "broken",
    [
        HISTOGRAM.replace("HIST_TOTAL:      100", "HIST_TOTAL:      101"),
        HISTOGRAM.replace("UNIT_SEC ", "UNIT_SET "),
        HISTOGRAM.replace(":   80:", ":   8x:"),
        HISTOGRAM.replace(">100_SECS: 1\n", ""),
    ],
)
def test_a_broken_histogram_is_left_out(broken: str, tmp_path: Path) -> None:
    tables = ingest({"a": recorded("rr_classic").rstrip() + "\n" + broken}, tmp_path)
    assert tables.histograms.is_empty()
    assert tables.test["latency_source"] == "rate"
    assert ("malformed_record", False) in tables.reasons


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        (RR + "\0", "not_text"),
        (RR, "truncated_text"),
        (recorded("no_server"), "error_only"),
        (recorded("csv_without_labels"), "no_measurement"),
        ("ELAPSED_TIME=1.00\n", "no_measurement"),
        (RR + "Throughput,Throughput Units\n", "no_measurement"),
        (RR + "Throughput,Throughput Units\n1\n", "malformed_record"),
        ("garbage", "no_measurement"),
        ("  Size\nx\nx\nx\n1\n", "no_measurement"),  # lines of labels in which no column begins
    ],
)
def test_what_holds_no_result_is_rejected(content: str, reason: str, tmp_path: Path) -> None:
    tables = ingest({"netperf:10.0.0.2:1": content}, tmp_path)
    assert tables.tests.is_empty()
    assert tables.reasons == [(reason, True)]


@pytest.mark.parametrize(
    ("line", "column"),
    [("P99_LATENCY=1e", "latency_p99_ms"), ("REQUEST_SIZE=0x10", "request_bytes"), ("ELAPSED_TIME=1,5", "elapsed_s")],
)
def test_a_value_that_is_no_number_is_null_and_told(line: str, column: str, tmp_path: Path) -> None:
    tables = ingest({"a": f"THROUGHPUT=1\nTHROUGHPUT_UNITS=Trans/s\n{line}\n"}, tmp_path)
    assert tables.test[column] is None
    assert tables.reasons == [("malformed_record", False)]
    assert line.partition("=")[0] in tables.rejects["message"][0]


@pytest.mark.parametrize("value", ["-1", "-nan", "nan", "inf", "", "Deprecated", "1e99", "-1.000"])
def test_what_netperf_does_not_know_is_null(value: str, tmp_path: Path) -> None:
    text = f"THROUGHPUT=1\nTHROUGHPUT_UNITS=Trans/s\nTRANSPORT_MSS={value}\nLOCAL_CPU_UTIL={value}\n"
    tables = ingest({"a": text}, tmp_path)
    assert (tables.test["mss_bytes"], tables.test["cpu_local_pct"]) == (None, None)
    assert tables.reasons == []


def test_a_rate_without_a_known_unit_is_told(tmp_path: Path) -> None:
    tables = ingest({"a": "THROUGHPUT=1.00\nELAPSED_TIME=1\n"}, tmp_path)
    assert tables.test["payload_rate_bps"] is None
    assert tables.reasons == [("malformed_record", False)]


def test_a_stopped_test_keeps_its_interim_results(tmp_path: Path) -> None:
    text = recorded("stream_keyval_cubic").partition("THROUGHPUT=")[0]
    tables = ingest({"a": text}, tmp_path)
    assert tables.samples.height == 5
    assert tables.test["payload_rate_bps"] is None
    assert tables.reasons == [("interrupted", False)]


def test_several_clients_of_one_run(tmp_path: Path) -> None:
    text = "THROUGHPUT=1\nTHROUGHPUT_UNITS=Trans/s\n"
    files = {f"{JOB}/netperf:10.0.0.2:1:10.0ms": text, f"{JOB}/netperf-2:10.0.0.2:1:10.0ms": text}
    (manifest,) = list_archive(write_archive(tmp_path / "raw", files), tmp_path / "w").values()
    (run,) = manifest.runs
    assert run.rtt_nominal_ms == 10.0
    assert {(file.run_id, file.client_number) for file in manifest.files} == {(run.run_id, 1), (run.run_id, 2)}


def test_hostile_texts_stand_there_as_one_printable_line(tmp_path: Path) -> None:
    text = (
        "THROUGHPUT=1\nTHROUGHPUT_UNITS=Trans/s\nRESULT_BRAND=<script>\x1b[31m'); DROP TABLE x --\nDEST_ADDR="
        + "a" * 999
    )
    row = ingest({"a": text}, tmp_path).test
    assert row["test_label"] == "<script>\\x1b[31m'); DROP TABLE x --"
    assert len(row["server_host"]) == 200


@given(st.one_of(st.text(), st.text().map(lambda text: RR + text), st.text().map(lambda text: RR + HISTOGRAM + text)))
def test_no_text_raises_anything_but_a_raw_file_error(text: str) -> None:
    with contextlib.suppress(RawFileError):
        read_netperf(text.encode("utf-8", "surrogatepass"))


def test_a_long_line_of_one_kind_takes_no_longer_than_others() -> None:
    for text in ("a " * 200_000, "UNIT_USEC :" + "1 " * 200_000, "1.1," * 200_000, RR[:-1] + "x" * 400_000):
        with contextlib.suppress(RawFileError):
            read_netperf(text.encode())
        recognise_format(text.encode()[:65536])


@pytest.mark.parametrize("name", ["bbr2", "BBR v2", "bbr-v2", "BBRv2", "cc=bbr2"])
def test_an_algorithm_in_a_path_is_the_same_however_it_is_written(name: str) -> None:
    assert read_labels(f"rpc/{name}/load=8/rep=2/client-3.txt") == Labels("bbr2", 8)
