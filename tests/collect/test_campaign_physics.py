"""What a collected archive's tables say, against what physics allows, and real time against virtual time.

`CCREPORT_COLLECTED` is the results folder of an archive collected from `campaigns/quick.yaml` in real time,
`CCREPORT_COLLECTED_VIRTUAL` that of one collected in virtual time; continuous integration collects them, builds their
tables and sets the variables. The conditions are the campaign's, read from its declaration.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from archives import ROOT

from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.plan import Run

pytestmark = pytest.mark.slow

COLLECTED: Final = {"real": "CCREPORT_COLLECTED", "virtual": "CCREPORT_COLLECTED_VIRTUAL"}

# Ethernet's header, which the shapers count, and the headers of IPv4 and TCP with time stamps, which are not payload.
FRAME_BYTES: Final = 1514
PAYLOAD_BYTES: Final = 1500 - 20 - 32
# The burst of a shaper may pass at once at the beginning: 2 ms of the rate, two frames at least.
BURST_S: Final = 0.002


Reader = Callable[[str], pl.DataFrame]


def read_collected(clock: str) -> Reader:
    """Return what reads a typed table of all experiments of the archive that was collected by this clock."""
    folder = os.environ.get(COLLECTED[clock])
    if not folder:
        pytest.skip(f"{COLLECTED[clock]} names no results of a collected archive")
    return lambda table: pl.read_parquet(Path(folder) / "tables" / table / "*.parquet")


@pytest.fixture(scope="module", params=COLLECTED)
def read(request: pytest.FixtureRequest) -> Reader:
    return read_collected(request.param)


@pytest.fixture(scope="module")
def planned() -> dict[str, Run]:
    """Return the runs of the campaign by their jobs, each of which has one."""
    plan = plan_campaign(load_campaign(ROOT / "campaigns/quick.yaml"), "quick")
    return {run.job: run for run in plan.runs}


@pytest.fixture(scope="module")
def runs(read: Reader, planned: dict[str, Run]) -> pl.DataFrame:
    """Return the `runs`, one for each that was planned."""
    found = read("runs")
    assert sorted(found["job"]) == sorted(planned)
    return found


def find_goodput_bps(runs: pl.DataFrame, job: str) -> float:
    return float(runs.row(by_predicate=pl.col("job") == job, named=True)["goodput_bps"])


def find_spreads_s(read: Reader) -> dict[str, float]:
    """Return per run how far apart its clients began: by a capture of their last SYNs, else by the samples of ss."""
    syns = read("packet_flows").filter(pl.col("direction") == "out").select("flow_id", "syn_utc")
    clients = (
        read("flows")
        .join(syns, on="flow_id", how="left", validate="1:m")
        .group_by("run_id", "client_number")
        .agg(pl.col("syn_utc").max(), pl.col("start_offset_s").min())
    )
    by_capture, by_ss = (pl.col(name).max() - pl.col(name).min() for name in ("syn_utc", "start_offset_s"))
    spreads = clients.group_by("run_id").agg(pl.coalesce(by_capture.dt.total_microseconds() / 1e6, by_ss))
    return dict(spreads.iter_rows())


def test_no_run_carries_more_than_its_rate(read: Reader, runs: pl.DataFrame, planned: dict[str, Run]) -> None:
    spreads_s = find_spreads_s(read)
    for run in runs.iter_rows(named=True):
        declared = planned[run["job"]]
        rates = [sender.rate_bps for sender in declared.senders if sender.rate_bps]
        rates += [declared.bottleneck.rate_bps] if declared.bottleneck else []
        # A SYN that is lost lets one of two clients begin later, and a run's goodput is the sum of what each had in its
        # own seconds.
        seconds = run["duration_s"] + spreads_s[run["run_id"]]
        most_bits = min(rates) * seconds + max(BURST_S * min(rates), 8 * 2 * FRAME_BYTES)
        assert 0 < run["goodput_bps"] * run["duration_s"] <= most_bits * PAYLOAD_BYTES / FRAME_BYTES, run["job"]


def test_no_round_trip_is_faster_than_the_path(read: Reader, runs: pl.DataFrame, planned: dict[str, Run]) -> None:
    flows = read("flows").join(runs.select("run_id", "job"), on="run_id", validate="m:1")
    assert flows.height == sum(client.flows_count for run in planned.values() for client in run.clients)
    for flow in flows.iter_rows(named=True):
        (route,) = planned[flow["job"]].routes
        assert flow["rtt_min_ms"] >= route.rtt_ms, (flow["job"], flow["flow_id"])


def test_loss_slows_cubic_and_not_bbr(runs: pl.DataFrame) -> None:
    assert find_goodput_bps(runs, "cubic_p1_loss1") < find_goodput_bps(runs, "bbr_p1_loss1")


def test_equal_flows_share_evenly(runs: pl.DataFrame) -> None:
    equal = runs.row(by_predicate=pl.col("job") == "cubic_p4_lossnone", named=True)
    assert equal["flows_count"] == 4
    assert equal["jain_ratio"] > 0.8


def test_every_flow_has_the_algorithm_that_its_client_asked_for(
    read: Reader, runs: pl.DataFrame, planned: dict[str, Run]
) -> None:
    flows = read("flows").join(runs.select("run_id", "job"), on="run_id")
    found = flows.group_by("job", "cc").len().rows()
    asked = {}
    for job, run in planned.items():
        for client in run.clients:
            key = (job, client.congestion_control)
            asked[key] = asked.get(key, 0) + client.flows_count
    assert {(job, cc): count for job, cc, count in found} == asked


def test_three_witnesses_agree_on_retransmits(read: Reader, runs: pl.DataFrame) -> None:
    job = "capture_both_p4_loss0.1"
    rows = read("reconciliation").join(runs.select("run_id", "job"), on="run_id").filter(pl.col("job") == job)
    assert rows.height == 4
    assert rows["retransmits_capture_count"].sum() > 0
    assert rows.filter(~pl.col("is_explained"))["explanation"].to_list() == []


def test_the_testbed_kept_what_it_was_told(read: Reader) -> None:
    calibrations = read("calibrations")
    assert {"rtt", "loss", "rate"} <= set(calibrations["measured_quantity"])
    outside = calibrations.filter(~pl.col("is_within"))
    assert outside.select("measured_quantity", "nominal_value", "measured_value").rows() == []


def test_every_run_was_completed_and_nothing_rejected(read: Reader, planned: dict[str, Run]) -> None:
    last = read("attempts").sort("attempt_number").group_by("job", "suffix").last()
    assert last.height == len(planned)
    assert set(last["attempt_outcome"]) == {"completed"}
    assert read("rejects").select("path", "reason").rows() == []


def test_real_and_virtual_time_agree() -> None:
    rates = {}
    for clock in COLLECTED:
        flows, runs = read_collected(clock)("flows"), read_collected(clock)("runs")
        joined = flows.join(runs.select("run_id", "job"), on="run_id").group_by("job").agg(pl.col("goodput_bps").sum())
        rates[clock] = dict(joined.iter_rows())
    assert rates["real"].keys() == rates["virtual"].keys()
    for job, real_bps in rates["real"].items():
        # Where the line is the limit the clock must not matter. What CUBIC has at 1 % loss comes by chance of some 25
        # losses in either run, so that a rate varies by a quarter.
        tolerance = 2.0 if job == "cubic_p1_loss1" else 1.1
        assert 1 / tolerance < rates["virtual"][job] / real_bps < tolerance, (job, rates)


def test_nothing_but_the_path_drops_packets_in_virtual_time() -> None:
    drops = read_collected("virtual")("kernel_drops")
    grown = drops.filter(~pl.col("is_path_drop") & (pl.col("after_count") > pl.col("before_count")))
    assert grown.select("kernel_host", "drop_counter").rows() == []
    assert drops.filter(pl.col("is_path_drop"))["after_count"].sum() > 0
