"""Layouts: what the paths of somebody's own files say, as a `layout.yaml` declares it (`ccreport.archive.read_layout`).

What is told of a file here ends in the same facts as what the test harness's names say (`ccreport.inventory.names`).
Patterns are matched by polars, in a time that only grows with the length of a path: an archive's own layout is no more
to be trusted than its files.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from ccreport.archive.layout_groups import (
    OF_FILES,
    Value,
    find_group,
    format_value,
    is_same,
    read_value,
)
from ccreport.core.algorithms import FIRST_BBR, name_algorithm
from ccreport.core.declared_files import find_line_of_text
from ccreport.core.schema_problems import guess_near
from ccreport.core.text import display_name

NAME: Final = "layout.yaml"
# A path fits as a whole, else all of it behind one of its slashes, the longest first.
WHOLE: Final = r"^(?:(?s:.*?)/)??(?:{})$"
COMPRESSED: Final = r"\.(?:gz|zst|xz|bz2)$"
# (?P<loss_pct>[0-9.]+)pct
PER_CENT: Final = re.compile(r"\(\?P<loss_pct>[^()]*\)[ _-]?(?:pct|percent|%)", re.IGNORECASE)
DIGITS: Final = re.compile(r"\d+")
IGNORED: Final = "ignored"
# The run of all files of a job that nothing tells apart but flows.
WHOLE_RUN: Final = "all"
STRIFE: Final = (
    "`{group}` is {said} by the path and {row} in its row of the table; mend the one that is wrong, or write (?:…) in "
    "place of (?P<{group}>…) where the table counts"
)


@dataclass(frozen=True)
class Pattern:
    """One kind of path: its place in messages, its expression, what is set beside its groups, and factors of some."""

    place: str
    expression: str
    kind: str | None = None
    constants: Mapping[str, Value] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """What a layout tells of one file: values by group, or what is wrong with them; its kind as `raw_files` has it.

    `ignored_by` is the pattern that ignores the file.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    kind: str | None = None
    problem: str | None = None
    ignored_by: str | None = None


@dataclass(frozen=True)
class Layout:
    """A whole layout: patterns, and the rows of its table by path and by run.

    `name` is what messages call it, `groups` are all that some pattern or the table has, `runs_by` those by which files
    are of one run, where the usual ones are not, `table` is the path of its table among the archive's files. `names`
    are the groups as they are written, with their units, and `text` is the file of the layout, if it has one.
    """

    name: str
    patterns: tuple[Pattern, ...] = ()
    by_path: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    by_run: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    runs_by: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()
    table: str = ""
    names: frozenset[str] = frozenset()
    text: str = ""

    @property
    def converts_losses(self) -> bool:
        """Tell whether losses are said as ratios, or in some other unit than per cent."""
        ratio = "loss_ratio"
        return ratio in self.names or any({"loss_pct", ratio} & pattern.factors.keys() for pattern in self.patterns)

    @property
    def has_losses_in_per_cent(self) -> bool:
        """Tell whether some pattern has the unit behind a loss."""
        return any(PER_CENT.search(pattern.expression) for pattern in self.patterns)

    def name_run(self, values: Mapping[str, Value], *, has_one_cc: bool = False) -> str:
        """Return what tells a file's run from the others of its job (`tell_run`) as a text."""
        told = self.tell_run(values, has_one_cc=has_one_cc)
        if told.keys() <= {"run"}:
            return told.get("run", WHOLE_RUN)
        return ", ".join(f"{key}={text}" for key, text in told.items())

    def tell_run(self, values: Mapping[str, Value], *, has_one_cc: bool = False) -> dict[str, str]:
        """Return the groups that tell a file's run from the others of its job: files with the same are of one run.

        Flows of a run may have algorithms of their own, unless it `has_one_cc`.
        """
        of_flows = {"cc"} if "flow" in self.groups and not has_one_cc else set()
        usual = self.groups - OF_FILES - {"session", "job"} - of_flows
        keys = self.runs_by or (("run", "iteration") if "run" in values else sorted(usual))
        return {key: format_value(values[key]) for key in keys if key in values}

    def read_paths(self, paths: Sequence[str], wrapping: str = "") -> dict[str, Told]:
        """Return what is told of files, by their paths below the archive; what nothing is told of is left out.

        `wrapping` precedes each path: folders that hold the whole archive, and nothing else.
        """
        told = {}
        for path, (pattern, groups) in zip(paths, self._match([wrapping + path for path in paths]), strict=True):
            text = display_name(path)
            row = self.by_path.get(text) or self.by_path.get(wrapping + text, {})
            if pattern is not None or row:
                told[path] = self._tell(pattern, groups, row)
        return told

    def list_unused(self, paths: Sequence[str]) -> list[str]:
        """Return what of the layout is about no file: patterns that none fits, rows of other files or runs."""
        fits = {own.place for own in self.patterns if any(self.fit(own, paths))}
        told = self.read_paths(paths)
        runs = {str(found.values["run"]) for found in told.values() if "run" in found.values}
        files = {display_name(path) for path in paths}
        has_runs = runs or any("(?P<run>" in own.expression for own in self.patterns)
        without = "table: it has a column `run`, but no pattern a group of that name; name one, or use a column `file`"
        return [
            *(self.describe(own) for own in self.patterns if own.place not in fits),
            *(_describe_row("file", name, files - {*self.by_path}) for name in self.by_path if name not in files),
            *([without] if self.by_run and not has_runs else ()),
            *(_describe_row("run", name, runs - {*self.by_run}) for name in self.by_run if name not in runs),
        ]

    def list_shadowed(self, paths: Sequence[str]) -> list[str]:
        """Return which patterns fit files that an earlier one takes; ignoring some of a pattern's files is no fault."""
        taken = [pattern for pattern, _ in self._match(paths)]
        lines = []
        for own in self.patterns:
            lost: dict[str, list[str]] = {}
            for path, first, fits in zip(paths, taken, self.fit(own, paths), strict=True):
                if fits and first is not None and first != own and (first.kind != IGNORED or own not in taken):
                    lost.setdefault(self.locate(first), []).append(display_name(path))
            ending = "" if own in taken else ", so that it takes no file"
            for place, others in lost.items():
                more = f" and {len(others) - 1} more" if len(others) > 1 else ""
                lines.append(f"{self.locate(own)}: fits {others[0]}{more}, which {place} takes before{ending}")
        return lines

    def describe(self, pattern: Pattern) -> str:
        """Return where a pattern is, and its expression."""
        return f"{self.locate(pattern)}: {pattern.expression}"

    def locate(self, pattern: Pattern) -> str:
        """Return where a pattern is: file and line, or only its place in a layout without a file."""
        key, number = pattern.place.split(".")
        line = find_line_of_text(self.text, (key, int(number))) if self.text else None
        return pattern.place if line is None else f"{self.name}:{line}"

    def fit(self, pattern: Pattern, paths: Sequence[str]) -> list[bool]:
        """Return of each path whether it fits a pattern, whatever the others are."""
        return [found is not None for found, _ in replace(self, patterns=(pattern,))._match(paths)]

    def _match(self, paths: Sequence[str]) -> Iterator[tuple[Pattern | None, Mapping[str, str]]]:
        """Yield of each path the first pattern that it fits, and what that one's groups hold."""
        # Here, because an archive without a layout does without.
        import polars as pl  # noqa: PLC0415

        texts = pl.Series("text", [display_name(path) for path in paths], pl.String)
        waiting = pl.DataFrame({"position": pl.int_range(len(paths), eager=True), "text": texts})
        found: dict[int, tuple[Pattern, Mapping[str, str]]] = {}
        # A compressed file fits as it is called, else as what it holds.
        for is_packed in (False, True):
            if is_packed:
                waiting = waiting.filter(pl.col("text").str.contains(COMPRESSED)).with_columns(
                    pl.col("text").str.replace(COMPRESSED, "")
                )
            for pattern in self.patterns:
                expression = WHOLE.format(pattern.expression)
                fits = waiting["text"].str.contains(expression)
                own = waiting.filter(fits)
                for position, groups in zip(own["position"], own["text"].str.extract_groups(expression), strict=True):
                    found[position] = (pattern, groups or {})
                waiting = waiting.filter(~fits)
        for position in range(len(paths)):
            yield found.get(position, (None, {}))

    def _tell(self, pattern: Pattern | None, groups: Mapping[str, str], row: Mapping[str, Value]) -> Told:
        if pattern is not None and pattern.kind == IGNORED:
            return Told(ignored_by=pattern.expression)
        factors = pattern.factors if pattern is not None else {}
        values: dict[str, Value] = {}
        try:
            if pattern is not None:
                for name, given in (*pattern.constants.items(), *groups.items()):
                    # Groups without a name are called by their number.
                    if name == "flow" and not given:
                        # The first flow, where others have a word more.
                        values.setdefault(name, "")
                    elif given is not None and given != "" and not name.isdigit():
                        values[find_group(name)[0]] = read_value(name, given, factors.get(name, 1))
        except ValueError as error:
            place = f"{self.name}, {pattern.place}" if pattern is not None else self.name
            return Told(problem=f"{place}: {error}")
        stated = row or self.by_run.get(str(values.get("run")), {})
        for name in sorted({find_group(group)[0] for group, given in groups.items() if given} & stated.keys()):
            if not is_same(values[name], stated[name]) and not _is_renamed(name, values[name], stated[name]):
                said, other = (format_value(told[name]) for told in (values, stated))
                return Told(problem=f"{self.name}: {STRIFE.format(group=name, said=said, row=other)}")
        values |= row
        kind = values.pop("kind", None)
        declared = pattern.kind if pattern is not None else None
        return Told(values, declared or (str(kind) if kind is not None else None))


def _is_renamed(group: str, said: Value, stated: Value) -> bool:
    """Tell whether a row only calls otherwise what a path says: a run, or an algorithm by somebody's own word."""
    named = name_algorithm(str(said)) if group == "cc" else None
    return group == "run" or (group == "cc" and (named is None or {named, stated} <= FIRST_BBR))


def _describe_row(column: str, name: str, others: Collection[str]) -> str:
    """Return the words for a row of the table that is about no file, and which of `others`, of no row, it may mean."""
    ending = PurePosixPath(name).suffix
    others = [other for other in others if PurePosixPath(other).suffix == ending] or others
    number = DIGITS.search(name)
    # Of files with numbers, the one with the same first number is meant.
    alike = [other for other in others if number and (found := DIGITS.search(other)) and found[0] == number[0]]
    return f"table: {column} {name}{guess_near(name, alike or others)}"
