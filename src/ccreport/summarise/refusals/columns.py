"""Columns that SQL of an evaluation names and that its table lacks, though another table has them."""

from typing import Final

from ccreport.core.declarations import list_tables
from ccreport.core.tables import load_schema

# Of more, a list helps nobody.
TABLES_AT_MOST: Final = 3


def describe_other_column(column: str, view: str) -> str:
    """Return what to say of a name that is a column of other tables than the `view` asked; nothing of any other name.

    `view` may be one that has no schema, or be empty where it is not known.
    """
    tables = list_tables()
    holding = [table for table in tables if column in load_schema(table).polars]
    if not holding:
        return ""
    if view not in tables:
        named = ", ".join(f"`{table}`" for table in holding[:TABLES_AT_MOST])
        return f"; it is a column of {named}" + (f", and the condition is over `{view}`" if view else "")
    own = load_schema(view)
    # rtt_bucket or path_rtt of rtt_ms
    alike = [name for name in own.key if column.partition("_")[0] in name.split("_")]
    meant = f"; did you mean `{alike[0]}`?" if len(alike) == 1 else ""
    listed = f", whose rows differ in {', '.join(own.key)}"
    return f"; the condition is over the table `{view}`{meant or listed}"
