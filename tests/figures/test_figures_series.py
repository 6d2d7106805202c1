"""Series of figures from intervals and samples: every expected value worked out by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccreport.figures.select.series import (
    choose_bin_s,
    find_envelope,
    measure_duration_s,
    measure_sampling_s,
    measure_spacing_s,
    place_intervals,
    place_samples,
    sum_rates,
    sum_retransmits,
)

EPOCH = datetime(2026, 11, 20, 22, 11, tzinfo=UTC)


def make_flows(*flows: tuple[str, str | None], **changes: Any) -> pl.DataFrame:
    """Return flows of run r from (flow_id, cc); client 1, at the start, unless `changes` says otherwise."""
    common = {"run_id": "r", "client_number": 1, "start_offset_s": 0.0}
    return pl.DataFrame([common | {"flow_id": flow_id, "cc": cc} | changes for flow_id, cc in flows])


def make_intervals(*intervals: tuple[str, float, float, float | None], **changes: Any) -> pl.DataFrame:
    """Return intervals of run r from (flow_id, start in s, end in s, rate in bit/s)."""
    common = {"run_id": "r", "is_omitted": False, "retransmits_iperf3_count": None}
    rows = [
        common | {"flow_id": flow_id, "start_s": start, "end_s": end, "interval_bps": rate} | changes
        for flow_id, start, end, rate in intervals
    ]
    return pl.DataFrame(rows, schema_overrides={"interval_bps": pl.Float64, "retransmits_iperf3_count": pl.Int64})


def make_samples(*samples: tuple[str, float, int | None], connection: int = 0) -> pl.DataFrame:
    """Return samples of run r from (flow_id, s since the epoch, cumulative retransmits)."""
    rows = [
        {
            "run_id": "r",
            "flow_id": flow_id,
            "connection_number": connection,
            "time_utc": EPOCH + timedelta(seconds=at),
            "retransmits_ss_count": count,
        }
        for flow_id, at, count in samples
    ]
    return pl.DataFrame(rows, schema_overrides={"retransmits_ss_count": pl.Int64})


def rates_of(intervals: pl.DataFrame, flows: pl.DataFrame, bin_s: float = 0.5) -> list[tuple[Any, ...]]:
    rates = sum_rates(place_intervals(intervals, flows), bin_s)
    return rates.select("cc", "time_s", pl.col("rate_bps").round(6)).rows()


def counts_of(samples: pl.DataFrame, flows: pl.DataFrame, bin_s: float = 0.5) -> list[tuple[Any, ...]]:
    counts = sum_retransmits(
        place_samples(samples, flows), place_intervals(make_intervals(("x", 0, 1, 1)), flows), bin_s
    )
    return counts.select("cc", pl.col("time_s").round(6), pl.col("retransmits_count").round(6)).rows()


def test_rates_of_the_flows_of_an_algorithm_add_up() -> None:
    flows = make_flows(("a", "bbr"), ("b", "cubic"), ("c", "bbr"))
    intervals = make_intervals(
        ("a", 0, 0.5, 10), ("a", 0.5, 1, 20), ("b", 0, 0.5, 1), ("b", 0.5, 1, 2), ("c", 0, 0.5, 100), ("c", 0.5, 1, 200)
    )
    assert rates_of(intervals, flows) == [
        ("bbr", 0.25, 110),
        ("bbr", 0.75, 220),
        ("cubic", 0.25, 1),
        ("cubic", 0.75, 2),
    ]


def test_interval_is_spread_over_the_bins_it_touches() -> None:
    # 0–0.75 s at 8 bit/s, 0.75–1 s at 24 bit/s: the second bin has 0.25·8 + 0.25·24 = 8 bit in 0.5 s.
    assert rates_of(make_intervals(("a", 0, 0.75, 8), ("a", 0.75, 1, 24)), make_flows(("a", "bbr"))) == [
        ("bbr", 0.25, 8),
        ("bbr", 0.75, 16),
    ]


def test_sliver_after_the_end_is_left_out() -> None:
    # The last bin is covered for 0.02 s only; the one before that ends the line keeps its rate.
    intervals = make_intervals(("a", 0, 0.5, 8), ("a", 0.5, 1.02, 8))
    assert rates_of(intervals, make_flows(("a", "bbr"))) == [("bbr", 0.25, 8), ("bbr", 0.75, 8)]


def test_client_that_joined_late_is_moved_by_the_offset_of_its_first_flow() -> None:
    # Streams c and d are of one client: ss saw d a sample later, but both start with the client at 4 s.
    flows = pl.concat(
        [
            make_flows(("a", "cubic")),
            make_flows(("c", "bbr"), client_number=2, start_offset_s=4.0),
            make_flows(("d", "bbr"), client_number=2, start_offset_s=4.5),
        ]
    )
    intervals = make_intervals(("a", 0, 0.5, 5), ("c", 0, 0.5, 7), ("d", 0, 0.5, 70))
    assert rates_of(intervals, flows) == [("bbr", 4.25, 77), ("cubic", 0.25, 5)]


def test_omitted_intervals_are_left_out_and_time_goes_on_after_them() -> None:
    omitted = make_intervals(("a", 0, 1, 99), ("a", 1, 2, 99), is_omitted=True)
    intervals = pl.concat([omitted, make_intervals(("a", 0, 1, 6))])
    assert rates_of(intervals, make_flows(("a", "bbr")), bin_s=1) == [("bbr", 2.5, 6)]


def test_unknown_rate_is_not_zero_and_unknown_algorithm_is_named_so() -> None:
    intervals = make_intervals(("a", 0, 0.5, None), ("a", 0.5, 1, 6), ("stranger", 0, 0.5, 9))
    assert rates_of(intervals, make_flows(("a", None))) == [("unknown", 0.75, 6)]


def test_broken_times_are_no_intervals() -> None:
    intervals = make_intervals(("a", 0, 0.5, 6), ("a", 0.5, 1e308, 6), ("a", 0.5, 0.5, 6), ("a", -3, -2, 6))
    assert rates_of(intervals, make_flows(("a", "bbr"))) == [("bbr", 0.25, 6)]


def test_bits_are_kept_and_widths_measured() -> None:
    placed = place_intervals(
        make_intervals(("a", 0, 1.0, 4), ("a", 1.0, 2.0, 4), ("a", 2.0, 2.25, 4)), make_flows(("a", "x"))
    )
    assert measure_spacing_s(placed) == 1.0
    assert measure_duration_s(placed) == 2.25
    assert measure_spacing_s(placed.clear()) == measure_duration_s(placed.clear()) == 0.0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 1e10), min_size=1, max_size=12), min_size=1, max_size=5),
    st.sampled_from([0.5, 1, 2]),
)
def test_sum_over_bins_is_the_sum_over_flows(rates: list[list[float]], seconds: float) -> None:
    """Intervals of whole bins: nothing is lost, whatever the number of flows."""
    flows = make_flows(*((str(flow), "bbr") for flow in range(len(rates))))
    intervals = make_intervals(
        *(
            (str(flow), number * seconds, (number + 1) * seconds, rate)
            for flow, of_flow in enumerate(rates)
            for number, rate in enumerate(of_flow)
        )
    )
    bits = sum_rates(place_intervals(intervals, flows), 0.5)["rate_bps"].sum() * 0.5
    assert bits == pytest.approx(sum(sum(of_flow) for of_flow in rates) * seconds, rel=1e-9)


@pytest.mark.parametrize(
    ("spacing", "duration", "expected"),
    [
        (0.5, 8, 0.5),
        (0.1, 8, 0.5),
        (0.61, 10, 0.5),
        (1.0, 60, 1.0),
        (0.5, 300, 0.5),
        # 3600 / 5 = 720 bins are too many, 3600 / 10 = 360 are not.
        (0.5, 3600, 10.0),
        (10, 60, 10.0),
        (0.0, 1e300, 1000.0),
    ],
)
def test_bin_width(spacing: float, duration: float, expected: float) -> None:
    assert choose_bin_s(spacing, duration) == expected


def test_growth_of_counters_per_bin() -> None:
    # First samples count 1 and 2; then a grows by 4 and 0, b by 0 and 8. Stamps jitter by some ms.
    flows = make_flows(("a", "bbr"), ("b", "bbr"))
    samples = make_samples(
        ("a", 0.0, 1), ("a", 0.503, 5), ("a", 0.998, 5), ("b", 0.0, 2), ("b", 0.503, 2), ("b", 0.998, 10)
    )
    assert counts_of(samples, flows) == [("bbr", 0.25, 3), ("bbr", 0.75, 4), ("bbr", 1.25, 8)]


def test_growth_over_a_gap_is_spread_evenly() -> None:
    # Samples at 0, 0.5, 1 and 2.5 s: 9 retransmits in the last 1.5 s are 3 in each of its three bins.
    samples = make_samples(("a", 0, 0), ("a", 0.5, 0), ("a", 1.0, 6), ("a", 2.5, 15))
    assert counts_of(samples, make_flows(("a", "bbr"))) == [
        ("bbr", 0.25, 0),
        ("bbr", 0.75, 0),
        ("bbr", 1.25, 6),
        ("bbr", 1.75, 3),
        ("bbr", 2.25, 3),
        ("bbr", 2.75, 3),
    ]


@pytest.mark.parametrize(("late_s", "expected"), [(0.4, [(0.5, 4), (1.5, 3)]), (0.6, [(0.5, 1), (1.5, 3), (2.5, 3)])])
def test_counts_stand_in_the_bin_of_their_middle(late_s: float, expected: list[tuple[float, int]]) -> None:
    # Samples each second grow by 1, 3 and 3. Taken 0.4 s late, the second is of 0.4 to 1.4 s, whose middle is 0.9 s;
    # taken 0.6 s late it is of 0.6 to 1.6 s, whose middle is 1.1 s.
    growth = place_samples(make_samples(("a", 0, 1), ("a", 1, 4), ("a", 2, 7)), make_flows(("a", "bbr")))
    placed = place_intervals(make_intervals(("x", 0, 1, 1)), make_flows(("a", "bbr")))
    counts = sum_retransmits(growth.with_columns(late_s=late_s), placed, 1.0)
    assert counts.select("time_s", "retransmits_count").rows() == expected


def test_control_connections_earlier_connections_and_unknown_counters_do_not_count() -> None:
    # Flow a's 4-tuple was used before (connection 0, a failed attempt); its second sample does not say.
    attempt = make_samples(("a", -9.0, 50), ("a", -8.5, 90))
    samples = make_samples(("a", 0, 1), ("a", 0.5, None), ("a", 1.0, 4), ("control", 0.5, 7), connection=1)
    growth = place_samples(pl.concat([attempt, samples]), make_flows(("a", "bbr")))
    assert growth.select("from_s", "until_s", "retransmits_count").rows() == [(-1.0, 0.0, 1), (0.0, 1.0, 3)]
    assert measure_sampling_s(growth) == 1.0


def test_single_sample_contributes_its_count() -> None:
    # Nothing tells the sampling interval: 0.5 s, the harness's.
    assert counts_of(make_samples(("a", 0, 5)), make_flows(("a", "bbr"))) == [("bbr", 0.25, 5)]


def test_flow_without_samples_makes_its_algorithm_count_by_iperf3() -> None:
    # CUBIC: ss has flow a only, so both flows are counted by iperf3: 3 + 4 in the first second, 1 + 0 in the second.
    # BBR: ss has all of it.
    flows = make_flows(("a", "cubic"), ("b", "cubic"), ("c", "bbr"))
    intervals = make_intervals(*((flow, start, start + 1, 1) for flow in "abc" for start in (0.0, 1.0))).with_columns(
        retransmits_iperf3_count=pl.Series([3, 1, 4, 0, 100, 100])
    )
    samples = make_samples(("a", 0, 9), ("a", 1, 9), ("c", 0, 2), ("c", 1, 2))
    counts = sum_retransmits(place_samples(samples, flows), place_intervals(intervals, flows), 1.0)
    assert counts.select("cc", "time_s", "retransmits_count", "source").rows() == [
        ("bbr", 0.5, 2, "ss"),
        ("bbr", 1.5, 0, "ss"),
        ("cubic", 0.5, 7, "iperf3"),
        ("cubic", 1.5, 1, "iperf3"),
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.001, 3.0), st.integers(0, 50)),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([0.5, 1.0, 5.0]),
)
def test_bins_hold_all_that_the_counter_grew(steps: list[tuple[float, int]], bin_s: float) -> None:
    """However irregular the stamps are, also several in one bin."""
    at, count, samples = 0.0, 0, []
    for seconds, grown in steps:
        at, count = at + seconds, count + grown
        samples.append(("a", at, count))
    growth = place_samples(make_samples(*samples), make_flows(("a", "bbr")))
    counts = sum_retransmits(growth, place_intervals(make_intervals(("x", 0, 1, 1)), make_flows(("a", "bbr"))), bin_s)
    assert counts["retransmits_count"].sum() == pytest.approx(count)
    assert counts["retransmits_count"].min() >= -1e-9
    assert counts["time_s"].is_sorted()
    assert counts["time_s"].is_unique().all()


def test_envelope_of_the_other_iterations() -> None:
    rates = pl.DataFrame(
        {
            "run_id": ["1", "1", "2", "3"],
            "cc": ["bbr", "bbr", "bbr", "cubic"],
            "time_s": [0.25, 0.75, 0.25, 0.25],
            "rate_bps": [5.0, 6.0, 3.0, 1.0],
        }
    )
    # At 0.75 s one run of BBR is over: what is left is not the range of both.
    assert find_envelope(rates).rows() == [("bbr", 0.25, 3, 5), ("cubic", 0.25, 1, 1)]
