"""Archives of real harness files whose runs vary by chance about rates that a test knows, and their databases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import numpy as np
from synthesise.draws import Run, draw_runs
from synthesise.files import files_of_job
from synthesise.plan import DESTINATIONS, FIRST_SESSION, NETEM, Client, Job, Order, Point
from synthesised import Made, build

from ccreport.measure.suspects.measure import measure_suspects
from ccreport.summarise.database import list_views

GOODPUT_BPS: Final = 4e9
RETRANSMIT_RATIO: Final = 0.002
RETRANSMIT_CV: Final = 0.3


@dataclass(frozen=True)
class Drawing:
    """An archive to draw: how many runs each algorithm has at each loss (%) and RTT (ms), all of a single flow.

    A rate is lognormal with this coefficient of variation about GOODPUT_BPS times the algorithm's factor.
    """

    factors: Mapping[str, float]
    runs: Mapping[tuple[float, float], int]
    cv: float
    seed: int


def draw_archive(drawing: Drawing, folder: Path) -> Made:
    """Write the archive, one job for each condition and algorithm, with one run after the other."""
    order = Order(1, drawing.seed, max(drawing.runs.values()), 1, 10, 0, 8000)
    for job, runs in _draw_jobs(drawing, order):
        place = folder / job.session / job.name
        place.mkdir(parents=True)
        for file in files_of_job(order, job, runs):
            (place / file.name.decode()).write_bytes(file.content)
    return Made(folder)


def _draw_jobs(drawing: Drawing, order: Order) -> Iterator[tuple[Job, list[Run]]]:
    rng = np.random.default_rng(drawing.seed)
    cases = [(*path, *factor) for path in drawing.runs.items() for factor in drawing.factors.items()]
    for number, ((loss_pct, rtt_ms), runs, cc, factor) in enumerate(cases):
        start = FIRST_SESSION + timedelta(hours=number)
        rates = GOODPUT_BPS * factor * rng.lognormal(0, drawing.cv, runs)
        ratios = RETRANSMIT_RATIO * rng.lognormal(0, RETRANSMIT_CV, runs)
        points = [
            Point("", rtt_ms, loss_pct, None, None, rate, 0, 1.005, ratio)
            for rate, ratio in zip(rates.tolist(), ratios.tolist(), strict=True)
        ]
        job = Job(
            number=number,
            session=f"{start:%Y-%m-%d:%H:%M}",
            name=f"{cc}_p1_{number}",
            start=start,
            client=Client("iperf3", "3.17.1"),
            ss_version="6.4",
            path=NETEM,
            destination=DESTINATIONS[0],
            cc=cc,
            is_mixed=False,
            flows_count=1,
            mss_bytes=8948,
            line_rate_bps=10**10,
            points=(points[0],),
        )
        yield job, [_draw_run(order, job, point, step) for step, point in enumerate(points)]


def _draw_run(order: Order, job: Job, point: Point, step: int) -> Run:
    """Return a run with exactly the rate and ratio of a point: that of a job with no other run."""
    (run,) = draw_runs(order, replace(job, number=job.number * order.runs_per_job + step, points=(point,)), [None])
    # All processors are as busy, so that no run is suspect.
    start_us = run.start_us + step * order.run_s * 1_000_000
    return replace(run, iteration=step + 1, start_us=start_us, cpu_idle_pct=60.0)


def build_drawn(drawing: Drawing, folder: Path, evaluation: Path) -> Path:
    """Draw an archive, read and measure it as the rules do, and return its database."""
    made, work = draw_archive(drawing, folder / "archive"), folder / "work"
    built = build(made, work)
    assert built.tables["rejects"].is_empty()
    assert built.tables["runs"].height == sum(drawing.runs.values()) * len(drawing.factors)
    batches, tables, database = work / "batches.txt", work / "tables", folder / "archive.duckdb"
    measure_suspects(batches, tables, tables / "suspects/archive.parquet")
    list_views(batches, tables, evaluation, database)
    return database
