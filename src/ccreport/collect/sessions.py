"""Sessions of a campaign in its archive: the folders, what is complete in them, and how a run comes into place.

A session is found again by its `session.json`. A run's files are made in `.partial` and renamed into their job's
folder, `src-cmd:…` last, so that a run is complete if and only if that file is there. Which files go where is written
to a journal first; a kill between two renames is made good by the next call, which carries on from the journal.
"""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ccreport.collect.attempts import Attempt, append_attempt, read_attempts
from ccreport.collect.plan import Job, Run
from ccreport.collect.testbed.commands import name_output
from ccreport.core.atomic_files import replace_file
from ccreport.storage.locks import hold_lock

PARTIAL: Final = ".partial"
LOCK: Final = "lock"
JOURNAL: Final = "attempt.json"
SESSION: Final = "session.json"
DECLARATION: Final = "campaign.yaml"
CALIBRATION: Final = "calibration.json"


@contextlib.contextmanager
def lock_archive(archive: Path) -> Iterator[Path]:
    """Keep a second command out of an archive; give the folder of unfinished work, emptied, and empty it again."""
    partial = archive / PARTIAL
    partial.mkdir(parents=True, exist_ok=True)
    with hold_lock(partial / LOCK, f"{archive}: another `collect` is at work there; wait for it, or stop it first"):
        recover_slots(archive)
        try:
            yield partial
        finally:
            recover_slots(archive)


def recover_slots(archive: Path) -> None:
    """Finish what a killed command had begun to put into place, write its attempts to the ledger, remove the rest."""
    for slot in sorted(path for path in (archive / PARTIAL).iterdir() if path.is_dir()):
        _recover_slot(archive, slot)


def _recover_slot(archive: Path, slot: Path) -> None:
    journal = slot / JOURNAL
    if journal.exists():
        told = json.loads(journal.read_text(encoding="utf-8"))
        session, attempt = archive / told["session"], Attempt(**told["attempt"])
        if session.is_dir():
            for source, target in told["placing"]:
                if (slot / source).exists():
                    _put_in_place(slot / source, archive / target)
            known = {(*attempt.place, attempt.attempt) for attempt in read_attempts(session)}
            if (*attempt.place, attempt.attempt) not in known:
                append_attempt(session, attempt)
    shutil.rmtree(slot)


def find_sessions(archive: Path, campaign: str) -> dict[str, Path]:
    """Return the folders of a campaign's sessions by their labels."""
    found = {}
    for path in sorted(archive.glob(f"*/{SESSION}")):
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["campaign"] == campaign:
            found[told["label"]] = path.parent
    return found


def read_clock(session: Path) -> str:
    """Return the time at which the virtual clock of a session starts: that of the session, unless another is told."""
    told = read_json(session / SESSION)
    return str(told.get("clock_started_utc", told["started_utc"]))


def list_foreign(archive: Path) -> list[str]:
    """Return the names in a folder that no campaign has left there; a report of the folder would read them as well."""
    found = sorted(archive.iterdir()) if archive.is_dir() else []
    return [path.name for path in found if not path.name.startswith(".") and not (path / SESSION).is_file()]


def make_session(archive: Path, described: dict[str, Any], declaration: Path, now: datetime) -> Path:
    """Make the folder of a new session, named by the first free minute, with `session.json` and `campaign.yaml`."""
    minute = now.astimezone(UTC)
    while (folder := archive / f"{minute:%Y-%m-%d:%H:%M}").exists():
        minute += timedelta(minutes=1)
    # A folder without session.json would be nobody's, so it gets its name only when it has one.
    aside = archive / PARTIAL / "session"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    shutil.copyfile(declaration, aside / DECLARATION)
    write_json(aside / SESSION, described | {"started_utc": format_utc(now)})
    aside.rename(folder)
    _sync_folder(archive)
    return folder


def describe_job(session: Path, job: Job, kernel: str) -> None:
    """Write what the harness writes of a job beside its runs, or write it anew if iterations were added."""
    folder = session / job.name
    folder.mkdir(exist_ok=True)
    metadata = job.metadata | {"start_time": session.name, "kernel": kernel}
    write_json(folder / "jobmeta.json", metadata)
    for host, of_host in job.host_metadata.items():
        # The same names in every call, as each iteration has one that stays.
        names = [f"{job.session}/{job.name}/{host}/{number}" for number in range(1, int(metadata.get("iters", 1)) + 1)]
        uuids = [str(uuid.uuid5(uuid.NAMESPACE_URL, name)) for name in names]
        write_json(folder / f"{host}-meta.json", {"iter_uuids": uuids} | of_host)


def is_complete(session: Path, run: Run) -> bool:
    """Tell whether a run is there."""
    return (session / run.job / name_last(run)).exists()


def name_last(run: Run) -> str:
    """Return the name of the file that makes a run complete."""
    return name_output(min(run.clients, key=lambda client: client.number), run.suffix)


def write_journal(slot: Path, session: Path, attempt: Attempt, placing: list[tuple[str, str]]) -> None:
    """Write down which attempt is under way, and where its files are to go once it has any to keep."""
    write_json(slot / JOURNAL, {"session": session.name, "attempt": asdict(attempt), "placing": placing})


def end_attempt(slot: Path, folder: str, session: Path, run: Run, attempt: Attempt, *, is_kept: bool) -> None:
    """Put the files of an attempt into place or remove them, and write it to the ledger."""
    if is_kept:
        remove_rest(session / run.job, run.suffix)
        made = slot / folder
        paths = sorted(path.relative_to(made) for path in made.rglob("*") if path.is_file())
        paths.sort(key=lambda path: path.name == name_last(run))
        placing = [(f"{folder}/{path}", f"{session.name}/{run.job}/{path}") for path in paths]
        write_journal(slot, session, attempt, placing)
        for source, target in placing:
            _put_in_place(slot / source, session.parent / target)
    append_attempt(session, attempt)
    (slot / JOURNAL).unlink()
    shutil.rmtree(slot / folder, ignore_errors=True)


def remove_rest(job: Path, suffix: str) -> None:
    """Remove files of a run that is not complete."""
    for path in job.iterdir():
        if path.is_file() and path.name.partition(":")[2] in (suffix, f"{suffix}.json"):
            path.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write JSON on one line, as the harness does, so that the file is whole or not there."""
    with replace_file(path) as aside, aside.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(value, ensure_ascii=False) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file that `write_json` wrote."""
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def format_utc(moment: datetime) -> str:
    """Return a time in the form that session.json and the ledger have."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _put_in_place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as stream:
        os.fsync(stream.fileno())
    source.rename(target)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
