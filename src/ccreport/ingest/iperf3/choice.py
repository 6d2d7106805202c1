"""Several results in one file: which of them is the run's, and what is said of the others.

iperf3 `--logfile` appends, as does a shell's `>>` (esnet/iperf issues 24 and 1772): then tests follow one another that
have nothing to do with each other. A first try may have found the server busy, and left an object with the error.
3.16 and 3.17 can print one result twice (1688, 1716): its cookie and ports are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.json_values import Json, JsonObject, quote

WRAPPERS: Final = ("result", "result-merged")
PSCHEDULER_KEYS: Final = frozenset({"diags", "diag", "succeeded"})
# How much of a test a value is.
COMPLETE, MEASURED, FAILED, OTHER = range(4)
SPLIT: Final = "split the file into one for each test, each named as a run of its own, to keep all"


@dataclass
class Choice:
    """The position of the value that is used, and what is to be said of the others."""

    position: int
    is_doubled: bool = False
    notes: list[RawFileError] = field(default_factory=list)


def is_result(value: Json) -> bool:
    """Return whether a JSON value is a result of iperf3 or pscheduler, failed or not; no part of one is."""
    return grade(value) < OTHER


def grade(value: Json) -> int:
    """Return how much of a test a JSON value is: COMPLETE, MEASURED (it ended early), FAILED or OTHER."""
    if not isinstance(value, dict):
        return OTHER
    for key in WRAPPERS:
        wrapped = value.get(key)
        if isinstance(wrapped, dict) and wrapped.keys() & PSCHEDULER_KEYS:
            # Once only: a wrapped result wraps none, and a file may nest as deep as it likes.
            value = wrapped
            break
    is_iperf3 = isinstance(value.get("start"), dict) or isinstance(value.get("end"), dict)
    if not is_iperf3 and not value.keys() & PSCHEDULER_KEYS and not isinstance(value.get("error"), str):
        return OTHER
    if not _has_streams(value):
        return FAILED
    ended_early = value.get("error") or value.get("succeeded") is False or (is_iperf3 and not value.get("end"))
    return MEASURED if ended_early else COMPLETE


def choose_result(values: Sequence[Json], offsets: Sequence[int] | None = None) -> Choice:
    """Return which of one or more values to use: the first complete test, else the first that measured anything.

    `offsets` say where each begins in the file.
    """
    grades = [grade(value) for value in values]
    choice = Choice(grades.index(min(grades)))
    chosen = values[choice.position]
    different = []
    for position, value in enumerate(values):
        offset = offsets[position] if offsets else None
        if position == choice.position or grades[position] == OTHER:
            continue
        if _is_copy(chosen, value):
            choice.is_doubled = True
            message = "the file has the result more than once; the first copy is used"
            choice.notes.append(RawFileError("doubled", message, offset=offset))
        elif grades[position] == FAILED:
            message = f"an attempt that measured nothing is left out: {_error_of(value)}"
            choice.notes.append(RawFileError("repaired", message, offset=offset))
        else:
            different.append(offset)
    if different:
        results = "a different result" if len(different) == 1 else f"{len(different)} different results"
        message = f"{results} of other tests in the same file (appended?) left out, the first complete one is used"
        choice.notes.append(RawFileError("duplicate_run", f"{message}; {SPLIT}", offset=different[0]))
    return choice


def _has_streams(value: JsonObject) -> bool:
    for key in ("end", "summary"):
        total = value.get(key)
        if isinstance(total, list) and total:
            return True
        if isinstance(total, dict) and (total.get("streams") or _bytes_of(total) > 0):
            return True
    intervals = value.get("intervals")
    listed = intervals if isinstance(intervals, list) else []
    return any(isinstance(interval, dict) and bool(interval.get("streams")) for interval in listed)


def _bytes_of(total: JsonObject) -> float:
    sums = [total.get(key) for key in ("sum_sent", "sum_received", "sum")]
    counts = [entry.get("bytes") for entry in sums if isinstance(entry, dict)]
    return max((count for count in counts if isinstance(count, int | float)), default=0)


def _is_copy(first: Json, second: Json) -> bool:
    """Return whether two results are of one test: of the same cookie and connections, else the same in all."""
    identity = _identity(first)
    return identity == _identity(second) if identity else first == second


def _identity(value: Json) -> tuple[Json, ...]:
    start = value.get("start") if isinstance(value, dict) else None
    if not isinstance(start, dict) or not isinstance(start.get("cookie"), str):
        return ()
    return start["cookie"], start.get("connected"), "accepted_connection" in start


def _error_of(value: Json) -> str:
    error = value.get("error") if isinstance(value, dict) else None
    return quote(error) if isinstance(error, str) else "it gives no reason"
