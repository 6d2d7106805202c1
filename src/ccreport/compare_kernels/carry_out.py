"""A comparison carried out: both sides measured block by block into one archive, and the archive built as any other.

The build is Snakemake's, by the rules of every report, so that a run of a comparison is read and measured as all are.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ccreport.collect.attempts import KEPT, read_attempts
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.engines import Place, choose_place, list_algorithms
from ccreport.collect.kept_runs import list_changed
from ccreport.collect.kernel.find_kernel import UserKernel
from ccreport.collect.kernel.known_settings import name_unknown_settings
from ccreport.collect.plan import Plan
from ccreport.collect.sessions import CALIBRATION, SESSION, find_sessions, lock_archive, read_clock, read_json
from ccreport.collect.sweep import Collection
from ccreport.collect.testbed.guest import name_missing_algorithms
from ccreport.compare_kernels.campaigns import find_block, find_side, list_steps, name_session
from ccreport.core.algorithms import doubt_algorithm
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError

ROOT: Final = SCHEMAS.parent
EVALUATION: Final = "generic"


@dataclass(frozen=True)
class Measured:
    """What was measured: the clock, each side's kernel (null for this machine's), and how long a pair took, in s."""

    clock: str
    kernels: dict[str, UserKernel | None]
    pair_s: float | None
    failures: dict[str, str]


@dataclass(frozen=True)
class PlannedSide:
    """A side before it is measured: its campaign's file and plan, and where its runs are made."""

    campaign: Path
    plan: Plan
    place: Place


def plan_sides(campaigns: Mapping[str, Path], archive: Path) -> dict[str, PlannedSide]:
    """Return both sides by name; raise InputError where the machine, a kernel or the archive does not allow them."""
    plans = {key: plan_campaign(load_campaign(path), path.stem) for key, path in campaigns.items()}
    sides = {key: PlannedSide(campaigns[key], plan, _find_place(plan, key)) for key, plan in plans.items()}
    if len({side.place.clock for side in sides.values()}) > 1:
        raise InputError("one side would be measured in virtual time and the other in real time; name a clock")
    check_sides(plans, archive)
    return sides


def measure_sides(sides: Mapping[str, PlannedSide], blocks_count: int, archive: Path) -> Measured:
    """Make the missing runs of both sides in blocks a b b a; raise InputError where they cannot be made."""
    plans = {key: side.plan for key, side in sides.items()}
    failures: dict[str, str] = {}
    with lock_archive(archive) as partial:
        for block, key in list_steps(blocks_count):
            collection = _prepare(plans[key], block, archive, sides[key].campaign)
            collection.check_fingerprints()
            if collection.list_missing():
                print(f"block {block} of {blocks_count}, side {key}", file=sys.stderr, flush=True)
                collection.calibrations = _find_calibrations(plans[key], archive, sides[key].place)
                collection.clocks = _find_clocks(collection, plans, archive)
                collection.carry_out(sides[key].place, partial)
            failures |= {f"side {key}: {run}": why for run, why in collection.failures.items()}
    kernels = {key: side.place.kernel for key, side in sides.items()}
    return Measured(sides["a"].place.clock, kernels, _find_pair_s(plans, archive), failures)


def check_sides(plans: dict[str, Plan], archive: Path) -> None:
    """Raise InputError where an archive has complete runs of these campaigns that are of other sides."""
    sides, others, has_changed = [], [], False
    for plan in plans.values():
        sessions = find_sessions(archive, plan.campaign)
        told = [find_side(read_json(session / SESSION).get("title", "")) for session in sessions.values()]
        others.append(next(filter(None, told), None))
        sides.append(find_side(plan.title))
        has_changed |= any(
            list_changed(session, [run for run in plan.runs if run.session == label])
            for label, session in sessions.items()
        )
    if has_changed and None not in others and others != sides:
        raise InputError(f"{archive} compares {others[0]} with {others[1]}; name another --archive")


def _find_place(plan: Plan, side: str) -> Place:
    """Return where a side is measured; raise InputError before anything is, where its kernel lacks what it needs."""
    place = choose_place(plan)
    if place.kernel:
        missing = name_missing_algorithms(list_algorithms(plan), place.kernel.algorithms)
        if problem := missing or name_unknown_settings(place.kernel, plan.runs):
            raise InputError(f"side {side}: {problem}")
    else:
        for doubt in filter(None, map(doubt_algorithm, list_algorithms(plan))):
            print(f"warning: side {side}: {doubt}", file=sys.stderr)
    return place


def _prepare(plan: Plan, block: int, archive: Path, declaration: Path) -> Collection:
    """Return the collection of the sessions of one block."""
    labels = [label for label in plan.sessions if find_block(label) == block]
    runs = tuple(run for run in plan.runs if run.session in labels)
    sessions = find_sessions(archive, plan.campaign)
    of_block = {label: session for label, session in sessions.items() if label in labels}
    return Collection(replace(plan, sessions=tuple(labels), runs=runs), archive, declaration, of_block)


def _find_calibrations(plan: Plan, archive: Path, place: Place) -> dict[str, Path]:
    """Return calibrations of this side's other blocks, by label: exact clocks shape the paths of all blocks alike."""
    if place.clock != "virtual":
        return {}
    known = {}
    for label, session in find_sessions(archive, plan.campaign).items():
        if (session / CALIBRATION).exists():
            known[name_session(label)] = session / CALIBRATION
    return {label: known[name_session(label)] for label in plan.sessions if name_session(label) in known}


def _find_clocks(collection: Collection, plans: dict[str, Plan], archive: Path) -> dict[str, str]:
    """Return when the clocks of sessions start that the other side has made: what is lost at random depends on it."""
    others = [plan.campaign for plan in plans.values() if plan.campaign != collection.plan.campaign]
    made = {label: path for other in others for label, path in find_sessions(archive, other).items()}
    return {label: read_clock(made[label]) for label in collection.plan.sessions if label in made}


def _find_pair_s(plans: dict[str, Plan], archive: Path) -> float | None:
    """Return how long the runs of a whole block took on both sides, in s of this machine; null if nothing is known."""
    total, blocks = 0.0, set[int]()
    for plan in plans.values():
        for label, session in find_sessions(archive, plan.campaign).items():
            blocks.add(find_block(label))
            total += sum(attempt.elapsed_s or 0.0 for attempt in read_attempts(session) if attempt.outcome in KEPT)
    return total / len(blocks) if blocks else None


def build_database(archive: Path, folder: Path, cores: int) -> Path:
    """Build the tables of an archive below a folder, and return its database; raise InputError with the log's end.

    Suspect runs count. Rules compare a run with its siblings; of runs in virtual time, which differ by next to nothing,
    they call any suspect that differs at all, and a run that is left out takes its pair with it.
    """
    results = folder.resolve() / "results"
    paths = {"results": str(results), "logs": str(folder.resolve() / "logs")}
    values = {"archive": str(archive.resolve()), "evaluation": EVALUATION, "sections": [], "pathvars": paths}
    pairs = [f"{name}={json.dumps(value)}" for name, value in values.items()]
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--nolock", "database"]
    done = subprocess.run(  # noqa: S603 (no shell is between)
        [*command, "--config", "explanations=", "include_suspect=True", *pairs],
        cwd=ROOT,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InputError(f"the tables of {archive} could not be built: {(done.stdout + done.stderr).strip()[-1500:]}")
    return results / EVALUATION / "archive.duckdb"
