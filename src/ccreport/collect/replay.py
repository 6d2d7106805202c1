"""The command `replay_run`: one run in virtual time made again from its archive, and compared byte for byte."""

import shutil
from pathlib import Path
from typing import Final

from ccreport.collect.attempts import KEPT, Attempt, read_attempts
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.engines import GuestEnded, choose_place
from ccreport.collect.plan import Run, VirtualClock
from ccreport.collect.sessions import PARTIAL, SESSION, read_json
from ccreport.collect.slots import Slot
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import guess, guess_path
from ccreport.storage.places import PACKED_ENDINGS, is_packed

MADE: Final = "made"


def replay_run(session: Path, job: str, run: str, into: Path, kernel: str = "") -> int:
    """Make a run of a session again; exit 0 if its files have the bytes of the archive's, 1 if not, 2 if it cannot be.

    `session` is the session's folder in the archive. `job` is the name of one of its jobs. `run` is what follows
    the item in the names of the run's files, as `10.201.1.2:1:80.0ms`. `into` is a new folder, which gets the run's
    files. `kernel` is the path of the kernel that the session was measured with, if that is not the one that
    `make kernel` built. Raise InputError where the run was not made in virtual time, its declaration or kernel is not
    the one at hand, or it fails.
    """
    if not (session / SESSION).is_file():
        raise InputError(_explain_no_session(session))
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise InputError(f"{into} is there and not empty; --into names a new folder")
    told = read_json(session / SESSION)
    given = {"clock": "virtual"} | ({"kernel": kernel} if kernel else {})
    plan = plan_campaign(load_campaign(session / "campaign.yaml", given), told["campaign"])
    attempt = find_attempt(session, job, run)
    planned = _find_run(plan.runs, told["label"], attempt)
    place = choose_place(plan)
    if place.kernel is None or place.kernel.sha256 != told["kernel_sha256"]:
        raise InputError(f"{session.name} was measured with another kernel, of SHA-256 {told['kernel_sha256']}")
    hostnames = {(job.session, job.name): str(job.metadata.get("hostname", "sender")) for job in plan.jobs}
    _make(Slot(plan, place, 1, into / PARTIAL, hostnames), planned, attempt, into)
    made = {path.name: path for path in into.rglob("*") if path.is_file()}
    kept = {path.name: path for path in (session / job).rglob("*") if path.is_file() and _is_of_run(path.name, run)}
    differing = 0
    for name in sorted(made.keys() | kept.keys()):
        is_same = name in made and name in kept and made[name].read_bytes() == kept[name].read_bytes()
        differing += not is_same
        print(f"{'same bytes' if is_same else 'differs'}  {name}")
    differ = (
        f"{differing} differ from the archive's, or are only there or only here" if differing else "all are the same"
    )
    print(f"{len(made)} files made again; {differ}")
    return min(differing, 1)


def _explain_no_session(session: Path) -> str:
    """Return why a path is not the folder of a session, and what to name or type in place of it."""
    beside = (Path(f"{session}{ending}") for ending in PACKED_ENDINGS)
    inside = sorted(session.iterdir()) if session.is_dir() else ()
    for path in (session, *beside, *inside):
        if path.is_file() and is_packed(path.name):
            command = "unzip" if path.suffix == ".zip" else "tar -xf"
            return f"{path} is packed; unpack it first, `{command} {path}`, and name the folder that this makes"
    problem = f"has no {SESSION}" if session.exists() else "does not exist"
    hint = guess_path(session) or "; name the folder of a session that `collect` made"
    return f"{session} {problem}{hint}"


def _make(slot: Slot, run: Run, attempt: Attempt, into: Path) -> None:
    """Make a run as in an attempt, its files in a folder, and remove what else a testbed leaves in its slot."""
    slot.folder.mkdir(parents=True, exist_ok=True)
    try:
        told = slot.make(run, MADE, VirtualClock(attempt.clock_start_ns or 0, attempt.seed or ""))
        if told["outcome"] not in KEPT:
            raise InputError(f"the run failed this time: {told['message']}")
        for path in (slot.folder / MADE).iterdir():
            path.rename(into / path.name)
    except GuestEnded as error:
        raise InputError(f"the run failed this time: {error}") from error
    finally:
        shutil.rmtree(slot.folder)


def find_attempt(session: Path, job: str, run: str) -> Attempt:
    """Return the last whole attempt of a run; raise InputError, with what is meant, where there is none."""
    whole = [attempt for attempt in read_attempts(session) if attempt.outcome in KEPT]
    jobs = {attempt.job for attempt in whole}
    if job not in jobs:
        raise InputError(f"{session.name} has no job `{job}`{guess(job, jobs)}")
    kept = [attempt for attempt in whole if attempt.place == (job, run)]
    if not kept:
        runs = {attempt.run for attempt in whole if attempt.job == job}
        raise InputError(f"{session.name} has no whole run `{run}` of {job}{guess(run, runs)}")
    if kept[-1].seed is None:
        raise InputError(f"{job}, {run}: it was measured in real time, which nothing repeats")
    return kept[-1]


def _find_run(runs: tuple[Run, ...], label: str, attempt: Attempt) -> Run:
    for run in runs:
        if (run.session, run.job, run.suffix) == (label, attempt.job, attempt.run):
            if run.fingerprint() != attempt.fingerprint:
                raise InputError(f"{run.key}: campaign.yaml declares it otherwise than it was measured")
            return run
    raise InputError(f"campaign.yaml declares no run {attempt.run} of {attempt.job}")


def _is_of_run(name: str, run: str) -> bool:
    return name.partition(":")[2] in (run, f"{run}.json")
