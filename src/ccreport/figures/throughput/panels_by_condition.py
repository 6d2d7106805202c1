"""Panels of a figure made of the archive's own conditions, where the evaluation names columns in place of panels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.figures.select.condition_cells import list_varying, sort_conditions
from ccreport.figures.select.declaration import FigureDeclaration, refuse_where
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import describe_panel
from ccreport.summarise.database import quote_name, quote_text
from ccreport.summarise.grids.label_names import Shown

PANELS_AT_MOST: Final = 12
# By what panels are in order; the name need not be among the columns that tell panels apart.
ORDER: Final = {"least_rtt_ms": "min(rtt_ms)", "parameter_name": "min(parameter_name)"}
# Columns that tell paths apart.
PATHS: Final = frozenset({"host", "path_rtt", "rtt_ms", "rtt_nominal_ms", "rtt_min_ms"})


def split_by_condition(declaration: FigureDeclaration, database: Database) -> tuple[FigureDeclaration, str]:
    """Return a figure with a panel for each combination of its `panels_by`, and a sentence on those left out.

    The sentence is empty where there are none. A single condition makes a figure without panels. Raise FigureError
    where the database refuses the condition or a column.
    """
    names = ", ".join(map(quote_name, declaration.panels_by))
    fitting = f"is_counted AND (mode = 'both') = {declaration.overlapped}"
    # The condition ends before the line does: it may close with a comment.
    where = f"{fitting} AND (\n{declaration.where}\n)"
    order = ", ".join(f"{value} AS {name}" for name, value in ORDER.items() if name not in declaration.panels_by)
    query = f"SELECT {names}, {order} FROM labelled_runs WHERE {where} GROUP BY ALL ORDER BY ALL"  # noqa: S608
    try:
        conditions = database.ask(query)
    except duckdb.Error as error:
        raise refuse_where(declaration.name, error, declaration.where, "`where` or `panels_by`") from error
    varying = list_varying(conditions, declaration.panels_by)
    if not varying:
        return declaration, ""
    if "parameter_value" in varying and "parameter_name" in declaration.panels_by:
        varying = list(dict.fromkeys(["parameter_name", *varying]))
    columns = list(declaration.panels_by)
    # Paths are in order of their RTT, where those who declare the panels put them.
    at = next((place for place, column in enumerate(columns) if column in PATHS), len(columns))
    ordered = list(dict.fromkeys([*columns[:at], "least_rtt_ms", *columns[at:], "parameter_name"]))
    rows = sort_conditions(conditions.select(ordered).rows(), ordered)
    found = pl.DataFrame(rows, schema=conditions.select(ordered).schema, orient="row").select(varying).rows()
    name = _name_parameter(database, where) if "parameter_value" in varying else None
    panels = [_declare(varying, values, name, declaration.shown) for values in found[:PANELS_AT_MOST]]
    others = len(found) - len(panels)
    said = f"Of {len(found)} conditions the first {PANELS_AT_MOST} are drawn." if others else ""
    return replace(declaration, panels=panels), said


def _name_parameter(database: Database, where: str) -> str | None:
    """Return the name of the only swept parameter of some runs, None where there are several."""
    query = f"SELECT DISTINCT parameter_name FROM labelled_runs WHERE {where} AND parameter_name IS NOT NULL"  # noqa: S608
    names = database.ask(query)["parameter_name"].to_list()
    return names[0] if len(names) == 1 else None


def _declare(
    columns: Sequence[str], values: Sequence[Any], parameter: str | None, shown_names: Shown
) -> dict[str, str]:
    tests = [
        f"{quote_name(column)} IS NOT DISTINCT FROM {_quote(value)}"
        for column, value in zip(columns, values, strict=True)
    ]
    # A value goes by the name of its parameter, if that is one for all: build after.
    shown = {
        "parameter_name" if parameter and value and column == "parameter_value" else column: (
            shown_names.get(column, {}).get(value, value)
        )
        for column, value in zip(columns, values, strict=True)
    }
    if "parameter_name" in shown and "parameter_value" not in shown and parameter:
        shown["parameter_name"] = f"{parameter} {shown['parameter_name']}"
    return {"title": describe_panel([*shown], [*shown.values()]), "where": " AND ".join(tests)}


def _quote(value: Any) -> str:
    if value is None:
        return "NULL"
    return quote_text(value) if isinstance(value, str) else repr(value)
