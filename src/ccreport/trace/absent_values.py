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


def describe_absent_values(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """Return a line for each text that a query compares a column with, and that no row of its tables has there."""
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
                held = sorted(str(value) for (value,) in execute_parsed(connection, distinct).fetchall() if value)
                if wanted not in held:
                    lines.append(_describe(column["column_names"][-1], wanted, held))
    return list(dict.fromkeys(lines))


def _describe(name: str, wanted: str, held: list[str]) -> str:
    listed = ", ".join(map(quote_text, held)) if len(held) <= LISTED_AT_MOST else f"{len(held):,} others"
    meant = guess_near(wanted, held) or f"; there are {listed or 'none'}"
    return f"No row has {name} = {quote_text(wanted)}{meant}"


def _list_compared(node: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each column that a condition says is equal to a text, with that text; not those of queries within."""
    if isinstance(node, list):
        for item in node:
            yield from _list_compared(item)
    elif isinstance(node, dict) and node.get("class") != "SUBQUERY":
        compared = [node["left"], node["right"]] if node.get("type") == "COMPARE_EQUAL" else []
        compared = node["children"] if node.get("type") == "COMPARE_IN" else compared
        columns = [side for side in compared if side["class"] == "COLUMN_REF"]
        literals = [side["literal"] for side in compared if side["class"] == "CONSTANT"]
        if len(columns) == 1:
            yield from ((columns[0], literal["text"]) for literal in literals if literal["kind"] == "STRING")
        yield from _list_compared(list(node.values()))
