"""A proposal is tried on the paths before it is written: where it leaves files out, more groups keep the runs apart."""

import copy
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from ccreport.adopt.contents import Content
from ccreport.adopt.path_words import escape
from ccreport.adopt.patterns import Column
from ccreport.adopt.proposal import JOB, Proposal
from ccreport.adopt.roles import stand_for_algorithms
from ccreport.archive.layout import NAME, Layout, Pattern
from ccreport.archive.layout_groups import KINDS, OF_FILES
from ccreport.inventory.kinds import RUN_KINDS, TEST_KINDS
from ccreport.inventory.names import read_declared


def repair(proposal: Proposal, contents: Mapping[str, Content]) -> Proposal:
    """Return a proposal, or what leaves out the fewest files where it leaves out some."""
    if not proposal.patterns or not _count_left_out(proposal, contents):
        return proposal
    return min(_list_repairs(proposal, contents), key=lambda repaired: _count_left_out(repaired, contents))


def _count_left_out(proposal: Proposal, contents: Mapping[str, Content]) -> int:
    """Return how many files contradict others, have the place of another in their run, or are of a run of no test."""
    patterns = []
    for number, own in enumerate(proposal.patterns):
        constants = proposal.list_constants(own)
        patterns.append(Pattern(f"files.{number}", own.write_pattern(), KINDS[own.kind], constants, own.factors))
    groups = frozenset(group for own in proposal.patterns for group in (*own.groups, *proposal.list_constants(own)))
    layout = Layout(NAME, tuple(patterns), runs_by=tuple(proposal.runs_by), groups=groups)
    named = read_declared(layout, {path: PurePosixPath(path).parent for path in contents}).values()
    places = Counter(
        (name.kind, folder, name.run, name.client_number, name.side)
        for folder, name in named
        if name.run is not None and name.kind in RUN_KINDS
    )
    tests = {(folder, run) for kind, folder, run, *_ in places if kind in TEST_KINDS}
    return (
        sum(name.problem is not None for _, name in named)
        + sum(count - 1 for count in places.values())
        + sum((folder, run) not in tests for _, folder, run, *_ in places)
    )


def _list_repairs(proposal: Proposal, contents: Mapping[str, Content]) -> Iterator[Proposal]:
    """Yield a proposal as it is, with other groups by which files are of one run, and with words as more groups."""
    for own in (proposal, _name_words(proposal, contents)):
        common = set.intersection(*(set(pattern.groups) for pattern in own.patterns)) - OF_FILES
        # Where other files have folders below those of the tests, one job holds them together.
        for job, runs_by in itertools.product((own.job, JOB), (own.runs_by, sorted(common), [])):
            yield replace(own, job=job, runs_by=runs_by)


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
