"""How often Snakemake (9.27) looks for jobs that it could start, corrected in the process that runs a build.

It limits the jobs that it starts in a second, and so looks again a second after each look. As each job that ends is a
look as well, each begins one more endless chain of them: late in a build it would ask for the sizes of all inputs of
the jobs that wait, thousands of raw files among them, a hundred times a second.
"""

import time
from typing import Any


def keep_one_chain(scheduler_class: Any) -> None:
    """Let a scheduler plan a look only where none is planned."""
    plan = scheduler_class._schedule_reevalutation

    def plan_once(self: Any, delay: float) -> None:
        now = time.monotonic()
        if now >= getattr(self, "next_look", now):
            self.next_look = now + delay
            plan(self, delay)

    scheduler_class._schedule_reevalutation = plan_once
