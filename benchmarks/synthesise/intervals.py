"""What iperf3 reports of each flow in each interval, drawn so that it adds up to the run's totals."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from .draws import Run, share_out
from .plan import Job, Order

# The share of a run's bytes that its intervals may take, and what one of a flow takes.
INTERVALS_SHARE: Final = 0.25
INTERVAL_BYTES: Final = 420


@dataclass(frozen=True)
class Intervals:
    """The ends of the intervals in µs, and by flow what was sent, sent again, the windows in bytes, the times in µs."""

    ends_us: list[int]
    sent: list[list[int]]
    retransmits: list[list[int]]
    cwnd: list[list[int]]
    snd_wnd: list[list[int]]
    rtt: list[list[int]]
    rttvar: list[list[int]]

    def cut(self, count: int) -> "Intervals":
        """Return the first so many intervals."""
        columns = (self.sent, self.retransmits, self.cwnd, self.snd_wnd, self.rtt, self.rttvar)
        return Intervals(self.ends_us[:count], *([values[:count] for values in column] for column in columns))


def draw_intervals(order: Order, job: Job, run: Run) -> Intervals:
    """Return the intervals of a run: one a second, fewer where the run's files are to be small."""
    rng = np.random.default_rng([order.seed, 5, run.number])
    room = INTERVALS_SHARE * order.bytes_per_run / ((job.flows_count + 1) * INTERVAL_BYTES)
    count = int(min(order.duration_s, max(1, room)))
    ends = np.linspace(0, run.sender_us, count + 1)[1:].astype(int)
    ends[:-1] += rng.integers(0, 200, count - 1)
    weights = rng.uniform(0.8, 1.2, (job.flows_count, count))
    losses = rng.uniform(0, 1, (job.flows_count, count)) ** 4
    mss = job.mss_bytes
    segments = [max(2, flow.sender_bytes * flow.rtt_min_us // run.sender_us // mss) for flow in run.flows]
    cwnd = (np.array(segments)[:, None] * rng.uniform(1, 2, weights.shape)).astype(int) * mss
    minima = np.array([flow.rtt_min_us for flow in run.flows])[:, None]
    rtt = (minima * (1 + 0.3 * rng.random(weights.shape))).astype(int) + 1
    return Intervals(
        ends_us=ends.tolist(),
        sent=[share_out(flow.sender_bytes, weights[number]) for number, flow in enumerate(run.flows)],
        retransmits=[share_out(flow.retransmits, losses[number]) for number, flow in enumerate(run.flows)],
        cwnd=cwnd.tolist(),
        snd_wnd=(cwnd * 2).tolist(),
        rtt=rtt.tolist(),
        rttvar=(rtt // 20 + 1).tolist(),
    )
