"""Where an evaluation declares what a row of a published table follows from, and the query of a published number."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ccreport.core.declared_files import find_line, show_path
from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation, resolve_evaluation
from ccreport.core.schema_problems import Place
from ccreport.summarise.published import PUBLISHED_VALUES
from ccreport.summarise.questions import LABELS
from ccreport.summarise.table_sources import divide_labels
from ccreport.trace.find_table import find_evaluation
from ccreport.trace.origins.sources import show_text
from ccreport.trace.rows.edge import GROUPED

# What the x and y of a query are, with the unit: of each run, or of the groups of a quotient.
VALUE: Final = "x, the numerator, over y is a run's value, in {}"
QUOTIENT: Final = (
    "x, the numerator, over y is a run's value; the row's is that of the other runs over the divisor's, in {}"
)


def describe_declared(
    database: Path, evaluation: str, table: str, row: Mapping[str, Any], *, is_full: bool
) -> list[str]:
    """Return lines on where an evaluation declares a row's table and labels, with the query of a published number.

    `evaluation` is its file or name, else that which the database was built by; there is nothing to say where that has
    moved. A long query is only named, unless the text `is_full`.
    """
    try:
        path = resolve_evaluation(evaluation) if evaluation else find_evaluation(database)
        declared = load_evaluation(path)
    except InputError:
        return []
    own = {*row, *divide_labels(row.get(LABELS))}
    labels: dict[str, Place] = {label: ("labels", label) for label in declared["labels"] if label in own}
    places: dict[str, Place] = {table: ("tables", table)} | labels
    if table in GROUPED:
        places["edge"] = ("edge",)
    told = ", ".join(f"{name} (line {find_line(path, place)})" for name, place in places.items())
    lines = [f"Declared in {show_path(path)}: {told}"]
    return lines + (
        _show_published(path, declared["published"], row, is_full=is_full) if table == PUBLISHED_VALUES else []
    )


def _show_published(path: Path, published: Mapping[str, Any], row: Mapping[str, Any], *, is_full: bool) -> list[str]:
    """Return lines on the query that the runs of a published number are from, and on what its x and y are."""
    for name, facts in published.items():
        if facts["title"] == row["exhibit"]:
            where = f"{show_path(path)}:{find_line(path, ('published', name, 'sql'))}"
            meaning = (QUOTIENT if facts["is_quotient"] else VALUE).format(facts["unit"])
            return show_text(f"SQL of the runs: {where} ({meaning})", facts["sql"], is_full=is_full)
    return []
