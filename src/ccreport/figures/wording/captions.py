"""Caption and text alternative of a figure: what is drawn and by which rule, and what it shows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ccreport.core.text import display_name
from ccreport.figures.kit import theme
from ccreport.figures.select.declaration import FigureDeclaration, Rate
from ccreport.figures.select.sampled_rates import Source
from ccreport.figures.wording.conditions import (
    NEARLY_EQUAL,
    fold_sentences,
    name_close,
    qualify_closeness,
    tell_unlike,
    write_sentences,
)
from ccreport.figures.wording.runs import (
    RULE,
    DrawnAlgorithm,
    DrawnRun,
    find_ends,
    format_rate,
    format_ratio,
    format_significant,
    join_conditions,
    join_names,
    list_conditions,
    name_run,
    tell_flows,
    wrap_title,
    write_band,
)

# What lines are, as axes name it and captions explain it.
RATE_NAMES: Final[dict[Source, str]] = {"ss": "Acknowledged", "interval": "Throughput"}
RATE_ORIGINS: Final[dict[Source, str]] = {
    "ss": "bytes that ss saw acknowledged",
    "interval": "bytes that the tool handed to its socket, including what is still buffered there",
}
LINE_RATE: Final = "Dotted: rate of the bottleneck, or line rate of the sender where the bottleneck is not known"
# Of rates above it, for a moment.
EXCESS: Final[dict[Source, str]] = {
    "ss": "A line above the dotted one is not faster delivery: when a lost segment arrives, one acknowledgement "
    "covers all that arrived after it",
    "interval": "A line above the dotted one is not faster delivery: the sender fills its socket's buffer",
}
# Where the time axis ends before the test.
CUT: Final = " over the whole test; only the first"


@dataclass(frozen=True)
class FigureFacts:
    """What caption and text alternative say about a panel.

    `left_out_count` is of conditions that match as well; `late_count` retransmits, after the test, are not drawn.
    """

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
    rate_source: Source = "interval"
    late_count: int = 0
    has_line_rate: bool = False
    is_exceeded: bool = False

    @property
    def conditions(self) -> str:
        """Return the conditions in one line."""
        return join_conditions(*self.parts)

    @property
    def parts(self) -> tuple[list[str], list[str]]:
        """Return the conditions one by one: what ran, and where."""
        ccs = [algorithm.cc for algorithm in self.algorithms]
        return list_conditions(ccs, self.drawn, overlapped=self.declaration.overlapped)


def write_heading(
    declaration: FigureDeclaration, conditions: str, drawn: Sequence[DrawnRun], *, overlapped: bool
) -> tuple[list[str], list[str]]:
    """Return the title that was declared, and the lines of the subtitle: the conditions, then runs and rule."""
    runs = [name_run(drawn_run, overlapped=overlapped) for drawn_run in drawn]
    return [" ".join(declaration.title.split())], [*(line for line in wrap_title(conditions) if line), *runs]


def write_caption(facts: FigureFacts) -> str:
    """Return the caption: the conditions and how the means compare, then what is drawn, which run and by which rule."""
    found = _tell_difference(facts)
    shown = [facts.conditions, *found, *qualify_closeness(found), *_explain_excess([facts])]
    return fold_sentences([*shown, *_list_sentences(facts)], len(shown))


def _list_sentences(facts: FigureFacts) -> list[str]:
    kept = "the one" if facts.declaration.overlapped else "for each algorithm the most similar one"
    return [
        f"Lines: {RATE_ORIGINS[facts.rate_source]}, summed over each algorithm's flows, per {facts.rate_bin_s:g} s",
        *([LINE_RATE] if facts.has_line_rate else []),
        _describe_points(facts),
        *([f"{facts.late_count:,} retransmits that ss saw after the test are not drawn"] if facts.late_count else []),
        *name_runs(facts.drawn),
        *(f"Band: {band}" for band in [write_band(facts.drawn)] if band),
        f"Means in the legend: {facts.rate} of the drawn {'runs' if len(facts.drawn) > 1 else 'run'}{_whole(facts)}",
        *describe_left_out(facts.left_out_count, f"{kept} with the most runs"),
        *describe_path(facts.notes),
    ]


def _whole(facts: FigureFacts) -> str:
    until_s = facts.declaration.until_s
    return "" if until_s is None else f"{CUT} {until_s:g} s are drawn"


def write_panels_caption(
    panels: Mapping[str, FigureFacts], left_out: Mapping[str, str], *, are_alike: bool = True
) -> str:
    """Return the caption of a figure of several panels; `left_out` says for the letter of a panel why it is absent.

    What is the same in all panels is said once, the rest under the letter of each. Where they are not
    `are_alike`, only rates have the same scale.
    """
    of_panels = {letter: _list_sentences(facts) for letter, facts in panels.items()}
    first = next(iter(of_panels.values())) if len(panels) > 1 else []
    common = [sentence for sentence in first if all(sentence in of_panel for of_panel in of_panels.values())]
    ran, where = (_find_shared([facts.parts[at] for facts in panels.values()]) for at in (0, 1))
    shown = "; ".join(f"({letter}) {_write_panel(facts, [*ran, *where])}" for letter, facts in panels.items())
    parts = [
        f"({letter}) {write_sentences(own)}"
        for letter, of_panel in of_panels.items()
        if (own := _without(of_panel, common))
    ]
    same_scales = [f"the panels have {_name_scales(are_alike=are_alike)}"] if len(panels) > 1 else []
    rest = [*parts, *([write_sentences([*same_scales, *common])] if common else []), *left_out.values()]
    told = [join_conditions(ran, where), shown, *qualify_closeness([shown]), *_explain_excess(panels.values())]
    return f"{write_sentences(told)}\n{' '.join(rest)}"


def _explain_excess(panels: Collection[FigureFacts]) -> list[str]:
    """Return what rates above the line rate are, where a panel has them: readers would take them for errors."""
    return list(dict.fromkeys(EXCESS[facts.rate_source] for facts in panels if facts.is_exceeded))


def _find_shared(of_panels: Sequence[Sequence[str]]) -> list[str]:
    return [part for part in of_panels[0] if all(part in of_panel for of_panel in of_panels)]


def _write_panel(facts: FigureFacts, shared: Sequence[str]) -> str:
    """Return a panel's title, which of its conditions are not those of all and not in the title, and its finding."""
    title = _write_title(facts)
    said = _list_words(title)
    own = [part for part in chain(*facts.parts) if part not in shared and not _list_words(part) <= said]
    # Shortest RTT (10 ms)
    subject = f"{title.rpartition(' ')[2]} "
    values = [part.removeprefix(subject) for part in own if part.startswith(subject)]
    named = f"{title} ({', '.join(values)})" if values else title
    others = [part for part in own if not part.startswith(subject)]
    return ": ".join([", ".join([named, *others]), *_tell_difference(facts)])


def _list_words(text: str) -> set[str]:
    """Return the words by which a condition is known, as conditions are listed: `One flow` is `1 flow`."""
    words = text.casefold().replace("one flow", "1 flow").replace(",", " ").split()
    return {word for word in words if word != "and"}


def _tell_difference(facts: FigureFacts) -> list[str]:
    found = _compare(facts, sorted(facts.algorithms, key=lambda algorithm: -(algorithm.rate_bps or 0.0)))
    return [f"{text}, over the whole test" if facts.declaration.until_s is not None else text for text in found]


def _write_title(facts: FigureFacts) -> str:
    return " ".join(facts.declaration.title.split())


def _without(sentences: Sequence[str], others: Sequence[str]) -> list[str]:
    return [sentence for sentence in sentences if sentence not in others]


def write_left_out(letter: str, title: str, reason: str) -> str:
    """Return the sentence that says that a panel is absent, and why."""
    cause = reason.removesuffix(".")
    return f"Panel ({letter}), {' '.join(title.split())}, is left out: {cause[0].lower()}{cause[1:]}."


def _describe_points(facts: FigureFacts) -> str:
    if not facts.sources:
        return "No retransmits were recorded"
    counter = join_names(sorted(facts.sources, reverse=True))
    return f"Points: retransmitted segments per {facts.count_bin_s:g} s where there are any, counted by {counter}"


def name_runs(drawn: Sequence[DrawnRun]) -> list[str]:
    """Return the sentences that say which runs are drawn, by which rule, and between which emulated hosts."""
    sentences = []
    for drawn_run in drawn:
        mode = drawn_run.run["mode"]
        shown = "Run shown" if len(drawn) == 1 or mode == "both" else f"{theme.style_of(mode).name} run shown"
        run = display_name(drawn_run.run["run_id"])
        iteration = "" if drawn_run.run["iteration"] is None else f" (iteration {drawn_run.run['iteration']})"
        if drawn_run.is_declared:
            sentences.append(f"{shown}: {run}{iteration}, chosen by name from {drawn_run.runs_count}")
        elif drawn_run.runs_count == 1:
            sentences.append(f"{shown}: {run}{iteration}, the only one of its condition with these data")
        else:
            sentences.append(f"{shown}: {run}{iteration}, representative of {drawn_run.runs_count} iterations")
    if any(drawn_run.runs_count > 1 and not drawn_run.is_declared for drawn_run in drawn):
        sentences.append(f"The representative run of a condition is {RULE}")
    return [*sentences, *find_ends(drawn).tell_names()]


def describe_left_out(count: int, kept: str) -> list[str]:
    """Return the sentence that says that other conditions match too, and which is drawn, if there are any."""
    if not count:
        return []
    others = "1 other condition matches" if count == 1 else f"{count} others match"
    return [f"{others} as well; the figure shows {kept}, then the first by identifier"]


def describe_path(notes: Sequence[str]) -> list[str]:
    """Return the sentence on the settings of the path, if there are any."""
    return [f"Path: {'; '.join(notes)}"] if notes else []


def write_alternative(facts: FigureFacts) -> str:
    """Return the text alternative: what the figure shows, in words and numbers taken from the data."""
    return f"Line chart of throughput over time: {_describe_message(facts)}"


def _name_scales(*, are_alike: bool) -> str:
    return "the same scales" if are_alike else "the same scale of rates, and those of time and retransmits each its own"


def write_panels_alternative(
    title: str, panels: Mapping[str, FigureFacts], left_out: Mapping[str, str], *, are_alike: bool = True
) -> str:
    """Return the text alternative of a figure of several panels: the message of each, from the data."""
    charts = "Line charts" if len(panels) > 1 else "Line chart"
    same = _name_scales(are_alike=are_alike)
    scales = f" in {len(panels)} panels with {same}" if len(panels) > 1 else ""
    messages = [f"({letter}) {_write_title(facts)}: {_describe_message(facts)}" for letter, facts in panels.items()]
    opening = f"{charts} of throughput over time{scales}: {title}."
    return " ".join([opening, *messages, *left_out.values()])


def _describe_message(facts: FigureFacts) -> str:
    ranked = sorted(facts.algorithms, key=lambda algorithm: -(algorithm.rate_bps or 0.0))
    means = [f"{algorithm.name} {format_rate(algorithm.rate_bps, facts.unit)}" for algorithm in ranked]
    ratios = [f"{algorithm.name} {format_ratio(algorithm.retransmit_ratio)}" for algorithm in ranked]
    sentences = [
        facts.conditions,
        f"Mean {facts.rate}: {join_names(means)}",
        *_compare(facts, ranked),
        f"Retransmitted segments: {join_names(ratios)} of the data segments sent",
    ]
    return " ".join(f"{sentence}." for sentence in sentences)


def _compare(facts: FigureFacts, ranked: Sequence[DrawnAlgorithm]) -> list[str]:
    first, last = ranked[0], ranked[-1]
    if len(ranked) < 2 or first.rate_bps is None or last.rate_bps is None:
        return []
    if unlike := tell_unlike(facts.drawn):
        return unlike
    if last.rate_bps == 0:
        return [f"{last.name} had none"]
    times = first.rate_bps / last.rate_bps
    counts = first.flows_count, last.flows_count
    if times < NEARLY_EQUAL:
        return [
            f"The {name_close([algorithm.cc for algorithm in ranked])}{tell_flows(*counts, (first.name, last.name))}"
        ]
    shown = "in the single runs shown" if len(facts.drawn) > 1 else "in the run shown"
    ratio = f"{first.name} had {format_significant(times, 3)} times the {facts.rate} of {last.name}"
    return [f"{ratio} {shown}{tell_flows(*counts)}"]
