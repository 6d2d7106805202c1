"""The words of figures over conditions: values with their units, panel titles, caption and text alternative."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ccreport.archive.direction import read_direction
from ccreport.core.text import display_name
from ccreport.figures.kit import theme
from ccreport.figures.select.condition_cells import SETTINGS, list_values
from ccreport.figures.select.declaration import ALIKE, Rate
from ccreport.figures.wording.runs import (
    PATH_DASH,
    DrawnRun,
    Ends,
    format_rate,
    format_significant,
    join_names,
    tell_flows,
)
from ccreport.summarise.grids import settings

# More of them are counted and not named.
NAMED_AT_MOST: Final = 3
# What runs of a mean can differ in and is not said by panels, lines or the axis.
POOLED: Final = ("host", "nic_bps", "pacing_bps", "parameter_name", "parameter_value")
# What an interface has unless told otherwise, which captions leave out.
PLAIN_QUEUE: Final = "fifo"
# Of means that are less apart captions do not say which is ahead.
NEARLY_EQUAL: Final = 1.05
CLOSE: Final = "less than 5 % apart"
NEED_NOT_BE_EQUAL: Final = "Means that close need not be equal: their intervals decide"
# What a path may well not have, of which a title says nothing where it has it not.
OF_BOTTLENECK: Final = ("bottleneck_bps", "buffer_bytes", "queue_discipline", "has_queue_ecn")
INTERVAL: Final = "95 % interval (Student’s t, from the spread of runs within conditions)"


def describe_value(column: str, value: Any) -> str:
    """Return the value of a setting as tables head columns with it, algorithms by the names that figures give them."""
    if column not in ("cc_list", "beside") or value is None:
        return settings.describe_value(column, value)
    names = join_names([theme.style_of(cc).name for cc in theme.order_algorithms(value.split(","))])
    return names if column == "cc_list" else f"both {names}"


def describe_panel(columns: Sequence[str], values: Sequence[Any]) -> str:
    """Return what tells a panel from the others: algorithm first, then its settings; a parameter with its value."""
    facts = dict(zip(columns, values, strict=True))
    if None not in (facts.get("parameter_name"), facts.get("parameter_value")):
        facts["parameter_name"] = f"{facts['parameter_name']} {facts.pop('parameter_value')}"
    if facts.get("bottleneck_bps") is not None and facts.get("nic_bps") is None:
        # The bottleneck is what limits.
        facts.pop("nic_bps", None)
    if facts.get("queue_discipline") is not None and "has_queue_ecn" in facts:
        facts["queue_discipline"] += " with ECN" if facts.pop("has_queue_ecn") else ""
    texts = {
        column: theme.style_of(value).name if column == "cc" else describe_value(column, value)
        for column, value in facts.items()
    }
    known = [text for column, text in texts.items() if text and not (facts[column] is None and column in OF_BOTTLENECK)]
    # A title has to say something.
    return ", ".join(known) or next(filter(None, texts.values()), "")


def tell_unlike(drawn: Sequence[DrawnRun]) -> list[str]:
    """Return the sentence that says in what the runs of algorithms differ otherwise; nothing where they compare."""
    unlike = [column for column in ALIKE if len({one.run.get(column) for one in drawn}) > 1]
    named = ["queue_discipline" if column == "queue" else column for column in unlike]
    told = [
        f"{theme.style_of(one.run['mode']).name} ({describe_panel(named, [one.run[column] for column in unlike])})"
        for one in drawn
    ]
    return [f"The runs differ in more than their algorithms: {join_names(told)}"] if unlike else []


def describe_conditions(runs: pl.DataFrame) -> str:
    """Return what all runs have in common: algorithms, settings with one known value, and the path."""
    names = join_names([theme.style_of(cc).name for cc in theme.order_algorithms(runs["cc"].unique())])
    fixed = [
        describe_value(column, runs[column][0])
        for column in SETTINGS
        if column not in ("sender_host", "parameter_name")
        and runs[column][0] != PLAIN_QUEUE
        and runs[column].n_unique() == 1
        and runs[column][0] is not None
    ]
    ends = find_ends(runs)
    # One of which only the sender is known has no direction.
    path = ends.name() if (ends.senders and ends.hosts) or ends.is_emulated else ends.senders or ends.hosts
    return ", ".join([names, *fixed]) + (f"{PATH_DASH}{path}" if path else "")


def find_ends(runs: pl.DataFrame) -> Ends:
    """Return the ends of the paths of runs, of which many are counted."""
    told = runs.select("parameter_name", "parameter_value").unique().rows()
    return Ends(
        _name_hosts(runs, "sender_host", "senders"),
        _name_hosts(runs, "host", "hosts"),
        runs.select("host", "rtt_ms").n_unique(),
        {read_direction(*names) for names in told},
        "is_emulated" in runs.columns and runs["is_emulated"].all(),
    )


def _name_hosts(runs: pl.DataFrame, column: str, several: str) -> str:
    names = [display_name(name) for name in list_values(runs, column) if name is not None]
    return join_names(names) if len(names) <= NAMED_AT_MOST else f"{len(names)} {several}"


@dataclass(frozen=True)
class ConditionFacts:
    """What caption and alternative say.

    `cells` has the columns of `keys` and panel, series, x, label, mean, low, high, runs_count, conditions_count;
    `notes` are sentences of the kind; a `finding` takes the place of where algorithms are farthest apart; `pooled` says
    what differs between runs that are drawn together.
    """

    runs: pl.DataFrame
    cells: pl.DataFrame
    keys: Sequence[str]
    rate: Rate
    unit: str
    against: str
    panels: Sequence[str]
    notes: Sequence[str]
    finding: str = ""
    pooled: Sequence[str] = ()


def write_condition_caption(facts: ConditionFacts) -> str:
    """Return the caption: conditions and runs, where algorithms are farthest apart, then what marks and bars are."""
    found = [facts.finding] if facts.finding else _describe_largest_gap(facts)
    shown = ["; ".join([describe_conditions(facts.runs), count_runs(facts.cells), *facts.pooled]), *found]
    shown += qualify_closeness(found)
    sentences = [
        *shown,
        f"Mean {facts.rate} against {facts.against}, summed over the flows of an algorithm",
        *describe_intervals(facts.cells),
        *facts.notes,
        *find_ends(facts.runs).tell_names(),
        *(["All panels have the same scales"] if len(facts.panels) > 1 else []),
    ]
    return fold_sentences(sentences, max(len(shown), 2))


def count_runs(cells: pl.DataFrame) -> str:
    """Return how many runs a mean rests on, and how many conditions it pools where these are several."""
    counts, pooled = (cells[column].sort().to_list() for column in ("runs_count", "conditions_count"))
    least, most = counts[0], counts[-1]
    span = f"{most} run{'' if most == 1 else 's'}" if least == most else f"{least}–{most} runs"
    return f"each mean: {span} from up to {pooled[-1]} conditions" if pooled[-1] > 1 else f"each mean: {span}"


def describe_intervals(cells: pl.DataFrame) -> list[str]:
    """Return the sentence that says what the bars of the means are."""
    if cells["low"].null_count() == cells.height:
        return ["No mean has an interval: each needs three runs at least"]
    return [f"Bars: {INTERVAL}"]


def name_close(ccs: Sequence[str]) -> str:
    """Return by name which algorithms have nearly equal means: they need not be all of a figure."""
    return f"means of {join_names([theme.style_of(cc).name for cc in theme.order_algorithms(ccs)])} are {CLOSE}"


def qualify_closeness(findings: Sequence[str]) -> list[str]:
    """Return what has to stand beside findings that say that means are close: nobody shall read that they are equal."""
    return [NEED_NOT_BE_EQUAL] if any(CLOSE in finding for finding in findings) else []


def write_sentences(sentences: Sequence[str]) -> str:
    """Return sentences as one line, each with a capital and a full stop; empty ones are left out."""
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences if sentence)


def fold_sentences(sentences: Sequence[str], shown_count: int = 2) -> str:
    """Return a caption: the first sentences as one line, and on a second the rest, which pages fold away."""
    shown, rest = sentences[:shown_count], sentences[shown_count:]
    return f"{write_sentences(shown)}\n{write_sentences(rest)}".rstrip("\n")


def add_detail(caption: str, sentence: str) -> str:
    """Return a caption with one more sentence in its second line, which it has then."""
    return (" " if "\n" in caption else "\n").join((caption, write_sentences([sentence])))


def write_condition_alternative(facts: ConditionFacts) -> str:
    """Return the text alternative: the ends of each line by panel, and where two algorithms are farthest apart."""
    count = len(facts.panels)
    shape = "Chart" if count == 1 else f"{count} charts"
    conditions = "; ".join([describe_conditions(facts.runs), *facts.pooled])
    first = f"{shape} of mean {facts.rate} against {facts.against}: {conditions}"
    panels = [
        _describe_lines(facts, panel, lines) for (panel,), lines in facts.cells.group_by("panel", maintain_order=True)
    ]
    return write_sentences([first, *panels, *_describe_largest_gap(facts)])


def _describe_lines(facts: ConditionFacts, panel: Any, lines: pl.DataFrame) -> str:
    ends = lines.sort("x", maintain_order=True)["label"]
    where = f"{facts.panels[panel]}, " if facts.panels[panel] else ""
    told = []
    for (name,), line in lines.group_by("series", maintain_order=True):
        rates = [format_rate(rate, facts.unit) for rate in (line["mean"][0], line["mean"][-1])]
        told.append(f"{name} {rates[0]} to {rates[1]}" if line.height > 1 else f"{name} {rates[0]}")
    return f"{where}from {ends[0]} to {ends[-1]}: {'; '.join(told)}"


def _describe_largest_gap(facts: ConditionFacts) -> list[str]:
    """Compare the algorithms where all other keys are the same, and each ran under all conditions of the others."""
    keys = [key for key in facts.keys if key != "cc"]
    conditions = pl.struct(POOLED).unique().sort().alias("conditions")
    unlike = facts.runs.group_by(*keys, "cc").agg(conditions).group_by(keys).agg(pl.col("conditions").n_unique())
    cells = facts.cells.join(unlike.filter(pl.col("conditions") > 1), on=keys, how="anti", nulls_equal=True)
    own = pl.col("cc_flows_count")
    flows = facts.runs.group_by(*keys, "cc").agg(flows=pl.when(own.n_unique() == 1).then(own.first()))
    cells = cells.join(flows, on=[*keys, "cc"], nulls_equal=True, maintain_order="left")
    pairs = cells.group_by(keys, maintain_order=True).agg(
        count=pl.len(),
        high=pl.col("mean").max(),
        low=pl.col("mean").min(),
        fast=pl.col("cc").sort_by("mean").last(),
        slow=pl.col("cc").sort_by("mean").first(),
        flows=pl.col("flows").sort_by("mean", descending=True),
        ccs=pl.col("cc").unique().sort(),
    )
    apart = pairs.filter((pl.col("count") > 1) & (pl.col("low") > 0)).with_columns(times=pl.col("high") / pl.col("low"))
    is_everywhere = (
        apart["count"].eq(facts.cells["cc"].n_unique()).all() and apart.height == facts.cells.select(keys).n_unique()
    )
    if apart.is_empty():
        return []
    most = apart.sort("times", descending=True, maintain_order=True).row(0, named=True)
    fast, slow = (theme.style_of(most[name]).name for name in ("fast", "slow"))
    times = format_significant(most["times"], 3)
    where = describe_panel(keys, [most[key] for key in keys])
    if most["times"] < NEARLY_EQUAL:
        extent = "everywhere" if is_everywhere else "wherever they can be compared"
        close = join_names([f"the {name_close(ccs)}" for ccs in apart["ccs"].unique(maintain_order=True)])
        unequal = ", of different numbers of flows" if (apart["flows"].list.n_unique() > 1).any() else ""
        return [f"{close} {extent}{unequal}{_describe_range(facts)}"]
    compared = "" if is_everywhere else ", where they can be compared,"
    beside = tell_flows(most["flows"][0], most["flows"][-1])
    rate = f"mean {facts.rate}" if facts.rate in {"goodput", "throughput"} else facts.rate
    return [f"Farthest apart{compared} at {where}: {fast} had {times} times the {rate} of {slow}{beside}"]


def _describe_range(facts: ConditionFacts) -> str:
    """Return from where to where means go along the line that goes farthest; nothing where they are nearly equal."""
    lines = facts.cells.group_by("panel", "series", maintain_order=True)
    ends = lines.agg(low=pl.col("mean").min(), high=pl.col("mean").max()).filter(pl.col("low") > 0)
    farthest = ends.sort(pl.col("high") / pl.col("low"), descending=True, maintain_order=True).head(1)
    if farthest.is_empty() or farthest["high"].item() < NEARLY_EQUAL * farthest["low"].item():
        return ""
    low, high = (format_rate(farthest[end].item(), facts.unit) for end in ("low", "high"))
    panel = facts.panels[farthest["panel"].item()]
    return f"; over {facts.against} they go from {low} to {high}{f' at {panel}' if panel else ''}"
