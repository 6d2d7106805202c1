"""Verdicts on claims in the words that people read, from those of the table `claims`.

The table says that a claim holds, does not hold, or has not enough data. To people a claim that does not hold is
contradicted, where this archive shows something else than it says, or differs only in size. `neutral` of a check is its
value where neither side is ahead: 1 of a ratio, 0 of a difference, 0.5 of a share of two. A quotient of two means has 1
without being asked. Where it is not known, a value outside of bounds on both sides differs in size, and one beyond a
single bound contradicts the claim.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from ccreport.compare.intervals import RANGE
from ccreport.core.text import count_things

# As the table `claims` has them.
HOLDS: Final = "holds"
FAILS: Final = "does not hold"
UNKNOWN: Final = "not enough data"

CONTRADICTED: Final = "contradicted"
SIZE: Final = "differs only in size"
UNDECIDED: Final = "undecided"
# The verdicts as people read them, in the order in which they are listed: what one claim does, and what several do.
SHOWN: Final[Mapping[str, tuple[str, str]]] = {
    HOLDS: (HOLDS, "hold"),
    CONTRADICTED: (CONTRADICTED, CONTRADICTED),
    SIZE: (SIZE, "differ only in size"),
    UNDECIDED: (UNDECIDED, UNDECIDED),
}
# What a sentence says that one claim does, and what several do.
OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    HOLDS: (HOLDS, "hold"),
    CONTRADICTED: ("is contradicted", "are contradicted"),
    SIZE: ("differs only in size (same direction, other size)", "differ only in size (same direction, other size)"),
    UNDECIDED: ("is undecided", "are undecided"),
}
# As style sheets call them.
KINDS: Final = {HOLDS: "holds", CONTRADICTED: "fails", SIZE: "size", UNDECIDED: "unknown"}
OPPOSITE: Final = "in the other direction"
UNEQUAL: Final = "different where the claim says equal"
NO_DIFFERENCE: Final = "no clear difference where the claim has one"
OUTSIDE: Final = "outside what the claim accepts"
# What the table `claims` has of a check in its unit.
CHECKED: Final = ("paper_value", "at_least", "at_most", "value", "low", "high", "with_suspects_value")
# A claim of several checks fails by the first of these.
FAILURES: Final = (OPPOSITE, UNEQUAL, NO_DIFFERENCE, OUTSIDE, SIZE)
# SELECT mean_of(list(rate) FILTER (cc = 'cubic'))
RATE: Final = re.compile(r"\s*SELECT\s+(?:mean_of|difference_of)\s*\(\s*list\s*\(\s*rate\s*\)", re.IGNORECASE)
QUOTIENT: Final = re.compile(r"\s*SELECT\s+quotient_of\s*\(", re.IGNORECASE)


def show_units(judged: pl.DataFrame, claims: Mapping[str, Any]) -> pl.DataFrame:
    """Return the table `claims` with percentages in per cent and rates in Mbit/s or Gbit/s, named behind the check.

    Percentages are the checks that an evaluation declares so; the difference of two is in percentage points.
    """
    checks = [
        (claim, check["name"], *unit)
        for claim, facts in claims.items()
        for check in facts["checks"]
        if (unit := _find_unit(check))
    ]
    schema = {"claim": pl.String, "check": pl.String, "factor": pl.Float64, "unit": pl.String}
    units = pl.DataFrame(checks, schema=schema, orient="row").unique(("claim", "check"))
    is_shown = pl.col("unit").is_not_null()
    return (
        judged.join(units, on=["claim", "check"], how="left", maintain_order="left")
        .with_columns(
            pl.when(is_shown).then(pl.format("{} ({})", "check", "unit")).otherwise("check").alias("check"),
            *(pl.when(is_shown).then(pl.col("factor") * pl.col(name)).otherwise(name).alias(name) for name in CHECKED),
        )
        .drop("unit", "factor")
    )


def _find_unit(check: Mapping[str, Any]) -> tuple[float, str] | None:
    """Return what the numbers of a check are multiplied with to be shown, and their unit; None where they stay."""
    if check.get("is_as_stored"):
        return None
    if check.get("is_percentage"):
        return 100.0, "percentage points" if check.get("neutral") == 0 else "%"
    # A range of rows is how many times the least the greatest is.
    if not RATE.match(check.get("sql", "")) or check.get("extreme") == RANGE:
        return None
    bounds = [abs(check[bound]) for bound in ("at_least", "at_most") if check.get(bound) is not None]
    return (1e-9, "Gbit/s") if max(bounds, default=0) >= 1e9 else (1e-6, "Mbit/s")


def name_verdict(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> str:
    """Return the verdict on a claim, one of `SHOWN`.

    `rows` are those of the claim's checks, `facts` what the evaluation declares of it.
    """
    verdict: str = rows[0]["claim_verdict"]
    if verdict == FAILS:
        return _name_failure(find_failure(rows, facts)[0])
    return UNDECIDED if verdict == UNKNOWN else verdict


def name_check(row: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    """Return the verdict on a single check, one of `SHOWN`; `check` is what the evaluation declares of it."""
    return name_verdict([{**row, "claim_verdict": row["verdict"]}], {"checks": [check]})


def name_checks(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> list[str]:
    """Return the verdict on each check of a claim."""
    return [name_check(row, check) for row, check in zip(rows, facts["checks"], strict=True)]


def find_failure(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return by which of `FAILURES` a claim fails, and the row of the first check that fails so."""
    failures = [
        (_find_failure(row, _find_neutral(check)), row)
        for row, check in zip(rows, facts["checks"], strict=True)
        if row["verdict"] == FAILS
    ]
    return min(failures, key=lambda failure: FAILURES.index(failure[0]))


def part_claims(judged: pl.DataFrame, claims: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the names of the claims that have each verdict, of the verdicts that some have; the worst failures first.

    `judged` is the table `claims`, `claims` what the evaluation declares of them.
    """
    parts: dict[str, list[str]] = {verdict: [] for verdict in SHOWN}
    ranks = {}
    for (claim,), own in judged.partition_by("claim", as_dict=True, maintain_order=True).items():
        rows = own.to_dicts()
        parts[name_verdict(rows, claims[claim])].append(claim)
        if rows[0]["claim_verdict"] == FAILS:
            ranks[claim] = FAILURES.index(find_failure(rows, claims[claim])[0])
    return {verdict: sorted(own, key=lambda name: ranks.get(name, 0)) for verdict, own in parts.items() if own}


def count_verdicts(counts: Mapping[str, int]) -> str:
    """Return how many claims or checks have each verdict: "6 hold, 1 differs only in size, 8 undecided"."""
    return ", ".join(
        f"{counts[verdict]:,} {words[counts[verdict] > 1]}" for verdict, words in SHOWN.items() if counts.get(verdict)
    )


def tell_untested(judged: pl.DataFrame) -> str:
    """Return how many of the undecided claims the archive has no runs for, behind their number; empty for none.

    None of their undecided checks has a value.
    """
    unknown = judged.filter(pl.col("claim_verdict") == UNKNOWN, pl.col("verdict") == UNKNOWN)
    lacks = unknown.group_by("claim").agg(pl.col("value").is_null().all())["value"]
    count = int(lacks.sum())
    which = f"{count:,} " if count < lacks.len() else ""
    return f" ({which}not tested)" if count else ""


def tell_outcome(judged: pl.DataFrame, claims: Mapping[str, Any]) -> str:
    """Return how many claims have each verdict as a clause, "3 claims 2 hold, 1 is contradicted"; empty without claims.

    `judged` is the table `claims`, `claims` what the evaluation declares of them.
    """
    counts = {verdict: len(own) for verdict, own in part_claims(judged, claims).items()} if judged.height else {}
    told = [f"{count:,} {OUTCOMES[verdict][count > 1]}" for verdict, count in counts.items()]
    # The undecided come last.
    return f"{count_things(sum(counts.values()), 'claim')} {', '.join(told)}{tell_untested(judged)}" if told else ""


def decide(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row of the check that decides: a claim holds by all of its checks, else fails or is open by one."""
    verdict = rows[0]["claim_verdict"]
    return find_failure(rows, facts)[1] if verdict == FAILS else next(row for row in rows if row["verdict"] == verdict)


def _name_failure(failure: str) -> str:
    return failure if failure == SIZE else CONTRADICTED


def _find_neutral(check: Mapping[str, Any]) -> float | None:
    """Return a check's neutral value in the unit in which its row is shown, `show_units`."""
    neutral: float | None = check.get("neutral", 1 if QUOTIENT.match(check.get("sql", "")) else None)
    unit = _find_unit(check)
    return unit[0] * neutral if neutral is not None and unit else neutral


def _find_failure(row: Mapping[str, Any], neutral: float | None) -> str:
    at_least, at_most = row["at_least"], row["at_most"]
    if neutral is None or row["value"] is None:
        return OUTSIDE if at_least is None or at_most is None else SIZE
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
