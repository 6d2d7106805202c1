"""Layouts: what the paths of somebody's own files say, as a `layout.yaml` declares it (`ccreport.archive.read_layout`).

What is told of a file here ends in the same facts as what the test harness's names say (`ccreport.inventory.names`).
Patterns are matched by polars, in a time that only grows with the length of a path: an archive's own layout is no more
to be trusted than its files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ccreport.archive.layout_groups import OF_FILES, Value, find_group, format_value, read_value
from ccreport.core.text import display_name

NAME: Final = "layout.yaml"
# A path fits as a whole, else all of it behind one of its slashes, the longest first.
WHOLE: Final = r"^(?:(?s:.*?)/)??(?:{})$"
COMPRESSED: Final = r"\.(?:gz|zst|xz|bz2)$"
IGNORED: Final = "ignored"
# The run of all files of a job that nothing tells apart but flows.
WHOLE_RUN: Final = "all"


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
    are of one run, where the usual ones are not, `table` is the path of its table among the archive's files.
    """

    name: str
    patterns: tuple[Pattern, ...] = ()
    by_path: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    by_run: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    runs_by: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()
    table: str = ""

    def name_run(self, values: Mapping[str, Value], *, has_one_cc: bool = False) -> str:
        """Return what tells a file's run from the others of its job: files that have the same are of one run.

        Flows of a run may have algorithms of their own, unless it `has_one_cc`.
        """
        of_flows = {"cc"} if "flow" in self.groups and not has_one_cc else set()
        usual = self.groups - OF_FILES - {"session", "job"} - of_flows
        keys = self.runs_by or (("run", "iteration") if "run" in values else sorted(usual))
        told = {key: format_value(values[key]) for key in keys if key in values}
        if told.keys() <= {"run"}:
            return told.get("run", WHOLE_RUN)
        return ", ".join(f"{key}={text}" for key, text in told.items())

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
        fits = {pattern.place for pattern, _ in self._match(paths) if pattern is not None}
        told = self.read_paths(paths)
        runs = {str(found.values["run"]) for found in told.values() if "run" in found.values}
        files = {display_name(path) for path in paths}
        return [
            *(f"{pattern.place}: {pattern.expression}" for pattern in self.patterns if pattern.place not in fits),
            *(f"table: file {name}" for name in self.by_path if name not in files),
            *(f"table: run {name}" for name in self.by_run if name not in runs),
        ]

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
                        group, factor = find_group(name)
                        values[group] = read_value(group, given, factor * factors.get(name, 1))
        except ValueError as error:
            place = f"{self.name}, {pattern.place}" if pattern is not None else self.name
            return Told(problem=f"{place}: {error}")
        values |= row
        kind = values.pop("kind", None)
        declared = pattern.kind if pattern is not None else None
        return Told(values, declared or (str(kind) if kind is not None else None))
