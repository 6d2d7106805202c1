"""Tables and figures of an evaluation as a report shows them: their order, numbers and headings."""

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ccreport.core.text import split_number
from ccreport.figures.select.declaration import CAPTURE_KINDS
from ccreport.figures.topics import place_kind

# Published tables that are on the page of captures.
CAPTURE_TABLES: Final = ("witnesses",)
# figure_2
NAMED: Final = re.compile(r"figure_(\d+)")
# Figure 2 · fig. S6 · Table II
NUMBER: Final = re.compile(r"^(?:(?P<figure>fig(?:ure|\.)?)|(?P<table>table))?[ _]*", re.IGNORECASE)
ROMAN: Final = {str(number): name for number, name in enumerate(("I", "II", "III", "IV", "V", "VI", "VII", "VIII"), 1)}


@dataclass(frozen=True)
class Exhibit:
    """One table or figure that the evaluation declares; it `is_ours` where it is not a publication's.

    Each has one `number` in the whole report, where one without data `is_missing`.
    """

    name: str
    title: str
    is_of_captures: bool = False
    number: str = ""
    is_figure: bool = False
    is_ours: bool = False
    is_missing: bool = False

    @property
    def heading(self) -> str:
        """Return the title, that of a figure with its number."""
        said, title = split_number(self.title, "Figure")
        return f"Figure {self.number}: {title}" if self.is_figure and (said or self.number) else self.title


def list_exhibits(declared: Mapping[str, Mapping[str, Any]], made: Path | None = None) -> list[Exhibit]:
    """Return the tables or the figures of an evaluation: a publication's, then ours as the pages have them.

    `made` is the folder of published tables, or of figures; those without data there come last of ours.
    """
    published = {name: number for name, facts in declared.items() if (number := _read_number(name, facts))}
    of_captures = {
        name: facts.get("kind") in CAPTURE_KINDS or name in CAPTURE_TABLES for name, facts in declared.items()
    }

    missing = {name for name in declared if made is not None and _is_missing(made, name)}

    def place(name: str) -> tuple[bool, bool, bool, int]:
        kind, is_ours = declared[name].get("kind"), name not in published
        return is_ours, is_ours and name in missing, of_captures[name], place_kind(kind) if kind and is_ours else 0

    # Beside a publication's numbers ours are a supplement's.
    prefix, taken = "S" if published else "", set(published.values())
    ours = (number for n in itertools.count(1) if (number := f"{prefix}{n}") not in taken)
    return [
        Exhibit(
            name,
            declared[name]["title"],
            of_captures[name],
            published[name] if name in published else next(ours),
            "kind" in declared[name],
            name not in published,
            name in missing,
        )
        for name in sorted(declared, key=place)
    ]


def _read_number(name: str, facts: Mapping[str, Any]) -> str:
    """Return the number that a publication gives a table or figure, by its title, else by its name; empty without."""
    said, _ = split_number(" ".join(facts["title"].split()), "Figure" if "kind" in facts else "Table")
    named = NAMED.fullmatch(name)
    return said or (named[1] if named else "")


def _is_missing(made: Path, name: str) -> bool:
    """Tell whether a figure says why it was not drawn, or a published table has no rows."""
    return (made / name / "missing.txt").exists() or ((made / f"{name}.csv").exists() and not has_rows(name, made))


def has_rows(table: str, tables: Path) -> bool:
    """Tell whether a published table has rows, by its CSV file in a folder."""
    with (tables / f"{table}.csv").open(encoding="utf-8") as lines:
        return sum(1 for _, _ in zip(range(2), lines, strict=False)) > 1


def find_exhibits(
    evaluation: Mapping[str, Any], figures: Path | None = None, tables: Path | None = None
) -> dict[str, tuple[str, Exhibit]]:
    """Return page (`figures` or `tables`) and exhibit by the name of every figure and table of an evaluation."""
    listed = {
        "figures": list_exhibits(evaluation["figures"], figures),
        "tables": list_exhibits(evaluation["tables"], tables),
    }
    return {exhibit.name: (page, exhibit) for page, exhibits in listed.items() for exhibit in exhibits}


def find_number(exhibits: Iterable[Exhibit], wanted: str) -> str | None:
    """Return the name of the exhibit of a number in the report: `Figure S6`, `S6`, `table ii`, `Table 2`."""
    kind = match.lastgroup if (match := NUMBER.match(wanted)) else None
    number = NUMBER.sub("", wanted).upper()
    numbers = [number, *([ROMAN[number]] if kind == "table" and number in ROMAN else [])]
    fitting = (one for one in exhibits if kind is None or one.is_figure == (kind == "figure"))
    return next((exhibit.name for exhibit in fitting if exhibit.number and exhibit.number.upper() in numbers), None)
