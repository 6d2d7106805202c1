"""What cannot be right in one part of an evaluation by itself: bounds of claims, published numbers, labels."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from ccreport.core.schema_problems import Place, format_place, guess
from ccreport.core.words import WORDS, bound_check

# faster, higher, increases (without a number)
PHRASES_END: Final = re.compile(r", | \(.*")


def list_wrong_bounds(claim: str, checks: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each check of a claim that names no bounds, unknown ones, or ones that nothing meets."""
    for number, check in enumerate(checks):
        place, word = ("claims", claim, "checks", number, "word"), check.get("word")
        given = {end: check[end] for end in ("at_least", "at_most") if end in check}
        if word is not None and word not in WORDS:
            meant = next((known for known, facts in WORDS.items() if word in PHRASES_END.split(facts.phrases)), None)
            hint = f"; did you mean `{meant}`?" if meant else guess(word, WORDS)
            yield place, f"claims.{claim}.checks: no word `{word}`{hint}"
        # A release has the numbers beside the word.
        elif word is not None and given and given != bound_check(check):
            yield place, f"claims.{claim}.checks: `{word}` gives the bounds, so there is no other at_least or at_most"
        elif word is None and not given:
            said = f"claims.{claim}, check `{check['name']}`: nothing says which values it accepts"
            yield place[:-1], f"{said}; name a word, at_least or at_most"
        elif len(given) > 1 and check["at_least"] > check["at_most"]:
            said = f"claims.{claim}, check `{check['name']}`: no value is at least {check['at_least']:g}"
            yield (*place[:-1], "at_most"), f"{said} and at most {check['at_most']:g}"


def list_wrong_numbers(exhibit: str, facts: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each published cell that does not fit its columns, or whose range is upside down."""
    for number, cell in enumerate(facts["cells"]):
        *key, value = cell
        low, high = value if isinstance(value, list) else (value, value)
        is_key = len(key) == len(facts["columns"]) and not any(isinstance(part, list) for part in key)
        is_number = not isinstance(value, str) and (low, high) != (None, None)
        place, said = ("published", exhibit, "cells", number), f"published.{exhibit}.cells: {cell}"
        if not (is_key and is_number):
            yield place, f"{said} is not a value of each column and a number or a range"
        elif low is not None and high is not None and low > high:
            yield place, f"{said}: no value is at least {low:g} and at most {high:g}; write [{high:g}, {low:g}]"


def list_wrong_scales(table: str, facts: Mapping[str, Any], buckets: Collection[str]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of what cells of a reproduction cannot be matched by; `buckets` are those of RTTs."""
    place: Place = ("reproduction", table)
    if facts["match"] == "dimensionless" and "scale" not in facts:
        said = "`match: dimensionless` needs `scale`, which says what has the same effect"
        yield (*place, "match"), f"{format_place(place)}: {said}"
    for name in facts.get("scale", {}).get("rtt_ms", ()):
        if name not in buckets:
            named = (*place, "scale", "rtt_ms", name)
            yield named, f"{format_place(named[:-1])}: no bucket is called `{name}`{guess(name, buckets)}"


def list_same_names(label: str, facts: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each value of a label that tables would show by the name of another."""
    held: dict[str, str] = {}
    for number, case in enumerate(facts["cases"]):
        shown = case.get("shown", case["value"])
        if held.setdefault(shown, case["value"]) != case["value"]:
            place = ("labels", label, "cases", number, "shown" if "shown" in case else "value")
            yield place, f"labels.{label}: `{held[shown]}` and `{case['value']}` would both be shown as `{shown}`"
