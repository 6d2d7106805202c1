"""Values that a query asks for and no row has: why it finds nothing."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import duckdb

from ccreport.core.algorithms import FIRST_BBR, name_algorithm
from ccreport.core.schema_problems import guess_near
from ccreport.summarise.database import quote_text
from ccreport.summarise.open_database import fetch_rows
from ccreport.trace.claims.checked_runs import list_selects, parse_query, write_parsed
from ccreport.trace.queries.joint_conditions import NO_GROUPS, NO_OTHERS, describe_joint

# Of more values a list helps nobody.
LISTED_AT_MOST: Final = 12
# Kinds of literals, as a syntax tree of DuckDB has them.
NUMBERS: Final = ("INTEGER", "NUMERIC")
EQUAL: Final = {"class": "COMPARISON", "type": "COMPARE_EQUAL", "alias": ""}
SIGNS: Final = {
    "COMPARE_EQUAL": "=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
# What is meant by comparing with NULL, which no row meets.
NULLS: Final = {"COMPARE_EQUAL": ("=", "IS NULL"), "COMPARE_NOTEQUAL": ("<>", "IS NOT NULL")}
# Columns with the kernel's name of an algorithm and with the evaluation's.
CALLED: Final = ("cc", "algorithm")
# What DuckDB calls them.
LIKE: Final = {"~~": "LIKE", "~~*": "ILIKE"}


def describe_absent_values(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """Return a line for each text or number that a query wants a column to have, and no row of its tables has there.

    If every value exists but no row meets all conditions, a line says which conditions, left out, would leave rows.
    A comparison with NULL, which no row meets, has a line too.
    """
    parsed = parse_query(connection, query)
    lines = []
    for part in list_selects(parsed):
        absent = [*_list_nulls(part["where_clause"]), *_list_absent(connection, part)]
        # A column of an outer query is not one of its own tables.
        with contextlib.suppress(duckdb.Error):
            lines += absent or [describe_joint(connection, part)]
    return list(dict.fromkeys(filter(None, lines)))


def _list_absent(connection: duckdb.DuckDBPyConnection, part: dict[str, Any]) -> Iterator[str]:
    for condition, column, sign, wanted in _list_conditions(part["where_clause"]):
        distinct = (
            part
            | NO_OTHERS
            | NO_GROUPS
            | {
                "select_list": [column | {"alias": ""}],
                "modifiers": [{"type": "DISTINCT_MODIFIER", "distinct_on_targets": []}],
            }
        )
        # A column of an outer query is not one of its own tables.
        with contextlib.suppress(duckdb.Error):
            if not fetch_rows(connection, write_parsed(connection, distinct | {"where_clause": condition}))[1]:
                _, rows = fetch_rows(connection, write_parsed(connection, distinct))
                held = [value for (value,) in rows if value is not None]
                name = column["column_names"][-1]
                called = _name_called(connection, name, str(wanted))
                yield (
                    f"No row has {name} {sign} {quote_text(str(wanted))}{called}"
                    if called
                    else _describe(f"{name} {sign}", wanted, held)
                )


def _list_nulls(node: Any) -> Iterator[str]:
    """Yield what to write instead of each comparison of a column with NULL, of a condition."""
    if isinstance(node, list):
        for item in node:
            yield from _list_nulls(item)
    elif isinstance(node, dict) and node.get("class") != "SUBQUERY":
        if (meant := NULLS.get(str(node.get("type")))) and node["left"]["class"] == "COLUMN_REF":
            column, literal = node["left"]["column_names"][-1], node["right"].get("literal", {})
            if literal.get("kind") == "NULL_LITERAL":
                yield f"No row has {column} {meant[0]} NULL; write {column} {meant[1]}"
        yield from _list_nulls(list(node.values()))


def _name_called(connection: duckdb.DuckDBPyConnection, column: str, wanted: str) -> str:
    """Return what an algorithm is called in a column where it is asked for by another of its names, as BBRv2."""
    if column not in CALLED:
        return ""
    calls = "SELECT DISTINCT cc, algorithm FROM algorithm_runs WHERE cc IS NOT NULL ORDER BY ALL"
    pairs = connection.execute(calls).fetchall()
    own, other = (0, 1) if column == "cc" else (1, 0)
    known = name_algorithm(wanted)
    kernels = FIRST_BBR if known in FIRST_BBR else {known}
    meant = [pair for pair in pairs if pair[other] == wanted] or [pair for pair in pairs if pair[0] in kernels]
    names = dict.fromkeys(quote_text(pair[own]) for pair in meant)
    told = ", ".join(f"{cc} {algorithm}" for cc, algorithm in meant)
    return f"; the evaluation calls {told}: write {column} = {' or '.join(names)}" if meant else ""


def _describe(compared: str, wanted: str | float, held: list[Any]) -> str:
    if isinstance(wanted, str):
        told, texts = quote_text(wanted), sorted(map(str, filter(None, held)))
        near, listed = guess_near(wanted.strip("%"), texts), [*map(quote_text, texts)]
    else:
        told, near, listed = f"{wanted:g}", "", [f"{value:g}" for value in sorted(held)]
    several = ", ".join(listed or ["none"])
    if len(listed) > LISTED_AT_MOST:
        several = f"{len(listed):,} others" + ("" if isinstance(wanted, str) else f", from {listed[0]} to {listed[-1]}")
    return f"No row has {compared} {told}{near or f'; there are {several}'}"


def _list_conditions(node: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any], str, str | float]]:
    """Yield each part of a condition that compares a column with a text or number, with these and the sign between.

    Those of queries within are left out.
    """
    if isinstance(node, list):
        for item in node:
            yield from _list_conditions(item)
    elif isinstance(node, dict) and node.get("class") != "SUBQUERY":
        for sign, left, right in _list_compared(node):
            column, constant = (right, left) if sign == "=" and right["class"] == "COLUMN_REF" else (left, right)
            if (column["class"], constant["class"]) == ("COLUMN_REF", "CONSTANT"):
                literal, condition = constant["literal"], node
                if node["type"] == "COMPARE_IN":
                    condition = EQUAL | {"left": column, "right": constant}
                if literal["kind"] == "STRING":
                    yield condition, column, sign, literal["text"]
                elif literal["kind"] in NUMBERS:
                    yield condition, column, sign, float(literal["text"])
        yield from _list_conditions(list(node.values()))


def _list_compared(node: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the sign of a comparison and what is on either side of it; of IN a comparison with each item."""
    kind = node.get("type")
    if sign := SIGNS.get(str(kind)):
        return [(sign, node["left"], node["right"])]
    if kind == "COMPARE_IN":
        return [("=", node["children"][0], item) for item in node["children"][1:]]
    if kind == "COMPARE_BETWEEN" and node["lower"]["class"] == "CONSTANT":
        least = node["lower"]["literal"]
        told = quote_text(least["text"]) if least["kind"] == "STRING" else least["text"]
        return [(f"BETWEEN {told} AND", node["input"], node["upper"])]
    if word := LIKE.get(node.get("function_name", "")):
        left, right = (argument.get("expression", argument) for argument in node.get("arguments") or node["children"])
        return [(word, left, right)]
    return []
