"""The name that each algorithm of an archive has in tables, and its place in their order."""

from collections.abc import Mapping
from typing import Any

import duckdb


def name_algorithms(held: list[str], groups: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Return (cc, name in tables, rank) for each algorithm that an archive holds.

    The first member held of a group goes by the group's name, others keep their own and come after all groups.
    """
    named = {}
    for rank, (group, facts) in enumerate(groups.items()):
        first = next((member for member in facts["members"] if member in held), None)
        if first is not None:
            named[first] = (group, rank)
    others = {cc: (cc, len(groups) + number) for number, cc in enumerate(cc for cc in held if cc not in named)}
    return [(cc, *(named | others)[cc]) for cc in held]


def create_algorithms(connection: duckdb.DuckDBPyConnection, groups: Mapping[str, Any]) -> None:
    """Create the table `algorithms`: cc, algorithm (the name in tables), algorithm_rank."""
    # Flows of an unknown algorithm are in the tables as unknown, not left out.
    held = connection.execute(
        """SELECT DISTINCT coalesce(cc, 'unknown') FROM (SELECT cc FROM flows UNION ALL SELECT cc FROM harness_results
        UNION ALL SELECT DISTINCT cc FROM connections UNION ALL SELECT DISTINCT cc FROM web_requests
        UNION ALL SELECT DISTINCT cc FROM machine_counters UNION ALL SELECT DISTINCT cc FROM rpc_tests)"""
    )
    names = name_algorithms(sorted(cc for (cc,) in held.fetchall()), groups)
    connection.execute("CREATE TABLE algorithms (cc VARCHAR, algorithm VARCHAR, algorithm_rank INTEGER)")
    for row in names:
        connection.execute("INSERT INTO algorithms VALUES (?, ?, ?)", row)
