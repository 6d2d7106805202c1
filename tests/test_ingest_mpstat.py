import contextlib
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FIXTURES, JOB, SHARED, list_one, write_archive

from ccreport.ingest.mpstat import ingest_mpstat, parse_samples
from ccreport.raw import RawFileError
from ccreport.tables import read_table


def ingest(files: dict[str, str | bytes], tmp_path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    archive = write_archive(tmp_path / "raw", {f"{JOB}/{name}": content for name, content in files.items()})
    cpu_samples, rejects = tmp_path / "cpu_samples.parquet", tmp_path / "rejects.parquet"
    ingest_mpstat(list_one(archive, tmp_path / "w"), archive, cpu_samples, rejects)
    return read_table("cpu_samples", [cpu_samples]), read_table("rejects", [rejects])


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
    content = (FIXTURES / "mpstat" / fixture).read_text()
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
    rows, rejects = ingest({"mpstat-receiver:h:1.json": (FIXTURES / "mpstat/mpstat_kill.json").read_text()}, tmp_path)
    assert set(rows["side"]) == {"receiver"}
    assert rows["sample_number"].n_unique() >= 1
    assert rejects["reason"].to_list() == ["repaired"]
    assert rejects["is_whole_file"].to_list() == [False]
    assert "whole samples were kept" in rejects["message"][0]


def sample(**load: object) -> str:
    return json.dumps({"timestamp": "01:00:00", "cpu-load": [{"cpu": "-1", "usr": 1.5, "idle": 98.5} | load]})


def test_old_quirks() -> None:
    text = '{"sysstat": {"hosts": [{"statistics": [' + sample() + "," + sample() + ",]}]}}"
    samples, end = parse_samples(text)
    assert (len(samples), end) == (2, None)  # a trailing comma is no sample
    samples, end = parse_samples(text.replace("1.5", "1,50").replace("98.5", "98,50"))
    assert end is None
    assert samples[0]["cpu-load"][0]["usr"] == 1.5  # decimal commas


def test_the_mean_over_all_cpus_has_one_name(tmp_path: Path) -> None:
    content = '{"sysstat": {"hosts": [{"statistics": [' + sample() + "]}]}}"
    rows, _ = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert rows["cpu"].to_list() == ["all"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        ("Linux 5.4 (host)\n10:00:00 AM  CPU    %usr   %nice\n", "plain_text"),
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


@given(st.one_of(st.text(), st.text().map(lambda text: '{"sysstat": {"hosts": [{"statistics": [' + text)))
def test_no_text_raises_anything_but_a_raw_file_error(text: str) -> None:
    with contextlib.suppress(RawFileError):
        samples, _ = parse_samples(text)
        assert all(isinstance(sample, dict) for sample in samples)


@pytest.mark.skipif(not (SHARED / "corpus/mpstat").exists(), reason="the corpus of other people's files is not here")
@pytest.mark.parametrize(
    ("name", "reason", "samples"),
    [
        ("pkb__mpstat_output.json", None, 2),
        ("lkp-tests__mpstat_3.json", "no_measurement", 0),  # node loads only, cut
        ("pbench__mpstat.txt", "plain_text", 0),
        ("sysstat__mpstat.txt", "plain_text", 0),
        ("jc__centos77_mpstat.txt", "plain_text", 0),
    ],
)
def test_files_of_other_people(name: str, reason: str | None, samples: int, tmp_path: Path) -> None:
    content = (SHARED / "corpus/mpstat" / name).read_bytes()
    rows, rejects = ingest({"mpstat-sender:h:1.json": content}, tmp_path)
    assert rows["sample_number"].n_unique() == samples
    assert rejects["reason"].to_list() == ([reason] if reason else [])
