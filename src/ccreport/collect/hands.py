"""A hand: one testbed at work on a sweep, with its slot below `.partial`, started anew whenever it ended.

Each attempt has a journal before it begins. A testbed that ends or falls silent fails the attempt, not the sweep; one
that cannot be started at all ends the sweep.
"""

import json
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ccreport.collect.attempts import Attempt
from ccreport.collect.engines import Engine, Guest, GuestEnded, list_algorithms, start_guest
from ccreport.collect.plan import Plan, Run, to_json
from ccreport.collect.sessions import end_attempt, format_utc, write_journal
from ccreport.collect.topology import required_modules
from ccreport.errors import InputError

# A run's own limits end it before; beyond this the testbed itself no longer works.
SILENCE_LIMIT_S = 180.0
PATIENCE = 8.0
CALIBRATION_LIMIT_S = 1800.0


@dataclass
class Hand:
    """A slot, and the testbed that works in it, if one is up. Hands are numbered from 1."""

    plan: Plan
    engine: Engine
    number: int
    slot: Path
    hostnames: dict[tuple[str, str], str]
    guest: Guest | None = None
    machine: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, str] | None = None

    def make_ready(self, parameters: dict[str, str]) -> Guest:
        """Have a testbed up whose kernel has these module parameters; `machine` is what it says of itself."""
        if self.guest is None or self.parameters != parameters:
            self.close()
            self._write_spec()
            memory_bytes = self.plan.testbed.memory_bytes
            try:
                self.guest, told = start_guest(self.engine, self.slot, memory_bytes, parameters, self.number)
            except GuestEnded as error:
                raise InputError(f"the engine {self.engine} does not come up: {error}") from error
            if told["event"] == "unfit":
                raise InputError(told["message"])
            self.machine, self.parameters = told, parameters
        return self.guest

    def calibrate(self, runs: list[Run]) -> dict[str, Any]:
        """Return what a testbed measures of itself under the conditions of these runs."""
        guest = self.make_ready(runs[0].module_parameters)
        try:
            # In a file: a user-mode kernel's console takes no line above 4,095 bytes.
            numbers = [self.plan.runs.index(run) for run in runs]
            (self.slot / "calibrated.json").write_text(json.dumps(numbers), encoding="utf-8")
            guest.tell(do="calibrate", numbers="calibrated.json")
            told = guest.hear(CALIBRATION_LIMIT_S)
        except GuestEnded as error:
            raise InputError(f"calibration: {error}") from error
        if told.pop("event") == "failed":
            raise InputError(f"calibration: {told['message']}")
        return told

    def attempt(self, run: Run, number: int, session: Path, *, keeps_cpu_bound: bool) -> Attempt:
        """Make one attempt at a run, with its files in place afterwards if they are to be kept."""
        start, started = time.monotonic(), format_utc(datetime.now(UTC))
        guest = self.make_ready(run.module_parameters)
        planned = Attempt(run.suffix, run.job, number, started, None, "interrupted", None, run.fingerprint())
        write_journal(self.slot, session, planned, [])
        folder = f"attempt-{number}"
        try:
            guest.tell(do="run", number=self.plan.runs.index(run), folder=folder)
            told = guest.hear(run.expected_s * PATIENCE + SILENCE_LIMIT_S)
            outcome, message = told["outcome"], told["message"]
        except GuestEnded as error:
            outcome, message = "failed", str(error)
            self.close()
        attempt = replace(planned, outcome=outcome, message=message, elapsed_s=round(time.monotonic() - start, 3))
        is_kept = outcome == "completed" or (outcome == "cpu_bound" and keeps_cpu_bound)
        end_attempt(self.slot, folder, session, run, attempt, is_kept=is_kept)
        return attempt

    def close(self) -> None:
        """End the testbed, if one is up."""
        if self.guest is not None:
            self.guest.close()
        self.guest = None

    def _write_spec(self) -> None:
        self.slot.mkdir(exist_ok=True)
        spec = {
            "runs": to_json(self.plan.runs),
            "hostnames": [self.hostnames[run.session, run.job] for run in self.plan.runs],
            "algorithms": sorted(list_algorithms(self.plan)),
            "modules": sorted({module for run in self.plan.runs for module in required_modules(run)}),
            "packets_count": self.plan.testbed.calibration_packets_count,
        }
        (self.slot / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
