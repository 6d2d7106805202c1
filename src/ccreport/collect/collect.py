"""The command `collect`: a declared sweep carried out, or what is still missing of it, into a raw archive."""

import signal
import time
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from ccreport.collect.attempts import read_attempts
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.checks import check_algorithms
from ccreport.collect.declare.describe import describe_plan, find_rate_bps
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.engines import Engine, choose_place, list_algorithms
from ccreport.collect.kernel.find_kernel import find_user_kernel
from ccreport.collect.plan import Plan
from ccreport.collect.sessions import CALIBRATION, SESSION, find_sessions, lock_archive, read_json, write_json
from ccreport.collect.sweep import Collection
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError

# Stands for the campaign's name in the path of an archive.
NAME: Final = "{campaign}"
CAMPAIGNS: Final = SCHEMAS.parent / "campaigns"
SHOWN_COUNT: Final = 5


def collect(
    campaign: Path,
    archive: Path = Path("archive", NAME),
    summary: Path | None = None,
    clock: Literal["", "virtual", "real"] = "",
    kernel: str = "",
    *,
    dry_run: bool,
) -> None:
    """Carry out a campaign's missing runs into a raw archive; `--dry-run` prints what they are and how long they take.

    `campaign` is the file of the campaign, or the name of one that comes with ccreport, such as quick. `archive` is the
    archive's own folder, `{campaign}` in it the campaign's name. `summary`, if given, becomes a JSON file with the
    counts of runs and attempts. `clock` is virtual or real, in place of the campaign's. `kernel` is the path of a
    kernel, in place of the campaign's. `dry_run` measures nothing, and says which engine would. Raise InputError where
    the machine or the declaration does not allow it, or when runs have failed, after all others were made.
    """
    given = {key: value for key, value in (("clock", clock), ("kernel", kernel)) if value}
    named = CAMPAIGNS / f"{campaign}.yaml"
    campaign = named if named.is_file() and not campaign.exists() else campaign
    declared = load_campaign(campaign, given)
    plan = plan_campaign(declared, campaign.stem)
    check_algorithms(declared)
    if kernel:
        find_user_kernel(kernel)
    folder = Path(str(archive).replace(NAME, plan.campaign))
    collection = Collection(plan, folder, campaign, find_sessions(folder, plan.campaign))
    if dry_run:
        missing = {run.key for run in collection.list_missing()}
        completed = {run.key for run in plan.runs} - missing
        capacity_bps = find_capacity_bps(collection)
        print(describe_plan(plan, completed, capacity_bps), describe_engine(plan, capacity_bps), sep="\n")
        return
    # A kill that can be caught ends a sweep as Ctrl-C does.
    signal.signal(signal.SIGTERM, _interrupt)
    start = time.monotonic()
    try:
        engine = _carry_out(collection)
    except KeyboardInterrupt:
        raise InputError("stopped; the same command goes on with the missing runs") from None
    if summary is not None:
        summary.parent.mkdir(parents=True, exist_ok=True)
        write_json(summary, summarise_collection(collection, engine, time.monotonic() - start))
    if collection.failures:
        told = [f"{key}: {why}" for key, why in list(collection.failures.items())[:SHOWN_COUNT]]
        raise InputError(f"{len(collection.failures)} of {len(plan.runs)} runs failed; {'; '.join(told)}")


def _carry_out(collection: Collection) -> Engine | None:
    """Make what is missing with the archive to itself, and return the engine, null where nothing was missing."""
    with lock_archive(collection.archive) as partial:
        # What a killed command had begun is in place only now.
        collection.sessions = find_sessions(collection.archive, collection.plan.campaign)
        collection.check_fingerprints()
        if not collection.list_missing():
            return None
        place = choose_place(collection.plan)
        collection.carry_out(place, partial)
    return place.engine


def describe_engine(plan: Plan, capacity_bps: int | None) -> str:
    """Return where and by which clock the runs would be made, or why they cannot be; warn of a rate never measured.

    `capacity_bps` is as of `describe_plan`.
    """
    try:
        place = choose_place(plan)
    except InputError as error:
        return f"engine: none here; {error}"
    where = f"user-mode kernel {place.kernel.path}" if place.kernel else "network namespaces of this machine's kernel"
    said = f"engine: {where}, in {place.clock} time"
    if place.kernel and (absent := sorted(list_algorithms(plan) - place.kernel.algorithms)):
        had = ", ".join(sorted(place.kernel.algorithms))
        problem = f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not in this kernel, which has {had}"
        said += f"\nwarning: {problem}; choose one of these, or another kernel by --kernel"
    fastest_bps = max(filter(None, map(find_rate_bps, plan.runs)), default=None)
    if place.clock == "virtual" or capacity_bps is not None or fastest_bps is None:
        return said
    return (
        f"{said}\nwarning: in real time this machine has to carry {fastest_bps / 1e6:g} Mbit/s, and no calibration in "
        "this archive says that it can; the first session begins with one"
    )


def find_capacity_bps(collection: Collection) -> int | None:
    """Return what the machine carried in the last calibration of this archive, null if there was none."""
    paths = [session / CALIBRATION for session in collection.sessions.values()]
    told = [read_json(path)["capacity_bps"] for path in paths if path.exists()]
    return told[-1] if told else None


def summarise_collection(collection: Collection, engine: Engine | None, elapsed_s: float) -> dict[str, Any]:
    """Return the counts of a sweep, all calls together; `elapsed_h` is this call's time, `attempted_h` that of all."""
    sessions = list(collection.sessions.values())
    attempts = [attempt for session in sessions for attempt in read_attempts(session)]
    told = [read_json(session / CALIBRATION) for session in sessions if (session / CALIBRATION).exists()]
    plan: Plan = collection.plan
    return {
        "campaign": plan.campaign,
        "archive": str(collection.archive),
        "engine": engine or next((read_json(session / SESSION)["engine"] for session in sessions), None),
        "runs_count": len(plan.runs),
        "completed_count": len(plan.runs) - len(collection.list_missing()),
        "attempts_count": len(attempts),
        **{f"{name}_count": sum(attempt.outcome == name for attempt in attempts) for name in ("failed", "interrupted")},
        "cpu_bound_count": sum(attempt.outcome == "cpu_bound" for attempt in attempts),
        "attempted_h": round(sum(attempt.elapsed_s or 0 for attempt in attempts) / 3600, 3),
        "elapsed_h": round(elapsed_s / 3600, 3),
        "is_calibrated": bool(told)
        and all(measurement["is_within"] for each in told for measurement in each["measurements"]),
        "failures": collection.failures,
    }


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
