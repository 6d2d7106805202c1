"""Key findings: which algorithm is faster when, what the archive confirms, what it contradicts, what it cannot tell."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from ccreport.compare.claim_verdicts import CONTRADICTED, HOLDS, SIZE, UNKNOWN, part_claims
from ccreport.compare.claim_wording import FEW, LACKS, NO_RUNS, NO_VALUE, NOT_ASKED, UNCLEAR, UNREPEATED, find_lack
from ccreport.compare.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from ccreport.core.text import count_things, make_label
from ccreport.figures.wording.runs import join_names
from ccreport.report.first_page.least_shares import NO_SHARES
from ccreport.report.first_page.rtts import NO_RTTS, name_rtts
from ccreport.report.first_page.variation import NO_VARIATION
from ccreport.report.fragments.claims_page.render_claims import link_claims, title_claim
from ccreport.report.fragments.failed_pairs import name_table
from ccreport.report.fragments.first_page.condition_phrases import phrase_conditions
from ccreport.report.fragments.first_page.rate_findings import (
    PARAGRAPH,
    describe_leads,
    link_comparisons,
)
from ccreport.report.fragments.first_page.rates_by_loss import PLAIN, Look
from ccreport.report.fragments.first_page.retransmit_findings import describe_retransmits
from ccreport.report.fragments.first_page.sharing_findings import describe_sharing
from ccreport.report.fragments.first_page.short_answers import show_on_pages
from ccreport.report.fragments.first_page.starvation_findings import describe_starvation
from ccreport.report.fragments.first_page.variation_findings import describe_variation
from ccreport.report.markup.blocks import close_fold, open_fold
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_plain

MORE: Final = "More"
# How a table begins.
FENCE: Final = "```"
PAIRS_PAGE: Final = "reproduction.qmd"
# Of claims that are contradicted.
NAMED: Final = 4
# Why claims are undecided.
REASONS: Final[Mapping[str, str]] = {
    NO_RUNS: "the archive has no such runs",
    NO_VALUE: "the archive has no such runs",
    NOT_ASKED: "the query gives no interval (`low`, `high`)",
    UNREPEATED: "too few runs repeat a condition",
    FEW: "the runs are too few or vary too much",
    UNCLEAR: "the runs are too few or vary too much",
}
NOTHING_EXPLAINED: Final[Mapping[str, Any]] = {"causes": {}, "pairs": {}}


def render_findings(
    judged: pl.DataFrame,
    claims: Mapping[str, Any],
    pairs: pl.DataFrame,
    algorithms: list[str],
    comparisons: pl.DataFrame,
    titles: Mapping[str, str],
    doubted: Sequence[tuple[str, str]] = (),
    of_versions: Sequence[str] = (),
    rtts: pl.DataFrame = NO_RTTS,
    explained: Mapping[str, Any] = NOTHING_EXPLAINED,
    of_means: Sequence[str] = (),
    variation: pl.DataFrame = NO_VARIATION,
    shares: pl.DataFrame = NO_SHARES,
    look: Look = PLAIN,
) -> str:
    """Return the findings as a list of sentences, without those that there is nothing to say of.

    `judged` is the table `claims`, `claims` what the evaluation declares of them, `pairs` is as `list_pairs` gives it,
    `comparisons` is the table of that name, `titles` are those of tables by name, `doubted` are published pairs that
    look wrong, each with the reason, `of_versions` are sentences on versions of an algorithm, `rtts` is as `read_rtts`
    returns it, `variation` as `read_variation` does, `shares` as `read_least_shares` does, `explained` has the `causes`
    of claims and why `pairs` are not reproduced, `look` is that of a table of losses. Where nothing published is
    compared, `of_means` are said in place of comparisons; without claims, too, nothing else.
    """
    answers = (pairs.is_empty() and of_means) or [
        *describe_leads(comparisons, rtts, titles, look),
        *describe_sharing(comparisons, rtts, titles, pairs),
        *describe_retransmits(comparisons, rtts),
        *describe_variation(variation),
        *describe_starvation(shares, judged, claims),
    ]
    if judged.is_empty() and pairs.is_empty():
        return render_list_of_findings(answers, "answer")
    sentences = [
        _join(
            "Confirmed",
            _confirm_claims(judged),
            _confirm_pairs(pairs, algorithms, titles),
        ),
        _join(
            "Contradicted",
            _tell_failed(judged, claims, CONTRADICTED, explained["causes"]),
            _contradict_pairs(pairs, rtts, explained["pairs"]),
        ),
        _join(f"{SIZE[0].upper()}{SIZE[1:]}", _tell_failed(judged, claims, SIZE, explained["causes"])),
        _join(
            "Undecided",
            _doubt_claims(judged, claims),
            _doubt_pairs(pairs),
            _doubt_comparisons(comparisons),
            between="; ",
        ),
        _doubt_paper(doubted),
        _join("Caution", _date_claims(judged)),
    ]
    lists = (
        render_list_of_findings(answers, "answer"),
        render_list_of_findings(of_versions, "answer"),
        render_list_of_findings(list(filter(None, sentences))),
    )
    return "\n".join(filter(None, lists))


def render_list_of_findings(findings: Sequence[str], kind: str = "") -> str:
    """Return findings as the first page lists them, nothing where there are none; `kind` is a class of the list.

    The first paragraph of each is shown, with a table below it and the paragraph behind that; what follows is closed
    until a reader opens it.
    """
    items = (_fold_second(*finding.split(PARAGRAPH)) for finding in findings)
    found = "\n".join(f"- {textwrap.indent(item, '  ').lstrip()}" for item in items)
    return f"::: {{.findings{f' .{kind}' if kind else ''}}}\n\n{found}\n\n:::\n" if found else ""


def _fold_second(shown: str, *folded: str) -> str:
    if folded and folded[0].startswith(FENCE):
        shown, folded = PARAGRAPH.join((shown, *folded[:2])), folded[2:]
    fold = f"{open_fold(MORE)}\n{PARAGRAPH.join(folded)}\n\n{close_fold()}"
    return f"{shown}{PARAGRAPH}{fold}" if folded else shown


def _join(what: str, *parts: str, between: str = ". ") -> str:
    """Return what was found of one kind: the first paragraphs of all parts as one, and the second ones."""
    split = [part.partition(PARAGRAPH) for part in parts if part]
    shown = between.join(f"{first[0].upper()}{first[1:]}" for first, *_ in split)
    folded = " ".join(f"{second[0].upper()}{second[1:]}." for *_, second in split if second)
    return PARAGRAPH.join(filter(None, (f"**{what}:** {shown}." if split else "", folded)))


def _confirm_claims(judged: pl.DataFrame) -> str:
    """Return how many claims hold."""
    count = judged.filter(claim_verdict=HOLDS)["claim"].n_unique()
    return f"{_count_claims(judged, count, HOLDS)} {'holds' if count == 1 else 'hold'}" if count else ""


def _tell_failed(
    judged: pl.DataFrame, claims: Mapping[str, Any], verdict: str, causes: Mapping[str, Sequence[str]]
) -> str:
    """Return how many claims fail by a verdict of `SHOWN` and why."""
    found = part_claims(judged, claims).get(verdict, [])
    if not found:
        return ""
    counts = {cause: sum(claim in found for claim in of_cause) for cause, of_cause in causes.items()}
    recorded = ", ".join(f"{escape_text(cause)} ({count:,})" for cause, count in counts.items() if count)
    counted = _count_claims(judged, len(found), verdict)
    if verdict == CONTRADICTED:
        caused = show_on_pages(f"; recorded causes: {recorded}" if recorded else "")
        return f"{counted}{caused}{PARAGRAPH}{_quote_claims(claims, found)}"
    return PARAGRAPH.join(filter(None, (counted, f"Recorded causes of the claims: {recorded}" if recorded else "")))


def _quote_claims(claims: Mapping[str, Any], found: Sequence[str]) -> str:
    """Return what claims say."""
    said = [f"“[{title_claim(claims[claim])}](claims.qmd#{make_label('claim', claim)})”" for claim in found[:NAMED]]
    more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return f"What is contradicted: {'; '.join(said)}{more}"


def _count_claims(judged: pl.DataFrame, count: int, filtered: str) -> str:
    """Return how many of all claims some are, as a link to these."""
    return link_claims(f"{count:,} of {count_things(judged['claim'].n_unique(), 'claim')}", filtered)


def _date_claims(judged: pl.DataFrame) -> str:
    """Return for how many claims the bounds may have been fitted to what was measured, as they are younger."""
    total = judged["claim"].n_unique()
    late = judged.filter(~pl.col("is_preregistered"))["claim"].n_unique()
    of_all = f"all {total:,}" if late == total else f"{late:,} of {total:,}"
    return (
        f"the bounds of {of_all} claims were set after the first run, so they could have been fitted to it"
        if late
        else ""
    )


def _confirm_pairs(pairs: pl.DataFrame, algorithms: list[str], titles: Mapping[str, str]) -> str:
    if pairs.is_empty():
        return ""
    count = pairs.filter(pl.col("verdict") == REPRODUCED).height
    ratio = escape_text(" to ".join(algorithms[:2]))
    counted = f"[{count} of {count_things(pairs.height, 'pair')}]({PAIRS_PAGE})"
    by_table = [
        f"{own['verdict'].eq(REPRODUCED).sum()} of {own.height} of {name_table(str(table), titles)}"
        for (table,), own in pairs.group_by("table_name", maintain_order=True)
    ]
    # In the PDF the picture of the pairs is right below.
    shown = f'[&#32;({", ".join(by_table)})]{{.content-visible when-format="html"}}'
    of_which = shown if len(by_table) > 1 else ""
    return f"the ratio of {ratio} is reproduced in {counted} of published cells{of_which}"


def _contradict_pairs(pairs: pl.DataFrame, rtts: pl.DataFrame, reasons: Mapping[str, str]) -> str:
    """Return how many pairs are not reproduced, and which of them is farthest off, with the recorded reason."""
    off = pairs.filter(pl.col("verdict") == NOT_REPRODUCED).with_columns(
        off=(pl.col("ratio") / pl.col("expected")).log().abs()
    )
    if off.is_empty():
        return ""
    most = off.sort("off", descending=True, maintain_order=True).head(1)
    worst = most.row(0, named=True)
    phrase = phrase_conditions(worst["cell"], name_rtts(rtts, most.rename({"cell": "question"})))
    reason = reasons.get(worst["cell"], "").removesuffix(".")
    return (
        f"[{count_things(off.height, 'pair')}]({PAIRS_PAGE}#paper-worst) {'is' if off.height == 1 else 'are'} not "
        "reproduced; the worst is "
        f"{escape_text(phrase)}: a ratio of arithmetic mean rates of {show_plain(worst['expected'])} in the "
        f"paper and {show_plain(worst['ratio'])} here"
        f"{f'{PARAGRAPH}recorded cause of the worst pair: {escape_text(reason)}' if reason else ''}"
    )


def _doubt_claims(judged: pl.DataFrame, claims: Mapping[str, Any]) -> str:
    """Return how many claims are undecided, and why: by the check of each that is nearest to a verdict."""
    lacking: dict[str, int] = {}
    for row in judged.filter(claim_verdict=UNKNOWN, verdict=UNKNOWN).iter_rows(named=True):
        lack = LACKS.index(find_lack(row, claims[row["claim"]]["checks"][row["check_number"] - 1]) or UNCLEAR)
        lacking[row["claim"]] = max(lack, lacking.get(row["claim"], 0))
    counts = Counter(REASONS[LACKS[lack]] for lack in lacking.values())
    reasons = {reason: counts[reason] for reason in REASONS.values()}
    return _give_reasons(_count_claims(judged, len(lacking), UNDECIDED), "claims", reasons)


def _doubt_pairs(pairs: pl.DataFrame) -> str:
    """Return how many pairs are undecided, and whether the paper, this archive or the two together leave it open."""
    undecided = pairs.filter(pl.col("verdict") == UNDECIDED)
    doubts = [find_doubt(row) for row in undecided.iter_rows(named=True)]
    reasons = {
        "the paper’s runs do not show which algorithm is ahead": doubts.count("paper"),
        "the runs here do not show which is ahead": doubts.count("here"),
        "the intervals leave open whether the two ratios agree": doubts.count("factor"),
    }
    return _give_reasons(f"{undecided.height:,} of {count_things(pairs.height, 'pair')}", "pairs", reasons)


def _doubt_comparisons(comparisons: pl.DataFrame) -> str:
    """Return how many comparisons do not tell which algorithm is ahead, and what they could have detected."""
    undecided = comparisons.filter(pl.col("verdict") == UNDECIDED)
    if undecided.is_empty():
        return ""
    least = undecided["least_effect_pct"].drop_nulls()
    counted = f"{undecided.height:,} of {count_things(comparisons.height, 'comparison')}"
    retransmits = undecided.filter(~pl.col("measure").str.ends_with("_bps")).height
    partly = f", {retransmits:,} of them on retransmits" if retransmits and undecided.height > 1 else ""
    shown = f"{link_comparisons(counted, UNDECIDED)}{partly}"
    said = []
    if few := undecided.height - least.len():
        said.append(f"{few:,} of the undecided comparisons {'has' if few == 1 else 'have'} too few runs")
    if least.len():
        median = show_plain(float(least.median() or 0), 2)  # type: ignore[arg-type]
        one, half = ("the other", "half of the other") if few else ("the undecided comparison", "half of the undecided")
        which = one if least.len() == 1 else f"{half} {least.len():,}{'' if few else ' comparisons'}"
        said.append(f"in {which}, only a difference of more than {median} &#37; would have shown in so few runs")
    return f"{shown}{PARAGRAPH}{'; '.join(said)}" if said else shown


def _doubt_paper(doubted: Sequence[tuple[str, str]]) -> str:
    """Return which published pairs look wrong in the publication itself, and why."""
    if not doubted:
        return ""
    # Reasons name the cells in fewer words.
    cells = join_names([escape_text(cell) for cell, reason in doubted if not reason])
    counted = f"[{count_things(len(doubted), 'published pair')}]({PAIRS_PAGE}#paper)"
    look, are = ("looks", "is") if len(doubted) == 1 else ("look", "are")
    reasons = dict.fromkeys(escape_text(reason) for _, reason in doubted if reason)
    named = f": {cells}" if cells else ""
    sentences = [f"{counted} {look} wrong in the paper and {are} in no count of reproduced pairs{named}.", *reasons]
    return f"**Suspect in the paper:** {' '.join(sentences)}"


def find_doubt(pair: Mapping[str, Any]) -> str:
    """Return what leaves a pair undecided: the paper's ratio, the one here, or how far the two are apart."""
    for reason, prefix in (("paper", "expected_"), ("here", "")):
        low, high = pair[f"{prefix}low"], pair[f"{prefix}high"]
        if low is None or high is None or low <= 1 <= high:
            return reason
    return "factor"


def _give_reasons(what: str, things: str, reasons: Mapping[str, int]) -> str:
    """Return what is undecided with the reasons that apply, each with how often, nothing where none does."""
    given = {reason: count for reason, count in reasons.items() if count}
    counted = [f"{reason} ({count:,})" for reason, count in given.items()] if len(given) > 1 else [*given]
    return f"{what}{PARAGRAPH}why {things} are undecided: {'; '.join(counted)}" if given else ""
