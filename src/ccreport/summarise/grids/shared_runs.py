"""How many runs the cells of a row have, said once for the row, and what all rows are named, said once for the table.

A table of cells is a quarter narrower without.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Final

from ccreport.summarise.grids.grid import MISSING, Grid
from ccreport.summarise.grids.headings import describe_shared, name_text

RUNS: Final = "Runs"


def share_runs(grid: Grid) -> Grid:
    """Return a grid whose columns of runs are one, which names its rows; `3–5` where the cells of a row differ.

    A table of nothing but runs stays as it is.
    """
    kept = [heading != RUNS for heading in grid.headings]
    if kept.count(False) < 2 or not any(kept):
        return grid
    counts = [[cell.text for cell, keeps in zip(cells, kept, strict=True) if not keeps] for cells in grid.cells]
    return replace(
        grid,
        stubs=[*grid.stubs, RUNS],
        names=[[*names, _join(own)] for names, own in zip(grid.names, counts, strict=True)],
        spanners=[_narrow(level, kept) for level in grid.spanners],
        headings=list(compress(grid.headings, kept)),
        is_number=list(compress(grid.is_number, kept)),
        cells=[list(compress(cells, kept)) for cells in grid.cells],
    )


def share_names(grid: Grid) -> Grid:
    """Return a grid without the names that all of its rows have, but for the first, and with a note of these."""
    shared = [place > 0 and len({names[place] for names in grid.names}) == 1 for place in range(len(grid.stubs))]
    if len(grid.names) < 2 or not any(shared):
        return grid
    kept = [not is_shared for is_shared in shared]
    said = [name_text(stub, name) for stub, name in compress(zip(grid.stubs, grid.names[0], strict=True), shared)]
    return replace(
        grid,
        stubs=list(compress(grid.stubs, kept)),
        names=[list(compress(names, kept)) for names in grid.names],
        notes=[*grid.notes, describe_shared({}, said)],
    )


def _join(counts: Sequence[str]) -> str:
    known = sorted({count for count in counts if count != MISSING}, key=lambda count: int(count.replace(",", "")))
    return "–".join(dict.fromkeys((known[0], known[-1]))) if known else MISSING


def _narrow(level: Sequence[tuple[str, int]], kept: Sequence[bool]) -> list[tuple[str, int]]:
    """Return headings above columns without those that are not kept."""
    starts = [sum(width for _, width in level[:number]) for number in range(len(level))]
    return [(text, sum(kept[start : start + width])) for start, (text, width) in zip(starts, level, strict=True)]
