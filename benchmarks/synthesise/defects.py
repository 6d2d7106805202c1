"""What can be wrong with a made-up run: a closed set, and which runs of an archive have it."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from ccreport.core.errors import InputError

# Of a whole job; all others are of one run.
OF_JOB: Final = "missing_jobmeta"
DEFECTS: Final = (
    "truncated_json",
    "error_only",
    "empty_ss",
    "doubled_json",
    "text_before_json",
    "cut_gzip",
    OF_JOB,
    "cut_ss",
    "interrupted",
    "two_files",
    "non_utf8_name",
    "retried",
)
# Runs with these have no rate, or one that stays out of means.
UNCOUNTED: Final = frozenset({"truncated_json", "error_only", "interrupted"})
# Their file names tell another destination, so they are of another condition.
MOVED: Final = frozenset({"non_utf8_name"})


def parse_shares(text: str) -> dict[str, float]:
    """Return the share of runs by defect from `0.01` (of each) or `empty_ss=0.1,retried=0.02`; raise InputError."""
    if not text.strip():
        return {}
    if "=" not in text:
        text = ",".join(f"{name}={text}" for name in DEFECTS)
    shares = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if name not in DEFECTS:
            raise InputError(f"--defects: {name!r} is none of {', '.join(DEFECTS)}")
        try:
            shares[name] = float(share)
        except ValueError as error:
            raise InputError(f"--defects: {share!r} is not a share of the runs, such as 0.01") from error
        if not 0 <= shares[name] <= 1:
            raise InputError(f"--defects: {share} is not a share of the runs; it lies between 0 and 1")
    return shares


def assign_defects(shares: Mapping[str, float], runs_count: int, runs_per_job: int, seed: int) -> list[str | None]:
    """Return the defect of every run, None for most: of each, its declared share to the nearest whole run.

    A defect of jobs strikes its share of the jobs. Raise InputError where the shares leave no run for one.
    """
    rng = np.random.default_rng([seed, 1])
    assigned: list[str | None] = [None] * runs_count
    jobs_count = -(-runs_count // runs_per_job)
    for job in rng.permutation(jobs_count)[: round(shares.get(OF_JOB, 0) * jobs_count)].tolist():
        first = job * runs_per_job
        assigned[first : first + runs_per_job] = [OF_JOB] * len(assigned[first : first + runs_per_job])
    free = [number for number in rng.permutation(runs_count).tolist() if assigned[number] is None]
    for name in DEFECTS:
        if name != OF_JOB and name in shares:
            count = round(shares[name] * runs_count)
            if count > len(free):
                raise InputError(f"--defects: the shares add up to more than all runs; no runs are left for {name}")
            struck, free = free[:count], free[count:]
            for number in struck:
                assigned[number] = name
    return assigned
