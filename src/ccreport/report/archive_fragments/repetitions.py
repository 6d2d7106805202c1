"""Repetitions: how many runs the cells of published tables are the means of."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median_high
from typing import Any, Final

from ccreport.core.evaluation import MEANS
from ccreport.core.tables import read_table
from ccreport.figures.wording.runs import join_names
from ccreport.report.markup.escape import escape_text

RUNS: Final = "runs_count"


def describe_repetitions(declared: Mapping[str, Any], summaries: Path) -> str:
    """Return how many runs the cells of the tables are of that are compared with the publication's, or else of `means`.

    `declared` is the evaluation, `summaries` the folder of its published tables. The text is escaped, and empty where
    there are no such tables.
    """
    names = [name for name in declared["reproduction"] or (MEANS,) if name in declared["tables"]]
    tables = {name: read_table(name, [summaries / f"{name}.parquet"]) for name in names}
    counts = {name: rows[RUNS] for name, rows in tables.items() if RUNS in rows.columns}
    known = sorted(count for own in counts.values() for count in own)
    if not known:
        return ""
    titles = [declared["tables"][name]["title"].partition(":")[0] for name, own in counts.items() if own.len()]
    typical = median_high(known)
    spread = "" if known[0] == known[-1] else f" (median; {known[0]} to {known[-1]})"
    count = f"{typical} run{'' if typical == 1 else 's'}"
    return escape_text(f"Repetitions: a cell of {join_names(titles)} is of {count}{spread}.")
