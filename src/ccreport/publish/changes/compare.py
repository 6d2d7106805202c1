"""Two releases compared, as text for CHANGES.md and the terminal, and as a page."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ccreport.core.text import count_things
from ccreport.publish.changes.causes import list_causes, list_config, list_kinds, list_rules
from ccreport.publish.changes.change import ABSENT, Change
from ccreport.publish.changes.differences import Exhibit, ReleaseFolder, list_exhibits
from ccreport.publish.changes.runs import list_other_runs, name_sides
from ccreport.report.markup.escape import show_text
from ccreport.report.markup.standalone_page import (
    format_heading,
    format_items,
    format_page,
    format_paragraph,
    format_rows,
)

TITLES: Final = {
    "verdicts": "Verdicts that flipped",
    "flips": "Verdicts of {name} that flipped",
    "checks": "Checks of claims added or removed",
    "claims": "Other values of claims",
    "pairs": "Reproduction of published values",
    "cells": "Table {name}",
    "figure": "Figure {name}",
}
FIGURES: Final = "Figures"
# What a figure draws; its other files are drawings and words.
DATA: Final = "figure.csv"
SHOWN: Final = 200
# Of the cells of a table, where files are only counted.
LARGEST: Final = 10
# From here on two digits would be rounded to 1e+02.
LARGE_PCT: Final = 99.5
MORE: Final = " (--full lists them)"
ORDER: Final = ", means and ratios first, p-values last"
SHARED: Final = "Possible causes of all that follows"
ABOVE: Final = "those above, of all that follows"
CAUSES: Final = "Possible causes:"
COLUMNS: Final = ("Where", "Old", "New", "Change")
RESULTS: Final = ("tables/", "evaluations/")


@dataclass(frozen=True)
class Section:
    """One part of a comparison: what it is about, what may be why, what changed, and lists of names with titles."""

    title: str
    causes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    names: tuple[tuple[str, tuple[str, ...]], ...] = ()
    has_files: bool = False
    has_cells: bool = False


def compare_releases(old: ReleaseFolder, new: ReleaseFolder, *, is_full: bool = False) -> list[Section]:
    """Return all that differs: runs, what `compare_results` returns, and the names of all files of results that do."""
    results = [{path: digest for path, digest in side.files.items() if path.startswith(RESULTS)} for side in (old, new)]
    return [
        _compare_runs(old, new),
        *compare_results(old, new, is_full=is_full),
        _list_names("Tables, figures and other results", list_kinds(*results)),
    ]


def _compare_runs(old: ReleaseFolder, new: ReleaseFolder) -> Section:
    """Return how many runs two releases have, and the names of those that only one has or counts."""
    names = list_other_runs(old, new)
    is_same = old.runs == new.runs
    return Section("Runs" if is_same else f"Runs: {len(old.runs):,} → {len(new.runs):,}", names=names)


def _compare_evaluations(old: ReleaseFolder, new: ReleaseFolder) -> Iterator[Section]:
    """Yield which evaluations only one side has: all of their results would differ, and nothing of them changed."""
    before, after = name_sides(old, new)
    lacks = ((after, old.evaluations.keys() - new.evaluations), (before, new.evaluations.keys() - old.evaluations))
    if lines := tuple(f"{name} is not in {side}" for side, names in lacks for name in sorted(names)):
        yield Section("Evaluations", names=(("evaluations", lines),))


def compare_results(old: ReleaseFolder, new: ReleaseFolder, *, is_full: bool = False) -> list[Section]:
    """Return which results differ with their causes, flipped verdicts first, and then the causes themselves.

    Evaluations that only one side has come before all, in a line each.
    Figures are a line each, unless the comparison `is_full`: then each of their files has the hashes of both sides.
    """
    rules = list_rules(old, new)
    exhibits = list(list_exhibits(old, new))
    short = [] if is_full else [exhibit for exhibit in exhibits if exhibit.kind == "figure"]
    sections = [_describe(exhibit, old, new, rules) for exhibit in exhibits if exhibit not in short]
    if short:
        causes = dict.fromkeys(cause for exhibit in short for cause in list_causes(exhibit, old, new, rules))
        lines = tuple(_describe_figure(exhibit) for exhibit in short)
        sections.append(Section(FIGURES, tuple(causes), names=(("figures", lines),)))
    shared, sections = _share_causes(sections)
    if not any(section.title.startswith(TITLES["verdicts"]) for section in sections):
        sections.insert(0, Section("Verdicts of claims"))
    return [
        *_compare_evaluations(old, new),
        *shared,
        *sections,
        _list_names("Raw files", list_kinds(old.raw, new.raw)),
        Section("Configuration", changes=tuple(list_config(old, new))),
        _list_names("Code", {f"files of {rule}": paths for rule, paths in rules.items()}),
    ]


def _share_causes(sections: list[Section]) -> tuple[list[Section], list[Section]]:
    """Return a section of the causes that all have, if there are any, and the others with a word on these for each."""
    causes = [section.causes for section in sections]
    shared = tuple(cause for cause in causes[0] if all(cause in others for others in causes)) if len(causes) > 1 else ()
    if not shared:
        return [], sections
    own = (tuple(cause for cause in section.causes if cause not in shared) for section in sections)
    return [Section(SHARED, names=(("causes", shared),))], [
        replace(section, causes=(ABOVE, *others)) for section, others in zip(sections, own, strict=True)
    ]


def _describe(exhibit: Exhibit, old: ReleaseFolder, new: ReleaseFolder, rules: dict[str, list[str]]) -> Section:
    title = f"{TITLES[exhibit.kind].format(name=exhibit.name)} ({exhibit.evaluation})"
    causes = tuple(list_causes(exhibit, old, new, rules))
    sides = zip(name_sides(old, new), exhibit.alone, strict=True)
    alone = tuple((f"rows only in {side}", rows) for side, rows in sides if rows)
    return Section(title, causes, exhibit.changes, alone, has_cells=exhibit.kind == "cells")


def _describe_figure(figure: Exhibit) -> str:
    """Return a line on what differs of a figure: all of it, its data, or how it is drawn or described."""
    files = {change.where: change for change in figure.changes}
    name, count = f"{figure.name} ({figure.evaluation})", count_things(len(files), "file")
    if DATA not in files:
        return f"{name}: the same data; otherwise drawn or described ({count})"
    for value, told in ((files[DATA].old, "drawn now, not before"), (files[DATA].new, "no longer drawn")):
        if value == ABSENT:
            return f"{name}: {told}"
    return f"{name}: other data ({count})"


def _list_names(title: str, kinds: dict[str, list[str]]) -> Section:
    names = tuple((kind, tuple(names)) for kind, names in kinds.items() if names)
    return Section(title, names=names, has_files=True)


def format_text(sections: list[Section], *, is_full: bool = False, is_brief: bool = False) -> str:
    """Return a comparison as Markdown, whatever comes from the releases in indented blocks that show it literally.

    Long lists of changes are cut unless the text `is_full`. One that `is_brief` counts files, and has of each table
    what matters most.
    """
    cells, others = (None, None) if is_full else (LARGEST if is_brief else SHOWN, SHOWN)
    parts = (
        (section.title, "".join(_format_parts(section, cells if section.has_cells else others, is_brief=is_brief)))
        for section in sections
    )
    return "".join(f"## {show_text(title)}\n\n{text}" for title, text in parts)


def count_names(names: Sequence[str], kind: str) -> str:
    """Return a count and what it counts, `1 file of …` or `2 files of …`."""
    noun, blank, rest = kind.partition(" ")
    return f"{len(names)} {noun.removesuffix('s') if len(names) == 1 else noun}{blank}{rest}"


def _format_parts(section: Section, at_most: int | None, *, is_brief: bool) -> Iterator[str]:
    if section.causes:
        yield f"{CAUSES}\n\n{_indent(section.causes)}\n"
    if section.changes:
        told = ((f"{change.where}: {change.old} -> {change.new}", format_change(change)) for change in section.changes)
        shown = [f"{values} ({share})" if share else values for values, share in told]
        yield f"{count_changes(section)}:\n\n{_indent(_cut(shown, at_most, is_brief=is_brief))}\n"
    counted = [count_names(names, kind) for kind, names in section.names] if is_brief and section.has_files else []
    if counted:
        yield f"{show_text(', '.join(counted))}{MORE}\n\n"
    for kind, names in section.names if not counted else ():
        lines = _cut(names, at_most, is_brief=is_brief) if section.has_cells else names
        yield f"{count_names(names, kind)}:\n\n{_indent(lines)}\n"
    if not (section.changes or section.names):
        yield "No difference.\n\n"


def count_changes(section: Section) -> str:
    """Return how many changes a section has, and how those of a table are sorted."""
    count = len(section.changes)
    return f"{count} changed{ORDER if section.has_cells and count > 1 else ''}"


def _cut(lines: Sequence[str], at_most: int | None, *, is_brief: bool) -> list[str]:
    if at_most is None or len(lines) <= at_most:
        return [*lines]
    return [*lines[:at_most], f"and {len(lines) - at_most} more{MORE if is_brief else ''}"]


def format_change(change: Change) -> str:
    """Return a relative change as `+3.4 %`, empty where there is none."""
    if change.relative is None or math.isinf(change.relative):
        return ""
    percent = 100 * change.relative
    return f"{percent:+,.0f} %" if abs(percent) >= LARGE_PCT else f"{percent:+.2g} %"


def _indent(lines: Iterable[str]) -> str:
    return "".join(f"    {show_text(line)}\n" for line in lines)


def format_html(title: str, about: str, sections: list[Section]) -> str:
    """Return a comparison as a page of one file."""
    parts = [format_paragraph(about)]
    for section in sections:
        parts.append(format_heading(section.title))
        if section.causes:
            parts += [format_paragraph(CAUSES), format_items(section.causes)]
        if section.changes:
            rows = ((change.where, change.old, change.new, format_change(change)) for change in section.changes)
            parts += [format_paragraph(f"{count_changes(section)}:"), format_rows(COLUMNS, rows)]
        for kind, names in section.names:
            parts += [format_paragraph(f"{count_names(names, kind)}:"), format_items(names)]
        if not (section.changes or section.names):
            parts.append(format_paragraph("No difference."))
    return format_page(title, parts)
