"""The plan of a campaign: every run with all that is needed to make it, as plain values.

`planning` makes it of a declaration, `testbed` and what is below it carry it out. The plan crosses a process
boundary (a namespace, a user-mode kernel), so it is JSON there and back. This module, like everything that runs inside
a testbed, imports nothing but the standard library: imports are slow there.
"""

import dataclasses
import hashlib
import json
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

T = TypeVar("T")
Direction = Literal["forward", "return", "both"]
LATER_SETTINGS: Final = ("receive_coalescing_us", "virtual_clock", "background_udp_sender")


@dataclass(frozen=True)
class Loss:
    """netem's loss: `random` by its percentage, `gilbert-elliott` by the chances to enter and leave the bad state.

    `loss_pct` is the mean share of packets lost of either. `bad_loss_pct` and `good_loss_pct` are the losses within
    the two states (netem's 1-h and 1-k).
    """

    model: Literal["random", "gilbert-elliott"]
    loss_pct: float
    enter_bad_pct: float | None = None
    leave_bad_pct: float | None = None
    bad_loss_pct: float = 100.0
    good_loss_pct: float = 0.0


@dataclass(frozen=True)
class Route:
    """What is between the router and one destination. `host` is the destination's name in file names."""

    host: str
    address: str
    alias: str | None
    rtt_ms: float
    jitter_ms: float = 0.0
    reordering_pct: float = 0.0
    loss: Loss | None = None
    loss_direction: Direction = "forward"
    limit_packets_count: int = 10_000


@dataclass(frozen=True)
class Sender:
    """One sending host: its line rate, if limited, and `fq maxrate` for each of its flows, if set."""

    number: int
    rate_bps: int | None = None
    flow_maxrate_bps: int | None = None


@dataclass(frozen=True)
class Bottleneck:
    """The router's port towards all destinations."""

    rate_bps: int
    buffer_bytes: int
    discipline: Literal["fifo", "fq_codel", "red", "cake"] = "fifo"
    has_ecn: bool = False


@dataclass(frozen=True)
class Client:
    """One client process. `number` is that in file names: `src-cmd:…` is 1, `src-cmd-2:…` is 2.

    One of `duration_s` and `volume_bytes` (per flow) is set. `congestion_control` null: the sender's default.
    `program` netperf runs request-response tests: `request_bytes` and `response_bytes` count there.
    """

    number: int
    host: str
    sender_number: int = 1
    program: Literal["iperf3", "netperf"] = "iperf3"
    congestion_control: str | None = None
    flows_count: int = 1
    start_s: float = 0.0
    duration_s: float | None = None
    volume_bytes: int | None = None
    flow_rate_bps: int | None = None
    omit_s: int = 0
    interval_s: float = 1.0
    has_ecn: bool = False
    is_reverse: bool = False
    request_bytes: int | None = None
    response_bytes: int | None = None
    extra_arguments: tuple[str, ...] = ()

    @property
    def is_rpc(self) -> bool:
        """Tell whether it makes requests one after another instead of a bulk transfer."""
        return self.program == "netperf"


@dataclass(frozen=True)
class Stage:
    """A change of the path while a run goes on; what is null stays as it is."""

    at_s: float
    rtt_ms: float | None = None
    rate_bps: int | None = None
    loss: Loss | None = None


@dataclass(frozen=True)
class Instruments:
    """What watches a run; an interval that is null leaves that instrument out."""

    ss_interval_s: float | None = 0.5
    ss_flags: str = "-tinm"
    tcpdump_snap_bytes: int | None = None
    tcpdump_filter: str | None = None
    mpstat_interval_s: int | None = 1
    nstat_interval_s: float | None = None
    ping_interval_s: float | None = None
    # Times after the start at which all sockets of the sender are dumped with `ss -neit`, as edge networks do.
    dumps_at_s: tuple[float, ...] = ()


@dataclass(frozen=True)
class Commands:
    """Shell lines of the campaign's author, run in the sender's (`source`) or the destinations' namespaces."""

    before_source: tuple[str, ...] = ()
    before_destination: tuple[str, ...] = ()
    after_source: tuple[str, ...] = ()
    after_destination: tuple[str, ...] = ()


@dataclass(frozen=True)
class VirtualClock:
    """The clock of a run in virtual time: when it starts, in ns since 1970, and the seed of all chance in the run."""

    start_ns: int
    seed: str


@dataclass(frozen=True)
class Run:
    """One run. `suffix` is what follows the item in its file names; host, iteration and sweep are in it."""

    session: str
    job: str
    suffix: str
    iteration: int
    routes: tuple[Route, ...]
    senders: tuple[Sender, ...]
    clients: tuple[Client, ...]
    expected_s: float
    bottleneck: Bottleneck | None = None
    background_udp_bps: int | None = None
    # Number of the host that sends them; null is the first.
    background_udp_sender: int | None = None
    stages: tuple[Stage, ...] = ()
    instruments: Instruments = field(default_factory=Instruments)
    commands: Commands = field(default_factory=Commands)
    # tcp_cubic.beta → 600; one element of a vector: tcp_bbr.gain[2] → 300
    module_parameters: dict[str, str] = field(default_factory=dict)
    default_congestion_control: str = "cubic"
    mtu_bytes: int = 1500
    has_offloads: bool = False
    receive_coalescing_us: float | None = None
    sysctls: dict[str, str] = field(default_factory=dict)
    # Set where the run is made: null in real time. A run of one seed and one start of its clock leaves the same bytes.
    virtual_clock: VirtualClock | None = None

    @property
    def key(self) -> str:
        """Return what no other run of the campaign has: session, job and suffix."""
        return f"{self.session}/{self.job}/{self.suffix}"

    def fingerprint(self) -> str:
        """Return a short hash of everything that makes the run, to tell whether a declaration changed."""
        told = to_json(self)
        # Runs from before there were these have the same fingerprint as those without them.
        told = {key: item for key, item in told.items() if item is not None or key not in LATER_SETTINGS}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Job:
    """One test definition: the folder below the session, with what the harness writes about it.

    `metadata` is the content of `jobmeta.json`, `host_metadata` that of `<host>-meta.json` by host, both without what
    only the testbed knows: `start_time`, `kernel` and `iter_uuids` are filled in there.
    """

    session: str
    name: str
    metadata: dict[str, Any]
    host_metadata: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Testbed:
    """How the testbed is made. `hostname` by session is what metadata call the sender."""

    engine: Literal["auto", "namespaces", "user-mode-kernel"] = "auto"
    clock: Literal["auto", "virtual", "real"] = "auto"
    # Path of a user-mode kernel; null takes the one that was built, else Debian's.
    kernel: str | None = None
    kernel_patches: tuple[str, ...] = ()
    seed: int = 1
    order: Literal["random", "declared"] = "random"
    parallel_count: int = 1
    memory_bytes: int = 1 << 30
    retries_count: int = 2
    retries_cpu_bound: bool = False
    # What a failed calibration does: stop the sweep, or only say so.
    on_failed_calibration: Literal["stop", "warn"] = "stop"
    calibration_packets_count: int = 200_000


@dataclass(frozen=True)
class Plan:
    """All of a campaign: its runs in the order in which they are declared. `sessions` are labels, in order."""

    campaign: str
    title: str
    testbed: Testbed
    sessions: tuple[str, ...]
    jobs: tuple[Job, ...]
    runs: tuple[Run, ...]


def to_json(value: Any) -> Any:
    """Return a plan, or a part of one, as JSON values: dataclasses as objects, tuples as arrays."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def from_json(kind: type[T], value: Any) -> T:
    """Return the dataclass of this kind that `to_json` made the value of."""
    built: T = _build(kind, value)
    return built


def _build(kind: Any, value: Any) -> Any:
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _build(hints[name], item) for name, item in value.items()})
    origin = typing.get_origin(kind)
    if origin is tuple:
        return tuple(_build(typing.get_args(kind)[0], item) for item in value)
    if origin in (typing.Union, types.UnionType) and value is not None:
        of_class = next((member for member in typing.get_args(kind) if dataclasses.is_dataclass(member)), None)
        return _build(of_class, value) if of_class else value
    return value
