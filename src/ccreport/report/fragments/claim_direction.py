"""How claims fail: in direction, by a difference for equality or equality for a difference, or only in size.

`neutral` of a check is its value where neither side is ahead: 1 of a ratio, 0 of a difference, 0.5 of a share of two. A
quotient of two means has 1 without being asked; where it is not known, nothing says that only the size differs.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from ccreport.compare.claims import FAILS, HOLDS, UNKNOWN

OPPOSITE: Final = "in the other direction"
UNEQUAL: Final = "different where the claim says equal"
NO_DIFFERENCE: Final = "no clear difference where the claim has one"
OUTSIDE: Final = "outside what the claim accepts"
SIZE: Final = "only in size"
CONTRADICTED: Final = "contradicted"
# What one claim that fails in a way does, and what several do.
WAYS: Final = {CONTRADICTED: (CONTRADICTED, CONTRADICTED), SIZE: ("differs only in size", "differ only in size")}
KINDS: Final = {HOLDS: "holds", FAILS: "fails", UNKNOWN: "unknown"}
KIND_OF_SIZE: Final = "size"
# A claim of several checks fails by the first of these.
FAILURES: Final = (OPPOSITE, UNEQUAL, NO_DIFFERENCE, OUTSIDE, SIZE)
QUOTIENT: Final = re.compile(r"\s*SELECT\s+quotient_of\s*\(", re.IGNORECASE)


def find_failure(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return by which of `FAILURES` a claim fails, and the row of the first check that fails so.

    `rows` are those of the claim's checks, `facts` what the evaluation declares of it.
    """
    failures = [
        (_find_failure(row, _find_neutral(check)), row)
        for row, check in zip(rows, facts["checks"], strict=True)
        if row["verdict"] == FAILS
    ]
    return min(failures, key=lambda failure: FAILURES.index(failure[0]))


def name_way(failure: str) -> str:
    """Return whether a failure contradicts a claim, or only the size that it says."""
    return failure if failure == SIZE else CONTRADICTED


def name_kind(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], verdict: str) -> str:
    """Return the kind of a verdict as style sheets have it: a value of `KINDS`, or `KIND_OF_SIZE`."""
    if verdict == FAILS and name_way(find_failure(rows, facts)[0]) == SIZE:
        return KIND_OF_SIZE
    return KINDS[verdict]


def describe_failures(judged: pl.DataFrame, claims: Mapping[str, Any]) -> str:
    """Return in brackets how many claims fail by which of the ways of `part_failed`; nothing where none fails."""
    counts = {way: len(own) for way, own in part_failed(judged, claims).items()}
    said = [f"{count:,} {WAYS[way][count > 1]}" for way, count in counts.items()]
    return f" ({', '.join(said)})" if said else ""


def decide(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row of the check that decides: a claim holds by all of its checks, else fails or is open by one."""
    verdict = rows[0]["claim_verdict"]
    return find_failure(rows, facts)[1] if verdict == FAILS else next(row for row in rows if row["verdict"] == verdict)


def _find_neutral(check: Mapping[str, Any]) -> float | None:
    """Return a check's neutral value in the unit in which its row is shown, `show_percentages`."""
    neutral: float | None = check.get("neutral", 1 if QUOTIENT.match(check.get("sql", "")) else None)
    return 100 * neutral if neutral is not None and check.get("is_percentage") else neutral


def part_failed(judged: pl.DataFrame, claims: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the claims that fail by the ways of `name_way`, if any do, the worst failures first.

    `judged` is the table `claims`, `claims` what the evaluation declares of them.
    """
    failed = judged.filter(claim_verdict=FAILS).partition_by("claim", as_dict=True, maintain_order=True)
    failures = {name: find_failure(rows.to_dicts(), claims[name])[0] for (name,), rows in failed.items()}
    parts: dict[str, list[str]] = {}
    for name in sorted(failures, key=lambda name: FAILURES.index(failures[name])):
        parts.setdefault(name_way(failures[name]), []).append(name)
    return parts


def _find_failure(row: Mapping[str, Any], neutral: float | None) -> str:
    at_least, at_most = row["at_least"], row["at_most"]
    if neutral is None:
        return OUTSIDE
    if (at_least is not None and at_least >= neutral) or (at_most is not None and at_most <= neutral):
        low, high = (row["value"] if row[end] is None else row[end] for end in ("low", "high"))
        if _is_beyond(row, neutral, low, high):
            return OPPOSITE
        return NO_DIFFERENCE if low <= neutral <= high else SIZE
    # Bounds on both sides of it are those of two that are alike, a single one that of a side not ahead.
    return UNEQUAL if at_least is not None and at_most is not None else OPPOSITE


def is_opposite(row: Mapping[str, Any], check: Mapping[str, Any]) -> bool:
    """Tell whether a check's bounds and its whole interval are on different sides of where neither side is ahead."""
    neutral = _find_neutral(check)
    if neutral is None or row["low"] is None or row["high"] is None:
        return False
    return _is_beyond(row, neutral, row["low"], row["high"])


def _is_beyond(row: Mapping[str, Any], neutral: float, low: float, high: float) -> bool:
    at_least, at_most = row["at_least"], row["at_most"]
    is_above = at_least is not None and at_least >= neutral and high < neutral
    return is_above or (at_most is not None and at_most <= neutral and low > neutral)
