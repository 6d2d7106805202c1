"""The order in which the runs of a session are made, and when in virtual time each of them begins."""

import math
import random
from collections.abc import Iterable, Sequence
from datetime import datetime

from ccreport.collect.plan import Run, Testbed

# Between one run and the next, and before the first, in which the session is calibrated.
PAUSE_S = 10
CALIBRATION_S = 600


def order_runs(runs: Iterable[Run], testbed: Testbed) -> list[Run]:
    """Return runs in the order in which they are made: session by session, each iteration a shuffled block.

    Every run draws its own place from the seed, so that a run that is added, or is done already, moves no other.
    """
    if testbed.order == "declared":
        return list(runs)
    sessions: dict[str, int] = {}

    def find_place(run: Run) -> tuple[int, int, float]:
        drawn = random.Random(f"{testbed.seed}/{run.key}").random()  # noqa: S311
        return sessions.setdefault(run.session, len(sessions)), run.iteration, drawn

    return sorted(runs, key=find_place)


def place_in_time(began: datetime, ordered: Sequence[Run] = (), run: Run | None = None) -> int:
    """Return when a run begins that is made one after another with those before it, in ns since 1970.

    Without a run it is the beginning of the session. Virtual clocks start there, so that times in an archive follow
    each other as those of a session in real time do.
    """
    start_s = math.floor(began.timestamp())
    if run is not None:
        before = ordered[: ordered.index(run)]
        start_s += CALIBRATION_S + sum(math.ceil(run.expected_s) + PAUSE_S for run in before)
    return start_s * 1_000_000_000
