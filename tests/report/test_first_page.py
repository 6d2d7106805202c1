"""The first page: pairs with their prediction intervals, findings in words, the strip of verdicts, and the picture."""

import html
import math
import re
from pathlib import Path
from typing import Any

import altair as alt
import duckdb
import polars as pl
import pytest
from archives import ROOT

from ccreport.compare.claim_verdicts import NO_DIFFERENCE, UNEQUAL, count_verdicts, decide, find_failure, part_claims
from ccreport.compare.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from ccreport.core.declarations import load_yaml
from ccreport.core.tables import conform
from ccreport.report.archive_fragments.provenance import cite_archive
from ccreport.report.first_page.forest import draw_forest
from ccreport.report.first_page.forest_frame import NARROW, WIDE, draw_stripes, write_top_ticks
from ccreport.report.first_page.pairs import call_labels, list_doubted, list_pairs, mark_published
from ccreport.report.first_page.rtts import NO_RTTS, name_rtts, read_rtts
from ccreport.report.first_page.variation import NO_VARIATION
from ccreport.report.fragments.first_page.condition_phrases import add_bracket, phrase_conditions
from ccreport.report.fragments.first_page.figures_asked import ask_figures
from ccreport.report.fragments.first_page.findings import find_doubt, render_findings
from ccreport.report.fragments.first_page.jumps import render_jumps
from ccreport.report.fragments.first_page.mean_findings import describe_bound, describe_means
from ccreport.report.fragments.first_page.pairs_picture import render_picture
from ccreport.report.fragments.first_page.rate_findings import describe_leads
from ccreport.report.fragments.first_page.retransmit_findings import describe_retransmits
from ccreport.report.fragments.first_page.sharing_findings import describe_sharing
from ccreport.report.fragments.first_page.software import describe_release, list_authors, render_bibtex
from ccreport.report.fragments.first_page.starvation_findings import describe_starvation
from ccreport.report.fragments.first_page.variation_findings import describe_variation
from ccreport.report.fragments.first_page.verdict_strip import render_squares, render_strip
from ccreport.report.markup.escape import escape_text

CLAIMS = {
    "first": {"text": "BBR is *faster*.", "source": "Section 1"},
    "second": {"text": "CUBIC <b>varies</b> more.", "source": "Section 2"},
    "third": {"text": "Both are alike.", "source": "Section 3"},
}
TITLES = {"table_1": "Table I: by buffer", "table_2": "Table II: on the testbed"}
BOTH = ["BBR", "CUBIC"]
BOUNDS = ("value", "low", "high", "at_least", "at_most")
GEOMETRIC = "[geometric means](methods.qmd#sec-ratios)"
RATES = "tables.qmd?rows=goodput#table-comparisons"


def make_cells(
    table: str,
    cell: str,
    verdict: str | None,
    theirs: tuple[float, float | None, float | None],
    own: tuple[float, float | None, float | None],
    **others: Any,
) -> list[dict[str, Any]]:
    """Return the two rows of a pair; ratios are (value, low, high)."""
    row = {
        "comparison": "paper",
        "table_name": table,
        "cell": cell,
        "cell_state": "compared",
        "pair_verdict": verdict,
        **dict(zip((f"pair_expected{end}_ratio" for end in ("", "_low", "_high")), theirs, strict=True)),
        **dict(zip((f"pair{end}_ratio" for end in ("", "_low", "_high")), own, strict=True)),
    } | others
    return [row | {"algorithm": name, "cell_number": number} for number, name in enumerate(BOTH, 1)]


def make_pairs(*pairs: list[dict[str, Any]]) -> pl.DataFrame:
    rows = [row | {"cell_number": number} for number, row in enumerate((row for pair in pairs for row in pair), 1)]
    return list_pairs(conform(pl.DataFrame(rows, infer_schema_length=None), "reproduction"), BOTH)


WORDS = {"holds": "holds", "does not hold": "contradicted", "not enough data": "undecided"}


def make_claims(**verdicts: list[tuple[str, int]]) -> pl.DataFrame:
    """Return checks of claims, each as its verdict and its runs; the worst is the claim's."""
    order = ["does not hold", "not enough data", "holds"]
    rows = [
        {
            "claim_number": number,
            "claim": claim,
            "claim_verdict": (of_claim := min((verdict for verdict, _ in checks), key=order.index)),
            "claim_verdict_shown": WORDS[of_claim],
            "check_number": place,
            "check": "c",
            "runs_count": runs,
            "minimum_runs_count": 3,
            "verdict": verdict,
            "verdict_shown": WORDS[verdict],
        }
        for number, (claim, checks) in enumerate(verdicts.items(), 1)
        for place, (verdict, runs) in enumerate(checks, 1)
    ]
    return conform(pl.DataFrame(rows, infer_schema_length=None), "claims")


def declare(judged: pl.DataFrame, neutral: float | None = None) -> dict[str, Any]:
    """Return what an evaluation declares of claims: their texts, and of all checks the same neutral value."""
    counts = judged.group_by("claim", maintain_order=True).len().iter_rows()
    return {
        name: CLAIMS.get(name, CLAIMS["third"]) | {"checks": [{"neutral": neutral}] * count} for name, count in counts
    }


def list_sentences(found: str) -> list[str]:
    return [line.removeprefix("- ") for line in found.split("\n") if line.startswith("- ")]


NO_CLAIMS = conform(pl.DataFrame(), "claims")
NO_PAIRS = list_pairs(conform(pl.DataFrame(), "reproduction"), BOTH)


def make_comparisons(
    *verdicts: str | tuple[str, str, float | tuple[float, float, float] | None], least: float | None = None
) -> pl.DataFrame:
    """Return comparisons of BBR and CUBIC, each as its verdict, or with its question and ratio, with an interval."""
    rows = []
    for given in verdicts:
        verdict, question, ratios = (given, "no loss", None) if isinstance(given, str) else given
        ratio, low, high = ratios if isinstance(ratios, tuple) else (ratios, None, None)
        rows.append(
            {
                "table_name": "comparisons",
                "measure": "goodput_bps",
                "question": question,
                "first_algorithm": "BBR",
                "second_algorithm": "CUBIC",
                "verdict": verdict,
                "ahead_algorithm": verdict.removesuffix(" faster") if verdict.endswith(" faster") else None,
                "first_mean": ratio,
                "second_mean": None if ratio is None else 1.0,
                "effect_mean_ratio": ratio,
                "effect_low_ratio": low,
                "effect_high_ratio": high,
                "least_effect_pct": least,
                **dict.fromkeys(("first_runs_count", "second_runs_count", "strata_count"), 1),
                "is_paired": False,
                "tests_count": len(verdicts),
                "equal_within_pct": 5.0,
            }
        )
    return conform(pl.DataFrame(rows, infer_schema_length=None), "comparisons")


NO_COMPARISONS = make_comparisons()
AHEAD = make_cells("table_1", "12 MB", REPRODUCED, (8.0, 7.0, 9.0), (10.0, 8.0, 12.5))
ELSEWHERE = make_cells("table_2", "0.1 % loss", NOT_REPRODUCED, (25.8, 21.0, 31.0), (1.0, 0.99, 1.01))
NEARER = make_cells("table_2", "1 % loss", NOT_REPRODUCED, (4.0, 3.0, 5.0), (1.0, 0.99, 1.01))
CLOSE = make_cells("table_2", "no loss", UNDECIDED, (1.0, 0.9, 1.1), (1.0, 0.99, 1.01))


# Pairs


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


# Findings


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
    counted, named = contradicted.split("[: ")
    assert counted == "**Contradicted:** [3 of 4 claims](claims.qmd?verdict=contradicted#all-claims)"
    # On the website the strip of verdicts names them.
    assert named.endswith(']{.content-visible when-format="typst"}.')
    assert re.findall(r"\((claims\.qmd#claim-\w+)\)", named) == [
        f"claims.qmd#claim-{name}" for name in ("second", "third", "fourth")
    ]
    assert named.startswith("[c](claims.qmd#claim-second); ")
    assert html.unescape(in_size) == (
        "**Differs only in size:** [1 of 4 claims](claims.qmd?verdict=differs+only+in+size#all-claims)."
    )
    causes = re.findall(r"\n  Recorded causes of the claims: (.*)\n", found)
    assert causes == ["a buffer (1), time (1).", "a buffer (1)."]
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


def test_who_retransmits_less_is_said_with_the_ratios_of_both():
    asked = make_comparisons(
        ("BBR retransmits less", "slow port, both", 0.01), "equal within ±5 %", "undecided", "undecided"
    ).with_columns(measure=pl.lit("retransmit_ratio"), second_mean=pl.lit(0.02), effect_mean_ratio=pl.lit(0.5))
    asked = asked.with_columns(ahead_algorithm=pl.Series(["BBR", None, None, None]))
    (said,) = describe_retransmits(asked)
    assert said == (
        "**Who retransmits less?** With flows of both algorithms together &#40;slow port&#41; CUBIC retransmits 2.00 "
        "times as much as BBR (2.00 &#37; of segments against 1.00 &#37;)."
        "\n\nOf [4 comparisons](tables.qmd?rows=retransmit#table-comparisons)"
        ": BBR retransmits less in 1; 2 are undecided; 1 is equal."
    )
    assert describe_retransmits(NO_COMPARISONS) == []
    # With random loss the typical ratio goes first; where nobody retransmits none is there to be compared.
    ratios = (0.5, 0.9, 1.0, 1.2)
    lossy = make_comparisons(*(("undecided", f"0.1 % loss, {n} flows", ratio) for n, ratio in enumerate(ratios)))
    lossy = lossy.with_columns(first_mean=0.001, second_mean=0.0009)
    # Where far more is retransmitted than the path loses, queues overflow as well.
    overflow = make_comparisons(("undecided", "0.1 % loss, 9 flows", 0.1)).with_columns(
        first_mean=0.001, second_mean=0.01
    )
    none = make_comparisons(("equal within ±5 %", "no loss, 1 flow", None)).with_columns(
        first_mean=0.0, second_mean=0.0
    )
    (said,) = describe_retransmits(pl.concat([lossy, overflow, none]).with_columns(measure=pl.lit("retransmit_ratio")))
    assert said == (
        "**Who retransmits less?** Under random loss alone no difference is shown (all 4 comparisons are undecided): "
        "BBR typically retransmits 0.950 times the share of segments that CUBIC does (median; from 0.500 to 1.20).\n\n"
        "Of [6 comparisons](tables.qmd?rows=retransmit#table-comparisons): in 1 neither retransmits anything; 5 "
        "are undecided."
    )


def test_who_retransmits_nothing_is_counted_once_and_has_no_ratio():
    questions = (("undecided", "no loss", 1.0), ("undecided", "loss", 1.0), ("CUBIC faster", "x, both", 590.0))
    asked = make_comparisons(*questions).with_columns(
        measure=pl.lit("retransmit_ratio"),
        first_mean=pl.Series([0.0, 0.001, 0.006]),
        second_mean=pl.Series([0.0, 0.001, 0.0]),
    )
    (said,) = describe_retransmits(asked)
    shown = html.unescape(said)
    assert "BBR retransmits more than CUBIC (0.600 % of segments against 0 %)" in shown
    assert shown.endswith(": CUBIC retransmits less in 1; in 1 neither retransmits anything; 1 is undecided.")


def test_clear_differences_of_retransmits_have_a_sentence_each():
    # One of four with random loss is clear; five are clear in all, of which three are told.
    lossy = [("BBR retransmits less" if n == 0 else "undecided", f"1 % loss, {n} flows", 0.5) for n in range(4)]
    clear = [("CUBIC retransmits less", f"{n}G sender", float(n)) for n in (2, 3, 4, 5)]
    asked = make_comparisons(*lossy, *clear).with_columns(
        measure=pl.lit("retransmit_ratio"),
        first_mean=0.01 * pl.col("effect_mean_ratio"),
        second_mean=pl.lit(0.01),
        ahead_algorithm=pl.col("verdict").str.extract("(.*) retransmits less"),
    )
    (said,) = describe_retransmits(asked)
    short, shown, _ = html.unescape(said).split("\n\n")
    assert short == (
        "**Who retransmits less?** **Random loss:** BBR retransmits less in 1 of 4 comparisons.\\\n"
        "**5G sender:** BBR 5.00 times as much.\\\n"
        "**4G sender:** BBR 4.00 times.\\\n"
        "**3G sender:** BBR 3.00 times.\\\n"
        "**Others:** a clear difference in 1 more."
    )
    assert "Under random loss alone BBR retransmits less in 1 of 4 comparisons (3 undecided): BBR typically" in shown
    assert "The difference is clear in 5 comparisons, most in these 3. From a 5G sender BBR retransmits 5.00" in shown
    assert "times as much as CUBIC (5.00 % of segments against 1.00 %)." in shown
    assert shown.count("retransmits") == 5


def test_who_gets_how_little_at_worst_is_said_with_the_claims_about_starvation():
    asked = make_comparisons(
        ("BBR faster", "1 % loss, both, 16 flows", 19.0),
        ("BBR faster", "no loss, both, 16 flows", 4.0),
        ("CUBIC faster", "short path, both, 16 flows", 0.25),
        ("BBR faster", "1 % loss, alone, 16 flows", 99.0),
    )
    judged = make_claims(first=[("holds", 9)], second=[("does not hold", 9)])
    claims = declare(judged)
    assert describe_starvation(asked, judged, claims) == []
    for facts in claims.values():
        facts["is_starvation"] = True
    (said,) = describe_starvation(asked, judged, claims)
    # 1 / (19 + 1), and 0.25 / (1 + 0.25).
    short, where, told = html.unescape(said).split("\n\n")
    assert short == "**Does one starve the other?** At worst CUBIC gets 5.0 % and BBR gets 20 % of the rate of both."
    assert where == (
        "CUBIC gets its 5.0 % with 16 flows of both algorithms together at 1 % loss. BBR gets its 20 % with 16 flows "
        "of both algorithms together (short path). Of 2 claims about it: 1 holds, 1 contradicted."
    )
    assert "“CUBIC <b>varies</b> more”: [contradicted](claims.qmd?verdict=contradicted#all-" in told
    assert describe_starvation(asked.filter(question="1 % loss, alone, 16 flows"), judged, claims) == []


def test_comparisons_that_the_paper_has_not_or_looks_wrong_in_are_counted_apart():
    questions = [f"{loss} % loss, {n} flows" for loss in (1, 2) for n in (1, 2)]
    asked = make_comparisons(*(("BBR faster", question, 2.0) for question in questions)).with_columns(
        table_name=pl.lit("table_2")
    )
    cells = [{"table_name": "table_2", "cell": name, "cell_state": "compared"} for name in questions[:2]]
    cells[1]["cell_state"] = "suspect"
    compared = pl.DataFrame(cells).with_columns(comparison=pl.lit("paper"))
    marked = mark_published(asked, pl.concat([compared, compared]))
    assert marked["published"].to_list() == ["compared", "suspect", "not published", "not published"]
    lossless = asked.head(3).with_columns(question=pl.Series([f"no loss, {n} flows" for n in range(3)]))
    (said,) = describe_leads(pl.concat([marked, mark_published(lossless, compared.clear())]))
    assert "in all 4 comparisons (2 are not in the paper and 1 is suspect in the paper)" in html.unescape(said)
    # Of a table without published cells nothing is said.
    assert "With no loss BBR is faster in all 3 comparisons, " in said
    sizes = asked.head(1).with_columns(question=pl.lit("buffer 8 MB, both"))
    cells = pl.DataFrame([{"table_name": "table_2", "cell": "8 MB, both", "cell_state": "compared"}])
    assert mark_published(sizes, cells.with_columns(comparison=pl.lit("paper")))["published"].to_list() == ["compared"]


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
    )
    found = render_findings(judged, declare(judged), NO_PAIRS, BOTH, NO_COMPARISONS, TITLES)
    *_, last = list_sentences(found)
    assert last == "**Undecided:** [3 of 4 claims](claims.qmd?verdict=undecided#all-claims)."
    assert (
        "\n  Why claims are undecided: no run here meets the conditions (1); each condition has only one run (1); "
        "the runs are too few or vary too much (1).\n"
    ) in found


def test_what_comparisons_leave_open_is_said_with_what_they_could_have_shown():
    asked = pl.concat([make_comparisons("undecided", "BBR faster", least=12.3), make_comparisons("undecided")])
    asked = pl.concat([asked, make_comparisons("undecided", least=40.0)])
    found = render_findings(NO_CLAIMS, {}, make_pairs(AHEAD), BOTH, asked, TITLES)
    *_, last = list_sentences(found)
    assert last == "**Undecided:** [3 of 4 comparisons](tables.qmd?rows=undecided#table-comparisons)."
    # The median of 12.3 and 40.
    least = "half of the other 2 could have shown only a difference above 26 &#37;."
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


# The verdicts on claims


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


# The picture


def list_marks(chart: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the layers of a kind of mark that stand at values, which those of the legend do not."""
    return [
        layer for layer in chart["layer"] if layer["mark"]["type"] == kind and "field" in layer["encoding"].get("y", {})
    ]


def test_a_mark_is_nearer_to_the_name_above_it_than_to_the_next():
    # Names are 8 px below the upper edges of their rows.
    assert NARROW.mark - 8 < NARROW.row + 8 - NARROW.mark


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_dots_bands_and_intervals_stand_at_their_ratios(layout: Any):
    pairs = make_pairs(AHEAD, ELSEWHERE, CLOSE)
    figure = draw_forest(pairs, TITLES, BOTH, layout, 2)
    assert figure.caption.endswith(" Not drawn: 2 pairs suspect in the paper.")
    assert figure.caption.startswith("Ratio of the arithmetic mean rates of BBR and CUBIC")
    chart = figure.chart.to_dict(validate=False)
    data = chart["datasets"]

    def rows(layer: dict[str, Any]) -> list[dict[str, Any]]:
        return list(data[layer["data"]["name"]])

    (band,) = list_marks(chart, "bar")
    # Half and twice of what is published.
    assert [(row["ratio"], row["ratio_high"]) for row in rows(band)] == [(4.0, 16.0), (12.9, 51.6), (0.5, 2.0)]
    published, own = (rows(layer) for layer in list_marks(chart, "point"))
    assert [row["ratio"] for row in published] == [8.0, 25.8, 1.0]
    assert [(row["ratio"], row["verdict"]) for row in own] == [
        (10.0, REPRODUCED),
        (1.0, NOT_REPRODUCED),
        (1.0, UNDECIDED),
    ]
    thin, thick = (rows(layer) for layer in list_marks(chart, "rule")[1:])
    assert [(row["ratio"], row["ratio_high"]) for row in thick] == [(8.0, 12.5), (0.99, 1.01), (0.99, 1.01)]
    assert all(outer["ratio"] < inner["ratio"] for outer, inner in zip(thin, thick, strict=True))
    # No two rows share a place, and all are in the plot.
    places = [row["y"] for row in own]
    assert places == sorted(set(places))
    assert places[-1] < chart["height"]
    assert figure.data.height == 3
    assert "Table I: by buffer: 1 reproduced." in figure.alternative


def test_verdicts_differ_in_shape_as_well_as_colour():
    chart = draw_forest(make_pairs(AHEAD), TITLES, BOTH, WIDE).chart.to_dict(validate=False)
    (own,) = (layer for layer in list_marks(chart, "point") if "shape" in layer["encoding"])
    assert len(set(own["encoding"]["shape"]["scale"]["range"])) == 3
    assert len(set(own["encoding"]["fill"]["scale"]["range"])) == 3


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_own_marks_and_intervals_are_below_those_of_the_paper_and_within_their_row(layout: Any):
    chart = draw_forest(make_pairs(AHEAD), TITLES, BOTH, layout).chart.to_dict(validate=False)
    published, own = (layer["mark"] for layer in list_marks(chart, "point"))
    # Own marks are the larger ones, and their circles of 5.5 px hide less than half of the paper's ring of 3.1 px.
    radius, ring = (math.sqrt(mark["size"] / math.pi) for mark in (own, published))
    assert radius > 1.5 * ring
    assert own["yOffset"] - radius - published["yOffset"] > 0
    # Lines of intervals are below the marks, within the row.
    offsets = {layer["mark"]["yOffset"] for layer in list_marks(chart, "rule")[1:]}
    assert min(offsets) - 1.5 >= own["yOffset"] + radius - 0.5
    assert layout.mark + max(offsets) + 1.5 <= layout.row


def test_the_numbers_of_the_axis_are_above_the_plot_too():
    # An axis from 0.1 to 1000 over 495 px has 1 at a quarter.
    texts = [layer.to_dict(validate=False) for layer in write_top_ticks([1, 10], (0.1, 1000.0), WIDE)]
    assert [(text["mark"]["text"], text["encoding"]["x"]["value"]) for text in texts] == [
        (["1"], 123.8),
        (["10"], 247.5),
    ]
    assert all(text["encoding"]["y"]["value"] < 0 for text in texts)


def test_every_other_row_of_a_table_has_a_stripe_from_its_name_to_the_right_end():
    rows = pl.DataFrame({"table_name": ["a", "a", "a", "b"], "top": [26.0, 46.0, 66.0, 112.0]})
    chart = draw_stripes(rows, alt.Y("y:Q"), WIDE).to_dict(validate=False)
    (stripes,) = chart["datasets"].values()
    assert [(row["y"], row["y_low"]) for row in stripes] == [(26, 46), (66, 86), (112, 132)]
    assert (chart["encoding"]["x"], chart["encoding"]["x2"]) == ({"value": -325}, {"value": 495})


def test_without_pairs_the_picture_is_the_first_figure_that_has_data(tmp_path: Path):
    first_page, figures = tmp_path / "first_page", tmp_path / "figures"
    for folder in (first_page / "pairs", figures / "by_loss", figures / "by_rtt"):
        folder.mkdir(parents=True)
    for folder in (first_page / "pairs", figures / "by_loss"):
        (folder / "missing.txt").write_text("none\n")
    files = {"caption.txt": "Rate by RTT.\nDetails.", "alt.txt": "A chart", "figure.svg": '<svg width="9" height="6"/>'}
    for name, text in files.items():
        (figures / "by_rtt" / name).write_text(text)
    shown = render_picture(first_page, figures, ["by_loss", "by_rtt"])
    assert '<img src="figures/by_rtt/figure.svg" alt="A chart"' in shown
    assert "<figcaption>Rate by RTT&#46;</figcaption>" in shown
    assert "Details" not in shown
    # On paper it is among the figures.
    assert "typst" not in shown
    assert render_picture(first_page, figures, ["by_loss"]) == ""


# Without a publication


def make_means(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return conform(
        pl.DataFrame([{"flows_count": 1, "rate_basis": "goodput", "runs_count": 3} | row for row in rows]), "means"
    )


def test_the_means_of_each_algorithm_are_said_in_words():
    # A flow beside that of another algorithm: the fairness between the two is not that of either.
    shared = {"path_rtt": "RTT 20 ms", "retransmit_ratio": 0.01, "jain_mean_ratio": 0.6}
    rows = [
        shared | {"algorithm": "BBR", "rate_mean_bps": 91e6, "rate_low_bps": 89e6, "rate_high_bps": 93e6},
        shared | {"algorithm": "CUBIC", "rate_mean_bps": 10e6, "rate_low_bps": 9e6, "rate_high_bps": 11e6},
        {"path_rtt": "RTT 80 ms", "algorithm": "CUBIC", "rate_mean_bps": 5e6, "runs_count": 1},
    ]
    verdicts = [
        ("BBR faster", "0.01 % loss, RTT 20 ms", (1.4, 1.25, 1.6)),
        ("undecided", "no loss, RTT 20 ms", (1.04, 0.897, 1.2)),
        ("BBR faster", "0.01 % loss, RTT 80 ms", (1.5, 1.3, 1.7)),
        ("CUBIC faster", "no loss, RTT 80 ms", (0.5, 0.4, 0.8)),
    ]
    assert list(map(html.unescape, describe_means(make_means(rows), make_comparisons(*verdicts)))) == [
        "**BBR** (3 runs): goodput of 91.0 Mbit/s, 1.00 % of segments retransmitted.",
        "**CUBIC** (2 conditions, 4 runs): goodput of 5.00 to 10.0 Mbit/s, 1.00 % of segments retransmitted.",
        (
            "**BBR or CUBIC?** BBR is faster at 0.01 % loss (RTT 20 and 80 ms), 1.40 to 1.50 times CUBIC’s rate (95 % "
            "intervals within 1.25 to 1.70); CUBIC is faster with no loss at RTT 80 ms, 2.00 times BBR’s rate (95 % "
            "interval 1.25 to 2.50); undecided with no loss at RTT 20 ms: BBR has 1.04 times CUBIC’s rate (95 % "
            f"interval 0.897 to 1.20; 1 run of each) ([4 comparisons]({RATES}) of geometric means)."
        ),
    ]


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        (
            ["RTT 10 ms, fq", "RTT 10 ms, pfifo", "RTT 40 ms, fq", "RTT 40 ms, pfifo"],
            "under all 4 conditions (RTT 10 and 40 ms; fq and pfifo), 2.00 times",
        ),
        (
            ["RTT 10 ms, fq, 1 flow", "RTT 40 ms, pfifo, 2 flows"],
            "under both conditions (RTT 10 ms, fq, 1 flow; RTT 40 ms, pfifo, 2 flows), ",
        ),
        (["RTT 10 ms, a b", "RTT 10 ms, c"], "under both conditions (a b and c), "),
        (["RTT 10 ms, host"], "(host) at RTT 10 ms, "),
    ],
)
def test_conditions_that_agree_are_named_by_what_varies(questions: list[str], said: str):
    means = make_means([{"algorithm": "BBR", "rate_mean_bps": 9e7}])
    faster = [("BBR faster", question, 2.0) for question in questions]
    *_, last = map(html.unescape, describe_means(means, make_comparisons(*faster)))
    assert f"BBR is faster {said}" in last


def test_many_comparisons_of_one_verdict_are_counted_once():
    means = make_means([{"algorithm": "BBR", "rate_mean_bps": 9e7}])
    faster = [("BBR faster", f"RTT {number} ms", 2.0) for number in range(13)]
    *_, last = map(html.unescape, describe_means(means, make_comparisons(*faster)))
    most = "most at RTT 0 ms (2.00 times the rate)"
    assert (
        last == f"**BBR or CUBIC?** BBR is faster in [all 13 comparisons]({RATES}), {most}. Ratios are of {GEOMETRIC}."
    )


def test_runs_that_processors_limited_are_counted_beside_the_verdicts():
    runs = pl.DataFrame({"is_counted": [True, True, False], "is_cpu_bound": [True, None, True]})
    (said,) = describe_bound(runs)
    assert said.startswith("**Caution:** [1 of the 2 runs](collection.qmd#cpu-bound) was CPU-bound")
    assert describe_bound(runs[1:]) == []


def test_fairness_is_said_of_several_flows():
    rows = [{"algorithm": "BBR", "rate_mean_bps": 9e7, "flows_count": 4, "jain_mean_ratio": 0.6}]
    assert describe_means(make_means(rows), make_comparisons()) == [
        "**BBR** (3 runs): goodput of 90.0 Mbit/s, a fairness among flows (Jain’s index) of 0.600."
    ]


def test_where_each_algorithm_is_faster_is_said_in_plain_words_before_the_counts():
    lossy = [
        ("BBR faster", f"0.1 % loss, {count} flows, RTT 20 ms", ratio) for count, ratio in ((1, 9.5), (2, 3), (4, 2))
    ]
    lossless = [("equal within ±5 %", f"no loss, {count} flows, RTT 20 ms", 1.0) for count in (1, 2, 4)]
    # A fifth of BBR's rate.
    short = [("CUBIC faster", f"{speed}G sender, RTT 20 ms", 0.2) for speed in (10, 40)]
    (said,) = describe_leads(make_comparisons(*lossy, *lossless, *short))
    assert html.unescape(said) == (
        "**BBR or CUBIC?** **No loss:** equal within ±5 % in all 3 comparisons.\\\n"
        "**0.1 % loss:** BBR 9.50 times CUBIC’s rate with 1 flows, 2.00 times with 4.[\\\n"
        "**All random loss:** BBR faster in all 3 comparisons (2.00 to 9.50 times).\\\n"
        "**Where the bottleneck’s buffer can overflow (10G sender, 40G sender):** CUBIC faster in both comparisons "
        '(5.00 times).]{.content-visible when-format="html"}\n\n'
        "With random loss BBR is faster in all 3 comparisons, most with 1 flows at 0.1 % loss (9.50 "
        "times the rate). With no loss the two are equal within ±5 % in all 3 comparisons. CUBIC is faster in "
        "only 2 comparisons, most from a 10G sender (5.00 times the rate).\n\n"
        f"Of [8 comparisons]({RATES}) of rates (ratios of {GEOMETRIC}): BBR faster in 3; equal within ±5 % in 3; "
        "CUBIC faster in 2."
    )
    # One that is surely ahead is so within the bounds of equality, too.
    near = make_comparisons(*lossy, *(("equal within ±5 %", name, 1 / 1.02) for _, name, _ in lossless))
    (said,) = describe_leads(near.with_columns(p_holm_ratio=0.01))
    told = "With no loss CUBIC is 2.0 % ahead in all 3 comparisons: within the ±5 % that count as equal."
    assert told in html.unescape(said)
    some = pl.Series([0.01, 0.01, 0.01, 0.01, 0.3, 0.01])
    (said,) = describe_leads(near.with_columns(p_holm_ratio=some))
    told = "With no loss the two are equal within ±5 % in all 3 comparisons (within that, CUBIC is 2.0 % ahead in 2)."
    assert told in html.unescape(said)
    (said,) = describe_leads(near.with_columns(p_holm_ratio=0.3))
    assert "ahead" not in said
    deep = [("BBR faster", f"{size} MB, RTT 20 ms", 3.0) for size in (8, 16, 32)]
    asked = make_comparisons(*lossy, *lossless, *short[:1], *deep)
    (said,) = describe_leads(asked, titles=TITLES)
    told = "(10G sender, 8 MB, 16 MB, 32 MB) BBR is faster in 3 of 4 comparisons"
    assert f"Where the bottleneck’s buffer can overflow {told}" in html.unescape(said)
    # Of tables that have none of the conditions with a loss only the table is named.
    tables = pl.Series(["table_2"] * 7 + ["table_1"] * 3)
    (said,) = describe_leads(asked.with_columns(table_name=tables), titles=TITLES)
    assert "Where the bottleneck’s buffer can overflow (Table I, 10G sender) BBR is faster" in html.unescape(said)
    assert "With random loss (Table II) BBR is faster in all 3 comparisons" in html.unescape(said)
    alike = [("CUBIC faster", f"short, {speed}G sender", 0.2) for speed in (10, 40)]
    (said,) = describe_leads(make_comparisons(*lossy, *alike))
    assert "CUBIC is faster in only 2 comparisons, both (short; up to 5.00 times the rate)." in html.unescape(said)
    # Without conditions of loss, all comparisons are one group; of a tie nothing is said.
    (said,) = describe_leads(make_comparisons(*lossy, *short))
    assert "**BBR or CUBIC?** BBR is faster in 3 of 5 comparisons, most with 1 flows at" in html.unescape(said)
    (said,) = describe_leads(make_comparisons(*lossy[:2], *short))
    assert said.startswith("**BBR or CUBIC?** Of [4 comparisons]")


def test_a_line_for_each_loss_has_the_ratios_on_the_longest_paths_that_all_losses_have():
    def ask(loss: str, rtt: str, *ratios: tuple[float, float, float] | None) -> list[tuple[str, str, Any]]:
        names = ("alone, 1 flow", "alone, 4 flows", "alone, 16 flows", "both, 16 flows")
        asked = zip(names, ratios, strict=False)
        return [("BBR faster" if ratio else "undecided", f"{loss}, {name}, {rtt}", ratio) for name, ratio in asked]

    near = (2.0, 1.5, 3.0)
    asked = [
        *ask("0.01 % loss", "RTT < 30 ms", near, near, near, near),
        *ask("0.01 % loss", "RTT ≥ 30 ms", (24.13, 11.0, 52.8), near, None, (3.366, 3.16, 3.59)),
        # Longer still, but only at one loss.
        *ask("0.1 % loss", "RTT 200 ms", near, near, near, near),
        *ask("0.1 % loss", "RTT < 30 ms", near, near, near, near),
        *ask("0.1 % loss", "RTT ≥ 30 ms", (117.4, 94.3, 146.0), near, (8.2, 7.76, 8.72), (15.4, 14.4, 16.4)),
        *(("equal within ±5 %", f"no loss, {name}", 1.0) for name in "abc"),
    ]
    rtts = pl.DataFrame([("comparisons", asked[4][1], [80.0])], schema=NO_RTTS.schema, orient="row")
    (said,) = describe_leads(make_comparisons(*asked), rtts)
    high, low = html.unescape(said).split("\\\n")[1:3]
    assert high == (
        "**0.1 % loss, 80 ms:** BBR 117 times CUBIC’s rate (geometric means; 95 % interval 94.3–146) with 1 flow, "
        "8.20 times (7.76–8.72) with 16 alone, 15.4 times (14.4–16.4) with 16 sharing.["
    )
    # Where not all are decided the PDF has no room for it on its first page.
    assert low == (
        "**0.01 % loss, 80 ms:** BBR 24.1 times (11.0–52.8) with 1 flow, undecided with 16 alone, BBR 3.37 times "
        "(3.16–3.59) with 16 sharing."
    )
    # Where CUBIC is faster its ratio, and the ends of the interval, are the other way round.
    slower = [("CUBIC faster", f"1 % loss, {n} flows", (0.25, 0.2, 0.5)) for n in (2, 3, 4)]
    (said,) = describe_leads(make_comparisons(*slower, *asked[-3:]))
    first = "**1 % loss:** CUBIC 4.00 times BBR’s rate (geometric means; 95 % interval 2.00–5.00) with 2 flows"
    line = f"{first}, 4.00 times (2.00–5.00) with 4"
    assert line in html.unescape(said)
    # Losses that share no conditions have no lines.
    (said,) = describe_leads(make_comparisons(*slower, ("BBR faster", "2 % loss, 9 flows", 2.0), *asked[-3:]))
    assert "times BBR’s rate (95 %" not in html.unescape(said)


def test_the_smallest_and_the_largest_buffer_are_told_beside_the_papers():
    lossy = [("equal within ±5 %", f"{loss} loss, both, 16 flows, RTT < 30 ms", 1.0) for loss in ("no", "1 %", "2 %")]
    ratios = {"8 MB": (10.0, 9.0, 12.0), "12 MB": (6.0, 5.0, 7.0), "64 MB": (3.0, 2.0, 4.0)}
    sized = [("BBR faster", f"buffer {size}, both, 16 flows", ratio) for size, ratio in ratios.items()]
    asked = make_comparisons(*lossy, *sized).with_columns(table_name=pl.lit("table_1"))
    rtts = pl.DataFrame(
        [("table_1", question, [88.0]) for _, question, _ in sized], schema=NO_RTTS.schema, orient="row"
    )
    pairs = make_pairs(
        *(
            make_cells("table_1", f"{size}, both, 16 flows", UNDECIDED, (theirs, None, None), (3.0, 2.0, 4.0))
            for size, theirs in (("8 MB", 20.75), ("64 MB", 0.913))
        )
    )
    (said,) = map(html.unescape, describe_sharing(asked, rtts, TITLES, pairs))
    own = (
        "**Buffer of 8 MB to 64 MB (88 ms):** BBR gets 10.0 times CUBIC’s rate (9.00–12.0) with 8 MB and "
        "3.00 times (2.00–4.00) with 64 MB"
    )
    assert f"{own}; in the paper 20.8 and 0.913 times.[\\\n" in said
    # Half of a pair is not the paper's answer.
    (said,) = map(html.unescape, describe_sharing(asked, rtts, TITLES, pairs[:1]))
    assert f"{own}.[\\\n" in said


def test_whose_rates_vary_more_is_said_with_the_ratio_of_the_mean_cvs():
    row = {"rtt_bucket": "RTT < 30 ms", "first_algorithm": "BBR", "second_algorithm": "CUBIC", "cells_count": 12}
    rows = [
        {"first_cv": 0.002, "second_cv": 0.033, "ratio": 16.5, "low": 9.7, "high": 29.8, "paper_ratio": 4.17},
        # The other way round, of an evaluation that publishes no CVs.
        {"first_cv": 0.2, "second_cv": 0.05, "ratio": 0.25, "low": 0.125, "high": 0.5, "paper_ratio": None},
        {"first_cv": 0.1, "second_cv": 0.12, "ratio": 1.2, "low": 0.6, "high": 2.4, "paper_ratio": 5.1},
    ]
    found = [row | own | {"rtts_ms": [10.0 * number]} for number, own in enumerate(rows, 1)]
    (said,) = map(html.unescape, describe_variation(pl.DataFrame(found, schema=NO_VARIATION.schema)))
    assert said.startswith(
        "**Which varies more from run to run?** **10 ms:** CUBIC’s CV is 16 times BBR’s (9.7–30), 3.3 % against "
        "0.20 %; in the paper 4.2 times.\\\n**20 ms:** BBR’s CV is 4.0 times CUBIC’s (2.0–8.0), 20 % against 5.0 %.\\\n"
        "**30 ms:** undecided, CUBIC’s CV is 1.2 times BBR’s (0.60–2.4), 12 % against 10 %; in the paper 5.1 times.\n\n"
    )
    assert "over 12 conditions" in said
    assert describe_variation(NO_VARIATION) == []


def test_who_gets_more_when_they_share_is_said_by_loss_and_round_trip_time():
    asked = [
        ("equal within ±5 %", "no loss, both, 16 flows, RTT < 30 ms", 1.0),
        ("equal within ±5 %", "0.1 % loss, both, 16 flows, RTT < 30 ms", 1.0),
        ("undecided", "0.1 % loss, both, 16 flows, RTT ≥ 30 ms", 1.1),
        ("BBR faster", "1 % loss, both, 16 flows, RTT < 30 ms", 2.0),
        ("BBR faster", "1 % loss, both, 16 flows, RTT ≥ 30 ms", 4.0),
        ("CUBIC faster", "1 % loss, both, 16 flows, RTT 200 ms", 0.25),
        # Alone, with other flows, or without a loss.
        ("BBR faster", "1 % loss, alone, 16 flows, RTT ≥ 30 ms", 9.0),
        ("BBR faster", "1 % loss, both, 8 flows, RTT ≥ 30 ms", 9.0),
    ]
    rtts = [("comparisons", asked[4][1], [80.0])]
    known = pl.DataFrame(rtts, schema=NO_RTTS.schema, orient="row")
    (said,) = map(html.unescape, describe_sharing(make_comparisons(*asked), known))
    assert said == (
        "**Who gets more when they share?** **No loss:** equal within ±5 %.\\\n"
        "**0.1 % loss:** no clear difference.\\\n"
        "**1 % loss:** BBR or CUBIC gets more, depending on the RTT.\n\n"
        "At 1 % loss BBR gets 2.00 times CUBIC’s rate at RTT < 30 ms and 4.00 times "
        "at 80 ms; CUBIC gets 4.00 times BBR’s rate at RTT 200 ms. At 0.1 % loss the two rates are equal within ±5 % "
        "at RTT < 30 ms; at RTT ≥ 30 ms the comparison is undecided. With no loss the two rates are equal within ±5 %. "
        "([6 comparisons](conditions.qmd) of 16 flows; ratios of geometric means; in brackets 95 % intervals.)"
    )
    full = [("BBR faster", f"{size} MB, both, 16 flows", ratio) for size, ratio in ((8, 9.0), (16, 4.0))]
    full += [("CUBIC faster", "short path, both, 16 flows", 0.1), ("undecided", "64 MB, both, 16 flows", 1.0)]
    (said,) = map(html.unescape, describe_sharing(make_comparisons(*asked, *full)))
    assert said.endswith(
        " Where the bottleneck’s buffer can overflow (8 MB, 16 MB, short path, 64 MB) BBR gets 4.00 to 9.00 times "
        "CUBIC’s rate in 2 of 4 comparisons and CUBIC gets 10.0 times BBR’s rate in 1."
    )
    assert describe_sharing(make_comparisons(*asked[:1], *asked[6:])) == []
    assert describe_sharing(NO_COMPARISONS) == []


def test_below_the_title_is_what_was_measured_with_links_to_the_parts_of_the_page():
    facts = {"most": "3 runs", "bottlenecks": "10 Gbit/s", "rtt": "5 ms", "losses": "unknown", "kernels": "6.1"}
    said = render_jumps(facts, 0, has_claims=True)
    assert "3 runs; bottlenecks of 10 Gbit/s; RTT 5 ms; Linux 6.1; no files rejected. On this page: [Results]" in said
    assert "[Claims](#verdicts)" in said
    said = render_jumps(facts, 1, has_claims=False)
    assert "1 file rejected" in said
    assert "Claims" not in said


def test_the_pair_that_is_farthest_off_has_the_recorded_cause():
    explained = {"causes": {}, "pairs": {"0.1 % loss": "The buffer is *ours*."}}
    pairs = make_pairs(AHEAD, NEARER, ELSEWHERE)
    found = render_findings(NO_CLAIMS, {}, pairs, BOTH, NO_COMPARISONS, TITLES, explained=explained)
    assert "and 1.00 here.\n" in found
    assert "\n  Recorded cause of the worst pair: The buffer is *ours*.\n" in html.unescape(found)
    assert "Recorded" not in render_findings(NO_CLAIMS, {}, pairs, BOTH, NO_COMPARISONS, TITLES)


def test_the_first_page_leads_to_throughput_over_time_where_figures_have_it(tmp_path: Path):
    (tmp_path / "figure_2").mkdir()
    declared = {"figures": {"figure_2": {"kind": "throughput_over_time", "title": "One flow"}}}
    topic = "[What happens second by second](figures.qmd#topic-throughput-over-time)?"
    assert topic in ask_figures(declared, tmp_path)
    (tmp_path / "figure_2/missing.txt").write_text("none\n")
    assert "[What happens second by second](figures.qmd)?" in ask_figures(declared, tmp_path)


def test_the_first_page_has_the_questions_that_figures_declare(tmp_path: Path):
    (tmp_path / "lone").mkdir()
    facts = {"kind": "throughput_over_time", "title": "One flow", "question": "What does *loss* do"}
    asked = ask_figures({"figures": {"lone": facts}}, tmp_path)
    assert "- [What does &#42;loss&#42; do](figures.qmd#figure-lone)?\n" in asked
    # Whoever writes the question mark gets no second one.
    assert ask_figures({"figures": {"lone": facts | {"question": "What does *loss* do? "}}}, tmp_path) == asked
    (tmp_path / "lone/missing.txt").write_text("none\n")
    assert "loss" not in ask_figures({"figures": {"lone": facts}}, tmp_path)


def test_first_seconds_are_asked_for_where_a_test_goes_on(tmp_path: Path):
    (tmp_path / "lone").mkdir()
    declared = {"figures": {"lone": {"kind": "throughput_over_time", "title": "One flow", "until_s": 20}}}
    for caption, is_asked in (("Rates over the whole test; only the first 20 s are drawn.", True), ("Rates.", False)):
        (tmp_path / "lone/caption.txt").write_text(caption)
        assert ("How does a test start" in ask_figures(declared, tmp_path)) is is_asked


def test_labels_are_called_by_what_the_evaluation_shows_them_as():
    labels = {
        "path": {"cases": [{"value": "esnet", "shown": "ESnet"}, {"value": "non-esnet", "shown": "non-ESnet"}]},
        "speed": {"cases": [{"value": "40g", "shown": "40G"}, {"value": "10g"}]},
    }
    cells = pl.Series(
        ["40g sender, esnet, both", "10g sender, non-esnet, both", "140g, my esnet", "both BBRv2 and bbr"]
    )
    declared = {"labels": labels, "algorithms": {"BBRv2": {"members": ["bbr2"]}}, "algorithm_names": {}}
    assert call_labels(cells, declared).to_list() == [
        "40G sender, ESnet, both",
        "10g sender, non-ESnet, both",
        "140g, my esnet",
        "both BBRv2 and BBR",
    ]


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        (
            "40G sender, ESnet, both, 16 flows, RTT < 30 ms",
            "with 16 flows of both algorithms together from a 40G sender (ESnet) at RTT < 30 ms",
        ),
        (
            "100G sender, testbed, 100G to 10G, alone, 1 flow, RTT ≥ 30 ms",
            "with 1 flow alone from a 100G sender (testbed, 100G to 10G) at RTT ≥ 30 ms",
        ),
        ("no loss, both, RTT < 30 ms", "with flows of both algorithms together with no loss at RTT < 30 ms"),
        ("buffer 8 MB, 0.1 % loss", "at 0.1 % loss with a buffer of 8 MB"),
        ("host, 10 flows, both bbr and cubic", "with 10 flows of bbr and cubic together (host)"),
        ("", ""),
    ],
)
def test_conditions_are_phrases_of_a_sentence(name: str, phrase: str):
    assert phrase_conditions(name) == phrase


def test_a_bucket_is_followed_by_the_round_trip_times_that_it_pools_here():
    assert phrase_conditions("RTT < 30 ms", "5, 9 ms") == "at RTT < 30 ms (here 5, 9 ms)"
    assert phrase_conditions("no loss", "5, 9 ms") == "with no loss"
    assert phrase_conditions("RTT 20 ms", "20 ms") == "at RTT 20 ms"
    # Those who share a path share one of these.
    sharing = "40G sender, ESnet, both, RTT < 30 ms"
    assert phrase_conditions(sharing, "5, 9, 13 ms") == "sharing a path of 5–13 ms from a 40G sender (ESnet)"
    told = phrase_conditions("16 flows, both bbr and cubic, RTT < 30 ms", "9 ms")
    assert told == "with 16 flows of bbr and cubic sharing a path of 9 ms"
    rtts = [("comparisons", f"0.1 % loss, {n} flows, RTT ≥ 30 ms", [80.0, 88.0][: n + 1]) for n in range(3)]
    rtts.append(("comparisons", "no loss, RTT ≥ 30 ms", [300.0]))
    known = pl.DataFrame(rtts, schema=NO_RTTS.schema, orient="row")
    faster = [("BBR faster", name, 5.0) for _, name, _ in rtts[:3]]
    (answer,) = describe_leads(make_comparisons(*faster, ("undecided", "no loss, RTT < 30 ms", 1.0)), known)
    assert " At RTT ≥ 30 ms (here 80, 88 ms) BBR has 5.00 times CUBIC’s" in html.unescape(answer)


def test_words_join_the_bracket_that_ends_a_phrase():
    phrase = escape_text(phrase_conditions("RTT < 30 ms", "5, 9 ms"))
    assert html.unescape(add_bracket(phrase, "up to 3 times")) == "at RTT < 30 ms (here 5, 9 ms; up to 3 times)"
    assert add_bracket("with no loss", "up to 3 times") == "with no loss (up to 3 times)"
    rtts = [("comparisons", f"0.1 % loss, {n} flows, RTT ≥ 30 ms", [80.0]) for n in range(4)]
    known = pl.DataFrame(rtts, schema=NO_RTTS.schema, orient="row")
    verdicts = ("BBR faster", "BBR faster", "CUBIC faster", "CUBIC faster", "BBR faster")
    names = [*(name for _, name, _ in rtts), "no loss, 9 flows"]
    asked = [(verdict, name, 0.5 if verdict[0] == "C" else 5.0) for verdict, name in zip(verdicts, names, strict=True)]
    said = html.unescape(" ".join(describe_leads(make_comparisons(*asked), known)))
    assert ") (" not in said
    assert "RTT ≥ 30 ms (here 80 ms; " in said


def test_round_trip_times_are_those_of_runs_that_count(tmp_path: Path):
    database = tmp_path / "archive.duckdb"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE runs (run_id VARCHAR)")
    assert read_rtts(database, {}).equals(NO_RTTS)
    with duckdb.connect(database) as connection:
        connection.execute("""
            CREATE VIEW comparisons_runs AS SELECT 't' AS table_name, 'esnet, RTT ≥ 30 ms' AS question, * FROM (VALUES
                (80.2::DOUBLE, 80.0::DOUBLE, TRUE), (88.04, NULL, TRUE), (300.0, 300.0, FALSE), (NULL, NULL, TRUE)
            ) AS runs(rtt_ms, rtt_nominal_ms, is_counted)
        """)
    labels = {"path": {"cases": [{"value": "esnet", "shown": "ESnet"}]}}
    found = read_rtts(database, {"labels": labels, "algorithms": {}, "algorithm_names": {}})
    assert found["question"].to_list() == ["ESnet, RTT ≥ 30 ms"]
    assert name_rtts(found, found) == "80, 88 ms"
    assert name_rtts(found, found.clear()) == ""


def test_names_above_marks_have_a_strip_that_neither_marks_nor_the_line_at_equal_rates_enter():
    for layout, strip in ((WIDE, 0), (NARROW, 16)):
        chart = draw_forest(make_pairs(AHEAD, AHEAD), TITLES, BOTH, layout).chart.to_dict(validate=False)
        (line,) = (layer for layer in list_marks(chart, "rule") if "y2" in layer["encoding"])
        above, below = chart["datasets"][line["data"]["name"]]
        assert below["y"] - above["y_low"] == strip
        (band,) = list_marks(chart, "bar")
        half_px = band["mark"]["height"] / 2
        middles = [row["y"] for row in chart["datasets"][band["data"]["name"]]]
        assert [middle - half_px >= row["y"] for middle, row in zip(middles, (above, below), strict=True)] == [True] * 2
        assert all(middle + half_px <= row["y_low"] for middle, row in zip(middles, (above, below), strict=True))
        # No halo, which would cut pieces out of what is drawn before it.
        assert not any("stroke" in layer["mark"] for layer in chart["layer"] if layer["mark"]["type"] == "text")


def test_below_the_name_of_a_table_are_the_round_trip_times_of_its_buckets():
    cells = ("1 flow, RTT < 30 ms", "1 flow, RTT ≥ 30 ms")
    pairs = make_pairs(AHEAD, *(make_cells("table_2", cell, REPRODUCED, (2, 1, 3), (2, 1, 3)) for cell in cells))
    rtts = pl.DataFrame(
        [("table_2", cells[0], [5.0, 9.0, 13.0]), ("table_2", cells[1], [41.0, 87.0, 109.0])],
        schema=NO_RTTS.schema,
        orient="row",
    )
    for layout in (WIDE, NARROW):
        figure = draw_forest(pairs, TITLES, BOTH, layout, rtts=rtts)
        assert "RTT < 30 ms: 5, 9, 13 ms; ≥ 30 ms: 41, 87, 109 ms" in figure.chart.to_json(ensure_ascii=False)
        assert "RTTs here that each bucket pools" in figure.caption
        plain = draw_forest(pairs, TITLES, BOTH, layout)
        assert "RTTs here" not in plain.caption
        assert figure.chart.height == plain.chart.height + 16


def test_nothing_is_faster_where_no_comparison_says_so():
    rows = [{"algorithm": name, "rate_mean_bps": rate} for name, rate in (("BBR", 9e7), ("CUBIC", 1e6))]
    *_, last = describe_means(make_means(rows), make_comparisons("undecided"))
    assert last.endswith(f"**BBR or CUBIC?** Undecided with no loss ([1 comparison]({RATES}) of geometric means).")
    assert describe_means(make_means(rows).clear(), make_comparisons()) == []
    *_, last = map(html.unescape, describe_means(make_means(rows), make_comparisons(("undecided", "no loss", 6.17))))
    assert "BBR has 6.17 times CUBIC’s rate (a verdict needs 3 runs of each, there is 1)" in last
    # The interval is without 1, but the p value is corrected for other comparisons.
    open_one = make_comparisons(("undecided", "no loss", 6.17)).with_columns(
        first_runs_count=3, second_runs_count=3, effect_low_ratio=1.2, effect_high_ratio=9.0
    )
    *_, last = map(html.unescape, describe_means(make_means(rows), open_one))
    assert "within" not in last
    assert "(95 % interval 1.20 to 9.00; 3 runs of each; Holm’s correction for the number of comparisons leave" in last
    settled = open_one.with_columns(verdict=pl.lit("equal within ±5 %"), effect_mean_ratio=1.01, effect_low_ratio=1.001)
    *_, last = map(html.unescape, describe_means(make_means(rows), settled))
    assert "3 runs of each)" in last
    assert "Holm" not in last


def test_rates_of_unequal_numbers_of_flows_are_said_to_be_per_flow():
    asked = make_comparisons(*(("BBR faster", f"0.1 % loss, {n} flows, RTT ≥ 30 ms", 4.0) for n in range(3)))
    per_flow = asked.with_columns(measure=pl.lit("goodput_per_flow_bps"))
    (answer,) = map(html.unescape, describe_leads(per_flow))
    assert "(4.00 times the rate per flow)" in answer
    *_, last = map(html.unescape, describe_means(make_means([{"algorithm": "BBR", "rate_mean_bps": 9e7}]), per_flow))
    assert "4.00 times CUBIC’s rate per flow" in last


def test_the_answer_says_by_how_much_at_each_loss_of_long_paths():
    asked = [("0.1 % loss", 116.0), ("0.1 % loss", 8.224), ("0.1 % loss", 30.0), ("0.01 % loss", 21.04)]
    asked += [("0.01 % loss", 2.111), ("0.01 % loss", 3.366)]
    faster = [("BBR faster", f"{loss}, {n} flows, RTT ≥ 30 ms", ratio) for n, (loss, ratio) in enumerate(asked)]
    equal = [("equal within ±5 %", f"0.001 % loss, {n} flows, RTT ≥ 30 ms", 1.02) for n in range(2)]
    equal.append(("equal within ±5 %", "no loss, 1 flow, RTT < 30 ms", 1.0))
    other = ("BBR faster", "0.001 % loss, 9 flows, RTT ≥ 30 ms", 3.74)
    (answer,) = map(html.unescape, describe_leads(make_comparisons(*faster, *equal, other)))
    assert (
        " At RTT ≥ 30 ms BBR has 8.22 to 116 times CUBIC’s rate (geometric means) at 0.1 % loss and 2.11 to 21.0 "
        "times at 0.01 % loss, depending on the condition.\n\nEach lead at RTT ≥ 30 ms is significant. Of " in answer
    )
    assert "0.001 %" not in answer
    # Of the slower algorithm's ratio, 0.25 and its interval from 0.2 to 0.4, the faster one has the reciprocals.
    ratios = [(0.25, 0.2, 0.4), (0.5, 0.4, 0.8), (0.1, 0.05, 0.2)]
    slower = [("CUBIC faster", f"0.1 % loss, {n} flows, RTT ≥ 30 ms", ratio) for n, ratio in enumerate(ratios)]
    (answer,) = map(
        html.unescape, describe_leads(make_comparisons(*slower, ("undecided", "no loss, RTT < 30 ms", 1.0)))
    )
    assert "CUBIC has 2.00 to 10.0 times BBR’s rate (geometric means) at 0.1 % loss, depending on" in answer
    assert "is significant. Their 95 % intervals are within 1.25 to 20.0 at 0.1 % loss. Of" in answer


SAMPLE_SHA256 = load_yaml(ROOT / "archive/explanations.yaml")["archive_sha256"]
RELEASE = {"version": "1", "doi": None, "creators": [], "raw": "archive", "title": None}


def test_a_report_has_an_entry_for_bibtex_with_the_authors_of_its_software(tmp_path: Path):
    citation = tmp_path / "CITATION.cff"
    citation.write_text("authors: [{name: A & B}, {family-names: Doe, given-names: Jo}]\n", encoding="utf-8")
    authors = list_authors(RELEASE, citation, SAMPLE_SHA256)
    days = "2025-12-31 to 2026-01-02"
    entry = html.unescape(render_bibtex(RELEASE, authors, "100 % {x}", days, "ab" * 32))
    assert "@misc{ccreport-abababab," in entry
    assert "  author = {{A \\& B} and {" in entry
    assert "  title = {{100 \\% \\{x\\}}}," in entry
    assert "  year = {2026}," in entry
    assert "  version = {1}," in entry
    assert "doi" not in entry
    assert "year" not in html.unescape(render_bibtex(RELEASE, authors, "T", "unknown", "ab" * 32))
    released = RELEASE | {"doi": "10.5281/zenodo.1", "creators": [{"name": "C. D."}], "title": "Ours"}
    entry = html.unescape(render_bibtex(released, list_authors(released, citation, "ab" * 32), "T", days, "ab" * 32))
    assert "  title = {{Ours}}," in entry
    assert "  author = {{C. D.}}," in entry
    assert "  doi = {10.5281/zenodo.1}," in entry


def test_a_report_is_cited_by_its_releases_version_doi_and_creators(tmp_path: Path):
    citation = tmp_path / "CITATION.cff"
    citation.write_text("authors: [{name: A & B}]\n", encoding="utf-8")
    assert describe_release(RELEASE, list_authors(RELEASE, citation, SAMPLE_SHA256), "A & B") == {
        "authors": "A &#38; B",
        "by": "A &#38; B: ",
        "title": "A &#38; B",
        "name": ", release 1 of the data",
        "contents": "The release's `CITATION.cff` says the same, and its folder `raw` has the raw archive. ",
    }
    released = RELEASE | {"version": "2.0", "doi": "10.5281/a(b)", "creators": [{"name": "C"}], "raw": "manifest"}
    said = describe_release(released, list_authors(released, citation, "ab" * 32), "T")
    assert (said["authors"], said["by"]) == ("C", "C: ")
    # A sentence begins with it.
    assert describe_release(RELEASE, ["the group"], "T")["by"] == "The group: "
    assert html.unescape(said["name"]) == (
        ", release 2.0 of the data, [https://doi.org/10.5281/a(b)](https://doi.org/10.5281/a%28b%29)"
    )
    assert "`raw` has the list of the raw files" in said["contents"]


def test_own_measurements_are_not_said_to_be_by_the_authors_of_ccreport(tmp_path: Path):
    citation = tmp_path / "CITATION.cff"
    citation.write_text("authors: [{name: A}]\n", encoding="utf-8")
    authors = list_authors(RELEASE, citation, "ab" * 32)
    said = describe_release(RELEASE, authors, "T")
    assert said["authors"] == said["by"] == ""
    assert "`release.creators`" in said["contents"]
    assert "CITATION.cff" not in said["contents"]
    assert "author" not in render_bibtex(RELEASE, authors, "T", "unknown", "ab" * 32)


def test_an_archive_on_the_web_is_a_link_and_one_of_this_machine_a_name():
    places = ["https://example.org/a b.zip", "/home/somebody/own.zip"]
    cited = cite_archive({"archive": places}, {"sha256": "ab", "name": "own.zip"})
    assert html.unescape(cited["place"]) == ("[https://example.org/a b.zip](https://example.org/a%20b.zip), own.zip")
