"""A slot of a sweep: one testbed at work, with its folder below `.partial`, started anew whenever it ended.

In virtual time each run has a testbed of its own, so that nothing of one run is left in the next.

Each attempt has a journal before it begins. A testbed that ends or falls silent fails the attempt, not the sweep; one
that cannot be started at all ends the sweep.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ccreport.collect.attempts import Attempt, count_ended, read_attempts
from ccreport.collect.engines import Guest, GuestEnded, Place, list_algorithms, start_guest
from ccreport.collect.plan import Plan, Run, VirtualClock, to_json
from ccreport.collect.sessions import end_attempt, format_utc, write_journal
from ccreport.collect.testbed.topology import required_modules
from ccreport.collect.virtual_time import VirtualGuest
from ccreport.core.errors import InputError

# A run's own limits end it before; beyond this the testbed itself no longer works.
SILENCE_LIMIT_S = 180.0
PATIENCE = 8.0
CALIBRATION_LIMIT_S = 1800.0


class RefusedSettingError(InputError):
    """The kernel of a run does not take a value of its job; `problem` says which, and why."""

    def __init__(self, run: Run, problem: str) -> None:
        super().__init__(f"{run.key}: {problem}")
        self.run, self.problem = run, problem


@dataclass
class Slot:
    """A slot, and the testbed that works in it, if one is up. Hands are numbered from 1."""

    plan: Plan
    place: Place
    number: int
    folder: Path
    hostnames: dict[tuple[str, str], str]
    guest: Guest | VirtualGuest | None = None
    machine: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, str] | None = None
    is_stopped: bool = False

    def make_ready(self, parameters: dict[str, str], start_ns: int) -> None:
        """Know of the testbed what it says of itself (`machine`), with these module parameters of its kernel."""
        if self.place.clock == "virtual":
            if not self.machine:
                self._write_spec(self.plan.runs)
                with self._coming_up():
                    self.machine = self._perform(parameters, VirtualClock(start_ns, "describe"), do="describe")[0]
        else:
            self._start(parameters)

    def calibrate(self, runs: list[Run], start_ns: int, number: int = 1) -> dict[str, Any]:
        """Return what a testbed measures of itself under the conditions of these runs.

        In virtual time each `number` has another seed: a calibration made again would only say the same again.
        """
        # In a file: a user-mode kernel's console takes no line above 4,095 bytes.
        numbers = [self.plan.runs.index(run) for run in runs]
        order = {"do": "calibrate", "numbers": "calibrated.json"}
        try:
            if self.place.clock == "virtual":
                seed = f"{self.plan.testbed.seed}/{runs[0].session}/calibration"
                clock = VirtualClock(start_ns, f"{seed}/{number}" if number > 1 else seed)
                # Paths are shaped as in runs; the seed is that of the order.
                self._write_spec([replace(run, virtual_clock=clock) for run in self.plan.runs])
                (self.folder / "calibrated.json").write_text(json.dumps(numbers), encoding="utf-8")
                told = self._perform(runs[0].module_parameters, clock, **order)[-1]
            else:
                guest = self._start(runs[0].module_parameters)
                (self.folder / "calibrated.json").write_text(json.dumps(numbers), encoding="utf-8")
                guest.tell(**order)
                told = guest.hear(CALIBRATION_LIMIT_S)
        except GuestEnded as error:
            raise InputError(f"calibration: {error}") from error
        if told.pop("event") == "failed":
            raise InputError(f"calibration: {told['message']}")
        return told | {"attempt": number}

    def attempt(
        self, run: Run, number: int, session: Path, start_ns: int, *, keeps_cpu_bound: bool
    ) -> tuple[Attempt, bool]:
        """Make one attempt at a run, with its files in place afterwards if they are to be kept.

        Beside it is whether another might come to another end: not where what the campaign itself has called failed.

        Raise RefusedSettingError, with the attempt in the ledger, where the kernel refused a setting, as it would each
        time.
        """
        start, started = time.monotonic(), format_utc(datetime.now(UTC))
        clock = self._make_clock(run, session, start_ns) if self.place.clock == "virtual" else None
        if clock is None:
            self._start(run.module_parameters)
        self.folder.mkdir(exist_ok=True)
        planned = Attempt(run.suffix, run.job, number, started, None, "interrupted", None, run.fingerprint())
        if clock is not None:
            planned = replace(planned, seed=clock.seed, clock_start_ns=clock.start_ns)
        write_journal(self.folder, session, planned, [])
        folder, told = f"attempt-{number}", dict[str, Any]()
        try:
            told = self.make(run, folder, clock)
            outcome, message = told["outcome"], told["message"]
        except GuestEnded as error:
            outcome, message = ("interrupted", None) if self.is_stopped else ("failed", str(error))
            self._end_guest()
        attempt = replace(planned, outcome=outcome, message=message, elapsed_s=round(time.monotonic() - start, 3))
        is_kept = outcome in ("completed", "host_limited") or (outcome == "cpu_bound" and keeps_cpu_bound)
        end_attempt(self.folder, folder, session, run, attempt, is_kept=is_kept)
        if told.get("is_refused"):
            raise RefusedSettingError(run, f"{message}; the sweep ends here")
        return attempt, not told.get("is_wrong_call")

    def _make_clock(self, run: Run, session: Path, start_ns: int) -> VirtualClock:
        """Return the clock of an attempt. Its seed is new after one that failed, as the same one would fail again."""
        seed, ended = f"{self.plan.testbed.seed}/{run.key}", count_ended(read_attempts(session), run.job, run.suffix)
        return VirtualClock(start_ns, f"{seed}/{ended + 1}" if ended else seed)

    def make(self, run: Run, folder: str, clock: VirtualClock | None) -> dict[str, Any]:
        """Make a run once, by its virtual clock if it has one, and return its outcome; its files are in that folder.

        Raise GuestEnded where the testbed ends before.
        """
        if clock is not None:
            self._write_spec([replace(run, virtual_clock=clock)])
            return self._perform(run.module_parameters, clock, do="run", number=0, folder=folder)[-1]
        guest = self._start(run.module_parameters)
        self._refuse_if_stopped()
        guest.tell(do="run", number=self.plan.runs.index(run), folder=folder)
        return guest.hear(run.expected_s * PATIENCE + SILENCE_LIMIT_S)

    def _start(self, parameters: dict[str, str]) -> Guest:
        """Have a testbed up in real time whose kernel has these module parameters."""
        if not isinstance(self.guest, Guest) or self.parameters != parameters:
            self._end_guest()
            self._write_spec(self.plan.runs)
            memory_bytes = self.plan.testbed.memory_bytes
            with self._coming_up():
                self.guest, told = start_guest(self.place, self.folder, memory_bytes, parameters, self.number)
            if told["event"] == "unfit":
                raise InputError(told["message"])
            self.machine, self.parameters = told, parameters
        return self.guest

    @contextmanager
    def _coming_up(self) -> Iterator[None]:
        try:
            yield
        except GuestEnded as error:
            raise InputError(f"the engine {self.place.engine} does not come up: {error}") from error

    def _perform(self, parameters: dict[str, str], clock: VirtualClock, **order: Any) -> list[dict[str, Any]]:
        """Carry out an order in virtual time; return what the testbed says of itself, and its answer."""
        guest = VirtualGuest(self.place, self.folder, self.plan.testbed.memory_bytes, parameters, self.number)
        self.guest = guest
        self._refuse_if_stopped()
        told = guest.perform(clock, **order)
        if told[-1]["event"] == "unfit":
            raise InputError(told[-1]["message"])
        return told

    def close(self) -> None:
        """End the testbed, if one is up, and what it was at with it."""
        self.is_stopped = True
        self._end_guest()

    def _refuse_if_stopped(self) -> None:
        """Raise GuestEnded where `close` came before there was a testbed that it could have ended."""
        if self.is_stopped:
            raise GuestEnded("stopped")

    def _end_guest(self) -> None:
        guest, self.guest = self.guest, None
        if guest is not None:
            guest.close()

    def _write_spec(self, runs: Sequence[Run]) -> None:
        """Write what the testbed is to know to make these runs, which orders name by their place among them."""
        self.folder.mkdir(exist_ok=True)
        spec = {
            "runs": to_json(runs),
            "hostnames": [self.hostnames[run.session, run.job] for run in runs],
            "algorithms": sorted(list_algorithms(self.plan)),
            "modules": sorted({module for run in self.plan.runs for module in required_modules(run)}),
            "packets_count": self.plan.testbed.calibration_packets_count,
        }
        (self.folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
