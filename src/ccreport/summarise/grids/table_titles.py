"""What tables of an evaluation are called in rows of others."""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from ccreport.core.evaluation import MEANS

# Tables that go by their own titles in rows of others, by what their names begin with.
OWN_TITLED: Final = (MEANS, "table_")


def shorten_titles(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return what tables of an evaluation are called in rows of others, by name: "Table II" of "Table II: mean …"."""
    titles = {name: facts["title"].partition(":")[0] for name, facts in tables.items()}
    # Each evaluation asks something else of means and of the paper's tables, and says so in its title.
    return {name: title for name, title in titles.items() if title.startswith("Table ") or name.startswith(OWN_TITLED)}


def name_tables(rows: pl.DataFrame, titles: Mapping[str, str]) -> pl.DataFrame:
    """Return rows of which a column names tables with these titles in place of the tables' names."""
    return rows.with_columns(pl.col("table_name").replace(titles)) if "table_name" in rows.columns else rows
