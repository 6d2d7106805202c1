"""Where a published number comes from, as text: which raw fields its runs' values are of, and the query over these."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ccreport.core.declarations import QUERIES, list_tables, name_query, read_query
from ccreport.core.evaluation import CLAIMS
from ccreport.core.tables import Column, load_schema
from ccreport.summarise.grids.plain_numbers import VALUE, find_quantity, is_repeated
from ccreport.summarise.grids.shown_columns import find_ends
from ccreport.trace.origins.own_values import OWN

# Tables whose columns runs have; what they do not have is looked for in all.
RATE: Final = "rate_bps"
OF_RUNS: Final = ("runs", "flows")
# Longer queries would bury the rest.
QUERY_AT_MOST: Final = 40
# Files of macros, and how one begins there.
MACROS: Final = ("macros", "fairness", CLAIMS)
MACRO: Final = re.compile(r"^CREATE (?:TEMP )?MACRO (\w+)", re.MULTILINE)
COMMENT: Final = re.compile(r"--.*")


def describe_sources(table: str, values: Sequence[str], row: Mapping[str, Any]) -> list[str]:
    """Return lines on the values of the runs of a table's row: what each is, and what it is read from.

    Nothing is said of one that has no column, but what its own table says.
    """
    own = OWN.get(table, {})
    columns = dict.fromkeys(_name_column(name, row) for name in values if name not in own)
    meanings = {name: own[name] for name in values if name in own}
    meanings |= {column.name: (column.description, column.source) for column in _find_columns(columns)}
    lines = [f"  {name}: {description} Source: {source}." for name, (description, source) in meanings.items()]
    return ["", "What a run's values are:", *lines] if lines else []


def describe_numbers(table: str, row: Mapping[str, Any]) -> list[str]:
    """Return lines on what the numbers of a row are that is shown; ends of intervals are not told by themselves."""
    schema = load_schema(table)
    ends = {end for pair in find_ends(row).values() for end in pair}
    told = [
        f"  {column.name}: {column.description}"
        for column in schema.columns
        if column.name not in {*schema.key, *ends}
        and isinstance(row.get(column.name), int | float)
        and not is_repeated(row, column.name)
    ]
    return ["", "What the row's numbers are:", *told] if told else []


def _name_column(name: str, row: Mapping[str, Any]) -> str:
    """Return the column of runs that a value is of; for a rate or quantity that which the row says, if it says one."""
    if name == VALUE:
        return find_quantity(row)
    basis = row.get("rate_basis")
    return name if name != RATE else f"{basis}_bps" if basis else ""


def _find_columns(names: Mapping[str, None]) -> Iterator[Column]:
    # What a published table has of several runs is not what one run has.
    tables = (*(table for table in list_tables() if table not in QUERIES), *reversed(OF_RUNS))
    known = {column.name: column for table in tables for column in load_schema(table).columns}
    yield from (known[name] for name in names if name in known)


def show_query(table: str, *, is_full: bool) -> list[str]:
    """Return lines on a table's query: its file and, unless it is long and the text is not full, the query itself."""
    query = read_query(table)
    return [*show_text(f"SQL: {name_query(table)}", query, is_full=is_full), *name_macros(query)]


def show_text(where: str, query: str, *, is_full: bool) -> list[str]:
    """Return a line on where a query is, and its own lines, unless it is long and the text is not full."""
    lines = query.strip().split("\n")
    if len(lines) > QUERY_AT_MOST and not is_full:
        return [f"{where} ({len(lines)} lines, which --full prints)"]
    return [where, *(f"  {line}".rstrip() for line in lines)]


def name_macros(query: str) -> list[str]:
    """Return a line for each file of macros that a query uses: which, and where they are."""
    lines = []
    for file in MACROS:
        own = dict.fromkeys(re.findall(rf"\b({'|'.join(MACRO.findall(read_query(file)))})\(", COMMENT.sub("", query)))
        if own:
            lines.append(f"Macros: {', '.join(own)} ({name_query(file)})")
    return lines
