"""The forms of paths: files of one kind whose paths differ in single words only are of one pattern."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from ccreport.adopt.path_words import CC, QUEUE_DISCIPLINE, Word, read_as_seconds
from ccreport.adopt.patterns import KIND_WORDS
from ccreport.archive.layout_groups import NO_LOSS

# A path, the kind of its file, and its words.
Named = tuple[str, str, list[Word]]
# A kind of word, its text where that is fixed, and its expression; those of words that may differ.
Form = tuple[tuple[str, str, str], ...]
ANY_FORM: Final = frozenset(
    {("counted", "", ""), ("word", "", ""), ("cc", "", CC), ("queue_discipline", "", QUEUE_DISCIPLINE)}
)


def read_seconds(named: Sequence[Named]) -> list[Named]:
    """Return paths with their words, in which seconds are RTTs where others like them have one in that place.

    Elsewhere `10s` is how long a test takes.
    """
    places = {
        (kind, number, *_leave_out(number, find_form(words)))
        for _, kind, words in named
        for number, word in enumerate(words)
        if word.kind == "rtt_ms"
    }

    def read(kind: str, words: list[Word]) -> list[Word]:
        form = find_form(words)
        return [
            seconds if seconds is not None and (kind, number, *_leave_out(number, form)) in places else word
            for number, word in enumerate(words)
            for seconds in (read_as_seconds(word),)
        ]

    return [(path, kind, read(kind, words)) for path, kind, words in named]


def _leave_out(place: int, form: Form) -> Form:
    return (*form[:place], *form[place + 1 :])


def group_by_form(named: Sequence[Named]) -> Iterator[tuple[str, list[tuple[str, list[Word]]]]]:
    """Yield the kind, and the paths with their words, of each pattern."""
    by_form: dict[tuple[str, Form], list[tuple[str, list[Word]]]] = defaultdict(list)
    forms = {(kind, find_form(words)) for _, kind, words in named}
    for path, kind, words in named:
        # `none` where other paths have a number is one, too.
        as_numbers = [word._replace(kind="number") if word.text.lower() == NO_LOSS else word for word in words]
        own = as_numbers if (kind, find_form(as_numbers)) in forms else words
        by_form[kind, find_form(own)].append((path, own))
    joined: list[tuple[str, list[Form]]] = []
    for kind, form in by_form:
        alike = (forms for other, forms in joined if other == kind and any(_is_alike(form, one) for one in forms))
        if (first := next(alike, None)) is not None:
            first.append(form)
        else:
            joined.append((kind, [form]))
    for kind, forms_of_pattern in joined:
        yield kind, sorted(member for form in forms_of_pattern for member in by_form[kind, form])


def _is_alike(form: Form, other: Form) -> bool:
    """Tell whether two forms differ in one place, where both have a word of any kind: B2 and Cu, say."""
    differing = [pair for pair in zip(form, other, strict=False) if pair[0] != pair[1]]
    return len(form) == len(other) and len(differing) == 1 and all(token in ANY_FORM for token in differing[0])


def find_form(words: Sequence[Word]) -> Form:
    """Return what the paths of a pattern share: separators, kinds of words, the ending, and words that name a kind."""
    last = len(words) - 1
    fixed = [
        word.kind == "separator" or word.text.lower() in KIND_WORDS or (number == last and word.kind == "word")
        for number, word in enumerate(words)
    ]
    return tuple(
        (word.kind, word.text if is_fixed else "", word.expression) for word, is_fixed in zip(words, fixed, strict=True)
    )
