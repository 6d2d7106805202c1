"""Which declared settings tell a campaign's jobs apart where no column of the table `runs` does."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ccreport.archive.rpc_clients import NONE, PARAMETER, write_rpcs
from ccreport.collect.declare.arguments import split_options
from ccreport.collect.declare.campaign import Settings
from ccreport.collect.declare.clients import count_rpcs, list_processes, name_algorithm
from ccreport.collect.declare.conditions import name_parameter
from ccreport.collect.declare.job_metadata import describe_stage
from ccreport.collect.plan import Client, Run

# Of a job that leaves to the kernel, or to the program, what another job sets.
DEFAULT: Final = "default"
# The clients in the order of their values, where these differ; jobs without have no order that could be their baseline.
CLIENTS: Final = "clients"
# Between the values of clients or paths that differ.
BETWEEN: Final = "/"
# Options of iperf3 by what they set; others are called as they are typed.
OPTIONS: Final = {
    **dict.fromkeys(("-w", "--window"), "window"),
    **dict.fromkeys(("-M", "--set-mss"), "mss"),
    **dict.fromkeys(("-l", "--length"), "length"),
    **dict.fromkeys(("-N", "--no-delay"), "no_delay"),
    **dict.fromkeys(("-Z", "--zerocopy"), "zerocopy"),
    **dict.fromkeys(("-S", "--tos"), "tos"),
}
# Those that `runs` has as pacing_bps.
PACING_OPTIONS: Final = ("-b", "--bitrate", "--bandwidth", "--fq-rate")


def name_settings(jobs: Sequence[Settings], runs: Sequence[Sequence[Run]]) -> list[dict[str, str]]:
    """Return, for each of some jobs, the settings that alone tell runs of some of them apart.

    A setting that does has a value in every job, so that those without it are one baseline. `runs` are each job's.
    """
    parameters = _name_parameters(jobs)
    own = [dict(_list_settings(job, own_runs, parameters)) for job, own_runs in zip(jobs, runs, strict=True)]
    alike: dict[str, set[int]] = {}
    for number, (job, own_runs) in enumerate(zip(jobs, runs, strict=True)):
        for run in own_runs:
            alike.setdefault(_describe_condition(job, run), set()).add(number)
    telling = set[str]().union(*(_find_telling([own[number] for number in numbers]) for numbers in alike.values()))
    swept = [name_parameter(job) if job["parameter_sweep"] else None for job in jobs]
    named = [
        {
            name: settings.get(name, DEFAULT)
            for name in sorted(telling)
            if name != of_job and (name in settings or name != CLIENTS)
        }
        for settings, of_job in zip(own, swept, strict=True)
    ]
    # A parameter that another job sweeps is a condition here, too.
    for settings, job in zip(named, jobs, strict=True):
        settings |= {name: value for name, value in _list_parameters(job, parameters) if name in swept}
    return named


def _find_telling(alike: Sequence[Mapping[str, str]]) -> set[str]:
    """Return the settings in which some jobs differ; who has them only if nothing else tells all of the jobs apart."""
    names = {name for settings in alike for name in settings}
    telling = {name for name in names if len({settings.get(name, DEFAULT) for settings in alike}) > 1}
    whole, others = (
        {tuple(settings.get(name, DEFAULT) for name in sorted(telling - left)) for settings in alike}
        for left in (set[str](), {CLIENTS})
    )
    return telling - {CLIENTS} if len(others) == len(whole) else telling


def _describe_condition(job: Settings, run: Run) -> str:
    """Return what columns of `runs` tell of a run: of several paths or clients what is common to all of them."""
    # RPCs that run alone have tables of their own.
    told = [client for client in run.clients if not client.is_rpc] or run.clients
    has_own_limit = any(destination["limit_packets_count"] for destination in job["destinations"])
    volumes = [client.volume_bytes and client.volume_bytes * client.flows_count for client in told]
    facts = {
        "host": run.routes[0].host,
        "rtt": _find_common(route.rtt_ms for route in run.routes),
        "limit": None if has_own_limit else run.routes[0].limit_packets_count,
        "loss": _find_common(route.loss and (route.loss.model, route.loss.loss_pct) for route in run.routes),
        "bottleneck": run.bottleneck and vars(run.bottleneck),
        "stages": [describe_stage(stage) for stage in job["stages"]],
        "udp": run.background_udp_bps,
        "mtu": run.mtu_bytes,
        "algorithms": sorted({name_algorithm(client, run) for client in told}),
        "flows": sum(client.flows_count for client in told),
        "rpc": sorted({(client.request_bytes, client.response_bytes) for client in told if client.is_rpc}),
        # host:iteration:parameter:value…
        "swept": run.suffix.split(":")[2:4] if job["parameter_sweep"] else None,
        "sender_mbps": job["sender_mbps"],
        "pacing": job["flow_pacing_mbps"] or _find_common(map(_list_pacing, told)),
        "duration": max(client.duration_s or 0 for client in told),
        "volume": None if None in volumes else sum(filter(None, volumes)),
    }
    return json.dumps(facts, sort_keys=True)


def _list_settings(job: Settings, runs: Sequence[Run], parameters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what makes a job's runs beside what has a column of `runs` in any case."""
    yield from ((name, _write(value)) for name, value in job["sysctls"].items())
    yield from _list_parameters(job, parameters)
    if sweep := job["parameter_sweep"]:
        yield "parameter_sweep", sweep["name"]
        yield "vector_element", _write(sweep["vector_element"])
    yield from ((key, _write(job[key])) for key in ("offloads", "receive_coalescing_us", "omit_s", "reverse"))
    yield from ((key, job[key]) for key in ("pacing_by", "destinations_per_run"))
    yield from _list_of_paths(job, runs)
    if job["background_udp_mbps"] is not None:
        yield "background_udp_sender", _write(job["background_udp_sender"])
    for key in ("before_source", "before_destination"):
        if job["commands"][key]:
            yield key, "; ".join(job["commands"][key])
    yield from _list_of_clients(job, runs[0])


def _list_of_paths(job: Settings, runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    routes = {route.host: route for run in runs for route in run.routes}.values()
    for key in ("jitter_ms", "reordering_pct", "loss_direction"):
        yield key, _join(getattr(route, key) for route in routes)
    if any(destination["limit_packets_count"] for destination in job["destinations"]):
        yield "limit_packets_count", _join(route.limit_packets_count for route in routes)
    losses = [*(route.loss for route in routes), *(stage.loss for stage in runs[0].stages)]
    bursts = [loss for loss in losses if loss and loss.model == "gilbert-elliott"]
    for key in ("leave_bad_pct", "bad_loss_pct", "good_loss_pct") if bursts else ():
        yield key, _join(getattr(loss, key) for loss in bursts)
    if len(together := runs[0].routes) > 1:
        yield "destinations", _join(route.host for route in together)
        yield "rtt_ms", _join(route.rtt_ms for route in together)
        yield "loss_pct", _join(route.loss and route.loss.loss_pct for route in together)


def _list_of_clients(job: Settings, run: Run) -> Iterator[tuple[str, str]]:
    bulk = [client for client in run.clients if not client.is_rpc]
    counts: Counter[str] = Counter()
    for client in bulk or run.clients:
        counts[name_algorithm(client, run)] += client.flows_count
    yield "flows", " + ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    yield PARAMETER, write_rpcs(count_rpcs(run.clients, run)) or NONE
    own = dict(_list_by_client(job, run))
    yield from ((name, _join(values)) for name, values in own.items())
    kinds = [
        write_rpcs(count_rpcs([client], run)) or f"{client.flows_count} {name_algorithm(client, run)}"
        for client in run.clients
    ]
    if len(set(kinds)) > 1 and any(len(set(values)) > 1 for values in own.values()):
        yield CLIENTS, _join(kinds)


def _list_by_client(job: Settings, run: Run) -> Iterator[tuple[str, list[Any]]]:
    """Yield the values of all clients of a run, in their order, by what they set."""
    clients, declared = run.clients, [one for one, _, _ in list_processes(job, run.routes)]
    yield "ecn", [client.has_ecn for client in clients]
    yield "start_s", [client.start_s for client in clients]
    yield "sender", [client.sender_number for client in clients]
    if len(run.routes) > 1:
        yield "destination", [client.host for client in clients]
    ends = [one if one["duration_s"] or one["volume_bytes"] else job for one in declared]
    for key in ("duration_s", "volume_bytes"):
        yield f"client_{key}", [end[key] for end in ends]
    yield "client_flow_pacing_mbps", [one["flow_pacing_mbps"] for one in declared]
    options = [_read_options(client) for client in clients]
    for name in sorted({name for of_client in options for name in of_client}):
        yield name, [of_client.get(name, DEFAULT) for of_client in options]


def _name_parameters(jobs: Iterable[Settings]) -> dict[str, str]:
    """Return what parameters of modules are called: as swept ones in file names, with the module where two have it."""
    swept = {job["parameter_sweep"]["name"] for job in jobs if job["parameter_sweep"]}
    names = swept.union(*(job["module_parameters"] for job in jobs))
    counts = Counter(name.rpartition(".")[2] for name in names)
    return {name: short if counts[short := name.rpartition(".")[2]] == 1 else name for name in names}


def _list_parameters(job: Settings, parameters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from ((parameters[name], _write(value)) for name, value in job["module_parameters"].items())


def _read_options(client: Client) -> dict[str, str]:
    """Return the values of a client's extra options: -w 50K, -w50K or --window=50K is a window of 50K."""
    options: dict[str, str] = {}
    name = "arguments"
    for option, value in split_options(client.extra_arguments, client.program):
        if option:
            name = OPTIONS.get(option, option)
            options.setdefault(name, "on")
        if value:
            options[name] = value if options.get(name, "on") == "on" else f"{options[name]} {value}"
    return options


def _list_pacing(client: Client) -> list[Any]:
    """Return the rates that a client is told to keep its flows to."""
    options = _read_options(client)
    return [client.flow_rate_bps, *(options.get(name) for name in PACING_OPTIONS)]


def _find_common(values: Iterable[Any]) -> Any:
    first, *others = values
    return first if all(value == first for value in others) else None


def _join(values: Iterable[Any]) -> str:
    """Return the values of clients or paths: one where all have the same, else all in their order."""
    texts = [_write(value) for value in values]
    return BETWEEN.join(texts if len(set(texts)) > 1 else texts[:1])


def _write(value: str | float | bool | None) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.12g}"
    return NONE if value is None else str(value)
