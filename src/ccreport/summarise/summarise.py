"""Published tables: each the result of one query over the database, as Parquet, CSV, HTML and LaTeX."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.atomic_files import replaces_folder
from ccreport.core.csv_files import write_csv
from ccreport.core.evaluation import MEANS, load_evaluation
from ccreport.core.tables import TableError, TableWriter, load_schema
from ccreport.summarise.algorithm_names import show_algorithms
from ccreport.summarise.compute_table import STATISTICS, compute_table
from ccreport.summarise.database import QueryError, connect
from ccreport.summarise.grids.cells import NOTHING_BOLD, Bold, lay_out_cells, lay_out_rows
from ccreport.summarise.grids.formats.html import format_html
from ccreport.summarise.grids.formats.latex import format_latex
from ccreport.summarise.grids.grid import Grid, leave_out_narrow
from ccreport.summarise.grids.headings import NO_HEADINGS
from ccreport.summarise.grids.label_names import call_labels
from ccreport.summarise.grids.links import select_shown
from ccreport.summarise.grids.measures import (
    head_rows,
    name_rates,
    order_columns,
    select_measures,
    select_rows,
    set_side_by_side,
    show_labels,
)
from ccreport.summarise.grids.order import order_rows
from ccreport.summarise.grids.pairs import head_measures, is_of_pairs, name_pair, say_nothing_compared
from ccreport.summarise.grids.pooled_settings import describe_pooled, explain_missing_intervals
from ccreport.summarise.grids.publication import (
    describe_pooled_rtts,
    head_columns,
    list_rtts,
    mark_unpublished,
)
from ccreport.summarise.grids.shared_runs import share_names, share_runs
from ccreport.summarise.grids.table_titles import name_tables, shorten_titles
from ccreport.summarise.grids.with_suspects import describe_suspects
from ccreport.summarise.questions import ask_table, find_bold
from ccreport.summarise.statistics.comparisons import judge_questions
from ccreport.summarise.suspect_runs import include_suspects

RATE_NAMES: Final = {"goodput": "receiver's rate (goodput)", "throughput": "sender's rate (throughput)"}
# Queries at a time, each of one thread.
THREADS: Final = 2


@replaces_folder("output")
def summarise_tables(evaluation: Path, database: Path, output: Path) -> None:
    """Write all published tables of an evaluation into a folder, as `summarise_table` does each."""
    whole = load_evaluation(evaluation)
    declared = whole["tables"]
    names = {"short_titles": shorten_titles(declared), "evaluation": whole}
    published = {
        table: {"published": evaluation.parent / facts["expected"]} for table, facts in whole["reproduction"].items()
    }

    def summarise(table: str) -> None:
        with connect(database) as connection:
            summarise_table(connection, table, declared[table] | names | published.get(table, {}), output)

    with ThreadPoolExecutor(THREADS) as threads:
        # What has statistics takes longest; another is made meanwhile.
        list(threads.map(summarise, sorted(declared, key=lambda table: table not in STATISTICS)))


def summarise_table(connection: duckdb.DuckDBPyConnection, table: str, declared: dict[str, Any], output: Path) -> None:
    """Write one published table as `<table>.parquet`, `.csv`, `.html` and `.tex`; its query is the view of that name.

    All four have the rows in the order of the query; HTML and LaTeX may have only the first (`rows_at_most`). Raise
    QueryError where the query fails, TableError where its result is not as the schema says.
    """
    summary = compute_table(connection, table)
    if summary.select(load_schema(table).key).is_duplicated().any():
        raise TableError(f"{table}: rows repeat the key")
    output.mkdir(parents=True, exist_ok=True)
    with TableWriter(table, output / f"{table}.parquet") as writer:
        writer.write_conformed(summary)
    write_csv(summary, output / f"{table}.csv")
    bold = NOTHING_BOLD
    if (questions := ask_table(connection, table)) is not None:
        bold = find_bold(connection, table, declared, summary, judge_questions(questions))
    grid = lay_out_table(summary, table, declared, count_runs(connection, table, "is_cpu_bound"), bold)
    if table == MEANS:
        grid.notes.extend(filter(None, (describe_pooled(connection, declared), explain_missing_intervals(summary))))
    if pooled := describe_pooled_rtts(connection, table):
        grid.notes.append(pooled)
    with include_suspects(connection):
        if suspects_count := count_runs(connection, table, "is_suspect"):
            whole, with_suspects = (
                lay_out_table(rows, table, declared, is_whole=True)
                for rows in (summary, compute_table(connection, table))
            )
            if sentence := describe_suspects(grid, whole, with_suspects, suspects_count):
                grid.notes.append(sentence)
    if "rtt_bucket" in declared.get("columns", ()):
        grid = head_columns(grid, list_rtts(connection, table))
    if "published" in declared:
        keys = summary.select(declared["rows"])
        grid = mark_unpublished(grid, declared["published"], keys, declared.get("evaluation"))
    grid = leave_out_narrow(share_names(share_runs(grid)))
    (output / f"{table}.html").write_text(format_html(grid), encoding="utf-8")
    (output / f"{table}.tex").write_text(format_latex(grid), encoding="utf-8")


def count_runs(connection: duckdb.DuckDBPyConnection, table: str, condition: str) -> int:
    """Return for how many of the runs that a published table is made of a column is true; none where it has no such."""
    try:
        selected = connection.table(f"{table}_runs")
        if condition not in selected.columns:
            return 0
        (count,) = selected.filter(condition).aggregate("count(DISTINCT run_id)").fetchall()[0]
    except duckdb.Error as error:
        raise QueryError(f"{table}: {error}") from error
    return int(count)


def lay_out_table(
    summary: pl.DataFrame,
    table: str,
    declared: dict[str, Any],
    bound_count: int = 0,
    bold: Bold = NOTHING_BOLD,
    *,
    is_whole: bool = False,
) -> Grid:
    """Return a published table as it is shown: cells by row and column where the evaluation names these, else rows.

    `bound_count` is how many of its runs were CPU-bound, which a sentence below it says; `bold` are the rows of the
    summary whose numbers verdicts make bold, by column. With `is_whole` it has the columns of equal rows, too.
    """
    notes = [declared["note"]] if declared["note"] else []
    notes += [note for name, note in declared.get("column_notes", {}).items() if summary[name].count()]
    if bound_count:
        notes.append(f"{bound_count:,} of its runs {'was' if bound_count == 1 else 'were'} CPU-bound.")
    if "rate_basis" in summary.columns and summary["rate_basis"].count():
        basis = summary["rate_basis"].drop_nulls()[0]
        notes.append(f"Rate: {RATE_NAMES[basis]}.")
        if declared["rate"] == "goodput" != basis:
            notes.append("No selected run has a goodput.")
    summary, schema = show_labels(say_nothing_compared(summary), load_schema(table), declared)
    if "evaluation" in declared:
        summary = show_algorithms(call_labels(summary, declared["evaluation"]), declared["evaluation"])
    summary = name_tables(summary, declared.get("short_titles", {}))
    headings = declared.get("headings", NO_HEADINGS)
    if "rows" in declared and "measures" not in declared:
        return head_rows(lay_out_cells(summary, table, declared, notes, bold), headings)
    bases = summary["rate_basis"].drop_nulls().unique().to_list() if "rate_basis" in summary.columns else []
    shown = select_shown(summary.drop("rate_basis", strict=False), declared)
    if shown.height < summary.height:
        notes.append(f"The first {shown.height:,} of {summary.height:,} rows; the CSV file has all of them.")
    bold = {column: rows.head(shown.height) for column, rows in bold.items()}
    lay_out = partial(
        lay_out_rows, title=declared["title"], notes=notes, bold=bold, headings=headings, is_whole=is_whole
    )
    if "measures" not in declared:
        return head_rows(name_rates(lay_out(shown, schema), bases), headings)
    named = declared.get("rows", ())
    schema = order_columns(schema, named)
    chosen = select_measures(shown, schema, declared)
    if is_of_pairs(chosen):
        return head_rows(name_pair(lay_out(head_measures(chosen), schema), chosen), headings)
    order = order_rows(chosen, named)
    grid = select_rows(name_rates(lay_out(chosen, schema), bases), order)
    return head_rows(set_side_by_side(grid, chosen[order], declared.get("columns", ())), headings)
