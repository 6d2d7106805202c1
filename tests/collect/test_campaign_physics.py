"""What a collected archive's tables say, against what physics allows.

`CCREPORT_COLLECTED` is the results folder of an archive collected from `campaigns/quick.yaml`; continuous integration
collects it, builds its tables and sets the variable. The conditions are the campaign's, read from its declaration.
"""

import os
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from support import ROOT

from ccreport.collect.campaign import load_campaign
from ccreport.collect.plan import Run
from ccreport.collect.planning import plan_campaign

COLLECTED: Final = os.environ.get("CCREPORT_COLLECTED", "")
pytestmark = pytest.mark.skipif(not COLLECTED, reason="CCREPORT_COLLECTED names no results of a collected archive")

# Ethernet's header, which the shapers count, and the headers of IPv4 and TCP with time stamps, which are no payload.
FRAME_BYTES: Final = 1514
PAYLOAD_BYTES: Final = 1500 - 20 - 32
# The burst of a shaper may pass at once at the beginning: 2 ms of the rate, two frames at least.
BURST_S: Final = 0.002


def read_rows(table: str) -> pl.DataFrame:
    """Return a typed table of all experiments."""
    return pl.read_parquet(Path(COLLECTED) / "tables" / table / "*.parquet")


@pytest.fixture(scope="module")
def planned() -> dict[str, Run]:
    """Return the runs of the campaign by their jobs, each of which has one."""
    plan = plan_campaign(load_campaign(ROOT / "campaigns/quick.yaml"), "quick")
    return {run.job: run for run in plan.runs}


@pytest.fixture(scope="module")
def runs(planned: dict[str, Run]) -> pl.DataFrame:
    """Return the `runs`, one for each that was planned."""
    read = read_rows("runs")
    assert sorted(read["job"]) == sorted(planned)
    return read


def find_goodput_bps(runs: pl.DataFrame, job: str) -> float:
    return float(runs.row(by_predicate=pl.col("job") == job, named=True)["goodput_bps"])


def find_spreads_s() -> dict[str, float]:
    """Return per run how far apart its clients began: by a capture of their last SYNs, else by the samples of ss."""
    syns = read_rows("packet_flows").filter(pl.col("direction") == "out").select("flow_id", "syn_utc")
    clients = (
        read_rows("flows")
        .join(syns, on="flow_id", how="left", validate="1:m")
        .group_by("run_id", "client_number")
        .agg(pl.col("syn_utc").max(), pl.col("start_offset_s").min())
    )
    by_capture, by_ss = (pl.col(name).max() - pl.col(name).min() for name in ("syn_utc", "start_offset_s"))
    spreads = clients.group_by("run_id").agg(pl.coalesce(by_capture.dt.total_microseconds() / 1e6, by_ss))
    return dict(spreads.iter_rows())


def test_no_run_carries_more_than_its_rate(runs: pl.DataFrame, planned: dict[str, Run]) -> None:
    spreads_s = find_spreads_s()
    for run in runs.iter_rows(named=True):
        declared = planned[run["job"]]
        rates = [sender.rate_bps for sender in declared.senders if sender.rate_bps]
        rates += [declared.bottleneck.rate_bps] if declared.bottleneck else []
        # A SYN that is lost lets one of two clients begin later, and a run's goodput is the sum of what each had in its
        # own seconds.
        seconds = run["duration_s"] + spreads_s[run["run_id"]]
        most_bits = min(rates) * seconds + max(BURST_S * min(rates), 8 * 2 * FRAME_BYTES)
        assert 0 < run["goodput_bps"] * run["duration_s"] <= most_bits * PAYLOAD_BYTES / FRAME_BYTES, run["job"]


def test_no_round_trip_is_faster_than_the_path(runs: pl.DataFrame, planned: dict[str, Run]) -> None:
    flows = read_rows("flows").join(runs.select("run_id", "job"), on="run_id", validate="m:1")
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


def test_every_flow_has_the_algorithm_that_its_client_asked_for(runs: pl.DataFrame, planned: dict[str, Run]) -> None:
    flows = read_rows("flows").join(runs.select("run_id", "job"), on="run_id")
    found = flows.group_by("job", "cc").len().rows()
    asked = {}
    for job, run in planned.items():
        for client in run.clients:
            key = (job, client.congestion_control)
            asked[key] = asked.get(key, 0) + client.flows_count
    assert {(job, cc): count for job, cc, count in found} == asked


def test_three_witnesses_agree_on_retransmits(runs: pl.DataFrame) -> None:
    job = "capture_both_p4_loss0.1"
    rows = read_rows("reconciliation").join(runs.select("run_id", "job"), on="run_id").filter(pl.col("job") == job)
    assert rows.height == 4
    assert rows["retransmits_capture_count"].sum() > 0
    assert rows.filter(~pl.col("is_explained"))["explanation"].to_list() == []


def test_the_testbed_kept_what_it_was_told() -> None:
    calibrations = read_rows("calibrations")
    assert {"rtt", "loss", "rate"} <= set(calibrations["measured_quantity"])
    outside = calibrations.filter(~pl.col("is_within"))
    assert outside.select("measured_quantity", "nominal_value", "measured_value").rows() == []


def test_every_run_was_completed_and_nothing_rejected(planned: dict[str, Run]) -> None:
    last = read_rows("attempts").sort("attempt_number").group_by("job", "suffix").last()
    assert last.height == len(planned)
    assert set(last["attempt_outcome"]) == {"completed"}
    assert read_rows("rejects").select("path", "reason").rows() == []
