"""The campaigns that come along: their plans, and whether the evaluations they are for would select their runs.

No run is made. What the measured tables would hold is derived from the plans: one iteration of each condition.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from archives import ROOT
from condition_runs import build_database

from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.plan import Plan, Run
from ccreport.core.declarations import read_query
from ccreport.core.evaluation import load_evaluation
from ccreport.summarise.database import connect, quote_name
from ccreport.summarise.published import PUBLISHED_VALUES

FILES = sorted(path.stem for path in (ROOT / "campaigns").glob("*.yaml"))
RUNS_COUNT = {
    "brakmo_bbr": 475,
    "cpu": 18,
    "edge_bbr2": 9,
    "esnet_dtn": 2590,
    "example": 19,
    "hystart": 3,
    "mininet_bbr2": 818,
    "quick": 5,
    "rfc9743": 20,
    "sample": 379,
    "table_2": 200,
}
EDGE, ESNET = ROOT / "evaluations/edge-bbr2.yaml", ROOT / "evaluations/esnet-dtn.yaml"
EVALUATIONS = {"brakmo_bbr": "brakmo-bbr", "esnet_dtn": "esnet-dtn", "mininet_bbr2": "mininet-bbr2"}
# Where the publication has what a session measures: together these exhibits show all of its jobs.
SHOWN_IN = {
    "esnet_dtn": {
        # Section V.B says in words what the algorithms have alone, and a claim asks for it.
        "table-1": ["table_1_buffer_size", "jobs"],
        "table-2": ["table_2_testbed"],
        "mismatch": ["table_2_testbed", "rate_by_version_loop"],
        "flows": ["table_2_testbed"],
        "parameters": ["rate_by_parameter"],
        "head-start": ["share_staggered"],
        "paths": ["table_3_paths", "figure_14: BBRv1 with CUBIC"],
    },
    "mininet_bbr2": {
        "figure-2a": ["rtt_fairness"],
        "figure-2b": ["buffer_fairness"],
        "figure-3": ["joins_bbr"],
        "figure-4": ["stages"],
        "figure-5": ["completion_long"],
        "figure-5-captured": ["completion_short"],
    },
    "brakmo_bbr": {
        "lan": ["staggered_flows"],
        "wan": ["staggered_flows"],
        "slow": ["staggered_flows", "queue_retransmits"],
        "rpc": ["rpc_latency_fast"],
        "rpc-slow": ["rpc_latency_slow"],
    },
}
# What publications do not have: looks at the sample archive, and both algorithms at one small queue. Processors have no
# load in virtual time.
NOT_SHOWN = {
    "esnet_dtn": {
        "capture_episodes_both",
        "capture_rtt_bdp",
        "capture_rtt_deep",
        "capture_rtt_distribution",
        "capture_sequence_both",
        "capture_sequence_cubic",
        "cpu",
        "cwnd_16_flows_80_ms",
        "fairness_16_flows_80_ms",
        "flow_rates_16_flows_80_ms",
        "flow_spread_alone",
        "flow_spread_together",
        "limits_16_flows_80_ms",
        "rate_by_version_testbed",
        "retransmit_causes",
        "share_by_rtt",
    },
    "mininet_bbr2": {"joins_cubic"},
    "brakmo_bbr": {"many_flows_small_queue", "modes_both", "retransmit_causes"},
}


@cache
def plan(name: str) -> Plan:
    return plan_campaign(load_campaign(ROOT / f"campaigns/{name}.yaml"), name)


def list_algorithms(run: Run) -> list[str]:
    return sorted({client.congestion_control or run.default_congestion_control for client in run.clients})


def describe_run(run: Run, nic_bps: int | None) -> dict[str, Any]:
    """Return what `measure_runs` would make of a run and its metadata."""
    algorithms = list_algorithms(run)
    path, bottleneck = run.routes[0], run.bottleneck
    starts = [client.start_s for client in run.clients]
    # 10.201.1.2:1:beta:717:40.0ms
    named = run.suffix.split(":")[2:4] if run.module_parameters else []
    loss_pct = path.loss.loss_pct if path.loss else 0.0
    is_mismatched = bottleneck is not None and (run.senders[0].rate_bps or 0) > bottleneck.rate_bps
    return {
        "run_id": run.key,
        "experiment_id": "e",
        "session": run.session,
        "job": run.job,
        "condition_id": f"{run.session}/{run.job}/{path.host}/{path.rtt_ms}/{named}",
        "iteration": run.iteration,
        "host": path.host,
        "sender_host": "sender",
        "parameter_name": named[0] if named else None,
        "parameter_value": named[1] if named else None,
        "mode": algorithms[0] if len(algorithms) == 1 else "both",
        "cc_list": ",".join(algorithms),
        "flows_count": sum(client.flows_count for client in run.clients),
        "clients_count": len(run.clients),
        "destinations_count": len({client.host for client in run.clients}),
        "rtt_ms": path.rtt_ms,
        "loss_pct": loss_pct,
        "buffer_bytes": bottleneck.buffer_bytes if bottleneck else None,
        "bottleneck_bps": float(bottleneck.rate_bps) if bottleneck else None,
        "background_udp_bps": run.background_udp_bps and float(run.background_udp_bps),
        "nic_bps": nic_bps and float(nic_bps),
        "stages_json": "[]" if run.stages else None,
        "start_spread_s": max(starts) - min(starts),
        "volume_bytes": run.clients[0].volume_bytes,
        "has_capture": run.instruments.tcpdump_snap_bytes is not None,
        "is_counted": True,
        # A queue that bursts overflow, or the path itself.
        "retransmit_ratio": max(loss_pct / 100, 0.001 if is_mismatched else 0.0),
        "goodput_bps": 1e6,
    }


def describe_flows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield what `measure_flows` would make of the flows of a run."""
    rtts = {route.host: route.rtt_ms for route in run.routes}
    for client in run.clients:
        for stream in range(client.flows_count):
            yield {
                "run_id": run.key,
                "flow_id": f"{run.key}/{client.number}/{stream}",
                "client_number": client.number,
                "cc": client.congestion_control or run.default_congestion_control,
                "start_offset_s": client.start_s,
                "rtt_nominal_ms": rtts[client.host],
                "goodput_bps": 1e6,
                "throughput_bps": 1e6,
            }


def describe_rpcs(run: Run) -> Iterator[dict[str, Any]]:
    """Yield what `ingest_netperf` would make of the results of a run's netperf clients."""
    for client in run.clients:
        if client.program == "netperf":
            yield {
                "raw_file_id": f"{run.key}/{client.number}",
                "test_number": 1,
                "run_id": run.key,
                "repetition_id": run.key,
                "rpc_tool": "netperf",
                "transport": "TCP",
                "cc": client.congestion_control,
                "payload_direction": "transactions",
                "request_bytes": client.request_bytes,
                "response_bytes": client.response_bytes,
                "latency_mean_ms": 1.0,
            }


@cache
def select(name: str, folder: Path) -> dict[str, set[str]]:
    """Return which jobs each table, figure and panel of the evaluation of a campaign selects."""
    runs = [run for run in plan(name).runs if run.iteration == 1]
    evaluation = ROOT / f"evaluations/{EVALUATIONS[name]}.yaml"
    tables = {
        "runs": [describe_run(run, run.senders[0].rate_bps) for run in runs],
        "flows": [flow for run in runs for flow in describe_flows(run)],
        "rpc_tests": (rpcs := [row for run in runs for row in describe_rpcs(run)]),
        "raw_files": [{"raw_file_id": row["raw_file_id"], "path": row["raw_file_id"]} for row in rpcs],
    }
    selected: dict[str, set[str]] = {}
    with connect(build_database(folder, tables, evaluation)) as database:

        def ask(exhibit: str, query: str) -> None:
            selected[exhibit] = {job for (job,) in database.execute(query).fetchall()}

        declared = load_evaluation(evaluation)
        # That of published values has cells of the publication, whose runs other tables show.
        for table in declared["tables"].keys() - {PUBLISHED_VALUES}:
            ask(table, f"SELECT DISTINCT job FROM {quote_name(f'{table}_runs')}")
        for figure, facts in declared["figures"].items():
            source = "labelled_rpc" if facts["kind"].startswith("rpc_") else "labelled_runs"
            for panel in facts.get("panels") or [{"where": "TRUE"}]:
                place = f"{figure}: {panel['title']}" if "title" in panel else figure
                among = f"WITH figure_runs AS (FROM {source} WHERE (\n{facts['where']}\n))"
                ask(place, f"{among} SELECT DISTINCT job FROM figure_runs WHERE (\n{panel['where']}\n)")
    return selected


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: tmp_path_factory.mktemp(name) for name in EVALUATIONS}


def test_every_file_is_counted() -> None:
    assert sorted(RUNS_COUNT) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_campaign_is_planned(name: str) -> None:
    assert len(plan(name).runs) == RUNS_COUNT[name]


@pytest.mark.parametrize("name", EVALUATIONS)
def test_the_evaluation_shows_every_job(name: str, folders: dict[str, Path]) -> None:
    selected = select(name, folders[name])
    assert list(SHOWN_IN[name]) == list(plan(name).sessions)
    for session, exhibits in SHOWN_IN[name].items():
        jobs = {job.name for job in plan(name).jobs if job.session == session}
        assert jobs - set().union(*(selected[exhibit] for exhibit in exhibits)) == set(), session


@pytest.mark.parametrize("name", EVALUATIONS)
def test_the_campaign_fills_all_that_the_publication_has(name: str, folders: dict[str, Path]) -> None:
    assert {exhibit for exhibit, jobs in select(name, folders[name]).items() if not jobs} == NOT_SHOWN[name]


def test_runs_of_bbr1_stand_beside_those_of_bbr2_and_not_among_them(folders: dict[str, Path]) -> None:
    selected = select("esnet_dtn", folders["esnet_dtn"])
    assert selected["figure_6: Both"] == {"100g_to_10g_both_p16"}
    assert not {job for table in ("table_2_testbed", "table_3_paths") for job in selected[table] if "bbr1" in job}


def test_the_claims_on_bbr1_and_bbr2_have_runs_of_their_own(tmp_path: Path) -> None:
    """Of each version 3 runs of 5 paths, in which CUBIC has 8 of 16 flows with 1 Mbit/s on a port of 10 Gbit/s."""
    jobs = ("40g_long_bbr1_both_p16", "40g_long_both_p16")
    runs = [run for run in plan("esnet_dtn").runs if run.job in jobs and run.iteration <= 3]
    lost = {"bbr": 12, "bbr2": 2, "cubic": 1}
    flows = [
        flow | {"retransmits_count": lost[flow["cc"]], "segments_count": 100.0, "retransmit_ratio": 0.01}
        for run in runs
        for flow in describe_flows(run)
    ]
    tables = {"runs": [describe_run(run, run.senders[0].rate_bps) for run in runs], "flows": flows}
    claims = load_evaluation(ESNET)["claims"]
    with connect(build_database(tmp_path, tables, ESNET)) as database:
        database.execute(read_query("claims"))
        for claim, ratio in (("bbr1_retransmits", 0.12), ("bbr2_retransmits", 0.02)):
            for check, value in zip(claims[claim]["checks"], (ratio, 0.0008), strict=True):
                ((found,),) = database.execute(check["sql"]).fetchall()
                assert (found["value"], found["n"]) == (pytest.approx(value), 15), check["name"]


def test_the_publications_points_are_met() -> None:
    esnet = plan("esnet_dtn").runs
    table_2 = [run for run in esnet if run.session == "table-2" and run.iteration == 1]
    # Listing 1: one-way delays of 2, 5, 10, 20, 30 and 50 ms; Figure 2 has 40.
    assert {run.routes[0].rtt_ms for run in table_2} == {4, 10, 20, 40, 60, 80, 100}
    pacing = {sum(client.flows_count for client in run.clients): run.senders[0].flow_maxrate_bps for run in table_2}
    assert pacing == {1: 9_900_000_000, 16: 2_400_000_000}
    table_1 = [run for run in esnet if run.session == "table-1"]
    # The UDP packets come from a host that sends nothing else.
    assert {(run.background_udp_bps, run.background_udp_sender, len(run.senders)) for run in table_1} == {
        (1_000_000_000, 2, 2)
    }
    assert {client.sender_number for run in table_1 for client in run.clients} == {1}
    gomez = plan("mininet_bbr2").runs
    assert {run.bottleneck.rate_bps for run in gomez if run.bottleneck} == {1_000_000_000}
    assert {sum(client.flows_count for client in run.clients) for run in gomez} == {2, 6, 100}
    rpc = next(run for run in plan("brakmo_bbr").runs if run.job == "rpc_n32_bbr")
    sizes = [(client.sender_number, client.request_bytes, client.program) for client in rpc.clients]
    assert {size: sizes.count(size) for size in sizes} == {
        (sender, size, "netperf"): 32 for sender in (1, 2, 3) for size in (10_000, 1_000_000)
    }


def test_a_run_of_the_edge_dumps_the_sockets_of_one_algorithm() -> None:
    """The evaluation groups connections by the folder of a dump, which is that of the run's one algorithm."""
    known = {member for facts in load_evaluation(EDGE)["algorithms"].values() for member in facts["members"]}
    held = []
    for run in plan("edge_bbr2").runs:
        (algorithm,) = list_algorithms(run)
        held.append(algorithm)
        assert run.instruments.dumps_at_s
        assert sum(client.flows_count for client in run.clients) == 2520
    assert sorted(held) == ["bbr"] * 3 + ["bbr2"] * 3 + ["cubic"] * 3
    assert set(held) <= known
