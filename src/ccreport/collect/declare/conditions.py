"""The conditions of a job: each destination, RTT, queue limit and parameter value, and what files are called then.

Suffixes are those of ESnet's testing harness: `dst:iteration`, then `:parameter:value` in a sweep of a parameter, then
`:<rtt>ms`, or `:<limit>` in a sweep of netem's limit.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ccreport.collect.declare.campaign import Session, Settings
from ccreport.collect.plan import Loss, Route

# The name of the one destination of a job that declares none.
UNNAMED: Final = ""


@dataclass(frozen=True)
class Condition:
    """What the runs of a job differ by, but for the iteration."""

    routes: tuple[Route, ...]
    limit_packets_count: int | None = None
    parameter_value: int | None = None


def number_destinations(session: Session) -> dict[str, str]:
    """Return the address of each destination of a session by its alias, the same in all of its jobs."""
    aliases = [destination["alias"] for job in session.jobs for destination in job["destinations"]]
    # The unnamed one first, so that its address, which is in file names, does not depend on other jobs.
    unnamed = [UNNAMED for job in session.jobs if not job["destinations"]]
    return {alias: f"10.201.{number}.2" for number, alias in enumerate(dict.fromkeys(unnamed + aliases), start=1)}


def list_conditions(job: Settings, addresses: dict[str, str]) -> Iterator[Condition]:
    """Yield the conditions of a job in order: destinations slowest, then the parameter, then RTTs or limits."""
    parameters = job["parameter_sweep"]["values"] if job["parameter_sweep"] else [None]
    rtts, limits = as_list(job["rtt_ms"]), as_list(job["limit_packets_count"])
    declared = job["destinations"] or [{"alias": UNNAMED}]
    groups = [declared] if job["destinations_per_run"] == "all" else [[destination] for destination in declared]
    for group, value, limit, rtt in itertools.product(groups, parameters, limits, rtts):
        routes = tuple(
            _make_route(job, destination, addresses[destination["alias"]], rtt, limit) for destination in group
        )
        yield Condition(routes, limit if len(limits) > 1 else None, value)


def make_suffix(job: Settings, condition: Condition, iteration: int) -> str:
    """Return what follows the item in the names of a run's files."""
    parts = [condition.routes[0].host, str(iteration)]
    if condition.parameter_value is not None:
        parts += [name_parameter(job), str(condition.parameter_value)]
    if condition.limit_packets_count is not None:
        parts.append(str(condition.limit_packets_count))
    elif (rtt := find_rtt(job, condition)) is not None:
        parts.append(f"{_format_ms(rtt)}ms")
    return ":".join(parts)


def find_rtt(job: Settings, condition: Condition) -> float | None:
    """Return the RTT of all paths of a run, null where they differ or no delay is declared."""
    if job["rtt_ms"] is None and not any(destination["rtt_ms"] is not None for destination in job["destinations"]):
        return None
    rtts = {route.rtt_ms for route in condition.routes}
    return rtts.pop() if len(rtts) == 1 else None


def name_parameter(job: Settings) -> str:
    """Return the swept parameter as file names have it: without its module, which has dots and slashes around it."""
    name: str = job["parameter_sweep"]["name"]
    return name.rpartition(".")[2]


def make_loss(settings: Settings) -> Loss | None:
    """Return the loss that a job, a destination or a stage declares, with its mean over both states."""
    if settings.get("loss"):
        declared = settings["loss"]
        entering, leaving = declared["enter_bad_pct"], declared["leave_bad_pct"]
        # The share of packets that meet the bad state of a chain of two states.
        bad = entering / (entering + leaving)
        mean = bad * declared["bad_loss_pct"] + (1 - bad) * declared["good_loss_pct"]
        return Loss(
            "gilbert-elliott", round(mean, 9), entering, leaving, declared["bad_loss_pct"], declared["good_loss_pct"]
        )
    loss_pct = settings.get("loss_pct")
    return Loss("random", loss_pct) if loss_pct else None


def as_list(value: Any) -> list[Any]:
    """Return the values of a sweep, one for a setting that is none."""
    return value if isinstance(value, list) else [value]


def _make_route(job: Settings, destination: Settings, address: str, rtt_ms: Any, limit: Any) -> Route:
    def choose(key: str, otherwise: Any) -> Any:
        own = destination.get(key)
        return otherwise if own is None else own

    has_own_loss = destination.get("loss_pct") is not None or destination.get("loss") is not None
    alias = destination["alias"] or None
    return Route(
        host=alias or address,
        address=address,
        alias=alias,
        rtt_ms=float(choose("rtt_ms", rtt_ms or 0)),
        jitter_ms=float(choose("jitter_ms", job["jitter_ms"] or 0)),
        reordering_pct=float(choose("reordering_pct", job["reordering_pct"] or 0)),
        loss=make_loss(destination if has_own_loss else job),
        loss_direction=choose("loss_direction", job["loss_direction"] or "forward"),
        limit_packets_count=int(choose("limit_packets_count", limit)),
    )


def _format_ms(time_ms: float) -> str:
    # 10 → 10.0 as the harness prints it, never with an exponent
    text = f"{time_ms:.6f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text
