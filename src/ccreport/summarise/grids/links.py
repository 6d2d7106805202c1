"""Which rows of a published table the report shows, and where it shows what a cell is made of."""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

# More rows with what is behind them make a page of more than 8,000 px.
ROWS_PER_PAGE: Final = 25


def select_shown(summary: pl.DataFrame, declared: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows of a table that pages show: all of one that is laid out in cells, else the first of them."""
    return summary if "rows" in declared and "measures" not in declared else summary.head(declared["rows_at_most"])


def page_of_cells(table: str, number: int = 1) -> str:
    """Return the name, without its ending, of the page that lists the runs behind a row of a table, by its number."""
    part = (number - 1) // ROWS_PER_PAGE
    # No table has a hyphen in its name.
    return f"cells_{table}-{part + 1}" if part else f"cells_{table}"


def cell_href(table: str, number: int) -> str:
    """Return the link to a cell, by the number of its row in the table's Parquet and CSV files, from 1."""
    return f"{page_of_cells(table, number)}.html#cell-{number}"
