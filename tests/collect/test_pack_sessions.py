"""Sessions of a collected archive as files: the same bytes from the same files, and only what is finished."""

import json
import os
import shutil
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from archives import ROOT, iperf3_json, list_archive

from ccreport.__main__ import main
from ccreport.archive.unpack import unpack_archive
from ccreport.collect.attempts import read_attempts
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.pack_sessions import pack_sessions
from ccreport.collect.sessions import describe_job, make_session, name_last
from ccreport.core.errors import InputError

DECLARATION = """\
title: Two sessions
defaults: {duration_s: 5, rtt_ms: 20}
sessions:
  - label: alone
    jobs: [{name: cubic, congestion_control: cubic, iterations_count: 2}]
  - label: shared
    jobs: [{name: both, congestion_control: [cubic, bbr], flows_count: 2}]
"""
NOW = datetime(2026, 11, 20, 22, 19, 30, tzinfo=UTC)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return an archive as `collect` leaves it when all runs of both sessions are complete."""
    folder, declaration = tmp_path / "archive", tmp_path / "two.yaml"
    (folder / ".partial").mkdir(parents=True)
    declaration.write_text(DECLARATION)
    plan = plan_campaign(load_campaign(declaration), "two")
    for label in plan.sessions:
        session = make_session(folder, {"campaign": "two", "label": label}, declaration, NOW)
        for job in (job for job in plan.jobs if job.session == label):
            describe_job(session, job, "6.1.0")
        for run in (run for run in plan.runs if run.session == label):
            (session / run.job / name_last(run)).write_text(iperf3_json())
    return folder


def find_session(archive: Path, label: str) -> Path:
    (found,) = (
        path.parent for path in archive.glob("*/session.json") if json.loads(path.read_text())["label"] == label
    )
    return found


def list_members(path: Path) -> list[tarfile.TarInfo]:
    with (
        path.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as packed,
    ):
        return packed.getmembers()


def test_packed_sessions_are_listed_as_the_archive_that_they_are_of(archive: Path, tmp_path: Path) -> None:
    options = ["--archive", str(archive), "--target", str(tmp_path / "sample")]
    assert main(["pack_sessions", *options]) == 0
    assert sorted(path.name for path in (tmp_path / "sample").iterdir()) == ["alone.tar.zst", "shared.tar.zst"]
    assert list_archive(tmp_path / "sample", tmp_path / "w1") == list_archive(archive, tmp_path / "w2")
    facts = [json.loads((tmp_path / work / "archive.json").read_text()) for work in ("w1", "w2")]
    assert facts[0]["sha256"] == facts[1]["sha256"]


def test_the_same_files_give_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    session = find_session(archive, "alone")
    os.utime(session / "session.json", ns=(0, 1_700_000_000_900_000_000))
    pack_sessions(archive, tmp_path / "first")
    # Files made in another order, with another owner's rights.
    other = tmp_path / "other" / session.name
    for path in sorted(session.rglob("*"), reverse=True):
        if path.is_file():
            (other / path.relative_to(session)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, other / path.relative_to(session))
            (other / path.relative_to(session)).chmod(0o600)
    pack_sessions(tmp_path / "other", tmp_path / "again")
    packed = tmp_path / "first/alone.tar.zst"
    assert (tmp_path / "again/alone.tar.zst").read_bytes() == packed.read_bytes()
    members = list_members(packed)
    expected = sorted(str(path.relative_to(session.parent)) for path in session.rglob("*") if path.is_file())
    assert [member.name for member in members] == expected
    assert {(member.uid, member.gid, member.uname, member.mode) for member in members} == {(0, 0, "", 0o644)}
    times = {member.name.rpartition("/")[2]: member.mtime for member in members}
    assert times["session.json"] == 1_700_000_000


def test_a_session_that_lacks_runs_is_refused_and_the_others_are_packed(archive: Path, tmp_path: Path) -> None:
    session = find_session(archive, "alone")
    (missing,) = session.glob("cubic/src-cmd:*:2:*")
    missing.unlink()
    words = rf"not packed: alone .{session.name}.: 1 of 2 runs are missing, the first is alone/cubic/.*:2:20.0ms; "
    with pytest.raises(InputError, match=words):
        pack_sessions(archive, tmp_path / "sample")
    assert [path.name for path in (tmp_path / "sample").iterdir()] == ["shared.tar.zst"]
    pack_sessions(archive, tmp_path / "chosen", ["shared"])
    assert [path.name for path in (tmp_path / "chosen").iterdir()] == ["shared.tar.zst"]


@pytest.mark.parametrize("below", ["", "packed", "new/packed"])
def test_the_archive_itself_takes_no_packed_files(archive: Path, below: str) -> None:
    before = sorted(archive.rglob("*"))
    with pytest.raises(InputError, match=rf"is the archive .*, or in it; write `--target {archive}-packed`$"):
        pack_sessions(archive, archive / below)
    assert sorted(archive.rglob("*")) == before


def test_an_option_given_twice_has_the_values_of_both(archive: Path, tmp_path: Path) -> None:
    options = ["--archive", str(archive), "--target", str(tmp_path), "--session", "alone", "--session", "shared"]
    assert main(["pack_sessions", *options]) == 0
    assert sorted(path.name for path in tmp_path.glob("*.tar.zst")) == ["alone.tar.zst", "shared.tar.zst"]


def test_a_session_of_which_a_run_is_being_made_is_refused(archive: Path, tmp_path: Path) -> None:
    slot = archive / ".partial/slot-1"
    slot.mkdir()
    (slot / "attempt.json").write_text(json.dumps({"session": find_session(archive, "shared").name}))
    with pytest.raises(InputError, match=r"not packed: shared .*a run of it is being made"):
        pack_sessions(archive, tmp_path / "sample")
    assert [path.name for path in (tmp_path / "sample").iterdir()] == ["alone.tar.zst"]


def test_labels_that_name_no_session_or_two_are_refused(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no session both; its sessions are: alone, shared"):
        pack_sessions(archive, tmp_path / "sample", ["both"])
    shutil.copytree(find_session(archive, "alone"), archive / "2026-11-21:00:00")
    with pytest.raises(InputError, match="2026-11-20:22:19 and 2026-11-21:00:00 both have the label alone"):
        pack_sessions(archive, tmp_path / "sample")
    shutil.copytree(archive / "2026-11-21:00:00", archive / "2026-11-21:00:01")
    with pytest.raises(InputError, match=":19, 2026-11-21:00:00 and 2026-11-21:00:01 all have the label alone"):
        pack_sessions(archive, tmp_path / "sample")
    with pytest.raises(InputError, match="no session that `collect` made"):
        pack_sessions(tmp_path, tmp_path / "sample")
    assert not (tmp_path / "sample").exists()


def test_a_folder_that_is_none_or_no_sessions_is_said_to_be_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "quick").mkdir()
    replayed = ["replay_run", "--session", str(tmp_path / "quick"), "--job", "j", "--run", "r", "--into", str(tmp_path)]
    assert main(replayed) == 2
    assert "quick has no session.json; name the folder of a session that `collect` made" in capsys.readouterr().err
    replayed[2] = str(tmp_path / "qick")
    assert main(replayed) == 2
    assert f"does not exist; did you mean `{tmp_path / 'quick'}`?" in capsys.readouterr().err
    # Where a session is packed, in that file, beside it or in a folder of them.
    packed = tmp_path / "packed/quick.tar.zst"
    packed.parent.mkdir()
    packed.touch()
    for named in (packed, packed.parent, packed.parent / "quick"):
        replayed[2] = str(named)
        assert main(replayed) == 2
        told = f"{packed} is packed; unpack it first, `tar -xf {packed}`, and name the folder that this makes"
        assert told in capsys.readouterr().err
    assert main(["pack_sessions", "--archive", str(packed), "--target", str(tmp_path / "t")]) == 1
    assert f"{packed} is a file; name the folder of a campaign's archive" in capsys.readouterr().err
    assert main(["pack_sessions", "--archive", str(tmp_path / "qick"), "--target", str(tmp_path / "t")]) == 1
    assert f"qick does not exist; did you mean `{tmp_path / 'quick'}`?" in capsys.readouterr().err


def test_a_campaign_goes_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for campaign in ("quick", str(ROOT / "campaigns/quick.yaml")):
        # It ends with 1 on a machine without the programs.
        assert main(["collect", "--campaign", campaign, "--archive", str(tmp_path), "--dry-run"]) in (0, 1)
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


def test_only_a_pack_of_the_same_runs_is_replaced(archive: Path, tmp_path: Path) -> None:
    packed = tmp_path / "sample/alone.tar.zst"
    pack_sessions(archive, packed.parent)
    before = packed.read_bytes()
    # A session grows: by runs, and in its ledger.
    session = find_session(archive, "alone")
    (session / "attempts.jsonl").write_text("")
    (run,) = session.glob("cubic/src-cmd:*:2:*")
    run.with_name("ss:more:3").write_text("1")
    pack_sessions(archive, packed.parent)
    grown = packed.read_bytes()
    assert grown != before
    run.with_name("ss:more:3").write_text("2")
    with pytest.raises(
        InputError, match=r"alone.tar.zst has other runs than .*; name another --target, or move it away"
    ):
        pack_sessions(archive, packed.parent)
    run.with_name("ss:more:3").unlink()
    with pytest.raises(InputError, match=r"alone.tar.zst has other runs than"):
        pack_sessions(archive, packed.parent)
    assert packed.read_bytes() == grown


def test_a_label_that_leads_elsewhere_is_refused(archive: Path, tmp_path: Path) -> None:
    told = find_session(archive, "alone") / "session.json"
    told.write_text(told.read_text().replace('"alone"', '"../alone"'))
    with pytest.raises(InputError, match=r"its campaign.yaml declares no run of it"):
        pack_sessions(archive, tmp_path / "sample")
    assert not (tmp_path / "alone.tar.zst").exists()


@pytest.mark.parametrize("packed", sorted((ROOT / "archive/sample").glob("*.tar.zst")), ids=lambda path: path.name)
def test_the_sessions_of_the_sample_are_finished_and_as_their_campaigns_declare(packed: Path, tmp_path: Path) -> None:
    label = packed.name.removesuffix(".tar.zst")
    names = ("table_2", "sample", "cpu")
    plans = [plan_campaign(load_campaign(ROOT / f"campaigns/{name}.yaml"), name) for name in names]
    declared = {(run.job, run.suffix): run.fingerprint() for plan in plans for run in plan.runs if run.session == label}
    unpack_archive(packed, tmp_path / "archive")
    attempts = read_attempts(find_session(tmp_path / "archive", label))
    assert {(one.job, one.run): one.fingerprint for one in attempts if one.outcome == "completed"} == declared
