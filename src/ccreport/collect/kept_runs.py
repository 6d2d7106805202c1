"""Whether the runs that a session has already were made with the settings that their jobs have now.

`jobmeta.json` describes all runs of a job, including those that are no longer declared. So all of them must have the
job's settings, except for what their names tell: destination, iteration, RTT, queue limit and the swept parameter's
value.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ccreport.archive.harness_layout import Suffix, parse_suffix
from ccreport.collect.attempts import KEPT, Attempt, read_attempts
from ccreport.collect.plan import Route, Run, Testbed
from ccreport.collect.sessions import DECLARATION, SESSION, read_json
from ccreport.core.declarations import load_yaml

# What the first client of a complete run leaves, by its program.
OUTPUTS: Final = ("src-cmd", "netperf")


def list_changed(session: Path, runs: Iterable[Run]) -> list[str]:
    """Return the keys of the complete runs of a session that were made with other settings than their jobs have now.

    `runs` are those that are planned for the session. Jobs that none of them belongs to are left as they are.
    """
    jobs: dict[str, list[Run]] = {}
    for run in runs:
        jobs.setdefault(run.job, []).append(run)
    kept = {attempt.place: attempt for attempt in read_attempts(session, repairs=False) if attempt.outcome in KEPT}
    return [
        f"{jobs[attempt.job][0].session}/{attempt.job}/{attempt.run}"
        for attempt in kept.values()
        if attempt.job in jobs and _has_changed(session, attempt, jobs[attempt.job])
    ]


def list_other_keys(session: Path, declaration: Path) -> list[str]:
    """Return the keys of a campaign file that have other values than when a session last went on, with both values.

    Those of a group that was not there, such as a job, are left out.
    """
    if not (declaration.is_file() and (session / DECLARATION).is_file()):
        return []
    now, before = (dict(_list_keys(load_yaml(path))) for path in (declaration, session / DECLARATION))
    groups, groups_before = ({key.rpartition(".")[0] for key in keys} for keys in (now, before))
    return [
        f"{key} {now.get(key, 'is left out')} (was {before.get(key, 'left out')})"
        for key in before | now
        if now.get(key) != before.get(key) and key.rpartition(".")[0] in groups & groups_before
    ]


def _list_keys(declared: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of a file and where it stands, `jobs.bbr.rtt_ms`; a group of a list goes by its name if any."""
    if isinstance(declared, dict):
        for key, value in declared.items():
            yield from _list_keys(value, f"{place}.{key}".removeprefix("."))
    elif isinstance(declared, list) and any(isinstance(item, dict) for item in declared):
        for number, item in enumerate(declared, 1):
            name = item.get("name", item.get("label", number)) if isinstance(item, dict) else number
            yield from _list_keys(item, f"{place}.{name}")
    else:
        yield place, declared


def describe_other_testbed(session: Path, testbed: Testbed) -> str:
    """Return in what a session's seed, order and clock are others than a testbed declares now; nothing if in none.

    A fingerprint has none of them: runs that are there stay, and a sweep does not make them again.
    """
    told = read_json(session / SESSION)
    declared = {"seed": testbed.seed, "order": testbed.order, "clock": testbed.clock}
    others = [
        f"{name} {told[name]} (the campaign now has {value})"
        for name, value in declared.items()
        if name in told and value not in (told[name], "auto")
    ]
    return " and ".join(others)


def _has_changed(session: Path, attempt: Attempt, planned: Sequence[Run]) -> bool:
    if not any((session / attempt.job / f"{item}:{attempt.run}").exists() for item in OUTPUTS):
        return False
    same = [run for run in planned if run.suffix == attempt.run] or list(_rename(session, attempt.run, planned))
    return all(run.fingerprint() != attempt.fingerprint for run in same)


def _rename(session: Path, suffix: str, planned: Sequence[Run]) -> Iterator[Run]:
    """Yield what a run of this name can be by the settings of a job, of which `planned` are all runs."""
    hosts = {run.routes[0].host for run in planned}
    named = parse_suffix(suffix, hosts, has_limits=True)
    for run in planned:
        if run.iteration != 1 or named.iteration is None:
            continue
        if named.host == run.routes[0].host:
            yield _with_values(run, named)
        elif named.host not in hosts and len(run.routes) == 1:
            yield from (_with_values(moved, named) for moved in _move(session, str(named.host), run))


def _with_values(run: Run, named: Suffix) -> Run:
    """Return a run with the values that a name tells in place of its own."""

    def change(route: Route) -> Route:
        rtt_ms = route.rtt_ms if named.rtt_nominal_ms is None else named.rtt_nominal_ms
        return replace(route, rtt_ms=rtt_ms, limit_packets_count=named.limit or route.limit_packets_count)

    parameters = {
        name: str(named.parameter_value) if name.split("[")[0].rpartition(".")[2] == named.parameter_name else value
        for name, value in run.module_parameters.items()
    }
    return replace(
        run,
        suffix=named.text,
        iteration=named.iteration or run.iteration,
        routes=tuple(map(change, run.routes)),
        module_parameters=parameters,
    )


def _move(session: Path, host: str, run: Run) -> Iterator[Run]:
    """Yield a run to a destination that is no longer declared, with the address in its metadata."""
    path = session / run.job / f"{host}-meta.json"
    if path.exists():
        told = read_json(path)
        (route,) = run.routes
        moved = replace(route, host=host, address=told["hostname"], alias=told["alias"])
        yield replace(run, routes=(moved,), clients=tuple(replace(client, host=host) for client in run.clients))
