"""Findings without a publication to compare with: each algorithm's means, and which is faster where, by how much."""

import math
from collections.abc import Iterator
from typing import Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.figures.wording.runs import join_names
from ccreport.report.first_page.rtts import BUCKET, NO_RTTS, name_rtts
from ccreport.report.fragments.first_page.condition_phrases import phrase_conditions
from ccreport.report.fragments.first_page.rate_findings import (
    describe_leads,
    leave_out_shared,
    link_comparisons,
    list_shared,
    name_rate,
    say_verdict,
)
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.grid import format_measured, rate_unit
from ccreport.summarise.grids.plain_numbers import show_ends
from ccreport.summarise.statistics.comparisons import RUNS_AT_LEAST, UNDECIDED, has_too_few

FAIRNESS: Final = "jain_mean_ratio"
# The most comparisons of two algorithms whose conditions are all named.
NAMED_AT_MOST: Final = 12
# Columns of the table `means` beside the rate, by what they are multiplied with, and how a sentence says the numbers.
MEASURES: Final = {
    "retransmit_ratio": (100.0, "{} % of segments retransmitted"),
    "smoothed_rtt_mean_ms": (1.0, "an RTT of {} ms"),
    FAIRNESS: (1.0, "a fairness among its own flows (Jain’s index) of {}"),
}


def describe_means(means: pl.DataFrame, comparisons: pl.DataFrame, rtts: pl.DataFrame = NO_RTTS) -> list[str]:
    """Return a sentence on each algorithm of the table `means`, and one on each two of them, as Markdown.

    `comparisons` are the rows of the table of that name about it, `rtts` is as `read_rtts` returns it.
    """
    known = means.filter(pl.col("algorithm").is_not_null())
    groups = known.partition_by("algorithm", maintain_order=True)
    divisor, unit = rate_unit(known["rate_mean_bps"])
    said = [_describe_algorithm(own, divisor, unit) for own in groups]
    rates = comparisons.filter(pl.col("measure").str.ends_with("_bps"))
    for pair in rates.partition_by("first_algorithm", "second_algorithm", maintain_order=True):
        said += describe_leads(pair, rtts) if pair.height > NAMED_AT_MOST else [_describe_pair(pair, rtts)]
    return said


def _describe_algorithm(own: pl.DataFrame, divisor: float, unit: str) -> str:
    numbers = [f"{own['rate_basis'][0]} of {_show_range(own['rate_mean_bps'] / divisor)} {unit}{_count_flows(own)}"]
    # The fairness of runs that algorithms share is that of all their flows, not of either.
    is_own = pl.col("beside").is_null() & (pl.coalesce("algorithm_flows_count", "flows_count") != 1)
    known = own.with_columns(pl.when(is_own).then(FAIRNESS).alias(FAIRNESS))
    numbers += [
        words.format(_show_range(known[column] * factor))
        for column, (factor, words) in MEASURES.items()
        if known[column].count()
    ]
    if 0 < known[FAIRNESS].count() < own.height:
        numbers[-1] += " where it ran alone with several flows"
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


def describe_bound(runs: pl.DataFrame) -> list[str]:
    """Return a sentence on how many of the runs that count in means were CPU-bound, nothing where none was."""
    counted = runs.filter("is_counted")
    if not (bound := counted.filter("is_cpu_bound").height):
        return []
    linked = f"[{bound:,} of the {count_things(counted.height, 'run')}](collection.qmd#cpu-bound)"
    was = "was" if bound == 1 else "were"
    return [f"**Caution:** {linked} {was} CPU-bound: such a rate may be the processor’s limit, not the algorithm’s."]


def _describe_pair(pair: pl.DataFrame, rtts: pl.DataFrame) -> str:
    """Return which of two algorithms is faster under which conditions, each with its ratio and interval."""
    first, second, *_ = pair.select("first_algorithm", "second_algorithm").row(0)
    pair = pair.with_columns(condition=leave_out_shared(pair["question"]))
    decided, undecided = pair.filter(pl.col("verdict") != UNDECIDED), pair.filter(verdict=UNDECIDED)
    groups = [*decided.partition_by("verdict", maintain_order=True), undecided]
    groups = sorted((own for own in groups if own.height), key=lambda own: own["verdict"][0] == UNDECIDED)
    said = "; ".join(_describe_group(own, pair.height, rtts) for own in groups)
    compared = link_comparisons(count_things(pair.height, "comparison"), pair["measure"][0].removesuffix("_bps"))
    title = f"**{escape_text(first)} or {escape_text(second)}?**"
    return f"{title} {said[0].upper()}{said[1:]} ({compared} of geometric means)."


def _describe_group(own: pl.DataFrame, total: int, rtts: pl.DataFrame) -> str:
    """Return a verdict, the conditions that have it, and by how much their rates differ."""
    verdict, where = own["verdict"][0], _name_conditions(own, rtts, is_all=own.height == total)
    if own.height == total > 1:
        where = f"under {'both' if total == 2 else f'all {total}'} conditions {where}".strip()
    is_undecided = verdict == UNDECIDED
    said = f"{'undecided' if is_undecided else say_verdict(verdict)} {where}".strip()
    if is_undecided and own.height == total > 1:
        return ": ".join([*_say_ratios(own), said])
    return (": " if is_undecided else ", ").join([said, *_say_ratios(own)])


def _name_conditions(own: pl.DataFrame, rtts: pl.DataFrame, *, is_all: bool) -> str:
    """Return conditions as a phrase of what they share, and in brackets the values of what they do not.

    Where they are all that there are, a reader knows what they share. Nothing where that is a list of all.
    """
    rows = [condition.split(", ") for condition in own["condition"]]
    values = [list(dict.fromkeys(column)) for column in zip(*rows, strict=False)]
    is_product = len({len(row) for row in rows}) == 1 and math.prod(map(len, values)) == len(rows)
    shared = [column[0] for column in values if len(column) == 1] if is_product else []
    varied = [_merge(column) for column in values if len(column) > 1]
    if not is_product:
        # The table that the sentence leads to has them all.
        if is_all and own["verdict"][0] == UNDECIDED:
            return ""
        shared = list_shared(own["condition"].to_list())
        kept = [[part for part in row if part not in shared] for row in rows]
        if not all(kept):
            shared, kept = [], rows
        phrases = [phrase_conditions(", ".join(row)) for row in kept]
        # No brackets in brackets.
        varied = phrases if not any("(" in one for one in phrases) else [", ".join(row) for row in kept]
    elif len(varied) == 1 and not shared and not is_all:
        shared, varied = varied, []
    listed = "; ".join(varied)
    rtts_here = name_rtts(rtts, own) if BUCKET.search(", ".join(shared)) else ""
    phrase = phrase_conditions(", ".join(shared), rtts_here)
    return escape_text(" ".join(filter(None, (phrase, f"({listed})" if listed else ""))))


def _merge(parts: list[str]) -> str:
    """Return parts as one that has the numbers of all: `RTT 20 ms` and `RTT 80 ms` are `RTT 20 and 80 ms`."""
    words = [part.split(" ") for part in parts]
    if len({len(own) for own in words}) > 1:
        return join_names(parts)
    columns = [list(dict.fromkeys(column)) for column in zip(*words, strict=True)]
    is_one_word = sum(len(column) > 1 for column in columns) == 1
    return " ".join(map(join_names, columns)) if is_one_word else join_names(parts)


def _say_ratios(own: pl.DataFrame) -> Iterator[str]:
    """Yield how many times the rate of the slower algorithm that of the faster is, with the ends of the intervals."""
    first, second = own.select("first_algorithm", "second_algorithm").row(0)
    is_second = own["ahead_algorithm"].eq_missing(second).all()
    faster, slower = (second, first) if is_second else (first, second)
    names = ("effect_mean_ratio", "effect_low_ratio", "effect_high_ratio")
    ratios, lows, highs = ((1 / own[name] if is_second else own[name]).drop_nulls() for name in names)
    if ratios.is_empty():
        return
    subject = "" if own["ahead_algorithm"].count() else f"{faster} has "
    times = show_ends(ratios)
    ends = pl.concat([lows, highs])
    notes = []
    if lows.len() == own.height:
        between = show_ends(ends)
        notes.append(f"95 % interval{'' if own.height == 1 else 's within'} {between}")
    if subject:
        counts = sorted({*own["first_runs_count"], *own["second_runs_count"]})
        # Of one comparison the two algorithms have these.
        counted = (" to " if own.height > 1 else " and ").join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        of_each = " of each" if len(counts) == 1 or own.height > 1 else ""
        notes.append(
            f"a verdict needs {RUNS_AT_LEAST} runs of each, there {'is' if counts == [1] else 'are'} {counted}"
            if all(map(has_too_few, own.iter_rows(named=True)))
            else f"{counted} run{'' if counts == [1] else 's'}{of_each}"
        )
        # By itself each such interval would show a difference.
        is_apart = ((own["effect_low_ratio"] > 1) | (own["effect_high_ratio"] < 1)).any()
        if is_apart and own["verdict"][0] == UNDECIDED:
            notes.append("Holm’s correction for the number of comparisons leaves it open")
    noted = f" ({'; '.join(notes)})" if notes else ""
    yield escape_text(f"{subject}{times} times {slower}’s {name_rate(own)}{noted}")
