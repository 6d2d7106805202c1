"""Words of publications as numbers: what a value must be for `similar`, `clear winner` or `about N times` to be true.

The one place where words become bounds. The methods page shows this table with its reasons, and each check of a claim
names the publication's words and the word of this table that they are read as. Numbers that a publication prints are
checked here as well.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ccreport.core.schema_problems import Place, guess
from ccreport.core.units import WITH_UNIT, find_unit, mend_digits

Bounds = tuple[float, float]
# faster, higher, increases (without a number)
PHRASES_END: Final = re.compile(r", | \(.*")

# Two rates that differ by less are called similar, and no rate is called higher for less.
ALIKE: Final = 1.1
SAME: Final = 1.05
CLEAR: Final = 1.25
ABOUT: Final = 1.5
MUCH: Final = 2.0
# Of Jain's index, of shares and of exponents.
STEP: Final = 0.1
HALF_STEP: Final = 0.05
NEAR_LINE_RATE: Final = 0.85
LEAST_LOSS: Final = 1e-4
# No bound is so many times the published value.
UNIT_FACTOR: Final = 100
# 500–600 · 500 to 600 · >500
BETWEEN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(?:[-–]|to)\s*(\d+(?:\.\d+)?)")
OPEN_END: Final = re.compile(r"([<>])=?\s*(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Word:
    """A word: the phrases that are read as it, its bounds, for the publication's number where it has one, and why."""

    phrases: str
    bound: Callable[[float], Bounds]
    means: str
    why: str


WORDS: Final[Mapping[str, Word]] = {
    "same": Word(
        "exactly the same, essentially identical",
        lambda _: (1 / SAME, SAME),
        "within 5 %",
        "Half of what similar allows, as the phrase claims more: 4.77 and 4.89 Gbit/s are called exactly the same.",
    ),
    "similar": Word(
        "similar, very similar, comparable, no impact",
        lambda _: (1 / ALIKE, ALIKE),
        "within 10 %",
        "4.5 and 4.3 Gbit/s are called similar, 5 % apart; 4.6 and 4.2, 10 % apart, are called better.",
    ),
    "more": Word(
        "faster, higher, increases (without a number)",
        lambda _: (ALIKE, math.inf),
        "at least 1.1 times",
        "A lead that similar covers, too, is not one.",
    ),
    "less": Word(
        "lower, fewer, decreases (without a number)",
        lambda _: (-math.inf, 1 / ALIKE),
        "at most 1/1.1",
        "As more, the other way round.",
    ),
    "slightly less": Word(
        "slightly lower, slightly better for the other",
        lambda _: (1 / CLEAR, 1),
        "from 1/1.25 to 1",
        "Lower, but the other is not a clear winner.",
    ),
    "clear winner": Word(
        "clear winner, quite a bit higher, starts to do better",
        lambda _: (CLEAR, math.inf),
        "at least 1.25 times",
        "More than twice the difference of similar, and above the 15 % that is told as a number and not called a win.",
    ),
    "somewhat more": Word(
        "about 15 % faster",
        lambda _: (ALIKE, CLEAR),
        "from 1.1 to 1.25 times",
        "More than similar, and less than a clear winner.",
    ),
    "not more": Word(
        "does not benefit",
        lambda _: (-math.inf, ALIKE),
        "at most 1.1 times",
        "What more does not cover.",
    ),
    "best": Word(
        "the best performance",
        lambda _: (1 / ALIKE, math.inf),
        "at least 1/1.1 of any other",
        "No other is ahead by more than similar covers.",
    ),
    "much more": Word(
        "much better, considerably faster, a larger part",
        lambda _: (MUCH, math.inf),
        "at least twice",
        "What is less than double the publications tell in per cent.",
    ),
    "much less": Word(
        "drops considerably, far fewer, multiple times lower",
        lambda _: (-math.inf, 1 / MUCH),
        "at most half",
        "As much more, the other way round.",
    ),
    "about": Word(
        "about, roughly, almost, approximately N (times)",
        lambda n: (n / ABOUT, n * ABOUT),
        "N within a factor of 1.5",
        "2 is not about 4, nor is 8; 3 and 5 are. A narrower range would be more than one digit tells.",
    ),
    "measured": Word(
        "N, with digits after the first",
        lambda n: (n / ALIKE, n * ALIKE),
        "N within 10 %",
        "A number given as measured; similar to it is what is not told from it.",
    ),
    "unchanged": Word(
        "does not change (of percentages with one digit)",
        lambda _: (1 / ABOUT, ABOUT),
        "within a factor of 1.5",
        "Rounding to a digit alone makes 0.5 of 0.4; the publication's own values differ by a factor of 1.26.",
    ),
    "over": Word(
        "over, more than, at least N",
        lambda n: (n, math.inf),
        "at least N",
        "As it says.",
    ),
    "under": Word(
        "under, below, less than, up to N",
        lambda n: (-math.inf, n),
        "at most N",
        "As it says.",
    ),
    "none": Word(
        "no packet loss, close to zero, no retransmissions",
        lambda _: (-math.inf, LEAST_LOSS),
        "at most 0.01 %",
        "A fifth of the 0.05 % that the same paragraph calls loss.",
    ),
    "near line rate": Word(
        "close to line rate, no trouble approaching it",
        lambda _: (NEAR_LINE_RATE, math.inf),
        "at least 0.85 of the line rate",
        "Within 10 % of what the line rate leaves for payload, which is 0.94 of it with packets of 1500 bytes.",
    ),
    "fair": Word(
        "approaches 100 %, around 100 %, a fair share (Jain's index)",
        lambda _: (1 - STEP, math.inf),
        "an index of at least 0.9",
        "0.9 is what two flows have of which one is twice as fast: the least that may still be called sharing.",
    ),
    "unfair": Word(
        "not able to reach a fair share (Jain's index)",
        lambda _: (-math.inf, 1 - STEP),
        "an index of at most 0.9",
        "As fair, the other way round.",
    ),
    "index about": Word(
        "approximately N (of Jain's index)",
        lambda n: (n - STEP, n + STEP),
        "N within 0.1",
        "The publication reads its index off figures with marks at each 20 %; half a mark is what can be read.",
    ),
    "index above about": Word(
        "always above about N, not below about N (of Jain's index)",
        lambda n: (n - HALF_STEP, math.inf),
        "at least N less 0.05",
        "A quarter of the distance of the figures' marks: about, for a floor.",
    ),
    "rises": Word(
        "grows, gets a larger and larger share, depends on",
        lambda _: (STEP, math.inf),
        "by at least 0.1 (of a share, or of an exponent)",
        "Ten points of a share, or 7 % for twice the cause: less would be called similar.",
    ),
    "falls": Word(
        "decays, loses share",
        lambda _: (-math.inf, -STEP),
        "by at least 0.1 (of a share, or of an exponent)",
        "As rises, the other way round.",
    ),
    "does not rise": Word(
        "no longer grows, this is fixed",
        lambda _: (-math.inf, STEP),
        "by at most 0.1 (of a share, or of an exponent)",
        "What rises does not cover.",
    ),
}


def bound_check(check: Mapping[str, Any]) -> dict[str, float]:
    """Return `at_least` and `at_most` of a check: those of its word, for the number `of`, else `paper`, or its own."""
    if "word" not in check:
        return {name: check[name] for name in ("at_least", "at_most") if name in check}
    low, high = WORDS[check["word"]].bound(float(check.get("of", check.get("paper", 1))))
    return {name: bound for name, bound in (("at_least", low), ("at_most", high)) if math.isfinite(bound)}


def list_wrong_bounds(claim: str, checks: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each check of a claim that names no bounds, unknown ones, or ones that nothing meets."""
    for number, check in enumerate(checks):
        place, word = ("claims", claim, "checks", number, "word"), check.get("word")
        given = {end: check[end] for end in ("at_least", "at_most") if end in check}
        if word is not None and word not in WORDS:
            meant = next((known for known, facts in WORDS.items() if word in PHRASES_END.split(facts.phrases)), None)
            hint = f"; did you mean `{meant}`?" if meant else guess(word, WORDS)
            yield place, f"claims.{claim}, check `{check['name']}`: no word `{word}`{hint}"
        # A release has the numbers beside the word.
        elif word is not None and given and given != bound_check(check):
            said = f"claims.{claim}, check `{check['name']}`: `{word}` gives the bounds"
            yield place, f"{said}, so there is no other at_least or at_most"
        elif word is not None and not {"of", "paper"} & check.keys() and _needs_number(WORDS[word]):
            said = f"claims.{claim}, check `{check['name']}`: `{word}` needs a number"
            yield place, f"{said}; write it as `paper`, or as `of` where the publication's value is another"
        elif word is None and not given:
            said = f"claims.{claim}, check `{check['name']}`: nothing says which values it accepts"
            yield place[:-1], f"{said}; name a word, at_least or at_most"
        elif len(given) > 1 and check["at_least"] > check["at_most"]:
            said = f"claims.{claim}, check `{check['name']}`: no value is at least {check['at_least']:g}"
            yield (*place[:-1], "at_most"), f"{said} and at most {check['at_most']:g}"
        elif word is None and (bound := _find_other_unit(check.get("paper"), given.values())):
            said = f"claims.{claim}, check `{check['name']}`: `paper` is {check['paper']:g} and a bound {bound:g}"
            yield (*place[:-1], "paper"), f"{said}; write both in the same unit"


def _needs_number(word: Word) -> bool:
    return word.bound(1) != word.bound(2)


def _find_other_unit(value: float | None, bounds: Iterable[float]) -> float | None:
    """Return the first bound where all are so far from a published value that their unit is another, else None."""
    if value is None or value <= 0:
        return None
    is_far = [bound > 0 and not 1 / UNIT_FACTOR < bound / value < UNIT_FACTOR for bound in bounds]
    return next(iter(bounds)) if is_far and all(is_far) else None


def list_wrong_published(evaluation: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each published number that cannot be one, or that no table shows."""
    published, is_shown = evaluation["published"], "published_values" in evaluation["tables"]
    if is_shown and not published:
        yield ("tables", "published_values"), "tables.published_values: the evaluation has no `published` numbers"
    if published and not is_shown:
        yield ("published",), "published: declare `published_values: {title: …}` in `tables`, which shows these numbers"
    for exhibit, facts in published.items():
        unit = facts["unit"]
        if meant := find_unit(unit):
            yield ("published", exhibit, "unit"), f"published.{exhibit}.unit: no unit `{unit}`; did you mean `{meant}`?"
        if not facts["step"] and any(not isinstance(value, list) for *_, value in facts["cells"]):
            said = f"published.{exhibit}.step: 0 is for ranges alone"
            yield ("published", exhibit, "step"), f"{said}; write the least step between two printed numbers, such as 1"
        yield from _list_wrong_numbers(exhibit, facts)


def _list_wrong_numbers(exhibit: str, facts: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each published cell that does not fit its columns, is there twice, or is upside down."""
    held: dict[tuple[Any, ...], int] = {}
    for number, (*key, value) in enumerate(facts["cells"]):
        low, high = value if isinstance(value, list) else (value, value)
        place, said = ("published", exhibit, "cells", number), f"published.{exhibit}.cells.{number}"
        if len(key) != len(facts["columns"]) or any(isinstance(part, list) for part in key):
            yield place, f"{said}: write a value of each of {', '.join(facts['columns'])}, then the number"
        elif isinstance(value, str):
            yield place, f"{said}: `{value}` is not a number or a range{_mend_number(value, facts['unit'])}"
        elif (low, high) == (None, None):
            yield place, f"{said}: a range has at least one end: [80, null]"
        elif (first := held.setdefault(tuple(key), number)) != number:
            yield place, f"{said}: repeats cells.{first}"
        elif low is not None and high is not None and low > high:
            yield place, f"{said}: no value is at least {low:g} and at most {high:g}; write [{high:g}, {low:g}]"


def _mend_number(text: str, unit: str) -> str:
    """Return how to write a published number or range that is given as text; `unit` is the exhibit's."""
    if (with_unit := WITH_UNIT.fullmatch(text)) and with_unit[2].lower() == unit.lower():
        return f"; write {with_unit[1]}, the unit is in `unit`"
    if with_unit:
        return f"; write it in {unit}, as `unit` says, and without the unit's name"
    if between := BETWEEN.fullmatch(text):
        return f"; write [{between[1]}, {between[2]}]"
    if open_end := OPEN_END.fullmatch(text):
        ends = {"<": f"null, {open_end[2]}", ">": f"{open_end[2]}, null"}
        return f"; write [{ends[open_end[1]]}]"
    return mend_digits(text, "80, or a range, such as [80, null]")
