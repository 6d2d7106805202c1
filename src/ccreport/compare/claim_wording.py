"""What pages and `explain` say of a claim's check: its bounds, its interval, and what it lacks for a verdict."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ccreport.compare.claim_verdicts import FAILS, HOLDS, UNKNOWN, name_checks
from ccreport.summarise.grids.grid import MINUS, is_near_zero, show_given
from ccreport.summarise.grids.plain_numbers import show_plain

# What a check without a verdict lacks, that which is nearest to a verdict last.
NO_RUNS: Final = "no runs"
NO_VALUE: Final = "no value"
NOT_ASKED: Final = "an interval that the query gives"
UNREPEATED: Final = "repeated conditions"
FEW: Final = "enough runs"
UNCLEAR: Final = "an interval free of bounds"
LACKS: Final = (NO_RUNS, NO_VALUE, NOT_ASKED, UNREPEATED, FEW, UNCLEAR)
LACKING: Final = {
    NO_RUNS: "no such runs",
    NO_VALUE: "nothing to compare its runs with",
    NOT_ASKED: "its query gives no interval (`low`, `high`)",
    UNREPEATED: "no interval, as too few runs repeat a condition; `condition` can say which do",
}
# What gives a query an interval: functions, and columns of tables such as rate_low_cv.
WITH_INTERVAL: Final = (
    *("mean_of", "quotient_of", "quotient_of_quotients", "cv_quotient"),
    *("difference_of", "share_of", "nearness"),
)
ASKS: Final = re.compile(rf"\b(?:{'|'.join(WITH_INTERVAL)})\s*\(|\w_low_\w", re.IGNORECASE)


def require_bounds(row: Mapping[str, Any]) -> str:
    """Return the bounds of a check in words."""
    bounds = {"at least": row["at_least"], "at most": row["at_most"]}
    return " and ".join(f"{word} {_show_bound(bound)}" for word, bound in bounds.items() if bound is not None)


def introduce_note(verdict: str) -> str:
    """Return the word before what is known of an archive for a claim: why it does not hold, or a note if it does."""
    return "Note" if verdict == HOLDS else "Why"


def name_bounds(at_least: float | None, at_most: float | None) -> str:
    """Return the range of a check that its bounds accept."""
    if at_least is not None and at_most is not None:
        return _span(_show_bound(at_least), _show_bound(at_most))
    bounds = (("at least", at_least), ("at most", at_most))
    return next((f"{word} {_show_bound(bound)}" for word, bound in bounds if bound is not None), "any value")


def show_interval(row: Mapping[str, Any]) -> str | None:
    """Return the interval of a check's value, none where it has none."""
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return None
    return _span(show_plain(low), show_plain(high))


def _show_bound(bound: float) -> str:
    """Return a bound with up to three digits, those of a round number alone: 0.6, −0.05, 1.00×10⁻⁹."""
    return show_plain(bound) if is_near_zero(bound) else show_given(bound, 3)


def _span(low: str, high: str) -> str:
    # A dash beside a minus reads as one more.
    return f"{low}{' to ' if low.startswith(MINUS) else '–'}{high}"


def find_lack(row: Mapping[str, Any], check: Mapping[str, Any]) -> str | None:
    """Return which of `LACKS` a check lacks for a verdict, None where it has one; `check` is what is declared of it."""
    if row["verdict"] != UNKNOWN:
        return None
    if row["value"] is None:
        return NO_VALUE if row["runs_count"] else NO_RUNS
    if row["runs_count"] < row["minimum_runs_count"]:
        return FEW
    if row["low"] is None or row["high"] is None:
        return UNREPEATED if ASKS.search(check["sql"]) else NOT_ASKED
    return UNCLEAR


def name_lack(row: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    """Return what a check lacks for a verdict, in words; nothing of one that has a verdict."""
    lack = find_lack(row, check)
    if lack == FEW:
        return f"fewer than {row['minimum_runs_count']} runs"
    if lack == UNCLEAR:
        needed = row["needed_runs_count"]
        told = f"only {row['runs_count']} runs; about {needed} would decide"
        return "the interval holds a bound" if needed is None else told
    return "" if lack is None else LACKING[lack]


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
        _show_bound(bound) for bound in (row["at_least"], row["at_most"]) if bound is not None and low <= bound <= high
    ]
    return f"the interval contains {' and '.join(inside)}, so the true value may be on either side" if inside else None


def sum_up_checks(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> str:
    """Return which of a claim's checks have which verdict, all of which must hold; nothing for a claim of one check.

    `facts` is what the evaluation declares of the claim.
    """
    if len(rows) == 1:
        return ""
    numbers: dict[str, list[str]] = {}
    for row, verdict in zip(rows, name_checks(rows, facts), strict=True):
        numbers.setdefault(verdict, []).append(str(row["check_number"]))
    listed = (f"{verdict} (check {' and '.join(checks)})" for verdict, checks in numbers.items())
    return f"All checks must hold: {', '.join(listed)}."
