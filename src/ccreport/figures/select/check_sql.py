"""SQL of an evaluation, tried on tables without rows: what the database refuses is said before any raw file is read."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from ccreport.core.declared_files import blame
from ccreport.core.evaluation import MEANS, load_evaluation
from ccreport.core.schema_problems import Place, format_place
from ccreport.figures.select.declaration import (
    EDGE_VIEWS,
    TABLES_OF_KINDS,
    FigureDeclaration,
    FigureError,
    choose_view,
    declare_figure,
    refuse_where,
)
from ccreport.figures.select.table_cells import find_table_fault, select_cells
from ccreport.summarise.database import quote_name
from ccreport.summarise.refused_sql import refuse_list, refuse_sql
from ccreport.summarise.table_sources import list_own_labels


def check_sql(connection: duckdb.DuckDBPyConnection, evaluation: Path) -> None:
    """Raise DeclarationError for the first condition of a figure, of paths or rates, that the database refuses.

    So for a figure that has a key which its kind does not take, or a table that it cannot draw.

    `connection` is what `open_without_rows` opens, which tries the labels and the tables' conditions.
    Conditions of figures over tables of edge networks are left to those who draw them.
    """
    declared = load_evaluation(evaluation)
    try:
        for figure, facts in declared["figures"].items():
            _refuse_table(declare_figure(figure, facts), declared["tables"])
    except FigureError as error:
        raise blame(evaluation, error) from error
    for place, condition in _list_others(declared):
        try:
            refuse_list(connection, condition)
        except duckdb.Error as error:
            refused = refuse_sql(error, place, f"{format_place(place)}: the database refuses it", condition)
            raise blame(evaluation, refused) from error
    for place, text, query in _list_published(declared):
        try:
            _try(connection, query, text)
        except duckdb.Error as error:
            raise blame(evaluation, refuse_sql(error, place, format_place(place), text)) from error
    for figure, place, condition, query in _list_queries(declared):
        try:
            _try(connection, query, condition)
        except duckdb.Error as error:
            facts = declared["figures"][figure]
            view = choose_view(facts["kind"], facts.get("table", ""))
            refused = refuse_where(figure, error, condition, f"`{place[-1]}`", place, view)
            raise blame(evaluation, refused) from error


def _try(connection: duckdb.DuckDBPyConnection, query: str, condition: str) -> None:
    connection.sql(query)
    refuse_list(connection, condition or "TRUE")


def _list_others(declared: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield the conditions of labels and tables, which the database has been opened with, by their places."""
    for label, facts in declared["labels"].items():
        yield from ((("labels", label, "cases", n, "when"), case["when"]) for n, case in enumerate(facts["cases"]))
    yield from ((("tables", table, "where"), facts["where"]) for table, facts in declared["tables"].items())


def _list_published(declared: Mapping[str, Any]) -> Iterator[tuple[Place, str, str]]:
    """Yield the place of each text of SQL about what a publication has, the text, and the query that tries it."""
    for column, condition in declared["published_paths"].items():
        yield ("published_paths", column), condition, f"FROM labelled_runs WHERE (\n{condition}\n)"
    for table, facts in declared["reproduction"].items():
        rate = facts["line_rate"]
        query = f"FROM {quote_name(f'{table}_runs')} WHERE (\n{rate}\n)::DOUBLE > 0"
        yield ("reproduction", table, "line_rate"), rate, query


def _refuse_table(figure: FigureDeclaration, tables: Mapping[str, Any]) -> None:
    """Raise FigureError where a figure's table is not declared, or cannot be drawn; `tables` are those declared."""
    needed, key, fault = TABLES_OF_KINDS.get(figure.kind), "kind", None
    if needed is not None and needed not in tables:
        fault = f"the kind {figure.kind!r} draws a table; declare `{needed}: {{title: …}}` in `tables`"
    elif figure.table:
        key, fault = "table", find_table_fault(figure.table, tables)
    if fault:
        raise FigureError(f"figure {figure.name!r}: {fault}", ("figures", figure.name, key))


def _list_queries(declared: Mapping[str, Any]) -> Iterator[tuple[str, Place, str, str]]:
    """Yield the name of each figure, the place in it of what is tried, that condition, and the query that tries it."""
    for figure, facts in declared["figures"].items():
        # They draw rows of tables that only their queries make.
        if facts["kind"] in EDGE_VIEWS:
            continue
        view = quote_name(choose_view(facts["kind"], table := facts.get("table", "")))
        if table == MEANS:
            view = f"({select_cells(table, list_own_labels(declared['tables'][table], declared['labels']))})"
        panels = [
            (("panels", number, "where"), facts["where"], panel.get("where", "TRUE"))
            for number, panel in enumerate(facts.get("panels", ()))
        ]
        for place, among, condition in [(("where",), "TRUE", facts["where"]), *panels]:
            runs = f"WITH figure_runs AS (FROM {view} WHERE (\n{among}\n))"
            yield figure, place, condition, f"{runs} FROM figure_runs WHERE (\n{condition}\n)"
        if facts.get("panels_by"):
            yield figure, ("panels_by",), "", f"SELECT {', '.join(map(quote_name, facts['panels_by']))} FROM {view}"  # noqa: S608
