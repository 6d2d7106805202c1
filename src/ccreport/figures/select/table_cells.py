"""Cells of published tables that a figure draws: which columns name its rows, and which tables can be drawn at all."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from ccreport.core.evaluation import MEANS
from ccreport.core.schema_problems import guess
from ccreport.core.tables import load_schema
from ccreport.figures.select.condition_cells import list_varying
from ccreport.figures.select.recording_database import Database
from ccreport.summarise.database import quote_name
from ccreport.summarise.questions import LABELS, STRATUM
from ccreport.summarise.table_sources import BETWEEN_LABELS

# distance=far; loss=none
LABEL: Final = re.compile(rf"(?:^|{BETWEEN_LABELS})(\w+)=")
# What the marks of a row differ in.
SERIES: Final = "algorithm"
# Columns of a mean and of the ends of its interval, of which a table needs one set.
RATE_COLUMNS: Final = ("rate_mean_bps", "rate_low_bps", "rate_high_bps")
RETRANSMIT_COLUMNS: Final = ("retransmit_mean_ratio", "retransmit_low_ratio", "retransmit_high_ratio")


def find_table_fault(table: str, tables: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return why the cells of a table cannot be drawn, None where they can; `tables` are those that are declared."""
    if table not in tables:
        return f"the evaluation declares no table `{table}`{guess(table, tables)}"
    if not _has_means(table):
        drawn = sorted(filter(_has_means, tables))
        others = f"; {', '.join(drawn)} can be drawn" if drawn else ""
        return f"the table `{table}` has no means of algorithms with intervals{others}"
    return None


def select_cells(table: str, labels: Sequence[str]) -> str:
    """Return the query of a table's cells in which each of these labels of `means` is a column as well.

    The table has them all as one text, `distance=far; loss=none`.
    """
    values = [
        f"nullif(regexp_extract({LABELS}, '(^|{BETWEEN_LABELS}){name}=(.*?)({BETWEEN_LABELS}\\w+=|$)', 2), '')"
        for name in labels
    ]
    columns = [f"{value} AS {quote_name(name)}" for name, value in zip(labels, values, strict=True)]
    return f"SELECT {', '.join(['*', *columns])} FROM {quote_name(table)}"  # noqa: S608


def list_cell_labels(database: Database, table: str) -> list[str]:
    """Return the labels that tell rows of `means` apart, as its rows have them; none of another table."""
    if table != MEANS:
        return []
    texts = database.ask(f"SELECT DISTINCT {LABELS} FROM {quote_name(table)} ORDER BY ALL")[LABELS]  # noqa: S608
    return list(dict.fromkeys(name for text in texts.drop_nulls() for name in LABEL.findall(text)))


def find_conditions(database: Database, table: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return under which conditions each algorithm ran in each row of a table, by `keys`, as text to compare."""
    named = ", ".join(map(quote_name, keys))
    # The conditions themselves: in the runs of `means` those that are pooled are null.
    query = f"""
        SELECT {named}, algorithm, list_sort(list(DISTINCT stratum))::VARCHAR AS conditions
        FROM {quote_name(f"{table}_runs")}
        JOIN (SELECT DISTINCT run_id, {STRATUM} AS stratum FROM all_algorithm_runs) USING (run_id)
        GROUP BY ALL ORDER BY ALL
    """  # noqa: S608
    return database.ask(query)


def _has_means(table: str) -> bool:
    columns = {*load_schema(table).polars}
    return SERIES in columns and any({*ends} <= columns for ends in (RATE_COLUMNS, RETRANSMIT_COLUMNS))


def choose_keys(table: str, cells: pl.DataFrame) -> list[str]:
    """Return the columns that tell the rows of a table's cells apart, without those that follow from the others.

    They are those of its key that vary, in its order, and at least one that has a value.
    """
    known = [name for name in load_schema(table).key if name != SERIES and name in cells.columns]
    keys = list_varying(cells, known) or [name for name in known if cells[name].count()][:1] or known[:1]
    count = cells.select(keys).n_unique()
    for key in tuple(keys):
        others = [other_key for other_key in keys if other_key != key]
        if others and cells.select(others).n_unique() == count:
            keys = others
    return keys
