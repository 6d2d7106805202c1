"""Pages that say of each cell of a published table what it is made of: `cells_<table>.qmd`, a section for each row.

A page's size grows with the runs behind its cells. One that would be too large for a browser leaves out all but the
first runs of each row, and says how to print what is left out.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

from ccreport.core.atomic_files import replaces_folder
from ccreport.core.declarations import name_query, read_query
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import load_schema, read_table
from ccreport.core.text import count_things, make_label
from ccreport.figures.exhibits import CAPTURE_TABLES
from ccreport.report.archive_fragments.raw_file_pages import link_jobs
from ccreport.report.markup.blocks import (
    Html,
    close_fold,
    link_run,
    markdown,
    open_fold,
    render_callout,
    render_quotation,
    render_varying,
    text,
    verbatim,
)
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.summarise.database import connect
from ccreport.summarise.grids.grid import rate_unit
from ccreport.summarise.grids.headings import find_quantity_unit, name_quantities, name_tables, shorten_titles
from ccreport.summarise.grids.links import ROWS_PER_PAGE, page_of_cells, select_shown
from ccreport.summarise.grids.plain_numbers import (
    MEGABITS,
    VALUE,
    RateUnit,
    find_ends,
    find_quantity,
    is_repeated,
    list_numbers,
    name_column,
    name_key,
    round_value,
)
from ccreport.trace.raw_files import load_read_files
from ccreport.trace.rows.load_trace import Trace, load_trace
from ccreport.trace.rows.select_rows import name_row

# The site's pages may have 3 MB; around this text comes what every page has.
LARGEST_BYTES: Final = 2_500_000
# About a run's line in a table, and a row's section around it.
RUN_BYTES: Final = 900
ROW_BYTES: Final = 2_000
# At least a run's line has this, with a name of one letter.
LINE_BYTES: Final = len('<tr><td><a href="explorer.html#run=r"><code>r</code></a></td></tr>')
LEFT_OUT: Final = "There are too many runs to list all of them here. The command of each row prints them."


@replaces_folder("output")
def trace_cells(evaluation: Path, database: Path, summaries: Path, output: Path) -> None:
    """Write the page of each published table of an evaluation into a folder, which is replaced."""
    tables = load_evaluation(evaluation)["tables"]
    about = {"evaluation": evaluation.stem, "short_titles": shorten_titles(tables)}
    with connect(database) as connection:
        files = load_read_files(connection)
        for table, declared in tables.items():
            shown = select_shown(read_table(table, [summaries / f"{table}.parquet"]), declared)
            trace = load_trace(connection, table, files)
            # A table without rows has a page as well.
            for first in range(1, max(shown.height, 1) + 1, ROWS_PER_PAGE):
                facts = (
                    declared
                    | about
                    | {"pages": _link_pages(table, shown.height, first), "rates": _find_rate_unit(shown)}
                )
                content = render_page(trace, shown[first - 1 : first - 1 + ROWS_PER_PAGE], facts, first=first)
                (output / f"{page_of_cells(table, first)}.qmd").write_text(content, encoding="utf-8")


def _find_rate_unit(summary: pl.DataFrame) -> RateUnit:
    """Return the unit that the published table has for its rates."""
    means = [name for name in summary.columns if name.endswith("_mean_bps")]
    return rate_unit(summary[means[0]]) if means else find_quantity_unit(summary)


def _link_pages(table: str, rows_count: int, shown: int) -> str:
    """Return links to the pages of a table, but for that whose first row is `shown`; nothing for a single page."""
    if rows_count <= ROWS_PER_PAGE:
        return ""
    parts = []
    for first in range(1, rows_count + 1, ROWS_PER_PAGE):
        rows = f"{first}–{min(first + ROWS_PER_PAGE - 1, rows_count)}"
        parts.append(f"**{rows}**" if first == shown else f"[{rows}]({page_of_cells(table, first)}.qmd)")
    return f"Rows {' · '.join(parts)}\n"


def render_page(
    trace: Trace, summary: pl.DataFrame, declared: Mapping[str, Any], largest: int = LARGEST_BYTES, first: int = 1
) -> str:
    """Return a page of one table; `summary` are its rows, whose numbers from `first` on name the sections.

    `declared` is what the evaluation declares of the table, under `evaluation` the evaluation's name, under
    `short_titles` what its tables are called in rows of others, under `pages` links to the table's other pages, and
    under `rates` the unit of its rates.
    """
    runs_of_rows = [trace.select_runs(row) for row in summary.iter_rows(named=True)]
    if sum(runs.height for runs in runs_of_rows) * LINE_BYTES > largest:
        return _render_first_runs(trace, summary, declared, largest, first)
    whole = [*_render_head(trace, summary, declared)]
    # The last part ends without a line break.
    size = _measure(whole) - 1
    rows = zip(
        summary.iter_rows(named=True), _name_rows(summary, declared).iter_rows(named=True), runs_of_rows, strict=True
    )
    for number, (row, shown, runs) in enumerate(rows, start=first):
        section = _render_row(trace, number, row, shown, runs, declared)
        whole += section
        size += _measure(section)
        if size > largest:
            return _render_first_runs(trace, summary, declared, largest, first)
    return "\n".join(whole)


def _name_rows(summary: pl.DataFrame, declared: Mapping[str, Any]) -> pl.DataFrame:
    return name_tables(name_quantities(summary, declared.get("rates")), declared.get("short_titles", {}))


def count_runs_at_most(rows_count: int, largest: int) -> int:
    """Return how many runs each row of a table may list so that its page is not much larger than that; at least one."""
    return max(1, (largest // max(1, rows_count) - ROW_BYTES) // RUN_BYTES)


def _measure(parts: Iterable[str]) -> int:
    """Return the size of parts of a page in bytes, each with a line break."""
    return sum(len(part.encode()) + 1 for part in parts)


def _render_first_runs(
    trace: Trace, summary: pl.DataFrame, declared: Mapping[str, Any], largest: int, first: int
) -> str:
    parts = [*_render_head(trace, summary, declared, is_cut=True)]
    runs_at_most = count_runs_at_most(summary.height, largest)
    rows = zip(summary.iter_rows(named=True), _name_rows(summary, declared).iter_rows(named=True), strict=True)
    for number, (row, shown) in enumerate(rows, start=first):
        parts += _render_row(trace, number, row, shown, trace.select_runs(row), declared, runs_at_most)
    return "\n".join(parts)


def _render_head(
    trace: Trace, summary: pl.DataFrame, declared: Mapping[str, Any], *, is_cut: bool = False
) -> Iterator[str]:
    page = "captures.qmd" if trace.table in CAPTURE_TABLES else "tables.qmd"
    target = page if summary.is_empty() else f"{page}#{make_label('table', trace.table)}"
    # Entities, as a title is Markdown too.
    header = {
        "title": escape_text(f"Behind {declared['title']}"),
        "above": page,
        "toc": False,
        "format": {"html": {"page-layout": "full"}},
    }
    about = (
        f"Every row of [the table]({target}) with the runs behind its numbers, what each run adds to them, and links "
        "to the raw files of their jobs. The command needs the results of a build, and computes a row again from its "
        "runs alone."
    )
    yield f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---\n"
    yield f"{about}\n"
    if declared.get("pages"):
        yield declared["pages"]
    if is_cut:
        yield render_callout("note", "Runs", LEFT_OUT)
    query = render_quotation(read_query(trace.table), f"Query of {declared['title']}")
    yield from (
        open_fold("What the numbers mean"),
        _explain_numbers(trace.table, summary, declared.get("rates", MEGABITS)),
        close_fold(),
    )
    yield from (open_fold(f"Query: {name_query(trace.table)}"), query, close_fold())
    if summary.is_empty():
        yield "The archive has no run for this table.\n"


def _explain_numbers(table: str, summary: pl.DataFrame, rates: RateUnit) -> str:
    """Return what the schema says of each number of the sections, with a link to the data dictionary."""
    schema = load_schema(table)
    ends = {end for pair in find_ends(summary.columns).values() for end in pair}
    shown = [
        column
        for column in schema.columns
        if column.name not in {*schema.key, *ends}
        and summary[column.name].null_count() < summary.height
        and not all(is_repeated(row, column.name) for row in summary.iter_rows(named=True))
    ]
    names = [escape_text(name_column(column.name, rates)) for column in shown]
    explained = [f"- **{name}**: {markdown(column.description)}\n" for name, column in zip(names, shown, strict=True)]
    declared = f"[data dictionary](dictionary.qmd#{make_label('table', table)})"
    return f"{''.join(explained)}\nThe {declared} has their columns.\n"


def _render_row(
    trace: Trace,
    number: int,
    row: Mapping[str, Any],
    shown: Mapping[str, Any],
    runs: pl.DataFrame,
    declared: Mapping[str, Any],
    runs_at_most: int | None = None,
) -> list[str]:
    """Return the section of a row; `shown` is the row with its quantity and the numbers of it in a unit for readers."""
    key = load_schema(trace.table).key
    # Identifiers that only machines read would fill the heading.
    names = [name_key(name, shown[name]) for name in key if not name.endswith("_id")]
    parts = [f"## {number}: {escape_text(' · '.join(names))} {{#cell-{number}}}\n"]
    rates = declared.get("rates", MEGABITS)
    parts.append(render_numbers({name: value for name, value in shown.items() if name not in key}, rates))
    listed = runs if runs_at_most is None else runs.head(runs_at_most)
    whole = listed.height == runs.height
    counted = count_things(runs["run_id"].n_unique(), "run")
    # Closed, so that a page of many rows can be read.
    first = listed["run_id"].n_unique()
    parts.append(open_fold(f"Made of {counted}" if whole else f"The first {first:,} of {counted}"))
    parts.append(_render_runs(trace, listed, number, find_quantity(row), rates))
    if jobs := link_jobs(listed["experiment_id"].drop_nulls().unique(maintain_order=True), trace.files):
        parts.append(fence_html(f"<p>Raw files: {jobs}</p>"))
    # A path in it may hold a line break, which is written as \\n on its one line.
    command = write_command(trace.table, row, declared).replace("\n", "\\n")
    parts.append(fence_html("<p>Computed again by this command:</p>"))
    parts.append(render_quotation(command, f"Command of row {number}"))
    return [*parts, close_fold()]


def render_numbers(numbers: Mapping[str, Any], rates: RateUnit = MEGABITS) -> str:
    """Return the numbers of a row side by side, as `list_numbers` has them."""
    listed = list_numbers(numbers, rates=rates)
    parts = [f"<div><dt>{text(name)}</dt><dd>{text(shown)}</dd></div>" for name, shown in listed]
    return fence_html(f'<dl class="numbers">\n{"".join(parts)}\n</dl>')


def _render_runs(trace: Trace, runs: pl.DataFrame, number: int, quantity: str, rates: RateUnit) -> str:
    """Return the table of a row's runs, in which what all have is said once; `quantity` is what `value` is of."""
    columns, schema = trace.shown, runs.schema
    # By places: a frame of other columns for each row of a table takes longer than its lines.
    shown = itemgetter(*map(runs.get_column_index, columns))
    run, result = map(runs.get_column_index, ("run_id", "result_path"))
    names = [quantity if name == VALUE else name for name in columns]
    rows = [
        [*map(_show, names, shown(values), repeat(rates)), _link_run(values[run], values[result])]
        for values in runs.rows()
    ]
    numbers = [place for place, name in enumerate(columns) if schema[name].is_numeric()]
    header = [*(name_column(name, rates) for name in names), "Run"]
    return render_varying(header, rows, title=f"Runs of row {number}", numbers=numbers)


def _show(column: str, value: Any, rates: RateUnit) -> Html:
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
def _link_run(run_id: str, result_path: str | None) -> Html:
    """Return a run's name, which leads to the explorer; a row of a result file has no series to explore."""
    if result_path is not None:
        return verbatim(run_id, is_long=True)
    return link_run(run_id)


def write_command(table: str, row: Mapping[str, Any], declared: Mapping[str, Any]) -> str:
    """Return the command line that explains a row of a table."""
    key = load_schema(table).key
    columns = tuple(name for name in declared.get("columns", ()) if name in key)
    rows = tuple(name for name in key if name not in columns)
    options = [("--row", rows), ("--column", columns)]
    words = [word for option, names in options if names for word in (option, name_row(table, row, names))]
    # Evaluations may have tables of the same name.
    if "evaluation" in declared:
        words += ["--database", f"results/{declared['evaluation']}/archive.duckdb"]
    return shlex.join(["python", "-m", "ccreport", "explain", table, *words])
