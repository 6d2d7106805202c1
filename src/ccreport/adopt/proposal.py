"""A layout for a folder of files, proposed from what their names have in common and from what they hold.

Files of one kind whose paths differ in single words only are one pattern, with a group for each word that tells.
Which of the groups tells flows of one run apart, and which repetitions, the times of the tests show.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.forms import group_by_form, read_seconds
from ccreport.adopt.mixes import join_mixes
from ccreport.adopt.path_words import (
    Word,
    is_without_unit,
    list_delays,
    read_as_ratio,
    split_path,
)
from ccreport.adopt.patterns import ProposedPattern, make_pattern
from ccreport.adopt.rivals import SINGLE, Ignored
from ccreport.adopt.roles import name_roles
from ccreport.archive.layout_groups import NO_LOSS, OF_FILES, point_decimals

# Kinds that content does not show, so that the pattern has to say them.
DECLARED: Final = frozenset({"iperf3-server", "netem"})
JOB: Final = "all"
RECEIVER_WORDS: Final = ("receiver", "server", "dst")
LOSSLESS: Final = re.compile(r"(?<![a-z])(?:no[ _-]?loss|lossless)(?![a-z])", re.IGNORECASE)
SIDED: Final = frozenset({"mpstat", "ss"})


@dataclass(frozen=True)
class Proposal:
    """Patterns for a folder's files, groups that tell runs apart (none: the usual ones), and files of no pattern."""

    patterns: list[ProposedPattern]
    runs_by: list[str]
    unnamed: list[str]
    # One job for all files, where each kind, or each repetition, has folders of its own.
    job: str | None = None
    # A CSV with a row for each file, or for each run.
    table: str | None = None
    # Columns of it that are notes.
    ignored_columns: tuple[str, ...] = ()
    # Files in whose place others are used.
    ignored: tuple[Ignored, ...] = ()
    # Samples that connections join to tests, so that they need no pattern.
    joined: tuple[str, ...] = ()
    # Nothing says whether losses are in per cent, or ratios.
    has_open_losses: bool = False
    # Nothing says whether delays are those of one direction.
    has_open_delays: bool = False

    def list_constants(self, pattern: ProposedPattern) -> dict[str, str]:
        """Return what is set for the files of a pattern beside its groups."""
        name = pattern.paths[0].rpartition("/")[2].lower()
        is_received = pattern.kind in SIDED and any(word in name for word in RECEIVER_WORDS)
        side = {"side": "receiver"} if is_received and "side" not in pattern.groups else {}
        return ({} if self.job is None else {"job": self.job}) | side | pattern.constants

    def ask_of_delays(self) -> str:
        """Return the question whether delays are those of one direction, and below which patterns to say so."""
        timed = [own for own in self.patterns if "rtt_ms" in own.groups]
        delayed = [own for own in timed if own.says_delay()]
        such = f"of a delay (not of an RTT), such as that of {delayed[0].paths[0]}" if delayed else ""
        which = such if 0 < len(delayed) < len(timed) else "with `rtt_ms`"
        return f"Are delays in names one-way? If so, write `scale: {{rtt_ms: 2}}` below each pattern {which}."

    def ask_of_flows(self) -> str:
        """Return the question whether flows are runs, where each test has a flow of its own; nothing elsewhere."""
        flows = [
            dict(values)["flow"]
            for own in self.patterns
            if own.kind == "iperf3" and "flow" in own.groups
            for values in own.read_values().values()
        ]
        if len({*flows}) < max(len(flows), 2):
            return ""
        return "Tests of one time count as flows of one run. Is each a run of its own? Then write `run` for `flow`."


def propose_layout(contents: Mapping[str, Content]) -> Proposal:
    """Return patterns for the names of files; `contents` are by path."""
    named = [(path, content.kind, split_path(path)) for path, content in sorted(contents.items()) if content.kind]
    said = [(word, contents[path]) for path, _, words in named for word in words]
    delays = [(word, contents[path]) for path, _, words in named for word in list_delays(words)]
    open_losses = _are_open([word for word, _ in said], contents.values())
    open_delays = bool(delays) and not any(_is_measured(word, one) for word, one in delays)
    if _are_ratios(said):
        named = [(path, kind, [read_as_ratio(word) for word in words]) for path, kind, words in named]
    named = join_mixes(read_seconds(named), contents)
    unnamed = [path for path in sorted(contents) if not contents[path].kind]
    made = [make_pattern(kind, members) for kind, members in group_by_form(named)]
    _share_groups(made)
    name_roles(made, contents)
    _name_single_run(made)
    _set_losses(made)
    # A group of a shorter form takes what a longer one takes apart, as `direct_1`: the longer one goes first.
    patterns = _order(sorted((own for own in made if own.groups or own.constants), key=lambda own: -len(own.columns)))
    unnamed += [path for own in made if not (own.groups or own.constants) for path in own.paths]
    written = Counter(pattern.write_pattern() for pattern in patterns)
    for pattern in patterns:
        pattern.is_whole = written[pattern.write_pattern()] > 1
    for pattern in patterns:
        if any(pattern.fits(path) for other in patterns if other is not pattern for path in other.paths):
            pattern.list_texts()
    patterns = _leave_out_idle(patterns)
    proposal = Proposal(patterns, [], sorted(unnamed), has_open_losses=open_losses, has_open_delays=open_delays)
    common = set.intersection(*(set(pattern.groups) for pattern in patterns)) - OF_FILES if patterns else set()
    if common and _is_by_kind(patterns) and not any("job" in pattern.groups for pattern in patterns):
        for pattern in patterns:
            pattern.is_whole = True
        return replace(proposal, runs_by=[] if "run" in common else sorted(common), job=JOB)
    return replace(proposal, runs_by=_choose_runs_by(patterns), job=JOB if _is_by_iteration(patterns) else None)


def _order(patterns: Iterable[ProposedPattern]) -> list[ProposedPattern]:
    """Return patterns with each before those that fit its files, where it fits none of theirs: 3.20 before 3.1.7."""
    ordered: list[ProposedPattern] = []
    for own in patterns:
        taking = [
            number
            for number, other in enumerate(ordered)
            if any(map(other.fits, own.paths)) and not any(map(own.fits, other.paths))
        ]
        for number in taking:
            ordered[number].list_texts()
        ordered.insert(min(taking, default=len(ordered)), own)
    return ordered


def _leave_out_idle(patterns: Iterable[ProposedPattern]) -> list[ProposedPattern]:
    """Return patterns without those all of whose files are of earlier ones of their kind, which count them."""
    used: list[ProposedPattern] = []
    for own in patterns:
        takers = [next((other for other in used if other.fits(path)), None) for path in own.paths]
        if all(taker is not None and taker.kind == own.kind for taker in takers):
            for taker, path in zip(takers, own.paths, strict=True):
                if taker is not None:
                    taker.others.append(path)
        else:
            used.append(own)
    return used


def settle_unnamed(proposal: Proposal, contents: Mapping[str, Content]) -> Proposal:
    """Return a proposal in which each file that some pattern fits is of the first that does.

    A result that is empty or breaks off is of the kind of those that are called as it is.
    """
    unnamed = []
    for path in proposal.unnamed:
        own = next((own for own in proposal.patterns if own.fits(path)), None)
        content = contents[path]
        if own is not None and (content.is_unusable or content.kind == own.kind):
            own.others.append(path)
            continue
        unnamed.append(path)
        if own is not None:
            own.is_loose = True
    return replace(proposal, unnamed=unnamed)


def _are_ratios(said: Sequence[tuple[Word, Content]]) -> bool:
    """Tell whether losses in paths are ratios: one has an exponent, or qdiscs say 100 times as many per cent."""
    numbers = [(word.value, one.loss_pct) for word, one in said if word.kind == "loss_pct" and word.value != NO_LOSS]
    recorded = [math.isclose(float(text) * 100, loss_pct, rel_tol=0.01) for text, loss_pct in numbers if loss_pct]
    return any(word.kind == "loss_ratio" for word, _ in said) or (bool(recorded) and all(recorded))


def _are_open(words: Sequence[Word], contents: Iterable[Content]) -> bool:
    """Tell whether losses in paths may be ratios or per cent: none has a unit, and no recorded qdisc has a loss."""
    losses = [word for word in words if word.kind in ("loss_pct", "loss_ratio")]
    numbers = [float(word.value) for word in losses if word.value != NO_LOSS]
    return (
        any(numbers)
        and max(numbers) <= 1
        and all(is_without_unit(word) for word in losses)
        and all(content.loss_pct is None for content in contents)
    )


def _is_measured(word: Word, content: Content) -> bool:
    """Tell whether a file measured an RTT that is not below the delay in its name, as that of the same path is."""
    return content.min_rtt_ms is not None and content.min_rtt_ms >= float(point_decimals(word.value)) * word.factor


def _share_groups(made: Sequence[ProposedPattern]) -> None:
    """Give a counted word that never changes in the files of one kind the group that it is in those of another.

    A single log beside tests `lab1` to `lab3` is of one of them.
    """
    counted = [(own, column, word) for own in made for column, word in own.list_counted()]
    varied = {word: column for _, column, word in counted if column.group and len(column.texts) > 1}
    for own, column, word in counted:
        other = varied.get(word)
        if column.group is None and other is not None and other.group not in own.groups:
            column.group, column.expression = other.group, other.expression


def _name_single_run(made: Sequence[ProposedPattern]) -> None:
    """Name the run of a single test in all patterns, so that the files beside it belong to it."""
    tests = [path for own in made if own.kind == "iperf3" for path in own.paths]
    if len(tests) == 1 and any(own.kind in SINGLE - {"ss"} for own in made):
        for own in (own for own in made if "run" not in own.groups):
            own.constants["run"] = tests[0].rpartition("/")[2].partition(".")[0]


def _set_losses(made: Iterable[ProposedPattern]) -> None:
    """Declare a loss of 0 where all paths of a pattern say so in words: rtt20_noloss."""
    for own in made:
        if not {"loss_pct", "loss_ratio"}.intersection(own.groups) and all(map(LOSSLESS.search, own.paths)):
            own.constants["loss_pct"] = "0"


def _is_by_kind(patterns: Sequence[ProposedPattern]) -> bool:
    """Tell whether the tests have folders in which no other kind of file is, and the others the same."""
    folders: dict[str, set[str]] = defaultdict(set)
    for one in patterns:
        folders[one.kind] |= {path.rpartition("/")[0] for path in one.paths}
    tests = folders.pop("iperf3", set())
    others = {folder for own in folders.values() for folder in own}
    return bool(tests and others) and not tests & others


def _is_by_iteration(patterns: Sequence[ProposedPattern]) -> bool:
    """Tell whether repetitions of tests have folders of their own: as jobs they would be of different conditions."""
    return not any("job" in own.groups for own in patterns) and any(
        column.group == "iteration" and len(column.texts) > 1 and any(after.texts == {"/"} for after in own.columns[n:])
        for own in patterns
        if own.kind == "iperf3"
        for n, column in enumerate(own.columns)
    )


def _choose_runs_by(patterns: Sequence[ProposedPattern]) -> list[str]:
    """Return the groups that all kinds of files of a run have, where the usual ones would keep them apart."""
    of_tests = [{*one.groups, *one.constants} for one in patterns if one.kind == "iperf3"]
    of_others = [{*one.groups, *one.constants} for one in patterns if one.kind not in ("iperf3", "jobmeta")]
    if any("run" in one.constants and "iteration" in one.groups for one in patterns):
        return ["run"]
    if not of_tests or not of_others or all("run" in groups for groups in (*of_tests, *of_others)):
        return []
    tests = [one for one in patterns if one.kind == "iperf3"]
    of_flows = {"flow", "side", *(["cc"] if any(map(_has_flows_of_several_algorithms, tests)) else [])}
    common = set.intersection(*of_tests, *of_others) - of_flows
    usual = set.union(*of_tests, *of_others) - of_flows
    return sorted(common) if common and common != usual else []


def _has_flows_of_several_algorithms(own: ProposedPattern) -> bool:
    """Tell whether some tests that differ in flow and algorithm alone are of several algorithms, each flow of one."""
    by_run: dict[object, dict[str, str]] = defaultdict(dict)
    told, of_runs = own.read_values(), own.read_values(("flow", "cc"))
    for path, values in told.items():
        flow, cc = (dict(values).get(group, "") for group in ("flow", "cc"))
        if by_run[of_runs[path]].setdefault(flow, cc) != cc:
            return False
    return any(len({*by_flow.values()}) > 1 for by_flow in by_run.values())
