"""What tells the runs of two jobs apart: each key of a campaign has a column of `runs`, or is named as a parameter."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from test_planning import plan

from ccreport.archive.rpc_clients import name_rpcs
from ccreport.collect.declare.campaign import load_schema
from ccreport.collect.plan import Job, Run

COMMON: Final = {"rtt_ms": 10, "sender_mbps": 40}
ROUTER: Final = {"bottleneck_mbps": 20, "buffer_bytes": 50_000, "queue": {"discipline": "red"}}
BURSTS: Final = {"model": "gilbert-elliott", "enter_bad_pct": 1, "leave_bad_pct": 20}
RPC: Final = {"request_bytes": 1000, "response_bytes": 1}
# Keys that change nothing of what a run measures, or that make jobs.
NO_CONDITION: Final = frozenset(
    {"name", "for_each", "iterations_count", "report_interval_s", "commands.after_source", "commands.after_destination"}
)
# What `runs` has columns for, by the key of the job's metadata.
COLUMNS: Final = (
    "bottleneck",
    "buffer_bytes",
    "queue",
    "ecn",
    "pacing",
    "background_udp",
    "MTU",
    "NIC_speed",
    "stages",
)


def together(**of_second: Any) -> dict[str, Any]:
    """Return two destinations in each run, of which the second has some settings."""
    paths = [{"alias": "near"}, {"alias": "far"} | of_second]
    return {"destinations": paths, "destinations_per_run": "all"}


def one_each(**of_second: Any) -> dict[str, Any]:
    return together(**of_second) | {"destinations_per_run": "one"}


def clients(*declared: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"clients": list(declared)} | others


def stage(**facts: Any) -> dict[str, Any]:
    return ROUTER | {"stages": [{"at_s": 2, "rtt_ms": 20} | facts]}


# For each key two jobs that differ in it alone, or in who of several clients has it.
APART: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "duration_s": ({}, {"duration_s": 6}),
    "volume_bytes": ({"volume_bytes": 1000}, {"volume_bytes": 2000}),
    "omit_s": ({}, {"omit_s": 1}),
    "rtt_ms": ({}, {"rtt_ms": 11}),
    "jitter_ms": ({}, {"jitter_ms": 1}),
    "reordering_pct": ({}, {"reordering_pct": 1}),
    "loss_pct": ({}, {"loss_pct": 1}),
    "loss": ({}, {"loss": BURSTS}),
    "loss_direction": ({"loss_pct": 1}, {"loss_pct": 1, "loss_direction": "both"}),
    "limit_packets_count": ({}, {"limit_packets_count": 500}),
    "sender_mbps": ({}, {"sender_mbps": 30}),
    "flow_pacing_mbps": ({}, {"flow_pacing_mbps": 3}),
    "pacing_by": ({"flow_pacing_mbps": 3}, {"flow_pacing_mbps": 3, "pacing_by": "socket"}),
    "bottleneck_mbps": (ROUTER, ROUTER | {"bottleneck_mbps": 10}),
    "buffer_bytes": (ROUTER, ROUTER | {"buffer_bytes": 60_000}),
    "buffer_bdp": (ROUTER, ROUTER | {"buffer_bytes": None, "buffer_bdp": 1}),
    "queue.discipline": (ROUTER, ROUTER | {"queue": {"discipline": "fifo"}}),
    "queue.ecn": (ROUTER | {"ecn": True}, ROUTER | {"ecn": True, "queue": {"discipline": "red", "ecn": True}}),
    "congestion_control": ({}, {"congestion_control": "bbr"}),
    "default_congestion_control": ({}, {"default_congestion_control": "reno"}),
    "flows_count": ({}, {"flows_count": 2}),
    "stagger_s": ({"flows_count": 2}, {"flows_count": 2, "stagger_s": 1}),
    "clients": ({}, clients({"rpc": RPC}, {})),
    "clients.count": (clients({"rpc": RPC}, {}), clients({"rpc": RPC, "count": 2}, {})),
    "clients.stagger_s": (clients({"count": 2}), clients({"count": 2, "stagger_s": 1})),
    "clients.congestion_control": (
        clients({"congestion_control": "bbr"}, {"start_s": 2}),
        clients({}, {"congestion_control": "bbr", "start_s": 2}),
    ),
    "clients.flows_count": (
        clients({"flows_count": 3}, {"start_s": 2}),
        clients({}, {"flows_count": 3, "start_s": 2}),
    ),
    "clients.start_s": (clients({}, {"start_s": 1}), clients({}, {"start_s": 2})),
    "clients.duration_s": (clients({}, {"duration_s": 3}), clients({}, {"duration_s": 4})),
    "clients.volume_bytes": (
        clients({"volume_bytes": 1000}, {"volume_bytes": 5000}),
        clients({"volume_bytes": 2000}, {"volume_bytes": 4000}),
    ),
    "clients.destination": (
        clients({"destination": "near"}, {"destination": "far", "congestion_control": "bbr"}, **together(rtt_ms=60)),
        clients({"destination": "far"}, {"destination": "near", "congestion_control": "bbr"}, **together(rtt_ms=60)),
    ),
    "clients.sender": (clients({}, {}), clients({}, {"sender": 2})),
    "clients.flow_pacing_mbps": (clients({}, {"flow_pacing_mbps": 2}), clients({}, {"flow_pacing_mbps": 3})),
    "clients.program": (
        clients({"program": "iperf3"}, {"program": "iperf3"}, rpc=RPC),
        clients({"program": "iperf3"}, {"program": "netperf"}, rpc=RPC),
    ),
    "clients.rpc": (clients({}, {"rpc": RPC}), clients({}, {"rpc": RPC | {"response_bytes": 2000}})),
    "clients.ecn": (clients({}, {"ecn": True, "sender": 2}), clients({}, {"sender": 2})),
    "clients.extra_arguments": (
        clients({"extra_arguments": ["-b", "1M"]}, {"extra_arguments": ["-b", "4M"]}),
        clients({"extra_arguments": ["-b", "2M"]}, {"extra_arguments": ["-b", "3M"]}),
    ),
    "stages": ({}, stage()),
    "stages.at_s": (stage(), stage(at_s=3)),
    "stages.rtt_ms": (stage(), stage(rtt_ms=30)),
    "stages.bottleneck_mbps": (stage(), stage(bottleneck_mbps=10)),
    "stages.loss_pct": (stage(), stage(loss_pct=1)),
    # 1 of 20 and 2 of 40 are the same mean.
    "stages.loss": (stage(loss=BURSTS), stage(loss=BURSTS | {"enter_bad_pct": 2, "leave_bad_pct": 40})),
    "destinations": ({}, {"destinations": [{"alias": "near"}]}),
    "destinations.alias": ({"destinations": [{"alias": "near"}]}, {"destinations": [{"alias": "far"}]}),
    "destinations.rtt_ms": (together(rtt_ms=60), together(rtt_ms=70)),
    "destinations.jitter_ms": (one_each(), one_each(jitter_ms=1)),
    "destinations.reordering_pct": (one_each(), one_each(reordering_pct=1)),
    "destinations.loss_pct": (together(loss_pct=1), together(loss_pct=2)),
    "destinations.loss": (together(), together(loss=BURSTS)),
    "destinations.loss_direction": (one_each(loss_pct=1), one_each(loss_pct=1, loss_direction="return")),
    "destinations.limit_packets_count": (one_each(limit_packets_count=100), one_each(limit_packets_count=200)),
    "destinations_per_run": (one_each(), together()),
    "background_udp_mbps": ({}, {"background_udp_mbps": 1}),
    "background_udp_sender": ({"background_udp_mbps": 1}, {"background_udp_mbps": 1, "background_udp_sender": 2}),
    "module_parameters": ({"module_parameters": {"tcp_a.x": 1}}, {"module_parameters": {"tcp_b.x": 1}}),
    "parameter_sweep": ({}, {"parameter_sweep": {"name": "tcp_a.x", "values": [1]}}),
    "parameter_sweep.name": (
        {"parameter_sweep": {"name": "tcp_a.x", "values": [1]}},
        {"parameter_sweep": {"name": "tcp_b.x", "values": [1]}},
    ),
    "parameter_sweep.values": (
        {"parameter_sweep": {"name": "tcp_a.x", "values": [1]}},
        {"parameter_sweep": {"name": "tcp_a.x", "values": [2]}},
    ),
    "parameter_sweep.vector_element": (
        {"parameter_sweep": {"name": "tcp_a.x", "values": [1], "vector_element": 0}},
        {"parameter_sweep": {"name": "tcp_a.x", "values": [1], "vector_element": 1}},
    ),
    "sysctls": ({}, {"sysctls": {"net.ipv4.tcp_sack": 0}}),
    "commands.before_source": ({}, {"commands": {"before_source": ["true"]}}),
    "commands.before_destination": ({}, {"commands": {"before_destination": ["true"]}}),
    "rpc": (
        clients({}, {"program": "iperf3"}, rpc=RPC),
        clients({}, {"program": "iperf3"}, rpc=RPC | {"request_bytes": 9}),
    ),
    "ecn": ({}, {"ecn": True}),
    "reverse": ({}, {"reverse": True}),
    "extra_arguments": ({}, {"extra_arguments": ["-w", "32K"]}),
    "mtu_bytes": ({}, {"mtu_bytes": 9000}),
    "offloads": ({}, {"offloads": True}),
    "receive_coalescing_us": ({}, {"receive_coalescing_us": 20}),
}  # fmt: skip
# What several keys do together.
MORE: Final[dict[str, Any]] = {
    "a path of three": tuple(
        {"destinations": [{"alias": alias, "jitter_ms": jitter_ms} for alias, jitter_ms in jitters.items()]}
        for jitters in ({"a": 1, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 2})
    ),
    "who of several clients lasts": (
        clients({"count": 2, "duration_s": 3}, {"duration_s": 4}),
        clients({"duration_s": 3}, {"count": 2, "duration_s": 4}),
    ),
    "the job's duration beside a client's own": (
        clients({}, {"duration_s": 9}, duration_s=5),
        clients({}, {"duration_s": 9}, duration_s=6),
    ),
    "parameters beside a sweep": (
        {"parameter_sweep": {"name": "tcp_a.x", "values": [1]}, "module_parameters": {"tcp_a.y": 1}},
        {"parameter_sweep": {"name": "tcp_a.x", "values": [1]}, "module_parameters": {"tcp_a.y": 2}},
    ),
    "the algorithm of RPCs": (
        clients({}, {"rpc": RPC}),
        clients({}, {"rpc": RPC, "congestion_control": "bbr"}),
    ),
    "which RPCs begin late": (
        clients({}, {"rpc": RPC, "start_s": 1}, {"rpc": RPC | {"request_bytes": 9}}),
        clients({}, {"rpc": RPC}, {"rpc": RPC | {"request_bytes": 9}, "start_s": 1}),
    ),
}  # fmt: skip


def list_keys(schema: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield the keys of a job; of groups of keys those below, too, but not of losses and RPCs."""
    for key, facts in schema["properties"].items():
        inner = facts.get("items", facts)
        has_keys = "properties" in inner and key not in ("loss", "rpc", "for_each")
        if not has_keys or facts["default"] != {}:
            yield before + key
        if has_keys and key != "instruments":
            yield from list_keys(inner, f"{before}{key}.")


def read_condition(job: Job, run: Run) -> dict[str, Any]:
    """Return what the report knows of a run: its name, its columns of `runs`, and settings as its parameters."""
    host, _, *swept = run.suffix.split(":")
    bulk = [client for client in run.clients if client.program == "iperf3"]
    loss = run.routes[0].loss if len(run.routes) == 1 else job.metadata["loss"]
    return {
        "name": (host, swept),
        "columns": [job.metadata.get(key) for key in COLUMNS],
        "limit": job.metadata["limit"],
        "loss": loss if isinstance(loss, str | None) else (loss.model, loss.loss_pct),
        "algorithms": sorted({client.congestion_control or run.default_congestion_control for client in bulk}),
        "flows": sum(client.flows_count for client in bulk),
        "duration": max((client.duration_s or 0 for client in bulk), default=0),
        "volume": sum((client.volume_bytes or 0) * client.flows_count for client in bulk),
        "settings": job.metadata.get("settings"),
    }


def test_every_key_of_a_campaign_is_tried() -> None:
    job = load_schema()["properties"]["sessions"]["items"]["properties"]["jobs"]["items"]
    keys = set(list_keys(job))
    assert {"clients", "clients.rpc", "stages.at_s", "queue.ecn", "destinations.alias"} < keys
    assert keys - NO_CONDITION - {"instruments"} == APART.keys()


@pytest.mark.parametrize("pair", (APART | MORE).values(), ids=(APART | MORE).keys())
def test_runs_of_jobs_that_differ_in_one_key_are_told_apart(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    first, second = pair
    planned = plan(*({"name": name} | COMMON | job for name, job in (("a", first), ("again", first), ("b", second))))
    jobs = {job.name: job for job in planned.jobs}
    found = {name: [read_condition(jobs[name], run) for run in planned.runs if run.job == name] for name in jobs}
    assert found["a"] == found["again"]
    assert found["a"] != found["b"]


def test_rpcs_beside_bulk_flows_are_a_parameter_in_words_as_the_metadata_tell_them() -> None:
    beside = clients(
        {}, {"rpc": RPC | {"request_bytes": 100_000}, "count": 2}, {"rpc": RPC, "congestion_control": "bbr"}
    )
    planned = plan({"name": "plain"} | COMMON, {"name": "beside"} | COMMON | beside)
    told = [job.metadata["settings"] for job in planned.jobs]
    assert told == [{"rpc": "none"}, {"rpc": "1 bbr of 1 kB + 2 cubic of 100 kB"}]
    # Sessions from before there was the parameter have the commands.
    assert [name_rpcs(job.metadata["clients"]) for job in planned.jobs] == [None, told[1]["rpc"]]
    alone = plan(COMMON | clients({"rpc": RPC}, {"rpc": RPC}))
    assert name_rpcs(alone.jobs[0].metadata["clients"]) is None


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("netperf -H h -t TCP_RR -l 3 -- -r 100001,64000", "1 cubic of 100.001 kB and 64 kB"),
        ("netperf -H h -t TCP_CRR", "1 cubic of 1 B"),
        ("netperf -H h -t TCP_STREAM -- -r 9,9", None),
        ("iperf3 -c h -t 3", None),
    ],
)
def test_rpcs_are_read_from_commands(command: str, written: str | None) -> None:
    bulk = {"number": 1, "command": "iperf3 -c h"}
    assert name_rpcs([bulk, {"command": command, "congestion_control": "cubic", "flows_count": 1}]) == written
    assert name_rpcs([{"command": command, "congestion_control": "cubic"}]) is None


@pytest.mark.parametrize(
    "clients", [None, 3, "netperf", [], [None, "x", {"command": None}], {"command": "netperf -t TCP_RR"}]
)
def test_metadata_of_another_form_tell_no_rpcs(clients: Any) -> None:
    assert name_rpcs(clients) is None


def test_who_of_two_clients_joins_is_named_in_the_jobs_that_differ_in_nothing_else() -> None:
    one, other = (APART["clients.congestion_control"][place] for place in (0, 1))
    planned = plan(*({"name": name} | COMMON | job for name, job in (("a", one), ("b", other), ("c", {}))))
    assert [job.metadata.get("settings") for job in planned.jobs] == [
        {"clients": "1 bbr/1 cubic"}, {"clients": "1 cubic/1 bbr"}, None,
    ]  # fmt: skip
