"""Which row decides a check that asks for the least or the greatest of several: each is a cell or a group of runs."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

import duckdb

from ccreport.compare.intervals import GREATEST, LEAST
from ccreport.core.text import count_things
from ccreport.summarise.database import quote_name
from ccreport.summarise.grids.plain_numbers import name_column, round_value, show_plain
from ccreport.trace.select_rows import name_row

STAR: Final = {
    "class": "STAR",
    "type": "STAR",
    "alias": "",
    "relation_name": "",
    "exclude_list": [],
    "replace_list": [],
    "columns": False,
    "expr": None,
}


def describe_deciding(
    connection: duckdb.DuckDBPyConnection, parsed: Mapping[str, Any] | None, extreme: str, tables: Sequence[str]
) -> tuple[int, str]:
    """Return how many rows a check's query has, and which of them decide, in words.

    `parsed` is the query's syntax tree as DuckDB has it, None where that has none; `tables` are the published tables
    that it names. A row is named by what the query groups by, or by the published row with the same value.
    """
    rows = list(_list_rows(connection, parsed)) if parsed else []
    if not rows:
        return 0, ""
    least, greatest = (choose(rows, key=lambda row: row[0]) for choose in (min, max))
    chosen = {LEAST: {LEAST: least}, GREATEST: {GREATEST: greatest}}.get(extreme, {GREATEST: greatest, LEAST: least})
    counted = count_things(len(rows), "row")
    said = [
        f"the {which}{f', {show_plain(value)},' if len(chosen) > 1 else ''} of {counted}: {named}"
        for which, (value, labels) in chosen.items()
        if (named := labels or _find_published(connection, tables, value))
    ]
    return len(rows), "; ".join(said)


def _list_rows(connection: duckdb.DuckDBPyConnection, parsed: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    """Yield the value of each row that has one, and, in words, what the query knows of the row beside its result."""
    node = deepcopy(dict(parsed))
    results_count = len(node["select_list"])
    node["select_list"] += node.get("group_expressions") or [STAR]
    statement = json.dumps({"error": False, "statements": [{"node": node, "named_param_map": []}]})
    with contextlib.suppress(duckdb.Error):
        (sql,) = connection.execute("SELECT json_deserialize_sql(?::JSON)", [statement]).fetchall()[0]
        found = connection.execute(sql)
        names = [name for name, *_ in found.description or ()]
        for row in found.fetchall():
            results = [*row[:results_count]]
            if isinstance(results[0], dict):
                results = [*results[0].values()]
            value = dict(zip(names, row, strict=True)).get("value", results[0])
            told = [
                f"{name_column(name)} {round_value(name, cell)}"
                for name, cell in zip(names[results_count:], row[results_count:], strict=True)
                if cell is not None and not isinstance(cell, dict | list) and cell not in results
            ]
            if value is not None:
                yield float(value), ", ".join(told)


def _find_published(connection: duckdb.DuckDBPyConnection, tables: Sequence[str], value: float) -> str:
    """Return the one row of published tables that has this value, as `explain` takes it; nothing where several have."""
    found = [
        f'explain {table} --row "{name_row(table, row)}"'
        for table in tables
        for row in connection.sql(f"FROM {quote_name(table)}").pl().iter_rows(named=True)
        if any(isinstance(cell, float) and cell == value for cell in row.values())
    ]
    return found[0] if len(found) == 1 else ""
