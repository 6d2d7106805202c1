"""Which groups tell flows, repetitions, runs and algorithms apart: by what the tests hold, not by their words."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Final, NamedTuple

from ccreport.adopt.contents import Content
from ccreport.adopt.path_words import NUMBER, escape
from ccreport.adopt.patterns import ANY_WORD, Column, ProposedPattern, find_start
from ccreport.adopt.run_names import find_run_name
from ccreport.archive.layout_groups import KNOWN, find_meant

# (?P<run>run_[0-9.]+) · (?P<run>[0-9]+(?:\\.[0-9]+)?)
COUNTED: Final = re.compile(rf"\(\?P<run>(?P<word>[^\[\]()]*)(?:{re.escape('[0-9.]+')}|{re.escape(NUMBER)})\)")
# x16 · 16st · 16: a number with letters before or behind it
AMOUNT: Final = re.compile(r"(?P<before>[A-Za-z]*=?)(?P<number>[0-9]+)(?P<behind>[A-Za-z]*)")
# The flow of a test whose name has no word for it.
FIRST_FLOW: Final = "first"
# Before a number that may be swept, or that tells places apart.
CONDITION_WORDS: Final = frozenset(
    {
        *("bdp", "buf", "bufs", "case", "client", "config", "conn", "cwnd", "flow", "host", "lab", "level", "link"),
        *("node", "number", "path", "ports", "scenario", "server", "setup", "site", "size", "step", "time", "variant"),
        "window",
    }
)
# Of two groups of one path; the number of cubic_run1 behind a day.
SECOND_RUN: Final = "second_run"
# At the end of a name, before the number of a repetition.
REPEATED: Final = re.compile("[rR]")


class Role(NamedTuple):
    """What a group is: its name so far and its new one, what it holds, and its expression (None: as it was).

    Without a new name, it tells nothing.
    """

    former: str
    group: str | None
    texts: set[str]
    expression: str | None = None


def name_roles(made: Sequence[ProposedPattern], contents: Mapping[str, Content]) -> None:
    """Name the groups of which the tests show what they tell apart, in the patterns of all kinds of files."""
    tests = [own for own in made if own.kind == "iperf3"]
    for find in (
        _find_flows,
        _find_flow_counts,
        _find_durations,
        _find_runs,
        _find_last_numbers,
        _find_repetitions,
        _find_counters,
        _find_algorithms,
    ):
        for role in [role for own in tests if (role := find(own, contents)) is not None]:
            for own in made:
                own.rename(*role)
    _name_clients(tests, contents)
    for role in _find_letters(tests):
        for own in made:
            own.rename(*role)
    # A day and the number of a run: first the day, then the number as one without a day.
    dated = [own for own in made if SECOND_RUN in own.groups]
    for several in (dated, made):
        if several and any(_repeats_runs(own, contents) for own in tests):
            for own in several:
                _count_runs(own)


def _find_flows(own: ProposedPattern, contents: Mapping[str, Content]) -> Role | None:
    """Return the group by which tests differ, beside their algorithm, that ran at one time."""
    known = KNOWN - {"iteration", "run"}
    columns = [column for column in own.columns if column.group and column.group not in known and not _says_run(column)]
    # Where results say their algorithms, names of these may tell flows apart.
    are_known = all(contents[path].algorithms for path in own.paths)
    columns += [column for column in own.columns if column.group == "cc" and are_known]
    for column in columns:
        # Flows of different algorithms, or of the same.
        for others in ((column.group, "cc"), (column.group,)):
            by_others: dict[object, list[Content]] = defaultdict(list)
            for path, values in own.read_values(map(str, others)).items():
                by_others[values].append(contents[path])
            several = [group for group in by_others.values() if len(group) > 1]
            if several and all(map(_are_flows, several)):
                expression = "(?P<flow>[A-Za-z]+[0-9]+)" if column.kind == "counted" else None
                return Role(str(column.group), "flow", column.texts, expression)
    return None


def _says_run(column: Column) -> bool:
    """Tell whether a word says that a number is of a run or a repetition, be they of one time: run1, rep2."""
    return column.kind in ("run", "iteration") and column.words[0].text[:1].isalpha()


def _name_clients(tests: Sequence[ProposedPattern], contents: Mapping[str, Content]) -> None:
    """Set flows of tests that ran together, and of which some have a word more in their names: `take A second.json`."""
    for own, other in itertools.permutations(tests, 2):
        words, of_other = own.list_words(), other.list_words()
        more = [word for word in words if word not in of_other]
        is_longer = "flow" in own.groups or (more and "flow" not in own.constants)
        if not is_longer or not of_other.keys() <= words.keys() or "flow" in other.groups:
            continue
        if other.constants.get("flow", FIRST_FLOW) != FIRST_FLOW:
            continue
        firsts = {values: path for path, values in other.read_values(("cc",)).items()}
        pairs = [(contents[path], firsts.get(values)) for path, values in own.read_values(("flow", "cc")).items()]
        if all(first is not None and _are_flows([second, contents[first]]) for second, first in pairs):
            other.constants["flow"] = FIRST_FLOW
            own.constants |= {"flow": more[0]} if "flow" not in own.groups else {}


def _find_flow_counts(own: ProposedPattern, contents: Mapping[str, Content]) -> Role | None:
    """Return the group of numbers that are how many flows each test has."""
    counts = [contents[path].flows_count for path in own.paths]
    for column, numbers, expression in _list_amounts(own):
        if numbers == counts:
            return Role(column.group or "", "flows", column.texts, expression.format("(?P<flows>[0-9]+)"))
    return None


def _find_durations(own: ProposedPattern, contents: Mapping[str, Content]) -> Role | None:
    """Return the group of numbers that are how long each test took; it is named where it alone tells tests apart."""
    durations = [round(asked_s) if (asked_s := contents[path].asked_s) else None for path in own.paths]
    for column, numbers, expression in _list_amounts(own):
        if numbers == durations and column.group:
            is_needed = len({*own.read_values((column.group,)).values()}) < len({*own.read_values().values()})
            value = "(?P<duration_s>[0-9]+)" if is_needed else "[0-9]+"
            return Role(column.group, "duration_s" if is_needed else None, column.texts, expression.format(value))
    return None


def _list_amounts(own: ProposedPattern) -> Iterator[tuple[Column, list[int], str]]:
    """Yield columns of numbers with the same letters about them, the numbers, and an expression to put theirs into."""
    for column in own.columns:
        found = [AMOUNT.fullmatch(word.text) for word in column.words]
        matches = [match for match in found if match is not None]
        # 1flow · 16flows
        about = {(match["before"], re.sub("s$", "", match["behind"])) for match in matches}
        is_open = column.group is not None and column.group not in KNOWN - {"iteration"}
        if is_open and len(matches) == len(found) and len(about) == 1:
            endings = {match["behind"] for match in matches}
            ending = endings.pop() if len(endings) == 1 else f"{min(endings, key=len)}s?"
            before = escape(matches[0]["before"])
            yield column, [int(match["number"]) for match in matches], f"{before}{{}}{ending}"


def _find_runs(own: ProposedPattern, contents: Mapping[str, Content]) -> Role | None:
    """Return the group that names the tests; beside a day it is the second that does, if the day has several tests."""
    if (found := find_run_name(own, contents)) is None:
        return None
    column, expression = found
    days = next((other.texts for other in own.columns if other.group == "run"), None)
    if days is not None and len(days) == len(own.paths):
        return Role(str(column.group), None, column.texts, expression)
    group = "run" if days is None else SECOND_RUN
    return Role(str(column.group), group, column.texts, f"(?P<{group}>{expression})")


def _find_last_numbers(own: ProposedPattern, _contents: Mapping[str, Content]) -> Role | None:
    """Return the group of numbers from 1 on behind an r at the end of names, whatever letters folders have: a/r1."""
    column = next((column for column in reversed(own.columns) if column.group is not None), None)
    if column is None or column.kind != "counted":
        return None
    (start, *others) = {find_start(word) for word in column.words}
    numbers = {word.text.removeprefix(start) for word in column.words}
    is_series = numbers == {str(number + 1) for number in range(len(numbers))}
    if others or not REPEATED.fullmatch(start) or not is_series or len(numbers) in (1, len(own.paths)):
        return None
    return Role(str(column.group), "iteration", column.texts, f"{escape(start)}(?P<iteration>[0-9]+)")


def _find_repetitions(own: ProposedPattern, _contents: Mapping[str, Content]) -> Role | None:
    """Return the group of the first letters or numbers, each of which is beside all that the other groups hold."""
    for column in own.columns if "iteration" not in own.groups else ():
        if column.group is None or column.group in KNOWN or len(column.texts) < 2:
            continue
        count = len(column.texts)
        series = {"[a-z]": ascii_lowercase[:count], "[A-Z]": ascii_uppercase[:count]}
        expression = next((one for one, letters in series.items() if column.texts == {*letters}), None)
        if column.group == "number" and column.texts == {str(number + 1) for number in range(count)}:
            expression = "[0-9]+"
        if expression and len(own.paths) == count * len({*own.read_values((column.group,)).values()}):
            return Role(column.group, "iteration", column.texts, f"(?P<iteration>{expression})")
    return None


def _find_counters(own: ProposedPattern, contents: Mapping[str, Content]) -> Role | None:
    """Return the group of a word with a number from 1 on, be it of all tests, or of those that differ in nothing else.

    A number of its own for each test names the test; else it counts repetitions. Words of two letters, and those of
    conditions, may be swept.
    """
    for column in own.columns:
        starts = {find_start(word) for word in column.words} if column.kind == "counted" else {""}
        start = min(starts)
        word = (start or column.group or "").lower().rstrip("=_-")
        numbers = {word.text.removeprefix(start) for word in column.words}
        is_open = column.group is not None and column.group not in KNOWN and column.kind in ("counted", "number")
        if not is_open or len(starts) > 1 or len(word) < 3 or word in CONDITION_WORDS or find_meant(word):
            continue
        if numbers != {str(number + 1) for number in range(len(numbers))}:
            continue
        if len(numbers) == len(own.paths) > 1:
            return Role(str(column.group), "run", column.texts, f"(?P<run>{escape(start)}[0-9]+)")
        alike: dict[object, set[object]] = defaultdict(set)
        for path, values in own.read_values((str(column.group),)).items():
            alike[values].add((contents[path].algorithms, contents[path].flows_count))
        is_crossed = len(own.paths) == len(numbers) * len(alike)
        if is_crossed and all(len(told) == 1 for told in alike.values()):
            expression = f"{escape(start)}(?P<iteration>[0-9]+)"
            return Role(str(column.group), "iteration", column.texts, expression)
    return None


def _find_letters(tests: Sequence[ProposedPattern]) -> list[Role]:
    """Return letters that are names of runs, as there is no other group: take A and take B."""
    is_each_of_one = len(tests) == 1 or all("flow" in {*own.groups, *own.constants} for own in tests)
    if not is_each_of_one or any({*own.groups} - {"flow"} != {"iteration"} for own in tests):
        return []
    columns = [column for own in tests for column in own.columns if column.group == "iteration"]
    return [Role("iteration", "run", column.texts) for column in columns if column.words[0].text.isalpha()]


def _find_algorithms(own: ProposedPattern, contents: Mapping[str, Content]) -> Role | None:
    """Return the group whose words name algorithms, each word the same one in all its tests: B2 and Cu, say."""
    for column in own.columns:
        if column.group is None or column.group in KNOWN or len(column.texts) == len(own.paths):
            continue
        pairs = zip(column.words, own.paths, strict=True)
        if stand_for_algorithms((word.text, contents[path]) for word, path in pairs):
            return Role(column.group, "cc", column.texts, f"(?P<cc>{ANY_WORD})")
    return None


def stand_for_algorithms(words: Iterable[tuple[str, Content]]) -> bool:
    """Tell whether each word stands for one algorithm, and no two words for the same."""
    meant: dict[str, set[str]] = defaultdict(set)
    for text, content in words:
        meant[text].update(content.algorithms)
    known = {algorithm for algorithms in meant.values() for algorithm in algorithms}
    return len(meant) == len(known) > 1 and all(len(algorithms) == 1 for algorithms in meant.values())


def _repeats_runs(own: ProposedPattern, contents: Mapping[str, Content]) -> bool:
    """Tell whether tests of one `run1` ran one after the other: the number counts repetitions of each condition."""
    by_run: dict[object, list[Content]] = defaultdict(list)
    for path, values in own.read_values(set(own.groups) - {"run"}).items():
        by_run[values].append(contents[path])
    by_run.pop((), None)
    several = [tests for tests in by_run.values() if len(tests) > 1]
    are_known = all(test.start_s is not None and test.end_s is not None for tests in several for test in tests)
    return bool(several) and are_known and not any(map(ran_together, several))


def _count_runs(own: ProposedPattern) -> None:
    """Call the group `run` of a pattern `iteration`, if it is a number behind a word or by itself, else `session`.

    The first of two is a session, and the second is `run` then.
    """
    second = next((column for column in own.columns if column.group == SECOND_RUN), None)
    for column in own.columns:
        if column.group != "run":
            continue
        counted = COUNTED.fullmatch(column.expression)
        if counted and second is None and "iteration" not in own.groups:
            column.expression, column.group = f"{counted['word']}(?P<iteration>[0-9]+)", "iteration"
        elif "session" not in own.groups:
            # A day on which several tests were made.
            column.expression, column.group = column.expression.replace("<run>", "<session>"), "session"
    if second is not None and "run" not in own.groups:
        own_expression = second.expression.replace(SECOND_RUN, "run")
        second.expression, second.group = second.words[0].expression or own_expression, "run"


def _are_flows(tests: Sequence[Content]) -> bool:
    """Tell whether tests ran at one time over connections of their own; those of a copy are the same."""
    ends = [end for test in tests for end in test.ends]
    return ran_together(tests) and len(ends) == len({*ends})


def ran_together(tests: Sequence[Content]) -> bool:
    """Tell whether all of some tests say their times, and ran at one time, so that they are not repetitions."""
    if any(test.start_s is None or test.end_s is None for test in tests):
        return False
    first = max(test.start_s or 0 for test in tests)
    return first < min(test.end_s or 0 for test in tests)
