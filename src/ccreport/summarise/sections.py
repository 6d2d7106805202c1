"""Which evaluations a report shows beside its own: those of whose kind the archive has data."""

from pathlib import Path
from typing import Final

import duckdb

from ccreport.core.evaluation import load_evaluation
from ccreport.rebuild.batches import read_batches
from ccreport.summarise.database import QueryError, connect, create_views, quote_name

# The views that tell it are of no use after: an evaluation that is not a section has no database.
IN_MEMORY: Final = Path(":memory:")


def list_sections(batches: Path, tables: Path, evaluations: list[Path], sections: Path) -> None:
    """Write the names of the evaluations with data into the file `sections`, one a line, in their order.

    The data are the tables of the listed batches. An evaluation has data if any of its tables that make it a section
    has a row, or if it declares none. Raise QueryError where a condition of an evaluation is no SQL over the runs.
    """
    names = list(read_batches(batches))
    shown = [path.stem for path in evaluations if _has_data(names, tables, path)]
    sections.write_text("".join(f"{name}\n" for name in shown), encoding="utf-8")


def _has_data(names: list[str], tables: Path, evaluation: Path) -> bool:
    declared = load_evaluation(evaluation)
    asked = [table for table, facts in declared["tables"].items() if facts["makes_section"]]
    with connect(IN_MEMORY, read_only=False) as connection:
        try:
            create_views(connection, names, tables, declared)
            return not asked or any(
                connection.execute(f"SELECT 1 FROM {quote_name(table)} LIMIT 1").fetchall() for table in asked
            )
        except (QueryError, duckdb.Error) as error:
            raise QueryError(f"{evaluation.name}: {error}") from error
