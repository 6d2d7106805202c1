"""The ledger of a session, `attempts.jsonl`: one line for each attempt to make a run, whatever came of it.

A line is appended and brought to the disk when its attempt is over. Only the last line can have been cut by a kill;
it is taken away when the ledger is opened again, and the attempt it told of is written anew from its journal.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

LEDGER: Final = "attempts.jsonl"
Outcome = Literal["completed", "cpu_bound", "host_limited", "failed", "interrupted"]
# What came of an attempt whose files are kept.
KEPT: Final = ("completed", "cpu_bound", "host_limited")


@dataclass(frozen=True)
class Attempt:
    """One attempt. `run` is the suffix; `attempt` counts from 1 for each run.

    In virtual time `seed` and `clock_start_ns`, the start of the kernel's clock in ns since 1970, are what it takes to
    make the run again; in real time both are null.
    """

    run: str
    job: str
    attempt: int
    started_utc: str
    elapsed_s: float | None
    outcome: Outcome
    message: str | None
    fingerprint: str
    seed: str | None = None
    clock_start_ns: int | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Return what names a run within its session."""
        return self.job, self.run


def read_attempts(session: Path, *, repairs: bool = True) -> list[Attempt]:
    """Return the attempts of a session in their order, and cut off a line that a kill left unfinished.

    Without `repairs` the file stays as it is: another command may be writing to it.
    """
    path = session / LEDGER
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if repairs and len(whole) < len(content):
        with path.open("r+b") as stream:
            stream.truncate(len(whole))
            os.fsync(stream.fileno())
    return [Attempt(**json.loads(line)) for line in whole.decode().splitlines()]


def append_attempt(session: Path, attempt: Attempt) -> None:
    """Write an attempt to the ledger of its session, and return when it is on the disk."""
    with (session / LEDGER).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(attempt)) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def count_attempts(attempts: list[Attempt], job: str, run: str) -> int:
    """Return how many attempts there were to make a run."""
    return sum(attempt.place == (job, run) for attempt in attempts)


def count_ended(attempts: list[Attempt], job: str, run: str) -> int:
    """Return how many attempts at a run came to an end of their own."""
    return sum(attempt.place == (job, run) and attempt.outcome != "interrupted" for attempt in attempts)
