"""One difference between two releases, of two values."""

import math
from dataclasses import dataclass
from typing import Any, Final

ABSENT: Final = "–"


@dataclass(frozen=True)
class Change:
    """One difference: where it is, the old and new value, and of numbers the relative change, infinite from 0."""

    where: str
    old: str
    new: str
    relative: float | None = None


def compare_values(where: str, before: Any, after: Any) -> Change | None:
    """Return the difference of two values, as texts that are short where that tells them apart; None without one."""
    if before == after:
        return None
    numbers = [value for value in (before, after) if isinstance(value, int | float) and not isinstance(value, bool)]
    relative = None
    if len(numbers) == 2:
        relative = (after - before) / abs(before) if before else math.inf
    shown = [f"{value:.6g}" if isinstance(value, float) else show_value(value) for value in (before, after)]
    was, is_now = shown if shown[0] != shown[1] else (show_value(before), show_value(after))
    return None if was == is_now else Change(where, was, is_now, relative)


def show_value(value: object) -> str:
    """Return a value as text, a dash where there is none."""
    return ABSENT if value is None else str(value)
