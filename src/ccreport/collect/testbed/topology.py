"""The testbed's network as commands: from one run to the namespaces, links, addresses, routes and disciplines.

    sender<k> –s0/r<k>– router –r0/c0– far –c<i>/d0– receiver<i>

Everything here is pure; `testbed` carries it out. Neighbours are entered by hand: address resolution over a path that
delays and loses would delay the first packets, and be counted among what is lost.
"""

import ipaddress
import math
from dataclasses import dataclass, replace
from typing import Final

from ccreport.collect.plan import Loss, Route, Run
from ccreport.collect.testbed import qdiscs
from ccreport.core.errors import InputError

BUFFER_LEAST_BYTES: Final = 16 << 20
# ASSUME: where nothing limits the rate, socket buffers for 1 Gbit/s suffice.
UNLIMITED_BPS: Final = 1_000_000_000
ROUTER_ADDRESS: Final = "10.203.0.1"
FAR_ADDRESS: Final = "10.203.0.2"


@dataclass(frozen=True)
class Command:
    """One command, `ip` or `tc` as its first word, and the host in whose namespace it runs."""

    place: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class End:
    """One end of a link. `address` has its prefix length."""

    place: str
    device: str
    address: str
    mac: str


@dataclass(frozen=True)
class Change:
    """The commands of one stage, and when after the start of the run they are to be given."""

    at_s: float
    commands: tuple[Command, ...]


def places(run: Run) -> list[str]:
    """Return the hosts of a run: senders, the router, the far router, receivers."""
    senders = [f"sender{sender.number}" for sender in run.senders]
    return [*senders, "router", "far", *(f"receiver{number}" for number, _ in enumerate(run.routes, start=1))]


def sender_address(number: int) -> str:
    """Return the address of a sender; that of a destination is said by its route."""
    return f"10.202.{number}.2"


def receiver_of(run: Run, host: str) -> str:
    """Return the place of a destination by its name in file names; raise InputError for one the run does not have."""
    for number, route in enumerate(run.routes, start=1):
        if route.host == host:
            return f"receiver{number}"
    raise InputError(f"{run.key}: no route to {host}; there are {', '.join(route.host for route in run.routes)}")


def links(run: Run) -> list[tuple[End, End]]:
    """Return the links of a run, both ends of each."""
    found = []
    for sender in run.senders:
        k = sender.number
        near = End(f"sender{k}", "s0", f"{sender_address(k)}/24", f"02:00:00:01:{k:02x}:02")
        found.append((near, End("router", f"r{k}", f"10.202.{k}.1/24", f"02:00:00:01:{k:02x}:01")))
    found.append(
        (
            End("router", "r0", f"{ROUTER_ADDRESS}/30", "02:00:00:02:00:01"),
            End("far", "c0", f"{FAR_ADDRESS}/30", "02:00:00:02:00:02"),
        )
    )
    for number, route in enumerate(run.routes, start=1):
        near = End("far", f"c{number}", f"{_gateway(route)}/24", f"02:00:00:03:{number:02x}:01")
        found.append((near, End(f"receiver{number}", "d0", f"{route.address}/24", f"02:00:00:03:{number:02x}:02")))
    return found


def link_words(run: Run, namespaces: dict[str, str]) -> list[tuple[str, ...]]:
    """Return the `ip` commands that make namespaces (their names by place) and links; nothing appears outside them."""
    words: list[tuple[str, ...]] = [("netns", "add", namespaces[place]) for place in places(run)]
    for near, far in links(run):
        end = ("mtu", str(run.mtu_bytes), "address", near.mac, "netns", namespaces[near.place])
        peer = ("mtu", str(run.mtu_bytes), "address", far.mac, "netns", namespaces[far.place])
        words.append(("link", "add", "name", near.device, *end, "type", "veth", "peer", "name", far.device, *peer))
    return words


def network_commands(run: Run) -> list[Command]:
    """Return the commands that give addresses, raise the links and set neighbours and routes."""
    found = [Command(place, ("ip", "link", "set", "lo", "up")) for place in places(run)]
    for pair in links(run):
        for end, peer in (pair, pair[::-1]):
            device = ("dev", end.device)
            neighbour = ("ip", "neigh", "add", peer.address.split("/")[0], "lladdr", peer.mac, "nud", "permanent")
            found += [
                Command(end.place, ("ip", "addr", "add", end.address, *device)),
                Command(end.place, ("ip", "link", "set", *device, "up")),
                Command(end.place, (*neighbour, *device)),
            ]
    return found + _routes(run)


def discipline_commands(run: Run) -> list[Command]:
    """Return the commands that put every discipline of a run in place of the defaults."""
    found = []
    for sender in run.senders:
        place = f"sender{sender.number}"
        root: tuple[str, ...] = ("root", "handle", "1:")
        if sender.rate_bps is not None:
            # The limit counts for no packet: fq below it holds them.
            line = qdiscs.tbf(run, sender.rate_bps, qdiscs.burst_bytes(run, sender.rate_bps))
            found.append(_discipline("add", place, "s0", root, line))
            root = ("parent", "1:1", "handle", "10:")
        found.append(_discipline("add", place, "s0", root, qdiscs.fq(run, sender)))
    found += _bottleneck_commands(run, "add")
    if run.bottleneck is not None and (below := qdiscs.child(run, run.bottleneck)):
        found.append(_discipline("add", "router", "r0", ("parent", "1:1", "handle", "10:"), below))
    return found + _netem_commands("add", run)


def stage_changes(run: Run) -> list[Change]:
    """Return what the stages of a run change, in order of time; every stage starts from what the one before left.

    `tc qdisc change` keeps the packets that are queued. After a shorter RTT new packets overtake those under way.
    Raise InputError for a rate where nothing limits one.
    """
    changes = []
    for stage in sorted(run.stages, key=lambda stage: stage.at_s):
        commands: list[Command] = []
        if stage.rate_bps is not None:
            run, changed = _with_rate(run, stage.rate_bps)
            commands += changed
        if stage.rtt_ms is not None or stage.loss is not None:
            run = replace(run, routes=tuple(_staged(route, stage.rtt_ms, stage.loss) for route in run.routes))
            commands += _netem_commands("change", run)
        changes.append(Change(stage.at_s, tuple(commands)))
    return changes


def sysctls(run: Run, place: str) -> dict[str, str]:
    """Return the kernel settings of one host, by name; raise InputError for one that is not a namespace's own."""
    settings = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv4.conf.all.rp_filter": "0"}
    settings["net.ipv4.conf.default.rp_filter"] = "0"
    if place in ("router", "far"):
        return settings | {"net.ipv4.ip_forward": "1"}
    number = int(place.removeprefix("sender")) if place.startswith("sender") else None
    asks = any(
        client.sender_number == number and qdiscs.asks_for_ecn(client.has_ecn, client.congestion_control)
        for client in run.clients
    )
    if foreign := [name for name in run.sysctls if not name.startswith("net.")]:
        raise InputError(f"{run.key}: {', '.join(foreign)} would change more than the testbed; only net.… can be set")
    size = buffer_bytes(run)
    return {
        **settings,
        "net.ipv4.tcp_no_metrics_save": "1",
        "net.ipv4.tcp_rmem": f"4096 131072 {size}",
        "net.ipv4.tcp_wmem": f"4096 16384 {size}",
        # 1 asks for ECN, 2 (the kernel's default) only grants it.
        "net.ipv4.tcp_ecn": "1" if asks else "2",
        "net.ipv4.tcp_congestion_control": run.default_congestion_control,
        **run.sysctls,
    }


def buffer_bytes(run: Run) -> int:
    """Return the largest socket buffer: four times the BDP and the bottleneck's buffer, at least 16 MiB.

    Half of a buffer is window, and a packet takes up to twice its length of it.
    """
    limits = [run.bottleneck.rate_bps] if run.bottleneck else []
    limits += [sender.rate_bps for sender in run.senders if sender.rate_bps]
    # A stage may raise what limits the run.
    rate = max([min(limits, default=UNLIMITED_BPS), *(stage.rate_bps or 0 for stage in run.stages)])
    rtts = [route.rtt_ms for route in run.routes] + [stage.rtt_ms or 0.0 for stage in run.stages]
    queue = run.bottleneck.buffer_bytes if run.bottleneck else 0
    return max(BUFFER_LEAST_BYTES, 4 * math.ceil(rate / 8 * max(rtts) / 1000 + queue))


def required_modules(run: Run) -> list[str]:
    """Return the kernel modules that a run needs, sorted; what is built into a kernel is among them too."""
    modules = {"veth", "sch_netem", "sch_fq"}
    if run.bottleneck is not None:
        below = run.bottleneck.discipline
        modules |= {"sch_cake"} if below == "cake" else {"sch_tbf"} | ({f"sch_{below}"} - {"sch_fifo"})
    if any(sender.rate_bps is not None for sender in run.senders):
        modules.add("sch_tbf")
    algorithms = {run.default_congestion_control} | {client.congestion_control or "reno" for client in run.clients}
    modules |= {f"tcp_{algorithm}" for algorithm in algorithms - {"reno"}}
    return sorted(modules | {name.split(".")[0] for name in run.module_parameters})


def _routes(run: Run) -> list[Command]:
    found = [
        Command(f"sender{sender.number}", ("ip", "route", "add", "default", "via", f"10.202.{sender.number}.1"))
        for sender in run.senders
    ]
    found.append(Command("far", ("ip", "route", "add", "10.202.0.0/16", "via", ROUTER_ADDRESS)))
    for number, route in enumerate(run.routes, start=1):
        network = str(ipaddress.ip_network(f"{route.address}/24", strict=False))
        found.append(Command("router", ("ip", "route", "add", network, "via", FAR_ADDRESS)))
        found.append(Command(f"receiver{number}", ("ip", "route", "add", "default", "via", _gateway(route))))
    return found


def _gateway(route: Route) -> str:
    return str(ipaddress.ip_network(f"{route.address}/24", strict=False)[1])


def _discipline(verb: str, place: str, device: str, where: tuple[str, ...], words: list[str]) -> Command:
    return Command(place, ("tc", "qdisc", verb, "dev", device, *where, *words))


def _bottleneck_commands(run: Run, verb: str) -> list[Command]:
    if run.bottleneck is None:
        return []
    return [_discipline(verb, "router", "r0", ("root", "handle", "1:"), qdiscs.shaper(run, run.bottleneck))]


def _netem_commands(verb: str, run: Run) -> list[Command]:
    root, together_us = ("root", "handle", "1:"), run.receive_coalescing_us
    found = []
    for number, route in enumerate(run.routes, start=1):
        found.append(_discipline(verb, "far", f"c{number}", root, qdiscs.netem_forward(route, together_us)))
        found.append(_discipline(verb, f"receiver{number}", "d0", root, qdiscs.netem_return(route, together_us)))
    return found


def _with_rate(run: Run, rate_bps: int) -> tuple[Run, list[Command]]:
    """Return the run with another rate of its bottleneck, or of its senders where it has none, and the commands."""
    if run.bottleneck is not None:
        run = replace(run, bottleneck=replace(run.bottleneck, rate_bps=rate_bps))
        return run, _bottleneck_commands(run, "change")
    limited = [sender for sender in run.senders if sender.rate_bps is not None]
    if not limited:
        raise InputError(
            f"{run.key}: a stage changes the rate, but neither a bottleneck nor a sender's rate is declared"
        )
    line = qdiscs.tbf(run, rate_bps, qdiscs.burst_bytes(run, rate_bps))
    root = ("root", "handle", "1:")
    return run, [_discipline("change", f"sender{sender.number}", "s0", root, line) for sender in limited]


def _staged(route: Route, rtt_ms: float | None, loss: Loss | None) -> Route:
    route = route if rtt_ms is None else replace(route, rtt_ms=rtt_ms)
    return route if loss is None else replace(route, loss=loss)
