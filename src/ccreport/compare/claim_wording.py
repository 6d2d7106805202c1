"""What pages and `explain` say of a claim's check: its bounds, its interval, and what it lacks for a verdict."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from ccreport.compare.claims import FAILS, HOLDS, UNKNOWN
from ccreport.summarise.grids.plain_numbers import show_plain

# What the table `claims` has of a check in its unit.
CHECKED: Final = ("paper_value", "at_least", "at_most", "value", "low", "high", "with_suspects_value")


def show_percentages(judged: pl.DataFrame, claims: Mapping[str, Any]) -> pl.DataFrame:
    """Return the table `claims` with the checks that an evaluation declares as percentages in per cent."""
    checks = [(claim, check["name"]) for claim, facts in claims.items() for check in facts["checks"]]
    shown = [check["is_percentage"] for facts in claims.values() for check in facts["checks"]]
    found = pl.DataFrame(checks, schema=["claim", "check"], orient="row").filter(pl.Series(shown, dtype=pl.Boolean))
    is_shown = pl.struct("claim", "check").is_in(found.to_struct().implode())
    return judged.with_columns(
        pl.when(is_shown).then(pl.format("{} (%)", "check")).otherwise("check").alias("check"),
        *(pl.when(is_shown).then(100 * pl.col(name)).otherwise(name).alias(name) for name in CHECKED),
    )


def require_bounds(row: Mapping[str, Any]) -> str:
    """Return the bounds of a check in words."""
    bounds = {"at least": row["at_least"], "at most": row["at_most"]}
    return " and ".join(f"{word} {bound:.3g}" for word, bound in bounds.items() if bound is not None)


def introduce_note(verdict: str) -> str:
    """Return the word before what is known of an archive for a claim: why it does not hold, or a note if it does."""
    return "Note" if verdict == HOLDS else "Why"


def name_bounds(at_least: float | None, at_most: float | None) -> str:
    """Return the range of a check that its bounds accept."""
    if at_least is not None and at_most is not None:
        # A dash between negative numbers reads as a minus.
        return f"{at_least:.3g}{' to ' if at_least < 0 else '–'}{at_most:.3g}"
    bounds = (("at least", at_least), ("at most", at_most))
    return next((f"{word} {bound:.3g}" for word, bound in bounds if bound is not None), "any value")


def show_interval(row: Mapping[str, Any]) -> str | None:
    """Return the interval of a check's value, none where it has none."""
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return None
    # A dash between negative numbers reads as a minus.
    return f"{show_plain(low)}{' to ' if low < 0 else '–'}{show_plain(high)}"


def name_lack(row: Mapping[str, Any]) -> str:
    """Return what a check without a verdict lacks; nothing of one that has a verdict."""
    if row["verdict"] != UNKNOWN:
        return ""
    if row["value"] is None:
        lack = "nothing to compare its runs with" if row["runs_count"] else "no such runs"
    elif row["runs_count"] < row["minimum_runs_count"]:
        lack = f"fewer than {row['minimum_runs_count']} runs"
    elif row["low"] is None or row["high"] is None:
        lack = "no interval; if no condition was measured twice, `condition` can say which runs repeat one"
    elif row["needed_runs_count"] is None:
        lack = "the interval holds a bound"
    else:
        lack = f"about {row['needed_runs_count']} runs in place of {row['runs_count']} would tell"
    return lack


def explain_verdict(row: Mapping[str, Any]) -> str | None:
    """Return which bound a check's interval keeps to or breaks; None of one without an interval."""
    low, high = row["low"], row["high"]
    if low is None or high is None or row["value"] is None or row["runs_count"] < row["minimum_runs_count"]:
        return None
    if row["verdict"] == HOLDS:
        return "the whole interval is within what is accepted"
    is_below = row["at_least"] is not None and high < row["at_least"]
    if row["verdict"] == FAILS:
        return f"the whole interval is {'below' if is_below else 'above'} what is accepted"
    inside = [
        f"{bound:.3g}" for bound in (row["at_least"], row["at_most"]) if bound is not None and low <= bound <= high
    ]
    return f"the interval contains {' and '.join(inside)}, so the true value may be on either side" if inside else None


def sum_up_checks(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return which of a claim's checks have which verdict, all of which must hold; nothing for a claim of one check."""
    if len(rows) == 1:
        return ""
    numbers: dict[str, list[str]] = {}
    for row in rows:
        numbers.setdefault(row["verdict"], []).append(str(row["check_number"]))
    listed = (f"{verdict.capitalize()}: {', '.join(checks)}." for verdict, checks in numbers.items())
    return f"All checks must hold. {' '.join(listed)}"
