"""What a made-up archive consists of: the order that it is made to, its jobs, and the formats that they are written in.

Everything about job `n` follows from the order and `n`, so that jobs can be made in any number of processes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final

import numpy as np

from ccreport.core.errors import InputError

FIRST_SESSION: Final = datetime(2026, 1, 1, tzinfo=UTC)
# Times of later runs would not be taken for times.
LAST_START: Final = datetime(2099, 1, 1, tzinfo=UTC)
JOBS_PER_SESSION: Final = 5
PAUSE_S: Final = 5
# Room in front of a run for an attempt that failed.
RETRY_S: Final = 3
BYTES_MIN: Final = 1000


@dataclass(frozen=True)
class Order:
    """The options of `synthesise`; a sampling interval of 0 is as short as `bytes_per_run` allows."""

    runs: int
    seed: int
    runs_per_job: int
    flows: int
    duration_s: int
    sample_interval_s: float
    bytes_per_run: int

    def check(self) -> None:
        """Raise InputError for a number that no archive can be made to."""
        limits = {
            "runs": (self.runs, 1, 10**8),
            "seed": (self.seed, 0, 2**63 - 1),
            "runs-per-job": (self.runs_per_job, 1, 10_000),
            "flows": (self.flows, 1, 512),
            "duration-s": (self.duration_s, 1, 86_400),
            "sample-interval-s": (self.sample_interval_s, 0, self.duration_s),
            "bytes-per-run": (self.bytes_per_run, BYTES_MIN, 10**9),
        }
        for name, (value, low, high) in limits.items():
            if not low <= value <= high:
                raise InputError(f"--{name} {value} is out of range: it lies between {low} and {high}")
        sessions_count = -(-self.jobs_count // JOBS_PER_SESSION)
        days = sessions_count * self.session_minutes / 1440
        if FIRST_SESSION.toordinal() + days > LAST_START.toordinal():
            raise InputError("so many runs of this duration would end after 2099; ask for fewer or shorter ones")

    @property
    def jobs_count(self) -> int:
        """Return the number of jobs; the last may have fewer runs."""
        return -(-self.runs // self.runs_per_job)

    @property
    def run_s(self) -> int:
        """Return the time from the start of a run to that of the next."""
        return RETRY_S + self.duration_s + PAUSE_S

    @property
    def session_minutes(self) -> int:
        """Return the time from the start of a session to that of the next: whole minutes, as their names."""
        return ceil(JOBS_PER_SESSION * self.runs_per_job * self.run_s / 60) + 1


@dataclass(frozen=True)
class Client:
    """What measures: a version of iperf3, as one object or a stream of events, or pscheduler, with `diags` or not."""

    tool: str
    version: str
    is_stream: bool = False
    has_diags: bool = False

    @property
    def release(self) -> int:
        """Return the number behind the `3.` of iperf3."""
        return int(self.version.split(".")[1])

    @property
    def names_connections(self) -> bool:
        """Return whether the output has iperf3's own, with ports and what the receiver says."""
        return self.tool == "iperf3" or self.has_diags


CLIENTS: Final = (
    Client("iperf3", "3.1.7"),
    Client("iperf3", "3.7"),
    Client("pscheduler", "3.12", has_diags=True),
    Client("iperf3", "3.9"),
    Client("iperf3", "3.17.1", is_stream=True),
    Client("iperf3", "3.12"),
    Client("pscheduler", "3.12"),
    Client("iperf3", "3.17.1"),
    Client("iperf3", "3.20"),
    Client("iperf3", "3.20", is_stream=True),
)
SS_VERSIONS: Final = ("4.9", "4.15", "4.20", "5.4", "5.8", "6.4", "7.1")
LAT_SWEEP, REAL_PATH, LIMIT_SWEEP, PARAMETER_SWEEP, NETEM, LOCAL_PATH = range(6)
PARAMETER: Final = "burst"
ALGORITHMS: Final = ("cubic", "bbr", "bbr2", "htcp", "reno", "bbr3")
HOST_DEFAULT: Final = "cubic"
RTTS_MS: Final = (2.0, 10.0, 20.0, 40.0, 80.0, 150.0)
LOSSES_PCT: Final = (0.0, 0.001, 0.01, 0.1)
LINE_RATES_BPS: Final = (10**9, 10**10, 4 * 10**10, 10**11)


@dataclass(frozen=True)
class Destination:
    """A host that runs are made to: as the job names it, and the addresses of both ends."""

    name: str
    address: str
    sender_address: str


DESTINATIONS: Final = (
    Destination("10.201.1.2", "10.201.1.2", "10.200.1.1"),
    Destination("cern-pt1.example.net", "192.0.2.17", "198.51.100.4"),
    Destination("2001:db8::2", "2001:db8::2", "2001:db8::1"),
)


@dataclass(frozen=True)
class Point:
    """One condition: the end of its runs' file names, and the numbers chosen for them; `goodput_cv` of the sample."""

    tail: str
    rtt_ms: float
    loss_pct: float
    limit: int | None
    parameter_value: str | None
    goodput_bps: float
    goodput_cv: float
    throughput_ratio: float
    retransmit_ratio: float


@dataclass(frozen=True)
class Job:
    """One job: what ran on which path, in which formats; its runs take turns at the points."""

    number: int
    session: str
    name: str
    start: datetime
    client: Client
    ss_version: str
    path: int
    destination: Destination
    cc: str
    is_mixed: bool
    flows_count: int
    mss_bytes: int
    line_rate_bps: int
    points: tuple[Point, ...]

    @property
    def has_netem(self) -> bool:
        """Return whether the path is made by netem, so that its delay and loss are recorded."""
        return self.path not in (REAL_PATH, LOCAL_PATH)


def plan_job(order: Order, number: int) -> Job:
    """Return the job of this number, from 0."""
    rng = np.random.default_rng([order.seed, 2, number])
    path = (number + number // len(CLIENTS)) % 6
    session = FIRST_SESSION + timedelta(minutes=number // JOBS_PER_SESSION * order.session_minutes)
    place = number % JOBS_PER_SESSION
    flows_count = int(rng.integers(1, order.flows + 1))
    cc = ALGORITHMS[rng.integers(len(ALGORITHMS))]
    is_mixed = flows_count > 1 and cc != HOST_DEFAULT and bool(rng.random() < 0.5)
    line_rate = LINE_RATES_BPS[rng.integers(len(LINE_RATES_BPS))]
    return Job(
        number=number,
        session=f"{session:%Y-%m-%d:%H:%M}",
        name=f"{'both' if is_mixed else cc}_p{flows_count}_{number}",
        start=session + timedelta(seconds=place * order.runs_per_job * order.run_s),
        client=CLIENTS[number % len(CLIENTS)],
        ss_version=SS_VERSIONS[number % len(SS_VERSIONS)],
        path=path,
        destination=DESTINATIONS[rng.integers(len(DESTINATIONS))],
        cc=cc,
        is_mixed=is_mixed,
        flows_count=flows_count,
        mss_bytes=int(rng.choice([1448, 8948])),
        line_rate_bps=line_rate,
        points=tuple(_choose_points(rng, path, line_rate)),
    )


def _choose_points(rng: np.random.Generator, path: int, line_rate_bps: int) -> Sequence[Point]:
    points_count = 2 if path in (LAT_SWEEP, LIMIT_SWEEP, PARAMETER_SWEEP) else 1
    rtts = [0.3] if path == LOCAL_PATH else sorted(rng.choice(RTTS_MS, points_count, replace=False).tolist())
    if path != LAT_SWEEP:
        rtts = [rtts[0]] * points_count
    loss = LOSSES_PCT[rng.integers(len(LOSSES_PCT))]
    points = []
    for step, rtt in enumerate(rtts):
        limit = (1000, 10_000)[step] if path == LIMIT_SWEEP else None
        value = ("16", "64")[step] if path == PARAMETER_SWEEP else None
        tail = {LAT_SWEEP: f":{rtt}ms", LIMIT_SWEEP: f":{limit}", PARAMETER_SWEEP: f":{PARAMETER}:{value}"}
        points.append(
            Point(
                tail=tail.get(path, ""),
                rtt_ms=rtt,
                loss_pct=loss,
                limit=limit,
                parameter_value=value,
                goodput_bps=round(line_rate_bps * float(rng.uniform(0.2, 0.6))),
                goodput_cv=round(float(rng.uniform(0.01, 0.2)), 4),
                throughput_ratio=round(float(rng.uniform(1.01, 1.1)), 3),
                retransmit_ratio=round(float(rng.uniform(0, 0.01)), 5),
            )
        )
    return points
