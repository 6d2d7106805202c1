"""Whether claims that fail do so in direction, which of two is ahead, or only in size, by how much.

`neutral` of a check is its value where neither side is ahead: 1 of a ratio, 0 of a difference, none of a share.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from ccreport.compare.claims import FAILS


def fails_in_direction(rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> bool:
    """Tell whether a failed check of a claim has its value on another side than the claim says, or on one for none.

    `rows` are those of the claim's checks, `facts` what the evaluation declares of it.
    """
    return any(
        row["verdict"] == FAILS and _is_elsewhere(row, check.get("neutral"))
        for row, check in zip(rows, facts["checks"], strict=True)
    )


def part_failed(judged: pl.DataFrame, claims: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the claims that fail in direction, and those that fail in size alone, each in their order.

    `judged` is the table `claims`, `claims` what the evaluation declares of them.
    """
    failed = judged.filter(claim_verdict=FAILS).partition_by("claim", as_dict=True, maintain_order=True)
    opposite = [name for (name,), rows in failed.items() if fails_in_direction(rows.to_dicts(), claims[name])]
    return opposite, [name for (name,) in failed if name not in opposite]


def _is_elsewhere(row: Mapping[str, Any], neutral: float | None) -> bool:
    at_least, at_most, value = row["at_least"], row["at_most"], row["value"]
    if neutral is None or value is None:
        return False
    if at_least is not None and at_least >= neutral:
        return bool(value <= neutral)
    # Bounds on both sides of it are those of two that are alike.
    return at_most is None or at_most > neutral or bool(value >= neutral)


def is_opposite(row: Mapping[str, Any], neutral: float | None) -> bool:
    """Tell whether a check's bounds and its whole interval are on different sides of where neither side is ahead."""
    if neutral is None or row["low"] is None or row["high"] is None:
        return False
    at_least, at_most = row["at_least"], row["at_most"]
    is_above = at_least is not None and at_least >= neutral and row["high"] < neutral
    return is_above or (at_most is not None and at_most <= neutral and row["low"] > neutral)
