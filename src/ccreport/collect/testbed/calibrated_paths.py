"""The distinct paths of a campaign, as runs that have nothing but one such path each, for calibration."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ccreport.collect.plan import Client, Route, Run, Sender
from ccreport.collect.testbed.calibration_bounds import mean_loss
from ccreport.collect.testbed.qdiscs import asks_for_ecn


@dataclass(frozen=True)
class Shaper:
    """The narrowest limit of a path: its rate, and the device that it sends through."""

    rate_bps: int
    place: str
    device: str


def distinct_paths(runs: Iterable[Run]) -> list[tuple[Run, str | None]]:
    """Return one run for each distinct path of all runs: one route, one sender, and the bottleneck.

    Beside it is the destination's name, null where several destinations have such a path.
    """
    hosts: dict[str, set[str]] = {}
    paths: dict[str, Run] = {}
    for run in runs:
        for route in run.routes:
            for sender in run.senders:
                path = one_path(run, route, sender)
                paths.setdefault(path.fingerprint(), path)
                hosts.setdefault(path.fingerprint(), set()).add(route.host)
    return [(path, next(iter(hosts[key])) if len(hosts[key]) == 1 else None) for key, path in paths.items()]


def narrowest(run: Run) -> Shaper | None:
    """Return what limits one flow of a run most; null where nothing does."""
    found = []
    if run.bottleneck is not None:
        found.append(Shaper(run.bottleneck.rate_bps, "router", "r0"))
    for sender in run.senders:
        rates = [rate for rate in (sender.rate_bps, sender.flow_maxrate_bps) if rate]
        found += [Shaper(min(rates), f"sender{sender.number}", "s0")] if rates else []
    return min(found, key=lambda shaper: shaper.rate_bps, default=None)


def slow_pace_pps(run: Run, route: Route) -> float:
    """Return how many small packets a second neither fill half of netem's limit nor half of the narrowest rate."""
    frame_bits = 8 * 64
    shaper = narrowest(run)
    held_s = (route.rtt_ms / 2 + route.jitter_ms + (run.receive_coalescing_us or 0.0) / 1000) / 1000
    by_rate = shaper.rate_bps / frame_bits / 2 if shaper else float("inf")
    by_limit = route.limit_packets_count / held_s / 2 if held_s else float("inf")
    return min(by_rate, by_limit)


def describe_path(run: Run) -> str:
    """Return the conditions of a calibrated path in a few words."""
    (route,) = run.routes
    parts = [f"RTT {route.rtt_ms:g} ms"]
    parts += [f"jitter {route.jitter_ms:g} ms"] if route.jitter_ms else []
    parts += [f"reordering {route.reordering_pct:g} %"] if route.reordering_pct else []
    if route.loss:
        parts.append(f"loss {100 * mean_loss(route.loss):.4g} % {route.loss.model} {route.loss_direction}")
    if run.bottleneck:
        parts.append(f"bottleneck {run.bottleneck.rate_bps / 1e6:g} Mbit/s {run.bottleneck.discipline}")
    for sender in run.senders:
        parts += [f"line rate {sender.rate_bps / 1e6:g} Mbit/s"] if sender.rate_bps else []
        parts += [f"each flow {sender.flow_maxrate_bps / 1e6:g} Mbit/s"] if sender.flow_maxrate_bps else []
    parts += [f"coalescing {run.receive_coalescing_us:g} µs"] if run.receive_coalescing_us else []
    return ", ".join(parts)


def one_path(run: Run, route: Route, sender: Sender) -> Run:
    """Return a run that has nothing but this path."""
    ecn = any(asks_for_ecn(client.has_ecn, client.congestion_control) for client in run.clients)
    client = Client(1, "calibration", duration_s=1.0, has_ecn=ecn)
    plain = replace(anonymous(route), host="calibration")
    return Run(
        session="calibration",
        job="calibration",
        suffix="calibration",
        iteration=1,
        routes=(plain,),
        senders=(replace(sender, number=1),),
        clients=(client,),
        expected_s=1.0,
        bottleneck=run.bottleneck,
        mtu_bytes=run.mtu_bytes,
        has_offloads=run.has_offloads,
        receive_coalescing_us=run.receive_coalescing_us,
        virtual_clock=run.virtual_clock,
    )


def anonymous(route: Route) -> Route:
    """Return a route without what does not change its packets: its names and address."""
    return replace(route, host="", alias=None, address="10.201.1.2")
