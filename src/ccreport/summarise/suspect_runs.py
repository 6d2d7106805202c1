"""Suspect runs in the views of an evaluation: marked, and left out or let in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import duckdb

# The table `suspects` of archives that were measured before there was one.
NO_SUSPECTS: Final = """
    SELECT '' AS run_id, '' AS suspect_rule, 0.0::DOUBLE AS observed, 0.0::DOUBLE AS bound, '' AS bound_unit WHERE FALSE
"""


@contextmanager
def include_suspects(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let suspect runs count in all views of a connection meanwhile."""
    connection.execute("SET VARIABLE include_suspect = TRUE")
    try:
        yield
    finally:
        connection.execute("RESET VARIABLE include_suspect")


def mark_suspects(runs: str) -> str:
    """Return the query that adds `is_suspect` and `suspect_rules`, the rules that a run breaks, to a query of runs."""
    return f"""
        SELECT runs.*, suspect_rules IS NOT NULL AS is_suspect, suspect_rules
        FROM ({runs}) AS runs
        LEFT JOIN (
            SELECT run_id, string_agg(suspect_rule, ', ' ORDER BY suspect_rule) AS suspect_rules
            FROM suspects GROUP BY run_id
        ) USING (run_id)
    """


def leave_out_suspects(table: str, *, include_suspect: bool) -> str:
    """Return the query of marked runs in which suspect ones count only if they are included, here or in the session."""
    return f"""
        SELECT * REPLACE (
            is_counted AND (NOT is_suspect OR coalesce(getvariable('include_suspect'), {include_suspect})) AS is_counted
        )
        FROM {table}
    """
