"""Settings that a job may have and the program of a client, or its host, does not apply: the run would say it did.

The same holds for what extra arguments set in place of a key (`arguments.py`).

netperf leaves nothing out of its results, ends by time only, and cannot pace its sockets. With `iperf3 -R` the
receivers send, and iperf3 3.12 does not hand them --fq-rate. `fq maxrate` holds for UDP, too. Whether connections ask
for ECN is a setting of the host.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ccreport.collect.declare.arguments import list_given
from ccreport.collect.declare.campaign import Settings
from ccreport.collect.declare.clients import PLAIN, asks_for_ecn, declare_clients, find_program, find_rpc

RPCS: Final = "netperf, which sends the RPCs,"


def list_unapplied(job: Settings) -> Iterator[str]:
    """Yield each setting that some client does not apply, by its key, and what to write."""
    clients = declare_clients(job)
    programs = {find_program(job, declared) for declared in clients}
    if "netperf" in programs:
        yield from _list_of_netperf(job)
    if len(programs) > 1 and job["extra_arguments"]:
        yield "extra_arguments: iperf3 and netperf take different ones; write them in `clients`, to each its own"
    else:
        yield from _list_given(job["extra_arguments"], min(programs), job, PLAIN)
    if job["reverse"] and job["flow_pacing_mbps"]:
        yield f"flow_pacing_mbps: {_explain_reverse(job['flow_pacing_mbps'])}"
    for number, declared in enumerate(clients):
        for problem in _list_of_client(job, declared):
            yield f"clients.{number}.{problem}" if job["clients"] else problem
    pacing_mbps = job["flow_pacing_mbps"] if job["pacing_by"] == "fq" else None
    if pacing_mbps and (job["background_udp_mbps"] or 0) > pacing_mbps:
        yield (
            f"background_udp_mbps: fq keeps these packets to flow_pacing_mbps {pacing_mbps:g}, as each flow of a "
            "sender; write `pacing_by: socket`"
        )
    yield from _list_ecn(job, clients)


def _list_of_netperf(job: Settings) -> Iterator[str]:
    if job["flow_pacing_mbps"] and job["pacing_by"] == "socket":
        yield f"pacing_by: {RPCS} cannot pace its sockets; write `pacing_by: fq`"
    if job["omit_s"]:
        yield f"omit_s: {RPCS} leaves nothing out of its results; write `omit_s: 0`"
    if job["reverse"]:
        yield "reverse: netperf's requests and answers go both ways; leave it out"


def _list_of_client(job: Settings, declared: Settings) -> Iterator[str]:
    program, pacing_mbps = find_program(job, declared), declared["flow_pacing_mbps"]
    if program == "netperf" and not find_rpc(job, declared):
        yield "program: netperf needs rpc, its sizes of requests and answers"
    if program == "netperf" and (declared["volume_bytes"] or job["volume_bytes"]):
        yield "volume_bytes: netperf's requests and answers run for duration_s"
    if program == "netperf" and pacing_mbps:
        yield f"flow_pacing_mbps: {RPCS} cannot pace its sockets; write the job's flow_pacing_mbps, which fq keeps"
    if program == "iperf3" and declared["rpc"]:
        yield "program: iperf3 has no rpc; leave program out, and netperf sends them"
    if job["reverse"] and pacing_mbps:
        yield f"flow_pacing_mbps: {_explain_reverse(pacing_mbps)}"
    yield from _list_given(declared["extra_arguments"], program, job, declared)


def _list_given(arguments: Iterable[str], program: str, job: Settings, declared: Settings) -> Iterator[str]:
    by_socket = job["flow_pacing_mbps"] if job["pacing_by"] == "socket" else None
    paces_sockets = bool(declared["flow_pacing_mbps"] or by_socket)
    yield from (
        f"extra_arguments: {problem}" for problem in list_given(arguments, program, paces_sockets=paces_sockets)
    )


def _explain_reverse(pacing_mbps: float) -> str:
    return f"with reverse the receivers send, which it does not pace; write `extra_arguments: [-b, {pacing_mbps:g}M]`"


def _list_ecn(job: Settings, clients: Sequence[Settings]) -> Iterator[str]:
    asking = {declared["sender"] for declared in clients if asks_for_ecn(job, declared)}
    for number, declared in enumerate(clients):
        if declared["sender"] in asking and not asks_for_ecn(job, declared):
            cure = "write `ecn: true`, or have it send from another host, by `sender` of `clients`"
            key = f"clients.{number}.ecn" if job["clients"] else "ecn"
            yield f"{key}: all flows of a sender ask for ECN where some do, as those of another client here; {cure}"
