"""Rank tests of two samples, and the correction of many p values.

Mann and Whitney's test of two independent samples, Wilcoxon's signed-rank test of pairs, both two-sided: exact where
samples are small (and without ties, for the first), else by the normal approximation with the correction for ties, and
the first also with that for continuity. These are the defaults of `scipy.stats.mannwhitneyu` and of
`scipy.stats.wilcoxon`, but for ties among more than 13 pairs, where p values stay exact here.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

# The smaller sample, and the pairs, up to which p values are exact.
EXACT_UNITS: Final = 8
EXACT_PAIRS: Final = 50


def compare_samples(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p value of Mann and Whitney's test; None for samples of less than two."""
    if min(len(first), len(second)) < 2:
        return None
    pooled = [*first, *second]
    ranks = rank_values(pooled)
    m, n = len(first), len(second)
    u = sum(ranks[:m]) - m * (m + 1) / 2
    larger = max(u, m * n - u)
    ties = list(Counter(pooled).values())
    if max(ties) == 1 and min(m, n) <= EXACT_UNITS:
        counts = count_u(m, n)
        return min(1.0, 2 * sum(counts[math.ceil(larger) :]) / sum(counts))
    size = m + n
    variance = m * n / 12 * (size + 1 - sum(t**3 - t for t in ties) / (size * (size - 1)))
    if variance <= 0:
        return 1.0
    return min(1.0, 2 * upper_tail((larger - m * n / 2 - 0.5) / math.sqrt(variance)))


def compare_pairs(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p value of Wilcoxon's test of pairs, those without a difference left out.

    None for less than two pairs, 1 where no pair has a difference.
    """
    if len(first) < 2:
        return None
    differences = [x - y for x, y in zip(first, second, strict=True) if x != y]
    if not differences:
        return 1.0
    sizes = [abs(difference) for difference in differences]
    ranks = rank_values(sizes)
    positive = sum(rank for rank, difference in zip(ranks, differences, strict=True) if difference > 0)
    larger = max(positive, sum(ranks) - positive)
    n = len(differences)
    if n <= EXACT_PAIRS:
        # Ranks of ties are halves: counted in halves, they are whole numbers, and the p value is exact with ties too.
        counts = count_sums([round(2 * rank) for rank in ranks])
        return min(1.0, 2 * sum(counts[round(2 * larger) :]) / sum(counts))
    variance = n * (n + 1) * (2 * n + 1) / 24 - sum(t**3 - t for t in Counter(sizes).values()) / 48
    return min(1.0, 2 * upper_tail((larger - n * (n + 1) / 4) / math.sqrt(variance)))


def rank_values(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1; equal ones have the mean of their ranks."""
    order = sorted(values)
    first: dict[float, int] = {}
    for place, value in enumerate(order, 1):
        first.setdefault(value, place)
    counts = Counter(values)
    return [first[value] + (counts[value] - 1) / 2 for value in values]


def count_u(m: int, n: int) -> list[int]:
    """Return how many of the orders of m and n values without ties have each U from 0 to m·n."""
    # counts[j][u] of the orders of i and j values: the largest belongs to one sample or to the other.
    counts = [[1] for _ in range(n + 1)]
    for i in range(1, m + 1):
        current = [[1]]
        for j in range(1, n + 1):
            row = [0] * (i * j + 1)
            for u, count in enumerate(counts[j]):
                row[u + j] += count
            for u, count in enumerate(current[j - 1]):
                row[u] += count
            current.append(row)
        counts = current
    return counts[n]


def count_sums(ranks: Sequence[int]) -> list[int]:
    """Return how many subsets of the ranks have each sum from 0 to that of all."""
    counts = [1]
    for rank in ranks:
        longer = counts + [0] * rank
        for total, count in enumerate(counts):
            longer[total + rank] += count
        counts = longer
    return counts


def upper_tail(z: float) -> float:
    """Return the probability that a standard normal value is above z."""
    return math.erfc(z / math.sqrt(2)) / 2


def correct_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p values of one family of tests in their order; None stays None and is no test."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for done, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - done) * p))
        adjusted[place] = highest
    return adjusted
