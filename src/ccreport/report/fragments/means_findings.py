"""Findings of an evaluation that publishes nothing to compare with: the means of each algorithm, and which is ahead."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from ccreport.core.tables import load_schema
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import find_better, format_measured, rate_unit

# Columns of the table `means` beside the rate, by what they are multiplied with, and how a sentence says the numbers.
MEASURES = {
    "retransmit_ratio": (100.0, "{} % of segments sent again"),
    "smoothed_rtt_mean_ms": (1.0, "an RTT of {} ms"),
    "jain_mean_ratio": (1.0, "a fairness among flows (Jain’s index) of {}"),
}
CONDITION = [name for name in load_schema("means").key if name != "algorithm"]


def describe_means(means: pl.DataFrame) -> list[str]:
    """Return a sentence on each algorithm of the table `means`, and one on which of them is ahead, as Markdown."""
    known = means.filter(pl.col("algorithm").is_not_null())
    groups = known.partition_by("algorithm", maintain_order=True)
    divisor, unit = rate_unit(known["rate_mean_bps"])
    said = [_describe_algorithm(own, divisor, unit) for own in groups]
    return [*said, *(_describe_lead(known) if len(groups) > 1 else ())]


def _describe_algorithm(own: pl.DataFrame, divisor: float, unit: str) -> str:
    numbers = [f"{own['rate_basis'][0]} of {_show_range(own['rate_mean_bps'] / divisor)} {unit}"]
    numbers += [
        words.format(_show_range(own[column] * factor))
        for column, (factor, words) in MEASURES.items()
        if own[column].count()
    ]
    conditions = f"{_count(own.height, 'condition')}, " if own.height > 1 else ""
    name = escape_text(own["algorithm"][0])
    return f"**{name}** ({conditions}{_count(int(own['runs_count'].sum()), 'run')}): {', '.join(numbers)}."


def _describe_lead(means: pl.DataFrame) -> Iterator[str]:
    """Yield how often each algorithm is ahead under the same conditions: its interval is above those of all others."""
    shared = [one for one in means.partition_by(CONDITION, maintain_order=True) if one.height > 1]
    if not shared:
        return
    places = [find_better(one.select("rate_low_bps", "rate_high_bps").rows()) for one in shared]
    leads = Counter(one["algorithm"][place] for one, place in zip(shared, places, strict=True) if place is not None)
    if not leads:
        told = "the intervals overlap, or rest on fewer than three runs"
        yield f"Which algorithm is ahead cannot be told in any of {_count(len(shared), 'condition')}: {told}."
        return
    parts = [f"{escape_text(name)} is ahead in {count}" for name, count in leads.most_common()]
    if open_count := places.count(None):
        parts.append(f"in {open_count} the intervals overlap or rest on too few runs to tell")
    yield f"Of {_count(len(shared), 'condition')} with runs of several algorithms, {', '.join(parts)}."


def _show_range(values: pl.Series) -> str:
    ends = [format_measured(end)[0] for end in (values.min(), values.max())]  # type: ignore[arg-type]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _count(things: int, noun: str) -> str:
    return f"{things:,} {noun}{'' if things == 1 else 's'}"
