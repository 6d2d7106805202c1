"""The first page's figure of published cells beside an archive's, which no evaluation declares: what draws it."""

import shlex
from pathlib import Path
from typing import Final

from ccreport.core.declared_files import show_path
from ccreport.core.errors import InputError
from ccreport.core.evaluation import EVALUATIONS, list_evaluations, load_evaluation
from ccreport.trace.find_table import find_databases, find_evaluation, show_database

# As its folders are called, and its label on the page.
NAMES: Final = ("pairs", "pairs_narrow", "pairs_paper", "fig-pairs")


def refuse_pairs(name: str, place: Path) -> None:
    """Raise InputError where a name is that of the first page's figure, which a database at a place has.

    An evaluation may declare a figure of this name.
    """
    for database in find_databases(place) if name in NAMES else ():
        data = database.parent / "first_page/pairs/figure.csv"
        if data.is_file() and name not in load_evaluation(find_evaluation(database))["figures"]:
            told = (
                f"`{name}` is the first page's figure; its numbers are in {data}, and `explain` has each of its tables"
            )
            command = _write_command(show_path(find_evaluation(database)), database)
            raise InputError(f"{told}. This draws it: python -m ccreport {command}")


def write_pairs_command(evaluation: Path, database: Path) -> str:
    """Return the command that draws the figure again, as pages name evaluations and results."""
    folder = EVALUATIONS.name if evaluation.stem in list_evaluations() else "path/to"
    return _write_command(f"{folder}/{evaluation.name}", show_database(database))


def _write_command(evaluation: str, database: Path) -> str:
    reproduction = database.with_name("reproduction.parquet")
    given = {"evaluation": evaluation, "reproduction": reproduction, "database": database, "output": "first_page"}
    return shlex.join(
        ["plot_reproduction", *(part for key, value in given.items() for part in (f"--{key}", str(value)))]
    )
