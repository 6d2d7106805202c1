"""What a number of a published table is made of: its runs, their raw files, and the number computed from them alone.

Tables share one mechanism. The columns of a table's key that the view behind it has as well select the runs of a row;
the numbers of that view that its query names are what a run adds to the row's.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.declarations import read_query
from ccreport.core.errors import InputError
from ccreport.core.evaluation import resolve_evaluation
from ccreport.core.tables import load_schema
from ccreport.core.text import display_name
from ccreport.summarise.compute_table import add_statistics
from ccreport.summarise.database import quote_name
from ccreport.summarise.grids.headings import QUANTITIES, name_quantities
from ccreport.summarise.grids.plain_numbers import find_quantity
from ccreport.summarise.open_results import open_results
from ccreport.summarise.questions import COMPARISONS
from ccreport.summarise.statistics.comparisons import SIDES
from ccreport.trace.claims.explain_claim import describe_claim, find_claim, has_claim
from ccreport.trace.compared_cells import show_compared
from ccreport.trace.comparison import TERMS, describe_comparison
from ccreport.trace.edge import GROUPED, load_edge_source, restrict_edge
from ccreport.trace.explain_exhibit import describe_figure, find_exhibit, has_exhibit
from ccreport.trace.find_table import (
    describe_others,
    describe_tables,
    find_database,
    find_databases,
    find_table,
    list_tables,
)
from ccreport.trace.origins import describe_sources, show_query
from ccreport.trace.raw_files import ReadFiles, load_files_by_algorithm
from ccreport.trace.select_rows import ALGORITHM, find_row, name_row
from ccreport.trace.shown_runs import show_numbers, show_runs

# Views that queries read instead of `<table>_runs`.
VIEWS: Final = {"witnesses": "reconciliation"}
# Columns of keys over which a table compares its rows: a number rests on the runs of all of them.
COMPARED: Final = {"modes": ("algorithm",), "stability": ("algorithm",)}
# Which run it was, in the order of the archive's folders.
IDENTITY: Final = ("session", "job", "host", "iteration", "rtt_ms")
RESULTS: Final = Path("results")
COMMENT: Final = re.compile(r"--.*")
# A bound of a comparison, not a number of its runs.
EQUAL: Final = "equal_within_pct"


@dataclass(frozen=True)
class Trace:
    """The runs behind the rows of one table, one row per run (and algorithm, where the table tells them apart).

    `source` is the view that the table's query reads; `runs` has of it what there is to show: run_id, experiment_id,
    result_path, `IDENTITY` and the columns `selecting`, `compared` (by which runs of one row differ) and `values`.
    `files` are all that a step read.
    """

    table: str
    selecting: tuple[str, ...]
    compared: tuple[str, ...]
    values: tuple[str, ...]
    source: pl.DataFrame
    runs: pl.DataFrame
    files: ReadFiles

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the columns by which runs of one row may differ: identity, what is compared, values."""
        identity = ("host",) if self.table in GROUPED else IDENTITY
        return tuple(dict.fromkeys([*identity, *self.compared, *self.values]))

    @property
    def _names_of_rows(self) -> list[str]:
        return [name for name in self.selecting if name not in self.compared]

    def select_source(self, row: Mapping[str, Any]) -> pl.DataFrame:
        """Return what a row of the table is made of, of `source`."""
        equal = (pl.col(name).eq_missing(pl.lit(row[name])) for name in self._names_of_rows)
        return self.source.filter(pl.lit(value=True), *equal)

    def select_runs(self, row: Mapping[str, Any]) -> pl.DataFrame:
        """Return what a row of the table is made of, of `runs`; where it compares two algorithms, theirs alone."""
        runs = self._runs_of_rows.get(tuple(row[name] for name in self._names_of_rows), self.runs.clear())
        pairs = [name for name in self.compared if f"{SIDES[0]}_{name}" in row]
        own = (pl.col(name).is_in([row[f"{side}_{name}"] for side in SIDES]) for name in pairs)
        return runs.filter(pl.lit(value=True), *own)

    @cached_property
    def _runs_of_rows(self) -> dict[tuple[Any, ...], pl.DataFrame]:
        # A table of thousands of rows would else go through all runs for each.
        names = self._names_of_rows
        return self.runs.partition_by(names, as_dict=True) if names else {(): self.runs}


def load_trace(connection: duckdb.DuckDBPyConnection, table: str, files: ReadFiles | None = None) -> Trace:
    """Return the runs and files behind a published table; `files` are those of all tables, where they are there."""
    is_edge = table in GROUPED
    source = (
        load_edge_source(connection, table) if is_edge else connection.sql(f"FROM {quote_name(_find_view(table))}").pl()
    )
    words = set(re.findall(r"\w+", COMMENT.sub("", read_query(table))))
    key = load_schema(table).key
    selecting = tuple(name for name in key if name in source.columns)
    pairs = (name.removeprefix(f"{SIDES[0]}_") for name in key if name.startswith(f"{SIDES[0]}_"))
    compared = (*COMPARED.get(table, ()), *(name for name in pairs if name in source.columns))
    values = (
        ("rows_count", "kept_count")
        if is_edge
        else tuple(
            name
            for name, kind in source.schema.items()
            if name in words and kind.is_numeric() and name not in (*selecting, EQUAL) and not name.endswith("_rank")
        )
    )
    facts = ("experiment_id", *IDENTITY, "result_path")
    runs = source
    if set(facts) - set(source.columns):
        missing = [name for name in facts if name not in source.columns]
        known = connection.sql("FROM labelled_runs").pl()
        runs = source.join(known.select("run_id", *missing), on="run_id", how="left", maintain_order="left")
    shown = list(dict.fromkeys(["run_id", *facts, *selecting, *compared, *values]))
    # A run may have a row for each of its algorithms.
    rows = runs.select(shown).unique()
    if ALGORITHM in set(runs.columns) - set(shown) and rows.select({"run_id", *selecting}).is_duplicated().any():
        compared, shown = (*compared, ALGORITHM), [*shown, ALGORITHM]
        rows = runs.select(shown).unique()
    order = ["session", "job", "host", "iteration", "rtt_ms", "run_id", *selecting, *compared]
    ordered = rows.sort(list(dict.fromkeys([*order, *shown])), nulls_last=True)
    return Trace(table, selecting, compared, values, source, ordered, files or load_files_by_algorithm(connection))


def _find_view(table: str) -> str:
    return VIEWS.get(table, f"{table}_runs")


def recompute_row(connection: duckdb.DuckDBPyConnection, trace: Trace, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one row of a table as its query gives it over the runs of that row alone."""
    if trace.table in GROUPED:
        with restrict_edge(connection, trace.table, row):
            return _pick_row(connection.sql(read_query(trace.table)).pl(), trace.table, row)
    view = _find_view(trace.table)
    # What is registered is a temporary view, which comes before the database's own of the same name.
    connection.register(view, trace.select_source(row))
    try:
        rows = connection.sql(read_query(trace.table)).pl()
    finally:
        connection.unregister(view)
    return _pick_row(rows, trace.table, row)


def _pick_row(rows: pl.DataFrame, table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    key = load_schema(table).key
    computed: dict[str, Any] = rows.filter(*(pl.col(k).eq_missing(pl.lit(row[k])) for k in key)).row(0, named=True)
    return computed


def explain(
    table: str = "",
    /,
    row: str = "",
    column: str = "",
    database: Path = RESULTS,
    evaluation: str = "",
    *,
    full: bool = False,
) -> None:
    """Print the runs, raw files and SQL behind one number of a published table, computed anew from its runs alone.

    `table` may be the beginning of a name, or a number as the report has it, such as Table II; without it all tables
    and claims are listed. It may also be the name of a claim: then its checks are printed with their values, bounds,
    queries and runs; or the name or number of a figure. `evaluation` is the name or file of the evaluation to ask, of a
    claim also its file, if that has moved since the build. `row` names the cell, as `test_group=no
    loss,flows_count=16`: each as key=value, with a value of the CSV file or some words of it; numbers also by <, <=, >
    and >=, as `flows_count>=16`. `column` names it as well: it does not matter which of the two options a key is in.
    `database` is an evaluation's, or a folder of results, where the configured evaluation goes before others. `full`
    lists all raw files, and prints a long query, too.
    """
    if evaluation:
        database = _narrow(database, evaluation, table)
    if not table:
        print(describe_tables(database))
        return
    exhibit = find_exhibit(database, table)
    claim = None if exhibit else find_claim(database, table)
    about = f"{claim[1]} is a claim" if claim else f"{table} is a figure" if exhibit and exhibit[1].is_figure else ""
    if about and (row or column):
        raise InputError(f"{about}, which has no rows; leave out --row and --column")
    if claim:
        of_claim, called = claim
        print(describe_claim(of_claim, called, evaluation, is_full=full))
        print(describe_others(database, of_claim, table, lambda other: has_claim(other, called, table)), end="")
        return
    asked = table
    if exhibit and exhibit[1].is_figure:
        print(describe_figure(*exhibit))
        print(describe_others(database, exhibit[0], asked, lambda other: has_exhibit(other, asked)), end="")
        return
    table = exhibit[1].name if exhibit else table
    of_table = find_database(database, table)
    with open_results(of_table) as connection:
        name = find_table(connection, table)
        summary = connection.sql(f"FROM {quote_name(name)}").pl()
        grouped = connection.sql("SELECT algorithm, list(cc ORDER BY cc) FROM algorithms GROUP BY algorithm").fetchall()
        number = find_row(summary, name, row, column, members=dict(grouped))
        chosen = summary.row(number - 1, named=True)
        trace = load_trace(connection, name)
        computed = recompute_row(connection, trace, chosen)
        left_out = _list_left_out(connection, trace, chosen)
    compared = show_compared(of_table.resolve().parent, name, chosen)
    computed = _complete_row(summary, name, number, computed)
    print(_show(trace, number, computed, compared, left_out, of_table, is_full=full))

    def has_it(other: Path) -> bool:
        return has_exhibit(other, asked) if exhibit else name in list_tables(other)

    print(describe_others(database, of_table, asked if exhibit else name, has_it), end="")


def _narrow(place: Path, evaluation: str, table: str) -> Path:
    """Return the database of an evaluation at a place; the place itself for a claim, whose file may have moved."""
    name = resolve_evaluation(evaluation).stem
    own = (database for database in find_databases(place) if database.resolve().parent.name == name)
    if (found := next(own, None)) is None and not (table and find_claim(place, table)):
        raise InputError(f"no results of the evaluation `{name}` at {place}; `make report` builds them")
    return found or place


def _complete_row(summary: pl.DataFrame, table: str, number: int, computed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a computed row of a table with its statistics, as Holm's correction may depend on the other rows."""
    own = pl.DataFrame([computed], schema=summary.schema)
    return _pick_row(add_statistics(pl.concat([summary[: number - 1], own, summary[number:]]), table), table, computed)


def _list_left_out(connection: duckdb.DuckDBPyConnection, trace: Trace, row: Mapping[str, Any]) -> list[str]:
    """Return lines on suspect runs of the conditions of a row's runs, which would be among these if they counted."""
    known = connection.sql("FROM all_labelled_runs").pl()
    runs = trace.select_runs(row)["run_id"].unique()
    names = [name for name in trace.selecting if name in known.columns and name not in trace.compared]
    alike = known.filter(pl.lit(value=True), *(pl.col(name).eq_missing(pl.lit(row[name])) for name in names))
    conditions = alike.filter(pl.col("run_id").is_in(runs.implode()))["condition_id"]
    suspects = alike.filter(
        "is_suspect", pl.col("condition_id").is_in(conditions.implode()), ~pl.col("run_id").is_in(runs.implode())
    )
    told = suspects.select("run_id", "suspect_rules").sort("run_id").iter_rows()
    lines = [f"  {run} ({rules})" for run, rules in told]
    return ["", "Left out as suspect (why: page Ledger):", *lines] if lines else []


def _show(
    trace: Trace,
    number: int,
    row: Mapping[str, Any],
    compared: Sequence[str],
    left_out: Sequence[str],
    database: Path,
    *,
    is_full: bool,
) -> str:
    """Return the text on a number; `compared` are lines on what it was compared with, `left_out` on runs not in it.

    Of many raw files the first are listed, and a long query is only named, unless the text `is_full`.
    """
    noun = "file" if trace.table in GROUPED else "run"
    unpacked = database.parent.parent / "archive"
    (shown,) = name_quantities(pl.DataFrame([row], infer_schema_length=None)).to_dicts()
    # The unit of a row's numbers may be that of its quantity.
    names = {*load_schema(trace.table).key} - {*QUANTITIES}
    numbers = {name: value for name, value in shown.items() if name not in names}
    runs = trace.select_runs(row)
    lines = [f"{database.resolve().parent.name}, {trace.table}, row {number}: {name_row(trace.table, row)}", ""]
    if trace.table == COMPARISONS:
        lines += [*describe_comparison(shown), *TERMS, ""]
    lines += [f"Computed again from the {noun}s below alone:", *show_numbers(numbers)]
    lines += [*compared, ""]
    heading, quantity = f"{noun.capitalize()}s", find_quantity(row)
    lines += show_runs(heading, runs, trace.shown, trace.files, unpacked, quantity=quantity, noun=noun, is_full=is_full)
    lines += left_out
    if trace.table not in GROUPED:
        lines += describe_sources([name for name in trace.values if runs[name].count()], row)
    lines.append("")
    if (written := database.parent / f"summaries/{trace.table}.csv").is_file():
        lines.append(f"All digits: {written}, row {number}")
    lines += show_query(trace.table, is_full=is_full)
    # A terminal obeys what a name of the archive may contain.
    return "\n".join(map(display_name, lines))
