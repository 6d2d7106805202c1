"""What is said of a check's verdict, and of those of a claim together."""

from typing import Any

import pytest

from ccreport.compare.claim_verdicts import FAILS, HOLDS, UNKNOWN
from ccreport.compare.claim_wording import explain_verdict, name_bounds, require_bounds, show_interval, sum_up_checks
from ccreport.compare.quotes import tell_quotes


def check(
    verdict: str, *, low: float | None = 2.0, high: float = 3.0, runs: int = 3, **bounds: float
) -> dict[str, Any]:
    facts = {"verdict": verdict, "value": 2.5, "low": low, "high": None if low is None else high, "runs_count": runs}
    return {"at_least": None, "at_most": None, "minimum_runs_count": 3} | facts | bounds


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ([{"quote": "a"}, {"quote": "b"}], "Each check quotes the publication’s wording behind its bounds."),
        ([{"quote": "a"}, {"paper": 4}], "Some checks quote the publication’s wording behind its bounds."),
        ([{"paper": 4}], ""),
    ],
)
def test_checks_quote_where_they_have_a_quote(checks: list[dict[str, Any]], said: str) -> None:
    assert tell_quotes({"one": {"checks": checks[:1]}, "others": {"checks": checks[1:]}}) == said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (check(HOLDS, at_most=4), "the whole interval is within what is accepted"),
        (check(FAILS, at_least=4, at_most=6), "the whole interval is below what is accepted"),
        (check(FAILS, at_least=1, at_most=1.5), "the whole interval is above what is accepted"),
        (check(UNKNOWN, at_least=2.5), "the interval contains 2.5, so the true value may be on either side"),
        (
            check(UNKNOWN, at_least=2.25, at_most=2.75),
            "the interval contains 2.25 and 2.75, so the true value may be on either side",
        ),
        (check(UNKNOWN, low=None, at_most=4), None),
        (check(UNKNOWN, runs=2, at_most=4), None),
    ],
)
def test_a_verdict_is_explained_by_the_bounds_and_the_interval(row: dict[str, Any], said: str | None) -> None:
    assert explain_verdict(row) == said


def test_the_checks_of_a_claim_are_summed_up_by_verdict() -> None:
    rows = [check(verdict) | {"check_number": n} for n, verdict in enumerate((HOLDS, FAILS, HOLDS), 1)]
    rows[1]["at_least"] = 4
    for neutral, said in {1: "Differs only in size", 3.5: "Contradicted"}.items():
        facts = {"checks": [{"neutral": neutral}] * 3}
        assert sum_up_checks(rows, facts) == f"All checks must hold: holds (check 1 and 3), {said.lower()} (check 2)."
    assert sum_up_checks(rows[:1], {"checks": [{}]}) == ""


def test_bounds_and_intervals_have_a_minus_that_is_not_a_dash() -> None:
    assert show_interval({"low": -18.45, "high": 4.92}) == "−18.4 to 4.92"
    assert (name_bounds(-0.05, 0.05), name_bounds(0.4, 0.6)) == ("−0.05 to 0.05", "0.4–0.6")
    assert name_bounds(1e-9, None) == "at least 1.00×10⁻⁹"
    assert require_bounds({"at_least": -10.0, "at_most": 10.0}) == "at least −10 and at most 10"
