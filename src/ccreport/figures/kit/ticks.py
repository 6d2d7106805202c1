"""Round steps and ticks of an axis."""

import math
from typing import Final

# An axis has four to eight intervals of one of these steps.
STEPS: Final = (1.0, 2.0, 5.0, 10.0)
# An axis that ends so far above its highest mark does not cut it.
MARK_ROOM: Final = 1.03


def choose_ticks(maximum: float) -> list[float]:
    """Return ticks from 0 in round steps to the first at or above the maximum: 4 to 8 of them besides 0."""
    step = round_up_step(maximum / 8, smallest=0.0)
    intervals = max(4, math.ceil(maximum / step - 1e-9))
    return [number * step for number in range(intervals + 1)]


def round_up_step(size: float, smallest: float) -> float:
    """Return the next of 1, 2, 5 times a power of ten, at least `smallest` and whole if that is 1."""
    if size <= smallest:
        return smallest or 1.0
    power = 10.0 ** math.floor(math.log10(size))
    fitting = (step * power for step in STEPS if step * power >= size * (1 - 1e-9))
    return next(step for step in fitting if smallest == 0 or step == round(step))
