"""The runs of a job, drawn so that every condition has exactly the mean, the deviation and the ratio chosen for it.

The rates of a condition are standard scores times the chosen deviation, above the chosen mean: their sample mean and
sample CV are the chosen ones whatever was drawn. What the files tell are whole bytes, which moves a rate by less than
8 bit over the duration. Retransmitted segments are shared out so that their sum is the nearest whole number to the
chosen ratio's. Runs whose defect keeps them out of the condition are drawn beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from .defects import MOVED, UNCOUNTED
from .plan import HOST_DEFAULT, RETRY_S, Job, Order, Point

Floats = npt.NDArray[np.float64]
# The cookie that iperf3 sends on each connection before data.
COOKIE_BYTES: Final = 37
PORT: Final = 5201
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Flow:
    """One TCP connection of a run; `segments` is what left the host, retransmissions included."""

    socket: int
    local_port: int
    cc: str
    sender_bytes: int
    receiver_bytes: int
    retransmits: int
    segments: int
    rtt_min_us: int


@dataclass(frozen=True)
class Run:
    """One run; times in µs, `start_us` since 1970."""

    number: int
    point: Point
    iteration: int
    defect: str | None
    start_us: int
    sender_us: int
    receiver_us: int
    cpu_idle_pct: float
    flows: tuple[Flow, ...]

    @property
    def is_counted(self) -> bool:
        """Return whether the run's rate counts in means."""
        return self.defect not in UNCOUNTED

    @property
    def is_in_condition(self) -> bool:
        """Return whether the run is one of those that the condition's mean is taken over."""
        return self.is_counted and self.defect not in MOVED


def draw_runs(order: Order, job: Job, defects: Sequence[str | None]) -> list[Run]:
    """Return the runs of a job, one for each defect or None, in the order of their start."""
    runs: list[Run] = []
    first = job.number * order.runs_per_job
    for place, point in enumerate(job.points):
        steps = range(place, len(defects), len(job.points))
        rng = np.random.default_rng([order.seed, 3, job.number, place])
        is_in = np.array([defects[step] not in UNCOUNTED | MOVED for step in steps], np.bool_)
        rates = point.goodput_bps * (1 + point.goodput_cv * draw_scores(rng, is_in))
        retransmits = point.retransmit_ratio / (1 - point.retransmit_ratio)
        carry = 0.0
        for step, rate, counts in zip(steps, rates.tolist(), is_in.tolist(), strict=True):
            run_rng = np.random.default_rng([order.seed, 4, first + step])
            run, rest = _draw_run(order, job, point, step, rate, defects[step], run_rng, retransmits, carry)
            carry = rest if counts else carry
            runs.append(run)
    return sorted(runs, key=lambda run: run.number)


def draw_scores(rng: np.random.Generator, is_in: npt.NDArray[np.bool_]) -> Floats:
    """Return a score for each run; those that are in have mean 0 and sample deviation 1 (one alone has 0)."""
    scores: Floats = rng.uniform(-1.5, 1.5, len(is_in))
    chosen = scores[is_in]
    if len(chosen) > 1:
        centred = chosen - chosen.mean()
        scores[is_in] = centred / np.sqrt((centred**2).sum() / (len(chosen) - 1))
    else:
        scores[is_in] = 0
    return scores


def _draw_run(
    order: Order,
    job: Job,
    point: Point,
    step: int,
    rate: float,
    defect: str | None,
    rng: np.random.Generator,
    ratio: float,
    carry: float,
) -> tuple[Run, float]:
    """Return a run, and what its whole numbers of retransmits leave to the next one's."""
    sender_us = order.duration_s * 1_000_000 + int(rng.integers(50, 9000))
    # Until 3.7 the receiver's totals stand in the sender's time.
    is_old = job.client.release < 7
    receiver_us = sender_us if is_old else sender_us + int(rng.integers(10, 1 + order.duration_s * 4000))
    shares = rng.uniform(0.5, 1.5, job.flows_count)
    received = share_out(rate * receiver_us / 8e6, shares)
    sent = share_out(rate * point.throughput_ratio * sender_us / 8e6, shares)
    fresh = [-(-(count + COOKIE_BYTES) // job.mss_bytes) for count in sent]
    weights = np.array(fresh) * rng.uniform(0.5, 1.5, job.flows_count)
    wanted = ratio * sum(fresh) + carry
    retransmits = share_out(wanted, weights)
    port = 32768 + int(rng.integers(0, 25_000))
    minima = (1000 * point.rtt_ms * rng.uniform(1.0, 1.05, job.flows_count)).astype(int).tolist()
    flows = tuple(
        Flow(
            socket=5 + 2 * number,
            local_port=port + 2 + 2 * number,
            cc=HOST_DEFAULT if job.is_mixed and number % 2 else job.cc,
            sender_bytes=sent[number],
            receiver_bytes=received[number],
            retransmits=retransmits[number],
            segments=fresh[number] + retransmits[number],
            rtt_min_us=minima[number],
        )
        for number in range(job.flows_count)
    )
    start_s = int((job.start - EPOCH).total_seconds()) + step * order.run_s + RETRY_S
    run = Run(
        number=job.number * order.runs_per_job + step,
        point=point,
        iteration=step // len(job.points) + 1,
        defect=defect,
        start_us=start_s * 1_000_000 + int(rng.integers(0, 900)) * 1000,
        sender_us=sender_us,
        receiver_us=receiver_us,
        cpu_idle_pct=round(float(rng.uniform(5, 95)), 2),
        flows=flows,
    )
    return run, wanted - sum(retransmits)


def share_out(total: float, weights: Floats) -> list[int]:
    """Return whole numbers in the proportion of the weights, whose sum is the nearest to the total."""
    *sums, last = accumulate(weights.tolist())
    whole = round(total)
    # Plain numbers: they are few, and calls of numpy would take longer than they save.
    ends = [0, *(round(part / last * whole) for part in sums), whole]
    return [end - start for start, end in pairwise(ends)]
