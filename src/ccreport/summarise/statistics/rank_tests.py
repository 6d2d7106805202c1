"""Rank tests of two samples, by scipy, and the correction of many p values."""

import importlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

# Up to so many pairs scipy's `wilcoxon` takes ties into account by all permutations too, but one after the other.
PERMUTED_AT_MOST: Final = 13


def load_stats() -> Any:
    """Return `scipy.stats`, which takes most of a second to import: few of the tables need it."""
    return importlib.import_module("scipy.stats")


def compare_samples(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p value of Mann and Whitney's test; None for samples of less than two."""
    if min(len(first), len(second)) < 2:
        return None
    if len({*first, *second}) == 1:
        return 1.0
    return float(load_stats().mannwhitneyu(first, second).pvalue)


def compare_pairs(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p value of Wilcoxon's test of pairs, those without a difference left out.

    None for less than two pairs, 1 where no pair has a difference.
    """
    if len(first) < 2:
        return None
    differences = np.subtract(first, second)
    differences = differences[differences != 0]
    if not differences.size:
        return 1.0
    stats = load_stats()
    sizes = np.abs(differences)
    if differences.size <= PERMUTED_AT_MOST and np.unique(sizes).size < sizes.size:
        signed = np.sign(differences) * stats.rankdata(sizes)
        return float(stats.permutation_test((signed,), np.sum, permutation_type="samples", vectorized=True).pvalue)
    return float(stats.wilcoxon(differences).pvalue)


def correct_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p values of one family of tests in their order; None stays None and is not a test."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for done, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - done) * p))
        adjusted[place] = highest
    return adjusted
