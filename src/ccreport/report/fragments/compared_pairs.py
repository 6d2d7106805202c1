"""Compared cells: how many pairs are reproduced, of which algorithms they are, and why a cell is undecided."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ccreport.compare.expected import RUNS_AT_LEAST
from ccreport.compare.pairs import SUSPECT, choose_pair
from ccreport.compare.reproduction import ADDED, MISSING
from ccreport.compare.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from ccreport.core.text import count_are
from ccreport.figures.wording.runs import join_names
from ccreport.report.markup.escape import escape_text


def order_algorithms(own: pl.DataFrame, algorithms: Sequence[str]) -> list[str]:
    """Return algorithms as the comparison with another archive (`own`, of the table `reproduction`) pairs them."""
    there, here = (set(own.filter(pl.col("cell_state") != state)["algorithm"]) for state in (ADDED, MISSING))
    return choose_pair(algorithms, here, there)


def name_pairs(own: pl.DataFrame, algorithms: Sequence[str], which: str = "") -> str:
    """Return which two algorithms pairs are of, where cells of others are compared, too."""
    held = {*own["algorithm"].drop_nulls()}
    compared, others = algorithms[:2], sorted(held - {*algorithms[:2]})
    if not others or not held.issuperset(compared) or len(compared) < 2:
        return ""
    pair, rest = (join_names([*map(escape_text, names)]) for names in (compared, others))
    first = f"Pairs are of {pair}, the first two algorithms that the evaluation lists{which}"
    return f" {first}; cells of {rest} are compared singly."


def explain_undecided(row: Mapping[str, Any]) -> str:
    """Return why a cell has no verdict, or how many runs would give one; nothing for a cell that has one."""
    if row["cell_verdict"] != UNDECIDED:
        return ""
    few = [name for name, count in (("there", "expected_runs_count"), ("here", "runs_count")) if _is_few(row[count])]
    if few:
        return f"fewer than {RUNS_AT_LEAST} runs {' and '.join(few)}"
    return f"about {row['needed_runs_count']} runs would decide" if row["needed_runs_count"] else ""


def tell_few_runs(cells: pl.DataFrame) -> str:
    """Return how many undecided cells have too few runs for an interval; nothing where none has."""
    undecided = cells.filter(cell_verdict=UNDECIDED)
    few = sum(
        _is_few(row["expected_runs_count"]) or _is_few(row["runs_count"]) for row in undecided.iter_rows(named=True)
    )
    if not few:
        return ""
    which = "as they have" if few == undecided.height else f"{few:,} of them with"
    return f", {which} fewer than {RUNS_AT_LEAST} runs there or here"


def _is_few(count: int | None) -> bool:
    return count is not None and count < RUNS_AT_LEAST


def count_pairs(compared: pl.DataFrame) -> dict[str, int]:
    """Return how many pairs are compared, reproduced, not_reproduced, undecided, missing (a cell of it here), suspect.

    Suspect pairs are in no other number.
    """
    pairs = compared.group_by("comparison", "table_name", "cell", maintain_order=True).agg(
        is_suspect=(pl.col("cell_state") == SUSPECT).any(),
        is_missing=(pl.col("cell_state") == MISSING).any(),
        verdict=pl.col("pair_verdict").first(ignore_nulls=True),
    )
    counted = pairs.filter(~pl.col("is_suspect"))
    verdicts = counted["verdict"].drop_nulls()
    return {
        "compared": verdicts.len(),
        "reproduced": int((verdicts == REPRODUCED).sum()),
        "not_reproduced": int((verdicts == NOT_REPRODUCED).sum()),
        "undecided": int((verdicts == UNDECIDED).sum()),
        "missing": counted.filter("is_missing").height,
        "suspect": pairs.height - counted.height,
    }


def tell_other_pairs(counts: Mapping[str, int]) -> str:
    """Return how many pairs are not reproduced, and how many are undecided; no text where all are reproduced."""
    said = {"not": counts["not_reproduced"], "undecided": counts["undecided"]}
    return ", and ".join(f"{count_are(count)} {verdict}" for verdict, count in said.items() if count)
