"""What a number of a published table is made of: its runs, their raw files, and the number computed from them alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ccreport.core.errors import InputError
from ccreport.core.tables import load_schema
from ccreport.core.text import display_name
from ccreport.summarise.compute_table import add_statistics
from ccreport.summarise.database import quote_name
from ccreport.summarise.grids.headings import QUANTITIES, name_quantities
from ccreport.summarise.grids.plain_numbers import find_quantity
from ccreport.summarise.open_results import open_results
from ccreport.summarise.questions import COMPARISONS
from ccreport.trace.claims.explain_claim import describe_claim, find_claim, has_claim
from ccreport.trace.claims.judged import list_claims
from ccreport.trace.compared_cells import show_compared
from ccreport.trace.comparison import TERMS, describe_comparison
from ccreport.trace.explain_exhibit import KINDS, describe_all, describe_figure, find_exhibit, has_exhibit, has_namesake
from ccreport.trace.find_table import (
    advise_build,
    describe_others,
    find_database,
    find_databases,
    find_results,
    find_table,
    list_tables,
    note_unconfigured,
    resolve_built,
)
from ccreport.trace.origins.declared_places import describe_declared
from ccreport.trace.origins.sources import describe_numbers, describe_sources, show_query
from ccreport.trace.pairs_figure import refuse_pairs
from ccreport.trace.rows.edge import GROUPED
from ccreport.trace.rows.left_out import describe_left_out, describe_selection, read_condition
from ccreport.trace.rows.load_trace import Trace, load_trace, pick_row, recompute_row
from ccreport.trace.rows.select_rows import find_row, name_row
from ccreport.trace.rows.whole_table import describe_table
from ccreport.trace.shown_runs import show_files, show_numbers, show_runs


def explain(
    table: str = "",
    /,
    row: str = "",
    column: str = "",
    database: Path | None = None,
    evaluation: str = "",
    *,
    full: bool = False,
) -> None:
    """Print what a table's cell, a claim or a figure is made of: runs, raw files and SQL; the cell is computed anew.

    `table` may be the name of a table or the beginning of one, or its number in the report, as Table II; or a claim's
    name or number, as 'claim 2', which prints its checks with values, bounds, queries and runs; or a figure's name or
    number, as S6; without it all are listed, by `figures` those. `evaluation` is the name or file of the evaluation to
    ask, of a claim also its file, if that has moved since the build. `row` names a table's cell, as `test_group=no
    loss,flows_count=16`: each as key=value, with a value of the CSV file or some words of it; keys that are numbers by
    <, <=, > and >= too, as `flows_count>=16`; without it a table's rows are listed, with the runs that it leaves out.
    `column` names it as well: it does not matter which of the two options a key is in. `database` is an evaluation's,
    or a folder of results, where the configured evaluation goes before others; without it, the folder that config.yaml
    names. `full` lists all runs and raw files, and prints a long query, too.
    """
    place = find_results(database)
    refuse_pairs(table, place)
    if evaluation:
        evaluation = str(resolve_built(evaluation, place))
        place = _narrow(place, evaluation, table)
    else:
        note_unconfigured(database)
    kind = table.casefold().removesuffix("s")
    if kind in ("", *KINDS):
        if row or column:
            raise InputError("--row and --column name a row of a table: name the table, too, such as `explain jobs`")
        print(describe_all(place, kind))
        return
    exhibit = find_exhibit(place, table, evaluation)
    claim = None if exhibit else find_claim(place, table)
    about = f"{claim[1]} is a claim" if claim else f"{table} is a figure" if exhibit and exhibit[1].is_figure else ""
    if about and (row or column):
        raise InputError(f"{about}, which has no rows; leave out --row and --column")
    if claim:
        of_claim, called = claim
        print(describe_claim(of_claim, called, evaluation, is_full=full))
        print(describe_others(place, of_claim, table, lambda other: has_claim(other, called, table)), end="")
        return
    asked = table
    if exhibit and exhibit[1].is_figure:
        if exhibit[1].number == asked.upper() and has_namesake(*exhibit, evaluation):
            print(f"Table {asked.upper()} is another matter: explain 'Table {asked.upper()}'\n")
        print(describe_figure(*exhibit, evaluation, is_full=full))
        if asked.isdecimal() and int(asked) <= len(list_claims(exhibit[0])):
            print(f"Claim {asked} is another matter: explain 'claim {asked}'")
        print(describe_others(place, exhibit[0], asked, lambda other: has_exhibit(other, asked)), end="")
        return
    table = exhibit[1].name if exhibit else table
    of_table = exhibit[0] if exhibit else find_database(place, table)
    with open_results(of_table) as connection:
        name = find_table(connection, table)
        summary = connection.sql(f"FROM {quote_name(name)}").pl()
        if not (row or column) and summary.height > 1:
            told = describe_table(connection, name, summary, is_full=full)
            print(f"{of_table.resolve().parent.name}, " + "\n".join(map(display_name, told)))
            return
        grouped = connection.sql("SELECT algorithm, list(cc ORDER BY cc) FROM algorithms GROUP BY algorithm").fetchall()
        number = find_row(summary, name, row, column, members=dict(grouped))
        chosen = summary.row(number - 1, named=True)
        trace = load_trace(connection, name)
        computed = recompute_row(connection, trace, chosen)
        condition = read_condition(connection, trace, chosen)
        selected = describe_selection(condition, trace, chosen)
        selected += describe_left_out(connection, condition, trace, chosen, is_full=full)
    compared = show_compared(of_table.resolve().parent, name, chosen)
    computed = _complete_row(summary, name, number, computed)
    declared = describe_declared(of_table, evaluation, name, chosen, is_full=full)
    print(_show(trace, number, computed, compared, selected, declared, of_table, is_full=full))

    def has_it(other: Path) -> bool:
        return has_exhibit(other, asked) if exhibit else name in list_tables(other)

    print(describe_others(place, of_table, asked if exhibit else name, has_it), end="")


def _narrow(place: Path, evaluation: str, table: str) -> Path:
    """Return the database of an evaluation at a place; the place itself for what a file that was not built declares."""
    name = Path(evaluation).stem
    own = (database for database in find_databases(place) if database.resolve().parent.name == name)
    if (found := next(own, None)) is None and not (
        table and (find_exhibit(place, table, evaluation) or find_claim(place, table))
    ):
        raise InputError(f"no results of the evaluation `{name}` at {place}; {advise_build(name, place)}")
    return found or place


def _complete_row(summary: pl.DataFrame, table: str, number: int, computed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a computed row of a table with its statistics, as Holm's correction may depend on the other rows."""
    own = pl.DataFrame([computed], schema=summary.schema)
    return pick_row(add_statistics(pl.concat([summary[: number - 1], own, summary[number:]]), table), table, computed)


def _show(
    trace: Trace,
    number: int,
    row: Mapping[str, Any],
    compared: Sequence[str],
    selected: Sequence[str],
    declared: Sequence[str],
    database: Path,
    *,
    is_full: bool,
) -> str:
    """Return the text on a number; `compared` are lines on what it was compared with, `selected` on its runs,
    `declared` on what its evaluation says.

    Of many raw files the first are listed, and a long query is only named, unless the text `is_full`.
    """
    unpacked = database.parent.parent / "archive"
    (shown,) = name_quantities(pl.DataFrame([row], infer_schema_length=None)).to_dicts()
    # The unit of a row's numbers may be that of its quantity.
    names = {*load_schema(trace.table).key} - {*QUANTITIES}
    numbers = {name: value for name, value in shown.items() if name not in names}
    runs = trace.select_runs(row)
    # What the row has not tells it apart and nothing else.
    told = name_row(trace.table, row, (name for name in load_schema(trace.table).key if row[name] is not None))
    lines = [f"{database.resolve().parent.name}, {trace.table}, row {number}: {told}", ""]
    if trace.table == COMPARISONS:
        lines += [*describe_comparison(shown), *TERMS, ""]
    lines += [f"Computed again from the {trace.noun}s below alone:", *show_numbers(numbers)]
    lines += [*compared, ""]
    heading, quantity = f"{trace.noun.capitalize()}s", find_quantity(row)
    lines += show_runs(heading, runs, trace.shown, quantity=quantity, noun=trace.noun, is_full=is_full)
    lines += [*selected, *show_files(runs, trace.files, unpacked, is_full=is_full)]
    if trace.table not in GROUPED:
        lines += describe_sources(trace.table, [name for name in trace.values if runs[name].count()], row)
    lines += [*describe_numbers(trace.table, row), ""]
    if (written := database.parent / f"summaries/{trace.table}.csv").is_file():
        lines.append(f"All digits: {written}, row {number}")
    lines += [*declared, *show_query(trace.table, is_full=is_full)]
    # A terminal obeys what a name of the archive may contain.
    return "\n".join(map(display_name, lines))
