"""Runs whose smallest RTT is less than half of what was declared, as they took another path, such as loopback."""

from typing import Final

from ccreport.core.text import count_things

# ASSUME: half of a declared RTT is one that was declared for both directions and set in one.
LEAST_PART: Final = 1 / 2


def describe_shorter(count: int, total: int) -> str:
    """Return how many of so many runs measured less than half of the declared RTT, as the end of a sentence."""
    return f"{count:,} of {count_things(total, 'run')} measured less than half of that"
