"""The section of a row on a page of cells: its numbers, its runs and their raw files, what it leaves out, a command."""

import shlex
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.core.tables import load_schema
from ccreport.core.text import count_things
from ccreport.report.fragments.cell_rows.raw_files import render_raw_files
from ccreport.report.markup.blocks import (
    Html,
    close_fold,
    link_run,
    open_fold,
    render_quotation,
    render_varying,
    text,
    verbatim,
)
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.summarise.grids.plain_numbers import (
    BASIS,
    MEGABITS,
    VALUE,
    RateUnit,
    find_quantity,
    list_numbers,
    name_column,
    name_key,
    round_value,
)
from ccreport.summarise.grids.shown_columns import find_ends
from ccreport.summarise.questions import COMPARISONS
from ccreport.trace.find_table import show_database
from ccreport.trace.rows.load_trace import RAW_FILE, Trace
from ccreport.trace.rows.select_rows import name_row
from ccreport.trace.rows.suspects import SuspectRun

# What a comparison found, before how it was tested.
FOUND: Final = (
    *("verdict", "effect_mean_ratio", "first_runs_count", "second_runs_count"),
    *("first_mean", "second_mean", "difference_mean"),
)
# What names a run to a reader.
NAMING: Final = ("job", "iteration", "session")
# More suspect runs are only counted.
SUSPECTS_AT_MOST: Final = 5


def render_row(
    trace: Trace,
    number: int,
    row: Mapping[str, Any],
    shown: Mapping[str, Any],
    runs: pl.DataFrame,
    declared: Mapping[str, Any],
    *,
    runs_at_most: int | None = None,
    suspects: Sequence[SuspectRun] = (),
) -> list[str]:
    """Return the section of a row; `shown` is the row with its quantity and the numbers of it in a unit for readers.

    `declared` is as `render_page` has it, `suspects` are the runs that the row would have if they were not suspect. Of
    many runs the first `runs_at_most` are listed.
    """
    key, line = load_schema(trace.table).key, " · ".join(name_line(trace.table, shown, declared.get("shared", ())))
    parts = [f"## {escape_text(line)} {{#cell-{number}}}\n"]
    rates = declared.get("rates", MEGABITS)
    numbers = {name: value for name, value in shown.items() if name not in key}
    found, details = _part_findings(numbers) if trace.table == COMPARISONS else (numbers, {})
    parts.append(render_numbers(found, rates, row.get(BASIS)))
    parts += _render_suspects(suspects)
    listed = runs if runs_at_most is None else runs.head(runs_at_most)
    whole = listed.height == runs.height
    counted = count_things(runs["run_id"].n_unique(), trace.noun)
    # Closed, so that a page of many rows can be read.
    first = listed["run_id"].n_unique()
    parts.append(open_fold(f"Made of {counted}" if whole else f"The first {first:,} of {counted}"))
    parts.append(_render_runs(trace, listed, line, find_quantity(row), rates))
    parts += render_raw_files(listed, trace.files)
    # A path in it may hold a line break, which is written as \\n on its one line.
    command = write_command(trace.table, row, declared).replace("\n", "\\n")
    parts.append(fence_html("<p>Computed again by this command:</p>"))
    parts += [render_quotation(command, f"Command of {line}"), close_fold()]
    # A link to the row opens the first fold.
    parts += [open_fold("Test details"), render_numbers(details, rates), close_fold()] if details else []
    return parts


def name_line(table: str, shown: Mapping[str, Any], shared: Container[str] = ()) -> list[str]:
    """Return the words that name a line of a table, but for what all have and identifiers that only machines read."""
    named = [name for name in load_schema(table).key if not name.endswith("_id") and name not in shared]
    return [name_key(name, shown[name]) for name in named]


def render_numbers(numbers: Mapping[str, Any], rates: RateUnit = MEGABITS, basis: str | None = None) -> str:
    """Return the numbers of a row side by side, as `list_numbers` has them."""
    listed = list_numbers(numbers, rates=rates, basis=basis)
    parts = [f"<div><dt>{text(name)}</dt><dd>{text(shown)}</dd></div>" for name, shown in listed]
    return fence_html(f'<dl class="numbers">\n{"".join(parts)}\n</dl>')


def _part_findings(numbers: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the numbers of what a comparison found, and those of how it was tested."""
    ends = find_ends(numbers)
    of_findings = {*FOUND, *(end for name in FOUND for end in ends.get(name, ()))}
    found = {name: numbers[name] for name in FOUND if name in numbers}
    found |= {name: value for name, value in numbers.items() if name in of_findings}
    return found, {name: value for name, value in numbers.items() if name not in of_findings}


def _render_suspects(suspects: Sequence[SuspectRun]) -> list[str]:
    """Return how many runs a row would have if they were not suspect, and what is suspect; nothing without any."""
    if not suspects:
        return []
    listed = [
        f"{link_run(suspect.run_id, verbatim(suspect.run_id, is_long=True))} ({text('; '.join(suspect.reasons))})"
        for suspect in suspects[:SUSPECTS_AT_MOST]
    ]
    more = [f"{len(suspects) - SUSPECTS_AT_MOST:,} more"] if len(suspects) > SUSPECTS_AT_MOST else []
    link = f'<a href="ledger.html#suspects">{count_things(len(suspects), "suspect run")}</a>'
    are = "is" if len(suspects) == 1 else "are"
    return [fence_html(f"<p>{link} of the same conditions {are} left out: {'; '.join([*listed, *more])}.</p>")]


def _render_runs(trace: Trace, runs: pl.DataFrame, line: str, quantity: str, rates: RateUnit) -> str:
    """Return the table of a line's runs, in which what all have is said once; `quantity` is what `value` is of."""
    schema = runs.schema
    # What names a run is in its link.
    naming = [name for name in NAMING if name in trace.shown]
    # As in a terminal, what none of the runs has is left out.
    columns = [name for name in trace.shown if name not in naming and (runs.is_empty() or runs[name].count())]
    # By places: a frame of other columns for each row of a table takes longer than its lines.
    places = [runs.get_column_index(name) for name in columns]
    words = [runs.get_column_index(name) for name in naming]
    run, result = map(runs.get_column_index, ("run_id", "result_path"))
    names = [quantity if name == VALUE else name for name in columns]
    rows = [
        [
            *(_show(name, values[place], rates) for name, place in zip(names, places, strict=True)),
            _link_run(values[run], values[result], _name_run(naming, [values[word] for word in words])),
        ]
        for values in runs.rows()
    ]
    numbers = [place for place, name in enumerate(columns) if schema[name].is_numeric()]
    noun = trace.noun.capitalize()
    header = [*(name_column(name, rates) for name in names), noun]
    return render_varying(header, rows, title=f"{noun}s of {line}", numbers=numbers)


def _name_run(naming: Sequence[str], values: Sequence[Any]) -> str:
    """Return a run by its job, iteration and session, as far as they are known; empty without a job."""
    known = {name: value for name, value in zip(naming, values, strict=True) if value is not None}
    if "job" not in known:
        return ""
    return ", ".join(str(value) if name == "job" else f"{name} {value}" for name, value in known.items())


def _show(column: str, value: Any, rates: RateUnit) -> Html:
    if column == RAW_FILE:
        return verbatim(value, is_long=True)
    # In code font a name stays on one line.
    if value is None or column in ("session", "job", "host"):
        return _show_name(value)
    return _show_text(round_value(column, value, rates))


# A run is in several tables. Kept by the text: as numbers 1 and 1.0, or 0.0 and -0.0, would be one.
@lru_cache(maxsize=2**16)
def _show_text(value: str) -> Html:
    return text(value)


@lru_cache(maxsize=2**14)
def _show_name(name: str | None) -> Html:
    return verbatim(name)


@lru_cache(maxsize=2**14)
def _link_run(run_id: str, result_path: str | None, words: str) -> Html:
    """Return a run's words, or its name, which leads to the explorer; a row of a result file has no series there."""
    if result_path is not None:
        return text(words) if words else verbatim(run_id, is_long=True)
    return link_run(run_id, text(words) if words else None)


def write_command(table: str, row: Mapping[str, Any], declared: Mapping[str, Any]) -> str:
    """Return the command line that explains a row of a table."""
    key = load_schema(table).key
    columns = tuple(name for name in declared.get("columns", ()) if name in key)
    rows = tuple(name for name in key if name not in columns)
    options = [("--row", rows), ("--column", columns)]
    words = [word for option, names in options if names for word in (option, name_row(table, row, names))]
    # Evaluations may have tables of the same name.
    if "database" in declared:
        words += ["--database", str(show_database(Path(declared["database"])))]
    return shlex.join(["python", "-m", "ccreport", "explain", table, *words])
