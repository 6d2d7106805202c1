"""The first page: pairs with their prediction intervals, what is confirmed or contradicted, the strip of verdicts."""

import html
import re
from typing import Any

import polars as pl
import pytest
from first_page_inputs import (
    AHEAD,
    BOTH,
    CLAIMS,
    CLOSE,
    ELSEWHERE,
    NO_COMPARISONS,
    TITLES,
    declare,
    make_cells,
    make_claims,
    make_comparisons,
    make_pairs,
)

from ccreport.compare.claim_verdicts import NO_DIFFERENCE, UNEQUAL, count_verdicts, decide, find_failure, part_claims
from ccreport.compare.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from ccreport.core.tables import conform
from ccreport.report.first_page.pairs import list_doubted, list_pairs
from ccreport.report.fragments.first_page.findings import find_doubt, render_findings
from ccreport.report.fragments.first_page.verdict_strip import render_squares, render_strip

BOUNDS = ("value", "low", "high", "at_least", "at_most")


def list_sentences(found: str) -> list[str]:
    return [line.removeprefix("- ") for line in found.split("\n") if line.startswith("- ")]


NO_CLAIMS = conform(pl.DataFrame(), "claims")
NO_PAIRS = list_pairs(conform(pl.DataFrame(), "reproduction"), BOTH)
NEARER = make_cells("table_2", "1 % loss", NOT_REPRODUCED, (4.0, 3.0, 5.0), (1.0, 0.99, 1.01))


def test_a_prediction_interval_is_wider_than_the_interval_by_the_root_of_two_in_logarithms():
    # ln(4 / 2) · √2 = 0.98026, and e^0.98026 = 2.66514.
    (pair,) = make_pairs(make_cells("t", "c", REPRODUCED, (2.0, 1.5, 3.0), (2.0, 1.0, 4.0))).to_dicts()
    assert pair["predicted_high"] == pytest.approx(2 * 2.66514, rel=1e-5)
    assert pair["predicted_low"] == pytest.approx(2 / 2.66514, rel=1e-5)
    assert (pair["expected"], pair["ratio"], pair["verdict"]) == (2.0, 2.0, REPRODUCED)


def test_only_pairs_of_the_paper_that_have_a_verdict_are_shown_and_each_once():
    others = (
        make_cells("t", "of an archive", REPRODUCED, (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), comparison="archive"),
        make_cells("t", "suspect", REPRODUCED, (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), cell_state="suspect"),
        make_cells("t", "without a verdict", None, (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
    )
    assert make_pairs(AHEAD, *others)["cell"].to_list() == ["12 MB"]
    without = make_pairs(make_cells("t", "c", UNDECIDED, (2.0, None, None), (2.0, None, None)))
    assert without["predicted_low"].to_list() == [None]


def test_what_is_confirmed_contradicted_and_open_is_said_in_three_sentences():
    judged = make_claims(
        first=[("holds", 9)],
        second=[("holds", 9)],
        third=[("does not hold", 5), ("not enough data", 0)],
    )
    judged = judged.with_columns(at_least=pl.lit(2.0), value=pl.lit(1.5))
    pairs = make_pairs(AHEAD, NEARER, ELSEWHERE, CLOSE)
    whole = render_findings(judged, declare(judged, 1.0), pairs, BOTH, NO_COMPARISONS, TITLES)
    found = list_sentences(whole)
    assert found[0] == (
        "**Confirmed:** [2 of 3 claims](claims.qmd?verdict=holds#all-claims) hold. The ratio of BBR to CUBIC is "
        "reproduced in [1 of 4 pairs](reproduction.qmd) of published cells"
        '[&#32;(1 of 1 of Table I, 0 of 3 of Table II)]{.content-visible when-format="html"}.'
    )
    assert (
        "[2 pairs](reproduction.qmd#paper-worst) are not reproduced; the worst is at 0&#46;1 &#37; loss: " in found[1]
    )
    assert "a ratio of arithmetic mean rates of 25.8" in found[1]
    assert found[1].endswith("and 1.00 here.")
    in_size = "[1 of 3 claims](claims.qmd?verdict=differs+only+in+size#all-claims)"
    assert found[2] == f"**Differs only in size:** {in_size}."
    # The claim that does not hold is none of those that lack data, though a check of it does.
    assert found[3] == "**Undecided:** 1 of 4 pairs."
    assert "\n  Why pairs are undecided: the paper’s runs do not show which algorithm is ahead.\n" in whole


def test_versions_are_compared_between_the_answers_and_the_verdicts():
    pairs = make_pairs(AHEAD)
    found = render_findings(NO_CLAIMS, {}, pairs, BOTH, NO_COMPARISONS, TITLES, of_versions=["**A or B?** A."])
    # The PDF has them too.
    assert "::: {.findings .answer}\n\n- **A or B?** A.\n" in found
    assert "content-visible" not in found


def count_parts(judged: pl.DataFrame, claims: dict[str, Any]) -> str:
    return count_verdicts({verdict: len(own) for verdict, own in part_claims(judged, claims).items()})


def test_claims_that_fail_in_direction_are_told_from_those_of_equality_and_those_that_fail_in_size():
    judged = make_claims(**{name: [("does not hold", 9)] for name in ("first", "second", "third", "fourth")})
    # At least 2 and 1.5, at least 2 and 0.5, about 1 and 5, at least 2 and from 0.7 to 1.2.
    bounds = {"at_least": [2.0, 2.0, 0.9, 2.0], "at_most": [None, None, 1.1, None], "value": [1.5, 0.5, 5.0, 0.9]}
    bounds |= {"low": [1.4, 0.4, 4.0, 0.7], "high": [1.6, 0.6, 6.0, 1.2]}
    judged = judged.with_columns(**{name: pl.Series(values) for name, values in bounds.items()})
    explained = {"causes": {"a buffer": ["first", "second"], "time": ["fourth", "other"]}, "pairs": {}}
    found = render_findings(judged, declare(judged, 1.0), NO_PAIRS, BOTH, NO_COMPARISONS, TITLES, explained=explained)
    contradicted, in_size = list_sentences(found)
    counted = "[3 of 4 claims](claims.qmd?verdict=contradicted#all-claims)"
    caused = '[; recorded causes: a buffer (1), time (1)]{.content-visible when-format="html"}'
    assert contradicted == f"**Contradicted:** {counted}{caused}."
    # Folded up on the website, where the strip of verdicts has them, and on paper behind the first page.
    (named,) = re.findall(r"\n  What is contradicted: (.*?)\.\n", found)
    assert re.findall(r"\((claims\.qmd#claim-\w+)\)", named) == [
        f"claims.qmd#claim-{name}" for name in ("second", "third", "fourth")
    ]
    assert named.startswith("“[CUBIC &#60;b&#62;varies&#60;&#47;b&#62; more](claims.qmd#claim-second)”; ")
    assert html.unescape(in_size) == (
        "**Differs only in size:** [1 of 4 claims](claims.qmd?verdict=differs+only+in+size#all-claims)."
    )
    causes = re.findall(r"Recorded causes of the claims: (.*)\n", found)
    assert causes == ["a buffer (1)."]
    # Without a value where neither is ahead only what is about a value differs in size, and not what is beyond a bound.
    contradicted, in_size = list_sentences(
        render_findings(judged, declare(judged), NO_PAIRS, BOTH, NO_COMPARISONS, TITLES)
    )
    assert contradicted.startswith("**Contradicted:** [3 of 4 claims]")
    assert in_size.startswith("**Differs only in size:** [1 of 4 claims]")
    assert [len(own) for own in part_claims(judged, declare(judged)).values()] == [3, 1]
    assert part_claims(judged, declare(judged))["differs only in size"] == ["third"]
    counted = ["3 contradicted", "1 differs only in size"]
    for neutral in (1.0, None):
        shown = render_strip(judged, declare(judged, neutral))
        assert re.findall(r'class="count">([^<]+)<', shown) == counted
        assert count_parts(judged, declare(judged, neutral)) == ", ".join(counted)
    # A quotient has it without being asked.
    quotients = declare(judged)
    for facts in quotients.values():
        facts["checks"] = [{"sql": "\n  SELECT quotient_of(list(rate), list(rate)) FROM measured"}]
    assert count_parts(judged, quotients) == "3 contradicted, 1 differs only in size"
    # A sign of its own for what differs only in size.
    squares = re.findall(r'class="square (\w+)".*d="([^"]+)"', render_strip(judged, declare(judged, 1.0)))
    assert [kind for kind, _ in squares] == ["fails", "fails", "fails", "size"]
    assert len(set(squares)) == 2
    assert part_claims(NO_CLAIMS, {}) == {}
    # Of those that are contradicted the list has the check.
    shown = html.unescape(render_strip(judged, declare(judged, 1.0)))
    assert re.findall("<small>([^<]+)<", shown) == [
        "c: 0.500 here, at least 2 by the claim",
        "c: 5.00 here, 0.9–1.1 by the claim",
        "c: 0.900 here, at least 2 by the claim",
    ]
    # With its recorded cause, which those that differ only in size have on their own page.
    causes = {"the *buffer* is ours": ["first", "third"]}
    shown = html.unescape(render_strip(judged, declare(judged, 1.0), causes))
    assert re.findall("<small>([^<]+)<", shown)[1:3] == [
        "c: 5.00 here, 0.9–1.1 by the claim",
        "recorded cause: the *buffer* is ours",
    ]
    assert shown.count("recorded cause") == 1
    # On a phone a list is closed until a tap, but for what is contradicted.
    assert re.findall(r'class="count">([^<]+)</span>\n(<\w+)', shown) == [
        ("3 contradicted", "<ul"),
        ("1 differs only in size", "<details"),
    ]


def test_a_claim_fails_by_its_worst_check_in_the_unit_that_is_shown():
    # From -0.1 to 0.3 where at least 0.2 is claimed, and a share of 86 % where both are to have 40 to 60 %.
    checks = [{"neutral": 0}, {"neutral": 0.5, "is_percentage": True}]
    rows = [
        {"check": name, "verdict": "does not hold", "claim_verdict": "does not hold"}
        | dict(zip(BOUNDS, ends, strict=True))
        for name, ends in {"drift": (0.1, -0.1, 0.3, 0.2, None), "share (%)": (86.0, 84.0, 88.0, 40.0, 60.0)}.items()
    ]
    failure, row = find_failure(rows, {"checks": checks})
    assert (failure, row["check"]) == (UNEQUAL, "share (%)")
    assert find_failure(rows[:1], {"checks": checks[:1]})[0] == NO_DIFFERENCE
    assert decide(rows, {"checks": checks}) == row


def test_pairs_that_look_wrong_in_the_paper_are_named_on_the_first_page():
    cells = [("1 flow, RTT < 30 ms", "Too slow."), ("1 flow, RTT ≥ 30 ms", "Too slow.")]
    *_, last = list_sentences(
        render_findings(NO_CLAIMS, {}, make_pairs(AHEAD), BOTH, NO_COMPARISONS, TITLES, doubted=cells)
    )
    assert html.unescape(last) == (
        "**Suspect in the paper:** [2 published pairs](reproduction.qmd#paper) look wrong in the paper and are "
        "in no count of reproduced pairs. Too slow."
    )
    compared = pl.DataFrame(
        {"comparison": ["paper", "paper", "archive", "paper"], "cell": ["a", "a", "b", "c"]}
        | {"cell_state": ["suspect", "suspect", "suspect", "compared"], "table_name": "t"}
    )
    assert list_doubted(compared, {"t": "Too slow."}) == [("a", "Too slow.")]
    assert list_doubted(compared, {}) == [("a", "")]


def test_bounds_that_are_younger_than_the_archive_are_confessed_on_the_first_page():
    judged = make_claims(first=[("holds", 9)], second=[("holds", 9), ("holds", 9)], third=[("does not hold", 5)])
    dated = judged.with_columns(is_preregistered=pl.Series([True, False, False, False]))
    *_, caution = list_sentences(render_findings(dated, declare(judged), NO_PAIRS, BOTH, NO_COMPARISONS, TITLES))
    fitted = "claims were set after the first run, so they could have been fitted to it."
    assert caution == f"**Caution:** The bounds of 2 of 3 {fitted}"
    late = judged.with_columns(is_preregistered=pl.lit(value=False))
    *_, caution = list_sentences(render_findings(late, declare(judged), NO_PAIRS, BOTH, NO_COMPARISONS, TITLES))
    assert caution == f"**Caution:** The bounds of all 3 {fitted}"


def test_why_claims_cannot_be_told_is_said():
    judged = make_claims(
        first=[("not enough data", 0)],
        second=[("not enough data", 2)],
        third=[("holds", 9)],
        fourth=[("not enough data", 4)],
        fifth=[("not enough data", 221)],
        sixth=[("not enough data", 9)],
    ).with_columns(value=pl.Series([None, 2.0, None, 2.0, 0.9, None]))
    claims = declare(judged)
    for name, sql in {"fourth": "SELECT mean_of(list(rate))", "fifth": "SELECT 0.9 AS value, 221 AS n"}.items():
        claims[name]["checks"] = [{"sql": sql}]
    found = render_findings(judged, claims, NO_PAIRS, BOTH, NO_COMPARISONS, TITLES)
    *_, last = list_sentences(found)
    assert last == "**Undecided:** [5 of 6 claims](claims.qmd?verdict=undecided#all-claims)."
    assert (
        "\n  Why claims are undecided: the archive has no such runs (2); "
        "the query gives no interval (`low`, `high`) (1); "
        "too few runs repeat a condition (1); "
        "the runs are too few or vary too much (1).\n"
    ) in found


def test_what_comparisons_leave_open_is_said_with_what_they_could_have_shown():
    asked = pl.concat([make_comparisons("undecided", "BBR faster", least=12.3), make_comparisons("undecided")])
    asked = pl.concat([asked, make_comparisons("undecided", least=40.0)])
    found = render_findings(NO_CLAIMS, {}, make_pairs(AHEAD), BOTH, asked, TITLES)
    *_, last = list_sentences(found)
    assert last == "**Undecided:** [3 of 4 comparisons](tables.qmd?rows=undecided#table-comparisons)."
    # The median of 12.3 and 40.
    least = "in half of the other 2, only a difference of more than 26 &#37; would have shown in so few runs."
    assert f"\n  1 of the undecided comparisons has too few runs; {least}\n" in found


@pytest.mark.parametrize(
    ("theirs", "own", "reason"),
    [
        ((0.9, 1.1), (2.0, 3.0), "paper"),
        ((None, None), (2.0, 3.0), "paper"),
        ((2.0, 3.0), (0.99, 1.01), "here"),
        ((2.0, 3.0), (None, None), "here"),
        ((2.0, 3.0), (1.5, 9.0), "factor"),
    ],
)
def test_what_leaves_a_pair_open(theirs: tuple[Any, Any], own: tuple[Any, Any], reason: str):
    pair = dict(zip(("expected_low", "expected_high", "low", "high"), (*theirs, *own), strict=True))
    assert find_doubt(pair) == reason


def test_what_there_is_nothing_to_say_of_is_left_out():
    assert len(list_sentences(render_findings(NO_CLAIMS, {}, make_pairs(AHEAD), BOTH, NO_COMPARISONS, TITLES))) == 1
    assert render_findings(NO_CLAIMS, {}, NO_PAIRS, BOTH, NO_COMPARISONS, TITLES) == ""


def test_without_published_numbers_means_are_said_in_place_of_comparisons():
    judged, asked = make_claims(first=[("holds", 9)]), make_comparisons("undecided", "BBR faster")
    of_means = ["**BBR** (3 runs): goodput of 90.0 Mbit/s."]
    found = render_findings(judged, declare(judged), NO_PAIRS, BOTH, asked, TITLES, of_means=of_means)
    first, *others = list_sentences(found)
    assert first == of_means[0]
    assert others[0].startswith("**Confirmed:** [1 of 1 claim]")
    assert "BBR or CUBIC?" not in found
    # Of other claims none is said to be confirmed.
    assert list_sentences(render_findings(NO_CLAIMS, {}, NO_PAIRS, BOTH, asked, TITLES, of_means=of_means)) == of_means
    assert of_means[0] not in render_findings(judged, declare(judged), make_pairs(AHEAD), BOTH, asked, TITLES)


def test_each_claim_is_named_below_its_verdict_and_leads_to_it():
    judged = make_claims(first=[("holds", 9)], second=[("does not hold", 9)], third=[("not enough data", 0)])
    judged = judged.with_columns(at_least=pl.lit(2.0), value=pl.lit(1.5))
    shown = render_strip(judged, declare(judged, 1.0))
    squares = re.findall(r'class="square (\w+)".*<a href="([^"]+)" title="[^"]+">([^<]+)</a>', shown)
    assert squares == [
        ("holds", "claims.html#claim-first", "BBR is &#42;faster&#42;"),
        ("size", "claims.html#claim-second", "CUBIC &#60;b&#62;varies&#60;&#47;b&#62; more"),
        ("unknown", "claims.html#claim-third", "Both are alike"),
    ]
    # Three signs: the verdict is told without its colour.
    assert len(set(re.findall(r'<path d="([^"]+)"', shown))) == 3
    assert re.findall(r'class="count">([^<]+)<', shown) == ["1 holds", "1 differs only in size", "1 undecided"]
    assert "<b>" not in shown
    # Squares alone, in the same order, say in words what they stand for.
    row = html.unescape(render_squares(judged, declare(judged, 1.0)))
    link = r'<a href="([^"]+)" title="([\w ]+): [^"]+"><svg class="square (\w+)"'
    assert [(kind, address) for address, _, kind in re.findall(link, row)] == [own[:2] for own in squares]
    assert [verdict for _, verdict, _ in re.findall(link, row)] == ["holds", "differs only in size", "undecided"]


def test_a_verdict_that_no_claim_has_has_no_row():
    shown = render_strip(make_claims(first=[("holds", 9)]), {"first": CLAIMS["first"]})
    assert re.findall(r'class="count">([^<]+)<', shown) == ["1 holds"]
    assert render_strip(NO_CLAIMS, {}) == render_squares(NO_CLAIMS, {}) == ""


def test_the_pair_that_is_farthest_off_has_the_recorded_cause():
    explained = {"causes": {}, "pairs": {"0.1 % loss": "The buffer is *ours*."}}
    pairs = make_pairs(AHEAD, NEARER, ELSEWHERE)
    found = render_findings(NO_CLAIMS, {}, pairs, BOTH, NO_COMPARISONS, TITLES, explained=explained)
    assert "and 1.00 here.\n" in found
    assert "\n  Recorded cause of the worst pair: The buffer is *ours*.\n" in html.unescape(found)
    assert "Recorded" not in render_findings(NO_CLAIMS, {}, pairs, BOTH, NO_COMPARISONS, TITLES)
