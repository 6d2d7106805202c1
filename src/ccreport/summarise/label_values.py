"""Values that an evaluation's SQL compares labels with: one that no run can have is a mistake (`distance = 'farr'`)."""

import contextlib
import itertools
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import duckdb

from ccreport.core.algorithms import KNOWN, name_algorithm
from ccreport.core.declared_files import DeclarationError, blame
from ccreport.core.evaluation import load_evaluation
from ccreport.core.schema_problems import Place, find_near, format_place, guess, guess_near
from ccreport.core.tables import load_schema
from ccreport.core.units import name_buckets
from ccreport.summarise.database import DEFAULT_LABELS, connect, has_rows, quote_name
from ccreport.summarise.loss_patterns import LOSS_PATTERN, PATTERNS
from ccreport.summarise.refused_sql import TOKEN
from ccreport.summarise.table_sources import select_source

# Keys of an evaluation whose texts are SQL.
SQL_KEYS: Final = frozenset({"when", "otherwise", "where", "sql", "condition", "completion_bytes", "line_rate"})
# What names algorithms: as kernels do, or as tables do.
ALGORITHM_COLUMNS: Final = frozenset({"cc", "cc_list", "algorithm"})
# Of more values a list helps nobody.
LISTED_AT_MOST: Final = 12
COMPARISONS: Final = frozenset(
    {
        *("COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_IN", "COMPARE_NOT_IN"),
        *("COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM"),
    }
)
ORDERS: Final = frozenset(
    f"COMPARE_{order}" for order in ("LESSTHAN", "GREATERTHAN", "LESSTHANOREQUALTO", "GREATERTHANOREQUALTO")
)
NUMBERS: Final = ("int", "float")
# `mode` is the algorithm of a run that has one alone, or this; `sharing` is this or that.
MODE: Final = "mode"
BOTH: Final = "both"
ALONE: Final = "alone"
DIGITS: Final = re.compile(r"\d+")


def check_label_values(connection: duckdb.DuckDBPyConnection, evaluation: Path) -> None:
    """Raise DeclarationError for the first value that a label of an evaluation, or a column of `runs`, cannot have.

    Published cells and the filters of claims are checked likewise, and texts that a column of numbers is compared with.
    So for an algorithm in other letters than its column has: `Cubic`, or the kernel's `cubic` for the tables' CUBIC;
    for a mode that is nearly `both`; and for a published cell whose algorithm is nearly a declared one.
    `connection` is to any database. Labels whose value comes from an expression may have any, and so may `cc`.
    """
    declared = load_evaluation(evaluation)
    known = list_values(connection, declared)
    trees = [(place, _parse(connection, text)) for place, text in _list_sql(declared)]
    compared = ((place, *pair) for place, tree in trees for pair in _list_compared(tree))
    for place, label, value in itertools.chain(compared, _list_filters(declared), _list_published(declared)):
        if label in known:
            hint = "" if value in known[label] else guess(value, known[label])
        else:
            meant = _find_meant(label, value, declared["algorithms"], is_published=place[0] == "published")
            hint = f"; did you mean `{meant}`?" if meant else ""
        if hint:
            problem = f"{format_place(place, declared)}: no run has {label} = '{value}'{hint}"
            raise blame(evaluation, DeclarationError(problem, place, TOKEN.findall(value)))
    numbers = {column.name for column in load_schema("runs").columns if column.type in NUMBERS}
    for place, tree in trees:
        for column, value in _list_compared(tree, COMPARISONS | ORDERS):
            if column in numbers and not _is_number(value):
                problem = f"{format_place(place, declared)}: `{column}` holds numbers, and '{value}' is not a number"
                raise blame(evaluation, DeclarationError(problem, place, TOKEN.findall(value)))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _find_meant(column: str, value: str, groups: Mapping[str, Any], *, is_published: bool) -> str | None:
    """Return what is meant by a value that no algorithm or mode can have; None where one may, or for other columns."""
    if column not in {*ALGORITHM_COLUMNS, MODE}:
        return None
    known = _list_algorithms("cc" if column == MODE else column, groups)
    if column == MODE and value not in {*known, BOTH}:
        if value == ALONE:
            return f"sharing = '{ALONE}'"
        if find_near(value, [BOTH, *known]) == BOTH:
            return BOTH
    if is_published and column == "algorithm" and value not in known:
        # BBR9 may be another one.
        alike = [group for group in groups if DIGITS.findall(group) == DIGITS.findall(value)]
        return _respell_algorithm(column, value, groups) or find_near(value, alike)
    return _respell_algorithm(column, value, groups)


def _list_algorithms(column: str, groups: Mapping[str, Any]) -> list[str]:
    """Return the names of declared and known algorithms in a column.

    In tables an algorithm has the name of its group, or the kernel's where a group has several members or none has it.
    """
    members = [member for facts in groups.values() for member in facts["members"]]
    if column != "algorithm":
        return [*members, *KNOWN]
    others = [member for facts in groups.values() for member in facts["members"][1:]]
    return [*groups, *others, *(cc for cc in KNOWN if cc not in members)]


def _respell_algorithm(column: str, value: str, groups: Mapping[str, Any]) -> str | None:
    """Return the name that an algorithm of a column has where a value differs from it in letters alone, else None."""
    known = _list_algorithms(column, groups)
    grouped = {facts["members"][0]: group for group, facts in groups.items()}
    for part in value.split(",") if column == "cc_list" else [value]:
        if part not in known:
            near = next((name for name in known if name.lower() == part.lower()), None)
            kernel = name_algorithm(part)
            meant = near or (grouped.get(kernel or "", kernel) if column == "algorithm" else kernel)
            if meant in known:
                return meant
    return None


def list_unmet(database: Path, evaluation: Path) -> Iterator[DeclarationError]:
    """Yield what to say of each text that an evaluation's SQL compares a column with and no run has, but nearly.

    So of the texts that a claim's link to the explorer filters by.
    Of `mode`, which is `both` or an algorithm, also what is like none of them, and so of every column in the condition
    of a table that no run meets, as it is now. Elsewhere declared algorithms may be absent. Of `cc` and `cc_list` they
    are the kernel's names, the members of groups, and of `algorithm` the groups' names.
    """
    with connect(database) as connection:
        yield from list_unmet_texts(connection, evaluation)


def list_unmet_texts(connection: duckdb.DuckDBPyConnection, evaluation: Path) -> Iterator[DeclarationError]:
    """Yield what `list_unmet` does; of tables without rows only what is nearly the name of an algorithm, or `both`."""
    declared = load_evaluation(evaluation)
    groups: Mapping[str, Any] = declared["algorithms"]
    members = {member for facts in groups.values() for member in facts["members"]}
    absent = {*members, BOTH}
    columns = {name for name, kind, *_ in connection.sql("DESCRIBE labelled_runs").fetchall() if kind == "VARCHAR"}
    columns -= {*list_values(connection, declared), *ALGORITHM_COLUMNS}
    names = {
        "cc": {*members},
        "algorithm": {*groups},
    }
    for cc, algorithm in connection.execute("SELECT cc, algorithm FROM algorithms").fetchall():
        names["cc"].add(cc)
        names["algorithm"].add(algorithm)

    has_runs = has_rows(connection, "labelled_runs")
    suggest = guess if has_runs else guess_near

    @cache
    def list_held(column: str) -> frozenset[str]:
        if not has_runs:
            return frozenset(absent if column == MODE else ())
        view = "algorithm_runs" if column in ALGORITHM_COLUMNS else "labelled_runs"
        rows = connection.table(view).select(quote_name(column)).distinct().fetchall()
        return frozenset(text for (text,) in rows if text is not None)

    @cache
    def is_empty(place: Place) -> bool:
        if not has_runs or len(place) != 3 or (place[0], place[2]) != ("tables", "where"):
            return False
        # A label that was declared after the database was built is not in it.
        with contextlib.suppress(duckdb.Error):
            return not connection.sql(select_source(str(place[1]), declared)).limit(1).count("*").fetchall()[0][0]
        return False

    compared = [
        (place, *pair) for place, text in _list_sql(declared) for pair in _list_compared(_parse(connection, text))
    ]
    # A path of 20 ms is not a misspelt one of 10 ms.
    printed = (cell for cell in _list_published(declared) if not any(map(str.isdigit, cell[2])))
    for place, column, value in [*compared, *_list_filters(declared), *printed]:
        is_algorithm = column in ALGORITHM_COLUMNS
        is_declared = value in absent or (value in groups and column != MODE)
        if not is_algorithm and (column not in columns or is_declared):
            continue
        hint = _guess_algorithm(column, value, names, suggest) if is_algorithm else ""
        if not hint and value not in (held := list_held(column)):
            hint = guess_near(value, held) if not is_algorithm and (has_runs or value not in KNOWN) else ""
            if not hint and (is_empty(place) or (has_runs and column == MODE)):
                hint = guess(value, held) if len(held) <= LISTED_AT_MOST else f"; there are {len(held):,} others"
        if hint:
            problem = f"{format_place(place, declared)}: no run has {column} = '{value}'{hint}"
            yield blame(evaluation, DeclarationError(problem, place, TOKEN.findall(value)))


def _guess_algorithm(
    column: str, value: str, names: Mapping[str, Collection[str]], suggest: Callable[[str, Iterable[str]], str]
) -> str:
    """Return what to put behind an algorithm's name that no run can have; nothing where one may have it.

    `names` are those of `cc` and of `algorithm`, of which `suggest` names what is meant. Other algorithms of
    Linux may be absent, but not in other letters.
    """
    kind = "algorithm" if column == "algorithm" else "cc"
    parts = value.split(",") if column == "cc_list" else [value]
    others = {*names["cc"], *names["algorithm"]} - {*names[kind]}
    for part in parts:
        if part in ("", "unknown") or part in names[kind] or (part in KNOWN and part not in others):
            continue
        meant = name_algorithm(part)
        return f"; did you mean `{meant}`?" if meant in names[kind] else suggest(part, names[kind])
    return ""


def list_values(connection: duckdb.DuckDBPyConnection, declared: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return all values that labels can have, and those columns of `runs` that have few, by name."""
    known = {column.name: set(column.enum) for column in load_schema("runs").columns if column.enum}
    known |= {label: {value} for label, value in DEFAULT_LABELS.items()} | {LOSS_PATTERN: set(PATTERNS)}
    known |= {"sharing": {ALONE, BOTH}, "rtt_bucket": set(name_buckets(declared["rtt_bucket_edges_ms"]))}
    for label, facts in declared["labels"].items():
        others = _list_results(_parse(connection, facts["otherwise"]))
        if others is None:
            known.pop(label, None)
        else:
            known[label] = {case["value"] for case in facts["cases"]} | others
    return known


def _list_sql(declared: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield place and text of each condition, expression and query below a place of an evaluation."""
    items = (
        declared.items() if isinstance(declared, dict) else enumerate(declared) if isinstance(declared, list) else ()
    )
    for key, value in items:
        if isinstance(value, str) and key in SQL_KEYS:
            yield (*place, key), value
        else:
            yield from _list_sql(value, (*place, key))


def _list_filters(declared: Mapping[str, Any]) -> Iterator[tuple[Place, str, str]]:
    """Yield place, column and text of the explorer's filters by which claims find the runs behind them."""
    for claim, facts in declared["claims"].items():
        for column in ("cc", MODE):
            if value := facts["explorer"].get(column):
                yield ("claims", claim, "explorer", column), column, value


def _list_published(declared: Mapping[str, Any]) -> Iterator[tuple[Place, str, str]]:
    """Yield place, column and text of each text that names a published cell."""
    for exhibit, facts in declared["published"].items():
        for number, cell in enumerate(facts["cells"]):
            for column, value in zip(facts["columns"], cell[:-1], strict=True):
                if isinstance(value, str):
                    yield ("published", exhibit, "cells", number), column, value


def _parse(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    """Return the syntax tree of an expression or a query, as DuckDB has it; without nodes where it is no SQL."""
    (tree,) = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT (\n{text}\n)"]).fetchall()[0]
    parsed = json.loads(tree)
    return None if parsed["error"] else parsed["statements"][0]["node"]["select_list"][0]


def _list_results(node: Any) -> set[str] | None:
    """Return the texts that an expression can result in, where it is made of nothing else; None for any other."""
    if not isinstance(node, dict):
        return None
    if node["class"] == "CASE":
        parts = [_list_results(check["then_expr"]) for check in node["case_checks"]] + [
            _list_results(node["else_expr"])
        ]
        return None if None in parts else {text for part in parts if part for text in part}
    if node["class"] != "CONSTANT":
        return None
    return {value} if (value := _read_text(node)) is not None else set()


def _list_compared(node: Any, kinds: Collection[str] = COMPARISONS) -> Iterator[tuple[str, str]]:
    """Yield the name of each column that a syntax tree compares with a text in one of these ways, and the text."""
    if isinstance(node, list):
        for item in node:
            yield from _list_compared(item, kinds)
    if not isinstance(node, dict):
        return
    if node.get("type") in kinds:
        operands = node.get("children") or [node["left"], node["right"]]
        columns = [operand["column_names"][-1].lower() for operand in operands if operand["class"] == "COLUMN_REF"]
        texts = [_read_text(operand) for operand in operands if operand["class"] == "CONSTANT"]
        yield from ((column, text) for column in columns for text in texts if text is not None)
    for item in node.values():
        yield from _list_compared(item, kinds)


def _read_text(node: Mapping[str, Any]) -> str | None:
    literal = node.get("literal") or {}
    return literal["text"] if literal.get("kind") == "STRING" else None
