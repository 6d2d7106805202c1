"""The correction of many p values."""

from collections.abc import Sequence


def correct_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p values of one family of tests in their order; None stays None and is not a test."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for done, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - done) * p))
        adjusted[place] = highest
    return adjusted
