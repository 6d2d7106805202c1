"""`replay_run`: which run is meant, what is left of it in the folder, and how the command ends."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_collect_again import JOB, collect_all
from test_collect_resume import append_attempt, begin, make_attempt
from test_planning import KERNEL, plan

from ccreport.__main__ import main
from ccreport.collect import replay
from ccreport.collect.attempts import read_attempts
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.engines import GuestEnded, Place
from ccreport.collect.plan import Run, VirtualClock
from ccreport.collect.sessions import read_json, write_json
from ccreport.collect.slots import Slot
from ccreport.core.errors import InputError

DECLARED = "title: T\nsessions: [{label: main, jobs: [{name: a, duration_s: 5, sender_mbps: 20}]}]\n"


def test_a_run_to_be_made_again_is_guessed_and_goes_into_an_empty_folder(tmp_path: Path) -> None:
    session = collect_all(tmp_path, plan(JOB))
    attempt = read_attempts(session)[0]
    for job, run, told in (
        (f"{attempt.job}x", attempt.run, f"no job `{attempt.job}x`; did you mean `{attempt.job}`?"),
        (attempt.job, f"{attempt.run}0", f"{attempt.job}; did you mean `{attempt.run}`?"),
    ):
        with pytest.raises(InputError, match=re.escape(told)):
            replay.find_attempt(session, job, run)
    with pytest.raises(InputError, match="is there and not empty; --into names a new folder"):
        replay.replay_run(session, attempt.job, attempt.run, session.parent)


def make_again(
    archive: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Slot, Run, str, VirtualClock], dict[str, Any]]
) -> int:
    """Return how `replay_run` ends of a session of one run, with a testbed that makes its files so."""
    session = begin(archive)
    (session / "campaign.yaml").write_text(DECLARED)
    (run,) = plan_campaign(load_campaign(session / "campaign.yaml"), "sweep").runs
    write_json(session / "session.json", read_json(session / "session.json") | {"kernel_sha256": KERNEL.sha256})
    append_attempt(session, replace(make_attempt(run), seed="1", clock_start_ns=7))
    (session / "a/edge").mkdir(parents=True)
    for name in (f"src-cmd:{run.suffix}", f"edge/ss-neit:{run.suffix}"):
        (session / "a" / name).write_text("as ever")
    monkeypatch.setattr(replay, "choose_place", lambda _: Place("user-mode-kernel", "virtual", KERNEL))
    monkeypatch.setattr(Slot, "make", make)
    places = ["--session", str(session), "--into", str(archive / "again")]
    return main(["replay_run", *places, "--job", "a", "--run", run.suffix])


@pytest.mark.parametrize(("text", "code"), [("as ever", 0), ("otherwise", 1)])
def test_a_run_made_again_leaves_its_files_only(
    text: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(slot: Slot, run: Run, folder: str, clock: VirtualClock) -> dict[str, Any]:
        assert clock == VirtualClock(7, "1")
        (slot.folder / "console.txt").touch()
        (slot.folder / folder / "edge").mkdir(parents=True)
        (slot.folder / folder / f"src-cmd:{run.suffix}").write_text("as ever")
        (slot.folder / folder / f"edge/ss-neit:{run.suffix}").write_text(text)
        return {"outcome": "completed", "message": None}

    assert make_again(tmp_path, monkeypatch, make) == code
    found = {str(path.relative_to(tmp_path / "again")) for path in (tmp_path / "again").rglob("*") if path.is_file()}
    assert found == {"src-cmd:10.201.1.2:1", "edge/ss-neit:10.201.1.2:1"}
    differs = "same bytes" if code == 0 else "differs"
    assert capsys.readouterr().out.startswith(f"same bytes  src-cmd:10.201.1.2:1\n{differs}  ss-neit:10.201.1.2:1\n")


def test_a_run_that_cannot_be_made_again_leaves_its_folder_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(*_: object) -> dict[str, Any]:
        raise GuestEnded("the testbed ended")

    assert make_again(tmp_path, monkeypatch, make) == 2
    assert capsys.readouterr().err == "ccreport: the run failed this time: the testbed ended\n"
    assert list((tmp_path / "again").iterdir()) == []
