"""Runs that a row of a published table does not have although they look like its own: suspect, uncounted, others."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.text import count_things
from ccreport.measure.suspects.measure import RULES
from ccreport.summarise.database import quote_text
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.published import PUBLISHED_VALUES
from ccreport.summarise.questions import COMPARISONS
from ccreport.summarise.table_sources import RPC_TABLES
from ccreport.trace.rows.candidates import SUSPECT, explain_left_out, explain_unrecorded, write_candidates
from ccreport.trace.rows.edge import GROUPED, load_recorded_runs
from ccreport.trace.rows.load_trace import BESIDE_RPC, Trace, find_view, name_source

ANY: Final = "TRUE"
# More reasons would bury the rest.
REASONS_AT_MOST: Final = 6
# The table's own query asks for more than its condition does, such as two round-trip times.
IN_NO_ROW: Final = "selected, but the table's query makes no row of them"
SUSPECTS: Final = """
    SELECT run_id, suspect_rule, observed, bound, bound_unit FROM suspects WHERE list_contains(?, run_id) ORDER BY ALL
"""
FAILED_ATTEMPTS: Final = """
    SELECT run_id, attempt_outcome, coalesce(attempt_message, 'no reason is recorded'), count(*) AS attempts_count
    FROM attempts WHERE list_contains(?, run_id) AND attempt_outcome <> 'completed' GROUP BY ALL ORDER BY ALL
"""

# As the ledger's page says: what someone stopped says nothing of the next attempt.
UNCOUNTED: Final = {"interrupted": " (not counted as an attempt)"}


def read_condition(connection: duckdb.DuckDBPyConnection, trace: Trace, row: Mapping[str, Any]) -> str:
    """Return the condition by which the evaluation selects the runs of a row's table; no text where that has none."""
    return _read_own(connection, row["table_name"] if trace.table == COMPARISONS else trace.table)


def read_whole_condition(connection: duckdb.DuckDBPyConnection, table: str, summary: pl.DataFrame) -> str:
    """Return the condition by which runs are in any row of a table; no text where that has none."""
    asked = summary["table_name"].unique(maintain_order=True) if table == COMPARISONS else [table]
    conditions = list(dict.fromkeys(_read_own(connection, name) for name in asked))
    return " OR ".join(f"({one})" for one in conditions) if len(conditions) > 1 else conditions[0]


def _read_own(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    query = "SELECT comment FROM duckdb_views() WHERE view_name = ? AND comment IS NOT NULL"
    found = connection.execute(query, [find_view(table)]).fetchall()
    return str(found[0][0]) if found else ""


def describe_selection(condition: str, trace: Trace, row: Mapping[str, Any]) -> list[str]:
    """Return lines on how the runs of a row are selected, with a query that lists them."""
    if not condition or trace.table in GROUPED:
        return []
    names = [name for name in trace.list_labels(row) if row[name] is not None or trace.source[name].count()]
    query = f"FROM {name_source(trace.table)}{' WHERE ' if names else ''}{_write_values(names, row)}"
    lines = ["", "Which runs these are:", describe_condition(condition, trace.table), f"  The row's: {query}"]
    of_runs = [f"  Of each of these: {_write_values(trace.parts, row)}"] if trace.parts else []
    return [*lines, *of_runs]


def _write_values(names: Iterable[str], row: Mapping[str, Any]) -> str:
    parts = (f"{name} {'IS NULL' if row[name] is None else f'= {_quote(row[name])}'}" for name in names)
    return " AND ".join(parts)


def describe_condition(condition: str, table: str) -> str:
    """Return a line on the condition by which the runs of a table are selected."""
    shown = " ".join(condition.split())
    is_any = shown.upper() == ANY
    if table == PUBLISHED_VALUES:
        own = "the runs that published values are compared with"
    elif table in RPC_TABLES:
        own = "all tests of RPCs" if is_any else f"the tests of RPCs that have {shown}"
    else:
        runs, more = ("all runs", "") if is_any else ("the runs", f" and {shown}")
        own = f"{runs} that count and have the rate that it takes{more}"
        own += ", and of all tests of RPCs" if table in BESIDE_RPC else ""
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
    """Return lines on runs that have a row's labels, or its conditions, and are not among its own.

    Suspect ones that would be among them are listed, with what is suspect; of others it is counted why they are not,
    and they are listed if the text `is_full`.
    """
    if trace.table in GROUPED:
        return describe_recorded_runs(connection, trace, trace.select_source(row), is_full=is_full)
    if (alike := _find_alike(connection, condition, trace, row)) is None:
        return []
    reasons = explain_left_out(
        connection, trace, condition, alike, lambda held, text: f"{held}, where the table has {text}"
    )
    lines, has_reasons = _list_reasons(connection, reasons, REASONS_AT_MOST, is_full=is_full)
    hint = " (--full lists all)" if has_reasons and not is_full else ""
    return ["", f"Left out, though alike{hint}:", *(lines or ["  no run"])]


def _find_alike(
    connection: duckdb.DuckDBPyConnection, condition: str, trace: Trace, row: Mapping[str, Any]
) -> pl.DataFrame | None:
    """Return the runs that have a row's labels, or where runs have none of these its conditions, and are not its own.

    Null where that says nothing of them: of a row without runs, or of a table without a condition.
    """
    runs: pl.DataFrame = connection.sql(write_candidates(connection, trace.table)).pl()
    labels = trace.list_labels(row)
    if labels and set(labels) <= set(runs.columns):
        own = trace.select_source(row)["run_id"].unique()
        return runs.filter(~pl.col("run_id").is_in(own.implode()), *trace.match_labels(row))
    own = trace.select_runs(row)["run_id"].unique()
    if not condition or own.is_empty():
        return None
    conditions = runs.filter(pl.col("run_id").is_in(own.implode())).select("condition_id")
    # Runs of the same conditions may be those of another row.
    return runs.join(conditions, on="condition_id", how="semi").join(trace.source, on="run_id", how="anti")


def describe_runs_of_table(
    connection: duckdb.DuckDBPyConnection, condition: str, trace: Trace, summary: pl.DataFrame, *, is_full: bool = False
) -> list[str]:
    """Return lines on how the runs of a table are selected, and on all others, with the part that each fails.

    Suspect ones that would be among them are listed; others are counted, and listed if the text `is_full`.
    """
    runs = connection.sql(write_candidates(connection, trace.table)).pl()
    own = trace.list_runs(summary)
    others = runs.filter(~pl.col("run_id").is_in(own.implode()))
    reasons = explain_left_out(connection, trace, condition, others, lambda _, text: f"`{text}` is not true")
    reasons |= dict.fromkeys({*trace.source["run_id"]} - {*own}, IN_NO_ROW)
    lines, has_reasons = _list_reasons(connection, reasons, None, is_full=is_full)
    hint = ", by the first reason that each has" + ("" if is_full or not has_reasons else " (--full lists all)")
    return [
        "",
        f"Which runs it has ({len(own):,} of {runs['run_id'].n_unique():,}):",
        describe_condition(condition, trace.table),
        "",
        f"Left out of the table ({len(reasons):,}){hint}:",
        *(lines or ["  no run"]),
    ]


def describe_recorded_runs(
    connection: duckdb.DuckDBPyConnection, trace: Trace, files: pl.DataFrame, *, is_full: bool = False
) -> list[str]:
    """Return lines on the runs during which files of an edge network were recorded, and on those that do not count.

    Nothing is said of what was recorded outside of runs.
    """
    recorded = load_recorded_runs(connection, trace.table).join(files, on="raw_file_id", how="semi")
    if recorded.is_empty():
        return []
    reasons = explain_unrecorded(connection, trace, recorded)
    count = recorded["run_id"].n_unique()
    lines, _ = _list_reasons(connection, reasons, None, is_full=is_full)
    return [
        "",
        f"Which runs the files were recorded during ({count - len(reasons):,} of {count:,} count):",
        "  What was recorded during other runs is left out; of the rest, what moved too little data is filtered out.",
        "",
        f"Left out with all that was recorded during them ({len(reasons):,}):",
        *(lines or ["  no run"]),
    ]


def _list_reasons(
    connection: duckdb.DuckDBPyConnection, reason_of: Mapping[str, str], at_most: int | None, *, is_full: bool
) -> tuple[list[str], bool]:
    """Return lines on why runs are left out, and whether some are so for another reason than that they are suspect.

    At most so many reasons are told unless `is_full`.
    """
    reasons: dict[str, list[str]] = {}
    for run, reason in reason_of.items():
        reasons.setdefault(reason, []).append(run)
    lines = list_suspects(connection, reasons.pop(SUSPECT, []))
    ranked = sorted(reasons.items(), key=lambda told: (-len(told[1]), told[0]))
    shown_count = len(ranked) if is_full or at_most is None else at_most
    for reason, found in ranked[:shown_count]:
        lines.append(f"  {count_things(len(found), 'run')}: {reason}")
        lines += [f"    {run}" for run in sorted(found)] if is_full else []
    if left := ranked[shown_count:]:
        count = sum(len(found) for _, found in left)
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
        *(
            f"    {run}, {count_things(n, 'attempt')} {outcome}{UNCOUNTED.get(outcome, '')}: {why}"
            for run, outcome, why, n in attempts
        ),
        *(f"    {rule.name}: {rule.definition} {rule.reason}" for rule in RULES if rule.name in broken),
    ]


def tell_rule(rule: str, observed: float, bound: float, unit: str) -> str:
    """Return which rule a suspect run breaks, by what was observed and the bound."""
    return f"{rule}: {show_count(observed)} {unit}, the bound is {show_count(bound)}"


def show_count(value: float) -> str:
    """Return a whole number as it is, another with three digits."""
    return f"{value:,.0f}" if value == round(value) else show_plain(value)
