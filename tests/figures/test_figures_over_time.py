"""Figures over time of single runs: what limited flows, shares, Jain's index, processor load, and each kind drawn."""

import re
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import polars as pl
import pytest
import vl_convert
from archives import write_yaml
from figure_inputs import LABELLED_RUNS

from ccreport.core.tables import conform, write_table
from ccreport.figures.kit import theme
from ccreport.figures.kit.value_axis import ValueAxis
from ccreport.figures.run.chart import Plot
from ccreport.figures.run.event_marks import list_join_places
from ccreport.figures.run.fair_share import measure_jain, measure_shares
from ccreport.figures.run.flows import sum_algorithms
from ccreport.figures.run.limits import CATEGORIES
from ccreport.figures.run.panel import FlowRates, PanelRuns, read_panel
from ccreport.figures.run.side_by_side import draw_side_by_side
from ccreport.figures.select.cpu_series import place_cpu_samples
from ccreport.figures.select.declaration import FigureError, read_declaration
from ccreport.figures.select.limit_classes import LIMITS, classify, find_busiest, measure_growth, sum_limits
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.sampled_rates import (
    choose_rate_source,
    list_flow_rates,
    observe_acknowledged,
    place_acknowledged,
    place_flow_samples,
)
from ccreport.figures.select.series import choose_width_s
from ccreport.figures.write import plot_declaration

EPOCH = datetime(2026, 11, 20, 22, 11, tzinfo=UTC)
MSS = 1000

# One second of a flow of 8 Mbit/s: 1,000,000 bytes in segments of 1000, an RTT of 20 ms. By Little's law 20 segments
# are in flight on average; the window has room for 100. Data waits; nothing lies in queues of the host.
STEADY: dict[str, Any] = {
    "run_id": "r",
    "flow_id": "r/1",
    "cc": "cubic",
    "elapsed_ms": 1000.0,
    "busy_ms": 1000,
    "rwnd_limited_ms": 0,
    "sndbuf_limited_ms": 0,
    "sent_bytes": 1_000_000,
    "unacked_count": 20,
    "sacked_count": 0,
    "lost_count": 0,
    "retransmits_in_flight_count": 0,
    "cwnd_segments_count": 100,
    "window_segments": 100.0,
    "smoothed_rtt_ms": 20.0,
    "mss_bytes": MSS,
    "not_sent_bytes": 50_000,
    "is_app_limited": False,
    "skmem_wmem_bytes": 0,
    "pacing_rate_bps": 48e6,
    "pacing_rate_max_bps": None,
    "unpaced_bps": 48e6,
    "bbr_pacing_gain_ratio": None,
    "bbr_cwnd_gain_ratio": None,
    "busiest_pct": 40.0,
}
TYPES = {
    **dict.fromkeys(("pacing_rate_max_bps", "bbr_pacing_gain_ratio", "bbr_cwnd_gain_ratio", "busiest_pct"), pl.Float64),
    **dict.fromkeys(("busy_ms", "rwnd_limited_ms", "unacked_count", "not_sent_bytes", "skmem_wmem_bytes"), pl.Int64),
    "sent_bytes": pl.Int64,
    "is_app_limited": pl.Boolean,
}
BBR: dict[str, Any] = {"bbr_pacing_gain_ratio": 1.25, "bbr_cwnd_gain_ratio": 2.0}


def limit_of(**changes: Any) -> str:
    limit: str = classify(pl.DataFrame([STEADY | changes], schema_overrides=TYPES))["limit"].item()
    return limit


@pytest.mark.parametrize(
    ("limit", "changes"),
    [
        ("unknown", {}),
        # Half of 1000 ms, and just less.
        ("receive_window", {"rwnd_limited_ms": 500}),
        ("unknown", {"rwnd_limited_ms": 499}),
        ("send_buffer", {"sndbuf_limited_ms": 500}),
        # Half of the busy time counts, not of the second: 300 of 400 ms. An idle flow with data sent is not a limit.
        ("receive_window", {"busy_ms": 400, "rwnd_limited_ms": 300}),
        # Nothing to send for 501 of 1000 ms; with data waiting the clock must have been late, and 1,000,000 bytes in
        # 499 ms are 40 segments in flight of 100.
        ("idle", {"busy_ms": 499, "not_sent_bytes": 0}),
        ("unknown", {"busy_ms": 499}),
        # Sampled full; 110 sent, of which 8 are sacked and 2 lost: 100. One retransmit in flight makes up for one lost.
        ("congestion_window", {"unacked_count": 100}),
        ("congestion_window", {"unacked_count": 110, "sacked_count": 8, "lost_count": 2}),
        ("unknown", {"unacked_count": 110, "sacked_count": 8, "lost_count": 3}),
        (
            "congestion_window",
            {"unacked_count": 110, "sacked_count": 8, "lost_count": 3, "retransmits_in_flight_count": 1},
        ),
        # Full on average: 0.9 of 22 segments are 19.8, less than 20; of 23 they are 20.7.
        ("congestion_window", {"cwnd_segments_count": 22, "window_segments": 22.0}),
        ("unknown", {"cwnd_segments_count": 23, "window_segments": 23.0}),
        # ProbeRTT.
        ("congestion_window", {"bbr_pacing_gain_ratio": 1.0, "bbr_cwnd_gain_ratio": 1.0}),
        ("cpu", {"busiest_pct": 95.0}),
        ("unknown", {"busiest_pct": 94.9}),
        ("application", {"is_app_limited": True, "not_sent_bytes": 0}),
        ("unknown", {"is_app_limited": True}),
        # 1 ms at 48 Mbit/s is 6000 bytes.
        ("pacing", {"skmem_wmem_bytes": 6000}),
        ("unknown", {"skmem_wmem_bytes": 5999}),
        # 8 Mbit/s sent: 0.75 of 10.6 Mbit/s is 7.95, of 10.7 it is 8.025. Only BBR's own rate paces.
        ("pacing", BBR | {"unpaced_bps": 10.6e6}),
        ("unknown", BBR | {"unpaced_bps": 10.7e6}),
        ("unknown", {"unpaced_bps": 10.6e6}),
        ("pacing", {"pacing_rate_max_bps": 10e6}),
    ],
)
def test_each_limit_has_its_definition(limit: str, changes: dict[str, Any]) -> None:
    assert limit_of(**changes) == limit


def test_limits_are_tried_in_their_order() -> None:
    # All hold at once; each is taken away in turn. Idle needs a flow that is not busy, so it is left to the test above.
    holding: dict[str, dict[str, Any]] = {
        "receive_window": {"rwnd_limited_ms": 600},
        "send_buffer": {"sndbuf_limited_ms": 600},
        "congestion_window": {"unacked_count": 100},
        "cpu": {"busiest_pct": 99.0},
        "application": {"is_app_limited": True, "not_sent_bytes": 0},
        "pacing": {"skmem_wmem_bytes": 60_000},
    }
    order = [limit for limit in LIMITS if limit in holding]
    for number, expected in enumerate(order):
        changes = {name: value for limit in order[number:] for name, value in holding[limit].items()}
        assert limit_of(**changes) == expected


def test_what_the_archive_lacks_limits_nothing() -> None:
    lacking = dict.fromkeys(set(STEADY) - {"run_id", "flow_id", "cc", "elapsed_ms", "mss_bytes"})
    row = pl.DataFrame([STEADY], schema_overrides=TYPES)
    empty = row.with_columns(pl.lit(None, row.schema[name]).alias(name) for name in lacking)
    assert classify(empty)["limit"].to_list() == ["unknown"]


def make_samples(rows: list[dict[str, Any]]) -> pl.DataFrame:
    base = {
        "run_id": "r",
        "flow_id": "r/1",
        "connection_number": 0,
        "raw_file_id": "f",
        "is_partial": False,
        "extra": [],
    }
    full = pl.DataFrame([base | row for row in rows], infer_schema_length=None)
    return conform(full, "samples")


FLOWS = pl.DataFrame({"run_id": ["r", "r"], "flow_id": ["r/1", "r/2"], "cc": ["cubic", "bbr"], "client_number": [1, 1]})


def at(second: float, **values: Any) -> dict[str, Any]:
    return {"time_utc": EPOCH + timedelta(seconds=second)} | values


def test_the_clock_starts_when_the_first_flow_sends_data() -> None:
    # Open since 0 s, with a cookie of 38 bytes. At 2 s the flow has been busy for 300 ms, of which 80 for the cookie:
    # data began 220 ms before.
    samples = make_samples(
        [
            at(0.0, sent_bytes=38, busy_ms=80),
            at(2.0, sent_bytes=50_000, busy_ms=300),
            at(2.5, sent_bytes=90_000, busy_ms=800),
            at(1.0, flow_id="r/2", sent_bytes=38, busy_ms=80),
            at(2.0, flow_id="r/2", sent_bytes=9_000, busy_ms=200),
        ]
    )
    placed = place_flow_samples(samples, FLOWS)
    assert placed.filter(flow_id="r/1")["time_s"].round(6).to_list() == [-1.78, 0.22, 0.72]
    assert placed.filter(flow_id="r/2")["time_s"].round(6).to_list() == [-0.78, 0.22]
    assert placed.filter(flow_id="r/2")["cc"].to_list() == ["bbr", "bbr"]


def test_without_busy_times_the_clock_starts_with_the_first_sample() -> None:
    samples = make_samples([at(0.5, sent_bytes=50_000), at(1.0, sent_bytes=90_000)])
    assert place_flow_samples(samples, FLOWS)["time_s"].to_list() == [0.0, 0.5]


def test_growth_is_between_samples_of_one_flow() -> None:
    values = {"mss_bytes": MSS, "rtt_ms": 20.0, "pacing_rate_bps": 10e6, "bbr_pacing_gain_ratio": 1.25}
    samples = make_samples(
        [
            at(0.0, cwnd_segments_count=10, busy_ms=0, sent_bytes=2_000, **values),
            at(0.5, cwnd_segments_count=30, busy_ms=480, sent_bytes=52_000, **values | {"rtt_ms": 40.0}),
            # Another connection with the same addresses: its counters start again.
            at(1.0, cwnd_segments_count=30, busy_ms=100, sent_bytes=1_000, **values | {"bbr_pacing_gain_ratio": 1.0}),
        ]
    )
    first, second = measure_growth(samples, FLOWS).rows(named=True)
    assert (first["from_s"], first["until_s"], first["elapsed_ms"]) == (0.0, 0.5, 500.0)
    assert (first["busy_ms"], first["sent_bytes"]) == (480, 50_000)
    assert (first["window_segments"], first["smoothed_rtt_ms"]) == (20.0, 30.0)
    # 10 Mbit/s at a gain of 1.25 is 8 Mbit/s; then (8 + 10) / 2.
    assert (first["unpaced_bps"], second["unpaced_bps"]) == (8e6, 9e6)
    assert (second["busy_ms"], second["sent_bytes"]) == (None, None)


def test_shares_of_limits_are_of_the_time_that_flows_were_observed() -> None:
    # Bin 0 to 0.5: flow 1 has 0.5 s cwnd; flow 2 0.3 s cwnd, then 0.2 s idle. 0.8 and 0.2 of 1 s. Bin 0.5 to 1: flow 1
    # alone, pacing to 0.9, where the test ends: all of it. What is before 0 does not count.
    limits = pl.DataFrame(
        {
            "run_id": ["r"] * 4,
            "flow_id": ["r/1", "r/1", "r/2", "r/2"],
            "cc": ["bbr"] * 4,
            "from_s": [0.0, 0.5, -0.2, 0.3],
            "until_s": [0.5, 1.4, 0.3, 0.5],
            "limit": ["congestion_window", "pacing", "congestion_window", "idle"],
        }
    )
    summed = sum_limits(limits, 0.5, 0.9)
    assert summed.select("start_s", "end_s", "category", "share", "low", "high").rows() == [
        (0.0, 0.5, "congestion_window", 0.8, 0.0, 0.8),
        (0.0, 0.5, "application", 0.2, 0.8, 1.0),
        (0.5, 0.9, "pacing", 1.0, 0.0, 1.0),
    ]
    # Without the end of the test the last bin ends with the last sample, at 1.4.
    assert sum_limits(limits, 0.5, 9.0)["end_s"].unique().sort().to_list() == [0.5, 1.0, 1.4]


def test_a_bin_observed_for_less_than_half_of_it_is_left_out() -> None:
    columns = {"run_id": "r", "flow_id": "r/1", "cc": "bbr", "limit": "pacing"}
    # Nothing is known from 0.6 to 1.8: bin 0.5 to 1 is seen for 0.1 s, bin 1.5 to 2 for 0.2 s.
    limits = pl.DataFrame([columns | {"from_s": 0.0, "until_s": 0.6}, columns | {"from_s": 1.8, "until_s": 2.5}])
    assert sum_limits(limits, 0.5, 9.0)["start_s"].to_list() == [0.0, 2.0]


def cpu_rows(times: list[str | None], side: str = "sender", **loads: list[float]) -> list[dict[str, Any]]:
    return [
        {
            "run_id": "r",
            "side": side,
            "sample_number": number,
            "time": time,
            "cpu": cpu.removeprefix("cpu"),
            "cpu_idle_pct": 100 - values[number],
        }
        for number, time in enumerate(times)
        for cpu, values in loads.items()
    ]


def test_processor_load_is_placed_by_the_time_of_day_in_any_zone() -> None:
    # Data began at 22:11:00 UTC; in UTC+05:45 that is 03:56:00. A time of :02 is between :02 and :03: 2.5 s on average.
    starts = pl.DataFrame({"run_id": ["r"], "start_utc": [EPOCH]})
    loads = {"cpu0": [10.0, 20.0, 30.0], "cpu1": [50.0, 60.0, 98.0]}
    for times in (["03:56:01", "03:56:02", "03:56:03"], ["10:11:01 PM", "10:11:02 PM", "10:11:03 PM"]):
        placed = place_cpu_samples(pl.DataFrame(cpu_rows([*times], **loads)), starts)
        # Without a line for all cores the mean is that of the cores listed: (10 + 50) / 2.
        assert placed.select("start_s", "end_s", "cores_count", "mean_pct", "busiest_pct").rows() == [
            (0.5, 1.5, 2, 30.0, 50.0),
            (1.5, 2.5, 2, 40.0, 60.0),
            (2.5, 3.5, 2, 64.0, 98.0),
        ]


def test_processor_load_goes_on_over_midnight_and_for_more_than_fifteen_minutes() -> None:
    starts = pl.DataFrame({"run_id": ["r"], "start_utc": [datetime(2026, 11, 20, 23, 59, 57, tzinfo=UTC)]})
    rows = cpu_rows(["23:59:59", "00:00:01", "00:20:01"], all=[1.0, 2.0, 3.0])
    assert place_cpu_samples(pl.DataFrame(rows), starts)["end_s"].to_list() == [2.5, 4.5, 1204.5]


def test_processor_load_without_times_is_not_placed() -> None:
    starts = pl.DataFrame({"run_id": ["r"], "start_utc": [EPOCH]})
    rows = pl.DataFrame(cpu_rows([None, "noon"], all=[1.0, 2.0]))
    assert place_cpu_samples(rows, starts).is_empty()


def test_the_busiest_core_of_either_host_counts_at_the_middle_of_two_samples() -> None:
    loads = pl.DataFrame(
        {
            "run_id": ["r", "r", "r"],
            "side": ["sender", "receiver", "sender"],
            "start_s": [0.0, 0.0, 1.0],
            "end_s": [1.0, 1.0, 2.0],
            "busiest_pct": [40.0, 96.0, 20.0],
        }
    )
    growth = pl.DataFrame({"run_id": ["r"] * 3, "from_s": [0.0, 1.0, 5.0], "until_s": [0.5, 1.5, 5.5]})
    assert find_busiest(growth, loads)["busiest_pct"].to_list() == [96.0, 20.0, None]


def test_shares_are_of_all_that_moved_in_a_bin() -> None:
    rates = pl.DataFrame(
        {
            "run_id": ["r"] * 4,
            "cc": ["cubic", "cubic", "bbr", "cubic"],
            "time_s": [0.25, 0.75, 0.75, 1.25],
            "rate_bps": [5e6, 1e6, 3e6, 0.0],
        }
    )
    shares = measure_shares(rates).select("cc", "time_s", "share").rows()
    # BBR was not there at 0.25: it had nothing. At 1.25 nothing moved: no share.
    assert shares == [("bbr", 0.25, 0.0), ("bbr", 0.75, 0.75), ("cubic", 0.25, 1.0), ("cubic", 0.75, 0.25)]


def test_jain_index_is_over_all_flows_and_over_those_of_each_algorithm() -> None:
    rates = pl.DataFrame(
        {
            "run_id": ["r"] * 5,
            "flow_id": ["1", "2", "3", "1", "3"],
            "cc": ["bbr", "bbr", "cubic", "bbr", "cubic"],
            "time_s": [0.25, 0.25, 0.25, 0.75, 0.75],
            "rate_bps": [1.0, 3.0, 4.0, 2.0, 0.0],
        }
    )
    found = {(cc, time_s): (count, ratio) for _, cc, time_s, count, ratio in measure_jain(rates).rows()}
    # (1+3+4)² / (3 (1+9+16)) = 64/78; (1+3)² / (2 (1+9)) = 16/20; a stalled flow counts: 2² / (2 · 4) = 1/2.
    # CUBIC has one flow, BBR at 0.75 too: no index of their own.
    assert found == {
        ("all", 0.25): (3, pytest.approx(64 / 78)),
        ("bbr", 0.25): (2, pytest.approx(0.8)),
        ("all", 0.75): (2, 0.5),
    }


def test_jain_index_of_an_algorithm_alone_is_not_repeated_for_all() -> None:
    rates = pl.DataFrame(
        {"run_id": ["r"] * 2, "flow_id": ["1", "2"], "cc": ["bbr"] * 2, "time_s": [0.25] * 2, "rate_bps": [1.0, 1.0]}
    )
    assert measure_jain(rates).select("cc", "jain_ratio").rows() == [("bbr", 1.0)]


def test_rates_of_flows_are_those_acknowledged_where_ss_saw_all_flows() -> None:
    # The host was late: 0.5 s apart by their stamps, but a flow with data waiting was busy for 600 ms. 75,000 bytes in
    # 0.6 s are 1 Mbit/s.
    waiting = {"not_sent_bytes": 1000, "sent_bytes": 0}
    rows = [
        at(0.0, acked_bytes=0, busy_ms=0, **waiting),
        at(0.5, acked_bytes=75_000, busy_ms=600, **waiting),
        at(0.0, flow_id="r/2", acked_bytes=0, busy_ms=0, not_sent_bytes=0),
        at(0.5, flow_id="r/2", acked_bytes=37_500, busy_ms=90, not_sent_bytes=0),
    ]
    samples = make_samples(rows)
    assert choose_rate_source(samples, FLOWS) == "ss"
    assert choose_rate_source(make_samples(rows[:3]), FLOWS) == "interval"
    placed = place_acknowledged(samples, FLOWS).select("flow_id", "start_s", "end_s", "interval_bps").rows()
    assert placed == [("r/1", 0.0, 0.5, 1e6), ("r/2", 0.0, 0.5, 0.5e6)]


def test_what_was_acknowledged_before_the_first_sample_counts_from_when_data_began() -> None:
    # By its busy time the first sample is 0.4 s late, when 50,000 bytes are acknowledged: 1 Mbit/s, as after.
    rows = [
        at(0.0, sent_bytes=60_000, acked_bytes=50_000, busy_ms=400, not_sent_bytes=0),
        at(1.0, sent_bytes=190_000, acked_bytes=175_000, busy_ms=1400, not_sent_bytes=0),
    ]
    observed = observe_acknowledged(make_samples(rows), FLOWS).sort("start_s")
    pieces = observed.select(pl.col("start_s", "end_s").round(6), pl.col("interval_bps").round(3)).rows()
    assert pieces == [(0.0, 0.4, 1e6), (0.4, 1.4, 1e6)]


def test_a_flow_is_active_between_its_first_and_its_last_interval() -> None:
    placed = pl.DataFrame(
        {
            "run_id": ["r"] * 3,
            "flow_id": ["r/1", "r/1", "r/2"],
            "cc": ["cubic", "cubic", "bbr"],
            "start_s": [0.0, 0.5, 0.5],
            "end_s": [0.5, 1.0, 1.0],
            "interval_bps": [4e6, 0.0, 2e6],
        }
    )
    rates = list_flow_rates(pl.DataFrame(), FLOWS, placed, 0.5, "interval")
    assert rates.select("flow_id", "cc", "time_s", "rate_bps").rows() == [
        ("r/1", "cubic", 0.25, 4e6),
        ("r/1", "cubic", 0.75, 0.0),
        ("r/2", "bbr", 0.75, 2e6),
    ]


def test_many_flows_or_long_runs_have_wider_bins() -> None:
    # 16 flows of 60 s in bins of 0.5 s: 1920 points. 128 flows of 300 s: 76,800, in bins of 10 s 3840, of 5 s 7680.
    assert choose_width_s(0.5, 60.0, 16) == 0.5
    assert choose_width_s(1.0, 60.0, 16) == 1.0
    assert choose_width_s(0.5, 300.0, 128) == 10.0


def lightness(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def test_the_rate_above_the_limits_has_what_was_acknowledged_before_the_first_sample() -> None:
    flow = {"run_id": "r", "flow_id": "f"}
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    # 100 kB in 0.4 s until the first sample, 400 kB in the first second: 3.2 Mbit/s, as figures of throughput have it.
    samples = pl.DataFrame(
        [
            flow
            | {"connection_number": 1, "tcp_state": "ESTAB", "not_sent_bytes": 1, "sent_bytes": acked}
            | {"time_utc": begun + timedelta(milliseconds=busy_ms), "busy_ms": busy_ms, "acked_bytes": acked}
            for busy_ms, acked in ((400, 100_000), (1000, 400_000))
        ]
    )
    panel = SimpleNamespace(flows=pl.DataFrame([flow | {"cc": "bbr"}]), end_s=9.0)
    panel.tables = SimpleNamespace(samples=samples)
    measured = FlowRates(pl.DataFrame(), "ss", 1.0)
    assert sum_algorithms(cast("PanelRuns", panel), measured).rows() == [("r", "bbr", 0.5, 3.2e6)]


def test_limits_are_distinct_in_grey() -> None:
    levels = sorted(lightness(colour) for _, colour in CATEGORIES.values())
    assert all(after - before >= 10 for before, after in pairwise(levels))


# Per kind of run: algorithm of each flow. Each run lasts 4 s, in half seconds.
RUNS = {"both/1": ["cubic", "cubic", "bbr", "bbr"], "both/2": ["cubic", "cubic", "bbr", "bbr"], "bbr/1": ["bbr", "bbr"]}
KINDS = ("flow_rates", "cwnd", "cpu", "limits", "share", "fairness")


def make_database(folder: Path, *, with_samples: bool = True, with_cpu: bool = True) -> Path:
    """Write a database of RUNS: CUBIC at 1 and 3 Mbit/s a flow, its window full; BBR at 2 and 2, paced."""
    names = ("runs", "flows", "intervals", "samples", "qdiscs", "cpu_samples")
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for run_id, ccs in RUNS.items():
        condition, iteration = run_id.split("/")
        identity = {"run_id": run_id, "experiment_id": "e", "session": "s", "job": condition, "condition_id": condition}
        flags = {"has_capture": False, "is_interrupted": False, "is_counted": True, "clients_count": 1}
        facts = {"mode": condition, "iteration": int(iteration), "flows_count": len(ccs), "rtt_ms": 20.0}
        tables["runs"].append(identity | flags | facts | {"host": "there", "sender_host": "here"})
        for number, cc in enumerate(ccs, 1):
            add_flow(
                tables,
                {"run_id": run_id, "flow_id": f"{run_id}/{number}"},
                number,
                cc,
                2 - (-1) ** number * (cc == "cubic"),
            )
        for second in range(5):
            for side, cpu, busy in (("sender", "0", 97.0), ("sender", "1", 3.0), ("receiver", "0", 20.0)):
                sample = {"side": side, "sample_number": second, "cpu": cpu, "cpu_idle_pct": 100 - busy}
                tables["cpu_samples"].append(
                    {"run_id": run_id, "raw_file_id": "c", "time": f"22:11:0{second}"} | sample
                )
    tables["samples"] *= with_samples
    tables["cpu_samples"] *= with_cpu
    database = folder / "archive.duckdb"
    with duckdb.connect(str(database)) as connection:
        for name, rows in tables.items():
            write_table(conform(pl.DataFrame(rows, infer_schema_length=None), name), name, folder / f"{name}.parquet")
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet(['{folder / name}.parquet'])")
        connection.execute(LABELLED_RUNS)
    return database


def add_flow(tables: dict[str, list[dict[str, Any]]], flow: dict[str, Any], number: int, cc: str, mbit: float) -> None:
    rates = {"throughput_bps": mbit * 1e6, "goodput_bps": mbit * 1e6, "sender_s": 4.0, "receiver_s": 4.0}
    counts = {"retransmits_count": 0, "segments_count": 1000.0, "start_offset_s": 0.0, "samples_count": 9}
    tables["flows"].append(flow | {"cc": cc, "client_number": 1, "is_reverse": False} | rates | counts)
    bytes_in_half = round(mbit * 1e6 / 16)
    for step in range(9):
        if step < 8:
            interval = {"client_number": 1, "stream_number": number, "is_reverse": False, "raw_file_id": "i"}
            times = {"interval_number": step, "start_s": step / 2, "end_s": step / 2 + 0.5, "is_omitted": False}
            tables["intervals"].append(flow | interval | times | {"interval_bps": mbit * 1e6})
        sent = bytes_in_half * step
        sample = at(
            step / 2, connection_number=0, raw_file_id="s", is_partial=False, extra=[], cc=cc, tcp_state="ESTAB"
        )
        state = {
            "sent_bytes": sent,
            "acked_bytes": sent,
            "busy_ms": 500 * step,
            "not_sent_bytes": 9000,
            "mss_bytes": MSS,
        }
        limits = {"rwnd_limited_ms": 0, "sndbuf_limited_ms": 0, "is_app_limited": False, "rtt_ms": 20.0}
        window = {"cwnd_segments_count": 10, "unacked_count": 10 if cc == "cubic" else 4, "retransmits_ss_count": 0}
        gains = BBR | {"pacing_rate_bps": mbit * 1.25e6} if cc == "bbr" else {}
        tables["samples"].append(flow | sample | state | limits | window | gains)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("tables"))


def plot(folder: Path, database: Path, kind: str, **changes: Any) -> Path:
    declared = {"kind": f"{kind}_over_time", "title": "Four flows", "where": "true"} | changes
    evaluation = {"title": "t", "algorithms": {"CUBIC": {"members": ["cubic"]}}, "labels": {}, "tables": {}}
    path = folder / "evaluation.yaml"
    write_yaml(path, evaluation | {"figures": {"f": declared}})
    plot_declaration(read_declaration(path, "f"), database, folder / "out")
    return folder / "out"


def test_names_of_lines_keep_clear_of_names_and_lines_of_joins(database: Path, tmp_path: Path) -> None:
    declared = {"title": "t", "algorithms": {"CUBIC": {"members": ["cubic"]}}, "labels": {}, "tables": {}}
    figure = {"kind": "share_over_time", "title": "Four flows", "where": "true"}
    write_yaml(tmp_path / "evaluation.yaml", declared | {"figures": {"f": figure}})
    with Database(database) as opened:
        panel = read_panel(read_declaration(tmp_path / "evaluation.yaml", "f"), opened)
    plot = Plot(panel, ValueAxis("Share", [0, 100]), height_px=40)
    joins = pl.DataFrame({"at_s": [plot.end_s / 2], "flows_count": [1], "ccs": [["bbr"]]})
    middle = theme.PLOT_WIDTH_PX / 2
    # "+1 BBR" has 6 letters of 9 px; the line is 40 px high.
    below = [(middle + offset, 8.0) for offset in (-27, -13.5, 0, 13.5, 27)]
    assert list_join_places(joins, plot) == [*below, (middle, 0.0), (middle, 16.0), (middle, 32.0)]


def test_runs_beside_each_other_have_the_colours_of_their_own_flows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "RUNS", {"cubic/1": ["cubic"], "bbr/1": ["bbr"]})
    with Database(make_database(tmp_path)) as opened:
        figure = draw_side_by_side({"A": ("cubic/1", False), "B": ("bbr/1", False)}, "Two", opened)
    svg = vl_convert.vegalite_to_svg(figure.chart.to_dict())
    strokes = re.findall('<path[^>]* stroke="(#[0-9a-f]{6})"', svg)
    # Flow 1 is CUBIC on one side and BBR on the other, and has a line in three panels of each.
    assert sorted(strokes) == sorted([theme.style_of(cc).colour for cc in ("cubic", "bbr")] * 3)


def test_shares_of_more_flows_of_an_algorithm_say_how_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "RUNS", {"both/1": ["cubic", "cubic", "bbr"]})
    output = plot(tmp_path, make_database(tmp_path), "share")
    # 3 + 1 Mbit/s beside 2.
    for name in ("caption.txt", "alt.txt"):
        said = (output / name).read_text(encoding="utf-8")
        assert "Of all data CUBIC had 67 % (2 flows) and BBR had 33 % (1 flow)." in said


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_drawn_and_names_its_run(kind: str, database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, kind)
    assert not (output / "missing.txt").exists()
    svg = (output / "figure.svg").read_text(encoding="utf-8")
    assert len(svg) < 300_000
    assert "Four flows" in svg
    assert 'width="NaN"' not in svg
    caption = (output / "caption.txt").read_text(encoding="utf-8")
    assert "CUBIC and BBR, 4 flows, both — here to there, RTT 20 ms." in caption
    assert "both/1 (iteration 1), representative of 2 iterations" in caption
    assert "medoid" in caption
    assert caption.count("\n") == 2
    alternative = (output / "alt.txt").read_text(encoding="utf-8")
    assert alternative.count("\n") == 1
    for text in (caption, alternative):
        assert not re.search(r"None|null|nan|\.\.|unknown", text)


@pytest.mark.parametrize("kind", KINDS)
def test_all_layers_of_a_condition_with_one_run_have_the_same_colours(
    kind: str, database: Path, tmp_path: Path
) -> None:
    chart = (plot(tmp_path, database, kind, where="iteration = 1") / "figure.vl.json").read_text(encoding="utf-8")
    domains = re.findall(r'"color":\s*\{"field":\s*"cc"[^}]*"domain":\s*(\[[^]]*\])', chart)
    assert set(domains) <= {'["cubic","bbr"]', '["bbr","cubic"]'}
    assert not re.search(r'"domain":\s*\[\]', chart)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        # CUBIC's flows 1 and 3 Mbit/s.
        ("flow_rates", "The 2 flows of CUBIC had from 1.00 Mbit/s to 3.00 Mbit/s, 2.00 Mbit/s on average"),
        ("cwnd", "CUBIC 10.0 segments (10.0 to 10.0) and BBR 10.0 segments"),
        # Mean of 97 and 3.
        ("cpu", "The cores of the sender had a load of 50 % on average, the busiest core at a time 97 % on average"),
        (
            "limits",
            "CUBIC's flows were limited by congestion window 100 % of the time. BBR's flows were limited by CPU 100 %",
        ),
        ("share", "Of all data CUBIC had 50 % and BBR had 50 %"),
        # (1+3+2+2)² / (4 (1+9+4+4)) = 64/72 = 0.889; CUBIC 16/20.
        ("fairness", "The index of all flows was 0.889 on average and 0.889 at its least"),
        ("fairness", "The index of the flows of CUBIC was 0.800 on average"),
    ],
)
def test_the_alternative_states_the_message(kind: str, message: str, database: Path, tmp_path: Path) -> None:
    assert message in (plot(tmp_path, database, kind) / "alt.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "finding"),
    [
        (
            "flow_rates",
            "The 2 flows of CUBIC had from 1.00 Mbit/s to 3.00 Mbit/s, 2.00 Mbit/s on average; the 2 flows of BBR had",
        ),
        (
            "cwnd",
            "Median (and range) of the congestion window: CUBIC 10.0 segments (10.0 to 10.0) and BBR 10.0 segments",
        ),
        ("cpu", "Mean load of the busiest core: 97 % on the sender"),
        (
            "limits",
            "What limited flows most: of CUBIC congestion window (100 % of the time) and of BBR CPU (100 %",
        ),
        ("share", "Of all data CUBIC had 50 % and BBR had 50 %."),
        ("fairness", "Jain's index on average over the test: all flows 0.889, flows of CUBIC 0.800 and flows of BBR"),
    ],
)
def test_the_caption_begins_with_conditions_and_what_was_found(
    kind: str, finding: str, database: Path, tmp_path: Path
) -> None:
    shown, _, _ = (plot(tmp_path, database, kind) / "caption.txt").read_text(encoding="utf-8").partition("\n")
    assert f". {finding}" in shown


def test_without_mpstat_pacing_is_seen_and_the_caption_says_that_cpu_is_not(tmp_path: Path) -> None:
    output = plot(tmp_path, make_database(tmp_path, with_cpu=False), "limits")
    assert "BBR's flows were limited by pacing or the sender's queue 100 %" in (output / "alt.txt").read_text()
    assert "so CPU is never shown as the limit" in (output / "caption.txt").read_text()


@pytest.mark.parametrize(
    ("kind", "without", "reason"),
    [
        ("cwnd", "with_samples", "no samples of ss with a window or an RTT for the flows of run both/1"),
        ("limits", "with_samples", "no consecutive samples of ss"),
        ("cpu", "with_cpu", "no samples of mpstat with their times"),
    ],
)
def test_a_figure_without_its_data_says_why(kind: str, without: str, reason: str, tmp_path: Path) -> None:
    output = plot(tmp_path, make_database(tmp_path, **{without: False}), kind)
    assert {path.name for path in output.iterdir()} == {"missing.txt"}
    assert reason in (output / "missing.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["flow_rates", "fairness"])
def test_without_ss_rates_of_flows_are_the_tools(kind: str, tmp_path: Path) -> None:
    caption = (plot(tmp_path, make_database(tmp_path, with_samples=False), kind) / "caption.txt").read_text()
    assert "bytes that the tool reports" in caption


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "share"])
def test_algorithms_that_ran_alone_are_drawn_too(kind: str, database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, kind, overlapped=False, run="bbr/1")
    caption = (output / "caption.txt").read_text(encoding="utf-8")
    assert "Run shown: bbr/1 (iteration 1), chosen by name from " in caption


def test_shares_need_algorithms_at_the_same_time(database: Path, tmp_path: Path) -> None:
    with pytest.raises(FigureError, match="overlapped"):
        plot(tmp_path, database, "share", overlapped=False)


def test_fairness_of_a_single_flow_is_left_out(tmp_path: Path) -> None:
    database = make_database(tmp_path)
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            f"CREATE OR REPLACE VIEW flows AS FROM read_parquet(['{tmp_path}/flows.parquet']) WHERE flow_id LIKE '%/1'"
        )
    output = plot(tmp_path, database, "fairness", overlapped=False)
    assert "No two flows" in (output / "missing.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_drawing_twice_gives_the_same_bytes(database: Path, tmp_path: Path) -> None:
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        first = {path.name: path.read_bytes() for path in plot(tmp_path / kind, database, kind).iterdir()}
        again = {path.name: path.read_bytes() for path in plot(tmp_path / kind, database, kind).iterdir()}
        assert first == again
