"""Long texts of a column that differ in their numbers only: letters in the table, and a key below it."""

import re
from collections import Counter
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Final

# Shorter texts are read as they are, and in fewer rows a key takes more space than it saves.
LONG_CHARACTERS: Final = 60
ROWS_AT_LEAST: Final = 20
PART: Final = "; "
UNEXPLAINED: Final = "unexplained: "
MARK: Final = "*"
# 125440 · 44.3 to 46.7, but not the 3 of iperf3
NUMBERS: Final = re.compile(r"\b\d[\d.]*\b(?: to \d[\d.]*\b)?")


def code_phrases(texts: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return the texts as letters, a letter for each part, and the meanings of the letters, the most frequent first.

    A part that a text calls unexplained has a mark. None where the texts are short, few, or have too little in common.
    """
    if len(texts) < ROWS_AT_LEAST or max(map(len, texts)) <= LONG_CHARACTERS:
        return None
    split = [[NUMBERS.sub("…", part) for part in text.split(PART)] for text in texts]
    # A cause that is in two findings of a row is said once.
    counts = Counter(part.removeprefix(UNEXPLAINED) for parts in split for part in dict.fromkeys(parts))
    if len(counts) > min(len(ascii_lowercase), len(texts) / 2):
        return None
    letters = {part: letter for (part, _), letter in zip(counts.most_common(), ascii_lowercase, strict=False)}

    def code(part: str) -> str:
        return f"{letters[part.removeprefix(UNEXPLAINED)]}{MARK if part.startswith(UNEXPLAINED) else ''}"

    coded = [", ".join(dict.fromkeys(map(code, parts))) for parts in split]
    key = [f"{letter}: {part}" for part, letter in letters.items()]
    return coded, [*key, f"{MARK}: unexplained"] if any(MARK in cell for cell in coded) else key
