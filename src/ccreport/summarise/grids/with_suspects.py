"""What a published table would be with the suspect runs that it leaves out: one sentence below it."""

from collections.abc import Iterator
from typing import Final

from ccreport.summarise.grids.grid import INTERVAL, MISSING, Grid

# More rows nobody reads in a sentence.
ROWS_AT_MOST: Final = 4


def describe_suspects(shown: Grid, whole: Grid, with_suspects: Grid, suspects_count: int) -> str:
    """Return which numbers of a grid would be others with so many suspect runs; nothing where none would.

    `whole` is the same table with all of its columns, and `with_suspects` that with the runs: a column in which all
    rows become alike, or no longer are, is in both. Named are the numbers that are shown, and rows as they are shown.
    """
    runs = f"{suspects_count:,} suspect run{'s' if suspects_count > 1 else ''}"
    if _list_headings(whole) != _list_headings(with_suspects):
        return f"With {runs} the table has other rows or columns."
    called = dict(zip(map(tuple, whole.names), shown.names, strict=False))
    before = {(row, place): text for row, place, text in _iterate_numbers(whole)}
    changes: dict[str, list[str]] = {}
    for row, place, text in _iterate_numbers(with_suspects):
        heading = whole.headings[place]
        here = before.get((row, place), MISSING)
        if text != here and heading in shown.headings:
            above = _list_above(whole, place) if shown.spanners else []
            name = ", ".join(part for part in (*called.get(row, row), *above) if part != MISSING)
            changes.setdefault(name, []).append(f"{heading} {text} (here {here})")
    if not changes:
        return ""
    rows = [f"{name}: {', '.join(numbers)}" if name else ", ".join(numbers) for name, numbers in changes.items()]
    others = len(rows) - ROWS_AT_MOST
    more = f"; {others:,} more row{'s' if others > 1 else ''} would change" if others > 0 else ""
    return f"With {runs}: {'; '.join(rows[:ROWS_AT_MOST])}{more}."


def _list_headings(grid: Grid) -> tuple[list[str], list[list[tuple[str, int]]], list[str]]:
    return grid.stubs, grid.spanners, grid.headings


def _list_above(grid: Grid, place: int) -> list[str]:
    """Return the headings above that of a column, the highest first."""
    return [[text for text, width in level for _ in range(width)][place] for level in grid.spanners]


def _iterate_numbers(grid: Grid) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yield the names of the row of each number of a grid, the place of its column, and its text."""
    for names, cells in zip(grid.names, grid.cells, strict=True):
        for place, (heading, cell) in enumerate(zip(grid.headings, cells, strict=True)):
            if grid.is_number[place] and heading != INTERVAL:
                yield tuple(names), place, cell.text
