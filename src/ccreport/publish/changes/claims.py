"""Differences of claims between two releases: verdicts in the words of pages, checks of one side alone, values."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ccreport.publish.changes.change import ABSENT, Change, compare_facts, compare_values, show_value

# What pages show, then what the table `claims` of an older release has alone.
CLAIM_VERDICT: Final = ("claim_verdict_shown", "claim_verdict")
CHECK_VERDICT: Final = ("verdict_shown", "verdict")
VALUES: Final = ("value", "low", "high", "runs_count", "paper_value", "at_least", "at_most", "minimum_runs_count")
# What pages show of a claim and of a check from the declaration alone.
CLAIM_WORDS: Final = ("text", "source", "needs")
CHECK_WORDS: Final = ("quote", "word")

Rows = Mapping[tuple[Any, ...], Mapping[str, Any]]


def list_claims(before: Rows, after: Rows) -> Iterator[tuple[str, Change]]:
    """Yield the kind of exhibit, and what was and is, for each claim and each of its checks by their names.

    `before` and `after` are the rows of the tables `claims` by claim and check.
    """
    # All checks of a claim have its verdict.
    old_claims, new_claims = ({claim: row for (claim, _), row in side.items()} for side in (before, after))
    keys = list({**after, **before})
    for claim in dict.fromkeys(claim for claim, _ in keys):
        if claim in old_claims and claim in new_claims:
            yield from _compare_verdicts(claim, CLAIM_VERDICT, old_claims[claim], new_claims[claim])
        for key in keys:
            if key[0] == claim:
                yield from _compare_checks(", ".join(key), before.get(key), after.get(key))


def _compare_checks(
    where: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[tuple[str, Change]]:
    if before is None or after is None:
        yield "checks", Change(where, _show_verdict(before), _show_verdict(after))
        return
    yield from _compare_verdicts(where, CHECK_VERDICT, before, after)
    yield from (("claims", change) for change in compare_facts(where, VALUES, before, after))


def _compare_verdicts(
    where: str, columns: tuple[str, str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, Change]]:
    """Yield the flip of a verdict, in words that both sides have."""
    column = next(name for name in columns if name in before and name in after)
    if change := compare_values(where, before[column], after[column]):
        yield "verdicts", change


def _show_verdict(row: Mapping[str, Any] | None) -> str:
    return ABSENT if row is None else show_value(next(row[name] for name in CHECK_VERDICT if name in row))


def list_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Yield what differs of the words of claims that both sides declare."""
    for claim in after:
        if claim in before:
            yield from compare_facts(claim, CLAIM_WORDS, before[claim], after[claim])
            old_checks = {check["name"]: check for check in before[claim]["checks"]}
            for check in after[claim]["checks"]:
                if old_check := old_checks.get(check["name"]):
                    yield from compare_facts(f"{claim}, {check['name']}", CHECK_WORDS, old_check, check)
