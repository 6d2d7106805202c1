"""What the archive says of a job: `jobmeta.json` and `<host>-meta.json`, as ESnet's testing harness writes them.

Texts are those of its INI files: one-way delays in ms, losses in %, rates with tc's units. Keys that the harness has
and a testbed of this kind has no use for are null. Added are `clients`, which says which flows run which algorithm, and
what is between the hosts: `bottleneck`, `buffer_bytes`, `queue`, `ecn`, `background_udp`, `stages`; and
`settings` where nothing else tells a job from another.
"""

import shlex
import uuid
from collections.abc import Sequence
from typing import Any, Final

from ccreport.collect.declare.campaign import Settings
from ccreport.collect.declare.clients import to_bps
from ccreport.collect.declare.conditions import Condition, find_rtt, make_loss, name_parameter
from ccreport.collect.plan import Bottleneck, Client, Loss, Route, Run
from ccreport.collect.testbed.commands import find_port, list_client_commands

# So that two collections of a campaign differ in nothing but what they measured.
NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "https://github.com/esnet/testing-harness")
INTERFACE: Final = "s0"


def describe_job(job: Settings, conditions: Sequence[Condition], runs: Sequence[Run], names: Sequence[str]) -> Settings:
    """Return the content of a job's `jobmeta.json`, without what only the testbed knows.

    `names` are those of the campaign, its session and the sender; `runs` are the job's.
    """
    campaign, session, hostname = names
    hosts = list({route.host: route for condition in conditions for route in condition.routes}.values())
    return {
        "uuid": identify(campaign, session, job["name"]),
        "name": job["name"],
        "user": None,
        "type": runs[0].clients[0].program,
        "enabled": True,
        "instrument": True,
        "iters": job["iterations_count"],
        "src": "localhost",
        "dst": hosts[0].address,
        "alias": hosts[0].alias if len(hosts) == 1 else None,
        **_describe_commands(job, runs[0]),
        **_describe_instruments(job, runs[0]),
        **_describe_path(job, conditions),
        **_describe_parameter(job),
        "profile_file": None,
        "profile": None,
        "nic": INTERFACE,
        "archive": None,
        "hostname": hostname,
        "hosts": [{"hostname": route.address, "profile": None, "alias": route.alias} for route in hosts],
        "parent": None,
        "NIC": INTERFACE,
        "MTU": str(job["mtu_bytes"]),
        # Of a virtual interface ethtool says 10 Gbit/s, which limits nothing.
        "NIC_speed": format_rate(to_bps(job["sender_mbps"])),
        "campaign": campaign,
        "clients": [_describe_client(client, runs) for client in runs[0].clients],
        **_describe_additions(job, runs[0]),
    }


def describe_hosts(metadata: Settings, conditions: Sequence[Condition]) -> dict[str, Settings]:
    """Return the content of each `<host>-meta.json`; `rtt` is that of the first condition, in whole ms."""
    described: dict[str, Settings] = {}
    for route in (route for condition in conditions for route in condition.routes):
        facts = {"parent": metadata["uuid"], "hostname": route.address, "profile": None, "alias": route.alias}
        described.setdefault(route.host, facts | {"profile_settings": {}, "rtt": int(route.rtt_ms)})
    return described


def identify(*names: str) -> str:
    """Return the UUID of what has these names, the same in every collection."""
    return str(uuid.uuid5(NAMESPACE, "/".join(names)))


def format_rate(rate_bps: int | None) -> str | None:
    """Return a rate as tc reads it, 50mbit; null for none."""
    return None if rate_bps is None else f"{_format_number(rate_bps / 1e6)}mbit"


def format_loss(loss: Loss | None) -> str | None:
    """Return the mean loss in % as netem's argument has it, with the model where losses are not independent."""
    if loss is None:
        return None
    return f"{_format_number(loss.loss_pct)}{' gemodel' if loss.model == 'gilbert-elliott' else ''}"


def describe_stage(stage: Settings) -> Settings:
    """Return a change of the path as metadata tell it, which is a column of `runs`."""
    facts = {
        "at_s": stage["at_s"],
        "rtt_ms": stage["rtt_ms"],
        "rate": format_rate(to_bps(stage["bottleneck_mbps"])),
        "loss": format_loss(make_loss(stage)),
    }
    return {key: value for key, value in facts.items() if value is not None}


def _describe_commands(job: Settings, run: Run) -> Settings:
    commands = job["commands"]
    lines = {
        "pre_src_cmd": commands["before_source"],
        "pre_dst_cmd": commands["before_destination"],
        "post_src_cmd": commands["after_source"],
        "post_dst_cmd": commands["after_destination"],
    }
    return {
        "pre": None,
        "post": None,
        "src_cmd": _write_command(run.clients[0]),
        "dst_cmd": None,
        "src_cmd_once": False,
        "dst_cmd_once": False,
        **{key: "; ".join(value) or None for key, value in lines.items()},
    }


def _describe_instruments(job: Settings, run: Run) -> Settings:
    instruments = job["instruments"]
    capture = instruments["capture"]
    ports = [find_port(client) for client in run.clients]
    own_filter = f"host {{dst}} and {f'port {ports[0]}' if len(ports) == 1 else f'portrange {ports[0]}-{ports[-1]}'}"
    declared_filter = capture["filter"] if capture else None
    snap_bytes = capture["snap_bytes"] if capture else None
    return {
        "ss": instruments["ss_interval_s"] is not None,
        "tcptrace": False,
        "tcpdump": capture is not None,
        "mpstat": None if instruments["mpstat_interval_s"] is None else "ALL",
        "tcpdump_filt": f'-s {snap_bytes} -i {INTERFACE} "{declared_filter or own_filter}"' if capture else None,
        "statexec": None,
    }


def _describe_path(job: Settings, conditions: Sequence[Condition]) -> Settings:
    rtts, limits = job["rtt_ms"], job["limit_packets_count"]
    kept = {route.limit_packets_count for condition in conditions for route in condition.routes}
    # One value holds for all conditions or is null here; file names have each condition's own.
    nominal = {find_rtt(job, condition) for condition in conditions}
    rtt = nominal.pop() if len(nominal) == 1 else None
    losses = {route.loss for condition in conditions for route in condition.routes}
    delays = [_format_number(value / 2) for value in rtts] if isinstance(rtts, list) else None
    return {
        "loss": format_loss(losses.pop()) if len(losses) == 1 else None,
        "lat": None if rtt is None or delays else _format_number(rtt / 2),
        "limit": None if isinstance(limits, list) or len(kept) > 1 else str(kept.pop()),
        "pacing": format_rate(to_bps(job["flow_pacing_mbps"])),
        "lat_sweep": ",".join(delays) if delays else None,
        "limit_sweep": ",".join(map(str, limits)) if isinstance(limits, list) else None,
        **({"lat_val_list": delays} if delays else {}),
        **({"limit_val_list": [str(value) for value in limits]} if isinstance(limits, list) else {}),
    }


def _describe_parameter(job: Settings) -> Settings:
    sweep = job["parameter_sweep"]
    if not sweep:
        return {"param_sweep": None, "vector_element": 0}
    is_vector = sweep["vector_element"] is not None
    values = [str(value) for value in sweep["values"]]
    module, _, name = sweep["name"].rpartition(".")
    kind = ["sys-module-vector-list", str(sweep["vector_element"])] if is_vector else ["sys-module-list"]
    return {
        "param_sweep": ",".join([f"{module}/parameters/{name}", *kind, *values]),
        "param_name": name_parameter(job),
        "param_val_list": sweep["values"],
        "vector_element": sweep["vector_element"] or 0,
    }


def _describe_client(client: Client, runs: Sequence[Run]) -> Settings:
    def find_route(run: Run) -> Route:
        host = run.clients[client.number - 1].host
        return next(route for route in run.routes if route.host == host)

    hosts = {find_route(run).host for run in runs}
    rtts = {find_route(run).rtt_ms for run in runs}
    return {
        "number": client.number,
        "command": _write_command(client),
        "congestion_control": client.congestion_control or runs[0].default_congestion_control,
        "flows_count": client.flows_count,
        "ecn": client.has_ecn,
        "start_s": client.start_s,
        "host": hosts.pop() if len(hosts) == 1 else None,
        "rtt_ms": rtts.pop() if len(rtts) == 1 else None,
        "port": find_port(client),
    }


def _describe_additions(job: Settings, run: Run) -> Settings:
    added: dict[str, Any] = {}
    if run.bottleneck is not None:
        added |= _describe_bottleneck(run.bottleneck)
    if run.background_udp_bps is not None:
        added["background_udp"] = format_rate(run.background_udp_bps)
    if job["stages"]:
        added["stages"] = [describe_stage(stage) for stage in job["stages"]]
    return added


def _describe_bottleneck(bottleneck: Bottleneck) -> Settings:
    return {
        "buffer_bytes": bottleneck.buffer_bytes,
        "bottleneck": format_rate(bottleneck.rate_bps),
        "queue": bottleneck.discipline,
        "ecn": bottleneck.has_ecn,
    }


def _write_command(client: Client) -> str:
    words = list_client_commands(client, "{dst}")[0]
    # The harness puts the destination in place of {dst}, so that these braces stay unquoted.
    return " ".join(word if word == "{dst}" else shlex.quote(word) for word in words)


def _format_number(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")
