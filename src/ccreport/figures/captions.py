"""Caption and text alternative of a figure: what is drawn and by which rule, and what it shows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ccreport.figures.selection import FigureDeclaration, Rate
from ccreport.figures.wording import (
    RULE,
    DrawnAlgorithm,
    DrawnRun,
    describe_runs,
    format_rate,
    format_ratio,
    format_significant,
    join_names,
    write_band,
)
from ccreport.raw import display_name

# Means closer than this cannot be told apart in the figure.
SAME_RATIO = 1.02


@dataclass(frozen=True)
class FigureFacts:
    """What caption and text alternative say about a figure; `left_out_count` is of conditions that match as well."""

    declaration: FigureDeclaration
    drawn: Sequence[DrawnRun]
    algorithms: Sequence[DrawnAlgorithm]
    rate: Rate
    unit: str
    rate_bin_s: float
    count_bin_s: float
    sources: Collection[str]
    left_out_count: int
    notes: Sequence[str]


def write_caption(facts: FigureFacts) -> str:
    """Return the caption: conditions, what is drawn, the representative run and its rule, the basis of the means."""
    sentences = [
        describe_runs(facts.algorithms, facts.drawn, overlapped=facts.declaration.overlapped),
        f"Lines: throughput that the tool reports, summed over each algorithm's flows, per {facts.rate_bin_s:g} s",
        _describe_points(facts),
        *name_runs(facts.drawn),
        *_describe_band(facts.drawn),
        f"Means in the legend are {facts.rate} of the drawn {'runs' if len(facts.drawn) > 1 else 'run'}",
        *_describe_choice(facts),
        *([f"Path: {'; '.join(facts.notes)}"] if facts.notes else []),
    ]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def _describe_points(facts: FigureFacts) -> str:
    if not facts.sources:
        return "No retransmits were recorded"
    counter = join_names(sorted(facts.sources, reverse=True))
    return f"Points: retransmitted segments per {facts.count_bin_s:g} s, counted by {counter}"


def name_runs(drawn: Sequence[DrawnRun]) -> list[str]:
    """Return the sentences that say which runs are drawn, and by which rule."""
    sentences = []
    for one in drawn:
        run = f"run {display_name(one.run['run_id'])}"
        iteration = "" if one.run["iteration"] is None else f" (iteration {one.run['iteration']})"
        if one.is_declared:
            sentences.append(f"Drawn is {run}{iteration}, which the evaluation file names, of {one.runs_count}")
        elif one.runs_count == 1:
            sentences.append(f"Drawn is {run}{iteration}, the only one of its condition")
        else:
            sentences.append(f"Drawn is {run}{iteration}, the representative one of {one.runs_count} iterations")
    if any(one.runs_count > 1 and not one.is_declared for one in drawn):
        sentences.append(f"The representative run of a condition is {RULE}")
    return sentences


def _describe_band(drawn: Sequence[DrawnRun]) -> list[str]:
    band = write_band(drawn)
    return [] if band is None else [f"Band: {band}"]


def _describe_choice(facts: FigureFacts) -> list[str]:
    if not facts.left_out_count:
        return []
    others = "1 other condition matches" if facts.left_out_count == 1 else f"{facts.left_out_count} others match"
    kept = "the one" if facts.declaration.overlapped else "for each algorithm the most alike"
    return [f"{others} as well; drawn is {kept} with the most runs, then the first by its identifier"]


def write_alternative(facts: FigureFacts) -> str:
    """Return the text alternative: what the figure shows, in words and numbers taken from the data."""
    ranked = sorted(facts.algorithms, key=lambda one: -(one.rate_bps or 0.0))
    means = [f"{one.name} {format_rate(one.rate_bps, facts.unit)}" for one in ranked]
    ratios = [f"{one.name} {format_ratio(one.retransmit_ratio)}" for one in ranked]
    conditions = describe_runs(facts.algorithms, facts.drawn, overlapped=facts.declaration.overlapped)
    sentences = [
        f"Line chart of throughput over time: {conditions}",
        f"Mean {facts.rate}: {join_names(means)}",
        *_compare(ranked, facts.rate),
        f"Retransmitted segments: {join_names(ratios)} of the data segments sent",
    ]
    return " ".join(f"{sentence}." for sentence in sentences)


def _compare(ranked: Sequence[DrawnAlgorithm], rate: Rate) -> list[str]:
    first, last = ranked[0], ranked[-1]
    if len(ranked) < 2 or first.rate_bps is None or last.rate_bps is None:
        return []
    if last.rate_bps == 0:
        return [f"{last.name} had none"]
    times = first.rate_bps / last.rate_bps
    if times < SAME_RATIO:
        return ["The means are about equal"]
    return [f"{first.name} had {format_significant(times, 3)} times the {rate} of {last.name}"]
