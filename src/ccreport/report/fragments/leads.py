"""Which algorithm is faster, in how many comparisons of rates, by how much, and under which conditions always."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from ccreport.report.fragments.reproduction import show_plain
from ccreport.report.markup.escape import escape_text, make_label
from ccreport.summarise.statistics.comparisons import UNDECIDED

COMPARISONS_PAGE: Final = f"tables.qmd#{make_label('table', 'comparisons')}"
# The least number of comparisons of which "always" is said.
ALWAYS: Final = 3


def describe_leads(comparisons: pl.DataFrame) -> list[str]:
    """Return a sentence on each pair of algorithms whose rates the table `comparisons` compares, as Markdown."""
    rates = comparisons.filter(pl.col("measure").str.ends_with("_bps"))
    pairs = rates.partition_by("first_algorithm", "second_algorithm", maintain_order=True)
    return [_describe_pair(pair) for pair in pairs]


def _describe_pair(pair: pl.DataFrame) -> str:
    """Return how often, how far and where each of two algorithms is faster, where they are equal, and what is open."""
    first, second, *_ = pair.select("first_algorithm", "second_algorithm").row(0)
    verdicts = Counter(pair["verdict"])
    pair = pair.with_columns(question=pl.Series(_leave_out_shared(pair["question"].to_list())))
    compared = f"[{pair.height:,} comparison{'' if pair.height == 1 else 's'}]({COMPARISONS_PAGE}) of rates"
    said = [
        _describe_verdict(verdict, pair.filter(verdict=verdict), pair)
        for verdict, _ in verdicts.most_common()
        if verdict != UNDECIDED
    ]
    if verdicts[UNDECIDED]:
        said.append(f"too few runs, or too varied ones, to tell in {verdicts[UNDECIDED]:,}")
    return f"**{escape_text(first)} or {escape_text(second)}?** Of {compared}: {'; '.join(said)}."


def _leave_out_shared(questions: list[str]) -> list[str]:
    """Return questions without the parts that all of them have; one alone keeps its own."""
    parts = [question.split(", ") for question in questions]
    shared = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    return [", ".join(part for part in own if part not in shared) for own in parts]


def _describe_verdict(verdict: str, own: pl.DataFrame, pair: pl.DataFrame) -> str:
    said = [f"{escape_text(verdict)} in {own.height:,}"]
    if own["ahead_algorithm"].count() and own["effect_mean_ratio"].count():
        ahead = pl.max_horizontal("effect_mean_ratio", 1 / pl.col("effect_mean_ratio"))
        most = own.with_columns(ahead=ahead).sort("ahead", descending=True, nulls_last=True).row(0, named=True)
        said.append(f"up to {show_plain(most['ahead'])} times the rate (“{escape_text(most['question'])}”)")
    always = max(_list_decisive(verdict, pair), key=lambda part: part[1], default=None)
    if always:
        said.append(f"among them all {always[1]} with “{escape_text(always[0])}”")
    return ", ".join(said)


def _list_decisive(verdict: str, pair: pl.DataFrame) -> Iterator[tuple[str, int]]:
    """Yield parts of questions, "0.1 % loss", with which every comparison has this verdict, and how many these are."""
    asked: Counter[str] = Counter()
    given: Counter[str] = Counter()
    row: dict[str, Any]
    for row in pair.select("question", "verdict").iter_rows(named=True):
        parts = row["question"].split(", ")
        asked.update(parts)
        given.update(parts if row["verdict"] == verdict else [])
    yield from ((part, count) for part, count in given.items() if ALWAYS <= count == asked[part] < pair.height)
