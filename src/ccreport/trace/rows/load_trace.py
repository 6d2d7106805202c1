"""The runs behind the rows of one published table, and a row computed anew from its own runs alone.

Tables share one mechanism. The columns of a table's key that the view behind it has as well select the runs of a row;
the numbers of that view that its query names are what a run adds to the row's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.declarations import read_query
from ccreport.core.tables import load_schema
from ccreport.summarise.statistics.comparisons import SIDES
from ccreport.trace.raw_files import ReadFiles, load_files_by_algorithm
from ccreport.trace.rows.edge import GROUPED, load_edge_source, restrict_edge
from ccreport.trace.rows.select_rows import ALGORITHM

# Views that queries read instead of `<table>_runs`.
VIEWS: Final = {"witnesses": "reconciliation"}
# Their queries read all tests of RPCs beside the runs of their view.
BESIDE_RPC: Final = frozenset({"servers"})
# Of tables whose rows are of flows or clients: what their queries have of each in a run, which the means are of.
PARTS: Final = {
    "staggered_flows": "SELECT * EXCLUDE (flow_number, weight) FROM observed",
    "servers": "FROM bulk_of_runs UNION ALL BY NAME FROM tests",
}
# Columns of keys over which a table compares its rows: a number rests on the runs of all of them.
COMPARED: Final = {"modes": ("algorithm",), "stability": ("algorithm",)}
# Which run it was, in the order of the archive's folders.
IDENTITY: Final = ("session", "job", "host", "iteration", "rtt_ms")
COMMENT: Final = re.compile(r"--.*")
# What a table has beside its algorithms: a row of the flows of all of them.
ALL_ALGORITHMS: Final = "all"
# What a test of RPCs has beside its run: its path is no path of packets.
RAW_FILE: Final = "raw_file"
# What is told of runs beside their numbers: of which flow these are, and which runs of a quotient are below the line.
TOLD: Final = ("flow_id", "is_divisor")
# A bound of a comparison, not a number of its runs.
EQUAL: Final = "equal_within_pct"


@dataclass(frozen=True)
class Trace:
    """The runs behind the rows of one table, one row per run (and algorithm, where the table tells them apart).

    `source` is the view that the table's query reads; `runs` has of it what there is to show: run_id, experiment_id,
    result_path, `IDENTITY` and the columns `selecting`, `compared` (by which runs of one row differ) and `values`.
    Where rows are of flows or clients, `runs` has a row for each, with the columns `parts` of the key that tell them
    apart. `files` are all that a step read.
    """

    table: str
    selecting: tuple[str, ...]
    parts: tuple[str, ...]
    compared: tuple[str, ...]
    values: tuple[str, ...]
    source: pl.DataFrame
    runs: pl.DataFrame
    files: ReadFiles
    divided: dict[tuple[str, ...], dict[tuple[Any, ...], pl.DataFrame]] = field(default_factory=dict, repr=False)

    @property
    def noun(self) -> str:
        """Return what a row of `runs` is: of an edge network a raw file stands for a run."""
        return "file" if self.table in GROUPED else "run"

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the columns by which runs of one row may differ: identity, what is compared, values."""
        identity = ("host",) if self.table in GROUPED else IDENTITY
        return tuple(dict.fromkeys([*identity, *self.parts, *self.compared, *self.values]))

    def list_labels(self, row: Mapping[str, Any]) -> list[str]:
        """Return the columns of runs that a row's runs have as the row has them."""
        is_of_all = row.get(ALGORITHM) == ALL_ALGORITHMS
        names = [name for name in self.selecting if name not in self.compared]
        return [name for name in names if not (is_of_all and name == ALGORITHM)]

    def match_labels(self, row: Mapping[str, Any]) -> list[pl.Expr]:
        """Return what is true of runs with the labels of a row; what the row has not, they have not either."""
        return [pl.col(name).eq_missing(pl.lit(row[name])) for name in self.list_labels(row)]

    def select_source(self, row: Mapping[str, Any]) -> pl.DataFrame:
        """Return what a row of the table is made of, of `source`."""
        return self.source.filter(pl.lit(value=True), *self.match_labels(row))

    def list_runs(self, rows: pl.DataFrame) -> pl.Series:
        """Return the run_id of all runs that rows of the table are made of."""
        names = [name for name in self.selecting if name not in self.compared]
        return self.source.join(rows, on=names, how="semi", nulls_equal=True)["run_id"].unique()

    def select_runs(self, row: Mapping[str, Any]) -> pl.DataFrame:
        """Return what a row of the table is made of, of `runs`; where it compares two algorithms, theirs alone."""
        labels = (*self.list_labels(row), *self.parts)
        runs = self._divide_runs(labels).get(tuple(row[name] for name in labels), self.runs.clear())
        pairs = [name for name in self.compared if f"{SIDES[0]}_{name}" in row]
        own = (pl.col(name).is_in([row[f"{side}_{name}"] for side in SIDES]) for name in pairs)
        return runs.filter(pl.lit(value=True), *own)

    def _divide_runs(self, labels: tuple[str, ...]) -> dict[tuple[Any, ...], pl.DataFrame]:
        # A table of thousands of rows would else go through all runs for each.
        if labels not in self.divided:
            self.divided[labels] = self.runs.partition_by(labels, as_dict=True) if labels else {(): self.runs}
        return self.divided[labels]


def load_trace(connection: duckdb.DuckDBPyConnection, table: str, files: ReadFiles | None = None) -> Trace:
    """Return the runs and files behind a published table; `files` are those of all tables, where they are there."""
    is_edge = table in GROUPED
    source = load_edge_source(connection, table) if is_edge else connection.sql(f"FROM {name_source(table)}").pl()
    words = set(re.findall(r"\w+", COMMENT.sub("", read_query(table))))
    key = load_schema(table).key
    selecting = tuple(name for name in key if name in source.columns)
    runs = _load_parts(connection, table) if table in PARTS else source
    parts = tuple(name for name in key if name in runs.columns and name not in selecting)
    pairs = (name.removeprefix(f"{SIDES[0]}_") for name in key if name.startswith(f"{SIDES[0]}_"))
    compared = (*COMPARED.get(table, ()), *(name for name in pairs if name in source.columns))
    values = (
        ("rows_count", "in_uncounted_runs_count", "kept_count")
        if is_edge
        else tuple(
            name
            for name, kind in runs.schema.items()
            if name in words
            and (kind.is_numeric() or name in TOLD)
            and name not in (*selecting, EQUAL)
            and not name.endswith("_rank")
        )
    )
    facts = ("experiment_id", *IDENTITY, "result_path")
    runs = runs.rename({"path": RAW_FILE}, strict=False)
    if missing := [name for name in facts if name not in runs.columns]:
        known = connection.sql("FROM labelled_runs").pl()
        runs = runs.join(known.select("run_id", *missing), on="run_id", how="left", maintain_order="left")
    shown = list(dict.fromkeys(["run_id", *facts, *selecting, *parts, *compared, *values]))
    # A run may have a row for each of its algorithms, unless they share it, or for each of its raw files.
    for telling, differing in ((ALGORITHM, []), (RAW_FILE, [RAW_FILE])):
        if telling in shown or telling not in runs.columns:
            continue
        rows = runs.select(*shown, *differing).unique()
        if parts or rows.select({"run_id", *selecting, *parts, *compared}).is_duplicated().any():
            compared, shown = (*compared, telling), [*shown, telling]
    rows = runs.select(shown).unique()
    order = ["session", "job", "host", "iteration", "rtt_ms", "run_id", *selecting, *parts, *compared]
    ordered = rows.sort(list(dict.fromkeys([*order, *shown])), nulls_last=True)
    files = files or load_files_by_algorithm(connection)
    return Trace(table, selecting, parts, compared, values, source, ordered, files)


def _load_parts(connection: duckdb.DuckDBPyConnection, table: str) -> pl.DataFrame:
    """Return what the numbers of a table of `PARTS` are means of: a row for each run and flow or client."""
    common, _, _ = read_query(table).rpartition("\nSELECT\n")
    parts: pl.DataFrame = connection.sql(f"{common}\n{PARTS[table]}").pl()
    return parts


def find_view(table: str) -> str:
    """Return the view of the runs that a table is made of."""
    return VIEWS.get(table, f"{table}_runs")


def name_source(table: str) -> str:
    """Return as SQL what a table is made of, to put behind FROM."""
    view = find_view(table)
    return f"(FROM {view} UNION ALL BY NAME FROM labelled_rpc)" if table in BESIDE_RPC else view


def recompute_row(connection: duckdb.DuckDBPyConnection, trace: Trace, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one row of a table as its query gives it over the runs of that row alone."""
    if trace.table in GROUPED:
        with restrict_edge(connection, trace.table, row, trace.select_source(row)):
            return pick_row(connection.sql(read_query(trace.table)).pl(), trace.table, row)
    view = find_view(trace.table)
    # What is registered is a temporary view, which comes before the database's own of the same name.
    connection.register(view, trace.select_source(row))
    try:
        rows = connection.sql(read_query(trace.table)).pl()
    finally:
        connection.unregister(view)
    return pick_row(rows, trace.table, row)


def pick_row(rows: pl.DataFrame, table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a table that has the key of another one."""
    key = load_schema(table).key
    computed: dict[str, Any] = rows.filter(*(pl.col(k).eq_missing(pl.lit(row[k])) for k in key)).row(0, named=True)
    return computed
