"""Whether a job makes sense: what contradicts itself though each of its settings is allowed."""

from collections.abc import Iterator
from typing import Any, Final

from ccreport.collect.declare.arguments import sends_udp
from ccreport.collect.declare.campaign import Campaign, CampaignError, Settings
from ccreport.collect.declare.clients import FLOWS_AT_MOST, asks_for_ecn, declare_clients
from ccreport.collect.declare.conditions import as_list
from ccreport.collect.declare.hints import hint_at_for_each
from ccreport.collect.declare.sysctls import INTEGER
from ccreport.collect.declare.unapplied import list_unapplied
from ccreport.core.algorithms import CANDIDATE, doubt_algorithm, list_available
from ccreport.core.declared_files import show_path

# What iperf3 writes at once to a socket of TCP, of which a new one takes about 100,000 bytes.
IPERF3_BLOCK_BYTES: Final = 128 << 10
# How many bytes a socket takes beyond those in flight: Linux has no such limit, where a campaign sets none.
UNSENT: Final = "net.ipv4.tcp_notsent_lowat"
UNSENT_BYTES: Final = 16 << 10
# Over 20 Mbit/s and 40 ms with a buffer of 1 BDP CUBIC delivers 89 % of 8 MB, and BBR 86 % of 16 MB, without a limit.
UNLIMITED_AT_LEAST_BYTES: Final = 20_000_000
# The volume of which what may be unsent is a tenth.
UNSENT_FACTOR: Final = 10
TOTAL_PCT: Final = 100


def check_job(job: Settings, session: str) -> None:
    """Raise CampaignError with the first contradiction of a job, its session, name and key."""
    of_clients = (_check_clients, list_unapplied)
    for check in (_check_path, _check_bottleneck, _check_destinations, *of_clients, _check_times, _check_sweeps):
        for problem in check(job):
            keys = problem.partition(":")[0].split(".")
            place = tuple(int(key) if key.isdecimal() else key for key in keys)
            raise CampaignError(f"session {session}, job {job['name']}, {problem}", place)


def check_algorithms(declared: Campaign) -> None:
    """Raise DeclarationError for the first job with an algorithm that is nearly called as one of Linux.

    Not where this machine's kernel has loaded one of that name, and not where the campaign names a kernel of its own,
    which may have any. None is called `candidate`.
    """
    loaded, is_own_kernel = list_available(), declared.testbed["kernel"] is not None
    for session in declared.sessions:
        for job, place in zip(session.jobs, session.places, strict=True):
            for number, client in enumerate(declare_clients(job)):
                key = "congestion_control" if client["congestion_control"] else "default_congestion_control"
                name = client["congestion_control"] or job[key]
                doubt = None if is_own_kernel or name in loaded else doubt_algorithm(name)
                if problem := _explain_candidate(declared) if name == CANDIDATE else doubt:
                    what = f"session {session.label}, job {job['name']}, {key}: {problem}"
                    own = ("clients", number) if job["clients"] and key in client else ()
                    raise declared.blame(CampaignError(what, (*place, *own, key)))


def _explain_candidate(declared: Campaign) -> str:
    told = show_path(declared.path) if declared.path else "FILE"
    return (
        f"`{CANDIDATE}` stands for the algorithms that `compare_kernels` compares; measure this campaign by `python -m "
        f"ccreport compare_kernels cubic bbr --campaign {told}`, or name an algorithm"
    )


def list_small_volumes(declared: Campaign) -> list[str]:
    """Return what to say of volumes much of which iperf3 does not wait for, each place of the file once, by line."""
    told: dict[tuple[Any, ...], str] = {}
    for session in declared.sessions:
        for job, place in zip(session.jobs, session.places, strict=True):
            for number, client in enumerate(declare_clients(job)):
                own = ("clients", number) if client["volume_bytes"] else ()
                volume_bytes = client["volume_bytes"] or (job["volume_bytes"] if client["duration_s"] is None else None)
                # UDP waits nowhere, and with reverse the client counts what arrives.
                if job["reverse"] or sends_udp((*job["extra_arguments"], *client["extra_arguments"])):
                    continue
                if volume_bytes and (problem := _doubt_volume(volume_bytes, job["sysctls"].get(UNSENT))):
                    what = f"session {session.label}, job {job['name']}, volume_bytes: {problem}"
                    error = CampaignError(what, (*place, *own, "volume_bytes"))
                    told.setdefault(error.place, str(declared.blame(error)))
    return list(told.values())


def _doubt_volume(volume_bytes: int, unsent: int | str | None) -> str | None:
    """Return what to say of a volume of which more than a tenth may be missing at the receiver, null of any other.

    `unsent` is how many bytes the job lets wait in a socket, null where it does not say.
    """
    if volume_bytes < IPERF3_BLOCK_BYTES:
        return (
            f"iperf3 writes {IPERF3_BLOCK_BYTES:,} bytes at once, so it sends more than {volume_bytes:,}, and ends "
            "once its kernel has them, so fewer count as received; take some megabytes, or RPCs, which end on arrival: "
            f"`rpc: {{request_bytes: {volume_bytes}, response_bytes: 1}}` with duration_s"
        )
    unsent_bytes = UNSENT_BYTES if unsent is None else _read_bytes(str(unsent))
    least_bytes = min(UNSENT_FACTOR * (IPERF3_BLOCK_BYTES + unsent_bytes), UNLIMITED_AT_LEAST_BYTES)
    if volume_bytes >= (UNLIMITED_AT_LEAST_BYTES if unsent is None else least_bytes):
        return None
    rest, cure = "megabytes", [f"write `sysctls: {{{UNSENT}: {UNSENT_BYTES}}}`"]
    if unsent is not None:
        rest, cure = f"{IPERF3_BLOCK_BYTES:,} bytes and those of {UNSENT}", []
    if volume_bytes < least_bytes:
        cure.append(f"take at least {least_bytes:,} bytes")
    ends = "iperf3 ends a flow once its kernel has the last bytes"
    return f"{ends}, of which {rest} may wait there unsent and count as not received; {' and '.join(cure)}"


def _read_bytes(value: str) -> int:
    """Return a number as Linux reads it; one that it refuses, which `check_sysctls` tells, is as good as none."""
    return int(value, 16 if value.startswith("0x") else 10) if INTEGER.fullmatch(value) else 0


def check_engine(declared: Campaign) -> None:
    """Raise DeclarationError where a campaign asks for namespaces, which lack virtual time or one of its algorithms."""
    if declared.testbed["engine"] != "namespaces":
        return
    if declared.testbed["clock"] == "virtual":
        problem = "testbed: clock: virtual needs a user-mode kernel, and engine is namespaces"
        raise declared.blame(CampaignError(problem, ("testbed", "clock")))
    loaded = list_available()
    for session in declared.sessions:
        for job, place in zip(session.jobs, session.places, strict=True):
            for client in declare_clients(job):
                if (name := client["congestion_control"]) not in (None, *loaded):
                    problem = (
                        f"this machine's kernel has not loaded `{name}` (modprobe tcp_{name}), and engine is namespaces"
                    )
                    what = f"session {session.label}, job {job['name']}, congestion_control: {problem}"
                    raise declared.blame(CampaignError(what, (*place, "congestion_control")))


def _check_path(job: Settings) -> Iterator[str]:
    rtts = [*as_list(job["rtt_ms"]), *(destination["rtt_ms"] for destination in job["destinations"])]
    for key in ("jitter_ms", "reordering_pct"):
        if (job[key] or any(destination[key] for destination in job["destinations"])) and not any(rtts):
            yield f"{key}: netem needs a delay for it; declare rtt_ms"
    for number, settings in enumerate((job, *job["destinations"])):
        if total := _find_total_loss(settings):
            place = f"destinations.{number - 1}.{total}" if number else total
            yield f"{place}: lets no packet through, so nothing can be measured; write less than 100"
    for place, settings in [
        *((f"destinations.{destination['alias']}", destination) for destination in job["destinations"]),
        *((f"stages.{number}", stage) for number, stage in enumerate(job["stages"])),
    ]:
        if settings["loss_pct"] is not None and settings["loss"] is not None:
            yield f"{place}: loss_pct and loss exclude each other"


def _find_total_loss(settings: Settings) -> str | None:
    """Return the key by which a path loses every packet, null where some come through; a stage may be an outage."""
    if settings["loss_pct"] == TOTAL_PCT:
        return "loss_pct"
    loss = settings["loss"] or {}
    return "loss" if loss.get("good_loss_pct") == loss.get("bad_loss_pct") == TOTAL_PCT else None


def _check_bottleneck(job: Settings) -> Iterator[str]:
    has_bottleneck = job["bottleneck_mbps"] is not None
    buffers = [key for key in ("buffer_bytes", "buffer_bdp") if job[key] is not None]
    if has_bottleneck and not buffers:
        yield "bottleneck_mbps: its buffer is not declared; add buffer_bytes or buffer_bdp"
    if buffers and not has_bottleneck:
        yield f"{buffers[0]}: there is no bottleneck_mbps whose buffer this could be"
    if job["queue"]["discipline"] != "fifo" and not has_bottleneck:
        yield "queue.discipline: there is no bottleneck_mbps that could queue so"
    if job["queue"]["ecn"] and job["queue"]["discipline"] == "fifo":
        yield "queue.ecn: fifo marks no packets; choose fq_codel, red or cake"
    if job["queue"]["discipline"] == "cake" and not job["queue"]["ecn"] and any(_list_asking(job)):
        yield "queue.ecn: cake marks whatever can be marked, and these flows ask for ECN; set it"
    if job["buffer_bdp"] is None:
        return
    own = {destination["rtt_ms"] for destination in job["destinations"] if destination["rtt_ms"] is not None}
    has_job_rtt = not job["destinations"] or any(destination["rtt_ms"] is None for destination in job["destinations"])
    rtts = own | set(as_list(job["rtt_ms"]) if has_job_rtt else [])
    if len(rtts) != 1 or not next(iter(rtts)):
        hint = (
            hint_at_for_each("rtt_ms", job["rtt_ms"]) if isinstance(job["rtt_ms"], list) else "or declare buffer_bytes"
        )
        yield f"buffer_bdp: a bandwidth-delay product needs one rtt_ms above 0; {hint}"
    if any(stage["rtt_ms"] is not None or stage["bottleneck_mbps"] is not None for stage in job["stages"]):
        yield "buffer_bdp: stages change the bandwidth-delay product; declare buffer_bytes"


def _list_asking(job: Settings) -> list[bool]:
    return [asks_for_ecn(job, declared) for declared in declare_clients(job)]


def _check_destinations(job: Settings) -> Iterator[str]:
    aliases = [destination["alias"] for destination in job["destinations"]]
    if twice := _find_twice(aliases):
        yield f"destinations: {twice} is there twice"
    if isinstance(job["rtt_ms"], list) and any(
        destination["rtt_ms"] is not None for destination in job["destinations"]
    ):
        yield "rtt_ms: a sweep, but some destinations have an RTT of their own"
    if isinstance(job["limit_packets_count"], list) and any(
        destination["limit_packets_count"] is not None for destination in job["destinations"]
    ):
        yield "limit_packets_count: a sweep, but some destinations have a limit of their own"
    named = {declared["destination"] for declared in declare_clients(job)} - {None}
    if unknown := sorted(named - set(aliases)):
        yield f"clients: {unknown[0]} is none of the destinations ({', '.join(aliases) or 'there are none'})"
    if named and job["destinations_per_run"] != "all":
        yield "clients: a destination can be chosen only where destinations_per_run is all"


def _check_clients(job: Settings) -> Iterator[str]:
    algorithms = as_list(job["congestion_control"])
    if twice := _find_twice(algorithms):
        yield f"congestion_control: {twice} is there twice"
    if job["clients"] and len(algorithms) > 1:
        has_own = all(client["congestion_control"] for client in job["clients"])
        cure = "each client has its own, so" if has_own else "give each client its own, and"
        yield (
            f"congestion_control: a list divides flows_count, which clients replace; {cure} take it away in this job: "
            "`congestion_control: null`"
        )
    if not job["clients"] and job["flows_count"] < len(algorithms):
        yield f"flows_count: {job['flows_count']} cannot be divided between {len(algorithms)} algorithms"
    for declared in declare_clients(job):
        if declared["flows_count"] > FLOWS_AT_MOST:
            yield f"flows_count: a client has at most {FLOWS_AT_MOST}; declare clients with a count"
        if declared["duration_s"] is not None and declared["volume_bytes"] is not None:
            yield "clients: duration_s and volume_bytes exclude each other"


def _check_times(job: Settings) -> Iterator[str]:
    has_end = job["duration_s"] is not None or job["volume_bytes"] is not None
    ends = []
    for declared in declare_clients(job):
        last_start_s = declared["start_s"] + (declared["count"] - 1) * declared["stagger_s"]
        has_own_end = declared["duration_s"] is not None or declared["volume_bytes"] is not None
        if not has_end and not has_own_end:
            yield "duration_s: neither this nor volume_bytes says when flows end"
        if job["duration_s"] is not None and not has_own_end and last_start_s >= job["duration_s"]:
            yield f"duration_s: a client starts only after {last_start_s:g} s, when the run is over"
        if declared["duration_s"] is not None:
            ends.append(last_start_s + declared["duration_s"])
        elif not has_own_end and job["duration_s"] is not None:
            ends.append(job["duration_s"])
        else:
            return
    times = [("stages", stage["at_s"]) for stage in job["stages"]]
    times += [("instruments.dumps_at_s", at_s) for at_s in job["instruments"]["dumps_at_s"]]
    for key, at_s in times:
        if at_s >= max(ends) + job["omit_s"]:
            yield f"{key}: {at_s:g} s is after the end of the run"


def _check_sweeps(job: Settings) -> Iterator[str]:
    swept = [key for key in ("rtt_ms", "limit_packets_count") if isinstance(job[key], list)]
    if len(swept) > 1:
        yield "limit_packets_count: file names have room for one sweep, and rtt_ms is one; use for_each"
    for key in swept:
        if twice := _find_twice([float(value) for value in job[key]]):
            yield f"{key}: {twice} is there twice"
    sweep = job["parameter_sweep"]
    if sweep and (twice := _find_twice(sweep["values"])):
        yield f"parameter_sweep.values: {twice} is there twice"
    if sweep and any(name.split("[")[0] == sweep["name"] for name in job["module_parameters"]):
        yield f"parameter_sweep.name: module_parameters set {sweep['name']}, too"
    at_s = [stage["at_s"] for stage in job["stages"]]
    if at_s != sorted(at_s):
        yield "stages: at_s must not go back"
    if job["bottleneck_mbps"] is None and any(stage["bottleneck_mbps"] is not None for stage in job["stages"]):
        yield "stages: there is no bottleneck_mbps whose rate they could change"


def _find_twice(values: list[Any]) -> str | None:
    twice = next((value for value in values if values.count(value) > 1), None)
    return None if twice is None else f"{twice:g}" if isinstance(twice, float) else str(twice)
