"""Conditions of which each is met by some rows and all together by none."""

from typing import Any, Final

import duckdb

from ccreport.trace.claims.checked_runs import execute_parsed, list_conjuncts, parse_query, write_condition

NO_OTHERS: Final = dict.fromkeys(("where_clause", "having", "qualify", "sample"))
NO_GROUPS: Final[dict[str, Any]] = {name: [] for name in ("modifiers", "group_expressions", "group_sets")}


def describe_joint(connection: duckdb.DuckDBPyConnection, part: dict[str, Any]) -> str:
    """Return which single conditions of a SELECT, left out, leave how many rows, where its WHERE leaves none; else "".

    Raise duckdb.Error for a SELECT that cannot be executed by itself, such as one over columns of an outer query.
    """
    conjuncts = list_conjuncts(part["where_clause"])
    if len(conjuncts) < 2 or _count(connection, part, conjuncts):
        return ""
    told = []
    for number, conjunct in enumerate(conjuncts):
        if count := _count(connection, part, [*conjuncts[:number], *conjuncts[number + 1 :]]):
            told.append(f"without `{write_condition(connection, part, conjunct)}` there are {count:,}")
    return f"No row meets all conditions; {', '.join(told) or 'nor is there one without any single condition'}"


def _count(connection: duckdb.DuckDBPyConnection, part: dict[str, Any], conjuncts: list[dict[str, Any]]) -> int:
    counted = parse_query(connection, "SELECT count(*) FROM runs")
    if counted is None:
        return 0
    where = {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "children": conjuncts}
    kept = where if len(conjuncts) > 1 else conjuncts[0]
    node = part | NO_OTHERS | NO_GROUPS | {"select_list": counted["select_list"], "where_clause": kept}
    rows: list[tuple[int]] = execute_parsed(connection, node).fetchall()
    return rows[0][0]
