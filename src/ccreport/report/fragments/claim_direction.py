"""How claims fail: in direction, by no lead or by one where both are to be equal, or only in size.

`neutral` of a check is its value where neither side is ahead: 1 of a ratio, 0 of a difference, none of a share.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from ccreport.compare.claims import FAILS

OPPOSITE: Final = "in the other direction"
NO_LEAD: Final = "with neither side surely ahead here"
UNEQUAL: Final = "different where the claim says equal"
SIZE: Final = "only in size"
# A claim of several checks fails by the first of these.
FAILURES: Final = (OPPOSITE, NO_LEAD, UNEQUAL, SIZE)


def find_failure(rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> str:
    """Return by which of `FAILURES` a claim fails.

    `rows` are those of the claim's checks, `facts` what the evaluation declares of it.
    """
    failures = {
        _find_failure(row, check.get("neutral"))
        for row, check in zip(rows, facts["checks"], strict=True)
        if row["verdict"] == FAILS
    }
    return min(failures, key=FAILURES.index)


def part_failed(judged: pl.DataFrame, claims: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the claims that fail, in their order, by each of `FAILURES` that there is.

    `judged` is the table `claims`, `claims` what the evaluation declares of them.
    """
    failed = judged.filter(claim_verdict=FAILS).partition_by("claim", as_dict=True, maintain_order=True)
    failures = {name: find_failure(rows.to_dicts(), claims[name]) for (name,), rows in failed.items()}
    parts = {failure: [name for name, own in failures.items() if own == failure] for failure in FAILURES}
    return {failure: names for failure, names in parts.items() if names}


def _find_failure(row: Mapping[str, Any], neutral: float | None) -> str:
    at_least, at_most = row["at_least"], row["at_most"]
    if neutral is None or row["value"] is None:
        return SIZE
    if (at_least is not None and at_least >= neutral) or (at_most is not None and at_most <= neutral):
        low, high = (row["value"] if row[end] is None else row[end] for end in ("low", "high"))
        if _is_beyond(row, neutral, low, high):
            return OPPOSITE
        return NO_LEAD if low <= neutral <= high else SIZE
    # Bounds on both sides of it are those of two that are alike, a single one that of a side not ahead.
    return UNEQUAL if at_least is not None and at_most is not None else OPPOSITE


def is_opposite(row: Mapping[str, Any], neutral: float | None) -> bool:
    """Tell whether a check's bounds and its whole interval are on different sides of where neither side is ahead."""
    if neutral is None or row["low"] is None or row["high"] is None:
        return False
    return _is_beyond(row, neutral, row["low"], row["high"])


def _is_beyond(row: Mapping[str, Any], neutral: float, low: float, high: float) -> bool:
    at_least, at_most = row["at_least"], row["at_most"]
    is_above = at_least is not None and at_least >= neutral and high < neutral
    return is_above or (at_most is not None and at_most <= neutral and low > neutral)
