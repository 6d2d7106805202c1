"""Histograms of times as netperf prints them at `-v 2` where it was configured with `--enable-histogram`.

Each row covers one power of ten and has ten buckets, or as many as the build was told; the first row ends at 10 µs.
The last line but one counts times from 100 s on, the last all of them.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

ROWS: Final = ("UNIT_USEC", "TEN_USEC", "HUNDRED_USEC", "UNIT_MSEC", "TEN_MSEC", "HUNDRED_MSEC", "UNIT_SEC", "TEN_SEC")
# HUNDRED_USEC  :    0: 34480:  111:   13:   12:    6:    9:    3:    4:    7
ROW: Final = re.compile(rf"({'|'.join(ROWS)})\s*:([\d\s:]+)")
OVERFLOW: Final = re.compile(r">100_SECS:\s*(\d{1,15})\s*")
TOTAL: Final = re.compile(r"HIST_TOTAL:\s*(\d{1,15})\s*")
PER_MILLE: Final = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
MOST_DIGITS: Final = 15
OVERFLOW_FROM_MS: Final = 1e5


@dataclass(frozen=True)
class Bucket:
    """Times from `from_ms` up to but without `to_ms` (None: without end), and how many there were."""

    number: int
    from_ms: float
    to_ms: float | None
    count: int


def parse_histogram(lines: list[str]) -> list[Bucket]:
    """Return the buckets that are not empty; raise ValueError where rows are missing or the counts miss the total."""
    counts: dict[str, list[int]] = {}
    beyond = total = None
    for line in lines:
        if match := ROW.fullmatch(line):
            counts[match[1]] = [_count(text) for text in match[2].split(":") if text.strip()]
        elif match := OVERFLOW.fullmatch(line):
            beyond = int(match[1])
        elif match := TOTAL.fullmatch(line):
            total = int(match[1])
        elif line.strip():
            raise ValueError(line)
    if tuple(counts) != ROWS or beyond is None or len(set(map(len, counts.values()))) != 1:
        raise ValueError("rows of the histogram are missing")
    buckets = _place(counts, beyond)
    if total is not None and sum(bucket.count for bucket in buckets) != total:
        raise ValueError(f"the counts of the histogram do not add up to {total}")
    return [bucket for bucket in buckets if bucket.count]


def _count(text: str) -> int:
    digits = text.strip()
    if len(digits) > MOST_DIGITS or not digits.isdecimal():
        raise ValueError(text)
    return int(digits)


def _place(counts: dict[str, list[int]], beyond: int) -> list[Bucket]:
    buckets: list[Bucket] = []
    for power, row in enumerate(counts.values()):
        # The row's buckets begin at 0: its first tenth is what the rows above it resolve.
        width_us = 10.0 ** (power + 1) / len(row)
        for number, count in enumerate(row):
            from_ms, to_ms = number * width_us / 1000, (number + 1) * width_us / 1000
            buckets.append(Bucket(len(buckets), from_ms, to_ms, count))
    return [*buckets, Bucket(len(buckets), OVERFLOW_FROM_MS, None, beyond)]


def summarise_histogram(buckets: list[Bucket]) -> dict[str, Any]:
    """Return percentiles as upper edges of buckets (nearest rank), so that none is understated; null beyond 100 s."""
    ordered = sorted(buckets, key=lambda bucket: bucket.from_ms)
    total = sum(bucket.count for bucket in ordered)
    if not total:
        return {}
    row: dict[str, Any] = {"latency_values_count": total, "latency_source": "histogram"}
    for name, share in PER_MILLE.items():
        seen = 0
        for bucket in ordered:
            seen += bucket.count
            if 1000 * seen >= share * total:
                row[f"latency_{name}_ms"] = bucket.to_ms
                break
    return row
