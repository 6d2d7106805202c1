"""Files of which a run takes one, and somebody has two: qdiscs from before and after a test, say.

The first is used; the others are proposed under `ignore`.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.path_words import Word, escape, split_path
from ccreport.adopt.patterns import ProposedPattern
from ccreport.adopt.roles import ran_together
from ccreport.archive.layout import Layout
from ccreport.archive.layout_groups import KINDS, format_value, sort_naturally
from ccreport.core.text import count_things
from ccreport.inventory.kinds import PART_KINDS

# Kinds of files about a test, of which a run takes one.
SINGLE: Final = frozenset({"netem", "mpstat", "ss"})
OF_ALL_FLOWS: Final = frozenset(kind for kind in SINGLE if KINDS[kind] in PART_KINDS)
OF_RECEIVER: Final = "; of a receiver it takes another, in a pattern with `set: {side: receiver}`"
FIRST: Final = ("before", "pre", "start", "begin", "vorher", "vor", "anfang", "avant", "debut")
LAST: Final = ("after", "post", "end", "stop", "nachher", "nach", "ende", "apres", "fin")
# test (copy).json · test - Copy (2).json · test(1).json
COPY: Final = re.compile(r"(?:[ ._-]*\((?:copy|kopie|copie|[0-9]+)\)| - (?:copy|kopie|copie))+", re.IGNORECASE)
MOMENT: Final = re.compile("|".join(sorted((*FIRST, *LAST), key=lambda word: -len(word))), re.IGNORECASE)


@dataclass(frozen=True)
class Ignored:
    """An expression for files of a kind that are not used; each of `instead` is used in place of one of `paths`."""

    expression: str
    kind: str
    paths: tuple[str, ...]
    instead: tuple[str, ...]
    are_copies: bool = False

    def describe(self) -> str:
        """Return why the files are not used."""
        counted = count_things(len(self.paths), f"{self.kind} file")
        if self.are_copies:
            return f"{counted}, such as {self.paths[0]}: a copy of {self.instead[0]}"
        told = f"{counted}, such as {self.paths[0]}: a run takes one, here {self.instead[0]}"
        return told + (OF_RECEIVER if self.kind == "mpstat" else "")


def find_copies(contents: Mapping[str, Content]) -> list[Ignored]:
    """Return files that are called as copies of others, and that are about the same connections."""
    pairs: dict[tuple[str, str], list[tuple[str, str, int]]] = defaultdict(list)
    for path, content in sorted(contents.items()):
        mark = COPY.search(path, path.rfind("/") + 1)
        original = COPY.sub("", path) if mark is not None else path
        if mark is not None and content.kind is not None and content.ends and contents.get(original) == content:
            pairs[content.kind, mark[0]].append((path, original, mark.start()))
    ignored = [one for (kind, mark), own in pairs.items() for one in _write_ignored(kind, mark, own, contents)]
    return [replace(one, are_copies=True) for one in ignored]


def find_later(contents: Mapping[str, Content]) -> list[Ignored]:
    """Return files that differ from others by a word such as `after` in place of `before`, whatever else is in a path.

    Where only the later of two qdiscs says what the path was set to, that is used.
    """
    pairs: dict[tuple[str, str], list[tuple[str, str, int]]] = defaultdict(list)
    of_tests = set()
    for (kind, _, _), moments in _list_moments(contents).items():
        first = next((word for word in FIRST if word in moments), None)
        for last in (word for word in LAST if first is not None and word in moments):
            (former, _), (later, position) = moments[first or ""], moments[last]
            if kind not in SINGLE:
                of_tests |= {first, last}
            elif contents[former].loss_pct is None and contents[later].loss_pct is not None:
                pairs[kind, first or ""].append((former, later, position))
            else:
                pairs[kind, last].append((later, former, position))
    return [
        ignored
        for (kind, word), own in sorted(pairs.items())
        if word not in of_tests
        for ignored in _write_ignored(kind, word, sorted(own), contents)
    ]


def _list_moments(contents: Mapping[str, Content]) -> Mapping[tuple[str, str, str], dict[str, tuple[str, int]]]:
    """Return paths by kind and what is around a word such as `after`; of each word, the path and the word's place."""
    found: dict[tuple[str, str, str], dict[str, tuple[str, int]]] = defaultdict(dict)
    for path, content in sorted(contents.items()):
        for match in MOMENT.finditer(path):
            if content.kind is not None:
                key = (content.kind, path[: match.start()], path[match.end() :])
                found[key][match[0].lower()] = (path, match.start())
    return found


def find_others(patterns: Iterable[ProposedPattern], contents: Mapping[str, Content]) -> list[Ignored]:
    """Return files beyond the first of a kind that the tests' own groups put into one run: qdiscs of two hosts, say."""
    patterns = list(patterns)
    tests = [own for own in patterns if own.kind == "iperf3"]
    groups = {group for own in tests for group in own.groups}
    of_flows = {"flow", "cc"} if any("flow" in (*own.groups, *own.constants) for own in tests) else set()
    runs = {frozenset(values) for own in tests for values in own.read_values(of_flows).values()}
    places: dict[tuple[str, frozenset[tuple[str, str]], object], list[str]] = defaultdict(list)
    for own in (own for own in patterns if own.kind in SINGLE):
        # Samples may be of one flow of a run, its other files are of all.
        telling = {*groups, "side"} - (of_flows if own.kind in OF_ALL_FLOWS else set())
        for path, values in own.read_values().items():
            told = frozenset(value for value in (*values, *own.constants.items()) if value[0] in telling)
            # Samples of other connections are of another of the run's hosts.
            places[own.kind, told, contents[path].ends].append(path)
    pairs: dict[tuple[str, str], list[tuple[str, str, int]]] = defaultdict(list)
    for (kind, told, _), paths in places.items():
        of_run = {(group, text) for group, text in told if group not in {*of_flows, "side"}}
        if len(paths) > 1 and sum(of_run <= run for run in runs) == 1:
            order = {path: number for number, path in enumerate(sort_naturally(paths))}
            used, *others = sorted(paths, key=lambda path: (contents[path].loss_pct is None, order[path]))
            for path in others:
                position, word = _find_difference(path, used)
                pairs[kind, word].append((path, used, position))
    return [one for (kind, word), own in sorted(pairs.items()) for one in _write_ignored(kind, word, own, contents)]


def _find_difference(path: str, other: str) -> tuple[int, str]:
    """Return where the first word of a path is that another has not, and the word."""
    words = [word.text for word in split_path(path)]
    both = zip(words, (word.text for word in split_path(other)), strict=False)
    alike = [text for text, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], both)]
    return len("".join(alike)), "".join(words[len(alike) : len(alike) + 1])


def _write_ignored(
    kind: str, word: str, pairs: list[tuple[str, str, int]], contents: Collection[str]
) -> Iterator[Ignored]:
    """Yield an expression for the first path of each pair, or one for each path where it would fit others as well."""
    paths = tuple(path for path, _, _ in pairs)
    instead = tuple(path for _, path, _ in pairs)
    before = _write_common([split_path(path[:position].rpartition("/")[2])[::-1] for path, _, position in pairs])[::-1]
    after = _write_common([split_path(path[position + len(word) :]) for path, _, position in pairs])
    texts = {path[position : position + len(word)] for path, _, position in pairs}
    written = escape(texts.pop()) if len(texts) == 1 else f"(?i:{escape(word)})"
    expression = "".join((*before, written, *after))
    fits = re.compile(f"(?:.*/)?(?:{expression})", re.DOTALL)
    if not any(fits.fullmatch(path) for path in {*contents}.difference(paths)):
        yield Ignored(expression, kind, paths, instead)
    else:
        for path, other, _ in pairs:
            yield Ignored(escape(path), kind, (path,), (other,))


def _write_common(sides: list[list[Word]]) -> list[str]:
    """Return expressions of the words that all begin with, up to one that says something, and of what follows."""
    common = []
    for words in zip(*sides, strict=False):
        if words[0].kind not in ("separator", "word") or len({word.text for word in words}) > 1:
            break
        common.append(escape(words[0].text))
    return common if all(len(side) == len(common) for side in sides) else [*common, ".*"]


def advise_on_rivals(layout: Layout, paths: Sequence[str], tests: Sequence[Content]) -> str:
    """Return by which group to tell apart two tests that a layout takes for the same one of a run."""
    first, second = (next((own for own in layout.patterns if any(layout.fit(own, [path]))), None) for path in paths)
    groups = []
    if second is not None and first != second:
        others = [f"{name}: {format_value(value)}" for name, value in second.constants.items() if name != "job"]
        told = ", ".join(["job: NAME", *others])
        beside = "the patterns of the files beside its tests"
        groups.append(f"`job` (`set: {{{told}}}` below {layout.locate(second)} and {beside})")
    if ran_together(tests):
        groups.append("`flow` for flows of one run (`set: {flow: first}` below a pattern without the word)")
        groups.append("`side` for its two hosts")
    else:
        groups.append("`iteration` or `run` for repetitions")
    also = "; call a `run` of several runs `session`, or add `runs_by`" if "run" in layout.groups else ""
    return f"give the layout a group that tells the two apart: {', or '.join(groups)}{also}"
