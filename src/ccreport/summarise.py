"""Published tables: each the result of one query over the database, as Parquet, CSV and formatted HTML."""

from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.database import QueryError, connect, quote_name
from ccreport.evaluation import load_evaluation
from ccreport.format_table import format_cells, format_rows
from ccreport.tables import conform, load_schema, write_table

RATE_NAMES: Final = {"goodput": "receiver's rate (goodput)", "throughput": "sender's rate (throughput)"}


def summarise_table(table: str, evaluation: Path, database: Path, parquet: Path, csv: Path, html: Path) -> None:
    """Write one published table; its query is the view of that name. Raise QueryError where the query fails."""
    declared = load_evaluation(evaluation)["tables"][table]
    with connect(database) as connection:
        try:
            summary = connection.sql(f"FROM {quote_name(table)}").pl()
        except duckdb.Error as error:
            raise QueryError(f"{table}: {error}") from error
    summary = conform(summary, table)
    write_table(summary, table, parquet)
    summary.write_csv(csv)
    html.write_text(format_table(summary, table, declared), encoding="utf-8")


def format_table(summary: pl.DataFrame, table: str, declared: dict[str, Any]) -> str:
    """Return a published table as HTML: cells by row and column where the evaluation names these, else row by row."""
    notes = [declared["note"]] if declared["note"] else []
    if "rate_basis" in summary.columns and summary.height:
        basis = summary["rate_basis"][0]
        notes.append(f"Rate: {RATE_NAMES[basis]}.")
        if basis != declared["rate"]:
            notes.append(f"No selected run has a {declared['rate']}.")
    if "rows" in declared:
        return format_cells(summary, table, declared, notes)
    return format_rows(summary.drop("rate_basis", strict=False), table, load_schema(table), notes)
