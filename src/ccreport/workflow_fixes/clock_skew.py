"""Results that seem to be younger than now, since the clock was set back after they were made.

Snakemake makes again what is older than its inputs. A result from the future would be younger than any change of these
until the clock has caught up. Then all results are given old times, in the order that they have: what is made of the
archive or of the code is made again, and of the results what is younger than what it was made into.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ccreport.core.atomic_files import replace_text
from ccreport.core.errors import InputError

# Clocks of file servers differ by less from ours: that is waited out.
AHEAD_S: Final = 60
# 1980-01-01, the first day of which zip knows.
OLD_S: Final = 315_532_800
NS_PER_S: Final = 10**9
# The file below the results that says how often this happened.
COUNT: Final = ".set_backs.txt"
# Some file systems know whole seconds only.
STEP_NS: Final = NS_PER_S
# Snakemake looks at none of these: copies of the archive, and what was written last of tables.
UNSEEN: Final = ("archive", "fetched", ".kept")


def check_sources(sources: Iterable[Path]) -> None:
    """Raise InputError where a file that results are made of is of the future, as they would never be younger.

    Where its time comes within a minute, wait until it has.
    """
    times = {path: path.stat().st_mtime for path in sources}
    youngest = max(times, key=times.__getitem__)
    ahead_s = times[youngest] - time.time()
    if ahead_s > AHEAD_S:
        raise InputError(f"{youngest} has a time in the future: set the clock, or `touch {youngest}`")
    time.sleep(max(ahead_s, 0.0))


def count_set_backs(results: Path) -> int:
    """Return how often a results folder was given old times, one more where it has times in the future; change nothing.

    A build records this number when it begins, and finds it again afterwards.
    """
    count = results / COUNT
    before = int(count.read_text(encoding="ascii")) if count.exists() else 0
    return before + (_find_ahead_s(dict(_iterate_times(results))) > AHEAD_S)


def backdate_results(results: Path) -> int:
    """Give old times to a results folder in which some are in the future; return how many files these were.

    Where the future begins within a minute, wait until it has.
    """
    times = dict(_iterate_times(results))
    ahead_s = _find_ahead_s(times)
    if ahead_s <= AHEAD_S:
        time.sleep(max(ahead_s, 0.0))
        return 0
    replace_text(results / COUNT, str(count_set_backs(results)))
    now_ns = time.time() * NS_PER_S
    ranks = {time_ns: rank for rank, time_ns in enumerate(sorted(set(times.values())))}
    for path, time_ns in times.items():
        old_ns = OLD_S * NS_PER_S + ranks[time_ns] * STEP_NS
        with suppress(FileNotFoundError):
            os.utime(path, ns=(old_ns, old_ns), follow_symlinks=False)
    return sum(time_ns > now_ns and Path(path).is_file() for path, time_ns in times.items())


def _find_ahead_s(times: Mapping[str, int]) -> float:
    return max(times.values(), default=0) / NS_PER_S - time.time()


def _iterate_times(folder: Path | str) -> Iterator[tuple[str, int]]:
    """Yield path and time of all files and folders below a folder that are there, as another build may be at work."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name in UNSEEN:
                continue
            yield from _iterate_times(entry.path)
        with suppress(FileNotFoundError):
            yield entry.path, entry.stat(follow_symlinks=False).st_mtime_ns
