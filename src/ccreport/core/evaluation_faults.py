"""What single parts of an evaluation have wrong by themselves: names that are alike, and published numbers."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ccreport.core.schema_problems import Place
from ccreport.core.text import make_label

# Units of published numbers that people write in other ways: Mbits, MS. Any other unit is taken as it is.
UNITS: Final = (
    *("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "bps", "kbps", "Mbps", "Gbps", "kb/s", "Mb/s", "Gb/s"),
    *("B/s", "kB/s", "MB/s", "GB/s", "kBps", "MBps", "GBps", "bit", "bits", "kbit", "Mbit", "Gbit", "kb", "Mb", "Gb"),
    *("B", "bytes", "kB", "MB", "GB", "KiB", "MiB", "GiB", "s", "ms", "us", "µs", "ns", "min", "h", "%"),
    *("pps", "kpps", "Mpps"),
)
# Mbits of Mbit/s, and not RTTs of bits
NEARLY: Final = 0.7
# Parts whose names are addresses on pages, or columns in SQL.
NAMED: Final = ("labels", "figures", "claims")


def list_like_names(evaluation: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each name that pages and SQL do not tell from another of its part: `Loss` and `loss`."""
    for part in NAMED:
        held: dict[str, str] = {}
        for name in evaluation[part]:
            if (first := held.setdefault(make_label(part, name), name)) != name:
                yield (part, name), f"{part}: `{name}` differs too little from `{first}`; rename one of them"


def list_same_names(label: str, facts: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each value of a label that tables would show by the name of another."""
    held: dict[str, str] = {}
    for number, case in enumerate(facts["cases"]):
        shown = case.get("shown", case["value"])
        if held.setdefault(shown, case["value"]) != case["value"]:
            place = ("labels", label, "cases", number, "shown" if "shown" in case else "value")
            yield place, f"labels.{label}: `{held[shown]}` and `{case['value']}` would both be shown as `{shown}`"


def list_wrong_published(evaluation: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each published number that cannot be one, or that no table shows."""
    published, is_shown = evaluation["published"], "published_values" in evaluation["tables"]
    if is_shown and not published:
        yield ("tables", "published_values"), "tables.published_values: the evaluation has no `published` numbers"
    if published and not is_shown:
        yield ("published",), "published: declare `published_values: {title: …}` in `tables`, which shows these numbers"
    for exhibit, facts in published.items():
        unit = facts["unit"]
        if unit not in UNITS and (meant := _find_unit(unit)):
            yield ("published", exhibit, "unit"), f"published.{exhibit}.unit: no unit `{unit}`; did you mean `{meant}`?"
        yield from _list_wrong_numbers(exhibit, facts)


def _find_unit(unit: str) -> str | None:
    """Return the known unit that another one is nearly, or is in other letters: of several the first."""
    same = [known for known in UNITS if known.lower() == unit.lower()]
    return next(iter([*same, *difflib.get_close_matches(unit, UNITS, n=1, cutoff=NEARLY)]), None)


def _list_wrong_numbers(exhibit: str, facts: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each published cell that does not fit its columns, is there twice, or is upside down."""
    held: dict[tuple[Any, ...], int] = {}
    for number, (*key, value) in enumerate(facts["cells"]):
        low, high = value if isinstance(value, list) else (value, value)
        place, said = ("published", exhibit, "cells", number), f"published.{exhibit}.cells.{number}"
        if len(key) != len(facts["columns"]) or any(isinstance(part, list) for part in key):
            yield place, f"{said}: write a value of each of {', '.join(facts['columns'])}, then the number"
        elif isinstance(value, str) or (low, high) == (None, None):
            yield place, f"{said}: `{value}` is not a number or a range"
        elif (first := held.setdefault(tuple(key), number)) != number:
            yield place, f"{said}: repeats cells.{first}"
        elif low is not None and high is not None and low > high:
            yield place, f"{said}: no value is at least {low:g} and at most {high:g}; write [{high:g}, {low:g}]"
