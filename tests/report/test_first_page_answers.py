"""The first page's answers: which algorithm is faster, gets more, retransmits less and varies more, in words."""

import html
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from condition_runs import build_database
from first_page_inputs import (
    NO_COMPARISONS,
    TITLES,
    declare,
    make_cells,
    make_claims,
    make_comparisons,
    make_pairs,
)
from test_summarise import EVALUATION, gather, run

from ccreport.compare.verdicts import UNDECIDED
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import conform
from ccreport.report.first_page.least_shares import NO_SHARES, read_least_shares
from ccreport.report.first_page.pairs import mark_published
from ccreport.report.first_page.rtts import NO_RTTS
from ccreport.report.first_page.variation import NO_VARIATION
from ccreport.report.fragments.first_page.findings import render_list_of_findings
from ccreport.report.fragments.first_page.mean_findings import describe_bound, describe_means
from ccreport.report.fragments.first_page.rate_findings import describe_leads
from ccreport.report.fragments.first_page.rates_by_loss import Look
from ccreport.report.fragments.first_page.retransmit_findings import describe_retransmits
from ccreport.report.fragments.first_page.sharing_findings import NO_PAIRS, describe_sharing
from ccreport.report.fragments.first_page.starvation_findings import describe_starvation
from ccreport.report.fragments.first_page.variation_findings import describe_variation

GEOMETRIC = "[geometric means](methods.qmd#sec-ratios)"
RATES = "tables.qmd?rows=goodput#table-comparisons"


def test_who_retransmits_less_is_said_with_the_ratios_of_both():
    asked = make_comparisons(
        ("BBR retransmits less", "slow port, both", 0.01), "equal within ±5 %", "undecided", "undecided"
    ).with_columns(measure=pl.lit("retransmit_ratio"), second_mean=pl.lit(0.02), effect_mean_ratio=pl.lit(0.5))
    asked = asked.with_columns(ahead_algorithm=pl.Series(["BBR", None, None, None]))
    (said,) = describe_retransmits(asked)
    assert said == (
        "**How do retransmits differ?** With flows of both algorithms together &#40;slow port&#41; CUBIC retransmits "
        "2.00 times as much as BBR (2.00 &#37; of segments against 1.00 &#37;, arithmetic means of the runs’ ratios)."
        f"\n\nOf [4 comparisons](tables.qmd?rows=retransmit#table-comparisons) (ratios of {GEOMETRIC})"
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
        "**How do retransmits differ?** Under random loss alone no difference is shown (all 4 comparisons are "
        "undecided): BBR typically retransmits 0.950 times the share of segments that CUBIC does (median; from "
        "0.500 to 1.20).\n\n"
        f"Of [6 comparisons](tables.qmd?rows=retransmit#table-comparisons) (ratios of {GEOMETRIC}): in 1 neither "
        "retransmits anything; 5 are undecided."
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
    assert "BBR retransmits more than CUBIC (0.600 % of segments against 0 %, arithmetic means of" in shown
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
        "**How do retransmits differ?** **Random loss alone:** BBR retransmits less in 1 of 4 comparisons[; on average "
        'both retransmit 0.500 to 1.00 times what the path loses]{.content-visible when-format="html"}.\\\n'
        "**5G sender:** BBR 5.00 times as much (means of the runs’ ratios 5.00 % against 1.00 %).\\\n"
        "**4G sender:** BBR 4.00 times (means 4.00 % against 1.00 %).\\\n"
        "**3G sender:** BBR 3.00 times (means 3.00 % against 1.00 %).\\\n"
        "**Others:** a clear difference in 1 more."
    )
    assert "Under random loss alone BBR retransmits less in 1 of 4 comparisons (3 undecided): BBR typically" in shown
    # What is not clear elsewhere is counted apart from the cases that were named.
    row = asked.tail(1).with_columns(question=pl.lit("9G sender"), verdict=pl.lit("undecided"))
    row = row.with_columns(ahead_algorithm=pl.lit(None, pl.String))
    (said,) = describe_retransmits(pl.concat([asked, row]))
    assert "**Elsewhere:** of 1 comparison, no clear difference in 1." in said
    sure = row.with_columns(question=pl.lit("8G sender"), effect_low_ratio=pl.lit(1.2))
    none = row.with_columns(question=pl.lit("7G sender"), first_mean=pl.lit(0.0), second_mean=pl.lit(0.0))
    (said,) = describe_retransmits(pl.concat([asked, row, sure, none]))
    assert (
        "**Elsewhere:** of 3 comparisons, neither retransmits anything in 1 and no clear difference in 2 (the "
        "interval excludes 1 in 1, not significantly after Holm’s correction)."
    ) in said
    assert "The difference is clear in 5 comparisons, most in these 3. From a 5G sender BBR retransmits 5.00" in shown
    assert "times as much as CUBIC (5.00 % of segments against 1.00 %, arithmetic means of the runs’ ratios)." in shown
    assert shown.count("retransmits") == 5


def test_who_gets_how_little_at_worst_is_said_with_the_claims_about_starvation():
    facts = {"flows_count": 16, "rtt_ms": 80.0, "bottleneck_bps": None, "buffer_bytes": None, "late_share": None}
    short = facts | {"rtt_ms": 5.0, "bottleneck_bps": 1e9, "buffer_bytes": 64_000_000, "late_share": 0.1}
    shares = pl.DataFrame(
        [
            facts | {"algorithm": "CUBIC", "beside": "BBRv1", "share": 0.0111, "runs_count": 3},
            short | {"algorithm": "BBRv2", "beside": "CUBIC", "share": 0.2, "runs_count": 3},
            facts | {"algorithm": "CUBIC", "beside": "BBRv2", "share": 0.05, "runs_count": 5},
        ]
    )
    judged = make_claims(first=[("holds", 9)], second=[("does not hold", 9)])
    claims = declare(judged)
    assert describe_starvation(shares, judged, claims) == []
    for claim in claims.values():
        claim["is_starvation"] = True
    (said,) = describe_starvation(shares, judged, claims)
    short, where, told = html.unescape(said).split("\n\n")
    assert short == (
        "**Does one starve the other?** At worst, of the rate of both where packets are lost in queues alone (in "
        "brackets, in the last third of the test): CUBIC gets 1.1 % beside BBRv1 and 5.0 % beside BBRv2; BBRv2 gets "
        "20 % (10 %) beside CUBIC."
    )
    assert where == (
        "CUBIC gets its 1.1 % with 16 flows, RTT 80 ms (mean of 3 runs). BBRv2 gets its 20 % with 16 flows, "
        "RTT 5 ms, a bottleneck of 1 Gbit/s, a buffer of 64 MB (mean of 3 runs). CUBIC gets its 5.0 % with 16 flows, "
        "RTT 80 ms (mean of 5 runs). Of 2 claims about it: 1 holds, 1 contradicted."
    )
    assert "“CUBIC <b>varies</b> more”: [contradicted](claims.qmd?verdict=contradicted#all-" in told
    assert describe_starvation(NO_SHARES, judged, claims) == []


def test_the_least_shares_are_those_of_single_conditions(tmp_path: Path):
    def repeat(first: int, condition: str, rates: dict[str, float], **facts: Any) -> list[Any]:
        known = {"condition_id": condition, "rtt_ms": 10.0, "destinations_count": 1, "duration_s": 30.0} | facts
        return [run(first + n, rates, **known) for n in range(3)]

    tables = gather(
        *repeat(1, "near", {"bbr2": 1.0, "cubic": 9.0}, flows_count=2),
        *repeat(4, "far", {"bbr2": 3.0, "cubic": 1.0}, flows_count=2, rtt_ms=80.0),
        # One flow of two algorithms beside many, starts one after the other and fewer runs than three say nothing.
        *repeat(7, "many", {"bbr2": 1.0, "cubic": 99.0}, flows_count=16),
        *repeat(10, "later", {"bbr2": 1.0, "cubic": 99.0}, flows_count=2, start_spread_s=5.0),
        *repeat(13, "few", {"bbr2": 1.0, "cubic": 99.0}, flows_count=2)[:2],
        *repeat(16, "alone", {"cubic": 9.0}, flows_count=1),
        # Random loss may be what holds an algorithm back.
        *repeat(19, "lossy", {"bbr2": 99.0, "cubic": 1.0}, flows_count=2, loss_pct=0.1),
    )
    # Of the near path: what each sends in seconds from 19 to 20, which is not the last third, and from 20 on.
    tables["intervals"] = [
        {"run_id": f"r{number}", "flow_id": f"r{number}/{cc}", "stream_number": stream, "interval_number": place}
        | {"start_s": start_s, "interval_bytes": count, "is_omitted": start_s > 25.0, "is_reverse": False}
        for number in (1, 2, 3)
        for stream, (cc, counts) in enumerate((("bbr2", {19.0: 9, 20.0: 2, 29.0: 9}), ("cubic", {19.0: 1, 20.0: 6})))
        for place, (start_s, count) in enumerate(counts.items())
    ]
    declared = load_evaluation(EVALUATION)
    shares = read_least_shares(build_database(tmp_path, tables), declared)
    columns = ("algorithm", "beside", "share", "late_share", "rtt_ms", "runs_count")
    assert shares.select(columns).rows() == [
        ("BBRv2", "CUBIC", 0.1, 0.25, 10.0, 3),
        ("CUBIC", "BBRv2", 0.25, None, 80.0, 3),
    ]
    # Runs of no table and no figure of the evaluation are another's.
    own = declared | {"figures": {}, "reproduction": {}}
    assert read_least_shares(tmp_path / "archive.duckdb", own).is_empty()


def test_comparisons_that_the_paper_has_not_or_looks_wrong_in_are_counted_apart():
    questions = [f"{loss} % loss, {n} flows" for loss in (1, 2) for n in (1, 2)]
    asked = make_comparisons(*(("BBR faster", question, 2.0) for question in questions)).with_columns(
        table_name=pl.lit("table_2")
    )
    cells = [{"table_name": "table_2", "cell": name, "cell_state": "compared"} for name in questions[:2]]
    cells[1]["cell_state"] = "suspect"
    compared = pl.DataFrame(cells).with_columns(comparison=pl.lit("paper"))
    # One cell of a pair is enough to make it suspect.
    others = compared.with_columns(cell_state=pl.lit("compared"))
    marked = mark_published(asked, pl.concat([others, compared]))
    assert marked["published"].to_list() == ["compared", "suspect", "not published", "not published"]
    lossless = asked.head(3).with_columns(question=pl.Series([f"no loss, {n} flows" for n in range(3)]))
    (said,) = describe_leads(pl.concat([marked, mark_published(lossless, compared.clear())]))
    assert "in all 4 comparisons (2 are not in the paper and 1 is suspect in the paper)" in html.unescape(said)
    # Of a table without published cells nothing is said.
    assert "With no loss BBR is faster in all 3 comparisons, " in said
    sizes = asked.head(1).with_columns(question=pl.lit("buffer 8 MB, both"))
    cells = pl.DataFrame([{"table_name": "table_2", "cell": "8 MB, both", "cell_state": "compared"}])
    assert mark_published(sizes, cells.with_columns(comparison=pl.lit("paper")))["published"].to_list() == ["compared"]


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
        "**BBR** (3 runs): goodput of 90.0 Mbit/s, a fairness among its own flows (Jain’s index) of 0.600."
    ]
    # Of a run that it shares the index is of all flows.
    rows += [rows[0] | {"beside": "CUBIC", "jain_mean_ratio": 0.2}]
    (said,) = describe_means(make_means(rows), make_comparisons())
    assert said.endswith("(Jain’s index) of 0.600 where it ran alone with several flows.")
    assert "Jain" not in describe_means(make_means(rows[1:]), make_comparisons())[0]


def test_where_each_algorithm_is_faster_is_said_in_plain_words_before_the_counts():
    lossy = [
        ("BBR faster", f"0.1 % loss, {count} flows, RTT 20 ms", ratio) for count, ratio in ((1, 9.5), (2, 3), (4, 2))
    ]
    lossless = [("equal within ±5 %", f"no loss, {count} flows, RTT 20 ms", 1.0) for count in (1, 2, 4)]
    # A fifth of BBR's rate.
    short = [("CUBIC faster", f"{speed}G sender, RTT 20 ms", 0.2) for speed in (10, 40)]
    (said,) = describe_leads(make_comparisons(*lossy, *lossless, *short))
    lead, table, rest = html.unescape(said).split("\n\n", 2)
    # The PDF has the losses in the table only.
    losses = '[, no loss to 0.1 %]{.content-visible when-format="html"}'
    assert lead == f"**BBR or CUBIC?** BBR’s rate over CUBIC’s{losses} (geometric means, 1 run each)."
    # The fewest and the most flows.
    assert read_matrix(table) == [
        ["Loss", "1 flows", "4 flows"],
        ["none", "equal ±5 % 1.00", "equal ±5 % 1.00"],
        ["0.1 %", "BBR 9.50×", "BBR 2.00×"],
    ]
    assert rest == (
        "**No loss:** equal within ±5 % in all 3 comparisons.\\\n"
        "**All random loss:** BBR faster in all 3 comparisons (2.00 to 9.50 times).\\\n"
        "**Other paths (10G sender, 40G sender):** CUBIC faster in both comparisons (5.00 times).\n\n"
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
    assert f"On other paths {told}" in html.unescape(said)
    # Of tables that have none of the conditions with a loss only the table is named.
    tables = pl.Series(["table_2"] * 7 + ["table_1"] * 3)
    (said,) = describe_leads(asked.with_columns(table_name=tables), titles=TITLES)
    assert "On other paths (Table I, 10G sender) BBR is faster" in html.unescape(said)
    assert "With random loss (Table II) BBR is faster in all 3 comparisons" in html.unescape(said)
    alike = [("CUBIC faster", f"short, {speed}G sender", 0.2) for speed in (10, 40)]
    (said,) = describe_leads(make_comparisons(*lossy, *alike))
    assert "CUBIC is faster in only 2 comparisons, both (short; up to 5.00 times the rate)." in html.unescape(said)
    # Without conditions of loss, all comparisons are one group; of a tie nothing is said.
    (said,) = describe_leads(make_comparisons(*lossy, *short))
    assert "**BBR or CUBIC?** BBR is faster in 3 of 5 comparisons, most with 1 flows at" in html.unescape(said)
    (said,) = describe_leads(make_comparisons(*lossy[:2], *short))
    assert said.startswith("**BBR or CUBIC?** Of [4 comparisons]")


def read_matrix(table: str) -> list[list[str]]:
    """Return the words of each cell of a table, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", table)
    return [[re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def test_a_table_has_the_ratio_at_each_loss_on_the_longest_paths_that_all_losses_have():
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
    # The fifth comparison has a page of its runs, those after it have none; the last of the table has other numbers.
    compared = make_comparisons(*asked).with_columns(
        first_runs_count=pl.when(pl.col("question") == asked[19][1]).then(4).otherwise(5), second_runs_count=5
    )
    (said,) = describe_leads(compared, rtts, look=Look({"BBR": "bbr2"}, 5))
    lead, table, short = html.unescape(said).split("\n\n")[:3]
    losses = '[, 0.01 % to 0.1 % loss]{.content-visible when-format="html"}'
    assert lead == (
        f"**BBR or CUBIC?** BBR’s rate over CUBIC’s at 80 ms{losses} (geometric means, 95 % intervals, 5 runs each "
        "unless given)."
    )
    assert read_matrix(table) == [
        ["Loss", "1 flow", "16 flows, alone", "16 flows sharing"],
        ["0.01 %", "BBR 24.1× (11.0–52.8)", "undecided", "BBR 3.37× (3.16–3.59)"],
        ["0.1 %", "BBR 117× (94.3–146)", "BBR 8.20× (7.76–8.72)", "BBR 15.4× (14.4–16.4) 4 and 5 runs"],
    ]
    assert re.findall('href="([^"]+)"', table) == ["cells_comparisons.html#cell-5"]
    assert '<strong class="of-bbr2">BBR 24.1×</strong>' in table
    assert short.startswith(
        "**No loss:** equal within ±5 % in all 3 comparisons.\\\n**All random loss:** BBR faster in"
    )


def test_the_table_of_losses_names_who_is_ahead_and_has_no_loss_under_the_same_conditions():
    # Where CUBIC is faster its ratio, and the ends of the interval, are the other way round.
    slower = [("CUBIC faster", f"1 % loss, {n} flows", (0.25, 0.2, 0.5)) for n in (2, 3, 4)]
    lossless = [("equal within ±5 %", f"no loss, {n} flows", (0.98, 0.97, 0.99)) for n in (2, 3, 4)]
    (said,) = describe_leads(make_comparisons(*slower, *lossless))
    lead, table, *_ = html.unescape(said).split("\n\n")
    assert "BBR’s rate over CUBIC’s[, no loss to 1 %]" in lead
    assert lead.endswith(" (geometric means, 95 % intervals, 1 run each).")
    assert read_matrix(table) == [
        ["Loss", "2 flows", "4 flows"],
        ["none", "equal ±5 % 0.980 (0.970–0.990)", "equal ±5 % 0.980 (0.970–0.990)"],
        ["1 %", "CUBIC 4.00× (2.00–5.00)", "CUBIC 4.00× (2.00–5.00)"],
    ]
    # Without comparisons of its own for each column no loss has no row.
    others = [("equal within ±5 %", f"no loss, {n} flows", 1.0) for n in (2, 3, 5)]
    (said,) = describe_leads(make_comparisons(*slower, *others))
    lead, table, *_ = html.unescape(said).split("\n\n")
    assert "BBR’s rate over CUBIC’s[, 1 % loss]" in lead
    assert [row[0] for row in read_matrix(table)] == ["Loss", "1 %"]
    # Losses that share no conditions have no table.
    (said,) = describe_leads(make_comparisons(*slower, ("BBR faster", "2 % loss, 9 flows", 2.0), *lossless))
    assert "<table" not in said
    assert html.unescape(said).startswith(
        "**BBR or CUBIC?** **No loss:** equal within ±5 % in all 3 comparisons.\\\n"
        "**Random loss:** CUBIC faster in 3 of 4"
    )
    # The table is in sight, and what is below it; the rest is closed.
    listed = render_list_of_findings(describe_leads(make_comparisons(*slower, *lossless)))
    shown, folded = listed.split('<details class="fold">')
    assert "<table" in shown
    assert "**All random loss:**" in shown
    assert "With random loss CUBIC is faster in all 3 comparisons" in folded


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
        " On other paths (8 MB, 16 MB, short path, 64 MB) BBR gets 4.00 to 9.00 times "
        "CUBIC’s rate in 2 of 4 comparisons and CUBIC gets 10.0 times BBR’s rate in 1."
    )
    # With titles it is said of which tables each line is; what the publication has stands beside it.
    of_paper = [("table_2_testbed", asked[0][1], 0.461), *(("table_2_testbed", cell, 5.0) for _, cell, _ in asked[3:5])]
    published = pl.DataFrame(of_paper, schema=NO_PAIRS.schema, orient="row")
    compared = make_comparisons(*asked[:5], *full).with_columns(
        table_name=pl.when(pl.col("question").str.contains("loss"))
        .then(pl.lit("table_2_testbed"))
        .otherwise("table_name")
    )
    (said,) = map(html.unescape, describe_sharing(compared, known, {"table_2_testbed": "Table II: rates"}, published))
    assert "**No loss (Table II):** equal within ±5 %[; in the paper BBR gets 0.461 times CUBIC’s rate]{" in said
    assert "**0.1 % loss (Table II):** no clear difference.\\\n" in said
    assert (
        "**1 % loss (Table II):** BBR gets 2.00 to 4.00 times CUBIC’s rate[; in the paper 5.00 and 5.00 times]{" in said
    )
    # The one that is seldom ahead has a line of its own.
    (said,) = map(html.unescape, describe_sharing(make_comparisons(*asked, *full)))
    assert "**Short path, 16 flows:** CUBIC gets 10.0 times BBR’s rate (geometric means)." in said
    assert describe_sharing(make_comparisons(*asked[:1], *asked[6:])) == []
    assert describe_sharing(NO_COMPARISONS) == []


def test_where_all_is_undecided_the_ratios_go_first_and_conditions_are_not_all_listed():
    rows = [{"algorithm": name, "rate_mean_bps": rate} for name, rate in (("BBR", 9e7), ("CUBIC", 1e6))]
    asked = [("fifo, buffer 50 kB, RTT 20 ms", 1.1), ("fq, buffer 50 kB, RTT 20 ms", 4.0), ("RTT 80 ms", 0.9)]
    undecided = make_comparisons(*(("undecided", question, ratio) for question, ratio in asked))
    *_, last = map(html.unescape, describe_means(make_means(rows), undecided))
    assert last == (
        "**BBR or CUBIC?** BBR has 0.900 to 4.00 times CUBIC’s rate (a verdict needs 3 runs of each, there is 1): "
        f"undecided under all 3 conditions ([3 comparisons]({RATES}) of geometric means)."
    )
    # What a list's conditions share is said once, before it.
    decided = make_comparisons(
        *(("BBR faster", f"{own}, sender 9G", 2.0) for own in ("a, fifo", "b", "c, fq")), ("undecided", "d", 1.0)
    )
    *_, last = map(html.unescape, describe_means(make_means(rows), decided))
    assert "BBR is faster (sender 9G) (a, fifo; b; c, fq), 2.00 times" in last


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
    uneven = open_one.with_columns(second_runs_count=8)
    *_, last = map(html.unescape, describe_means(make_means(rows), uneven))
    assert "; 3 and 8 runs; " in last
    several = pl.concat([uneven, uneven.with_columns(condition=pl.lit("1 % loss"), first_runs_count=5)], how="diagonal")
    *_, last = map(html.unescape, describe_means(make_means(rows), several))
    assert "; 3 to 8 runs of each; " in last
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
