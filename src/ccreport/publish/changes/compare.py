"""Two releases compared, as text for CHANGES.md and the terminal, and as a page."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ccreport.publish.changes.causes import list_causes, list_config, list_kinds, list_rules
from ccreport.publish.changes.differences import Change, Exhibit, ReleaseFolder, list_exhibits
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
    "checks": "Checks of claims added or removed",
    "claims": "Other values of claims",
    "cells": "Table {name}",
    "figure": "Figure {name}",
}
SHOWN: Final = 200
RESULTS: Final = ("tables/", "evaluations/")


@dataclass(frozen=True)
class Section:
    """One part of a comparison: what it is about, what may be why, what changed, and lists of names with titles."""

    title: str
    causes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    names: tuple[tuple[str, tuple[str, ...]], ...] = ()


def compare_releases(old: ReleaseFolder, new: ReleaseFolder) -> list[Section]:
    """Return all that differs: what `compare_results` returns, and the names of all files of results that do."""
    results = [{path: digest for path, digest in side.files.items() if path.startswith(RESULTS)} for side in (old, new)]
    return [*compare_results(old, new), _list_names("Tables, figures and other results", list_kinds(*results))]


def compare_results(old: ReleaseFolder, new: ReleaseFolder) -> list[Section]:
    """Return which results differ with their causes, flipped verdicts first, and then the causes themselves."""
    rules = list_rules(old, new)
    sections = [_describe(exhibit, old, new, rules) for exhibit in list_exhibits(old, new)]
    if not any(section.title.startswith(TITLES["verdicts"]) for section in sections):
        sections.insert(0, Section("Verdicts"))
    return [
        *sections,
        _list_names("Raw files", list_kinds(old.raw, new.raw)),
        Section("Configuration", changes=tuple(list_config(old, new))),
        _list_names("Code", {f"files of {rule}": paths for rule, paths in rules.items()}),
    ]


def _describe(exhibit: Exhibit, old: ReleaseFolder, new: ReleaseFolder, rules: dict[str, list[str]]) -> Section:
    title = f"{TITLES[exhibit.kind].format(name=exhibit.name)} ({exhibit.evaluation})"
    return Section(title, tuple(list_causes(exhibit, old, new, rules)), exhibit.changes)


def _list_names(title: str, kinds: dict[str, list[str]]) -> Section:
    return Section(title, names=tuple((kind, tuple(names)) for kind, names in kinds.items() if names))


def format_text(sections: list[Section]) -> str:
    """Return a comparison as Markdown, whatever comes from the releases in indented blocks that show it literally."""
    return "".join(f"## {show_text(section.title)}\n\n{''.join(_format_parts(section))}" for section in sections)


def _count_names(names: Sequence[str], kind: str) -> str:
    """Return a count and what it counts, `1 file of …` or `2 files of …`."""
    noun, blank, rest = kind.partition(" ")
    return f"{len(names)} {noun.removesuffix('s') if len(names) == 1 else noun}{blank}{rest}"


def _format_parts(section: Section) -> Iterator[str]:
    if section.causes:
        yield f"What changed of what it is made of:\n\n{_indent(section.causes)}\n"
    if section.changes:
        shown = [f"{change.where}: {change.old} -> {change.new}" for change in section.changes]
        more = [f"and {len(shown) - SHOWN} more"] if len(shown) > SHOWN else []
        yield f"{len(shown)} changed:\n\n{_indent([*shown[:SHOWN], *more])}\n"
    for kind, names in section.names:
        yield f"{_count_names(names, kind)}:\n\n{_indent(names)}\n"
    if not (section.changes or section.names):
        yield "No difference.\n\n"


def _indent(lines: Iterable[str]) -> str:
    return "".join(f"    {show_text(line)}\n" for line in lines)


def format_html(title: str, about: str, sections: list[Section]) -> str:
    """Return a comparison as a page of one file."""
    parts = [format_paragraph(about)]
    for section in sections:
        parts.append(format_heading(section.title))
        if section.causes:
            parts += [format_paragraph("What changed of what it is made of:"), format_items(section.causes)]
        if section.changes:
            rows = ((change.where, change.old, change.new) for change in section.changes)
            parts.append(format_rows(("Where", "Old", "New"), rows))
        for kind, names in section.names:
            parts += [format_paragraph(f"{_count_names(names, kind)}:"), format_items(names)]
        if not (section.changes or section.names):
            parts.append(format_paragraph("No difference."))
    return format_page(title, parts)
