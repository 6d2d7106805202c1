import html
import re
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from report_inputs import NASTY

from ccreport.compare.claim_verdicts import CHECKED, is_opposite, show_units
from ccreport.compare.claim_wording import require_bounds, show_interval
from ccreport.core.tables import conform
from ccreport.figures.exhibits import find_exhibits
from ccreport.report.fragments.claims_page.claims_beside import describe_beside
from ccreport.report.fragments.claims_page.render_claims import describe_claims, render_claims
from ccreport.report.fragments.compared_pairs import count_pairs
from ccreport.report.fragments.reproduction import (
    describe_reproduction,
    judge_pair,
    render_reproduction,
)
from ccreport.summarise.grids.plain_numbers import show_plain

TITLES = {"table_2_testbed": "Table II"}
ALGORITHMS = ["BBR", "CUBIC"]


def make_pair(cell: str, state: str = "compared", factor: float | None = 1.5, **facts: Any) -> list[dict[str, Any]]:
    """Return the two rows of a pair; its ratio is 2 there and that over a factor here."""
    common: dict[str, Any] = {
        "comparison": "paper",
        "table_name": "table_2_testbed",
        "cell": cell,
        "cell_state": state,
        "expected_basis": "throughput",
        "expected_line_rate_bps": 1e10,
        "pair_expected_ratio": 2.0,
    }
    if state != "missing":
        common |= {"rate_basis": "goodput", "runs_count": 5, "rate_mean_bps": 4e7, "line_rate_bps": 5e7}
        common |= {"share_ratio": 0.8, "share_low_ratio": 0.79, "share_high_ratio": 0.81}
        common |= {"value_ratio": 0.9, "value_low_ratio": 0.6, "value_high_ratio": 1.35}
        common |= {"cell_verdict": "undecided", "needed_runs_count": 12}
        if factor:
            verdict = "reproduced" if factor <= 2 else "not reproduced"
            common |= {"pair_ratio": 2 / factor, "pair_factor_ratio": 1 / factor, "pair_verdict": verdict}
            common |= {"pair_low_ratio": 1.2 / factor, "pair_high_ratio": 3 / factor}
    rates = {"BBR": 8e9, "CUBIC": 4e9}
    return [
        common | {"algorithm": name, "expected_bps": rate, "expected_share_ratio": rate / 1e10} | facts
        for name, rate in rates.items()
    ]


def make_compared(*pairs: list[dict[str, Any]]) -> pl.DataFrame:
    rows = [row | {"cell_number": number} for number, row in enumerate((row for pair in pairs for row in pair), 1)]
    return conform(pl.DataFrame(rows, infer_schema_length=None), "reproduction")


def test_the_page_says_which_algorithms_pairs_are_of() -> None:
    third = make_pair("a", comparison="archive")[0] | {"algorithm": "Reno"}
    names = [*ALGORITHMS[:2], "Reno"]
    shown = render_reproduction(make_compared([*make_pair("a", comparison="archive"), third]), TITLES, names)
    pairs = " and ".join(names[:2])
    named = f"Pairs are of {pairs}, the first two algorithms that the evaluation lists and that both archives have"
    assert f"{named}; cells of Reno are" in shown
    assert "Pairs are of" not in render_reproduction(make_compared(make_pair("a")), TITLES, ALGORITHMS)


def test_pairs_are_counted_once_and_suspect_ones_apart() -> None:
    compared = make_compared(
        make_pair("a"),
        make_pair("b", pair_verdict="undecided"),
        make_pair("c", factor=3.0),
        make_pair("d", state="missing"),
        make_pair("e", state="suspect"),
        make_pair("f", comparison="archive"),
    )
    paper = compared.filter(comparison="paper")
    assert count_pairs(paper) == {
        "compared": 3,
        "reproduced": 1,
        "not_reproduced": 1,
        "undecided": 1,
        "missing": 1,
        "suspect": 1,
    }
    expected = {"compared": "3", "reproduced": "1", "not_reproduced": "1", "undecided": "1", "missing": "1"}
    assert describe_reproduction(compared) == expected | {"numbers": "published numbers"}
    assert describe_reproduction(compared.filter(comparison="archive"))["numbers"] == "numbers of the other build"


def test_what_looks_wrong_in_the_publication_is_said_with_the_reason() -> None:
    compared = make_compared(make_pair("a"), make_pair("e", state="suspect"))
    shown = render_reproduction(compared, TITLES, ALGORITHMS, doubts={"table_2_testbed": "A rate is *too* low."})
    assert (
        "1 further pair looks wrong in the publication itself and is in none of these counts. "
        "A rate is &#42;too&#42; low&#46;\n" in shown
    )


def test_all_pairs_that_are_not_reproduced_are_listed_the_worst_first_each_with_what_is_known_of_it() -> None:
    factors = (1.5, 3.0, 9.0, 4.0, 5.0, 6.0, 7.0)
    compared = make_compared(*(make_pair(f"f{f:g}", factor=f) for f in factors))
    shown = render_reproduction(
        compared, TITLES, ALGORITHMS, reasons=dict.fromkeys(("f4", "f6"), "The *buffer* is ours.")
    )
    assert "## The 6 pairs that are not reproduced {#paper-worst}" in shown
    failed = shown[shown.index("{#paper-worst}") : shown.index("{#paper-table")]
    assert re.findall(r'<td data-head="Cell">f(\d)</td>', failed) == ["9", "7", "6", "5", "4", "3"]
    assert re.findall(r"</strong>\. ([^<]*)", failed) == ["The &#42;buffer&#42; is ours&#46;", "As for f6&#46;"]
    none = render_reproduction(make_compared(make_pair("a")), TITLES, ALGORITHMS)
    assert "No pair is not reproduced." in none


def test_a_cell_shows_both_rates_shares_and_the_verdict() -> None:
    shown = render_reproduction(make_compared(make_pair("a")), TITLES, ALGORITHMS, "It is *small*.")
    assert "**1 of 1** pairs of cells are reproduced." in shown
    assert "8&#46;00<br><small>80.0 %</small>" in shown
    assert "40&#46;00<br><small>80.0 % (79.0–81.0)</small>" in shown
    assert "2&#46;00 and 1&#46;33 <small>(0&#46;800–2&#46;00)</small><br><strong>reproduced</strong>" in shown
    assert "−10 %<br><small>0.900 (0.600–1.35)</small>" in html.unescape(shown)
    # Once, in the row of the first algorithm.
    assert shown.count("<strong>reproduced</strong>") == 1
    assert "undecided<br><small>about 12 runs would decide</small>" in shown
    assert "10 Gbit/s there and 50 Mbit/s here".replace("/", "&#47;") in shown
    assert "(tables.qmd#table-table-2-testbed)" in shown
    assert "It is &#42;small&#42;&#46;" in shown
    short = render_reproduction(make_compared(make_pair("a")), TITLES, ALGORITHMS, "It is *small*.", has_cells=False)
    assert "**1 of 1** pairs of cells are reproduced." in short
    # In the summary above the tables: no line below them.
    assert re.search(
        r"^\*\*1 of 1\*\*.* The supplement has the interval and the runs of each cell\.$", short, re.MULTILINE
    )
    # Its table is there all the same.
    assert 'class="table-scroll beside stacked"' in short
    assert "80.0 %" not in short
    assert "&#42;small&#42;" not in short


LOSS: dict[str, Any] = {
    "match": "dimensionless",
    "expected_loss_window_ratio": 195.0,
    "other_pair_verdict": "undecided",
}


def test_a_lossy_cell_shows_what_bites_there_and_here() -> None:
    here = {"matched_test_group": "0.1 % loss", "matched_loss_window_ratio": 210.0}
    shown = render_reproduction(make_compared(make_pair("a", **LOSS, **here)), TITLES, ALGORITHMS)
    assert "a<br><small>p · BDP² 195&#44; here 210 &#40;0&#46;1 &#37; loss&#41;</small>" in shown
    assert "p · BDP²" in shown
    # By name nothing would be reproduced.
    counts = "Matched by name instead, 0 of 1 pairs are reproduced, 1 is undecided"
    assert counts.replace(",", "&#44;") in shown


def test_counts_that_are_the_same_both_ways_are_said_once() -> None:
    bdp = {
        "match": "dimensionless",
        "expected_bdp_ratio": 0.0727,
        "matched_bdp_ratio": 0.1,
        "matched_buffer_bytes": 11000,
    }
    same = make_pair("a", **bdp, other_pair_verdict="reproduced")
    shown = render_reproduction(make_compared(same), TITLES, ALGORITHMS)
    assert "0&#46;0727 BDP&#44; here 0&#46;100 &#40;11 kB&#41;" in shown
    assert "instead" not in shown


def test_missing_suspect_and_single_cells_say_so() -> None:
    rows = make_compared(make_pair("a", state="missing"), make_pair("b", state="suspect"), make_pair("c", factor=None))
    verdicts = [judge_pair(row) for row in rows.filter(algorithm="BBR").iter_rows(named=True)]
    assert verdicts == ["missing", "suspect", "no pair"]
    shown = render_reproduction(rows, TITLES, ALGORITHMS)
    assert all(f"<strong>{verdict}</strong>" in shown for verdict in verdicts)
    assert "None" not in shown


def test_another_build_without_pairs_is_compared_by_single_cells() -> None:
    rows = make_compared(
        [make_pair("a", factor=None, comparison="archive", expected_basis=None, expected_line_rate_bps=None)[0]]
    )
    shown = render_reproduction(rows, TITLES, ALGORITHMS)
    assert "Of 1 single cell, 1 is undecided." in shown
    assert "pairs of cells are reproduced" not in shown
    assert html.escape("The rates here are the receiver’s rates") in html.escape(html.unescape(shown))


def test_a_page_of_another_build_says_nothing_of_publications_and_why_cells_are_undecided() -> None:
    # BBR is missing there: the pair is of the two that both have.
    rows = [make_pair("a", factor=None, comparison="archive", expected_runs_count=2, needed_runs_count=None)[0]]
    rows = [row | {"algorithm": name} for row in rows for name in ("CUBIC", "Reno")]
    added = rows[0] | {"algorithm": "BBR", "cell_state": "added", "cell_verdict": None}
    few = render_reproduction(make_compared([*rows, added]), TITLES, ["BBR", "CUBIC", "Reno"])
    assert "Each cell of the other build's tables is compared with the same cell here" in few
    assert "ublished cell is compared" not in few
    assert "no published values" not in few
    assert "2 are undecided, as they have fewer than 3 runs there or here." in few
    assert "undecided<br><small>fewer than 3 runs there</small>" in html.unescape(few).replace("\xa0", " ")
    assert "Pairs are of CUBIC and Reno, the first two algorithms that the evaluation lists and that both" in few
    assert "Each published cell is compared" in render_reproduction(make_compared(make_pair("a")), TITLES, ALGORITHMS)


def test_without_anything_to_compare_the_page_says_so() -> None:
    empty = make_compared()
    assert "names no published values" in render_reproduction(empty, TITLES, ALGORITHMS)
    assert describe_reproduction(empty)["compared"] == "0"


def test_names_from_the_archive_do_nothing_on_the_page() -> None:
    shown = render_reproduction(make_compared(*map(make_pair, NASTY)), TITLES, ALGORITHMS)
    assert "<script>" not in shown
    assert "{{<" not in shown


def test_numbers_have_three_digits_and_no_power_of_ten_but_near_0() -> None:
    values = (0.000512, 0.0, 20.75, 184.81, 12345.0, 1.0)
    assert [show_plain(value) for value in values] == ["0.000512", "0", "20.8", "185", "12300", "1.00"]
    assert [show_plain(value, 2) for value in (0.0000512, -1.8e-13)] == ["5.1×10⁻⁵", "−1.8×10⁻¹³"]


EVALUATION = {
    "tables": {"stability": {"title": "Stability of *rates*"}},
    "figures": {"figure_2": {"title": "Figure 2", "kind": "x"}, "zoom": {"title": "Zoom", "kind": "time_sequence"}},
}


# Of what fails the pages look up by which of its bounds; this is what most have.
WORDS = {"holds": "holds", "does not hold": "contradicted", "not enough data": "undecided"}


def make_claim(claim: str, *verdicts: str, explanation: str | None = None) -> list[dict[str, Any]]:
    verdict = next((v for v in ("does not hold", "not enough data") if v in verdicts), "holds")
    return [
        {
            "claim": claim,
            "claim_verdict": verdict,
            "claim_verdict_shown": WORDS[verdict],
            "about_archive": explanation,
            "check_number": number,
            "check": f"check {number}",
            "at_least": 2.0,
            "value": None if own == "not enough data" else 2.94,
            "low": 1.9,
            "high": 4.0,
            "runs_count": 5,
            "minimum_runs_count": 3,
            "verdict": own,
            "verdict_shown": WORDS[own],
        }
        for number, own in enumerate(verdicts, 1)
    ]


def render(
    *claims: list[dict[str, Any]], shown_in: tuple[str, ...] = (), has_reasons: bool = True, option: str = ""
) -> tuple[str, pl.DataFrame]:
    rows = [row | {"claim_number": number} for number, rows in enumerate(claims, 1) for row in rows]
    judged = conform(pl.DataFrame(rows, infer_schema_length=None), "claims")
    declared = {
        rows[0]["claim"]: {
            "text": "CUBIC's rates *vary*.",
            "source": "Section V",
            "shown_in": list(shown_in),
            "needs": "runs of *BBRv2*",
            "checks": [
                {"name": row["check"], "sql": "SELECT '<b>' AS value", "quote": "over <b>", "word": "over"}
                for row in rows
            ],
        }
        for rows in claims
    }
    return render_claims(judged, declared, find_exhibits(EVALUATION), has_reasons=has_reasons, option=option), judged


def test_claims_are_counted_by_verdict() -> None:
    _, judged = render(
        make_claim("a", "holds", "holds"), make_claim("b", "holds", "does not hold"), make_claim("c", "not enough data")
    )
    declared = {claim: {"checks": [{}] * count} for claim, count in {"a": 2, "b": 2, "c": 1}.items()}
    counted = "3 claims: 1 holds, 1 contradicted, 1 undecided"
    assert describe_claims(judged, declared) == {"counts": f"{counted} (not tested)"}
    # The archive has what another claim is about, but not enough of it.
    judged = judged.with_columns(value=2.94)
    assert describe_claims(judged, declared) == {"counts": counted}
    declared["b"] = {"checks": [{"neutral": 1.95}] * 2}
    assert describe_claims(judged, declared) == {"counts": "3 claims: 1 holds, 1 contradicted, 1 undecided"}
    assert describe_claims(judged.clear(), {}) == {"counts": ""}


def test_a_claim_links_to_what_shows_it() -> None:
    shown, _ = render(make_claim("a", "holds"), shown_in=("figure_2", "stability", "zoom"))
    assert "[Figure 2&#58; Figure 2](figures.qmd#figure-figure-2)" in shown
    assert "[Stability of &#42;rates&#42;](tables.qmd#table-stability)" in shown
    assert "[Figure S1&#58; Zoom](captures.qmd#figure-zoom)" in shown


def test_a_claim_that_nothing_explains_stands_out() -> None:
    open_claim, _ = render(make_claim("a", "does not hold"))
    explained, _ = render(make_claim("a", "does not hold", explanation="It is short."))
    held, _ = render(make_claim("a", "holds"))
    noted, _ = render(make_claim("a", "holds", explanation="It is weak."))
    assert "**Note:** It is weak&#46;" in noted
    assert "## Not explained" in open_claim
    assert "**Why:** It is short&#46;" in explained
    assert "Not explained" not in explained + held


def test_the_intervals_of_several_checks_are_named_as_those_of_all() -> None:
    shown, _ = render(make_claim("one", "holds"), make_claim("two", "holds", "holds"))
    one, two = (html.unescape(part) for part in shown.split('aria-label="Checks of ')[1:])
    assert ">95 % interval<" in one
    assert ">95 % for all checks<" in two
    assert ">Here (95 %, all checks)<" in html.unescape(shown)


def test_what_would_decide_a_claim_is_told_beside_it() -> None:
    known = {"value": 2.94, "runs_count": 10, "needed_runs_count": 14}
    for about, said in ((None, ""), ("Few are there.", "Few are there. ")):
        (claim,) = make_claim("a", "not enough data", explanation=about)
        shown = html.unescape(render([claim | known])[0])
        assert shown.count(f"{said}Only 10 runs; about 14 would decide.") == 2
        assert f"**Why:** {said}Only 10 runs" in shown
    # Of runs that are not there an explanation says why.
    (claim,) = make_claim("a", "not enough data", explanation="It has none.")
    shown = render([claim | {"runs_count": 0}])[0].replace("&#46;", ".")
    assert shown.count("It has none.") == 2
    assert "No such runs." not in shown
    assert "undecided</strong><br><small>no such runs</small>" in shown
    assert "Why: No such runs." in render([claim | {"runs_count": 0, "about_archive": None}])[0].replace("&#46;", ".")


def test_on_paper_a_claim_is_explained_once() -> None:
    claim = make_claim("a", "does not hold", explanation="It is short.")
    said = [render(claim, has_reasons=has_reasons)[0].replace("&#46;", ".") for has_reasons in (True, False)]
    assert [page.count("It is short.") for page in said] == [2, 1]
    assert ["claim by claim" in page for page in said] == [False, True]
    assert all("**Why:** It is short." in page for page in said)


def test_a_claim_shows_value_interval_and_bounds() -> None:
    shown, _ = render(make_claim("bbr1_rate", "holds"))
    assert "## [Holds]{.verdict-holds}: CUBIC&#39;s rates &#42;vary&#42; {#claim-bbr1-rate}" in shown
    assert "<br><small>“over &#60;b&#62;” &#40;over&#41;</small></td>" in shown
    assert ">at least 2</td>" in shown
    assert "2&#46;94</td>" in shown
    assert "1&#46;90–4&#46;00</td>" in shown


def test_a_claim_says_how_to_take_it_apart() -> None:
    shown, _ = render(make_claim("bbr1_rate", "holds"))
    assert "`python -m ccreport explain bbr1_rate`" in shown
    shown, _ = render(make_claim("bbr1_rate", "holds"), option=" --database own")
    assert "`python -m ccreport explain bbr1_rate --database own`" in shown


def test_the_overview_has_the_value_that_decides_each_claim() -> None:
    (first, second) = make_claim("a", "holds", "does not hold")
    shown, _ = render([first, second | {"value": 1.23, "low": 1.1, "high": 1.4, "paper_value": 4.2}])
    overview = shown[: shown.index("{#claim-a}")]
    assert "4&#46;2</td>" in overview
    assert "1.23 (1.10–1.40)<br><small>check 2; required: at least 2 (1 holds, 1 contradicted)</small>" in (
        html.unescape(overview)
    )
    assert "check 1" not in overview


def test_a_claim_without_a_verdict_says_what_it_lacks() -> None:
    (row,) = make_claim("a", "not enough data")
    alone, _ = render([row])
    nothing, _ = render([row | {"runs_count": 0}])
    assert "(not enough data: nothing to compare its runs with)" in alone
    assert "(not enough data: no such runs)" in nothing
    assert "Needed: runs of &#42;BBRv2&#42;." in nothing
    wide, _ = render([row | {"value": 2.94, "needed_runs_count": 22}])
    assert f"(not enough data: only {row['runs_count']} runs; about 22 would decide)" in wide
    assert "Needed" not in wide
    asked, _ = render([row | {"value": 2.94, "low": None, "high": None}])
    assert "(not enough data: its query gives no interval (`low`, `high`))" in asked
    few, _ = render([row | {"value": 2.94, "runs_count": 2}])
    assert "(not enough data: fewer than 3 runs)" in few


def describe_failed(neutral: float | None = None, verdict: str = "does not hold", **more: Any) -> str:
    """Return what is beside a figure whose claim fails, or has another verdict, by one check, of these facts."""
    (row,) = make_claim("a", verdict)
    judged = conform(pl.DataFrame([row | {"claim_number": 1} | more], infer_schema_length=None), "claims")
    facts = {"text": "BBR is *ahead*.", "source": "Section V", "shown_in": ["figure_2"]}
    declared = {"a": facts | {"checks": [{"quote": "ahead", "neutral": neutral}]}}
    assert describe_beside("zoom", judged, declared) == ""
    return describe_beside("figure_2", judged, declared)


def test_a_figure_that_does_not_show_what_the_paper_found_names_both_numbers() -> None:
    beside = describe_failed(check="share", value=0.25, low=0.2, high=0.31, at_least=0.4, at_most=0.6)
    assert "Here: **[differs only in size](claims.qmd#claim-a)**.\n" in beside
    assert "**Result here:** share" in beside
    assert "0&#46;250 &#40;0&#46;200–0&#46;310&#41;&#44; the claim requires at least 0&#46;4" in beside
    assert "0&#46;4 and at most 0&#46;6." in beside
    known = describe_failed(check="share", value=0.25, paper_value=0.5, low=None)
    assert "share&#58; 0&#46;250&#44; 0&#46;5 in the paper." in known


def test_all_claims_about_a_figure_are_in_one_box_beside_it() -> None:
    rows = [row | {"claim_number": n} for n, name in enumerate("ab", 1) for row in make_claim(name, "holds")]
    judged = conform(pl.DataFrame(rows, infer_schema_length=None), "claims")
    facts = {"text": "BBR is ahead.", "source": "Section V", "shown_in": ["figure_2"], "checks": [{}]}
    beside = describe_beside("figure_2", judged, {"a": facts, "b": facts})
    assert beside.startswith(":::: claims-beside\n")
    assert beside.count("\n::::\n") == 1
    assert beside.count("::: {.paper-says .says-holds}") == 2


def test_a_figure_of_an_open_claim_has_its_numbers_and_how_many_runs_would_tell() -> None:
    facts = {"check": "growth", "value": 0.114, "low": 0.06, "high": 0.17, "at_least": 0.1, "needed_runs_count": 53}
    beside = describe_failed(verdict="not enough data", runs_count=6, minimum_runs_count=3, **facts)
    assert "**Undecided here:** growth&#58; 0&#46;114" in beside
    assert "the claim requires at least 0&#46;1" in beside
    assert "only 6 runs&#59; about 53 would decide" in beside
    # Without a value there is nothing to tell.
    assert "Undecided" not in describe_failed(verdict="not enough data", **facts | {"value": None})


@pytest.mark.parametrize(
    ("neutral", "bounds", "interval", "is_opposite"),
    [
        (1, (0.8, 1.0), (2.34, 3.8), True),
        (1, (1.25, None), (0.5, 0.9), True),
        # The interval has the value at which neither is ahead, or is on the side of the bounds, or these hold it.
        (1, (1.25, None), (0.5, 1.1), False),
        (1, (13.3, 30.0), (4.3, 6.5), False),
        (1, (0.9, 1.1), (4.4, 7.3), False),
        (0, (0.1, None), (-0.18, -0.05), True),
        (0, (0.1, None), (-0.18, 0.05), False),
        # A share of the line rate has no such value.
        (None, (None, 1.0), (1.2, 1.3), False),
    ],
)
def test_the_opposite_is_on_the_other_side_of_no_difference(
    neutral: float | None,
    bounds: tuple[float | None, float | None],
    interval: tuple[float, float],
    *,
    is_opposite: bool,
) -> None:
    low, high = interval
    beside = describe_failed(neutral, low=low, high=high, at_least=bounds[0], at_most=bounds[1])
    assert ("The opposite here" in beside) is is_opposite


def test_a_claim_of_nobody_s_paper_speaks_of_none() -> None:
    (row,) = make_claim("fast_far", "does not hold")
    judged = conform(pl.DataFrame([row | {"claim_number": 1}]), "claims")
    check = {"name": row["check"], "sql": "SELECT 1 AS value", "at_least": 2.0}
    own = {"text": "Far away CUBIC is faster.", "source": "our question", "shown_in": ["zoom"], "checks": [check]}
    shown = render_claims(judged, {"fast_far": own}, find_exhibits(EVALUATION))
    assert "## [Contradicted]{.verdict-fails}: Far away CUBIC is faster {#claim-fast-far}" in shown
    assert "Source: our question." in shown
    beside = describe_beside("zoom", judged, {"fast_far": own})
    assert "Claim (our question): Far away CUBIC is faster&#46; Here: **[contradicted]" in beside
    assert not re.search("[Pp]aper|publication|commit|[Bb]ounds", shown + beside.replace("paper-says", ""))


def test_the_time_of_bounds_is_told_where_one_is_declared() -> None:
    times = {
        f"{name}_utc": datetime(2026, 11, day, tzinfo=UTC) for name, day in (("bounds_set", 21), ("first_run", 22))
    }
    row = times | {"bounds_commit": "a" * 40, "is_preregistered": True}
    dated, _ = render([own | row for own in make_claim("a", "holds")], make_claim("b", "holds"))
    assert "The bounds of 1 of 2 claims were set before the archive’s first run, of 1 it is not known." in dated
    assert dated.count("The bounds were set by commit") == 1
    assert "**" not in dated.partition("The bounds were set by commit")[2].partition("</details>")[0]
    late = [[own | row | {"is_preregistered": False} for own in make_claim(claim, "holds")] for claim in "ab"]
    told, _ = render(*late)
    assert "All 2 pass/fail bounds were set after the archive’s first run." in told
    # What is so of all is not told of each.
    assert "**after**" not in told
    assert told.count("The bounds were set by commit") == 1
    earlier = row | {"bounds_commit": "b" * 40}
    mixed, _ = render(*late, [own | earlier for own in make_claim("c", "holds")])
    assert mixed.count("**after** the archive’s first run") == 2
    plain, _ = render(make_claim("a", "holds"))
    assert "commit" not in plain


def test_texts_of_claims_and_queries_show_literally() -> None:
    shown, _ = render(make_claim("a", "holds", explanation='"><script>{{< x >}}'))
    assert "<b>" not in shown
    assert "<script>" not in shown
    assert "{{<" not in shown


def test_without_claims_the_page_says_so() -> None:
    assert render_claims(conform(pl.DataFrame(), "claims"), {}, {}) == "The evaluation makes no claims.\n"


def test_a_claim_says_in_one_line_what_it_would_be_with_suspect_runs() -> None:
    rows = make_claim("c", "holds", "holds", "holds")
    others = [(2.94, "holds"), (1.37, "does not hold"), (2.5, "holds")]
    for row, (value, verdict) in zip(rows, others, strict=True):
        row |= {"suspects_count": 4, "with_suspects_value": value, "with_suspects_verdict": verdict}
    page, _ = render(rows)
    assert "With 4 suspect runs: check 2 1&#46;37, contradicted; check 3 2&#46;50.\n" in page
    assert page.count("suspect runs") == 1
    unchanged, _ = render(rows[:1])
    assert "suspect" not in unchanged


def test_an_inconsistent_cell_says_how_far_it_is_off_and_a_pair_has_its_factor() -> None:
    rows = make_compared(make_pair("a", factor=1.5, cell_verdict="inconsistent", value_ratio=1.05))
    shown = html.unescape(render_reproduction(rows, TITLES, ALGORITHMS))
    assert "+5.0 %<br><small>1.05" in shown
    assert ">differs</td>" in shown
    assert "</strong>, factor 0.67" in shown
    assert "differs by less" not in shown


def test_a_cell_that_is_inconsistent_by_less_than_the_margin_says_so() -> None:
    far, near = (
        make_pair(cell, cell_verdict="inconsistent", value_ratio=ratio) for cell, ratio in (("a", 1.05), ("b", 0.997))
    )
    shown = html.unescape(render_reproduction(make_compared(far, near), TITLES, ALGORITHMS))
    assert "The published rates are taken as the sender’s rates (throughput), those here are the" in shown
    assert "Of 4 single cells, 2 differ by less than 5 % and 2 by more." in shown
    alike = make_pair("c", cell_verdict="consistent")
    of_all = html.unescape(render_reproduction(make_compared(far, near, alike), TITLES, ALGORITHMS))
    told = "2 are the same within the intervals, 2 differ by less than 5 % and 2 by more."
    assert f"Of 6 single cells, {told}" in of_all
    of_two = html.unescape(render_reproduction(make_compared(far[:1], alike), TITLES, ALGORITHMS))
    assert "Of 3 single cells, 2 are the same within the intervals and 1 differs." in of_two
    assert shown.count("−0.30 %<br>") == 2
    assert shown.count(">differs by less than 5 %</td>") == 2
    assert shown.count(">differs</td>") == 2
    assert "## Table" in shown


def test_checks_that_are_declared_as_percentages_are_shown_in_per_cent() -> None:
    rows = [{"claim": claim, "check": "ratio", "check_number": 1, "value": 0.11, "at_least": 0.1} for claim in "ab"]
    judged = pl.DataFrame(rows).with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in CHECKED if name not in rows[0]
    )
    checks = [[{"name": "ratio", "is_percentage": is_percentage}] for is_percentage in (True, False)]
    shown = show_units(judged, {claim: {"checks": own} for claim, own in zip("ab", checks, strict=True)})
    assert shown.select("check", "value", "at_least", "low").rows() == [
        ("ratio (%)", pytest.approx(11), pytest.approx(10), None),
        ("ratio", 0.11, 0.1, None),
    ]
    assert show_units(judged.clear(), {}).is_empty()
    # Of two percentages the difference is none.
    checks[0][0]["neutral"] = 0
    shown = show_units(judged, {claim: {"checks": own} for claim, own in zip("ab", checks, strict=True)})
    assert shown["check"].to_list() == ["ratio (percentage points)", "ratio"]


def test_checks_of_a_mean_rate_are_shown_in_the_unit_of_their_bound() -> None:
    row = {"check": "mean", "check_number": 1, "value": 78.3e6, "low": 62.3e6, "high": 98.4e6}
    judged = pl.DataFrame([row | {"claim": claim} for claim in "abc"]).with_columns(
        at_most=pl.Series([200e6, 2e9, 200e6]), at_least=None, paper_value=None, with_suspects_value=None
    )
    mean = "SELECT mean_of(list(rate) FILTER (cc = 'cubic'))\nFROM measured"
    declared = {
        "a": {"name": "mean", "sql": mean, "at_most": 200e6},
        "b": {"name": "mean", "sql": mean, "at_most": 2e9},
        # Of which it is not known that it is a rate.
        "c": {"name": "mean", "sql": "SELECT mean_of(list(share)) FROM measured", "at_most": 200e6},
    }
    shown = show_units(judged, {claim: {"checks": [check]} for claim, check in declared.items()}).to_dicts()
    told = [f"{row['check']}: {show_interval(row)}, {require_bounds(row)}" for row in shown]
    assert told == [
        "mean (Mbit/s): 62.3–98.4, at most 200",
        "mean (Gbit/s): 0.0623–0.0984, at most 2",
        "mean: 62300000–98400000, at most 200000000",
    ]
    # The value at which neither side is ahead is in that unit, too.
    opposite = {**shown[0], "at_least": 200.0, "at_most": None}
    assert is_opposite(opposite, {**declared["a"], "neutral": 100e6})
    assert not is_opposite(opposite, {**declared["a"], "neutral": 80e6})
