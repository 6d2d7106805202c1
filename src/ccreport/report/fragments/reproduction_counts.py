"""How many pairs and cells of a reproduction have which verdict, in a sentence; those that none has are left out."""

from collections import Counter
from collections.abc import Mapping

import polars as pl

from ccreport.compare.reproduction import COMPARED
from ccreport.compare.verdicts import UNDECIDED
from ccreport.core.text import count_are, count_things
from ccreport.report.fragments.compared_pairs import tell_few_runs
from ccreport.report.fragments.published_beside import APART, NEAR, NEARLY, WITHIN, name_verdict


def tell_other_pairs(counts: Mapping[str, int]) -> str:
    """Return how many pairs are not reproduced, and how many are undecided; no text where all are reproduced."""
    said = {"not": counts["not_reproduced"], "undecided": counts["undecided"]}
    return ", and ".join(f"{count_are(count)} {verdict}" for verdict, count in said.items() if count)


def tell_cells(own: pl.DataFrame) -> str:
    """Return how many of the cells that are compared are the same, differ, or are undecided."""
    cells = own.filter(pl.col("cell_state") == COMPARED).drop_nulls("cell_verdict")
    named = Counter(map(name_verdict, cells.iter_rows(named=True)))
    # 21 are the same within the intervals, 19 differ by less than 5 % and 38 by more · 3 are the same … and 2 differ
    nearly, apart = named[NEARLY], named[APART]
    differ = [f"{_differ(nearly)} by less than {100 * NEAR:g} %"] if nearly else []
    differ += [f"{apart:,} by more" if nearly else _differ(apart)] if apart else []
    same = [f"{count_are(named[WITHIN])} the {WITHIN}"] if named[WITHIN] else []
    decided = (", " if len(differ) > 1 else " and ").join(filter(None, (*same, " and ".join(differ))))
    undecided = f"{count_are(named[UNDECIDED])} undecided{tell_few_runs(cells)}" if named[UNDECIDED] else ""
    said = "; ".join(filter(None, (decided, undecided)))
    return f"Of {count_things(cells.height, 'single cell')}, {said}." if said else "No single cell can be compared."


def _differ(count: int) -> str:
    return f"{count:,} {'differs' if count == 1 else 'differ'}"
