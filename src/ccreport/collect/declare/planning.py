"""From a declaration to the plan: every run of a campaign with all that is needed to make it.

Runs go job by job. Within a job all conditions are measured once before any is measured again: what else a shared
machine does changes over hours, and so meets all RTTs of a job alike instead of one of them.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from ccreport.collect.declare.campaign import Campaign, CampaignError, Session, Settings
from ccreport.collect.declare.checks import check_job
from ccreport.collect.declare.clients import expect_s, list_clients, list_senders, to_bps
from ccreport.collect.declare.conditions import Condition, list_conditions, make_loss, make_suffix, number_destinations
from ccreport.collect.declare.job_metadata import describe_hosts, describe_job
from ccreport.collect.declare.job_settings import name_settings
from ccreport.collect.plan import Bottleneck, Commands, Instruments, Job, Plan, Run, Stage, Testbed

MEBIBYTE_BYTES: Final = 1 << 20


def plan_campaign(declared: Campaign, name: str) -> Plan:
    """Return all runs of a campaign in their order; raise DeclarationError where a job contradicts itself.

    `name` is that of the campaign, its file's without the ending. Nothing of a plan depends on time or chance.
    """
    jobs: list[Job] = []
    by_job: list[list[Run]] = []
    for session in declared.sessions:
        addresses = number_destinations(session)
        for job, place in zip(session.jobs, session.places, strict=True):
            try:
                check_job(job, session.label)
                conditions = list(list_conditions(job, addresses))
                made = _list_runs(job, session, conditions)
            except CampaignError as error:
                raise declared.blame(CampaignError(str(error), (*place, *error.place))) from error
            metadata = describe_job(job, conditions, made, (name, session.label, session.hostname))
            jobs.append(Job(session.label, job["name"], metadata, describe_hosts(metadata, conditions)))
            by_job.append(made)
    declarations = [job for session in declared.sessions for job in session.jobs]
    for planned, settings in zip(jobs, name_settings(declarations, by_job), strict=True):
        planned.metadata.update({"settings": settings} if settings else {})
    labels = tuple(session.label for session in declared.sessions)
    return Plan(
        name, declared.title, _plan_testbed(declared.testbed), labels, tuple(jobs), tuple(chain.from_iterable(by_job))
    )


def _plan_testbed(declared: Settings) -> Testbed:
    return Testbed(
        engine=declared["engine"],
        clock=declared["clock"],
        kernel=declared["kernel"],
        kernel_patches=tuple(declared["kernel_patches"]),
        seed=declared["seed"],
        order=declared["order"],
        parallel_count=declared["parallel_count"],
        memory_bytes=declared["memory_mib"] * MEBIBYTE_BYTES,
        retries_count=declared["retries_count"],
        retries_cpu_bound=declared["retries_cpu_bound"],
        on_failed_calibration=declared["calibration"]["on_failure"],
        calibration_packets_count=declared["calibration"]["packets_count"],
    )


def _list_runs(job: Settings, session: Session, conditions: Sequence[Condition]) -> list[Run]:
    runs = [
        _make_run(job, session.label, condition, iteration)
        for iteration in range(1, job["iterations_count"] + 1)
        for condition in conditions
    ]
    seen: set[str] = set()
    for run in runs:
        if run.suffix in seen:
            raise CampaignError(f"session {session.label}, job {job['name']}: two runs would be called {run.suffix}")
        seen.add(run.suffix)
    return runs


def _make_run(job: Settings, session: str, condition: Condition, iteration: int) -> Run:
    clients = list_clients(job, condition.routes)
    return Run(
        session=session,
        job=job["name"],
        suffix=make_suffix(job, condition, iteration),
        iteration=iteration,
        routes=condition.routes,
        senders=list_senders(job),
        clients=clients,
        expected_s=expect_s(job, clients),
        bottleneck=_make_bottleneck(job, condition),
        background_udp_bps=to_bps(job["background_udp_mbps"]),
        background_udp_sender=_find_background_sender(job),
        stages=tuple(
            Stage(float(stage["at_s"]), stage["rtt_ms"], to_bps(stage["bottleneck_mbps"]), make_loss(stage))
            for stage in job["stages"]
        ),
        instruments=_make_instruments(job["instruments"]),
        commands=Commands(**{key: tuple(lines) for key, lines in job["commands"].items()}),
        module_parameters=_list_parameters(job, condition),
        default_congestion_control=job["default_congestion_control"],
        mtu_bytes=job["mtu_bytes"],
        has_offloads=job["offloads"],
        receive_coalescing_us=job["receive_coalescing_us"],
        sysctls={name: str(value) for name, value in job["sysctls"].items()},
    )


def _find_background_sender(job: Settings) -> int | None:
    number: int = job["background_udp_sender"]
    return number if job["background_udp_mbps"] is not None and number > 1 else None


def _make_bottleneck(job: Settings, condition: Condition) -> Bottleneck | None:
    rate_bps = to_bps(job["bottleneck_mbps"])
    if rate_bps is None:
        return None
    buffer_bytes = job["buffer_bytes"]
    if buffer_bytes is None:
        # 50 Mbit/s × 40 ms = 2,000,000 bit = 250,000 bytes
        bdp_bytes = rate_bps * condition.routes[0].rtt_ms / 1000 / 8
        buffer_bytes = round(job["buffer_bdp"] * bdp_bytes)
    return Bottleneck(rate_bps, buffer_bytes, job["queue"]["discipline"], job["queue"]["ecn"])


def _make_instruments(declared: Settings) -> Instruments:
    capture = declared["capture"] or {"snap_bytes": None, "filter": None}
    return Instruments(
        ss_interval_s=declared["ss_interval_s"],
        ss_flags=declared["ss_flags"],
        tcpdump_snap_bytes=capture["snap_bytes"],
        tcpdump_filter=capture["filter"],
        mpstat_interval_s=declared["mpstat_interval_s"],
        nstat_interval_s=declared["nstat_interval_s"],
        ping_interval_s=declared["ping_interval_s"],
        dumps_at_s=tuple(float(at_s) for at_s in sorted(declared["dumps_at_s"])),
    )


def _list_parameters(job: Settings, condition: Condition) -> dict[str, str]:
    parameters = {name: _write_value(value) for name, value in job["module_parameters"].items()}
    if condition.parameter_value is not None:
        element = job["parameter_sweep"]["vector_element"]
        name = job["parameter_sweep"]["name"] + ("" if element is None else f"[{element}]")
        parameters[name] = str(condition.parameter_value)
    return parameters


def _write_value(value: str | float | bool) -> str:
    # The kernel reads and prints its switches as Y and N.
    return ("Y" if value else "N") if isinstance(value, bool) else str(value)
