"""Where a published number comes from, as text: which raw fields its runs' values are of, and the query over these."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ccreport.core.declarations import list_tables, name_query, read_query
from ccreport.core.tables import Column, load_schema
from ccreport.summarise.grids.plain_numbers import VALUE, find_quantity

# Tables whose columns runs have; what they do not have is looked for in all.
RATE: Final = "rate_bps"
OF_RUNS: Final = ("runs", "flows")
# Longer queries would bury the rest.
QUERY_AT_MOST: Final = 40


def describe_sources(values: Sequence[str], row: Mapping[str, Any]) -> list[str]:
    """Return lines on the declared columns among a row's values of runs: what each is, and what it is read from."""
    columns = dict.fromkeys(filter(None, (_name_column(name, row) for name in values)))
    lines = [f"  {column.name}: {column.description} Source: {column.source}." for column in _find_columns(columns)]
    return ["", "What a run's values are:", *lines] if lines else []


def _name_column(name: str, row: Mapping[str, Any]) -> str:
    """Return the column of runs that a value is of; for a rate or quantity that which the row says, if it says one."""
    if name == VALUE:
        return find_quantity(row)
    basis = row.get("rate_basis")
    return name if name != RATE else f"{basis}_bps" if basis else ""


def _find_columns(names: Mapping[str, None]) -> Iterator[Column]:
    known = {
        column.name: column for table in (*list_tables(), *reversed(OF_RUNS)) for column in load_schema(table).columns
    }
    yield from (known[name] for name in names if name in known)


def show_query(table: str, *, is_full: bool) -> list[str]:
    """Return lines on a table's query: its file and, unless it is long and the text is not full, the query itself."""
    query = read_query(table).strip().split("\n")
    if len(query) > QUERY_AT_MOST and not is_full:
        return [f"SQL: {name_query(table)} ({len(query)} lines, which --full prints)"]
    return [f"SQL: {name_query(table)}", *(f"  {line}".rstrip() for line in query)]
