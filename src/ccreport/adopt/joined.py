"""Samples of sockets whose names say nothing of their tests, and whose connections do: they need no pattern.

A pattern of their own would make runs of them; without one, a build joins them to the tests of their folder.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.patterns import ProposedPattern
from ccreport.adopt.proposal import Proposal
from ccreport.archive.layout_groups import OF_FILES
from ccreport.core.text import count_things

JOINED_KIND: Final = "ss"
SESSION: Final = "session"


def find_joined(patterns: Iterable[ProposedPattern], contents: Mapping[str, Content]) -> list[str]:
    """Return the files of patterns that agree with no test in a group, and of which connections tell the tests."""
    patterns = list(patterns)
    tests = {path: values for own in patterns if own.kind == "iperf3" for path, values in _read_groups(own).items()}
    joined = []
    for own in (own for own in patterns if own.kind == JOINED_KIND):
        told = _read_groups(own)
        of_tests = {path: _find_test(path, contents) for path in own.paths}
        pairs = [(told[path], tests.get(test, {})) for path, test in of_tests.items() if test is not None]
        if pairs and not any(_agrees(one, other) for one, other in pairs):
            joined += own.paths
    return sorted(joined)


def _read_groups(own: ProposedPattern) -> dict[str, dict[str, str]]:
    return {path: {**own.constants, **dict(values)} for path, values in own.read_values().items()}


def _find_test(path: str, contents: Mapping[str, Content]) -> str | None:
    """Return the one test in the folder of some samples that has their connections and ran at their time."""
    samples, folder = contents[path], path.rpartition("/")[0]
    found = [
        other
        for other, test in contents.items()
        if test.kind == "iperf3"
        and other.rpartition("/")[0] == folder
        and test.ends & samples.ends
        and test.overlaps(samples, slack_s=1)
    ]
    return found[0] if len(found) == 1 else None


def _agrees(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Tell whether two files have a group in common, and the same in all that they have."""
    common = one.keys() & other.keys()
    return bool(common) and all(one[group] == other[group] for group in common)


def join_sessions(proposal: Proposal, joined: Iterable[str]) -> Proposal:
    """Return a proposal in which tests of several sessions in a folder of joined samples are of one experiment.

    What was the session is a part of the names of runs then, unless these have names of their own.
    """
    folders = {path.rpartition("/")[0] for path in joined}
    sessions: dict[str, set[str]] = defaultdict(set)
    for own in proposal.patterns:
        for path, values in _read_groups(own).items():
            sessions[path.rpartition("/")[0]].add(values.get(SESSION, ""))
    if all(len(sessions[folder]) <= 1 for folder in folders):
        return proposal
    for own in proposal.patterns:
        has_run = "run" in own.groups
        written = "(?:" if has_run else "(?P<run>"
        for column in (column for column in own.columns if column.group == SESSION):
            column.expression = column.expression.replace(f"(?P<{SESSION}>", written)
            column.group = None if has_run else "run"
    groups = {group for own in proposal.patterns for group in own.groups}
    of_flows = OF_FILES | ({"cc"} if "flow" in groups else set())
    return replace(proposal, runs_by=sorted(groups - of_flows))


def describe_joined(paths: Sequence[str]) -> str:
    """Return that some samples have no pattern, and why."""
    counted = count_things(len(paths), f"{JOINED_KIND} file")
    return f"No pattern for {counted}, such as {paths[0]}: joined to the tests of the folder by connections"
