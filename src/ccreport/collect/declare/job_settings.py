"""Which declared settings tell a campaign's jobs apart where no column of the table `runs` does."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ccreport.collect.declare.campaign import Settings
from ccreport.collect.declare.clients import declare_clients
from ccreport.collect.declare.conditions import name_parameter
from ccreport.collect.plan import Client, Run

# Of a job that leaves to the kernel, or to the program, what another job sets.
DEFAULT: Final = "default"
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
    own = [dict(_list_settings(job, own_runs)) for job, own_runs in zip(jobs, runs, strict=True)]
    alike: dict[str, set[int]] = {}
    for number, (job, own_runs) in enumerate(zip(jobs, runs, strict=True)):
        for run in own_runs:
            alike.setdefault(_describe_condition(job, run), set()).add(number)
    telling = {
        name
        for numbers in alike.values()
        for name in {name for number in numbers for name in own[number]}
        if len({own[number].get(name, DEFAULT) for number in numbers}) > 1
    }
    swept = [name_parameter(job) if job["parameter_sweep"] else None for job in jobs]
    named = [
        {name: settings.get(name, DEFAULT) for name in sorted(telling) if name != of_job}
        for settings, of_job in zip(own, swept, strict=True)
    ]
    # A parameter that another job sweeps is a condition here, too.
    for settings, job in zip(named, jobs, strict=True):
        settings |= {name: value for name, value in _list_parameters(job) if name in swept}
    return named


def _describe_condition(job: Settings, run: Run) -> str:
    """Return what columns of `runs` tell of a run."""
    clients = run.clients
    facts = {
        "paths": [
            (
                route.host,
                route.rtt_ms,
                route.limit_packets_count,
                route.loss and (route.loss.model, route.loss.loss_pct),
            )
            for route in run.routes
        ],
        "bottleneck": run.bottleneck and vars(run.bottleneck),
        "stages": job["stages"],
        "udp": run.background_udp_bps,
        "mtu": run.mtu_bytes,
        "algorithms": sorted({_name_algorithm(client, run) for client in clients}),
        "flows": sum(client.flows_count for client in clients),
        "rpc": sorted({f"{client.request_bytes} {client.response_bytes}" for client in clients}),
        "swept": job["parameter_sweep"] and (name_parameter(job), sorted(run.module_parameters.items())),
        "job": [job[key] for key in ("sender_mbps", "flow_pacing_mbps", "duration_s", "volume_bytes")],
    }
    return json.dumps(facts, sort_keys=True)


def _list_settings(job: Settings, runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Yield what `runs` has no column for: settings of hosts, paths and clients, and what ran before."""
    yield from ((name, _write(value)) for name, value in job["sysctls"].items())
    yield from _list_parameters(job)
    yield from ((key, _write(job[key])) for key in ("offloads", "receive_coalescing_us", "omit_s", "reverse"))
    yield from ((key, job[key]) for key in ("pacing_by", "destinations_per_run"))
    routes = [route for run in runs for route in run.routes]
    for key in ("jitter_ms", "reordering_pct", "loss_direction"):
        yield key, _join(dict.fromkeys(getattr(route, key) for route in routes))
    bursts = [route.loss for route in routes if route.loss and route.loss.model == "gilbert-elliott"]
    for key in ("leave_bad_pct", "bad_loss_pct", "good_loss_pct") if bursts else ():
        yield key, _join(dict.fromkeys(getattr(loss, key) for loss in bursts))
    if job["background_udp_mbps"] is not None:
        yield "background_udp_sender", _write(job["background_udp_sender"])
    for key in ("before_source", "before_destination"):
        if job["commands"][key]:
            yield key, "; ".join(job["commands"][key])
    yield from _list_of_clients(job, runs[0])


def _list_of_clients(job: Settings, run: Run) -> Iterator[tuple[str, str]]:
    clients = run.clients
    counts: dict[str, int] = {}
    for client in clients:
        name = _name_algorithm(client, run)
        counts[name] = counts.get(name, 0) + client.flows_count
    yield "flows", " + ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    yield "ecn", _join(client.has_ecn for client in clients)
    yield "start_s", _join(client.start_s for client in clients)
    yield "sender", _join(client.sender_number for client in clients)
    for key in ("duration_s", "volume_bytes", "flow_pacing_mbps"):
        yield f"client_{key}", _join(client[key] for client in declare_clients(job))
    options = [_read_options(client.extra_arguments) for client in clients]
    for name in sorted({name for own in options for name in own}):
        yield name, _join(own.get(name, DEFAULT) for own in options)


def _list_parameters(job: Settings) -> Iterator[tuple[str, str]]:
    """Yield parameters of modules without the module, as a swept one is called in file names."""
    yield from ((name.rpartition(".")[2], _write(value)) for name, value in job["module_parameters"].items())


def _read_options(arguments: Sequence[str]) -> dict[str, str]:
    """Return the values of options of a command line: -w 50K, -w50K or --window=50K is a window of 50K."""
    options: dict[str, str] = {}
    name = "arguments"
    for word in arguments:
        value = word
        if word.startswith("-") and not word[1:2].isdigit():
            option, _, value = word.partition("=") if word.startswith("--") else (word[:2], "", word[2:])
            name = OPTIONS.get(option, option)
            options.setdefault(name, "on")
        if value:
            options[name] = value if options.get(name, "on") == "on" else f"{options[name]} {value}"
    return {name: value for name, value in options.items() if name not in PACING_OPTIONS}


def _name_algorithm(client: Client, run: Run) -> str:
    return client.congestion_control or run.default_congestion_control


def _join(values: Iterable[Any]) -> str:
    """Return the values of clients or paths: one where all have the same, else all in their order."""
    texts = [_write(value) for value in values]
    return BETWEEN.join(texts if len(set(texts)) > 1 else texts[:1])


def _write(value: str | float | bool | None) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)
