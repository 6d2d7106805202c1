"""The finding about starvation: the least part of the rate that each algorithm gets beside another, and the claims."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from ccreport.compare.claim_verdicts import count_verdicts, name_verdict, part_claims
from ccreport.core.text import count_things
from ccreport.figures.wording.runs import join_names
from ccreport.report.first_page.rtts import NO_RTTS, name_rtts
from ccreport.report.fragments.claims import describe_check, link_claims, title_claim
from ccreport.report.fragments.first_page.condition_phrases import SHARING, phrase_conditions
from ccreport.report.fragments.first_page.rate_findings import PARAGRAPH, PER_FLOW
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_plain


def describe_starvation(
    comparisons: pl.DataFrame, judged: pl.DataFrame, claims: Mapping[str, Any], rtts: pl.DataFrame = NO_RTTS
) -> list[str]:
    """Return who gets how little beside another at worst, and the verdicts on the claims about it, as Markdown.

    `comparisons` is the table of that name, `judged` the table `claims`, `claims` what the evaluation declares of them;
    `rtts` is as `read_rtts` returns it. Nothing without claims about starvation, or where no algorithms share a path.
    """
    about = {name: facts for name, facts in claims.items() if facts.get("is_starvation")}
    measure = pl.col("measure")
    rates = comparisons.filter(measure.str.ends_with("_bps") & ~measure.str.ends_with(PER_FLOW))
    shared = rates.filter(pl.Series(map(_is_shared, rates["question"]), dtype=pl.Boolean))
    if not about or shared.is_empty():
        return []
    parts = part_claims(judged.filter(pl.col("claim").is_in(about)), about)
    counted = count_verdicts({verdict: len(own) for verdict, own in parts.items()})
    of_paper = f"Of {count_things(len(about), 'claim')} about it: {counted}."
    told = " ".join(_tell_claim(judged.filter(claim=name), facts) for name, facts in about.items())
    # The PDF has the claims anyway.
    told = f'[{told}]{{.content-visible when-format="html"}}'
    worst, short = list(_list_worst(shared, rtts)), ""
    if worst:
        shares = join_names([f"{name} gets {share} &#37;" for name, share, _ in worst])
        short = f"At worst {shares} of the rate of both.{PARAGRAPH}"
    where = [f"{name} gets its {share} &#37; {place}." for name, share, place in worst]
    return [f"**Does one starve the other?** {short}{' '.join([*where, of_paper])}{PARAGRAPH}{told}"]


def _is_shared(question: str) -> bool:
    parts = map(SHARING.fullmatch, question.split(", "))
    return any(found["how"] == "both" for found in parts if found)


def _list_worst(shared: pl.DataFrame, rtts: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield of each algorithm that another is ahead of somewhere the least part that it gets, in %, and where.

    The least part comes first.
    """
    is_first = pl.col("ahead_algorithm") == pl.col("second_algorithm")
    behind = shared.drop_nulls("ahead_algorithm").with_columns(
        behind=pl.when(is_first).then("first_algorithm").otherwise("second_algorithm"),
        share=pl.min_horizontal("first_mean", "second_mean") / (pl.col("first_mean") + pl.col("second_mean")),
    )
    least = behind.sort("share", maintain_order=True).unique("behind", keep="first", maintain_order=True)
    for own in least.iter_slices(1):
        name, share = escape_text(own["behind"].item()), show_plain(100 * own["share"].item(), 2)
        where = escape_text(phrase_conditions(own["question"].item(), name_rtts(rtts, own)))
        yield name, share, where


def _tell_claim(rows: pl.DataFrame, facts: Mapping[str, Any]) -> str:
    """Return a claim with its verdict and the check that decides on it."""
    verdict = name_verdict(rows.to_dicts(), facts)
    return f"“{title_claim(facts)}”: {link_claims(verdict, verdict)} ({escape_text(describe_check(rows, facts))})."
