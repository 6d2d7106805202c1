"""The command lines of a run's clients and servers, how long they may take, and what their output says.

iperf3: `-n` counts the bytes of all flows together, `-t` takes whole seconds only, a client ends with the result as one
JSON object that has `error` where it failed. netperf: an omni test with `-k` prints lines NAME=value; of several flows
each is a process of its own, whose results follow each other in the run's file (netperf's manual, "omni tests").
"""

import json
import math
from pathlib import Path
from typing import Final

from ccreport.collect.plan import Client, Run

IPERF3_PORT: Final = 5201
NETPERF_PORT: Final = 12865
# What background UDP leaves of the MTU, as TCP with timestamps does; with less iperf3 puts a warning before its JSON.
DATAGRAM_HEADERS_BYTES: Final = 52
SELECTED: Final = (
    "THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL,DIRECTION,ELAPSED_TIME,REQUEST_SIZE,RESPONSE_SIZE,BURST_SIZE,"
    "MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY,STDDEV_LATENCY,TRANSPORT_MSS,"
    "LOCAL_TRANSPORT_RETRANS,REMOTE_TRANSPORT_RETRANS,LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL,DEST_ADDR"
)
# What a client may take beyond its time: for the handshake, for what is still in the queue, for exchanging results.
MARGIN_S: Final = 60.0
# How much longer than expected a volume may take: at 1 % loss CUBIC reaches a tenth of its share.
VOLUME_PATIENCE: Final = 20.0


class WrongCallError(Exception):
    """What the campaign itself has called fails, and is not called again; the message has the key."""


def find_port(client: Client) -> int:
    """Return the port of a client's server: 5201 for the first, one more for each that follows."""
    return (IPERF3_PORT if client.program == "iperf3" else NETPERF_PORT) + client.number - 1


def find_background_port(run: Run) -> int:
    """Return the port of the background traffic, which none of the clients has."""
    return IPERF3_PORT + max(client.number for client in run.clients)


def name_output(client: Client, suffix: str) -> str:
    """Return the name of the file with a client's output."""
    item = "src-cmd" if client.program == "iperf3" else "netperf"
    return f"{item}{'' if client.number == 1 else f'-{client.number}'}:{suffix}"


def list_client_commands(client: Client, address: str) -> list[list[str]]:
    """Return the commands of a client, more than one where each flow is a process of its own."""
    if client.program == "netperf":
        return [_netperf_command(client, address)] * client.flows_count
    command = ["iperf3", "-c", address, "-p", str(find_port(client)), "-J", "-i", f"{client.interval_s:g}"]
    if client.volume_bytes is not None:
        command += ["-n", str(client.volume_bytes * client.flows_count)]
    else:
        command += ["-t", str(math.ceil(client.duration_s or 0))]
    command += ["-P", str(client.flows_count)]
    if client.congestion_control:
        command += ["-C", client.congestion_control]
    if client.omit_s:
        command += ["-O", str(client.omit_s)]
    if client.flow_rate_bps is not None:
        command += ["--fq-rate", str(client.flow_rate_bps)]
    return [[*command, *(["-R"] if client.is_reverse else []), *client.extra_arguments]]


def list_server_command(client: Client) -> list[str]:
    """Return the command of a client's server, which an iperf3 server ends after one test."""
    port = str(find_port(client))
    return ["iperf3", "-s", "-1", "-p", port] if client.program == "iperf3" else ["netserver", "-D", "-4", "-p", port]


def list_background_commands(run: Run, address: str) -> tuple[list[str], list[str]]:
    """Return the commands of server and client of the UDP traffic that goes on beside a whole run."""
    port = str(find_background_port(run))
    last = str(math.ceil(last_expected_s(run)))
    rate_bps = run.background_udp_bps or 1
    payload_bytes = run.mtu_bytes - DATAGRAM_HEADERS_BYTES
    # iperf3 looks every millisecond whether it may send; as often as it may is enough, and costs less.
    timer_us = str(min(max(round(8e6 * payload_bytes / rate_bps), 1000), 1_000_000))
    client = ["iperf3", "-c", address, "-p", port, "-u", "-b", str(rate_bps), "-l", str(payload_bytes)]
    client += ["--pacing-timer", timer_us, "-t", last, "-J"]
    return ["iperf3", "-s", "-1", "-p", port], client


def last_expected_s(run: Run) -> float:
    """Return when the last client should have ended, in seconds after the start."""
    return max(client.start_s + _duration_s(client, run) for client in run.clients)


def limit_s(client: Client, run: Run) -> float:
    """Return when a client that still runs is taken for one that never ends, in seconds after the start."""
    patience = 1.0 if client.volume_bytes is None else VOLUME_PATIENCE
    return client.start_s + _duration_s(client, run) * patience + MARGIN_S


def find_fault(client: Client, output: Path) -> str | None:
    """Return what is wrong with a client's output, null if it is a whole result.

    Raise WrongCallError where the client did not begin for an argument of the campaign's own.
    """
    text = output.read_text(encoding="utf-8", errors="replace")
    # iperf3: unrecognized option '--bogus'
    if client.extra_arguments and text.startswith(f"{client.program}: "):
        raise WrongCallError(f"extra_arguments: {text.splitlines()[0][:200]}")
    if not text.strip():
        return f"{output.name} is empty"
    if client.program == "netperf":
        count = text.count("THROUGHPUT=")
        return None if count == client.flows_count else f"netperf: {text.strip().splitlines()[-1]}"
    try:
        result = json.loads(text)
    except ValueError:
        return f"{output.name} is no JSON: {text.strip().splitlines()[0][:200]}"
    if error := result.get("error"):
        return f"iperf3: {error}"
    return None if result.get("intervals") else f"{output.name} has no intervals"


def _duration_s(client: Client, run: Run) -> float:
    return client.omit_s + (run.expected_s if client.duration_s is None else client.duration_s)


def _netperf_command(client: Client, address: str) -> list[str]:
    command = ["netperf", "-H", address, "-p", str(find_port(client)), "-j", "-t", "TCP_RR"]
    command += ["-l", str(math.ceil(client.duration_s or 0)), "--"]
    command += ["-r", f"{client.request_bytes or 1},{client.response_bytes or 1}"]
    if client.congestion_control:
        command += ["-K", client.congestion_control]
    return [*command, *client.extra_arguments, "-k", SELECTED]
