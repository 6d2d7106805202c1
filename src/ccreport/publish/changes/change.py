"""One difference between two releases, of two values, and how much it matters beside others of its table."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

ABSENT: Final = "–"
# Columns by their names: p-values; ends of intervals; CVs; counts, with the effect that so many runs can show.
P_VALUES: Final = re.compile("(^|_)p_(.+_)?ratio$")
ENDS: Final = re.compile("_(low|high)(_|$)")
CVS: Final = re.compile("_cv$")
COUNTS: Final = re.compile("_count$|^least_effect_")
# A column is what the first of these finds, with its rank below all others: means, ratios and verdicts are 0.
KINDS: Final = ((P_VALUES, 4), (ENDS, 2), (CVS, 1), (COUNTS, 3))
# Of the largest value of a column; below it, on both sides, a number is nearly zero.
NEARLY_ZERO: Final = 1e-3


@dataclass(frozen=True)
class Change:
    """One difference: where it is, the old and new value, and of numbers the relative change, infinite from 0.

    P-values have none: what they tell is how far they are from 0, not from each other.

    Changes of a table are sorted by `rank`, those that matter most first.
    """

    where: str
    old: str
    new: str
    relative: float | None = None
    rank: tuple[int, float] = field(default=(0, -math.inf), compare=False)


def compare_values(where: str, before: Any, after: Any, column: str = "", largest: float = 0.0) -> Change | None:
    """Return the difference of two values, as texts that are short where that tells them apart; None without one.

    Of a cell, `column` is the name of its column and `largest` the largest value there.
    """
    if before == after:
        return None
    relative = None
    if is_number(before) and is_number(after) and not P_VALUES.search(column):
        relative = (after - before) / abs(before) if before else math.inf
    shown = [f"{value:.6g}" if isinstance(value, float) else show_value(value) for value in (before, after)]
    was, is_now = shown if shown[0] != shown[1] else (show_value(before), show_value(after))
    rank = _rank(column, before, after, relative, largest)
    return None if was == is_now else Change(where, was, is_now, relative, rank)


def compare_facts(
    where: str, names: Iterable[str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Change]:
    """Yield the differences of these facts of one thing; a side that lacks a fact has none of it."""
    for name in names:
        if change := compare_values(f"{where}, {name}", before.get(name), after.get(name)):
            yield change


def is_number(value: object) -> bool:
    """Tell whether a value is a number that can be larger or smaller."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rank(column: str, before: Any, after: Any, relative: float | None, largest: float) -> tuple[int, float]:
    """Return the kind of a column, and below zero how large the change is: relative, of p-values absolute."""
    pattern, kind = next((found for found in KINDS if found[0].search(column)), (None, 0))
    if not is_number(before) or not is_number(after):
        return kind, -math.inf
    if pattern is P_VALUES or relative is None:
        return kind, -abs(after - before)
    return kind, 0.0 if max(abs(before), abs(after)) < NEARLY_ZERO * largest else -abs(relative)


def show_value(value: object) -> str:
    """Return a value as text, a dash where there is none."""
    return ABSENT if value is None else str(value)
