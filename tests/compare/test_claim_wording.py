"""What is said of a check's verdict, and of those of a claim together."""

import re
from typing import Any

import pytest

from ccreport.compare.claim_verdicts import FAILS, HOLDS, UNKNOWN
from ccreport.compare.claim_wording import (
    WITH_INTERVAL,
    explain_verdict,
    name_bounds,
    name_lack,
    require_bounds,
    show_interval,
    sum_up_checks,
)
from ccreport.compare.quotes import tell_quotes
from ccreport.core.declarations import read_query


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


@pytest.mark.parametrize(
    ("sql", "lack"),
    [
        ("SELECT avg(x) AS value, count(*) AS n FROM runs", "its query gives no interval (`low`, `high`)"),
        ("SELECT 1 AS value, 9 AS n, NULL AS low, NULL AS high", "its query gives no interval (`low`, `high`)"),
        (
            "SELECT mean_of (list(rate)) FROM measured",
            "no interval, as too few runs repeat a condition; `condition` can say which do",
        ),
        (
            "SELECT rate_cv AS value, rate_low_cv AS low, rate_high_cv AS high, runs_count AS n FROM means",
            "no interval, as too few runs repeat a condition; `condition` can say which do",
        ),
    ],
)
def test_a_check_without_an_interval_says_whether_its_query_or_the_runs_give_none(sql: str, lack: str) -> None:
    assert name_lack(check(UNKNOWN, low=None), {"sql": sql}) == lack


def test_all_functions_that_give_an_interval_are_known() -> None:
    text = "\n".join(map(read_query, ("macros", "claims")))
    _, *parts = re.split(r"^CREATE(?: TEMP)? MACRO (\w+)", text, flags=re.MULTILINE)
    macros = zip(parts[::2], parts[1::2], strict=True)
    giving = {name for name, body in macros if "'low':" in body or "with_interval(" in body}
    assert giving - {"with_interval"} == set(WITH_INTERVAL)


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
