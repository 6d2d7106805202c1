"""Which evaluations a report shows beside its own: those of whose kind the archive has data."""

from pathlib import Path

from ccreport.database import connect, quote_name
from ccreport.evaluation import load_evaluation


def list_sections(evaluations: list[Path], databases: list[Path], sections: Path) -> None:
    """Write the names of the evaluations with data into the file `sections`, one a line, in their order.

    `databases` are those of `list_views`, one for each evaluation. An evaluation has data if any of its tables that
    make it a section has a row, or if it declares none.
    """
    names = [path.stem for path, database in zip(evaluations, databases, strict=True) if _has_data(path, database)]
    sections.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def _has_data(evaluation: Path, database: Path) -> bool:
    tables = [name for name, facts in load_evaluation(evaluation)["tables"].items() if facts["makes_section"]]
    with connect(database) as connection:
        return not tables or any(
            connection.execute(f"SELECT 1 FROM {quote_name(table)} LIMIT 1").fetchone()  # noqa: S608 (names quoted)
            for table in tables
        )
