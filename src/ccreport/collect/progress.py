"""The progress of a sweep on standard error: run, percent and time left, in one line, all of the runs to be made.

Runs that an earlier call completed are told of once, by `describe_earlier`. On a terminal the line is written over
itself; elsewhere, as in a log or below `snakemake`, each run has a line.
"""

import sys
import threading
import time
from collections.abc import Sequence

from ccreport.collect.plan import Run


class Progress:
    """How far a sweep is, by the time that its runs are expected to take; several threads may tell it."""

    def __init__(self, missing: Sequence[Run]) -> None:
        self.start = time.monotonic()
        self.count = len(missing)
        # Runs as they began: several are under way at a time.
        self.numbers: dict[str, int] = {}
        self.left_s = sum(run.expected_s for run in missing)
        self.done_s = 0.0
        self.lock = threading.Lock()

    def tell(self, run: Run, what: str = "") -> None:
        """Show which run is under way, and what is to be said of it."""
        with self.lock:
            _write(describe_progress(self, run, what, time.monotonic() - self.start))

    def tell_calibration(self, session: str) -> None:
        """Show that the testbed is being measured before a session's runs."""
        with self.lock:
            _write(f"session {session}: calibration")

    def finish(self, run: Run) -> None:
        """Count a run that is over, completed or given up."""
        with self.lock:
            self.done_s += run.expected_s
            self.left_s -= run.expected_s

    def say(self, line: str) -> None:
        """Write a line that stays."""
        with self.lock:
            _write(line, is_lasting=True)

    def end(self) -> None:
        """Leave the last line where it is."""
        if sys.stderr.isatty():
            print(file=sys.stderr)


def describe_earlier(earlier_count: int, missing_count: int) -> str:
    """Return what an earlier call has left to do: `4 of 12 runs are already there, 8 are left to make`."""
    is_one = earlier_count == 1
    return (
        f"{earlier_count:,} of {earlier_count + missing_count:,} runs {'is' if is_one else 'are'} already there, "
        f"{missing_count:,} {'is' if missing_count == 1 else 'are'} left to make"
    )


def describe_progress(progress: Progress, run: Run, what: str, elapsed_s: float) -> str:
    """Return the line: `run 3 of 12 (17 %, 0:04:10 left)  session/job/suffix`."""
    share = progress.done_s / (progress.done_s + progress.left_s) if progress.done_s + progress.left_s else 1.0
    # Once there is something to go by, the plan's times are corrected by what they took.
    pace = elapsed_s / progress.done_s if progress.done_s else 1.0
    number = progress.numbers.setdefault(run.key, len(progress.numbers) + 1)
    percent = int(100 * share)
    left = format_duration(progress.left_s * pace)
    return f"run {number} of {progress.count} ({percent} %, {left} left)  {run.key}{f': {what}' if what else ''}"


def format_duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds: 4000 s is 1:06:40."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _write(line: str, *, is_lasting: bool = False) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="\n" if is_lasting else "", file=sys.stderr, flush=True)
    else:
        print(line, file=sys.stderr, flush=True)
