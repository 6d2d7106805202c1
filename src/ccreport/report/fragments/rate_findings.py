"""Findings about rates: the means of each algorithm, and which is faster, how often, by how much and where always."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things, make_label
from ccreport.report.fragments.reproduction import show_plain
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import format_measured, rate_unit
from ccreport.summarise.statistics.comparisons import UNDECIDED

COMPARISONS_PAGE: Final = f"tables.qmd#{make_label('table', 'comparisons')}"
# The least number of comparisons of which "always" is said.
ALWAYS: Final = 3
FAIRNESS: Final = "jain_mean_ratio"
# Columns of the table `means` beside the rate, by what they are multiplied with, and how a sentence says the numbers.
MEASURES: Final = {
    "retransmit_ratio": (100.0, "{} % of segments sent again"),
    "smoothed_rtt_mean_ms": (1.0, "an RTT of {} ms"),
    FAIRNESS: (1.0, "a fairness among flows (Jain’s index) of {}"),
}


def describe_means(means: pl.DataFrame, comparisons: pl.DataFrame) -> list[str]:
    """Return a sentence on each algorithm of the table `means`, and one on each two of them, as Markdown.

    `comparisons` are the rows of the table of that name about it.
    """
    known = means.filter(pl.col("algorithm").is_not_null())
    groups = known.partition_by("algorithm", maintain_order=True)
    divisor, unit = rate_unit(known["rate_mean_bps"])
    said = [_describe_algorithm(own, divisor, unit) for own in groups]
    return [*said, *describe_leads(comparisons)]


def _describe_algorithm(own: pl.DataFrame, divisor: float, unit: str) -> str:
    numbers = [f"{own['rate_basis'][0]} of {_show_range(own['rate_mean_bps'] / divisor)} {unit}{_count_flows(own)}"]
    # The fairness between one flow and those of another algorithm is not that of this one.
    is_one = (own["algorithm_flows_count"].fill_null(own["flows_count"]) == 1).all()
    numbers += [
        words.format(_show_range(own[column] * factor))
        for column, (factor, words) in MEASURES.items()
        if own[column].count() and not (is_one and column == FAIRNESS)
    ]
    conditions = f"{count_things(own.height, 'condition')}, " if own.height > 1 else ""
    name = escape_text(own["algorithm"][0])
    return f"**{name}** ({conditions}{count_things(int(own['runs_count'].sum()), 'run')}): {', '.join(numbers)}."


def _count_flows(own: pl.DataFrame) -> str:
    """Return how many flows a rate is the sum of, where another algorithm in the same runs has more or fewer."""
    counts = own["algorithm_flows_count"].drop_nulls().unique().sort()
    if counts.is_empty():
        return ""
    shown = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    partly = " in some conditions" if own["algorithm_flows_count"].null_count() else ""
    return f" ({'the sum of ' if counts[-1] > 1 else ''}{shown} flow{'' if counts[-1] == 1 else 's'}{partly})"


def _show_range(values: pl.Series) -> str:
    ends = [format_measured(end)[0] for end in (values.min(), values.max())]  # type: ignore[arg-type]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


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
    compared = f"[{count_things(pair.height, 'comparison')}]({COMPARISONS_PAGE}) of rates"
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
