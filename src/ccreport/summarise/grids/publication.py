"""A table beside the publication's: the RTTs that a bucket has here, and rows that are not in it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.tables import load_schema
from ccreport.summarise.algorithm_names import show_algorithms
from ccreport.summarise.database import quote_name
from ccreport.summarise.grids.grid import Grid
from ccreport.summarise.grids.headings import format_name
from ccreport.summarise.grids.label_names import call_labels

# More round-trip times than these are a range.
LISTED_AT_MOST: Final = 4
# To a tenth of a ms, as ping has it; loopback has less.
SHOWN_RTT: Final = """
    CASE WHEN coalesce(rtt_nominal_ms, rtt_ms) < 0.1 THEN round(coalesce(rtt_nominal_ms, rtt_ms), 3)
    ELSE round(coalesce(rtt_nominal_ms, rtt_ms), 1) END
"""
POOLED: Final = (
    "Where a bucket has several round-trip times, a mean pools the runs of all of them, and its CV includes their "
    "differences."
)
MARK: Final = "†"
UNPUBLISHED: Final = f"{MARK} Not in the publication."


def list_rtts(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """Return each RTT bucket of a published table with the round-trip times of its runs here, as a heading."""
    query = f"""
        SELECT rtt_bucket, list(DISTINCT {SHOWN_RTT}) AS rtts
        FROM {quote_name(f"{table}_runs")} WHERE is_counted AND rtt_ms IS NOT NULL GROUP BY rtt_bucket
    """
    return {
        bucket: f"{bucket} (here {join_rtts(sorted(rtts))} ms)" for bucket, rtts in connection.sql(query).fetchall()
    }


def describe_pooled_rtts(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return the sentence on cells that pool runs of several round-trip times, of a table that has CVs by RTT bucket.

    It is empty where each cell has one.
    """
    schema, runs = load_schema(table), connection.table(f"{table}_runs")
    has_cvs = any(column.name.endswith("_low_cv") for column in schema.columns)
    if not has_cvs or not {"rtt_bucket", *schema.key} <= {*runs.columns} or "rtt_bucket" not in schema.key:
        return ""
    keys = ", ".join(map(quote_name, schema.key))
    query = f"""
        SELECT count(*) FROM (
            SELECT {keys} FROM {quote_name(f"{table}_runs")} WHERE is_counted AND rtt_ms IS NOT NULL
            GROUP BY {keys} HAVING count(DISTINCT {SHOWN_RTT}) > 1
        )
    """
    (count,) = connection.sql(query).fetchall()[0]
    return POOLED if count else ""


def join_rtts(rtts: Sequence[float]) -> str:
    """Return sorted round-trip times in ms as text without unit, many as a range."""
    shown = [f"{rtt:g}" for rtt in rtts]
    return f"{shown[0]} to {shown[-1]}" if len(shown) > LISTED_AT_MOST else ", ".join(shown)


def head_columns(grid: Grid, headings: Mapping[str, str]) -> Grid:
    """Return a grid with other headings above its columns, by the present ones."""
    levels = [[(headings.get(text, text), width) for text, width in level] for level in grid.spanners]
    return replace(grid, spanners=levels)


def mark_unpublished(
    grid: Grid, expected: Path, keys: pl.DataFrame, evaluation: Mapping[str, Any] | None = None
) -> Grid:
    """Return a grid whose rows have a mark if a file of published values does not have them, and a note that says so.

    `keys` are the rows of the summary, the columns that name the grid's rows. Where none is the same in both, cells are
    matched by other means than names, and no row has a mark. The grid has labels and algorithms as pages of the
    `evaluation` name them; the file has not.
    """
    try:
        read = pl.read_csv(expected, columns=keys.columns, schema_overrides=keys.schema)
    except pl.exceptions.PolarsError:
        # The comparison with the file says what is wrong in which line.
        return grid
    published = read if evaluation is None else show_algorithms(call_labels(read, evaluation), evaluation)
    known = {
        tuple(format_name(name, value) for name, value in row.items())
        for row in published.unique().iter_rows(named=True)
    }
    if not known & {tuple(row) for row in grid.names}:
        return grid
    names = [row if tuple(row) in known else [*row[:-1], f"{row[-1]} {MARK}"] for row in grid.names]
    return replace(grid, names=names, notes=[*grid.notes, UNPUBLISHED]) if names != grid.names else grid
