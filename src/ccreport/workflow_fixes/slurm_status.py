"""What Slurm is asked: how long its controller remembers jobs that ended, and how often, how jobs are.

Snakemake's executor asks the controller for `MinJobAge` each time before it asks about jobs (version 2.8 of
snakemake-executor-plugin-slurm). Where a controller that is down gives no answer, it takes sacct for squeue, and a
cluster without an accounting database then never tells how its jobs ended: the build waits for them for ever.

Between two questions about jobs it waits ten seconds longer each time that none has ended, which is polite to a
cluster of others, and half the time of a build of short jobs. POLL_VARIABLE is the most seconds to wait, on a cluster
of one's own.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

POLL_VARIABLE: Final = "CCREPORT_SLURM_SECONDS"


def keep_answer(*modules: ModuleType) -> None:
    """Ask the controller, and let `get_min_job_age` of all modules give its last answer, in s, where it gives none."""
    ask: Callable[[], int | None] = modules[0].get_min_job_age
    known = ask()

    def ask_or_recall() -> int | None:
        nonlocal known
        answer = ask()
        if answer is not None:
            known = answer
        return known

    for module in modules:
        module.get_min_job_age = ask_or_recall  # type: ignore[attr-defined]


def ask_often(executor: Any, seconds: int) -> None:
    """Let an executor class wait for so many seconds at most between two questions about jobs."""
    waited = executor.next_seconds_between_status_checks
    executor.next_seconds_between_status_checks = waited.getter(lambda self: min(waited.fget(self), seconds))
