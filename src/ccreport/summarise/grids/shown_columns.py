"""Columns of a table that is laid out row by row, and which of them say nothing that is not said already.

Long texts of a column that differ in their numbers only are letters in the table, with a key below it.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Final

from ccreport.summarise.grids.grid import INTERVAL, MISSING, Cell
from ccreport.summarise.grids.headings import name_text

# In fewer rows two columns have the same numbers by chance.
ROWS_ALIKE: Final = 3
# Shorter texts are read as they are, and in fewer rows a key takes more space than it saves.
LONG_CHARACTERS: Final = 60
ROWS_AT_LEAST: Final = 20
PART: Final = "; "
UNEXPLAINED: Final = "unexplained: "
MARK: Final = "*"
# 125440 · 44.3 to 46.7, but not the 3 of iperf3
NUMBERS: Final = re.compile(r"\b\d[\d.]*\b(?: to \d[\d.]*\b)?")


@dataclass(frozen=True)
class ShownColumn:
    """A column of a table that is laid out row by row: its heading, cells, and their intervals where it has any."""

    heading: str
    cells: list[Cell]
    intervals: Sequence[Cell] = ()
    is_number: bool = True
    # What the table is read for, which stays in its rows though all have the same.
    is_answer: bool = False
    # What the cells mean, for below the table.
    note: str = ""

    @property
    def texts(self) -> list[str]:
        """Return what the cells show."""
        return [cell.text for cell in self.cells]

    @property
    def is_measured(self) -> bool:
        """Tell whether there are decimals: two counts may well be the same in each row, and say so."""
        return self.is_number and any("." in text for text in self.texts)

    def parts(self) -> list[tuple[str, bool, Sequence[Cell]]]:
        """Return the columns of the table that it becomes."""
        own = (self.heading, self.is_number, self.cells)
        return [own, (INTERVAL, True, self.intervals)] if self.intervals else [own]


def leave_out(columns: list[ShownColumn]) -> tuple[list[ShownColumn], list[str], list[str]]:
    """Return the columns that differ from row to row and from each other, what all rows have, and notes on cells.

    Of columns without a value, and of those like another, nothing is said: the files have them.
    """
    kept: list[ShownColumn] = []
    shared, notes = [], [column.note for column in columns if column.note]
    for column in columns:
        rows_count, values = len(column.texts), set(column.texts)
        has_twin = any(earlier.is_measured and earlier.texts == column.texts for earlier in kept)
        is_single = rows_count < 2 or len(columns) == 1 or column.is_answer
        if is_single or (len(values) > 1 and (not has_twin or rows_count < ROWS_ALIKE)):
            kept.append(column)
        elif len(values) == 1 and MISSING not in values:
            shared.append(name_text(column.heading, column.texts[0]))
    # A table of names alone says nothing.
    return (kept, shared, notes) if kept else (columns, [], [])


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


def find_ends(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the columns of the lower and the upper end of an interval, by the column of the number between.

    That is the mean, where there is one beside a number of nearly the same name: `rate_low_bps` and `rate_high_bps` are
    of `rate_mean_bps`, and those of `retransmit_mean_ratio` not of `retransmit_ratio`. A CV is a number of its own.
    """
    ends = {}
    for low in names:
        before, _, after = f"_{low}_".partition("_low_")
        mean, number, high = (f"{before}{word}{after}".strip("_") for word in ("_mean_", "_", "_high_"))
        between = mean if mean in names else number
        if between != low and between in names and high in names:
            ends[between] = (low, high)
    return ends
