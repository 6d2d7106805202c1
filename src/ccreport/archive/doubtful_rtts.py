"""Declared RTTs that the smallest measured ones contradict, as of another path, or in another unit."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from ccreport.core.text import count_things

# ASSUME: a declared RTT may be as far from the smallest measured one as this. Where it is a whole number, it may have
# been rounded to that; where it is shorter, the test may have kept a queue full from its first packet on.
LEAST_PART: Final = 0.9
ROUNDED_MS: Final = 0.5
LARGEST_PART: Final = 100
# Of declared RTTs in a sentence.
SHOWN: Final = 3


def describe_doubtful(rtts_ms: Iterable[tuple[float | None, float | None]]) -> str:
    """Return sentences on declared RTTs that measured ones contradict; an empty text for none.

    `rtts_ms` has the declared and the smallest measured RTT of each run, in ms.
    """
    by_declared: dict[float, list[float]] = defaultdict(list)
    for declared_ms, measured_ms in rtts_ms:
        if declared_ms and measured_ms:
            by_declared[declared_ms].append(measured_ms)
    parts = []
    for declared_ms, measured in sorted(by_declared.items()):
        doubtful = [measured_ms for measured_ms in measured if _is_contradicted(declared_ms, measured_ms)]
        if doubtful:
            of_runs = f"{len(doubtful):,} of {count_things(len(measured), 'run')}"
            parts.append(f"declared {declared_ms:g} ms, smallest measured {min(doubtful):.3g} ms ({of_runs})")
    if not parts:
        return ""
    more = f"; and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    asked = "Is the number or its unit wrong, or was the delay not set on the path that the runs took?"
    return f"RTTs contradict each other: {'; '.join(parts[:SHOWN])}{more}. {asked}"


def _is_contradicted(declared_ms: float, measured_ms: float) -> bool:
    rounded_ms = ROUNDED_MS if declared_ms == round(declared_ms) else 0.0
    return (
        measured_ms < min(LEAST_PART * declared_ms, declared_ms - rounded_ms)
        or measured_ms > LARGEST_PART * declared_ms
    )
