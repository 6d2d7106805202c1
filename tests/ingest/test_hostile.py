"""Archives that mean harm: what they try is refused, rejected or inert, and costs little. See SECURITY.md."""

import gzip
import io
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from archives import ROOT
from fuzz.targets import TARGETS
from hostile.archive import NUMBERS, PWNED, write_hostile

from ccreport.archive.harness_layout import split_name, walk_files
from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.archive.unpack import ArchiveError, unpack_archive
from ccreport.core.text import display_name
from ccreport.core.units import UnitError, parse_rate_bps, parse_time_ms
from ccreport.ingest.harness.qdiscs import parse_qdiscs
from ccreport.ingest.rejects import PARTS_LIMIT, Rejects

MEMORY_BYTES = 3 * 2**30


def write_tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode, format=tarfile.PAX_FORMAT) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_members_that_cannot_be_unpacked_are_left_out(tmp_path: Path) -> None:
    names = ["../out", "/out", "a/../../out", "a\0b", "x" * 300, "d/" * 150 + "x", "file/below", "."]
    archive = write_tar(tmp_path / "a.tar", {"file": b"1", **dict.fromkeys(names, b"out"), "kept/z": b"2"})
    left_out = unpack_archive(archive, tmp_path / "in" / "a")
    # A name ends at a null byte in a tarball's header, but not in the extended one.
    assert set(left_out) >= {"../out", "a/../../out", "x" * 300, "d/" * 150 + "x", "file/below"}
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {
        "a.tar",
        ".a.unpacked.json",
        "file",
        "z",
        "a",
    }
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "in" / "out").exists()
    assert (tmp_path / "in" / "a" / "kept" / "z").read_bytes() == b"2"


def test_folders_deeper_than_functions_can_call_are_listed(tmp_path: Path) -> None:
    depth = sys.getrecursionlimit() + 100
    folder = tmp_path
    # 1,100 folders of one letter are within what Linux takes as a path.
    for _ in range(depth):
        folder /= "d"
        folder.mkdir()
    (folder / "f").write_text("x")
    ((place, _),) = walk_files(tmp_path)
    assert len(place.parts) == depth
    # What pytest removes later calls itself for each folder.
    (folder / "f").unlink()
    while folder != tmp_path:
        folder.rmdir()
        folder = folder.parent


def test_an_archive_that_is_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccreport.archive.unpack.RATIO_FREE_BYTES", 2**20)
    # 20 MB of zeros are 20 kB.
    archive = write_tar(tmp_path / "bomb.tar.gz", {"a": bytes(20_000_000)}, "w:gz")
    with pytest.raises(ArchiveError, match="unpack to more than"):
        unpack_archive(archive, tmp_path / "in" / "bomb")
    assert list((tmp_path / "in").iterdir()) == []


def test_a_file_that_is_a_bomb_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccreport.archive.raw_file.RATIO_FREE_BYTES", 2**20)
    bomb = tmp_path / "bomb"
    bomb.write_bytes(gzip.compress(bytes(20_000_000)))
    with pytest.raises(RawFileError, match="no tool's output shrinks like that") as caught:
        read_whole(bomb)
    assert caught.value.reason == "unpacks_too_large"


def test_of_very_many_faults_of_a_file_some_are_named() -> None:
    file = RawFile("id", "f", "attempts", None, 1, "0", "ingest")
    rejects = Rejects()
    for line in range(PARTS_LIMIT + 7):
        rejects.add(file, "malformed_record", "bad", is_whole_file=False, line=line + 1)
    frame = rejects.frame()
    assert frame.height == PARTS_LIMIT + 1
    assert frame["message"][-1] == "7 more parts of the file could not be used"
    assert frame["part_number"].is_unique().all()


def test_numbers_at_their_limits_are_rejected_or_null() -> None:
    for text in ("9" * 400, f"{'9' * 30}Gbps", "5mſ", "1e999bps"):
        with pytest.raises(UnitError):
            parse_rate_bps(text)
        with pytest.raises(UnitError):
            parse_time_ms(text)
    (row,) = parse_qdiscs("qdisc netem 1: dev r1 delay 5ms loss 1.2.3%")
    assert row["loss_pct"] is None
    assert split_name("src-cmd-99999999999999999999:h:1") is None
    assert display_name("\ud800a\udcff") == "\\ud800a\\xff"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_at_its_limits_stops_no_reader(number: str) -> None:
    # Each target checks what it would write against the schemas.
    TARGETS["results"](f'[["h", "both", {number}, "c\\ud800", {number}, {number}, {number}, {number}]]'.encode())
    sample = f'{{"timestamp": "\\ud800", "cpu-load": [{{"cpu": "\\ud800", "usr": {number}, "idle": 1{"0" * 400}}}]}}'
    TARGETS["mpstat"](f'{{"sysstat": {{"hosts": [{{"statistics": [{sample}]}}]}}}}'.encode())
    TARGETS["host_meta"](f'{{"rtt": {number}, "hostname": "\\ud800", "profile": "\\udfff"}}'.encode())
    TARGETS["jobmeta"](f'{{"lat": {number}, "limit": {number}, "pacing": {number}, "name": "\\ud800"}}'.encode())
    TARGETS["calibration"](f'{{"capacity_bps": {number}, "measurements": [{{"measured": {number}}}]}}'.encode())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hostile(tmp_path_factory.mktemp("hostile") / "hostile.tar")


@pytest.mark.slow
def test_the_hostile_archive_becomes_rows_and_rejects(hostile: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    outside = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    command = [sys.executable, "-m", "hostile.watched", hostile, work]
    done = subprocess.run(
        command,
        cwd=ROOT / "tests",
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests/support")},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)),
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["events"] == []
    assert seen["rejected"] > 40
    assert seen["ingested"] > 50
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir() if path != work} == {
        path: time for path, time in outside.items() if path != work
    }
    # No reader opened the passwd that metadata name.
    assert not any("passwd" in path for path in seen["opened"])
    # One member of that name is a file of the archive.
    assert [path.parent.name for path in tmp_path.rglob(PWNED)] == ["member0"]


def test_every_test_that_the_security_notes_name_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
    for path in re.findall(r"`((?:src|tests)/[\w./]+)`", text):
        assert (ROOT / path).exists(), path
