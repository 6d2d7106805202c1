import contextlib
import json
import re
from pathlib import Path

import polars as pl
import pytest
from archives import CONFORMANCE, JOB, SHARED, iperf3_json, list_one, write_archive
from hypothesis import given
from hypothesis import strategies as st
from readings import read_files

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.mpstat.reader import parse_samples


def ingest(files: dict[str, str | bytes], tmp_path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    # Loads are those of a run, which a tool's result makes.
    listed = {f"{JOB}/{name}": content for name, content in files.items()} | {f"{JOB}/src-cmd:h:1": iperf3_json()}
    archive = write_archive(tmp_path / "raw", listed)
    tables = read_files("mpstat", list_one(archive, tmp_path / "w"), archive, tmp_path)
    return tables["cpu_samples"], tables["rejects"]


@pytest.mark.parametrize(
    ("fixture", "cpus", "samples", "first_usr"),
    [
        ("mpstat_ALL.json", {"all", "0", "1"}, 2, 15.66),
        ("mpstat_P0.json", {"0"}, 2, 3.96),
        ("mpstat_noP.json", {"all"}, 1, None),
        ("mpstat_int.json", {"all", "0", "1"}, 2, 13.99),
    ],
)
def test_real_outputs(fixture: str, cpus: set[str], samples: int, first_usr: float | None, tmp_path: Path) -> None:
    content = (CONFORMANCE / "mpstat" / fixture).read_text()
    rows, rejects = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    expected = json.loads(content)["sysstat"]["hosts"][0]["statistics"]
    assert len(expected) == samples
    assert rows["sample_number"].n_unique() == len(expected)
    assert set(rows["cpu"]) == cpus
    assert rows["cpu_usr_pct"].sum() == pytest.approx(sum(row["usr"] for s in expected for row in s["cpu-load"]))
    if first_usr is not None:
        assert first_usr in rows.filter(pl.col("sample_number") == 0)["cpu_usr_pct"].to_list()
    assert rejects.is_empty()


def test_a_killed_mpstat_keeps_its_whole_samples(tmp_path: Path) -> None:
    rows, rejects = ingest(
        {"mpstat-receiver:h:1.json": (CONFORMANCE / "mpstat/mpstat_kill.json").read_text()}, tmp_path
    )
    assert set(rows["side"]) == {"receiver"}
    assert rows["sample_number"].n_unique() >= 1
    assert rejects["reason"].to_list() == ["repaired"]
    assert rejects["is_whole_file"].to_list() == [False]
    assert re.search(r"; \d+ whole samples? kept", rejects["message"][0])


def sample(**load: object) -> str:
    return json.dumps({"timestamp": "01:00:00", "cpu-load": [{"cpu": "-1", "usr": 1.5, "idle": 98.5} | load]})


def test_old_quirks() -> None:
    text = '{"sysstat": {"hosts": [{"statistics": [' + sample() + "," + sample() + ",]}]}}"
    samples = parse_samples(text)
    assert (len(samples.elements), samples.cut_at) == (2, None)  # a trailing comma is not a sample
    samples = parse_samples(text.replace("1.5", "1,50").replace("98.5", "98,50"))
    assert samples.cut_at is None
    assert samples.elements[0]["cpu-load"][0]["usr"] == 1.5  # decimal commas


def test_the_mean_over_all_cpus_has_one_name(tmp_path: Path) -> None:
    content = '{"sysstat": {"hosts": [{"statistics": [' + sample() + "]}]}}"
    rows, _ = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert rows["cpu"].to_list() == ["all"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        ("Linux 5.4 (host)\n10:00:00 AM  CPU    %usr   %nice\n", "no_measurement"),
        ('{"sysstat": {"hosts": []}}', "no_measurement"),
        ("garbage", "not_json"),
        ('{"sysstat": {"hosts": [{"statistics": [{"node-load": []}]}]}}', "no_measurement"),
    ],
)
def test_what_holds_no_sample_is_rejected(content: str, reason: str, tmp_path: Path) -> None:
    rows, rejects = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert rows.is_empty()
    assert rejects.select("reason", "is_whole_file").rows() == [(reason, True)]


def test_values_out_of_bounds_are_null(tmp_path: Path) -> None:
    text = '{"sysstat": {"hosts": [{"statistics": [' + sample(usr=-5, sys="x", soft=1e400) + "]}]}}"
    rows, _ = ingest({"mpstat-sender:h:1.json": text}, tmp_path)
    assert rows.select("cpu_usr_pct", "cpu_sys_pct", "cpu_soft_pct", "cpu_idle_pct").rows() == [
        (None, None, None, 98.5)
    ]


def document(*samples: str, host: str = "h1") -> str:
    return f'{{"sysstat": {{"hosts": [{{"nodename": "{host}", "statistics": [{",".join(samples)}]}}]}}}}\n'


def loads(*cpus: str, idle: str = "60.00") -> str:
    rows = [f'{{"cpu": "{cpu}", "usr": 40.00, "sys": 0.00, "idle": {idle}}}' for cpu in cpus]
    return '{"timestamp": "10:00:01", "cpu-load": [' + ",\n".join(rows) + "]}"


def test_a_processor_that_is_offline_has_no_load(tmp_path: Path) -> None:
    offline = '{"cpu": "1", "usr": 0.00, "nice": 0.00, "sys": 0.00, "iowait": 0.00, "idle": 0.00}'
    content = document(loads("all", "0").replace("]}", f", {offline}]}}"))
    rows, rejects = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert rows.select("cpu", "cpu_idle_pct").rows() == [("0", 60.0), ("all", 60.0)]
    assert rejects.is_empty()


def test_the_commas_of_a_processor_that_is_offline(tmp_path: Path) -> None:
    content = document(loads("all", "0", "2"), loads("all", "0", "2")).replace(',\n{"cpu": "2"', ',\n,\n{"cpu": "2"')
    rows, rejects = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert rows["cpu"].to_list() == ["0", "2", "all"] * 2
    assert rejects.select("reason", "is_whole_file").rows() == [("repaired", False)]
    assert "sysstat 216" in rejects["message"][0]


def test_loads_without_the_beginning_of_their_sample(tmp_path: Path) -> None:
    sample = loads("all", "0", "1").partition("[")[2].rpartition("]")[0]
    content = document(sample, sample, sample)
    rows, rejects = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert rows.group_by("sample_number").len().sort("sample_number").rows() == [(0, 3), (1, 3), (2, 3)]
    assert "sysstat 216" in rejects["message"][0]


def test_mpstat_that_was_started_twice(tmp_path: Path) -> None:
    content = document(loads("all", "0"), loads("all", "0")) + document(loads("all", "0"))
    rows, rejects = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert sorted(rows["sample_number"].to_list()) == [0, 0, 1, 1, 2, 2]
    assert rejects["message"].to_list() == ["document 2 of the file: mpstat was started again; its samples follow"]
    rows, rejects = ingest({"mpstat-sender:h:1.json": content + document(loads("0"), host="h2")}, tmp_path)
    assert (rows.height, "another host, h2" in rejects["message"][1]) == (6, True)


def test_nobody_who_recorded_json_is_told_to(tmp_path: Path) -> None:
    cut = document(loads("all", "0"))[:120]
    rows, rejects = ingest({"mpstat-sender:h:1.json": cut}, tmp_path)
    assert rows.is_empty()
    assert "stopped within its first sample" in rejects["message"][0]


TEXT = """Linux 6.8.0 (h1) \t11/20/26 \t_x86_64_\t(2 CPU)

09:41:55 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
09:41:56 PM  all   20,00    0,00    5,00    0,00    0,00    0,50    0,00    0,00    0,00   74,50
09:41:56 PM    0   40,00    0,00   10,00    0,00    0,00    1,00    0,00    0,00    0,00   49,00
09:41:56 PM    1    0,00    0,00    0,00    0,00    0,00    0,00    0,00    0,00    0,00    0,00

09:41:56 PM NODE    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
09:41:57 PM    0    9,00    0,00    5,00    0,00    0,00    0,50    0,00    0,00    0,00   74,50

09:41:56 PM  CPU    intr/s
09:41:57 PM  all   1000,00

09:41:56 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
09:41:57 PM  all   30,00    0,00    5,00    0,00    0,00    0,50    0,00    0,00    0,00   64,50
09:41:57 PM    0   60,00    0,00   10,00    0,00    0,00    1,00    0,00    0,00    0,00   29,00

Average:     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
Average:     all   25,00    0,00    5,00    0,00    0,00    0,50    0,00    0,00    0,00   69,50
"""


def test_text_with_decimal_commas_and_a_clock_of_12_hours(tmp_path: Path) -> None:
    rows, rejects = ingest({"mpstat-sender:h:1": TEXT}, tmp_path)
    assert rejects.is_empty()
    columns = ("sample_number", "time", "cpu", "cpu_usr_pct", "cpu_soft_pct", "cpu_idle_pct")
    assert sorted(rows.select(columns).rows()) == [
        (0, "09:41:56 PM", "0", 40.0, 1.0, 49.0),
        (0, "09:41:56 PM", "all", 20.0, 0.5, 74.5),
        (1, "09:41:57 PM", "0", 60.0, 1.0, 29.0),
        (1, "09:41:57 PM", "all", 30.0, 0.5, 64.5),
    ]


def test_text_of_one_processor_and_of_several_reports(tmp_path: Path) -> None:
    # mpstat 1 prints its header once; sysstat 9 has %user and intr/s; columns of -T stand between.
    report = (
        "Linux 3.10.0 (h1)\t03/11/2022\t_x86_64_\t(1 CPU)\n\n21:41:55     CPU CORE   %user   %sys   %idle    intr/s\n"
        "21:41:56     all    -     1.00    2.00   97.00     100.00\n"
        "21:41:57     all    -     3.00    4.00   93.00     99.00\n"
    )
    other = report.replace("(h1)", "(h2)")
    rows, rejects = ingest({"mpstat-sender:h:1": report + report + other + "21:41:58     all"}, tmp_path)
    assert rows["cpu_usr_pct"].to_list() == [1.0, 3.0, 1.0, 3.0]
    assert rows["sample_number"].to_list() == [0, 1, 2, 3]
    assert rejects["reason"].to_list() == ["repaired", "repaired"]
    assert "another host, h2" in " ".join(rejects["message"])


@given(st.one_of(st.text(), st.text().map(lambda text: '{"sysstat": {"hosts": [{"statistics": [' + text)))
def test_no_text_raises_anything_but_a_raw_file_error(text: str) -> None:
    with contextlib.suppress(RawFileError):
        assert all(isinstance(sample, dict) for sample in parse_samples(text).elements)


@pytest.mark.skipif(not (SHARED / "corpus/mpstat").exists(), reason="the corpus of other people's files is not here")
@pytest.mark.parametrize(
    ("name", "reason", "samples"),
    [
        ("pkb__mpstat_output.json", None, 2),
        ("lkp-tests__mpstat_3.json", "no_measurement", 0),  # node loads only, cut
        ("pbench__mpstat.txt", None, 21),
        ("sysstat__mpstat.txt", None, 1),
        ("jc__centos77_mpstat.txt", None, 1),
        ("sysstat__mpstat-A.txt", None, 4),
        ("sysstat__mpstat-APN.txt", None, 1),
        ("sysstat__mpstat-dec.txt", "no_measurement", 0),  # interrupts only
    ],
)
def test_files_of_other_people(name: str, reason: str | None, samples: int, tmp_path: Path) -> None:
    content = (SHARED / "corpus/mpstat" / name).read_bytes()
    rows, rejects = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert rows["sample_number"].n_unique() == samples
    assert rejects["reason"].to_list() == ([reason] if reason else [])
