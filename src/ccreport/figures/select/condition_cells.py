"""Rates over conditions: what figures read that draw many runs, and the statistics of their cells.

A cell pools the runs that share the values of its keys. Its mean and interval are those of the published tables.
"""

import contextlib
import math
import re
from collections.abc import Sequence
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.text import count_things
from ccreport.figures.kit.figure import deny
from ccreport.figures.select.declaration import FigureDeclaration, Rate, refuse_where
from ccreport.figures.select.queries import IS_EMULATED, QUEUE, UNCOUNTED, MissingFigure, describe_absence
from ccreport.figures.select.recording_database import Database
from ccreport.summarise.database import quote_text

# Random loss, and none, are the same column of a figure: null.
BURSTS: Final = "CASE WHEN loss_pattern = 'bursts' THEN loss_pattern END AS loss_pattern"
ALGORITHM_RUN_COLUMNS: Final = f"""
    run_id, condition_id, cc, sharing, beside, flows_count, sender_host, host, rtt_ms,
    loss_pct, {BURSTS},
    buffer_bytes, bottleneck_bps, {QUEUE} AS queue_discipline, parameter_name, parameter_value,
    throughput_bps, goodput_bps, retransmit_ratio, nic_bps, pacing_bps, cc_flows_count, {IS_EMULATED}
"""
# What can differ between the runs of a figure, in the order in which its panels name it.
SETTINGS: Final = (
    "parameter_name",
    "sharing",
    "flows_count",
    "sender_host",
    "bottleneck_bps",
    "buffer_bytes",
    "queue_discipline",
    "loss_pct",
    "loss_pattern",
    "rtt_ms",
)
# Names of parameters whose values are versions, and how values are that are versions of any parameter.
VERSIONS: Final = re.compile("kernel|build|version|release", re.IGNORECASE)
SEVERAL_DOTS: Final = re.compile(r"[0-9]\.[0-9]+\.[0-9]")
DIGITS: Final = re.compile("[0-9]+")
# Of a column, in a message.
VALUES_AT_MOST: Final = 6
CELLS: Final = """
    WITH conditions AS (
        SELECT {keys}, condition_id, list({value} ORDER BY run_id) AS numbers
        FROM measured WHERE {value} IS NOT NULL GROUP BY ALL
    ),
    cells AS (SELECT {keys}, list(numbers ORDER BY condition_id) AS strata FROM conditions GROUP BY ALL)
    SELECT {keys}, len(strata) AS conditions_count, cell_count(strata) AS runs_count, cell_mean(strata) AS mean,
        bounds[1] AS low, bounds[2] AS high
    FROM cells, LATERAL (SELECT cell_interval(strata) AS bounds)
    ORDER BY ALL
"""


def read_matching(
    declaration: FigureDeclaration, database: Database, view: str, columns: str, order: str
) -> pl.DataFrame:
    """Return the rows of a labelled view that match and count.

    Raise MissingFigure where there are none, FigureError where the database refuses the condition.
    """
    return keep_counted(read_matching_all(declaration, database, view, columns, order))


def read_matching_all(
    declaration: FigureDeclaration, database: Database, view: str, columns: str, order: str
) -> pl.DataFrame:
    """Return the rows of a labelled view that match, with `is_counted`, and raise as `read_matching` does."""
    # The condition ends before the line does: it may close with a comment.
    query = f"SELECT is_counted, {columns} FROM {view} WHERE (\n{declaration.where}\n) ORDER BY {order}"  # noqa: S608
    try:
        matching = database.ask(query)
    except duckdb.Error as error:
        raise refuse_where(declaration.name, error, declaration.where) from error
    if matching.is_empty():
        raise MissingFigure(describe_absence(declaration, "run"))
    return matching


def keep_counted(matching: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that count, without `is_counted`; raise MissingFigure where there are none."""
    counted = matching.filter("is_counted").drop("is_counted")
    if counted.is_empty():
        count = matching["run_id"].n_unique()
        raise MissingFigure(f"{deny(count)} counts ({UNCOUNTED}).")
    return counted


def describe_suspects(declaration: FigureDeclaration, database: Database) -> str:
    """Return how many runs that match are left out as suspect; nothing where none is."""
    # Of all views of runs this one has the most columns.
    query = "SELECT count(DISTINCT run_id) FROM algorithm_runs WHERE is_suspect AND NOT is_counted"
    count = database.ask(f"{query} AND (\n{declaration.where}\n)").item()
    return f"{count_things(count, 'run')} left out as suspect" if count else ""


def read_algorithm_rates(declaration: FigureDeclaration, database: Database) -> tuple[pl.DataFrame, Rate]:
    """Return the rows of `algorithm_runs` that match, count and have a rate, with `rate_bps`, and which rate that is.

    The rate is as declared, else goodput where all receivers reported, else the sender's. Raise MissingFigure where no
    row is left, FigureError where the database refuses the condition.
    """
    counted = read_matching(declaration, database, "algorithm_runs", ALGORITHM_RUN_COLUMNS, "run_id, cc")
    rate: Rate = declaration.rate or ("throughput" if counted["goodput_bps"].null_count() else "goodput")
    known = counted.with_columns(rate_bps=pl.col(f"{rate}_bps")).filter(pl.col("rate_bps").is_not_null())
    if known.is_empty():
        raise MissingFigure(f"{deny(counted['run_id'].n_unique())} has a {rate}.")
    return known, rate


def summarise_cells(
    database: Database, runs: pl.DataFrame, keys: Sequence[str], value: str = "rate_bps"
) -> pl.DataFrame:
    """Return one row per combination of the keys: keys, conditions_count, runs_count, mean, low, high.

    low and high are the ends of the 95 % interval of the mean (`cell_interval` in sql/macros.sql), null where there are
    too few runs. Rows without the value are left out.
    """
    measured = runs.select(*keys, "condition_id", "run_id", value)
    return database.calculate(CELLS.format(keys=", ".join(keys), value=value), measured=measured)


def list_varying(runs: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return those of the columns that have more than one value (absence counts as one)."""
    return [column for column in columns if runs[column].n_unique() > 1]


def list_varying_settings(runs: pl.DataFrame, settings: Sequence[str]) -> list[str]:
    """Return those of the settings that vary; `beside` in place of `sharing` where algorithms shared with several.

    A mean of an algorithm's runs beside one competitor and beside another would be of neither.
    """
    has_several = runs["beside"].drop_nulls().n_unique() > 1
    return list_varying(runs, ["beside" if has_several and name == "sharing" else name for name in settings])


def list_values(runs: pl.DataFrame, column: str) -> list[Any]:
    """Return the values of a column in ascending order, those of a parameter as people count, absence last."""
    if column == "parameter_value":
        pairs = runs.select("parameter_name", column).unique().sort(column, "parameter_name", nulls_last=True).rows()
        return list(dict.fromkeys(value for _, value in sorted(pairs, key=lambda pair: natural_key(pair[1], pair[0]))))
    values: list[Any] = runs[column].unique().sort(nulls_last=True).to_list()
    return values


def natural_key(value: str | None, name: str | None) -> tuple[bool, float, str]:
    """Return by what values of a parameter are in the order in which people count, as the macro of that name does.

    0.25 is before 0.5, but version 6.2 before 6.12.
    """
    if value is None:
        return True, math.inf, ""
    number = math.inf
    if not (VERSIONS.search(name or "") or SEVERAL_DOTS.search(value)):
        with contextlib.suppress(ValueError):
            number = float(value)
    return False, number, DIGITS.sub(lambda digits: digits[0].zfill(18), value)


def sort_conditions(rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return combinations of values of columns in ascending order, parameters as people count, absence last."""

    def key(row: tuple[Any, ...]) -> list[Any]:
        named = dict(zip(columns, row, strict=True))
        return [
            natural_key(value, named.get("parameter_name"))
            if column == "parameter_value"
            else (value is None, 0 if value is None else value)
            for column, value in named.items()
        ]

    return sorted(rows, key=key)


def refuse_parts(parts: str, runs: pl.DataFrame, columns: Sequence[str], kind: str = "runs") -> MissingFigure:
    """Return the error of a figure of too many parts, such as "9 panels", with what `where` could choose from.

    These are the columns that differ, with their values as conditions in SQL, but for the algorithms of flows.
    """
    keys = list_varying(runs, [column for column in columns if column != "cc"])
    conditions = "; ".join(_write_condition(key, list_values(runs, key)) for key in keys)
    told = f" They have {conditions}." if keys else ""
    return MissingFigure(f"The {kind} that match make {parts}: narrow `where` for this archive.{told}")


def _write_condition(column: str, values: Sequence[Any]) -> str:
    """Return the condition that a column has one of the first of these values."""
    known = [value for value in values if value is not None]
    if column == "queue_discipline":
        # As the database has it.
        known = list(dict.fromkeys(value.removesuffix(" with ECN") for value in known))
    listed = [quote_text(value) if isinstance(value, str) else repr(value) for value in known[:VALUES_AT_MOST]]
    parts = [f"{column} IN ({', '.join(listed)})"] if known else []
    parts += [f"{column} IS NULL"] if len(known) < len(values) else []
    others = len(known) - VALUES_AT_MOST
    condition = f"({' OR '.join(parts)})" if len(parts) > 1 else parts[0]
    return condition + (f" and {others:,} others" if others > 0 else "")


def require_two(runs: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """Return the runs that have a value there; raise MissingFigure where there are less than two values to compare."""
    known = runs.filter(pl.col(column).is_not_null())
    count = runs["run_id"].n_unique()
    if known.is_empty():
        raise MissingFigure(f"{deny(count)} has a known {name}.")
    if known[column].n_unique() < 2:
        matching = "The only run that matches has one" if count == 1 else f"All {count:,} runs that match have the same"
        raise MissingFigure(f"{matching} {name}: there is nothing to compare.")
    return known
