"""The command `collect`: a declared sweep carried out, or what is still missing of it, into a raw archive."""

import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from ccreport.collect.attempts import read_attempts
from ccreport.collect.called_programs import check_called
from ccreport.collect.declare.campaign import Campaign, CampaignError, load_campaign
from ccreport.collect.declare.checks import check_algorithms, check_engine, list_small_volumes
from ccreport.collect.declare.describe import describe_plan, find_rate_bps
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.declare.sysctls import check_sysctls, doubt_sysctls, list_unchecked
from ccreport.collect.engines import Engine, Place, choose_place, list_algorithms, list_used
from ccreport.collect.kernel.find_kernel import UserKernel, find_user_kernel
from ccreport.collect.kernel.known_settings import name_unknown_settings
from ccreport.collect.plan import Plan
from ccreport.collect.sessions import (
    CALIBRATION,
    SESSION,
    find_sessions,
    list_foreign,
    lock_archive,
    read_json,
    write_json,
)
from ccreport.collect.slots import RefusedSettingError
from ccreport.collect.sweep import Collection
from ccreport.collect.testbed.guest import name_missing_algorithms
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import guess
from ccreport.core.text import write_report_command
from ccreport.storage.places import PACKED_ENDINGS
from ccreport.storage.writable import check_folder

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
    kernel, in place of the campaign's. `dry_run` measures nothing, says which engine would, and ends with 1 where none
    can. Raise InputError where the machine or the declaration does not allow it, or when runs have failed, after all
    others were made.
    """
    given = {key: value for key, value in (("clock", clock), ("kernel", kernel)) if value}
    campaign = find_campaign(campaign)
    declared = load_campaign(campaign, given)
    plan = plan_campaign(declared, campaign.stem)
    check_algorithms(declared)
    check_sysctls(declared)
    if kernel:
        find_user_kernel(kernel)
    folder = Path(str(archive).replace(NAME, plan.campaign))
    if file := next((place for place in (folder, *folder.parents) if place.is_file()), None):
        raise InputError(f"{file} is a file; --archive names a folder")
    check_folder(folder, "--archive")
    if summary is not None:
        check_folder(summary.parent, "--summary")
    if foreign := list_foreign(folder):
        if any(name.endswith(PACKED_ENDINGS) for name in foreign):
            raise InputError(
                f"{folder} holds packed archives, such as {foreign[0]}; move or delete them, or name another --archive"
            )
        others = f"{foreign[0]} and {len(foreign) - 1} more" if len(foreign) > 1 else foreign[0]
        print(f"warning: {folder} holds {others}, which the report of this archive would read, too", file=sys.stderr)
    collection = Collection(plan, folder, campaign, find_sessions(folder, plan.campaign))
    # What is complete needs no engine.
    if collection.list_missing():
        for warning in list_small_volumes(declared):
            print(f"warning: {warning}", file=sys.stderr)
        check_engine(declared)
        check_kernel(declared)
        check_called(declared)
    if dry_run:
        show_plan(collection, declared)
        return
    # A kill that can be caught ends a sweep as Ctrl-C does.
    signal.signal(signal.SIGTERM, _interrupt)
    start, missing_count = time.monotonic(), len(collection.list_missing())
    for warning in collection.list_other_testbeds():
        print(warning, file=sys.stderr, flush=True)
    try:
        engine = _carry_out(collection)
    except RefusedSettingError as error:
        raise blame_setting(declared, error) from error
    except KeyboardInterrupt:
        raise InputError("stopped; the same command goes on with the missing runs") from None
    except BrokenPipeError:
        # Nobody reads the progress, as behind `head`. Who asks whether all runs are there is not to be told so.
        sys.exit(128 + signal.SIGPIPE)
    if summary is not None:
        summary.parent.mkdir(parents=True, exist_ok=True)
        write_json(summary, summarise_collection(collection, engine, time.monotonic() - start))
    print(describe_end(collection, missing_count))
    if collection.failures:
        told = [f"{key}: {why}" for key, why in list(collection.failures.items())[:SHOWN_COUNT]]
        raise InputError(f"{len(collection.failures)} of {len(plan.runs)} runs failed; {'; '.join(told)}")


def find_campaign(campaign: Path, folder: Path = CAMPAIGNS) -> Path:
    """Return the file of a campaign, which may go by its name in a folder; raise InputError for a name of none."""
    named = folder / f"{campaign}.yaml"
    if named.is_file() and not campaign.exists():
        return named
    if not campaign.exists() and not campaign.suffix and len(campaign.parts) == 1:
        names = [path.stem for path in folder.glob("*.yaml")]
        raise InputError(f"no campaign is called `{campaign}`{guess(campaign.name, names)}")
    return campaign


def check_kernel(declared: Campaign) -> None:
    """Raise DeclarationError where the kernel that a campaign names is not one."""
    if declared.testbed["engine"] != "namespaces" and declared.testbed["kernel"]:
        try:
            find_user_kernel(declared.testbed["kernel"])
        except InputError as error:
            raise declared.blame(CampaignError(f"testbed.kernel: {error}", ("testbed", "kernel"))) from error


def describe_end(collection: Collection, missing_count: int) -> str:
    """Return what the archive has after a sweep that began with this many runs missing, and the next command."""
    count, left = len(collection.plan.runs), len(collection.list_missing())
    runs = f"{count - left} of {count} runs" if left else "1 run" if count == 1 else f"{count} runs"
    if len(list(collection.archive.glob(f"*/{SESSION}"))) > len(collection.sessions):
        runs = f"{runs} of campaign {collection.plan.campaign}"
    begin = "" if missing_count else "nothing was missing: "
    report = write_report_command(collection.archive, SCHEMAS.parent) if left < count else "nothing to report on yet"
    return f"{begin}{runs} in {collection.archive}; {report}"


def _carry_out(collection: Collection) -> Engine | None:
    """Make what is missing with the archive to itself, and return the engine, null where nothing was missing."""
    with lock_archive(collection.archive) as partial:
        # What a killed command had begun is in place only now.
        collection.sessions = find_sessions(collection.archive, collection.plan.campaign)
        place = find_place(collection)
        if place is None:
            return None
        collection.carry_out(place, partial)
    return place.engine


def show_plan(collection: Collection, declared: Campaign | None = None) -> None:
    """Print what a collection would do; raise the InputError with which it would end before its first run.

    What the kernel lacks is told with its job and line, where the campaign's declaration is given.
    """
    collection.check_fingerprints()
    plan, missing = collection.plan, {run.key for run in collection.list_missing()}
    capacity_bps = find_capacity_bps(collection)
    described = describe_plan(plan, {run.key for run in plan.runs} - missing, capacity_bps)
    print("\n".join([described, *collection.list_other_testbeds()]), flush=True)
    place = find_place(collection, declared)
    if place is not None:
        print(describe_engine(plan, place, capacity_bps))
        if unchecked := list_unchecked(collection.list_missing()):
            print(f"note: only that kernel can check the value of {', '.join(unchecked)}")
        if place.kernel and (problem := name_missing_algorithms(list_algorithms(plan), place.kernel.algorithms)):
            raise blame_job(declared, plan, place.kernel) or InputError(problem)


def find_place(collection: Collection, declared: Campaign | None = None) -> Place | None:
    """Return where the missing runs are made, null where nothing is missing; raise InputError where they cannot be."""
    collection.check_fingerprints()
    place = choose_place(collection.plan) if collection.list_missing() else None
    if place and place.kernel and (problem := name_unknown_settings(place.kernel, collection.plan.runs)):
        raise blame_job(declared, collection.plan, place.kernel) or InputError(problem)
    return place


def blame_job(declared: Campaign | None, plan: Plan, kernel: UserKernel) -> InputError | None:
    """Return what the first job with an algorithm or a setting that a kernel lacks is told, with its line."""
    for session in declared.sessions if declared else ():
        for job, place in zip(session.jobs, session.places, strict=True):
            for run in (run for run in plan.runs if (run.session, run.job) == (session.label, job["name"])):
                own = replace(run, sysctls={}, module_parameters=job["module_parameters"])
                tried = [
                    ("sysctls", name_unknown_settings(kernel, [replace(run, module_parameters={})])),
                    ("module_parameters", name_unknown_settings(kernel, [own])),
                    ("parameter_sweep", name_unknown_settings(kernel, [replace(run, sysctls={})])),
                    ("congestion_control", name_missing_algorithms(list_used(run), kernel.algorithms)),
                ]
                for key, problem in tried:
                    if problem:
                        what = f"session {session.label}, job {job['name']}, {key}: {problem}"
                        return declared.blame(CampaignError(what, (*place, key))) if declared else None
    return None


def blame_setting(declared: Campaign, error: RefusedSettingError) -> InputError:
    """Return what the job is told whose setting a kernel refused, with the setting's line."""
    run = error.run
    for session in declared.sessions:
        for job, place in zip(session.jobs, session.places, strict=True):
            if (session.label, job["name"]) == (run.session, run.job):
                named = [(key, name) for key in ("sysctls", "module_parameters") for name in job[key]]
                where = next(((key, name) for key, name in named if name in error.problem.split()), ())
                what = ", ".join([f"session {session.label}, job {job['name']}", *where[:1]])
                # commands.before_source: `tool -x` ended with 127
                key, _, _ = error.problem.partition(": ")
                keys = tuple(key.split(".")) if key.startswith("commands.") else where
                return declared.blame(CampaignError(f"{what}: {error.problem}", (*place, *keys)))
    return error


def describe_engine(plan: Plan, place: Place, capacity_bps: int | None) -> str:
    """Return where and by which clock they would be made, with warnings of settings and a rate that may not be had.

    `capacity_bps` is as of `describe_plan`.
    """
    where = f"user-mode kernel {place.kernel.path}" if place.kernel else "network namespaces of this machine's kernel"
    said = f"engine: {where}, in {place.clock} time"
    # What a user-mode kernel without modules lacks has been refused.
    if place.kernel is None or place.kernel.has_modules:
        said = "\n".join([said, *(f"warning: {doubt}" for doubt in doubt_sysctls(plan.runs))])
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
