"""Plans of campaigns: runs, names, rates, buffers and metadata, worked out by hand."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from archives import ROOT
from test_campaign import declare

from ccreport.__main__ import main
from ccreport.archive.harness_layout import parse_suffix
from ccreport.collect.collect import describe_engine
from ccreport.collect.declare.campaign import CampaignError, load_campaign, read_campaign
from ccreport.collect.declare.clients import split_flows
from ccreport.collect.declare.describe import describe_plan, expect_processor_s, expect_total_s, list_warnings
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.engines import Place
from ccreport.collect.kernel.find_kernel import UserKernel, read_user_kernel
from ccreport.collect.kernel.known_settings import name_unknown_settings
from ccreport.collect.plan import Bottleneck, Loss, Plan, Run, from_json, to_json
from ccreport.collect.testbed.commands import list_background_commands, list_client_commands
from ccreport.core.units import parse_rate_bps
from ccreport.ingest.harness.jobmeta import find_congestion, parse_loss

KERNEL = UserKernel(
    Path("uml/linux"), "6.1", "0", "0", 100, has_virtual_time=True, source=None, algorithms=frozenset({"cubic"})
)
UNKNOWN = ", and no calibration in this archive says that it can; the first session begins with one"
NO_DELAY = "% of the packets towards the receiver have no delay"


def plan(*jobs: dict[str, Any], **others: Any) -> Plan:
    return plan_campaign(read_campaign(declare(*({"name": "a"} | job for job in jobs), **others)), "test")


def load_plan(name: str) -> Plan:
    return plan_campaign(load_campaign(ROOT / f"campaigns/{name}.yaml"), name)


@pytest.mark.parametrize(
    ("job", "suffixes"),
    [
        ({}, ["10.201.1.2:1"]),
        ({"rtt_ms": 10}, ["10.201.1.2:1:10.0ms"]),
        ({"rtt_ms": 0.25}, ["10.201.1.2:1:0.25ms"]),
        ({"rtt_ms": [10, 87.5]}, ["10.201.1.2:1:10.0ms", "10.201.1.2:1:87.5ms"]),
        ({"limit_packets_count": [100, 1000]}, ["10.201.1.2:1:100", "10.201.1.2:1:1000"]),
        ({"limit_packets_count": [100, 1000], "rtt_ms": 10}, ["10.201.1.2:1:100", "10.201.1.2:1:1000"]),
        (
            {"parameter_sweep": {"name": "tcp_cubic.beta", "values": [512, 717]}},
            ["10.201.1.2:1:beta:512", "10.201.1.2:1:beta:717"],
        ),
        (
            {"parameter_sweep": {"name": "tcp_cubic.beta", "values": [717]}, "rtt_ms": [10, 20]},
            ["10.201.1.2:1:beta:717:10.0ms", "10.201.1.2:1:beta:717:20.0ms"],
        ),
        (
            {"parameter_sweep": {"name": "tcp_cubic.beta", "values": [717]}, "limit_packets_count": [5, 6]},
            ["10.201.1.2:1:beta:717:5", "10.201.1.2:1:beta:717:6"],
        ),
        # All conditions once before any again.
        ({"rtt_ms": [1, 2], "iterations_count": 2}, [f"10.201.1.2:{i}:{rtt}.0ms" for i in (1, 2) for rtt in (1, 2)]),
        (
            {"destinations": [{"alias": "near", "rtt_ms": 5}, {"alias": "far.example.net", "rtt_ms": 60}]},
            ["near:1:5.0ms", "far.example.net:1:60.0ms"],
        ),
        (
            {"destinations": [{"alias": "x", "rtt_ms": 5}, {"alias": "y", "rtt_ms": 6}], "destinations_per_run": "all"},
            ["x:1"],
        ),
        ({"destinations": [{"alias": "x"}, {"alias": "y"}], "destinations_per_run": "all", "rtt_ms": 7}, ["x:1:7.0ms"]),
    ],
)
def test_suffixes_are_those_of_the_harness_and_are_read_back(job: dict[str, Any], suffixes: list[str]) -> None:
    planned = plan(job)
    assert [run.suffix for run in planned.runs] == suffixes
    for run in planned.runs:
        limits = isinstance(job.get("limit_packets_count"), list)
        name = planned.jobs[0].metadata.get("param_name")
        read = parse_suffix(run.suffix, list(planned.jobs[0].host_metadata), name, has_limits=limits)
        assert (read.host, read.iteration) == (run.routes[0].host, run.iteration)
        assert read.rtt_nominal_ms in (None, run.routes[0].rtt_ms)
        assert read.parameter_name == name


def test_a_buffer_of_one_bdp_is_worked_out() -> None:
    # 50 Mbit/s × 40 ms = 2 Mbit = 250,000 bytes
    job = {"bottleneck_mbps": 50, "buffer_bdp": 1, "rtt_ms": 40, "queue": {"discipline": "red", "ecn": True}}
    assert plan(job).runs[0].bottleneck == Bottleneck(50_000_000, 250_000, "red", has_ecn=True)
    assert plan(job | {"buffer_bdp": 0.25}).runs[0].bottleneck == Bottleneck(50_000_000, 62_500, "red", has_ecn=True)
    assert plan({}).runs[0].bottleneck is None


def test_flows_are_split_as_evenly_as_can_be() -> None:
    assert split_flows(7, 2) == [4, 3]
    assert split_flows(16, 2) == [8, 8]
    assert split_flows(8, 3) == [3, 3, 2]
    clients = plan({"congestion_control": ["cubic", "bbr"], "flows_count": 7}).runs[0].clients
    assert [(one.number, one.congestion_control, one.flows_count) for one in clients] == [
        (1, "cubic", 4),
        (2, "bbr", 3),
    ]


def test_staggered_flows_take_turns_and_end_together() -> None:
    job = {"congestion_control": ["cubic", "bbr"], "flows_count": 3, "stagger_s": 2, "duration_s": 10}
    clients = plan(job).runs[0].clients
    assert [(one.congestion_control, one.start_s, one.duration_s) for one in clients] == [
        ("cubic", 0, 10),
        ("bbr", 2, 8),
        ("cubic", 4, 6),
    ]
    # iperf3 counts whole seconds: the 8.5 s that are left become 9.
    late = plan({"clients": [{}, {"start_s": 1.5}], "duration_s": 10}).runs[0]
    assert [one.duration_s for one in late.clients] == [10, 9]
    assert late.expected_s == 10.5 + 2


def test_a_client_without_destination_goes_to_each() -> None:
    job = {
        "destinations": [{"alias": "near", "rtt_ms": 10}, {"alias": "far", "rtt_ms": 80}],
        "destinations_per_run": "all",
        "clients": [
            {"congestion_control": "bbr", "flows_count": 2},
            {"congestion_control": "cubic", "destination": "far", "sender": 2, "flow_pacing_mbps": 3},
        ],
    }
    planned = plan(job)
    run = planned.runs[0]
    assert [(one.number, one.host, one.sender_number, one.flow_rate_bps) for one in run.clients] == [
        (1, "near", 1, None),
        (2, "far", 1, None),
        (3, "far", 2, 3_000_000),
    ]
    assert [sender.number for sender in run.senders] == [1, 2]
    assert [(one["host"], one["rtt_ms"], one["port"]) for one in planned.jobs[0].metadata["clients"]] == [
        ("near", 10, 5201),
        ("far", 80, 5202),
        ("far", 80, 5203),
    ]


def test_addresses_are_the_same_in_all_jobs_of_a_session() -> None:
    far = {"alias": "far"}
    planned = plan(
        {"name": "a", "destinations": [{"alias": "near"}, far]}, {"name": "b"}, {"name": "c", "destinations": [far]}
    )
    assert [(run.job, run.routes[0].host, run.routes[0].address) for run in planned.runs] == [
        ("a", "near", "10.201.2.2"),
        ("a", "far", "10.201.3.2"),
        ("b", "10.201.1.2", "10.201.1.2"),
        ("c", "far", "10.201.3.2"),
    ]


def test_losses_in_bursts_have_a_mean() -> None:
    # The bad state has 1 / (1 + 4) of the packets: 0.2 × 50 % + 0.8 × 1 % = 10.8 %
    declared = {
        "model": "gilbert-elliott",
        "enter_bad_pct": 1,
        "leave_bad_pct": 4,
        "bad_loss_pct": 50,
        "good_loss_pct": 1,
    }
    planned = plan({"loss": declared, "rtt_ms": 10})
    assert planned.runs[0].routes[0].loss == Loss("gilbert-elliott", 10.8, 1, 4, 50, 1)
    assert planned.jobs[0].metadata["loss"] == "10.8 gemodel"
    assert parse_loss(planned.jobs[0].metadata["loss"]) == (10.8, "gemodel")
    del declared["model"]
    assert plan({"loss": declared, "rtt_ms": 10}) == planned
    staged = {"at_s": 1, "loss": {"enter_bad_pct": 1, "leave_bad_pct": 4}}
    assert plan({"stages": [staged]}).runs[0].stages[0].loss == Loss("gilbert-elliott", 20.0, 1, 4)


def test_a_destination_has_the_loss_of_its_own_else_the_jobs() -> None:
    own = {"alias": "x", "loss_pct": 2, "loss_direction": "both"}
    run = plan({"loss_pct": 1, "destinations": [own, {"alias": "y"}], "destinations_per_run": "all"}).runs[0]
    assert [(route.loss, route.loss_direction) for route in run.routes] == [
        (Loss("random", 2), "both"),
        (Loss("random", 1), "forward"),
    ]


def test_pacing_is_the_queues_or_the_sockets() -> None:
    by_queue = plan({"flow_pacing_mbps": 2, "sender_mbps": 10}).runs[0]
    assert (by_queue.senders[0].flow_maxrate_bps, by_queue.clients[0].flow_rate_bps) == (2_000_000, None)
    by_socket = plan({"flow_pacing_mbps": 2, "pacing_by": "socket"}).runs[0]
    assert (by_socket.senders[0].flow_maxrate_bps, by_socket.clients[0].flow_rate_bps) == (None, 2_000_000)
    declared = plan({"flow_pacing_mbps": 2, "sender_mbps": 10}).jobs[0].metadata
    assert (declared["pacing"], declared["NIC_speed"]) == ("2mbit", "10mbit")
    # The speed of a virtual interface is nominal: where nothing limits the sender it is not known.
    assert plan({"bottleneck_mbps": 20, "buffer_bytes": 50_000}).jobs[0].metadata["NIC_speed"] is None


def test_flows_ask_for_ecn_where_the_queue_marks_and_with_dctcp() -> None:
    def asks(job: dict[str, Any]) -> list[bool]:
        return [client.has_ecn for client in plan(job).runs[0].clients]

    marking = {"bottleneck_mbps": 10, "buffer_bytes": 50_000, "queue": {"discipline": "red", "ecn": True}}
    assert asks({}) == [False]
    assert asks(marking) == [True]
    assert asks(marking | {"ecn": False}) == [False]
    assert asks({"congestion_control": ["dctcp", "cubic"], "flows_count": 2, "ecn": True}) == [True, True]
    assert asks({"clients": [{"congestion_control": "dctcp"}, {"congestion_control": "cubic", "sender": 2}]}) == [
        True,
        False,
    ]
    assert asks({"clients": [{"ecn": True}, {"sender": 2}]}) == [True, False]


RPC = {"request_bytes": 1000, "response_bytes": 1}
BY_SOCKET = {"flow_pacing_mbps": 5, "pacing_by": "socket"}


@pytest.mark.parametrize(
    ("job", "told"),
    [
        (BY_SOCKET | {"rpc": RPC}, "pacing_by: netperf, .* cannot pace its sockets; write `pacing_by: fq`$"),
        (BY_SOCKET | {"clients": [{}, {"rpc": RPC}]}, "pacing_by: netperf, "),
        (
            {"clients": [{"flow_pacing_mbps": 5}, {"rpc": RPC, "flow_pacing_mbps": 5}]},
            r"clients\.1\.flow_pacing_mbps: netperf, .*; write the job's flow_pacing_mbps, which fq keeps$",
        ),
        (
            {"clients": [{}, {"rpc": RPC}], "omit_s": 1},
            "omit_s: netperf, .* nothing out of its results; write `omit_s: 0`$",
        ),
        (
            {"rpc": RPC, "duration_s": None, "volume_bytes": 10**6},
            "volume_bytes: netperf's requests and answers run for",
        ),
        ({"clients": [{}, {"rpc": RPC}], "extra_arguments": ["-w", "9K"]}, "extra_arguments: iperf3 and netperf take "),
        # iperf3's receivers are not told it, nor is their queue fq.
        ({"reverse": True, "flow_pacing_mbps": 5}, r"flow_pacing_mbps: .*; write `extra_arguments: \[-b, 5M\]`$"),
        (BY_SOCKET | {"reverse": True}, "flow_pacing_mbps: with reverse the receivers send"),
        ({"reverse": True, "clients": [{"flow_pacing_mbps": 5}]}, r"clients\.0\.flow_pacing_mbps: with reverse"),
        ({"flow_pacing_mbps": 5, "background_udp_mbps": 8}, "background_udp_mbps: fq keeps these packets to .* 5, as"),
        # The kernel has one setting for all connections of a host.
        (
            {"clients": [{"ecn": True}, {"ecn": False}]},
            r"clients\.1\.ecn: all flows of a sender ask for ECN where some",
        ),
        ({"congestion_control": ["dctcp", "cubic"], "flows_count": 2}, "ecn: all flows of a sender ask for ECN where"),
        # What keys say, and the testbed, would be recorded of a run that does otherwise.
        ({"extra_arguments": ["-t", "10"]}, "extra_arguments: -t is given by `duration_s`$"),
        ({"extra_arguments": ["-t10"]}, "extra_arguments: -t is given by `duration_s`$"),
        ({"extra_arguments": ["--time=10"]}, "extra_arguments: --time is given by `duration_s`$"),
        ({"extra_arguments": ["--paral", "4"]}, "extra_arguments: --paral is given by `flows_count`$"),
        ({"extra_arguments": ["-w", "9K", "-NR"]}, "extra_arguments: -R is given by `reverse`$"),
        (BY_SOCKET | {"extra_arguments": ["--fq-rate", "9M"]}, "extra_arguments: --fq-rate is given by `flow_pacing_m"),
        ({"extra_arguments": ["-p", "9"]}, "extra_arguments: -p: the testbed chooses the ports; leave it out$"),
        (
            {"clients": [{}, {"extra_arguments": ["-C", "bbr"]}]},
            r"clients\.1\.extra_arguments: -C is given by `congestion_control`$",
        ),
        ({"rpc": RPC, "extra_arguments": ["-Kbbr"]}, "extra_arguments: -K is given by `congestion_control`$"),
        ({"clients": [{}, {"rpc": RPC, "extra_arguments": ["-r", "9"]}]}, r".*: -r is given by `rpc`$"),
    ],
)
def test_a_setting_that_a_client_does_not_apply_is_refused(job: dict[str, Any], told: str) -> None:
    with pytest.raises(CampaignError, match=f"session one, job a, {told}"):
        plan(job)


@pytest.mark.parametrize(
    "job",
    [
        {"flow_pacing_mbps": 5, "rpc": RPC},
        BY_SOCKET | {"background_udp_mbps": 8},
        {"flow_pacing_mbps": 5, "background_udp_mbps": 5},
        {"clients": [{"flow_pacing_mbps": 5, "extra_arguments": ["-w", "9K"]}, {"rpc": RPC}]},
        {"extra_arguments": ["-b", "5M"], "reverse": True},
        {"pacing_by": "socket", "rpc": RPC},
        # Values of options, and others of nearly the same name.
        {"extra_arguments": ["-wR", "-b", "4M/8", "--title", "t", "--timestamps", "--pacing-timer=9", "-Z4"]},
        {"flow_pacing_mbps": 5, "extra_arguments": ["--fq-rate", "9M"]},
        # Which netperf knows by other letters.
        {"rpc": RPC, "extra_arguments": ["-CN", "-P", "1024", "-D"]},
    ],
)
def test_settings_that_all_clients_apply_are_planned(job: dict[str, Any]) -> None:
    assert plan(job).runs


def test_a_parameter_sweep_sets_one_parameter_or_one_element() -> None:
    sweep = {"name": "tcp_bbr.gain", "values": [300, 250], "vector_element": 2}
    planned = plan({"parameter_sweep": sweep, "module_parameters": {"tcp_cubic.beta": 700, "x.y": True}})
    expected = {"tcp_cubic.beta": "700", "x.y": "Y", "tcp_bbr.gain[2]": "300"}
    assert planned.runs[0].module_parameters == expected
    metadata = planned.jobs[0].metadata
    assert (metadata["param_name"], metadata["param_val_list"], metadata["vector_element"]) == ("gain", [300, 250], 2)
    # The three forms that the harness reads: start, end and step; a list; a list for one element.
    assert metadata["param_sweep"] == "tcp_bbr/parameters/gain,sys-module-vector-list,2,300,250"
    swept = plan({"parameter_sweep": {"name": "tcp_cubic.beta", "values": [1]}}).jobs[0].metadata
    assert swept["param_sweep"] == "tcp_cubic/parameters/beta,sys-module-list,1"


def test_background_packets_come_from_a_host_of_their_own_where_one_is_declared() -> None:
    path = {"bottleneck_mbps": 10, "buffer_bytes": 9000, "background_udp_mbps": 2, "sender_mbps": 20}
    (run,) = plan(path | {"background_udp_sender": 2}).runs
    assert [sender.number for sender in run.senders] == [1, 2]
    assert (run.background_udp_sender, {client.sender_number for client in run.clients}) == (2, {1})
    # The first host does so without being asked, and no host is made for packets that nobody declares.
    assert [len(plan(job).runs[0].senders) for job in (path, path | {"background_udp_mbps": None})] == [1, 1]
    assert plan(path).runs[0].background_udp_sender is None


def test_background_packets_fill_the_mtu() -> None:
    path = {"bottleneck_mbps": 10, "buffer_bytes": 9000, "background_udp_mbps": 2}
    for mtu_bytes, payload_bytes in ((1500, "1448"), (9000, "8948")):
        (run,) = plan(path | {"mtu_bytes": mtu_bytes}).runs
        _, client = list_background_commands(run, "10.0.0.2")
        assert client[client.index("-l") + 1] == payload_bytes


def test_clients_differ_in_their_requests_and_some_have_none() -> None:
    small, large = {"request_bytes": 10, "response_bytes": 1}, {"request_bytes": 1000, "response_bytes": 1}
    (run,) = plan({"clients": [{"rpc": small}, {"rpc": large}, {}]}).runs
    assert [(one.program, one.request_bytes) for one in run.clients] == [
        ("netperf", 10),
        ("netperf", 1000),
        ("iperf3", None),
    ]
    # The job's are those of clients without their own.
    (run,) = plan({"clients": [{"rpc": small}, {}], "rpc": large}).runs
    assert [one.request_bytes for one in run.clients] == [10, 1000]


def test_requests_and_answers_run_with_netperf() -> None:
    client = plan({"rpc": {"request_bytes": 10, "response_bytes": 1000}}).runs[0].clients[0]
    assert (client.program, client.request_bytes, client.response_bytes) == ("netperf", 10, 1000)
    assert plan({"rpc": {"request_bytes": 1, "response_bytes": 1}}).jobs[0].metadata["type"] == "netperf"


def test_metadata_have_the_keys_of_the_harness_and_of_the_sample() -> None:
    job = {
        "congestion_control": ["cubic", "bbr"],
        "flows_count": 16,
        "rtt_ms": [10, 40],
        "loss_pct": 0.001,
        "sender_mbps": 50,
        "iterations_count": 3,
        "bottleneck_mbps": 20.5,
        "buffer_bytes": 5000,
        "background_udp_mbps": 2,
        "stages": [{"at_s": 1, "rtt_ms": 60}, {"at_s": 2, "bottleneck_mbps": 100, "loss_pct": 1}],
        "instruments": {"capture": {}},
    }
    metadata = plan(job, hostname="nersc-tbn-1").jobs[0].metadata
    # Those of a job of the sample archive, without what only the testbed knows; then those that are added.
    keys = (
        "uuid name user type enabled instrument pre post iters src dst alias src_cmd dst_cmd ss tcptrace tcpdump "
        "mpstat tcpdump_filt param_sweep loss lat limit pacing lat_sweep limit_sweep profile_file profile nic archive "
        "hostname hosts parent NIC MTU NIC_speed buffer_bytes bottleneck background_udp stages clients queue ecn "
        "campaign"
    )
    assert set(keys.split()) <= set(metadata)
    assert {"start_time", "kernel", "iter_uuids"}.isdisjoint(metadata)
    expected = {
        "iters": 3,
        "dst": "10.201.1.2",
        "src_cmd": "iperf3 -c {dst} -p 5201 -J -i 1 -t 5 -P 8 -C cubic",
        "tcpdump_filt": '-s 128 -i s0 "host {dst} and portrange 5201-5202"',
        "loss": "0.001",
        "lat": None,
        "lat_sweep": "5,20",
        "lat_val_list": ["5", "20"],
        "limit": "10000",
        "pacing": None,
        "NIC_speed": "50mbit",
        "MTU": "1500",
        "hostname": "nersc-tbn-1",
        "bottleneck": "20.5mbit",
        "background_udp": "2mbit",
        "stages": [{"at_s": 1, "rtt_ms": 60}, {"at_s": 2, "rate": "100mbit", "loss": "1"}],
    }
    assert {key: metadata[key] for key in expected} == expected
    assert parse_rate_bps(metadata["bottleneck"]) == 20_500_000
    assert metadata["clients"][1] == {
        "number": 2,
        "command": "iperf3 -c {dst} -p 5202 -J -i 1 -t 5 -P 8 -C bbr",
        "congestion_control": "bbr",
        "flows_count": 8,
        "ecn": False,
        "start_s": 0,
        "host": "10.201.1.2",
        "rtt_ms": None,
        "port": 5202,
    }


def test_metadata_name_the_command_that_runs_and_do_not_change() -> None:
    first, second = load_plan("example"), load_plan("example")
    assert first == second
    for job in first.jobs:
        run = next(run for run in first.runs if run.job == job.name)
        told = shlex.split(job.metadata["src_cmd"].replace("{dst}", run.routes[0].address))
        assert told == list_client_commands(run.clients[0], run.routes[0].address)[0]
        assert find_congestion(job.metadata["src_cmd"]) == run.clients[0].congestion_control
    uuids = [job.metadata["uuid"] for job in first.jobs]
    assert len(set(uuids)) == len(uuids)
    assert plan({}).jobs[0].metadata["uuid"] != plan({"name": "b"}).jobs[0].metadata["uuid"]


@pytest.mark.parametrize(
    ("name", "jobs_count", "runs_count", "total_s"),
    [
        # 2 × (8 + 2) + (8 + 2) + 2 × (6 + 2)
        ("quick", 5, 5, 46),
        # 16 runs of 3 + 2 s, one of 4 + 2, one of 6 + 2, and 4 MB at four fifths of 20 Mbit/s, which is 2 s + 2
        ("example", 13, 19, 16 * 5 + 6 + 8 + 4),
    ],
)
def test_the_small_campaigns_are_what_they_say(name: str, jobs_count: int, runs_count: int, total_s: float) -> None:
    planned = load_plan(name)
    assert (len(planned.jobs), len(planned.runs)) == (jobs_count, runs_count)
    assert expect_total_s(planned, planned.runs) == pytest.approx(total_s)
    assert list_warnings(planned) == []
    assert from_json(Plan, json.loads(json.dumps(to_json(planned)))) == planned


def test_the_sample_is_planned_as_the_archive_is_made() -> None:
    planned = load_plan("sample")
    counts: dict[str, int] = dict.fromkeys(planned.sessions, 0)
    for run in planned.runs:
        counts[run.session] += 1
    assert counts == {
        "table-1": 5 * 5,
        "mismatch": 4 * 5,
        "paths": (9 * 2 + 2 + 2) * 3,
        "flows": (1 + 6 + 6) * 3,
        "burst-loss": 5 * 3,
        "parameters": 5 * 3 * 3,
        "captures": 5 * 2,
        "mininet": (6 + 8 + 2 + 2 + 2 * 6) * 3,
        "completion": 6 * 2,
        "brakmo": 16 * 3,
        "edge": 3 * 3,
    }
    names = {job.name for job in planned.jobs}
    assert {
        "buffer_8MB_both_p16",
        "100g_to_10g_both_p16",
        "40g_bbr1_both_p16_long",
        "gemodel_both_p16_loss0.01",
    } <= names
    assert len({run.key for run in planned.runs}) == 379


def test_the_sample_keeps_rates_loss_and_rtts_of_the_papers() -> None:
    planned = load_plan("sample")

    def first(job: str) -> Run:
        return next(run for run in planned.runs if run.job == job)

    mismatch = first("100g_to_10g_bbr1_both_p16")
    assert (mismatch.senders[0].rate_bps, mismatch.bottleneck) == (100e9, Bottleneck(10_000_000_000, 12_000_000))
    assert [(one.congestion_control, one.flows_count) for one in mismatch.clients] == [("cubic", 8), ("bbr", 8)]
    assert [one.start_s for one in first("staggered_cubic_then_bbr2").clients] == [0, 5, 10, 15, 20, 25]
    assert [one.congestion_control for one in first("fct_1bdp_both_p10_lossnone").clients] == ["bbr2", "cubic"] * 5
    assert sum(one.flows_count for one in first("edge_bbr2_p300").clients) == 300
    far = [run for run in planned.runs if run.job == "10g_both_p16_lossy"][-1]
    assert (far.suffix, far.routes[0].loss and far.routes[0].loss.model) == (
        "grid-b.example.org:3:109.0ms",
        "gilbert-elliott",
    )


def test_a_plan_in_words() -> None:
    planned = plan({"rtt_ms": [10, 20], "sender_mbps": 20, "congestion_control": "bbr", "iterations_count": 2})
    assert describe_plan(planned).splitlines() == [
        "test: A sweep",
        "",
        "session one, 1 job",
        "  a  1 bbr, 10/20 ms, 0 % loss, 20 Mbit/s  4 runs  0.5 min",
        "",
        "4 runs of 1 job, 0.5 min",
        (
            "with only 2 runs of each condition a report gives no verdicts and no 95 % intervals there, which need 3 "
            "(iterations_count: 3)"
        ),
    ]
    assert "verdicts" not in describe_plan(plan({"rtt_ms": [10, 20], "iterations_count": 3}))
    # 5 s to start each kernel, and 12 µs for each of the packets: 7 s of 20 Mbit/s are 11,667 of 1500 bytes.
    assert expect_processor_s(planned.runs) == pytest.approx(4 * (5 + 0.14))
    virtual = describe_plan(replace(planned, testbed=replace(planned.testbed, clock="virtual", parallel_count=2)))
    assert virtual.splitlines()[-2] == (
        "4 runs of 1 job, 0.5 min of virtual time, about 0.2 min on idle processors with 2 at a time"
    )
    whole = describe_plan(planned, completed=[run.key for run in planned.runs])
    assert "\nall runs are in the archive, so nothing is left to measure" in whole
    assert " left, " not in whole
    done = describe_plan(planned, completed=[planned.runs[0].key, "another/run/x"])
    assert done.splitlines()[-1] == "1 run done, 3 left, 0.3 min"


@pytest.mark.parametrize(
    ("place", "capacity_bps", "lines"),
    [
        (Place("namespaces", "real"), 10**10, ["engine: network namespaces of this machine's kernel, in real time"]),
        (
            Place("user-mode-kernel", "virtual", KERNEL),
            None,
            ["engine: user-mode kernel uml/linux, in virtual time"],
        ),
        (
            Place("namespaces", "real"),
            None,
            [
                "engine: network namespaces of this machine's kernel, in real time",
                f"warning: in real time this machine has to carry 5000 Mbit/s{UNKNOWN}",
            ],
        ),
    ],
)
def test_a_dry_run_says_which_engine_would_measure(place: Place, capacity_bps: int | None, lines: list[str]) -> None:
    planned = plan({"sender_mbps": 20}, {"name": "b", "sender_mbps": 5000})
    assert describe_engine(planned, place, capacity_bps).splitlines() == lines


def test_settings_that_no_text_in_the_kernel_names_are_refused(tmp_path: Path) -> None:
    # rp_filter is the end of arp_filter; a kernel that loads modules may get more settings with them.
    (tmp_path / "linux").write_bytes(b"\x7fELF\0tcp_cubic.beta\0arp_filter\0tcp_bbr.gain\0")
    kernel = replace(KERNEL, path=tmp_path / "linux", has_modules=False)
    asked = {"tcp_cubic.beta": 600, "tcp_cubic.betta": 600, "tcp_bbr.gain[2]": 1}
    sysctls = {"net.ipv4.conf.all.rp_filter": 1, "net.ipv4.tcp_notsend_lowat": 1, "net.ipv6.conf.all.absent": 1}
    runs = plan({"sender_mbps": 20, "module_parameters": asked, "sysctls": sysctls}).runs
    assert name_unknown_settings(kernel, runs) == (
        "the user-mode kernel has no setting tcp_cubic.betta, net.ipv4.tcp_notsend_lowat; "
        "did you mean `tcp_cubic.beta` and `net.ipv4.tcp_notsent_lowat`?"
    )
    assert name_unknown_settings(replace(kernel, has_modules=True), runs) is None
    of_other_module = plan({"sender_mbps": 20, "module_parameters": {"tcp_bbr2.loss_thresh": 1}}).runs
    expected = "no setting tcp_bbr2.loss_thresh; take it out, or name a kernel that has it with --kernel"
    assert name_unknown_settings(kernel, of_other_module) == f"the user-mode kernel has {expected}"
    # A module is called by its whole name.
    swept = plan({"sender_mbps": 20, "parameter_sweep": {"name": "cubic.beta", "values": [1]}}).runs
    expected = "the user-mode kernel has no setting cubic.beta; did you mean `tcp_cubic.beta`?"
    assert name_unknown_settings(kernel, swept) == expected
    asked.pop("tcp_cubic.betta")
    assert name_unknown_settings(kernel, plan({"sender_mbps": 20, "module_parameters": asked}).runs) is None


def test_a_dry_run_refuses_a_kernel_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tmp_path / "linux"
    given = ["--campaign", f"{ROOT}/campaigns/quick.yaml", "--archive", str(tmp_path / "a"), "--kernel", str(kernel)]
    assert main(["collect", *given, "--dry-run"]) == 1
    printed = capsys.readouterr()
    assert printed.err == (
        f"ccreport: {kernel} cannot be run as a user-mode kernel: No such file or directory; leave it out "
        "for one that `make kernel` or Debian's package user-mode-linux gives\n"
    )
    assert not printed.out


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("/none/linux", "cannot be run as a user-mode kernel: No such file"),
        ("README.md", "is not a program, as a user-m"),
    ],
)
def test_a_dry_run_tells_the_line_of_a_kernel_that_is_none(
    kernel: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("Read me\n")
    job = "{name: a, duration_s: 5, sender_mbps: 20}"
    Path("own.yaml").write_text(f"title: T\ntestbed:\n  kernel: {kernel}\nsessions: [{{label: one, jobs: [{job}]}}]\n")
    assert main(["collect", "--campaign", "own.yaml", "--dry-run"]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"ccreport: own.yaml:3: testbed.kernel: {kernel} {told}")
    assert not printed.out


def test_a_plan_names_volumes_settings_and_what_limits_senders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    job = {"sender_mbps": 20, "rtt_ms": 10, "bottleneck_mbps": 50, "buffer_bytes": 9000, "iterations_count": 4}
    job |= {"duration_s": None, "volume_bytes": 1_000_000, "sysctls": {"net.ipv4.tcp_sack": 0}}
    planned = plan(job)
    _, _, _, line, *_ = describe_plan(planned).splitlines()
    limits = "50 Mbit/s with 9,000 bytes behind 20 Mbit/s of senders"
    assert f"1 cubic, 10 ms, 0 % loss, {limits}, 1,000,000 bytes a flow, net.ipv4.tcp_sack 0 " in line
    for at_once, warning in ((2, False), (3, True)):
        parallel = replace(planned, testbed=replace(planned.testbed, parallel_count=at_once))
        said = describe_plan(parallel)
        assert ("warning: parallel_count: 3 runs at a time share 2 processors" in said) is warning
    many = replace(planned, testbed=replace(planned.testbed, parallel_count=64, clock="virtual"))
    two = replace(planned, testbed=replace(planned.testbed, parallel_count=2, clock="virtual"))
    taken = [re.search(r"about (.*) on idle processors", describe_plan(one)) for one in (two, many)]
    assert taken[0]
    assert taken[1]
    assert taken[0][1] == taken[1][1]
    assert "with 4 at a time" in describe_plan(many)


def test_a_plan_names_what_else_a_path_does_to_packets() -> None:
    job = {"sender_mbps": 20, "rtt_ms": 10, "jitter_ms": 3, "reordering_pct": 0.5, "mtu_bytes": 9000, "offloads": True}
    told = "20 Mbit/s, jitter 3 ms, reordering 0.5 %, coalescing 62.5 µs, MTU 9,000 bytes, offloads on "
    assert told in describe_plan(plan(job | {"receive_coalescing_us": 62.5}))
    assert "jitter" not in describe_plan(plan({"sender_mbps": 20, "rtt_ms": 10}))


@pytest.mark.parametrize("option", ["-u", "--udp", "-Zu"])
def test_a_plan_names_no_algorithm_of_flows_of_udp(option: str) -> None:
    job = {"flows_count": 2, "rtt_ms": 10, "sender_mbps": 20, "extra_arguments": [option, "-b", "10M"]}
    assert "  2 UDP, 10 ms, 0 % loss, 20 Mbit/s  " in describe_plan(plan(job))


def test_a_plan_says_where_a_path_adds_no_delay() -> None:
    assert "1 cubic, no delay (rtt_ms sets one), 0 % loss, 20 Mbit/s" in describe_plan(plan({"sender_mbps": 20}))


@pytest.mark.parametrize(
    ("clients", "told"),
    [
        ([{"congestion_control": "cubic"}, {"count": 2}], "1 cubic + 2 bbr, 10 ms"),
        (
            [{"congestion_control": "cubic"}, {"count": 2, "rpc": {"request_bytes": 100_000, "response_bytes": 1}}],
            "1 cubic, 2 bbr RPCs of 100 kB, 10 ms",
        ),
        (
            [{"rpc": {"request_bytes": size, "response_bytes": 2000}} for size in (1, 1500)],
            "1 bbr RPC of 1 B and 2 kB + 1 bbr RPC of 1.5 kB and 2 kB, 10 ms",
        ),
        (
            [{}, {"count": 4, "volume_bytes": 10**6}, {"congestion_control": "cubic", "volume_bytes": 10**6}],
            "1 bbr, 4 bbr + 1 cubic of 1,000,000 bytes, 10 ms, 0 % loss, 20 Mbit/s  ",
        ),
        (
            [{"volume_bytes": 10**6}, {"volume_bytes": 2 * 10**6}],
            "1 bbr of 1,000,000 bytes, 1 bbr of 2,000,000 bytes, 10 ms, 0 % loss, 20 Mbit/s  ",
        ),
        (
            [{"volume_bytes": 10**6}, {"rpc": {"request_bytes": 1, "response_bytes": 2000}}],
            "1 bbr of 1,000,000 bytes, 1 bbr RPC of 1 B and 2 kB, 10 ms, 0 % loss, 20 Mbit/s  ",
        ),
        (
            [{"volume_bytes": 10**6}, {"volume_bytes": 10**6, "flows_count": 2}],
            "3 bbr, 10 ms, 0 % loss, 20 Mbit/s, 1,000,000 bytes a flow  ",
        ),
    ],
)
def test_a_plan_tells_flows_by_what_they_send(clients: list[dict[str, Any]], told: str) -> None:
    job = {"sender_mbps": 20, "rtt_ms": 10, "congestion_control": "bbr", "clients": clients}
    assert f"  a  {told}" in describe_plan(plan(job))


def test_a_kernel_s_algorithms_are_those_of_its_configuration(tmp_path: Path) -> None:
    kernel = tmp_path / "linux"
    options = "CONFIG_UML=y\nCONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_BBR=y\nCONFIG_TCP_CONG_HSTCP=m\n"
    kernel.write_text(f"#!/bin/sh\nprintf '{options}'\n", encoding="utf-8")
    kernel.chmod(0o755)
    assert read_user_kernel(kernel).algorithms == {"reno", "bbr", "highspeed"}


@pytest.mark.parametrize(
    ("job", "warning"),
    [
        ({"rtt_ms": 10}, "a: nothing limits the rate, so that the processor does"),
        ({"sender_mbps": 200}, "a: 200 Mbit/s are beyond the 100 Mbit/s that this testbed carried"),
        # A bottleneck limits what faster senders send.
        ({"sender_mbps": 200, "bottleneck_mbps": 50, "buffer_bytes": 9000}, None),
        (
            {"flow_pacing_mbps": 30, "flows_count": 4},
            "a: 120 Mbit/s are beyond the 100 Mbit/s that this testbed carried",
        ),
        ({"bottleneck_mbps": 50, "buffer_bytes": 1513}, "a: a buffer of 1513 bytes holds no packet of 1514 bytes"),
        # Of the delays from -25 to 35 ms 25 / 60 are below 0.
        (
            {"sender_mbps": 20, "rtt_ms": 10, "jitter_ms": 30},
            f"a: jitter_ms 30 is more than half of the RTT, 5 ms, so that 42 {NO_DELAY}",
        ),
        ({"sender_mbps": 20, "rtt_ms": 10, "jitter_ms": 5}, None),
        # A stage may leave less.
        (
            {"sender_mbps": 20, "rtt_ms": 20, "jitter_ms": 8, "stages": [{"at_s": 1, "rtt_ms": 8}]},
            f"a: jitter_ms 8 is more than half of the RTT, 4 ms, so that 25 {NO_DELAY}",
        ),
        # 5 s are 50 round trips of 100 ms.
        ({"sender_mbps": 20, "rtt_ms": [100, 125]}, "a: 5 s are only 40 round trips of 125 ms"),
        (
            {"sender_mbps": 20, "congestion_control": "cubik"},
            "a: no algorithm of Linux is called `cubik`; did you mean `cubic`?",
        ),
        ({"sender_mbps": 20, "congestion_control": "mine"}, None),
        ({"sender_mbps": 20, "congestion_control": "dctcp"}, "a: no queue marks packets, without which dctcp is Reno"),
        (
            {"bottleneck_mbps": 5, "buffer_bytes": 9000, "background_udp_mbps": 5},
            "a: the UDP traffic alone fills the bottleneck",
        ),
        (
            {"sender_mbps": 20, "background_udp_mbps": 100},
            "a: the UDP traffic alone, 100 Mbit/s, fills its sender's line of 20 Mbit/s",
        ),
        ({"sender_mbps": 20, "background_udp_mbps": 10}, None),
        # 60 Mbit/s × 20 ms one way = 150,000 bytes = 100 packets of 1500
        (
            {"sender_mbps": 60, "rtt_ms": 40, "limit_packets_count": 99},
            "a: 100 packets are on their way at once, and limit_packets_count is 99",
        ),
        (
            {"sender_mbps": 20, "bottleneck_mbps": 50, "buffer_bytes": 9000},
            "a: senders send 20 Mbit/s at most, so bottleneck_mbps 50 limits nothing",
        ),
        ({"sender_mbps": 20, "bottleneck_mbps": 22, "buffer_bytes": 9000}, None),
        # Two senders of 20 Mbit/s fill 30; so do 20 Mbit/s and 15 of UDP, and a stage may bring the bottleneck down.
        (
            {"sender_mbps": 20, "bottleneck_mbps": 30, "buffer_bytes": 9000, "clients": [{}, {"sender": 2}]},
            None,
        ),
        ({"sender_mbps": 20, "bottleneck_mbps": 30, "buffer_bytes": 9000, "background_udp_mbps": 15}, None),
        (
            {
                "sender_mbps": 20,
                "bottleneck_mbps": 30,
                "buffer_bytes": 9000,
                "stages": [{"at_s": 1, "bottleneck_mbps": 10}],
            },
            None,
        ),
        ({"sender_mbps": 20, "reverse": True}, "a: with reverse the receivers send, whom neither sender_mbps nor bot"),
        ({"sender_mbps": 20, "instruments": {"ss_interval_s": 5}}, None),
        (
            {"sender_mbps": 20, "omit_s": 1, "instruments": {"ss_interval_s": 7}},
            "a: ss_interval_s 7 is longer than the run, which takes 6 s",
        ),
    ],
)
def test_what_is_most_likely_not_meant_is_said(job: dict[str, Any], warning: str | None) -> None:
    warnings = list_warnings(plan(job), capacity_bps=100_000_000)
    assert len(warnings) == (warning is not None)
    assert all(text.startswith(warning or "") for text in warnings)


def test_jobs_that_differ_in_kernel_settings_alone_say_so() -> None:
    def list_settings(*jobs: dict[str, Any]) -> list[dict[str, str] | None]:
        planned = plan(*({"name": f"job{number}"} | job for number, job in enumerate(jobs)))
        return [job.metadata.get("settings") for job in planned.jobs]

    small, large = ({"sysctls": {"net.ipv4.tcp_rmem": value, "net.core.rmem_max": 9}} for value in ("1 2 3", "4 5 6"))
    assert list_settings(small, large) == [{"net.ipv4.tcp_rmem": "1 2 3"}, {"net.ipv4.tcp_rmem": "4 5 6"}]
    assert list_settings({}, {"module_parameters": {"tcp_cubic.beta": 512}}, {"offloads": True}) == [
        {"offloads": "off", "beta": "default"},
        {"offloads": "off", "beta": "512"},
        {"offloads": "on", "beta": "default"},
    ]
    sweep = {"parameter_sweep": {"name": "tcp_cubic.beta", "values": [512, 717]}}
    assert list_settings({"module_parameters": {"tcp_cubic.beta": 512}}, sweep) == [{"beta": "512"}, None]
    # The number of flows tells these apart.
    assert list_settings(small, large | {"flows_count": 2}) == [None, None]
    assert list_settings(small) == [None]
    # One of two RTTs of the first job is that of the second; a job at a third RTT has the default's value as well.
    offloads = list_settings({"rtt_ms": [10, 60]}, {"rtt_ms": 60, "offloads": True}, {"rtt_ms": 80})
    assert offloads == [{"offloads": "off"}, {"offloads": "on"}, {"offloads": "off"}]


@pytest.mark.parametrize(
    ("base", "changed", "told"),
    [
        ({}, {"extra_arguments": ["-w", "50K"]}, {"window": ("default", "50K")}),
        ({"extra_arguments": ["-w50K"]}, {"extra_arguments": ["--window=9K", "-N"]}, {"window": ("50K", "9K"),
            "no_delay": ("default", "on")}),
        ({}, {"jitter_ms": 3}, {"jitter_ms": ("0", "3")}),
        ({}, {"reordering_pct": 0.5}, {"reordering_pct": ("0", "0.5")}),
        ({"loss_pct": 1}, {"loss_pct": 1, "loss_direction": "return"}, {"loss_direction": ("forward", "return")}),
        ({}, {"ecn": True}, {"ecn": ("off", "on")}),
        ({}, {"reverse": True}, {"reverse": ("off", "on")}),
        ({}, {"omit_s": 2}, {"omit_s": ("0", "2")}),
        ({"flow_pacing_mbps": 2}, {"flow_pacing_mbps": 2, "pacing_by": "socket"}, {"pacing_by": ("fq", "socket")}),
        ({"flows_count": 2}, {"flows_count": 2, "stagger_s": 1}, {"start_s": ("0", "0/1")}),
        ({}, {"commands": {"before_source": ["true"]}}, {"before_source": ("default", "true")}),
        (
            {"loss": {"model": "gilbert-elliott", "enter_bad_pct": 1, "leave_bad_pct": 20}},
            {"loss": {"model": "gilbert-elliott", "enter_bad_pct": 2, "leave_bad_pct": 40}},
            {"leave_bad_pct": ("20", "40")},
        ),
        # These are columns of the table `runs`, or change nothing that is measured.
        ({}, {"mtu_bytes": 9000}, {}),
        ({}, {"sender_mbps": 40, "jitter_ms": 3}, {}),
        ({}, {"instruments": {"ss_interval_s": 1}}, {}),
        ({}, {"iterations_count": 2}, {}),
    ],
)  # fmt: skip
def test_jobs_that_no_column_of_runs_tells_apart_say_what_differs(
    base: dict[str, Any], changed: dict[str, Any], told: dict[str, tuple[str, str]]
) -> None:
    common = {"sender_mbps": 20, "rtt_ms": 10}
    planned = plan(common | base | {"name": "a"}, common | changed | {"name": "b"})
    found = [job.metadata.get("settings", {}) for job in planned.jobs]
    assert found == [{name: values[place] for name, values in told.items()} for place in (0, 1)]
