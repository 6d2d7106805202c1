"""What a number of a published table is made of: its runs, their raw files, and the number computed from them alone.

Tables share one mechanism. The columns of a table's key that the view behind it has as well select the runs of a row;
the numbers of that view that its query names are what a run adds to the row's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.database import SQL, connect, quote_name
from ccreport.errors import InputError
from ccreport.explain_edge import GROUPED, load_edge_source, restrict_edge
from ccreport.format_table import MISSING, format_size
from ccreport.published import find_database, find_table
from ccreport.raw import display_name
from ccreport.read_files import ReadFiles, load_read_files
from ccreport.tables import load_schema

# Views that queries read instead of `<table>_runs`.
VIEWS: Final = {"witnesses": "reconciliation"}
# Columns of keys over which a table compares its rows: a number rests on the runs of all of them.
COMPARED: Final = {"modes": ("algorithm",), "stability": ("algorithm",)}
# Which run it was, in the order of the archive's folders.
IDENTITY: Final = ("session", "job", "host", "iteration", "rtt_ms")
COMMENT: Final = re.compile(r"--.*")


@dataclass(frozen=True)
class Trace:
    """The runs behind the rows of one table, one row per run (and algorithm, where the table tells them apart).

    `source` is the view that the table's query reads; `runs` has of it what there is to show: run_id, experiment_id,
    result_path, `IDENTITY` and the columns `selecting` and `values`. `files` are all that a step read.
    """

    table: str
    selecting: tuple[str, ...]
    values: tuple[str, ...]
    source: pl.DataFrame
    runs: pl.DataFrame
    files: ReadFiles

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the columns by which runs of one row may differ: identity, what is compared, values."""
        if self.table in GROUPED:
            return ("host", *self.values)
        return tuple(dict.fromkeys([*IDENTITY, *COMPARED.get(self.table, ()), *self.values]))

    @property
    def _names_of_rows(self) -> list[str]:
        return [name for name in self.selecting if name not in COMPARED.get(self.table, ())]

    def select_source(self, row: Mapping[str, Any]) -> pl.DataFrame:
        """Return what a row of the table is made of, of `source`."""
        equal = (pl.col(name).eq_missing(pl.lit(row[name])) for name in self._names_of_rows)
        return self.source.filter(pl.lit(value=True), *equal)

    def select_runs(self, row: Mapping[str, Any]) -> pl.DataFrame:
        """Return what a row of the table is made of, of `runs`."""
        return self._runs_of_rows.get(tuple(row[name] for name in self._names_of_rows), self.runs.clear())

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
    selecting = tuple(name for name in load_schema(table).key if name in source.columns)
    values = (
        ("rows_count", "kept_count")
        if is_edge
        else tuple(
            name
            for name, kind in source.schema.items()
            if name in words and kind.is_numeric() and name not in selecting and not name.endswith("_rank")
        )
    )
    facts = ("experiment_id", *IDENTITY, "result_path")
    runs = source
    if set(facts) - set(source.columns):
        missing = [name for name in facts if name not in source.columns]
        known = connection.sql("FROM labelled_runs").pl()
        runs = source.join(known.select("run_id", *missing), on="run_id", how="left", maintain_order="left")
    shown = list(dict.fromkeys(["run_id", *facts, *selecting, *values]))
    order = ["session", "job", "host", "iteration", "rtt_ms", "run_id", *selecting]
    return Trace(
        table,
        selecting,
        values,
        source,
        # A run may have a row for each of its algorithms.
        runs.select(shown).unique().sort(list(dict.fromkeys([*order, *shown])), nulls_last=True),
        files or load_read_files(connection),
    )


def _find_view(table: str) -> str:
    return VIEWS.get(table, f"{table}_runs")


def read_query(table: str) -> str:
    """Return the SQL of a published table."""
    return (SQL / f"{table}.sql").read_text(encoding="utf-8")


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


def explain(table: str, /, row: str = "", column: str = "", database: Path = Path("results")) -> None:
    """Print the runs, raw files and SQL behind one number of a published table, computed anew from its runs alone.

    `table` may be the beginning of a name; `row` and `column` name the cell, as `test_group=no loss,flows_count=16`,
    each key with its value as the CSV file has it. It does not matter which of the two a key stands in. `database` is
    an evaluation's, or a folder of results in which one evaluation only has such a table.
    """
    with connect(find_database(database, table)) as connection:
        name = find_table(connection, table)
        summary = connection.sql(f"FROM {quote_name(name)}").pl()
        number = find_row(summary, name, ",".join(part for part in (row, column) if part))
        chosen = summary.row(number - 1, named=True)
        trace = load_trace(connection, name)
        print(_show(trace, number, recompute_row(connection, trace, chosen)))


def find_row(summary: pl.DataFrame, table: str, wanted: str) -> int:
    """Return the number, from 1, of the one row that `key=value,…` names; raise InputError that lists what there is."""
    keys = load_schema(table).key
    parts = re.split(rf",\s*(?=(?:{'|'.join(keys)})\s*=)", wanted) if wanted else []
    fitting = summary.with_row_index("number", offset=1)
    for part in parts:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in keys or not equals:
            raise InputError(f"{table} has no key {name!r}; name a cell by {', '.join(keys)}, each as key=value")
        held = list(dict.fromkeys(fitting[name].to_list()))
        chosen = [one for one in held if value in _spell(name, one)]
        if not chosen:
            offered = ", ".join(_spell(name, one)[0] for one in held) or "nothing"
            raise InputError(f"{table} has no {name} {value!r} there; it has {display_name(offered)}")
        fitting = fitting.filter(pl.col(name).eq_missing(pl.lit(chosen[0])))
    if fitting.height != 1:
        listed = [name_row(table, row) for row in fitting.head(20).iter_rows(named=True)]
        more = [f"and {fitting.height - len(listed)} more"] if fitting.height > len(listed) else []
        raise InputError("\n  ".join([f"{table}: {fitting.height:,} rows fit; name one of them:", *listed, *more]))
    return int(fitting["number"][0])


def _spell(name: str, value: Any) -> list[str]:
    """Return how a key may be written: as in the CSV file, a size also as on the pages."""
    if value is None:
        return [MISSING, ""]
    sizes = [format_size(value)] if name.endswith("_bytes") else []
    return [str(value), *sizes]


def name_row(table: str, row: Mapping[str, Any], keys: tuple[str, ...] | None = None) -> str:
    """Return what names a row of a table, as `explain` takes it, by its whole key or by some columns of it."""
    names = load_schema(table).key if keys is None else keys
    return display_name(",".join(f"{name}={_spell(name, row[name])[0]}" for name in names))


def _show(trace: Trace, number: int, row: Mapping[str, Any]) -> str:
    keys = load_schema(trace.table).key
    numbers = {name: value for name, value in row.items() if name not in keys}
    width = max(map(len, numbers))
    runs = trace.select_runs(row)
    lines = [f"{trace.table}, row {number}: {name_row(trace.table, row)}", "", "Computed from the runs below alone:"]
    lines += [f"  {name:{width}}  {show_value(value)}" for name, value in numbers.items()]
    lines += ["", f"Runs ({runs.height:,}):", f"  {'  '.join((*trace.shown, 'run_id'))}"]
    lines += [f"  {'  '.join(map(show_value, run))}" for run in runs.select(*trace.shown, "run_id").iter_rows()]
    lines += ["", "Raw files (sha256, path):"]
    for whose, files in trace.files.find(runs):
        lines += [f"  # {whose}", *(f"  {digest}  {path}" for path, digest in files)]
    lines += ["", f"SQL: src/ccreport/sql/{trace.table}.sql"]
    # A terminal obeys what a name of the archive may contain.
    return "\n".join(map(display_name, lines))


def show_value(value: Any) -> str:
    """Return a value with all its digits, a dash for none."""
    return MISSING if value is None else str(value)
