"""The bounds within which a calibrated quantity must be, from chance alone where chance is declared.

Losses of a `random` netem are independent: Binomial(n, p), its quantiles computed exactly. Those of a Gilbert–Elliott
netem come in bursts, by a two-state Markov chain: the quantiles of their count are computed exactly where few bursts
are expected, else they are those of a normal distribution with the count's variance.
"""

import cmath
import math
from bisect import bisect_left
from typing import Final

from ccreport.collect.plan import Loss, Route

CONFIDENCE: Final = 0.999
# The quantile of the normal distribution at 99.95 %: 99.9 % are within as many deviations of the mean.
DEVIATIONS: Final = 3.2905267314919255
RTT_TOLERANCE_MS: Final = 0.5
RATE_TOLERANCE: Final = 0.03
LEAST_LOSSES: Final = 20
# So many bursts that their sum is near enough to normal.
LEAST_BURSTS: Final = 100
# With fewer, one long burst more or less shifts the sum: it is skewed.
FEW_BURSTS: Final = 50

# Of two rows, which follow each other.
Matrix = tuple[complex, complex, complex, complex]


def binomial_interval(trials: int, chance: float, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Return the two-sided interval of Binomial(trials, chance): the least k with P(X ≤ k) ≥ (1 ∓ confidence) / 2."""
    if trials == 0 or chance <= 0:
        return 0, 0
    if chance >= 1:
        return trials, trials
    mean, deviation = trials * chance, math.sqrt(trials * chance * (1 - chance))
    # What is farther out than this adds less than 1e-20 to any of the sums.
    start = max(0, math.floor(mean - 10 * deviation - 10))
    low = None
    below = 0.0
    for k in range(start, trials + 1):
        below += math.exp(_log_binomial(trials, k, chance))
        if low is None and below >= (1 - confidence) / 2:
            low = k
        if below >= (1 + confidence) / 2:
            return (k if low is None else low), k
    return (trials if low is None else low), trials


def burst_interval(trials: int, loss: Loss) -> tuple[float, float]:
    """Return the two-sided 99.9 % interval of the count lost of this many packets by a Gilbert–Elliott chain.

    With p = P(good → bad), r = P(bad → good), λ = 1 - p - r and losses b and g in the two states, the covariance of
    two packets k apart is p r (b - g)² λ^k / (p + r)², so the variance of the count of n packets is
    n m (1 - m) + 2 p r (b - g)² / (p + r)² · λ (n (1 - λ) - (1 - λ^n)) / (1 - λ)², where m is the mean loss. Where 50
    bursts or more are expected the interval is the mean ∓ 3.29 deviations, within 0..n.
    """
    enter, leave = _list_chances(loss)
    if enter + leave == 0:
        return 0.0, 0.0
    bad, good = loss.bad_loss_pct / 100, loss.good_loss_pct / 100
    mean = mean_loss(loss)
    memory = 1 - enter - leave
    together = memory * (trials * (1 - memory) - (1 - memory**trials)) / (1 - memory) ** 2
    spread = enter * leave * (bad - good) ** 2 / (enter + leave) ** 2
    deviation = math.sqrt(max(trials * mean * (1 - mean) + 2 * spread * together, 0.0))
    if leave and trials * enter * leave / (enter + leave) < FEW_BURSTS:
        # The length of a burst is geometric: e^-50 of them are longer than 50 / r.
        return _chain_interval(trials, loss, min(trials, math.ceil(trials * mean + 10 * deviation + 50 / leave)))
    reach = DEVIATIONS * deviation
    return max(0.0, trials * mean - reach), min(float(trials), trials * mean + reach)


def _chain_interval(trials: int, loss: Loss, most: int) -> tuple[float, float]:
    """Return the quantiles of the count lost, which is hardly ever above `most`, from its generating function.

    The function at z is start · D (T D)^(n-1) · 1, where T has the chances of going from state to state, D is diagonal
    with 1 - loss + loss z of each state, and `start` has the shares of time in the two states. Its values at the roots
    of unity are the discrete Fourier transform of the count's distribution.
    """
    enter, leave = _list_chances(loss)
    roots = [cmath.exp(-2j * math.pi * k / (most + 1)) for k in range(most + 1)]
    values = []
    for root in roots:
        in_good = 1 + loss.good_loss_pct / 100 * (root - 1)
        in_bad = 1 + loss.bad_loss_pct / 100 * (root - 1)
        step = ((1 - enter) * in_good, enter * in_bad, leave * in_good, (1 - leave) * in_bad)
        from_good, to_bad, to_good, from_bad = _raise_matrix(step, trials - 1)
        start_good, start_bad = leave / (enter + leave) * in_good, enter / (enter + leave) * in_bad
        values.append(start_good * (from_good + to_bad) + start_bad * (to_good + from_bad))

    def share_up_to(count: int) -> float:
        # The inverse transform, summed over 0..count: geometric series of the conjugate roots.
        series = [(1 - root ** -(count + 1)) / (1 - 1 / root) for root in roots[1:]]
        total = (count + 1) * values[0] + sum(map(complex.__mul__, values[1:], series))
        return total.real / (most + 1)

    counts = range(most)
    low, high = (bisect_left(counts, (1 + side * CONFIDENCE) / 2, key=share_up_to) for side in (-1, 1))
    return float(low), float(high)


def _raise_matrix(matrix: Matrix, power: int) -> Matrix:
    """Return a power of a matrix of two rows."""
    raised: Matrix = (1, 0, 0, 1)
    for bit in f"{power:b}":
        raised = _multiply(raised, raised)
        if bit == "1":
            raised = _multiply(raised, matrix)
    return raised


def _multiply(left: Matrix, right: Matrix) -> Matrix:
    a, b, c, d = left
    e, f, g, h = right
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


def _list_chances(loss: Loss) -> tuple[float, float]:
    """Return the chances that a packet ends the good state, and that one ends the bad state."""
    return (loss.enter_bad_pct or 0.0) / 100, (loss.leave_bad_pct or 0.0) / 100


def mean_loss(loss: Loss) -> float:
    """Return the mean share of packets lost, 0..1; of a Gilbert–Elliott chain (p b + r g) / (p + r)."""
    if loss.model == "random":
        return loss.loss_pct / 100
    enter, leave = loss.enter_bad_pct or 0.0, loss.leave_bad_pct or 0.0
    if enter + leave == 0:
        return loss.good_loss_pct / 100
    return (enter * loss.bad_loss_pct + leave * loss.good_loss_pct) / (enter + leave) / 100


def needed_packets(loss: Loss) -> int:
    """Return how many packets are expected to lose 20; of bursts as many as hold 100 of those."""
    count = math.ceil(LEAST_LOSSES / mean_loss(loss)) if mean_loss(loss) else 0
    if loss.model == "gilbert-elliott" and loss.enter_bad_pct and loss.leave_bad_pct:
        # One burst takes 1/p packets until it starts and 1/r until it ends.
        count = max(count, math.ceil(LEAST_BURSTS * (100 / loss.enter_bad_pct + 100 / loss.leave_bad_pct)))
    return count


def loss_bounds_pct(loss: Loss | None, packets_count: int) -> tuple[float, float]:
    """Return the bounds of the loss measured with this many packets, in percent."""
    if loss is None or packets_count == 0:
        return 0.0, 0.0
    if loss.model == "random":
        low, high = map(float, binomial_interval(packets_count, loss.loss_pct / 100))
    else:
        low, high = burst_interval(packets_count, loss)
    return 100 * low / packets_count, 100 * high / packets_count


def rtt_bounds_ms(route: Route, echoes_count: int, coalescing_us: float = 0.0) -> tuple[float, float]:
    """Return the bounds of the measured RTT: 0.5 ms around the nominal one.

    Where packets are delivered together, a lone one waits for the whole coalescing time on either way, and one that
    comes meanwhile for what is left of it: the upper bound has twice that time more.

    With jitter or reordering the median is measured. netem draws the jitter j from a uniform distribution, whose median
    of n echoes deviates by j / √n, of which 3.29 are added to the bound. The share q that overtakes the others, by
    half of the RTT, moves the median within that distribution by j q / (1 - q), and beyond one half makes it theirs.
    """
    early, waited_ms = route.reordering_pct / 100, 2 * coalescing_us / 1000
    if early > 0.5:
        return route.rtt_ms / 2 - RTT_TOLERANCE_MS, route.rtt_ms / 2 + RTT_TOLERANCE_MS + waited_ms
    reach = RTT_TOLERANCE_MS + DEVIATIONS * route.jitter_ms / math.sqrt(max(echoes_count, 1))
    moved = route.jitter_ms * early / (1 - early)
    return route.rtt_ms - moved - reach, route.rtt_ms + reach + waited_ms


def rate_bounds_bps(rate_bps: int) -> tuple[float, float]:
    """Return the bounds of a measured rate: 3 % around the nominal one."""
    return rate_bps * (1 - RATE_TOLERANCE), rate_bps * (1 + RATE_TOLERANCE)


def judge(measured: float, low: float, high: float) -> bool:
    """Return whether a measured value is within its bounds, the bounds included."""
    # The shares of counts are rounded; a count on the bound is within.
    slack = 1e-9 * max(abs(low), abs(high))
    return low - slack <= measured <= high + slack


def _log_binomial(trials: int, k: int, chance: float) -> float:
    ways = math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
    return ways + k * math.log(chance) + (trials - k) * math.log1p(-chance)
