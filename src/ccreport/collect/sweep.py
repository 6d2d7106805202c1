"""A sweep being carried out: session after session, each calibrated, then its missing runs dealt out to the slots."""

import shutil
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ccreport.collect.attempts import Attempt, count_attempts, read_attempts
from ccreport.collect.calibrations import join_calibrations, list_failed, list_uncalibrated
from ccreport.collect.declare.describe import list_warnings
from ccreport.collect.declare.order import order_runs, place_in_time
from ccreport.collect.engines import Place
from ccreport.collect.kept_runs import describe_other_testbed, list_changed, list_other_keys
from ccreport.collect.plan import Plan, Run
from ccreport.collect.progress import Progress, describe_earlier
from ccreport.collect.sessions import (
    CALIBRATION,
    DECLARATION,
    SESSION,
    describe_job,
    is_complete,
    make_session,
    read_clock,
    read_json,
    write_json,
)
from ccreport.collect.slots import Slot
from ccreport.core.errors import InputError

# Of a long list.
SHOWN_COUNT: Final = 5
OUT_OF_CALIBRATION: Final = (
    "change the path of these jobs, take them out, or measure all as they are with "
    "`testbed: {calibration: {on_failure: warn}}`"
)


@dataclass
class Collection:
    """The state of a sweep: `sessions` by label, and of the runs that were given up, by key, why.

    `calibrations` are of the same paths, by the same kernel and virtual clock: that of a session is found by its label.
    So is in `clocks` the time at which a new session's virtual clock starts, where that is not now.
    """

    plan: Plan
    archive: Path
    declaration: Path
    sessions: dict[str, Path]
    failures: dict[str, str] = field(default_factory=dict)
    calibrations: Mapping[str, Path] = field(default_factory=dict)
    clocks: Mapping[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: threading.Event = field(default_factory=threading.Event)

    def list_missing(self) -> list[Run]:
        """Return the runs that are not complete, in the plan's order."""
        return [
            run
            for run in self.plan.runs
            if run.session not in self.sessions or not is_complete(self.sessions[run.session], run)
        ]

    def check_fingerprints(self) -> None:
        """Raise an InputError that names the complete runs whose jobs have other settings now."""
        changed = {
            label: list_changed(session, [run for run in self.plan.runs if run.session == label])
            for label, session in self.sessions.items()
        }
        if keys := [key for own in changed.values() for key in own]:
            jobs = list(dict.fromkeys(key.rpartition("/")[0] for key in keys))
            first = next(self.sessions[label] for label, own in changed.items() if own)
            others = list_other_keys(first, self.declaration)
            raise InputError(
                f"the declaration of {len(keys)} {'run that is' if len(keys) == 1 else 'runs that are'} already in "
                f"{self.archive} has changed: {_list_some(others) or _list_some(keys)}; give "
                f"{'the job' if len(jobs) == 1 else 'the jobs'} {_list_some(jobs)} another name, collect into another "
                "folder, or remove these runs' files first"
            )

    def list_other_testbeds(self) -> list[str]:
        """Return warnings of sessions whose complete runs have another seed, order or clock than is declared now."""
        missing = {run.key for run in self.list_missing()}
        counts = Counter(run.session for run in self.plan.runs if run.key not in missing)
        told = {label: describe_other_testbed(self.sessions[label], self.plan.testbed) for label in counts}
        return [
            f"warning: {f'{count:,} runs' if count > 1 else 'a run'} of session {label} "
            f"{'were' if count > 1 else 'was'} made with {told[label]} and will be kept; to measure again, collect "
            "into another folder"
            for label, count in counts.items()
            if told[label]
        ]

    def carry_out(self, place: Place, partial: Path) -> None:
        """Make all missing runs, each attempted as often as the plan allows."""
        missing = order_runs(self.list_missing(), self.plan.testbed)
        progress = Progress(missing)
        if earlier_count := len(self.plan.runs) - len(missing):
            progress.say(describe_earlier(earlier_count, len(missing)))
        hostnames = {(job.session, job.name): str(job.metadata.get("hostname", "sender")) for job in self.plan.jobs}
        count = max(min(self.plan.testbed.parallel_count, len(missing)), 1)
        slots = [
            Slot(self.plan, place, number, partial / f"slot-{number}", hostnames) for number in range(1, count + 1)
        ]
        try:
            for label in self.plan.sessions:
                of_session = [run for run in missing if run.session == label]
                if of_session:
                    self._prepare_session(label, of_session, slots[0], progress)
                    self._deal(of_session, slots, progress)
        finally:
            self.stopped.set()
            for slot in slots:
                slot.close()
            progress.end()

    def _prepare_session(self, label: str, missing: Sequence[Run], slot: Slot, progress: Progress) -> None:
        """Have the session's folder with what describes it, and a calibration that allows to go on."""
        now = datetime.now(UTC).replace(microsecond=0)
        slot.make_ready(missing[0].module_parameters, place_in_time(now))
        machine = slot.machine
        runs = [run for run in self.plan.runs if run.session == label]
        planned = {"planned_runs_count": len(runs), "expected_s": round(sum(run.expected_s for run in runs), 1)}
        if label not in self.sessions:
            described: dict[str, Any] = {"campaign": self.plan.campaign, "title": self.plan.title, "label": label}
            described |= self._describe_place(slot.place) | {key: machine[key] for key in machine if key != "event"}
            if label in self.clocks:
                described["clock_started_utc"] = self.clocks[label]
            self.sessions[label] = make_session(self.archive, described | planned, self.declaration, now)
        session = self.sessions[label]
        self._check_place(session, slot.place)
        # The declaration may have changed since.
        shutil.copyfile(self.declaration, session / DECLARATION)
        write_json(session / SESSION, read_json(session / SESSION) | planned)
        for job in self.plan.jobs:
            if job.session == label:
                describe_job(session, job, machine["kernel"])
        if label in self.calibrations and not (session / CALIBRATION).exists():
            shutil.copyfile(self.calibrations[label], session / CALIBRATION)
        known = self._read_good_calibration(session)
        if uncalibrated := list_uncalibrated(runs, known):
            progress.tell_calibration(label)
            earlier = read_json(session / CALIBRATION).get("attempt", 1) if (session / CALIBRATION).exists() else 0
            told = slot.calibrate(uncalibrated, self._start_ns(session), earlier + 1)
            write_json(session / CALIBRATION, join_calibrations(known, told) if known else told)
        self._judge_calibration(read_json(session / CALIBRATION), progress)

    def _describe_place(self, place: Place) -> dict[str, Any]:
        """Return what a session records of where, by which clock and in which order it was measured."""
        testbed = self.plan.testbed
        described: dict[str, Any] = {"engine": place.engine, "clock": place.clock}
        described |= {"seed": testbed.seed, "order": testbed.order}
        if place.kernel is None:
            return described
        patches = list(testbed.kernel_patches)
        # Of a kernel from elsewhere nobody knows unless its campaign says so.
        is_patched = True if patches else False if place.kernel.source else None
        return described | place.kernel.describe() | {"kernel_patches": patches, "is_kernel_patched": is_patched}

    def _check_place(self, session: Path, place: Place) -> None:
        """Raise an InputError where a session was begun by another clock or with another kernel."""
        told = read_json(session / SESSION)
        now = self._describe_place(place)
        for key in ("clock", "kernel_sha256"):
            if key in told and told[key] != now.get(key):
                raise InputError(
                    f"{session.name} was begun with {key} {told[key]}, and this is {now.get(key)}; "
                    "name the same kernel and clock, or collect into another folder"
                )

    def _start_ns(self, session: Path, run: Run | None = None) -> int:
        """Return when the virtual clock of a run of a session starts; without a run, that of the session itself."""
        began = datetime.fromisoformat(read_clock(session))
        if run is None:
            return place_in_time(began)
        of_session = [planned for planned in self.plan.runs if planned.session == run.session]
        return place_in_time(began, order_runs(of_session, self.plan.testbed), run)

    def _read_good_calibration(self, session: Path) -> dict[str, Any] | None:
        """Return a stored calibration that need not be made again; one that stopped a sweep has to be."""
        path = session / CALIBRATION
        if not path.exists():
            return None
        stored = read_json(path)
        is_within = all(probe["is_within"] for probe in stored["measurements"])
        return stored if is_within or self.plan.testbed.on_failed_calibration == "warn" else None

    def _judge_calibration(self, calibration: dict[str, Any], progress: Progress) -> None:
        for warning in list_warnings(self.plan, calibration.get("capacity_bps")):
            progress.say(f"warning: {warning}")
        told = list_failed(calibration, self.plan.runs)
        if told and self.plan.testbed.on_failed_calibration == "stop":
            raise InputError(f"calibration failed: {'; '.join(told)}; {OUT_OF_CALIBRATION}")
        for line in told:
            progress.say(f"warning: calibration: {line}")

    def _deal(self, runs: Sequence[Run], slots: Sequence[Slot], progress: Progress) -> None:
        """Let each slot take the next run as soon as it is free."""
        waiting = iter(runs)

        def work(slot: Slot) -> None:
            while not self.stopped.is_set():
                with self.lock:
                    run = next(waiting, None)
                if run is None:
                    return
                self._make(run, slot, progress)

        with ThreadPoolExecutor(len(slots)) as pool:
            working = [pool.submit(work, slot) for slot in slots]
            try:
                for ended in as_completed(working):
                    ended.result()
            except BaseException:
                # Threads that wait for their testbed wake up when it ends.
                self.stopped.set()
                for slot in slots:
                    slot.close()
                raise

    def _make(self, run: Run, slot: Slot, progress: Progress) -> None:
        """Attempt a run until it is complete or given up, as one is at once that would fail each time."""
        session, testbed = self.sessions[run.session], self.plan.testbed
        before = count_attempts(read_attempts(session), run.job, run.suffix)
        attempt: Attempt | None = None
        for number in range(1, testbed.retries_count + 2):
            progress.tell(run, f"attempt {number}" if number > 1 else "")
            is_last = number == testbed.retries_count + 1
            attempt, may_differ = slot.attempt(
                run,
                before + number,
                session,
                self._start_ns(session, run),
                keeps_cpu_bound=is_last or not testbed.retries_cpu_bound,
            )
            if is_complete(session, run) or self.stopped.is_set():
                break
            progress.say(f"{run.key}: {attempt.outcome}{f': {attempt.message}' if attempt.message else ''}")
            if not may_differ:
                break
        if attempt is not None and not is_complete(session, run):
            self.failures[run.key] = attempt.message or attempt.outcome
        progress.finish(run)


def _list_some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_COUNT]) + (" …" if len(names) > SHOWN_COUNT else "")
