"""What figures of RPCs read: the published queries over the tests that a figure selects, and how panels are named."""

from collections.abc import Sequence
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.declarations import read_query
from ccreport.core.text import display_name
from ccreport.figures.select.condition_cells import list_varying, refuse_parts
from ccreport.figures.select.declaration import FigureDeclaration, choose_view, refuse_where
from ccreport.figures.select.queries import MissingFigure, describe_absence
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import describe_panel
from ccreport.summarise.grids.grid import format_size

# What can differ between the rows of a figure beside load and algorithm, in the order in which panels name it.
SETTINGS: Final = (
    *("host", "rtt_nominal_ms", "bottleneck_bps", "buffer_bytes", "loss_pct", "loss_pattern", "queue_discipline"),
    *("has_queue_ecn", "background_udp_bps", "stages_json", "parameter_name", "parameter_value", "flows_count"),
)
KINDS_OF_RPC: Final = ("rpc_test", "request_bytes", "response_bytes", "burst_count")
NAMES_OF_TESTS: Final = {"TCP_RR": "TCP", "UDP_RR": "UDP", "TCP_CRR": "TCP with a connection each", "ping": "ping"}


def read_rpc(declaration: FigureDeclaration, database: Database, table: str) -> pl.DataFrame:
    """Return the rows that a published table of RPCs (`rpc_latency`, `rpc_load`) has of the tests that match.

    Raise MissingFigure where there are none or all have one load, FigureError where the database refuses the condition.
    """
    tests = read_tests(declaration, database)
    query = read_query(table)
    rows = database.ask(query, views={f"{table}_runs": select_tests(declaration)})
    if rows["load_count"].drop_nulls().n_unique() < 2:
        raise MissingFigure(f"The {tests.height} RPC tests that match have one load: there is nothing to compare.")
    return rows.filter(pl.col("load_count").is_not_null())


def select_tests(declaration: FigureDeclaration) -> str:
    """Return the query of the rows of `labelled_rpc` that match."""
    # A condition ends before the line does: it may close with a comment.
    return f"FROM labelled_rpc WHERE (\n{declaration.where}\n)"


def read_tests(declaration: FigureDeclaration, database: Database) -> pl.DataFrame:
    """Return the rows of `labelled_rpc` that match; raise as `read_rpc`, whatever their loads."""
    try:
        tests = database.ask(f"{select_tests(declaration)} ORDER BY ALL")
    except duckdb.Error as error:
        raise refuse_where(declaration.name, error, declaration.where, view=choose_view(declaration.kind)) from error
    if tests.is_empty():
        raise MissingFigure(describe_absence(declaration, "test of RPCs"))
    return tests


def list_panels(
    rows: pl.DataFrame, kinds: Sequence[str], at_most: int
) -> tuple[list[str], list[tuple[Any, ...]], list[str]]:
    """Return the columns that tell panels apart, their values panel by panel, and the panels' names.

    Raise MissingFigure where there are more panels than can be read.
    """
    keys = [*(["request_bytes", "response_bytes"] if kinds else []), *list_varying(rows, [*kinds, *SETTINGS])]
    keys = list(dict.fromkeys(keys))
    values = rows.select(keys).unique().sort(keys, nulls_last=True).rows() if keys else [()]
    if len(values) > at_most:
        raise refuse_parts(f"{len(values)} panels", rows, keys, "RPC tests")
    return keys, values, [name_panel(dict(zip(keys, panel_values, strict=True))) for panel_values in values]


def name_panel(values: dict[str, Any]) -> str:
    """Return what tells a panel from the others."""
    parts = []
    if "rpc_test" in values:
        parts.append(NAMES_OF_TESTS.get(values["rpc_test"], display_name(values["rpc_test"])))
    if "request_bytes" in values:
        parts.append(name_sizes(values["request_bytes"], values["response_bytes"]))
    if values.get("burst_count") is not None:
        parts.append(f"{values['burst_count'] + 1} at a time")
    if "host" in values:
        parts.append("server unknown" if values["host"] is None else f"server {display_name(values['host'])}")
    told = [column for column in SETTINGS if column in values and column not in ("host", "flows_count")]
    parts.append(describe_panel(told, [values[column] for column in told]))
    if "flows_count" in values:
        count = values["flows_count"]
        parts.append(f"beside {count} bulk flow{'' if count == 1 else 's'}" if count else "no bulk flows")
    return ", ".join(part for part in parts if part)


def name_sizes(request: int | None, response: int | None) -> str:
    """Return the sizes of an RPC as its panel names them."""
    if request is None or response is None:
        return "sizes unknown"
    return f"{format_size(request)} requests, {format_size(response)} responses"


def select_panel(rows: pl.DataFrame, keys: Sequence[str], values: Sequence[Any]) -> pl.DataFrame:
    """Return the rows of one panel."""
    same = (pl.col(key).eq_missing(pl.lit(value)) for key, value in zip(keys, values, strict=True))
    return rows.filter(pl.lit(value=True), *same)
