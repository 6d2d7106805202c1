"""A proposal is tried on the paths before it is written: where it leaves files out, more groups keep the runs apart."""

import copy
import difflib
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.path_words import escape
from ccreport.adopt.patterns import Column, ProposedPattern
from ccreport.adopt.proposal import JOB, Proposal
from ccreport.adopt.roles import stand_for_algorithms
from ccreport.archive.layout import NAME, Layout, Pattern
from ccreport.archive.layout_groups import KINDS, KNOWN, OF_FILES, find_group, sort_naturally
from ccreport.core.text import count_things
from ccreport.inventory.kinds import RUN_KINDS, TEST_KINDS
from ccreport.inventory.names import read_declared

# buf0.5 · 0.5BDP · buf0.5BDP
AMOUNT: Final = re.compile(r"(?P<before>[^0-9]*)(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<behind>[^0-9]*)")


def repair(proposal: Proposal, contents: Mapping[str, Content]) -> Proposal:
    """Return a proposal, or what leaves out the fewest files where it leaves out some."""
    if not proposal.patterns or not _count_left_out(proposal, contents):
        return proposal
    return min(_list_repairs(proposal, contents), key=lambda repaired: _count_left_out(repaired, contents))


def leave_out_cutting(proposal: Proposal) -> tuple[Proposal, list[str]]:
    """Return a proposal without patterns that would tell a part of a number only, and a sentence on each of these."""
    cutting = [own for own in proposal.patterns if own.cuts_number()]
    kept = [own for own in proposal.patterns if not own.cuts_number()]
    paths = [path for own in cutting for path in own.paths]
    said = [
        f"No pattern for {count_things(own.count, f'{own.kind} file')}, such as {own.paths[0]}: "
        f"{own.write_pattern()} would cut a number at its point; write one that does not."
        for own in cutting
    ]
    return replace(proposal, patterns=kept, unnamed=sorted({*proposal.unnamed, *paths})), said


def settle_runs(proposal: Proposal, layout: Layout, contents: Iterable[str]) -> Proposal:
    """Return a proposal in which files that a table has no row for are of the runs of those that it has one for.

    `layout` is the proposed one with its table, and `contents` are the paths of files.
    """
    common = [{*own.groups, *proposal.list_constants(own)} for own in proposal.patterns]
    of_names = sorted(set.intersection(*common) - OF_FILES - {"session", "job"}) if common else []
    kinds = dict.fromkeys(contents)

    def count(runs_by: list[str]) -> int:
        return count_left_out(replace(layout, runs_by=tuple(find_group(name)[0] for name in runs_by)), kinds)

    return replace(proposal, runs_by=min((proposal.runs_by, of_names), key=count))


def _count_left_out(proposal: Proposal, contents: Mapping[str, Content]) -> int:
    """Return how many files contradict others, have the place of another in their run, or are of a run of no test.

    Where delays may be those of one direction, it is the more of the two numbers: the answer must not mix runs.
    """
    count = _count_scaled(proposal, contents, 1)
    return max(count, _count_scaled(proposal, contents, 2)) if proposal.has_open_delays else count


def _count_scaled(proposal: Proposal, contents: Mapping[str, Content], ways: int) -> int:
    patterns = []
    for number, own in enumerate(proposal.patterns):
        constants = proposal.list_constants(own)
        is_scaled = ways > 1 and "rtt_ms" in own.groups and own.says_delay()
        factors = own.factors | ({"rtt_ms": own.factors.get("rtt_ms", 1) * ways} if is_scaled else {})
        patterns.append(Pattern(f"files.{number}", own.write_pattern(), KINDS[own.kind], constants, factors))
    groups = frozenset(group for own in proposal.patterns for group in (*own.groups, *proposal.list_constants(own)))
    layout = Layout(NAME, tuple(patterns), runs_by=tuple(proposal.runs_by), groups=groups)
    return count_left_out(layout, dict.fromkeys(contents))


def count_left_out(layout: Layout, kinds: Mapping[str, str | None]) -> int:
    """Return how many files a layout leaves out, as of a proposal; `kinds` are by path, None where the layout says."""
    named = read_declared(layout, {path: PurePosixPath(path).parent for path in kinds}).items()
    places = Counter(
        (kind, folder, name.run, *name.find_place(kind))
        for path, (folder, name) in named
        if name.run is not None and (kind := kinds[path] or name.kind) in RUN_KINDS
    )
    tests = {(folder, run) for kind, folder, run, *_ in places if kind in TEST_KINDS}
    return (
        sum(name.problem is not None for _, (_, name) in named)
        + sum(count - 1 for count in places.values())
        + sum((folder, run) not in tests for _, folder, run, *_ in places)
    )


def _list_repairs(proposal: Proposal, contents: Mapping[str, Content]) -> Iterator[Proposal]:
    """Yield a proposal as it is, with other groups by which files are of one run, and with other or more groups.

    What a file that contradicts others is told to do is among them.
    """
    others = (_name_sessions(proposal), _equate_groups(proposal), _name_words(proposal, contents))
    for own in (proposal, *(other for other in others if other is not None)):
        common = set.intersection(*(set(pattern.groups) for pattern in own.patterns)) - OF_FILES
        # Where other files have folders below those of the tests, one job holds them together.
        for job, runs_by in itertools.product((own.job, JOB), (own.runs_by, sorted(common), [])):
            yield replace(own, job=job, runs_by=runs_by)
    for jobs in (_name_by_folders(proposal.patterns), _name_by_tests(proposal.patterns)):
        for runs_by in (proposal.runs_by, []) if len({*jobs}) > 1 else ():
            yield _set_jobs(replace(proposal, job=None, runs_by=runs_by), jobs)
    groups = {group for own in proposal.patterns for group in own.groups}
    yield replace(proposal, runs_by=sorted(groups - OF_FILES - {"session", "job"}))


def _set_jobs(proposal: Proposal, jobs: Iterable[str]) -> Proposal:
    """Return a proposal in which each pattern has a job of its own; without one, the folder of a file is its job."""
    parted = copy.deepcopy(proposal)
    for own, job in zip(parted.patterns, jobs, strict=True):
        own.constants |= {"job": job} if job else {}
    return parted


def _name_by_folders(patterns: Sequence[ProposedPattern]) -> list[str]:
    """Return a job for each pattern: the folder, below those of all files, in which its files are."""
    folders = [[PurePosixPath(path).parent for path in own.paths] for own in patterns]
    shared = len(PurePosixPath(os.path.commonpath([str(folder) for own in folders for folder in own])).parts)
    names = [{(*folder.parts, "")[shared] for folder in own} for own in folders]
    joined: list[set[str]] = []
    for own in names:
        touching = [other for other in joined if own & other]
        joined = [*(other for other in joined if not own & other), own.union(*touching)]
    return ["-".join(sort_naturally(next(other for other in joined if own <= other) - {""})) for own in names]


def _name_by_tests(patterns: Sequence[ProposedPattern]) -> list[str]:
    """Return a job for each pattern: that of the tests with the most similar names, by folder or number."""
    tests = [own for own in patterns if own.kind == "iperf3"]
    folders = [
        PurePosixPath(os.path.commonpath([str(PurePosixPath(path).parent) for path in own.paths])).name for own in tests
    ]
    names = [
        folder if folder and folders.count(folder) == 1 else f"names{number}"
        for number, folder in enumerate(folders, 1)
    ]
    jobs = []
    for own in patterns if tests else ():
        alike = [difflib.SequenceMatcher(None, own.write_pattern(), test.write_pattern()).ratio() for test in tests]
        jobs.append(names[alike.index(max(alike))])
    return jobs


def _name_words(proposal: Proposal, contents: Mapping[str, Content]) -> Proposal:
    """Return a proposal whose patterns have a group for the first word that not all of a kind have."""
    named = copy.deepcopy(proposal)
    found: list[tuple[Column, list[str]]] = []
    for own in named.patterns:
        alike = [other.list_words() for other in named.patterns if other.kind == own.kind]
        words = own.list_words()
        differing = [text for text in words if not all(text in others for others in alike)]
        if differing:
            found.append((words[differing[0]], own.paths))
    pairs = [(column.words[0].text, contents[path]) for column, paths in found for path in paths]
    taken = {group for own in named.patterns for group in own.groups}
    tests = [(text, content) for text, content in pairs if content.kind == "iperf3"]
    variants = ("variant", *(f"variant_{number}" for number in range(2, len(taken) + 3)))
    is_cc = "cc" not in taken and stand_for_algorithms(tests)
    group = "cc" if is_cc else next(name for name in variants if name not in taken)
    for column, _ in found:
        column.group = group
        column.expression = f"(?P<{group}>{escape(column.words[0].text)})"
    return named


def _name_sessions(proposal: Proposal) -> Proposal | None:
    """Return a proposal in which what is `run` names a session of several runs, as a day does; None for nothing."""
    named = copy.deepcopy(proposal)
    columns = [column for own in named.patterns for column in own.columns if column.group == "run"]
    if not columns or any("session" in (*own.groups, *own.constants) for own in named.patterns):
        return None
    for column in columns:
        column.group, column.expression = "session", column.expression.replace("(?P<run>", "(?P<session>")
    return named


def _equate_groups(proposal: Proposal) -> Proposal | None:
    """Return a proposal in which numbers of tests and of other files with other letters are one group; None for none.

    Tests in 0.5BDP and samples of buf0.5 have the same buffer.
    """
    named = copy.deepcopy(proposal)
    of_tests = [own for own in named.patterns if own.kind == "iperf3"]
    has_equated = False
    for own in (own for own in named.patterns if own.kind != "iperf3"):
        for column in [column for column in own.columns if column.group and len(column.texts) > 1]:
            alike = [
                test
                for one in of_tests
                for test in one.columns
                if column.group not in one.groups and test.group not in own.groups and _are_alike(column, test)
            ]
            if len({test.group for test in alike}) == 1:
                _equate(named.patterns, column, alike[0])
                has_equated = True
    return named if has_equated else None


def _are_alike(column: Column, test: Column) -> bool:
    """Tell whether all numbers of a group are those of another one, and not both groups have a meaning."""
    numbers, others = _list_numbers(column), _list_numbers(test)
    is_open = test.group is not None and not KNOWN.issuperset((column.group, test.group))
    return is_open and bool(numbers) and {*numbers} <= {*others}


def _list_numbers(column: Column) -> list[str]:
    """Return the numbers of a column that has the same letters about all of them, else none."""
    found = [match for word in column.words if (match := AMOUNT.fullmatch(word.text)) is not None]
    about = {(match["before"], match["behind"]) for match in found}
    return [match["number"] for match in found] if len(found) == len(column.words) and len(about) == 1 else []


def _equate(patterns: Iterable[ProposedPattern], column: Column, test: Column) -> None:
    """Give all columns of two groups the name of one, first of that with a unit, and their numbers as values."""
    meant = next((one for one in (test, column) if one.words[0].value in _list_numbers(one)), test)
    group, factor, formers = meant.group, meant.words[0].factor, (column.group, test.group)
    for own in patterns:
        for other in (other for other in own.columns if other.group in formers and _list_numbers(other)):
            match = AMOUNT.fullmatch(other.words[0].text)
            before, behind = (match["before"], match["behind"]) if match is not None else ("", "")
            pairs = zip(other.words, _list_numbers(other), strict=True)
            other.words = [word._replace(value=number, factor=factor) for word, number in pairs]
            own.factors.pop(str(other.group), None)
            own.factors |= {str(group): factor} if factor != 1 else {}
            other.group, other.expression = group, f"{escape(before)}(?P<{group}>[0-9.]+){escape(behind)}"
