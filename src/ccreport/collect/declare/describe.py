"""A plan in words, as `--dry-run` prints it: jobs, conditions, runs, hours, and what looks wrong about them."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from ccreport.archive.rpc_clients import write_sizes
from ccreport.collect.declare.arguments import sends_udp
from ccreport.collect.declare.clients import count_rpcs, name_algorithm
from ccreport.collect.plan import Plan, Route, Run
from ccreport.core.algorithms import doubt_algorithm

# A flow that slow start has just brought up to speed has not shown how it behaves.
ROUND_TRIPS_AT_LEAST: Final = 50
ETHERNET_HEADER_BYTES: Final = 14
# ASSUME: what a processor takes in virtual time for a run's kernel to start, and for a packet from the sender to its
# acknowledgement (16 flows of packets of 9000 bytes at 10 Gbit/s).
START_S: Final = 5.0
PACKET_S: Final = 12e-6
# ASSUME: flows that are paced just below a bottleneck still queue there, by packets that meet.
BURST_RATIO: Final = 1.1
# Of each condition, below which reports have neither an interval nor a verdict.
RUNS_AT_LEAST: Final = 3
# Settings of instruments, in s.
INTERVALS: Final = ("ss_interval_s", "mpstat_interval_s", "nstat_interval_s", "ping_interval_s")


def describe_plan(plan: Plan, completed: Collection[str] = (), capacity_bps: int | None = None) -> str:
    """Return what a plan would do, in lines; `completed` are keys of runs that are done already.

    `capacity_bps` is what the testbed carried when it was calibrated, null where it was not.
    """
    done = [run for run in plan.runs if run.key in set(completed)]
    left = [run for run in plan.runs if run.key not in set(completed)]
    lines = [f"{plan.campaign}: {plan.title}"]
    for session in plan.sessions:
        jobs = [job.name for job in plan.jobs if job.session == session]
        lines += ["", f"session {session}, {_count(len(jobs), 'job')}"]
        rows = [_describe_job([run for run in plan.runs if (run.session, run.job) == (session, job)]) for job in jobs]
        lines += _align(rows)
    lines += [
        "",
        f"{_count(len(plan.runs), 'run')} of {_count(len(plan.jobs), 'job')}, {_format_time(plan, plan.runs)}",
    ]
    lines += _list_few(plan)
    if done and not left:
        lines.append("all runs are in the archive, so nothing is left to measure")
    elif done:
        lines.append(f"{_count(len(done), 'run')} done, {len(left)} left, {_format_time(plan, left)}")
    warnings = [*_doubt_parallel(plan), *list_warnings(plan, capacity_bps)]
    return "\n".join(lines + [f"warning: {text}" for text in warnings])


def _list_few(plan: Plan) -> Iterator[str]:
    """Yield a line on what a report leaves undecided where conditions have too few runs, none where all have enough."""
    counts = Counter(
        (run.session, run.job, run.routes, run.stages, *run.module_parameters.items()) for run in plan.runs
    )
    if (least := min(counts.values(), default=RUNS_AT_LEAST)) < RUNS_AT_LEAST:
        few = "each condition" if max(counts.values()) < RUNS_AT_LEAST else "some conditions"
        yield (
            f"with only {_count(least, 'run')} of {few} a report gives no verdicts and no 95 % intervals there, which "
            f"need {RUNS_AT_LEAST} (iterations_count: {RUNS_AT_LEAST})"
        )


def expect_total_s(plan: Plan, runs: Sequence[Run]) -> float:
    """Return how long runs take as a rule, with as many at the same time as the plan has."""
    return sum(run.expected_s for run in runs) / min(plan.testbed.parallel_count, max(len(runs), 1))


def expect_processor_s(runs: Iterable[Run]) -> float:
    """Return what runs in virtual time take of a processor, if each sends at the rate that its path has."""
    packets = [run.expected_s * (find_rate_bps(run) or 0) / 8 / run.mtu_bytes for run in runs]
    return START_S * len(packets) + PACKET_S * sum(packets)


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _doubt_parallel(plan: Plan) -> Iterator[str]:
    at_once = min(plan.testbed.parallel_count, len(plan.runs))
    if at_once > (cores_count := _count_processors()):
        yield f"parallel_count: {at_once} runs at a time share {_count(cores_count, 'processor')}"


def list_warnings(plan: Plan, capacity_bps: int | None = None) -> list[str]:
    """Return what is allowed and still most likely not meant, with the jobs that it is true of."""
    jobs: dict[str, list[str]] = {}
    for run in plan.runs:
        for warning in _list_doubts(run, capacity_bps):
            names = jobs.setdefault(warning, [])
            if run.job not in names:
                names.append(run.job)
    return [f"{name_few(names)}{warning}" for warning, names in jobs.items()]


def name_few(jobs: Sequence[str]) -> str:
    """Return what to put before something that is true of jobs: `a, b, c and 2 more: `, nothing where there is none."""
    more = f" and {len(jobs) - 3} more" if len(jobs) > 3 else ""
    return f"{', '.join(jobs[:3])}{more}: " if jobs else ""


def _list_doubts(run: Run, capacity_bps: int | None) -> Iterator[str]:
    named = {client.congestion_control for client in run.clients}
    yield from filter(None, (doubt_algorithm(name) for name in sorted(filter(None, named))))
    rate_bps = find_rate_bps(run)
    if rate_bps is None:
        yield "nothing limits the rate, so that the processor does"
    elif capacity_bps is not None and rate_bps > capacity_bps:
        yield f"{_mbps(rate_bps)} Mbit/s are beyond the {_mbps(capacity_bps)} Mbit/s that this testbed carried"
    udp_bps = run.background_udp_bps or 0
    lines = {sender.number: sender.rate_bps for sender in run.senders}
    line_bps = lines.get(run.background_udp_sender or 1)
    if line_bps and udp_bps >= line_bps:
        yield f"the UDP traffic alone, {_mbps(udp_bps)} Mbit/s, fills its sender's line of {_mbps(line_bps)} Mbit/s"
    if any(client.is_reverse for client in run.clients) and (run.bottleneck or any(lines.values())):
        yield "with reverse the receivers send, whom neither sender_mbps nor bottleneck_mbps limits; `iperf3 -b` does"
    yield from _doubt_jitter(run)
    if run.bottleneck is not None:
        packet_bytes = run.mtu_bytes + ETHERNET_HEADER_BYTES
        if run.bottleneck.buffer_bytes < packet_bytes:
            yield f"a buffer of {run.bottleneck.buffer_bytes} bytes holds no packet of {packet_bytes} bytes"
        yield from _doubt_bottleneck(run)
        if udp_bps >= run.bottleneck.rate_bps:
            yield "the UDP traffic alone fills the bottleneck"
    for route in run.routes:
        held = (rate_bps or 0) * route.rtt_ms / 2000 / 8 / run.mtu_bytes
        if held > route.limit_packets_count:
            yield f"{held:.0f} packets are on their way at once, and limit_packets_count is {route.limit_packets_count}"
    if any(client.congestion_control == "dctcp" for client in run.clients) and not (
        run.bottleneck and run.bottleneck.has_ecn
    ):
        yield "no queue marks packets, without which dctcp is Reno; set queue.ecn"
    yield from _doubt_intervals(run)
    rtts = {route.host: route.rtt_ms for route in run.routes}
    for client in run.clients:
        if client.duration_s is not None and client.duration_s * 1000 < ROUND_TRIPS_AT_LEAST * rtts[client.host]:
            count = client.duration_s * 1000 / rtts[client.host]
            yield f"{client.duration_s:g} s are only {count:.0f} round trips of {rtts[client.host]:g} ms"
            return


def _doubt_jitter(run: Run) -> Iterator[str]:
    staged = [stage.rtt_ms for stage in run.stages if stage.rtt_ms is not None]
    for route in run.routes:
        delay_ms = min([route.rtt_ms, *staged]) / 2
        if route.jitter_ms > delay_ms:
            # Those whose delay, anywhere between the two with the same chance, would be below 0.
            share = (route.jitter_ms - delay_ms) / (2 * route.jitter_ms)
            yield (
                f"jitter_ms {route.jitter_ms:g} is more than half of the RTT, {delay_ms:g} ms, "
                f"so that {100 * share:.0f} % of the packets towards the receiver have no delay"
            )


def _doubt_bottleneck(run: Run) -> Iterator[str]:
    sent_bps = find_sent_bps(run)
    rates = [run.bottleneck.rate_bps] if run.bottleneck else []
    least_bps = min(rates + [stage.rate_bps for stage in run.stages if stage.rate_bps is not None])
    if sent_bps is None or any(client.is_reverse for client in run.clients):
        return
    sent_bps += run.background_udp_bps or 0
    if least_bps > BURST_RATIO * sent_bps:
        yield f"senders send {_mbps(sent_bps)} Mbit/s at most, so bottleneck_mbps {_mbps(least_bps)} limits nothing"


def _doubt_intervals(run: Run) -> Iterator[str]:
    durations = [client.duration_s for client in run.clients if client.duration_s is not None]
    if len(durations) < len(run.clients):
        return
    ends_s = max(client.start_s + client.omit_s + (client.duration_s or 0) for client in run.clients)
    for name in INTERVALS:
        interval_s = getattr(run.instruments, name)
        if interval_s is not None and interval_s > ends_s:
            yield f"{name} {interval_s:g} is longer than the run, which takes {ends_s:g} s"


def find_rate_bps(run: Run) -> int | None:
    """Return the rate that nothing of the path or the senders lets through more of, null if all do."""
    rates = [run.bottleneck.rate_bps] if run.bottleneck else []
    rates += [stage.rate_bps for stage in run.stages if stage.rate_bps is not None]
    sent_bps = find_sent_bps(run)
    return min(filter(None, (sent_bps, max(rates, default=None))), default=None)


def find_sent_bps(run: Run) -> int | None:
    """Return what the senders of a run let through, all together, null if one has no limit."""
    sent = 0
    for sender in run.senders:
        clients = [client for client in run.clients if client.sender_number == sender.number]
        paced = [client.flow_rate_bps or sender.flow_maxrate_bps for client in clients]
        flows_bps = sum((rate or 0) * client.flows_count for rate, client in zip(paced, clients, strict=True))
        limits = [rate for rate in (sender.rate_bps, flows_bps if all(paced) else None) if rate is not None]
        if not limits:
            return None
        sent += min(limits)
    return sent


def _describe_job(runs: Sequence[Run]) -> tuple[str, str, str, str]:
    has_delay = any(route.rtt_ms for run in runs for route in run.routes)
    conditions = [
        _describe_clients(runs[0]),
        _join(runs, lambda route: f"{route.rtt_ms:g}", "ms") if has_delay else "no delay (rtt_ms sets one)",
        _join(runs, lambda route: f"{route.loss.loss_pct:.3g}" if route.loss else "0", "% loss"),
    ]
    if runs[0].bottleneck is not None:
        bottleneck = runs[0].bottleneck
        conditions.append(f"{_mbps(bottleneck.rate_bps)} Mbit/s with {bottleneck.buffer_bytes:,} bytes")
        if any(_doubt_bottleneck(runs[0])):
            conditions[-1] += f" behind {_mbps(find_sent_bps(runs[0]) or 0)} Mbit/s of senders"
        if bottleneck.discipline != "fifo":
            conditions[-1] += f" of {bottleneck.discipline}{' with ECN' if bottleneck.has_ecn else ''}"
    elif (rate_bps := find_rate_bps(runs[0])) is not None:
        conditions.append(f"{_mbps(rate_bps)} Mbit/s")
    if runs[0].background_udp_bps is not None:
        conditions.append(f"{_mbps(runs[0].background_udp_bps)} Mbit/s of UDP")
    if runs[0].stages:
        conditions.append(_count(len(runs[0].stages), "stage"))
    limits = {route.limit_packets_count: None for run in runs for route in run.routes}
    if len(limits) > 1:
        conditions.append(f"limit {'/'.join(map(str, limits))}")
    conditions += _list_rarer(runs)
    volumes = {client.volume_bytes for client in runs[0].clients}
    if len(volumes) == 1 and None not in volumes:
        conditions.append(f"{volumes.pop():,} bytes a flow")
    conditions += [f"{name} {value}" for name, value in runs[0].sysctls.items()]
    for name in runs[0].module_parameters:
        values = dict.fromkeys(run.module_parameters[name] for run in runs)
        conditions.append(f"{name} {', '.join(values)}")
    minutes = sum(run.expected_s for run in runs) / 60
    return runs[0].job, ", ".join(conditions), _count(len(runs), "run"), f"{minutes:.1f} min"


def _list_rarer(runs: Sequence[Run]) -> Iterator[str]:
    """Yield settings of the path that most jobs leave as they are."""
    for name, unit in (("jitter_ms", "ms"), ("reordering_pct", "%")):
        if any(getattr(route, name) for run in runs for route in run.routes):
            yield f"{name.partition('_')[0]} {_join(runs, lambda route: f'{getattr(route, name):g}', unit)}"  # noqa: B023
    if runs[0].receive_coalescing_us is not None:
        yield f"coalescing {runs[0].receive_coalescing_us:g} µs"
    if runs[0].mtu_bytes != Run.mtu_bytes:
        yield f"MTU {runs[0].mtu_bytes:,} bytes"
    if runs[0].has_offloads:
        yield "offloads on"


def _describe_clients(run: Run) -> str:
    """Return the flows by what they send, where that differs: `1 cubic, 2 bbr of 100,000 bytes, 3 bbr RPCs of 1 kB`."""
    flows: dict[int | None, Counter[str]] = {}
    for client in run.clients:
        if not client.is_rpc:
            name = "UDP" if sends_udp(client.extra_arguments) else name_algorithm(client, run)
            flows.setdefault(client.volume_bytes, Counter())[name] += client.flows_count
    is_alike = len({client.volume_bytes for client in run.clients}) == 1
    bulk = [
        " + ".join(f"{count} {algorithm}" for algorithm, count in counts.items())
        + ("" if volume_bytes is None or is_alike else f" of {volume_bytes:,} bytes")
        for volume_bytes, counts in flows.items()
    ]
    rpcs = [
        f"{_count(count, f'{rpc[0]} RPC')} of {write_sizes(rpc)}" for rpc, count in count_rpcs(run.clients, run).items()
    ]
    return ", ".join(filter(None, (*bulk, " + ".join(rpcs))))


def _join(runs: Sequence[Run], write: Callable[[Route], str], unit: str) -> str:
    return f"{'/'.join(dict.fromkeys(write(route) for run in runs for route in run.routes))} {unit}"


def _align(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    name, text, count, minutes = (max(len(row[column]) for row in rows) for column in range(4))
    for row in rows:
        yield f"  {row[0]:<{name}}  {row[1]:<{text}}  {row[2]:>{count}}  {row[3]:>{minutes}}"


def _format_time(plan: Plan, runs: Sequence[Run]) -> str:
    at_once = min(plan.testbed.parallel_count, len(runs))
    together = f" with {at_once} at a time" if at_once > 1 else ""
    if plan.testbed.clock != "virtual":
        return f"{_format_s(expect_total_s(plan, runs))}{together}"
    virtual = _format_s(sum(run.expected_s for run in runs))
    taken_s = expect_processor_s(runs) / max(min(at_once, _count_processors()), 1)
    return f"{virtual} of virtual time, about {_format_s(taken_s)} on idle processors{together}"


def _format_s(time_s: float) -> str:
    return f"{time_s / 3600:.2f} h" if time_s >= 3600 else f"{time_s / 60:.1f} min"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _mbps(rate_bps: int) -> str:
    return f"{rate_bps / 1e6:g}"
