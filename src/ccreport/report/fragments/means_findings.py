"""Findings of an evaluation without published values: the means of each algorithm, and which is faster."""

import polars as pl

from ccreport.report.fragments.leads import describe_leads
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import format_measured, rate_unit

# Columns of the table `means` beside the rate, by what they are multiplied with, and how a sentence says the numbers.
MEASURES = {
    "retransmit_ratio": (100.0, "{} % of segments sent again"),
    "smoothed_rtt_mean_ms": (1.0, "an RTT of {} ms"),
    "jain_mean_ratio": (1.0, "a fairness among flows (Jain’s index) of {}"),
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
    numbers += [
        words.format(_show_range(own[column] * factor))
        for column, (factor, words) in MEASURES.items()
        if own[column].count()
    ]
    conditions = f"{_count(own.height, 'condition')}, " if own.height > 1 else ""
    name = escape_text(own["algorithm"][0])
    return f"**{name}** ({conditions}{_count(int(own['runs_count'].sum()), 'run')}): {', '.join(numbers)}."


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


def _count(things: int, noun: str) -> str:
    return f"{things:,} {noun}{'' if things == 1 else 's'}"
