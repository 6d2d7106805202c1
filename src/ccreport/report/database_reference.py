"""The reference of `archive.duckdb`: its views with their columns, and what each query needs of an evaluation."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import duckdb

from ccreport.core.declarations import SCHEMAS, list_tables, load_yaml
from ccreport.core.evaluation import list_queries
from ccreport.core.tables import load_schema
from ccreport.core.text import make_label
from ccreport.report.markup.blocks import (
    NONE,
    Html,
    close_fold,
    markdown,
    open_fold,
    prose,
    render_table,
    verbatim,
)
from ccreport.summarise.view_columns import Needs, describe_columns, find_needs, list_view_columns

COLUMNS: Final = ("Column", "Type", "Meaning")
QUERIES: Final = ("Query", "What it gives", "Labels", "Needs the tables")


def render_views(connection: duckdb.DuckDBPyConnection) -> str:
    """Return one closed part for each view, with the columns that it adds to what it is made of."""
    declared = load_yaml(SCHEMAS / "views.yaml")
    tables = {table: dict.fromkeys(load_schema(table).polars, "") for table in list_tables()}
    views = list_view_columns(connection)
    sections = []
    for view, facts in declared["views"].items():
        base: Mapping[str, str] = (tables | views)[facts["of"]] if "of" in facts else {}
        own = facts.get("columns", {})
        added = {column: kind for column, kind in views[view].items() if column not in base or column in own}
        left_out = [column for column in base if column not in views[view]]
        sections.append(_render_view(view, facts, added, left_out, describe_columns(view)))
    return "\n".join([open_fold(f"{len(sections)} views"), *sections, close_fold()])


def _render_view(
    view: str, facts: Mapping[str, Any], added: Mapping[str, str], left_out: list[str], meanings: Mapping[str, str]
) -> str:
    base = ""
    if "of" in facts:
        but = f" but {_join(left_out)}" if left_out else ""
        base = f" It has all columns of `{facts['of']}`{but}, and these:"
    rows = [[verbatim(column), verbatim(kind), prose(meanings[column])] for column, kind in added.items()]
    table = render_table(COLUMNS, rows, title=f"Columns of {view}") if rows else ""
    summary = f"{len(rows)} column{'' if len(rows) == 1 else 's'}{' more' if 'of' in facts else ''}"
    said = f"{markdown(facts['description'])} A row is {markdown(facts['grain'])}."
    return f"{open_fold(f'{view}: {summary}')}\n\n{said}{markdown(base)}\n\n{table}\n{close_fold()}\n"


def render_queries(connection: duckdb.DuckDBPyConnection) -> str:
    """Return a table of all queries that an evaluation can publish, with what it has to declare for each."""
    rows = [_make_row(query, find_needs(connection, query)) for query in list_queries()]
    table = render_table(QUERIES, rows, title="Queries, and what they need")
    return f"{open_fold(f'{len(rows)} queries')}\n{table}\n{close_fold()}\n"


def _make_row(query: str, needs: Needs) -> list[Html]:
    return [
        Html(f'<a href="dictionary.html#{make_label("table", query)}">{verbatim(query)}</a>'),
        prose(load_schema(query).description),
        prose(_join(needs.labels)) if needs.labels else NONE,
        prose(_join(needs.tables)) if needs.tables else NONE,
    ]


def _join(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
