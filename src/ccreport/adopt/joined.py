"""Samples of sockets whose names say nothing of their tests, and whose connections do: they need no pattern.

A pattern of their own would make runs of them; without one, a build joins them to the tests of their folder.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.patterns import ProposedPattern

JOINED_KIND: Final = "ss"
# What makes an experiment of its own of tests.
OF_EXPERIMENTS: Final = ("session", "job")


def find_joined(patterns: Iterable[ProposedPattern], contents: Mapping[str, Content]) -> list[str]:
    """Return the files of patterns that agree with no test in a group, and of which connections tell the tests."""
    patterns = list(patterns)
    tests = {path: values for own in patterns if own.kind == "iperf3" for path, values in _read_groups(own).items()}
    joined = []
    for own in (own for own in patterns if own.kind == JOINED_KIND):
        told = _read_groups(own)
        of_tests = {path: _find_test(path, contents) for path in own.paths}
        pairs = [(told[path], tests.get(test, {})) for path, test in of_tests.items() if test is not None]
        if pairs and not any(_agrees(one, other) for one, other in pairs) and _are_of_one_experiment(own, tests):
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


def _are_of_one_experiment(own: ProposedPattern, tests: Mapping[str, Mapping[str, str]]) -> bool:
    """Tell whether all tests in each folder of some samples would be of one session and job."""
    places: dict[str, set[tuple[str | None, ...]]] = defaultdict(set)
    for path, values in tests.items():
        places[path.rpartition("/")[0]].add(tuple(map(values.get, OF_EXPERIMENTS)))
    return all(len(places[folder]) <= 1 for folder in {path.rpartition("/")[0] for path in own.paths})
