"""The client processes of a run, and how long it takes.

A stock iperf3 has one algorithm for all of its flows. So several algorithms at the same time are several clients, each
on a port of its own; the job's metadata say which flows run which.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ccreport.archive.rpc_clients import Rpc
from ccreport.collect.declare.campaign import Settings
from ccreport.collect.declare.conditions import as_list
from ccreport.collect.plan import Client, Route, Run, Sender

# iperf3 makes no more in one process.
FLOWS_AT_MOST: Final = 128
# A testbed is set up and taken down in about a second each.
OVERHEAD_S: Final = 2.0
# What a client without these settings has; it is made of the job's flows_count and congestion_control.
PLAIN: Final[Settings] = {
    "count": 1,
    "stagger_s": 0,
    "start_s": 0,
    "duration_s": None,
    "volume_bytes": None,
    "destination": None,
    "sender": 1,
    "flow_pacing_mbps": None,
    "program": None,
    "rpc": None,
    "ecn": None,
    "extra_arguments": [],
}


def split_flows(flows_count: int, parts_count: int) -> list[int]:
    """Return how many flows each part has, as equal as can be, the first parts larger: 7 in 2 is 4 and 3."""
    least, more = divmod(flows_count, parts_count)
    return [least + (number < more) for number in range(parts_count)]


def declare_clients(job: Settings) -> list[Settings]:
    """Return the clients that a job declares one by one, or those that its flows and algorithms make."""
    if job["clients"]:
        # With clients the job's algorithm is that of those which name none.
        return [
            client | {"congestion_control": client["congestion_control"] or job["congestion_control"]}
            for client in job["clients"]
        ]
    algorithms = as_list(job["congestion_control"])
    flows_count, stagger_s = job["flows_count"], job["stagger_s"]
    if stagger_s:
        return [
            PLAIN
            | {
                "congestion_control": algorithms[number % len(algorithms)],
                "flows_count": 1,
                "start_s": number * stagger_s,
            }
            for number in range(flows_count)
        ]
    parts = split_flows(flows_count, len(algorithms))
    return [
        PLAIN | {"congestion_control": algorithm, "flows_count": count}
        for algorithm, count in zip(algorithms, parts, strict=True)
    ]


def list_clients(job: Settings, routes: Sequence[Route]) -> tuple[Client, ...]:
    """Return the clients of a run, numbered; one without a destination of its own is made for each of them."""
    planned = [_make_client(job, declared, route, start_s) for declared, route, start_s in list_processes(job, routes)]
    return tuple(Client(number=number, **facts) for number, facts in enumerate(planned, start=1))


def list_senders(job: Settings) -> tuple[Sender, ...]:
    """Return the sending hosts of a job's runs, each with the job's line rate."""
    count = max(declared["sender"] for declared in declare_clients(job))
    if job["background_udp_mbps"] is not None:
        count = max(count, job["background_udp_sender"])
    maxrate = to_bps(job["flow_pacing_mbps"]) if job["pacing_by"] == "fq" else None
    return tuple(Sender(number, to_bps(job["sender_mbps"]), maxrate) for number in range(1, count + 1))


def expect_s(job: Settings, clients: Sequence[Client]) -> float:
    """Return how long a run takes as a rule: its longest client, and the testbed around it."""
    volume_bytes = sum((client.volume_bytes or 0) * client.flows_count for client in clients)
    # ASSUME: transfers of a given size get four fifths of their narrowest rate, or of 100 Mbit/s where there is none.
    transfer_s = volume_bytes * 8 / (0.8 * (_find_rate_bps(job, clients) or 100e6))
    ends = [client.start_s + client.omit_s + (client.duration_s or transfer_s) for client in clients]
    return round(max(ends) + OVERHEAD_S, 1)


def to_bps(rate_mbps: float | None) -> int | None:
    """Return a rate of a declaration in bit/s."""
    return None if rate_mbps is None else round(rate_mbps * 1e6)


def name_algorithm(client: Client, run: Run) -> str:
    """Return the algorithm of a client's flows, the sender's own where it asks for none."""
    return client.congestion_control or run.default_congestion_control


def count_rpcs(clients: Iterable[Client], run: Run) -> Counter[Rpc]:
    """Return how many of some clients of a run make RPCs of each algorithm and size."""
    counts: Counter[Rpc] = Counter()
    for client in clients:
        if client.is_rpc:
            rpc = (name_algorithm(client, run), client.request_bytes or 1, client.response_bytes or 1)
            counts[rpc] += client.flows_count
    return counts


def _find_rate_bps(job: Settings, clients: Sequence[Client]) -> float | None:
    flows_count = sum(client.flows_count for client in clients)
    pacing = to_bps(job["flow_pacing_mbps"])
    rates = [to_bps(job["bottleneck_mbps"]), to_bps(job["sender_mbps"]), pacing and pacing * flows_count]
    return min((rate for rate in rates if rate), default=None)


def list_processes(job: Settings, routes: Sequence[Route]) -> Iterator[tuple[Settings, Route, float]]:
    """Yield what makes each client process of a run, in order: its declaration, its path and when it starts."""
    for declared in declare_clients(job):
        for number in range(declared["count"]):
            for route in routes:
                if declared["destination"] in (None, route.host):
                    yield declared, route, float(declared["start_s"] + number * declared["stagger_s"])


def _make_client(job: Settings, declared: Settings, route: Route, start_s: float) -> dict[str, Any]:
    program, rpc = find_program(job, declared), find_rpc(job, declared)
    duration_s, volume_bytes = declared["duration_s"], declared["volume_bytes"]
    if duration_s is None and volume_bytes is None:
        volume_bytes = job["volume_bytes"]
        # All end together, but for what iperf3 rounds up to whole seconds.
        duration_s = None if job["duration_s"] is None else math.ceil(job["duration_s"] - start_s)
    # `fq maxrate` is one rate for all flows of a sender, so what one client has for itself is its sockets' rate.
    by_socket = job["flow_pacing_mbps"] if job["pacing_by"] == "socket" else None
    return {
        "host": route.host,
        "sender_number": declared["sender"],
        "program": program,
        "congestion_control": declared["congestion_control"],
        "flows_count": declared["flows_count"],
        "start_s": start_s,
        "duration_s": None if duration_s is None else float(duration_s),
        "volume_bytes": volume_bytes,
        "flow_rate_bps": to_bps(declared["flow_pacing_mbps"] or by_socket),
        "omit_s": job["omit_s"],
        "interval_s": float(job["report_interval_s"]),
        "has_ecn": asks_for_ecn(job, declared),
        "is_reverse": job["reverse"],
        "request_bytes": rpc["request_bytes"] if rpc and program == "netperf" else None,
        "response_bytes": rpc["response_bytes"] if rpc and program == "netperf" else None,
        "extra_arguments": (*job["extra_arguments"], *declared["extra_arguments"]),
    }


def find_program(job: Settings, declared: Settings) -> str:
    """Return the program of a client: what it names, else netperf where it has requests and answers."""
    program: str = declared["program"] or ("netperf" if find_rpc(job, declared) else "iperf3")
    return program


def find_rpc(job: Settings, declared: Settings) -> Settings | None:
    """Return the sizes of a client's requests and answers: its own, else the job's, null for neither."""
    rpc: Settings | None = declared["rpc"] or job["rpc"]
    return rpc


def asks_for_ecn(job: Settings, declared: Settings) -> bool:
    """Return whether a client's flows ask for ECN: dctcp always does, others as declared or where the queue marks."""
    asked = job["ecn"] if declared["ecn"] is None else declared["ecn"]
    algorithm = declared["congestion_control"] or job["default_congestion_control"]
    return algorithm == "dctcp" or bool(job["queue"]["ecn"] if asked is None else asked)
