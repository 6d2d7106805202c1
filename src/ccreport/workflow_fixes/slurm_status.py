"""How long a Slurm controller remembers jobs that ended, kept from before it went down.

Snakemake's executor asks the controller for `MinJobAge` each time before it asks about jobs (version 2.8 of
snakemake-executor-plugin-slurm). Where a controller that is down gives no answer, it takes sacct for squeue, and a
cluster without an accounting database then never tells how its jobs ended: the build waits for them for ever.
"""

from collections.abc import Callable
from types import ModuleType


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
