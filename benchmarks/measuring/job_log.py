"""Snakemake's log, its lines stamped as they came: which jobs ran, and how long.

The stamps in the log itself have whole seconds, too coarse for jobs of one. What is read is what Snakemake 9 prints:

    localrule list_views:
        jobid: 12
        threads: 2
    Finished jobid: 12 (Rule: list_views)
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ccreport.__main__ import COMMANDS

STARTED = re.compile(r"\s*(?:local)?(?:rule|checkpoint) (\w+):")
# "    jobid: 12" · "    threads: 2"
SETTING = re.compile(r"\s+(jobid|threads): (\d+)")
FINISHED = re.compile(r"Finished jobid: (\d+)\b.*")


@dataclass
class Job:
    """One job: its rule, as `name_command` has it, its cores, and when it was announced and reported as finished."""

    rule: str
    begin_s: float
    threads: int = 1
    end_s: float | None = None

    @property
    def core_s(self) -> float:
        """Return the seconds for which the job held cores, times their number; 0 where it did not finish."""
        return 0.0 if self.end_s is None else (self.end_s - self.begin_s) * self.threads


def read_jobs(lines: Iterable[tuple[float, str]]) -> list[Job]:
    """Return the jobs of a log, those that only name targets too, in the order in which they began."""
    jobs: list[Job] = []
    by_id: dict[str, Job] = {}
    for second, line in lines:
        if started := STARTED.fullmatch(line):
            jobs.append(Job(name_command(started[1]), second))
        elif (setting := SETTING.fullmatch(line)) and jobs:
            if setting[1] == "jobid":
                by_id[setting[2]] = jobs[-1]
            else:
                jobs[-1].threads = int(setting[2])
        elif (finished := FINISHED.fullmatch(line)) and finished[1] in by_id:
            by_id[finished[1]].end_s = second
    return jobs


def name_command(rule: str) -> str:
    """Return the subcommand that a rule runs: its name, or its name without an evaluation's; else the rule."""
    return max((command for command in COMMANDS if f"{rule}_".startswith(f"{command}_")), key=len, default=rule)


def count_jobs(jobs: Iterable[Job], target: str) -> dict[str, int]:
    """Return how many jobs of each rule finished, by name; the target's own rule does nothing and is left out."""
    return dict(sorted(Counter(job.rule for job in jobs if job.end_s is not None and job.rule != target).items()))
