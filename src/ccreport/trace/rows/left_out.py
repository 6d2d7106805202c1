"""Runs that a row of a published table does not have although they look like its own: suspect, uncounted, others."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.text import count_things
from ccreport.measure.suspects.measure import RULES
from ccreport.summarise.database import quote_name, quote_text
from ccreport.summarise.grids.plain_numbers import name_column, round_value, show_plain
from ccreport.summarise.open_database import fetch_rows
from ccreport.summarise.questions import COMPARISONS
from ccreport.trace.claims.checked_runs import list_conjuncts, parse_query, write_condition
from ccreport.trace.rows.edge import GROUPED
from ccreport.trace.rows.load_trace import Trace, find_view

ANY: Final = "TRUE"
# More reasons would bury the rest.
REASONS_AT_MOST: Final = 6
SUSPECTS: Final = """
    SELECT run_id, suspect_rule, observed, bound, bound_unit FROM suspects WHERE list_contains(?, run_id) ORDER BY ALL
"""
FAILED_ATTEMPTS: Final = """
    SELECT run_id, attempt_outcome, coalesce(attempt_message, 'no reason is recorded'), count(*) AS attempts_count
    FROM attempts WHERE list_contains(?, run_id) AND attempt_outcome <> 'completed' GROUP BY ALL ORDER BY ALL
"""


def read_condition(connection: duckdb.DuckDBPyConnection, trace: Trace, row: Mapping[str, Any]) -> str:
    """Return the condition by which the evaluation selects the runs of a row's table; no text where that has none."""
    asked = row["table_name"] if trace.table == COMPARISONS else trace.table
    query = "SELECT comment FROM duckdb_views() WHERE view_name = ? AND comment IS NOT NULL"
    found = connection.execute(query, [find_view(asked)]).fetchall()
    return str(found[0][0]) if found else ""


def describe_selection(condition: str, trace: Trace, row: Mapping[str, Any]) -> list[str]:
    """Return lines on how the runs of a row are selected, with a query that lists them."""
    if not condition or trace.table in GROUPED:
        return []
    which = [f"{name} = {_quote(row[name])}" for name in trace.list_labels(row) if row[name] is not None]
    query = f"FROM {find_view(trace.table)}{' WHERE ' if which else ''}{' AND '.join(which)}"
    return ["", "Which runs these are:", describe_condition(condition), f"  The row's: {query}"]


def describe_condition(condition: str) -> str:
    """Return a line on the condition by which the runs of a table are selected."""
    shown = " ".join(condition.split())
    own = "all runs that count" if shown.upper() == ANY else f"the runs that count and have {shown}"
    return f"  The table is made of {own}."


def _quote(value: object) -> str:
    return quote_text(value) if isinstance(value, str) else str(value)


def describe_left_out(
    connection: duckdb.DuckDBPyConnection,
    condition: str,
    trace: Trace,
    row: Mapping[str, Any],
    *,
    is_full: bool = False,
) -> list[str]:
    """Return lines on runs that have a row's labels and are not among its own.

    Suspect ones that would be among them are listed, with what is suspect; of others it is counted why they are not,
    and they are listed if the text `is_full`.
    """
    runs = connection.sql("FROM all_algorithm_runs").pl()
    own = trace.select_runs(row)["run_id"].unique()
    labels = [name for name in trace.list_labels(row) if row[name] is not None]
    # Where rows are told apart by more than the labels of runs, others that have these are not alike.
    if not labels or set(labels) - set(runs.columns):
        return []
    alike = runs.filter(~pl.col("run_id").is_in(own.implode()), *(pl.col(name) == row[name] for name in labels))
    failing = {
        run: f"{held}, where the table has {text}" for run, held, text in find_failing(connection, condition, alike)
    }
    lines, has_reasons = _list_reasons(connection, alike, failing, REASONS_AT_MOST, is_full=is_full)
    hint = " (--full lists all)" if has_reasons and not is_full else ""
    return ["", f"Left out, though alike{hint}:", *(lines or ["  no run"])]


def describe_left_out_of_table(
    connection: duckdb.DuckDBPyConnection, condition: str, trace: Trace, *, is_full: bool = False
) -> list[str]:
    """Return lines on all runs that a table selected by a condition is not made of, with the part that each fails.

    Suspect ones that would be among them are listed; others are counted, and listed if the text `is_full`.
    """
    runs = connection.sql("FROM all_algorithm_runs").pl()
    others = runs.filter(~pl.col("run_id").is_in(trace.runs["run_id"].unique().implode()))
    failing = {run: f"`{text}` is not true" for run, _, text in find_failing(connection, condition, others)}
    lines, has_reasons = _list_reasons(connection, others, failing, None, is_full=is_full)
    hint = ", by the first reason that each has" + ("" if is_full or not has_reasons else " (--full lists all)")
    return ["", f"Left out of the table{hint}:", *(lines or ["  no run"])]


def _list_reasons(
    connection: duckdb.DuckDBPyConnection,
    runs: pl.DataFrame,
    failing: Mapping[str, str],
    at_most: int | None,
    *,
    is_full: bool,
) -> tuple[list[str], bool]:
    """Return lines on why runs are left out, and whether some are so for another reason than that they are suspect.

    `failing` has why, of those that a condition leaves out; at most so many reasons are told unless `is_full`.
    """
    reasons: dict[str, set[str]] = {}
    suspects = set()
    for run, is_suspect, uncounted in runs.select("run_id", "is_suspect", explain_uncounted()).iter_rows():
        if uncounted is None and run not in failing and is_suspect:
            suspects.add(run)
        else:
            reason = f"not counted, {uncounted}" if uncounted else failing.get(run, "no rate")
            reasons.setdefault(reason, set()).add(run)
    lines = list_suspects(connection, suspects)
    ranked = sorted(reasons.items(), key=lambda told: (-len(told[1]), told[0]))
    shown_count = len(ranked) if is_full or at_most is None else at_most
    for reason, found in ranked[:shown_count]:
        lines.append(f"  {count_things(len(found), 'run')}: {reason}")
        lines += [f"    {run}" for run in sorted(found)] if is_full else []
    if left := ranked[shown_count:]:
        count = len(set().union(*(found for _, found in left)))
        lines.append(f"  {count_things(count, 'more run')} for {count_things(len(left), 'other reason')}")
    return lines, bool(reasons)


def describe_suspects(connection: duckdb.DuckDBPyConnection, runs: pl.DataFrame) -> list[str]:
    """Return lines on the suspect runs that repeat the conditions of some runs, and are not among them."""
    known = connection.sql("SELECT run_id, condition_id FROM all_labelled_runs").pl()
    own = pl.col("run_id").is_in(runs["run_id"].implode())
    conditions = known.filter(own)["condition_id"]
    lines = list_suspects(connection, known.filter(~own & pl.col("condition_id").is_in(conditions.implode()))["run_id"])
    return ["", "Left out as suspect, of the same conditions:", *(lines or ["  no run"])]


def list_suspects(connection: duckdb.DuckDBPyConnection, runs: Collection[str]) -> list[str]:
    """Return a line for each rule that some runs break, then lines on their failed attempts, and on each such rule."""
    found = connection.execute(SUSPECTS, [[*runs]]).fetchall()
    broken = {rule for _, rule, *_ in found}
    attempts = connection.execute(FAILED_ATTEMPTS, [[*runs]]).fetchall()
    return [
        *(f"  {run} ({tell_rule(*told)}; page Ledger)" for run, *told in found),
        *(f"    {run}, {count_things(n, 'attempt')} {outcome}: {why}" for run, outcome, why, n in attempts),
        *(f"    {rule.name}: {rule.definition} {rule.reason}" for rule in RULES if rule.name in broken),
    ]


def find_suspects(connection: duckdb.DuckDBPyConnection, condition: str) -> pl.DataFrame:
    """Return the suspect runs that a table with a condition would have otherwise: rows of `all_algorithm_runs`."""
    runs: pl.DataFrame = connection.sql("FROM all_algorithm_runs WHERE is_suspect").pl()
    failing = [run for run, *_ in find_failing(connection, condition, runs)]
    return runs.filter(explain_uncounted().is_null(), ~pl.col("run_id").is_in(failing))


def tell_rule(rule: str, observed: float, bound: float, unit: str) -> str:
    """Return which rule a suspect run breaks, by what was observed and the bound."""
    return f"{rule}: {show_count(observed)} {unit}, the bound is {show_count(bound)}"


def show_count(value: float) -> str:
    """Return a whole number as it is, another with three digits."""
    return f"{value:,.0f}" if value == round(value) else show_plain(value)


def find_failing(
    connection: duckdb.DuckDBPyConnection, condition: str, runs: pl.DataFrame
) -> Iterator[tuple[str, str, str]]:
    """Yield each run of which a condition is not true, with what it has, and the first part that this contradicts."""
    parts = list(_split(connection, condition))
    if runs.is_empty() or not parts:
        return
    tests = ", ".join(f"coalesce({text}, FALSE)" for text, _ in parts)
    columns = list(dict.fromkeys(name for _, names in parts for name in names if name in runs.columns))
    connection.register("runs_alike", runs)
    told = ", ".join(["run_id", f"[{tests}]", *map(quote_name, columns)])
    _, rows = fetch_rows(connection, f"SELECT {told} FROM runs_alike")  # noqa: S608 (names and conditions of files)
    connection.unregister("runs_alike")
    for run, passed, *values in rows:
        if not all(passed):
            text, names = parts[passed.index(False)]
            held = dict(zip(columns, values, strict=True))
            shown = (f"{name_column(name)} {round_value(name, held[name])}" for name in names if name in held)
            yield run, "; ".join(shown) or "other tests", text


def _split(connection: duckdb.DuckDBPyConnection, condition: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts of a condition that must all be true, each with the columns that it names."""
    parsed = parse_query(connection, f"FROM runs WHERE (\n{condition}\n)") if condition else None
    if parsed is None:
        return
    for part in list_conjuncts(parsed["where_clause"]):
        yield write_condition(connection, parsed, part), list(dict.fromkeys(_list_columns(part)))


def _list_columns(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node["column_names"][-1]
        node = list(node.values())
    if isinstance(node, Sequence) and not isinstance(node, str):
        for item in node:
            yield from _list_columns(item)


def explain_uncounted() -> pl.Expr:
    """Return why a run that does not count does not, as `is_counted` of the table `runs` has it; null where it does."""
    return (
        pl.when("is_counted")
        .then(None)
        .when("is_interrupted")
        .then(pl.lit("interrupted"))
        .when(pl.col("throughput_bps").is_null())
        .then(pl.lit("no rate"))
        .when("is_host_limited")
        .then(pl.lit("limited by its hosts"))
        .when("is_cpu_bound")
        .then(pl.lit("CPU-bound"))
        .otherwise(pl.lit("not TCP"))
    )
