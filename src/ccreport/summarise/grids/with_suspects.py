"""What a published table would be with the suspect runs that it leaves out: one sentence below it."""

from collections.abc import Iterator
from typing import Final

from ccreport.summarise.grids.grid import INTERVAL, MISSING, Grid

# More rows nobody reads in a sentence.
ROWS_AT_MOST: Final = 4


def describe_suspects(shown: Grid, with_suspects: Grid, suspects_count: int) -> str:
    """Return which numbers of a grid would be others in that with so many suspect runs; nothing where none would."""
    runs = f"{suspects_count:,} suspect run{'s' if suspects_count > 1 else ''}"
    # Where the runs make a column's values differ, it names rows that it did not before.
    if _list_headings(shown) != _list_headings(with_suspects):
        return f"With {runs} the table has other rows or columns."
    before = dict(_iterate_numbers(shown))
    changes: dict[str, list[str]] = {}
    for (name, heading), text in _iterate_numbers(with_suspects):
        here = before.get((name, heading), MISSING)
        if text != here:
            changes.setdefault(name, []).append(f"{heading} {text} (here {here})")
    if not changes:
        return ""
    rows = [f"{name}: {', '.join(numbers)}" for name, numbers in changes.items()]
    others = len(rows) - ROWS_AT_MOST
    more = f"; {others:,} more row{'s' if others > 1 else ''} would change" if others > 0 else ""
    return f"With {runs}: {'; '.join(rows[:ROWS_AT_MOST])}{more}."


def _list_headings(grid: Grid) -> tuple[list[str], list[list[tuple[str, int]]], list[str]]:
    return grid.stubs, grid.spanners, grid.headings


def _iterate_numbers(grid: Grid) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield what each number of a grid is of, by its row and the headings above it, its own heading, and its text."""
    spans = [[text for text, width in level for _ in range(width)] for level in grid.spanners]
    for names, cells in zip(grid.names, grid.cells, strict=True):
        for place, (heading, cell) in enumerate(zip(grid.headings, cells, strict=True)):
            if grid.is_number[place] and heading != INTERVAL:
                above = [*names, *(level[place] for level in spans)]
                yield (", ".join(name for name in above if name != MISSING), heading), cell.text
