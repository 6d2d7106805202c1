"""A program measured from outside: wall and CPU seconds, the memory of all its processes, bytes written, its lines.

CPU seconds and bytes are the kernel's, of the program and of all that it waited for (wait4(2), getrusage(2)). Memory is
the sum of the proportional set sizes (PSS, so that a shared page counts once) of all processes of its session, looked
at several times a second: a peak between two looks is missed.
"""

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

LOOK_EVERY_S = 0.2
# ru_oublock counts in these, whatever the file system.
BLOCK_BYTES = 512


@dataclass(frozen=True)
class Measured:
    """What one call of a program took; `lines` are those it printed, each with the second at which it came."""

    seconds: float
    cpu_s: float
    peak_memory_bytes: int
    written_bytes: int
    lines: list[tuple[float, str]] = field(default_factory=list, repr=False, compare=False)


def run_measured(
    command: Sequence[str | Path], folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Measured:
    """Run a program to its end in a session of its own; raise RuntimeError with its last lines where it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=None if environment is None else dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    assert process.stdout is not None
    peaks, ended = [0], threading.Event()
    watcher = threading.Thread(target=_watch_memory, args=(process.pid, peaks, ended))
    watcher.start()
    lines = [(time.perf_counter() - start, line.rstrip("\n")) for line in process.stdout]
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    # Popen has not seen the end.
    process.returncode = os.waitstatus_to_exitcode(status)
    ended.set()
    watcher.join()
    if process.returncode:
        last = "\n".join(line for _, line in lines[-60:])
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{last}")
    return Measured(seconds, usage.ru_utime + usage.ru_stime, peaks[0], usage.ru_oublock * BLOCK_BYTES, lines)


def _watch_memory(session: int, peaks: list[int], ended: threading.Event) -> None:
    while True:
        peaks[0] = max(peaks[0], sum_memory(session))
        if ended.wait(LOOK_EVERY_S):
            return


def sum_memory(session: int) -> int:
    """Return the bytes of memory of all processes of a session."""
    return sum(_read_pss(process) for process in Path("/proc").glob("[0-9]*") if _read_session(process) == session)


def _read_session(process: Path) -> int | None:
    try:
        # 4242 (name) S 1 4242 4242 …: the name may hold blanks and brackets.
        return int((process / "stat").read_text(errors="replace").rpartition(")")[2].split()[3])
    except (OSError, IndexError):
        return None


def _read_pss(process: Path) -> int:
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def summarise_repeats(repeats: Sequence[Measured]) -> dict[str, Any]:
    """Return the medians of the seconds, CPU seconds, memory and bytes of repeated calls, and how many there were."""
    rows = [{name: value for name, value in asdict(repeat).items() if name != "lines"} for repeat in repeats]
    medians = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    rounded = {name: round(value, 3) if name in ("seconds", "cpu_s") else int(value) for name, value in medians.items()}
    return {"repeats": len(rows), **rounded}
