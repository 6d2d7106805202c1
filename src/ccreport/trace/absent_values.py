"""Values that a query asks for and no row has: why it finds nothing."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import duckdb

from ccreport.core.schema_problems import guess_near
from ccreport.summarise.database import quote_text
from ccreport.trace.claims.checked_runs import execute_parsed, list_selects, parse_query

# Of more values a list helps nobody.
LISTED_AT_MOST: Final = 12
# Kinds of literals, as a syntax tree of DuckDB has them.
NUMBERS: Final = ("INTEGER", "NUMERIC")


def describe_absent_values(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """Return a line for each text or number that a query wants a column to have, and no row of its tables has there."""
    parsed = parse_query(connection, query)
    lines = []
    for part in list_selects(parsed):
        for column, wanted in _list_compared(part["where_clause"]):
            distinct = part | {
                "select_list": [column | {"alias": ""}],
                "modifiers": [{"type": "DISTINCT_MODIFIER", "distinct_on_targets": []}],
                **dict.fromkeys(("where_clause", "having", "qualify", "sample")),
                **{name: [] for name in ("group_expressions", "group_sets")},
            }
            # A column of an outer query is not one of its own tables.
            with contextlib.suppress(duckdb.Error):
                held = [value for (value,) in execute_parsed(connection, distinct).fetchall() if value is not None]
                if not _has(held, wanted):
                    lines.append(_describe(column["column_names"][-1], wanted, held))
    return list(dict.fromkeys(lines))


def _has(held: list[Any], wanted: str | float) -> bool:
    """Tell whether a value is among those of a column; where DuckDB converts one, as their kinds differ, always."""
    is_text = isinstance(wanted, str)
    kinds = (int, float) if is_text else str
    if any(isinstance(value, kinds) for value in held):
        return True
    return wanted in (map(str, held) if is_text else held)


def _describe(name: str, wanted: str | float, held: list[Any]) -> str:
    if isinstance(wanted, str):
        told, texts = quote_text(wanted), sorted(map(str, filter(None, held)))
        near, listed = guess_near(wanted, texts), [*map(quote_text, texts)]
    else:
        told, near, listed = f"{wanted:g}", "", [f"{value:g}" for value in sorted(held)]
    several = ", ".join(listed or ["none"])
    if len(listed) > LISTED_AT_MOST:
        several = f"{len(listed):,} others" + ("" if isinstance(wanted, str) else f", from {listed[0]} to {listed[-1]}")
    return f"No row has {name} = {told}{near or f'; there are {several}'}"


def _list_compared(node: Any) -> Iterator[tuple[dict[str, Any], str | float]]:
    """Yield each column that a condition says is equal to a text or number, with it; not those of queries within."""
    if isinstance(node, list):
        for item in node:
            yield from _list_compared(item)
    elif isinstance(node, dict) and node.get("class") != "SUBQUERY":
        compared = [node["left"], node["right"]] if node.get("type") == "COMPARE_EQUAL" else []
        compared = node["children"] if node.get("type") == "COMPARE_IN" else compared
        columns = [side for side in compared if side["class"] == "COLUMN_REF"]
        literals = [side["literal"] for side in compared if side["class"] == "CONSTANT"]
        if len(columns) == 1:
            for literal in literals:
                if literal["kind"] == "STRING":
                    yield columns[0], literal["text"]
                elif literal["kind"] in NUMBERS:
                    yield columns[0], float(literal["text"])
        yield from _list_compared(list(node.values()))
