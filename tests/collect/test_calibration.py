"""The bounds of a calibration, worked out by hand and against scipy, and which paths are calibrated."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from test_topology import FIFO, ROUTE, RUN

from ccreport.collect.plan import Loss, Sender
from ccreport.collect.testbed.calibrated_paths import describe_path, distinct_paths, narrowest, slow_pace_pps
from ccreport.collect.testbed.calibration_bounds import (
    binomial_interval,
    burst_interval,
    judge,
    loss_bounds_pct,
    mean_loss,
    needed_packets,
    rate_bounds_bps,
    rtt_bounds_ms,
)

BURSTS = Loss("gilbert-elliott", 1.0, 1.0, 9.0)


@pytest.mark.parametrize(
    ("trials", "chance"), [(10, 0.5), (1000, 0.02), (2000, 0.01), (20_000, 0.001), (200_000, 1e-5), (200_000, 0.3)]
)
def test_the_binomial_interval_is_that_of_scipy(trials: int, chance: float) -> None:
    assert binomial_interval(trials, chance) == tuple(map(int, binom.interval(0.999, trials, chance)))


def test_binomial_intervals_by_hand() -> None:
    # Two throws of a coin: 0, 1, 2 heads have 1/4, 1/2, 1/4. At 60 % the tails are 20 % each: P(X ≤ 0) = 25 %.
    assert binomial_interval(2, 0.5, 0.6) == (0, 2)
    # At 40 % the tails are 30 %: P(X ≤ 0) is less, P(X ≤ 1) = 75 % is enough for both.
    assert binomial_interval(2, 0.5, 0.4) == (1, 1)
    assert (binomial_interval(9, 0.0), binomial_interval(9, 1.0)) == ((0, 0), (9, 9))


def test_bursts_spread_more_than_single_losses() -> None:
    # p = 0.01, r = 0.09, λ = 0.9: the mean is 0.1. Of 2 packets the variance is
    # 2 · 0.1 · 0.9 + 2 · 0.1 · 0.9 · 0.9 = 0.342, so the interval is 0.2 ∓ 3.2905 · 0.5848, cut at 0 and 2.
    assert mean_loss(BURSTS) == pytest.approx(0.1)
    assert burst_interval(2, BURSTS) == (0.0, 2.0)
    # Of many, (1 + λ) / (1 - λ) = 19 times that of independent losses, less a constant:
    # 2 · 0.09 · 0.9 · (10,000 · 0.1 - 1) / 0.01 + 900 = 17,083.8, whose root is 130.705.
    low, high = burst_interval(10_000, BURSTS)
    assert (low, high) == pytest.approx((1000 - 3.29053 * 130.705, 1000 + 3.29053 * 130.705), rel=1e-5)


def test_a_chain_without_memory_is_binomial() -> None:
    # p + r = 1: the next state does not depend on this one.
    low, high = burst_interval(1000, Loss("gilbert-elliott", 10.0, 10.0, 90.0))
    assert (high - low) / 2 == pytest.approx(3.2905267 * math.sqrt(1000 * 0.1 * 0.9))
    # So few bursts have exact quantiles.
    assert burst_interval(100, Loss("gilbert-elliott", 10.0, 10.0, 90.0)) == binomial_interval(100, 0.1)


@pytest.mark.parametrize(
    ("trials", "loss"),
    [
        # 0.4 bursts are expected, of five packets: often none, seldom several or long ones.
        (20_000, Loss("gilbert-elliott", 0.01, 0.002, 20.0)),
        (2000, Loss("gilbert-elliott", 0.1, 0.02, 20.0)),
        # Both states lose packets.
        (400, Loss("gilbert-elliott", 14.0, 1.0, 3.0, 50.0, 2.0)),
    ],
)
def test_few_bursts_have_the_quantiles_of_their_own_distribution(trials: int, loss: Loss) -> None:
    shares = np.cumsum(count_losses(trials, loss, most=min(trials, 1000)))
    assert shares[-1] == pytest.approx(1)
    assert burst_interval(trials, loss) == (np.searchsorted(shares, 0.0005), np.searchsorted(shares, 0.9995))


def count_losses(trials: int, loss: Loss, most: int) -> np.ndarray:
    """Return the chance of each count of lost packets, 0..most, going from packet to packet."""
    enter, leave = (loss.enter_bad_pct or 0.0) / 100, (loss.leave_bad_pct or 0.0) / 100
    good, bad = np.zeros(most + 1), np.zeros(most + 1)
    good[0], bad[0] = leave / (enter + leave), enter / (enter + leave)
    for _ in range(trials):
        for state, lost in ((good, loss.good_loss_pct / 100), (bad, loss.bad_loss_pct / 100)):
            state[1:] = (1 - lost) * state[1:] + lost * state[:-1]
            state[0] *= 1 - lost
        good, bad = (1 - enter) * good + leave * bad, enter * good + (1 - leave) * bad
    return good + bad


def test_partial_losses_of_both_states_add_up() -> None:
    # The bad state is 1/4 of the time: 0.25 · 50 % + 0.75 · 2 %
    assert mean_loss(Loss("gilbert-elliott", 14.0, 1.0, 3.0, 50.0, 2.0)) == pytest.approx(0.14)


def test_as_many_packets_as_lose_twenty_or_hold_a_hundred_bursts() -> None:
    assert needed_packets(Loss("random", 0.01)) == 200_000
    # 100 · (1 / 0.01 + 1 / 0.09)
    assert needed_packets(BURSTS) == 11_112
    assert loss_bounds_pct(None, 1000) == (0.0, 0.0)


def test_bounds_of_rtt_and_rate() -> None:
    assert rtt_bounds_ms(ROUTE, 40) == (39.5, 40.5)
    # The median of 225 echoes with a jitter of 3 ms deviates by 3 / 15 ms, of which 3.2905267 are 0.65810534.
    assert rtt_bounds_ms(replace(ROUTE, jitter_ms=3.0), 225) == pytest.approx((38.84189466, 41.15810534))
    # A fifth overtakes: the median is that of the rest, up to 3 · 0.2 / 0.8 ms lower.
    rough = replace(ROUTE, jitter_ms=3.0, reordering_pct=20.0)
    assert rtt_bounds_ms(rough, 225) == pytest.approx((38.09189466, 41.15810534))
    # Most take half of the way only.
    assert rtt_bounds_ms(replace(ROUTE, reordering_pct=60.0), 400) == (19.5, 20.5)
    # A lone echo waits for 0.5 ms there and back, one that comes while others wait for less.
    assert rtt_bounds_ms(ROUTE, 40, 500.0) == (39.5, 41.5)
    assert rtt_bounds_ms(replace(ROUTE, reordering_pct=60.0), 400, 500.0) == (19.5, 21.5)
    assert rate_bounds_bps(50_000_000) == pytest.approx((48.5e6, 51.5e6))


def test_a_value_on_its_bound_is_within() -> None:
    assert judge(39.5, 39.5, 40.5)
    assert judge(0.0, 0.0, 0.0)
    assert not judge(40.51, 39.5, 40.5)
    assert not judge(0.1, 0.0, 0.0)


def test_a_path_of_several_runs_is_calibrated_once() -> None:
    other = replace(ROUTE, host="other", address="10.201.2.2")
    runs = [
        RUN,
        replace(RUN, iteration=2, suffix="near:2"),
        replace(RUN, routes=(other, replace(other, rtt_ms=80.0))),
        replace(RUN, bottleneck=None, senders=(Sender(2, flow_maxrate_bps=5_000_000),)),
        replace(RUN, receive_coalescing_us=62.5),
    ]
    paths = distinct_paths(runs)
    assert [(host, describe_path(run)) for run, host in paths] == [
        (None, "RTT 40 ms, bottleneck 50 Mbit/s fifo"),
        ("other", "RTT 80 ms, bottleneck 50 Mbit/s fifo"),
        ("near", "RTT 40 ms, each flow 5 Mbit/s"),
        ("near", "RTT 40 ms, bottleneck 50 Mbit/s fifo, coalescing 62.5 µs"),
    ]
    shaper = narrowest(paths[2][0])
    assert shaper is not None
    assert (shaper.rate_bps, shaper.place, shaper.device) == (5_000_000, "sender1", "s0")


def test_the_pace_neither_fills_the_limit_nor_the_rate() -> None:
    # 50 Mbit/s are 97,656 frames of 64 bytes, and half of them; 200 packets leave within 20 ms, and half of them.
    assert slow_pace_pps(RUN, ROUTE) == pytest.approx(48_828, abs=1)
    assert slow_pace_pps(RUN, replace(ROUTE, limit_packets_count=200)) == pytest.approx(5000)
    # 20 ms more for those that are delivered together.
    together = replace(RUN, receive_coalescing_us=20_000.0)
    assert slow_pace_pps(together, replace(ROUTE, limit_packets_count=200)) == pytest.approx(2500)
    assert slow_pace_pps(replace(RUN, bottleneck=None), replace(ROUTE, rtt_ms=0.0)) == math.inf
    assert FIFO.rate_bps == 50_000_000
