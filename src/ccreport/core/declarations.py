"""Where schemas are, and how they and other declarations are read.

Apart from `ccreport.core.tables`, whose libraries take longer to import than Snakemake takes to read all rules.
"""

from pathlib import Path
from typing import Any, Final

import yaml

# Beside the folder of the package, as `evaluations` is.
SCHEMAS: Final = Path(__file__).resolve().parents[3] / "schemas"
# The queries of published tables, and what they share, each by the name of its table or view.
SQL: Final = Path(__file__).resolve().parents[1] / "sql"
QUERIES: Final = {path.stem: path for path in sorted(SQL.glob("*/*.sql"))}


def load_yaml(path: Path) -> Any:
    """Return what a YAML file holds, read by the compiled parser where there is one: an evaluation takes 0.1 s else."""
    with path.open(encoding="utf-8") as stream:
        return yaml.load(stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (both are safe)


def read_query(name: str) -> str:
    """Return the SQL of a published table, of a view, or of macros."""
    return QUERIES[name].read_text(encoding="utf-8")


def name_query(name: str) -> str:
    """Return the file of a query as a path from the top level: src/ccreport/sql/edge/edge_values.sql."""
    return f"src/ccreport/sql/{QUERIES[name].relative_to(SQL)}"


def list_tables() -> list[str]:
    """Return the names of all declared tables, sorted."""
    return sorted(path.stem for path in (SCHEMAS / "tables").glob("*.yaml"))
