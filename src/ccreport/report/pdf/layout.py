"""Layout of the PDF's tables: what is too wide for a page gets broken headings, then sentences below their rows.

The width of a table is told by its characters, before Typst sets it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import fmean
from typing import Final

from lxml.html import HtmlElement, builder

from ccreport.report.pdf.cells import read_lines

# Characters of a table that fit beside each other upright, at the least size of text that `data-table` takes. A cell
# longer than the second breaks; in a table that is too wide one longer than the third moves below its row.
UPRIGHT_CHARACTERS: Final = 170
LEAST_SCALE: Final = 0.83
# So much wider than an upright page is one that is turned: 257 mm of 170.
TURNED: Final = 1.5
# A table that would be smaller than the first breaks its long cells, of which none counts as shorter than the second.
UNBROKEN_SCALE: Final = 0.9
SHORTEST_SENTENCE: Final = 20
# At 1 the widths of long columns are as their cells, at 0 all are the same.
EVENNESS: Final = 0.6
CELL_CHARACTERS: Final = 30
LONG_CHARACTERS: Final = 50
# Beyond the first the words of headings are stacked, in lines of at least the second.
UNBROKEN_CHARACTERS: Final = 120
HEADING_CHARACTERS: Final = 8
# The class of a cell of sentences, which is below the row they were taken from.
NOTE: Final = "note"
SIDES: Final = {"number": "right", "gt_right": "right", "gt_center": "center", "gt_left": "left"}


@dataclass(frozen=True)
class Cell:
    """A cell of HTML, its lines of text, over how many columns and rows it reaches, and where its lines break."""

    element: HtmlElement
    lines: Sequence[str]
    columns: int = 1
    rows: int = 1
    width: int | None = None

    @property
    def length(self) -> int:
        """Return the characters of the longest line."""
        return max(map(len, self.lines))

    @property
    def word(self) -> int:
        """Return the characters of the longest word."""
        return max((len(word) for line in self.lines for word in line.split()), default=0)

    @property
    def side(self) -> str:
        """Return the side that the text is aligned to, empty where the cell does not say."""
        return next((SIDES[name] for name in self.element.classes if name in SIDES), "")


Row = Sequence[Cell]


@dataclass(frozen=True)
class Table:
    """The rows of a table and the notes below it, its own caption the first; `columns` is how many there are."""

    columns: int
    head: Sequence[Row]
    body: Sequence[Row]
    foot: Sequence[Row]


@dataclass(frozen=True)
class Column:
    """Of a column the characters of its widest cell, of its heading and of the heading's longest word."""

    cell: int = 0
    heading: int = 0
    word: int = 0


def read_table(table: HtmlElement, rows_at_most: int) -> Table:
    """Return a table of HTML with so many rows of its body at most."""
    caption = [[_read_cell(cell, rows_left=1)] for cell in table.findall("caption")]
    head, body, foot = (_read_rows(table.findall(f"{part}/tr")[:rows_at_most]) for part in ("thead", "tbody", "tfoot"))
    columns = max((sum(cell.columns for cell in row) for row in head[:1] or body), default=1)
    return Table(columns, head, body, [*caption, *foot])


def _read_rows(rows: Sequence[HtmlElement]) -> list[Row]:
    return [
        [_read_cell(cell, rows_left=len(rows) - number) for cell in row.iterchildren("td", "th")]
        for number, row in enumerate(rows)
    ]


def _read_cell(element: HtmlElement, rows_left: int) -> Cell:
    columns, rows = (int(element.get(name, "1")) for name in ("colspan", "rowspan"))
    return Cell(element, read_lines(element), columns, min(rows, rows_left))


def fit_table(table: Table) -> tuple[Table, bool]:
    """Return a table as narrow as need be, and whether it is still too wide for an upright page."""
    columns = _measure(table)
    if _is_too_wide(columns):
        table = _move_cells(table, _choose_columns(columns))
        columns = _measure(table)
    if _is_wider(UNBROKEN_CHARACTERS, ((column.cell, column.heading) for column in columns)):
        # Cells of the rows above reach down into the first columns of the last.
        above = [_break_headings(row, columns[: len(row)]) for row in table.head[:-1]]
        below = [_break_headings(row, columns[-len(row) :]) for row in table.head[-1:]]
        table = replace(table, head=above + below)
    return table, _is_too_wide(columns)


def break_sentences(table: Table, *, is_wide: bool = False) -> tuple[float, list[float | None]] | None:
    """Return the size of text of a table whose long cells break, and the columns' widths; none where all is narrow.

    The size is a share of the usual one; a table that `is_wide` is on a turned page. Long columns share what the
    others leave, which have no width: by the middle between their mean and their longest cell, which else would be many
    lines high. The shares differ less than these middles, as else the shortest column would have one word a line.
    """
    columns = _measure(table)
    room = LEAST_SCALE * UPRIGHT_CHARACTERS * (TURNED if is_wide else 1)
    is_long = [column.cell > CELL_CHARACTERS for column in columns]
    unbroken = sum(max(column.cell, column.heading) + 2 for column in columns)
    if not any(is_long) or unbroken * UNBROKEN_SCALE <= room:
        return None
    broken = sum(min(max(column.cell, column.heading), CELL_CHARACTERS) + 2 for column in columns)
    whole = [row for row in table.body if len(row) == table.columns]
    # Blanks and dashes would make a column that has sentences in some rows too narrow for them.
    lengths = [[row[column].length for row in whole if row[column].length > 1] for column in range(table.columns)]
    middles = [max(SHORTEST_SENTENCE, fmean((fmean(own or [0]), max(own or [0])))) for own in lengths]
    widths = [middle**EVENNESS if long else None for middle, long in zip(middles, is_long, strict=True)]
    return min(1.0, max(LEAST_SCALE, room / broken)), widths


def _measure(table: Table) -> list[Column]:
    whole = [row for row in table.body if len(row) == table.columns]
    widths = [max(row[column].length for row in whole) if whole else 0 for column in range(table.columns)]
    last = table.head[-1] if table.head else ()
    headings = [(0, 0)] * (table.columns - len(last)) + [(cell.length, cell.word) for cell in last]
    return [Column(width, *heading) for width, heading in zip(widths, headings, strict=True)]


def _is_too_wide(columns: Iterable[Column]) -> bool:
    return _is_wider(UPRIGHT_CHARACTERS, ((column.cell, column.word) for column in columns))


def _is_wider(limit: int, columns: Iterable[tuple[int, int]]) -> bool:
    return sum(min(max(widths), CELL_CHARACTERS) + 2 for widths in columns) > limit


def _break_headings(row: Row, columns: Sequence[Column]) -> Row:
    """Return headings with lines no longer than need be: than what is below and the longest word of the heading."""
    return [
        cell if cell.columns > 1 else replace(cell, width=max(column.cell, column.word, HEADING_CHARACTERS))
        for cell, column in zip(row, columns, strict=True)
    ]


def _choose_columns(columns: Sequence[Column]) -> list[bool]:
    """Return which columns stay: those without sentences, but for the first where the others fit without it."""
    kept = [column.cell <= LONG_CHARACTERS for column in columns]
    without_first = [False, *kept[1:]]
    if _is_too_wide(compress(columns, kept)) and not _is_too_wide(compress(columns, without_first)):
        return without_first
    return kept


def _move_cells(table: Table, kept: Sequence[bool]) -> Table:
    """Return a table with some of its columns: what was in the others is below its row, as wide as the table.

    What is before all numbers that stay names the row, and is above it, once for rows of the same name.
    """
    rows = (*table.head, *table.body, *(row for row in table.foot if len(row) > 1))
    is_regular = all(len(row) == table.columns or [cell.columns for cell in row] == [table.columns] for row in rows)
    if len(table.head) != 1 or not is_regular or not any(kept) or any(cell.rows > 1 for row in rows for cell in row):
        return table
    names = [" ".join(cell.lines) for cell in table.head[0]]
    count = sum(kept)
    are_numbers = [any(len(row) > 1 and row[place].side == "right" for row in table.body) for place in range(len(kept))]
    first = next((n for n, stays in enumerate(kept) if stays and are_numbers[n]), kept.index(True))

    def keep(row: Row) -> Row:
        # The name of a group is as wide as the table still is.
        return [replace(row[0], columns=count)] if len(row) == 1 else list(compress(row, kept))

    def move(row: Row, start: int, stop: int) -> list[Row]:
        moved = [(names[n], row[n]) for n in range(start, stop) if not kept[n]] if len(row) > 1 else []
        # A dash says that there is none.
        sentences = [(name, cell) for name, cell in moved if cell.length > 1]
        return [[_make_note(sentences, count)]] if sentences else []

    body: list[Row] = []
    said: list[Sequence[str]] = []
    for row in table.body:
        name = move(row, 0, first)
        words = [cell.lines for (cell,) in name]
        body += [*(name if words != said else []), keep(row), *move(row, first, table.columns)]
        said = words
    return Table(count, [keep(row) for row in table.head], body, [keep(row) for row in table.foot])


def _make_note(sentences: Iterable[tuple[str, Cell]], columns: int) -> Cell:
    """Return what was in some cells of a row as one cell, with the headings in front."""
    note = builder.TD(builder.CLASS(NOTE))
    for name, cell in sentences:
        note.append(builder.EM(f"{name}:"))
        note[-1].tail = f" {cell.element.text or ''}"
        note.extend(list(cell.element))
        note[-1].tail = f"{note[-1].tail or ''} "
    return Cell(note, read_lines(note), columns)
