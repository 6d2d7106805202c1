"""The command `synthesise`: an archive of any size, made up from known numbers, with the answers beside it.

The same options give the same bytes, whatever the number of processes: each job is drawn from the seed and its number.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.core.errors import InputError

from .defects import assign_defects, parse_shares
from .draws import draw_runs
from .files import File, files_of_job
from .key import SCHEMAS, Rows, answer_job, frames_of
from .plan import Job, Order, plan_job

# Jobs that one process makes before it hands over their part of the key.
JOBS_PER_TASK: Final = 8

Task = tuple[int, list[list[str | None]]]


def synthesise(
    folder: Path,
    runs: int,
    seed: int = 1,
    runs_per_job: int = 20,
    flows: int = 4,
    duration_s: int = 10,
    sample_interval_s: float = 0.0,
    bytes_per_run: int = 150_000,
    defects: str = "",
    workers: int = 0,
) -> None:
    """Write an archive of so many runs into a new folder, and the answers into `<folder>.key`.

    `folder` is a new folder. `runs` is how many runs it gets. `seed` makes other draws. `runs_per_job` is how many runs
    a job has. `flows` is the most that a run has. `duration_s` is the time that each run says it took. ss samples are
    as dense as `bytes_per_run` allows, unless `sample_interval_s` says otherwise. `defects` is the share of runs with
    each defect (`0.01`), or shares by name (`empty_ss=0.1,…`). `workers` 0 stands for one process per core. Raise
    InputError where the folder holds something.
    """
    order = Order(runs, seed, runs_per_job, flows, duration_s, sample_interval_s, bytes_per_run)
    order.check()
    assigned = assign_defects(parse_shares(defects), runs, runs_per_job, seed)
    answers = folder.with_name(f"{folder.name}.key")
    for place in (folder, answers):
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise InputError(f"{place} exists and is not empty; name a new folder")
        place.mkdir(parents=True, exist_ok=True)
    of_jobs = [assigned[first : first + runs_per_job] for first in range(0, runs, runs_per_job)]
    tasks = [(first, of_jobs[first : first + JOBS_PER_TASK]) for first in range(0, len(of_jobs), JOBS_PER_TASK)]
    with _mapping(min(workers or len(os.sched_getaffinity(0)), len(tasks))) as apply:
        parts = list(apply(partial(write_jobs, folder, order), tasks))
    for name in SCHEMAS:
        pl.concat([part[name] for part in parts]).rechunk().write_parquet(answers / f"{name}.parquet")


@contextmanager
def _mapping(workers: int) -> Iterator[Callable[..., Iterable[dict[str, pl.DataFrame]]]]:
    """Give what maps a function over tasks in order, in this process or in several."""
    if workers == 1:
        yield map
        return
    # A process that polars runs threads in must not be forked.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool.map


def write_jobs(folder: Path, order: Order, task: Task) -> dict[str, pl.DataFrame]:
    """Write some jobs, from the first of this number on with the defects of their runs; return the key of them."""
    first, of_jobs = task
    return frames_of(
        [_write_job(folder, order, plan_job(order, first + step), its) for step, its in enumerate(of_jobs)]
    )


def _write_job(folder: Path, order: Order, job: Job, defects: list[str | None]) -> Rows:
    runs = draw_runs(order, job, defects)
    files = files_of_job(order, job, runs)
    place = folder / job.session / job.name
    place.mkdir(parents=True)
    _write_files(place, files)
    return answer_job(job, runs, files)


def _write_files(place: Path, files: list[File]) -> None:
    for file in files:
        target = place / os.fsdecode(file.name)
        if b"/" in file.name:
            target.parent.mkdir(exist_ok=True)
        target.write_bytes(file.content)
