"""Pages that say of each cell of a published table what it is made of: `cells_<table>.qmd`, a section for each row.

A page's size grows with the runs behind its cells. One that would be too large for a browser leaves out all but the
first runs of each row, and says how to print what is left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any, Final

import polars as pl
import yaml

from ccreport.core.atomic_files import replaces_folder
from ccreport.core.declarations import name_query, read_query
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import load_schema, read_table
from ccreport.core.text import make_label
from ccreport.figures.exhibits import CAPTURE_TABLES
from ccreport.report.fragments.cell_rows.raw_files import ABOUT as ABOUT_FILES
from ccreport.report.fragments.cell_rows.section import name_line, render_row
from ccreport.report.markup.blocks import (
    close_fold,
    markdown,
    open_fold,
    render_callout,
    render_quotation,
)
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.algorithm_names import show_algorithms
from ccreport.summarise.database import connect
from ccreport.summarise.grids.cells import find_shared
from ccreport.summarise.grids.grid import rate_unit
from ccreport.summarise.grids.headings import (
    NO_HEADINGS,
    describe_shared,
    find_quantity_unit,
    name_quantities,
)
from ccreport.summarise.grids.label_names import call_labels
from ccreport.summarise.grids.links import ROWS_PER_PAGE, page_of_cells, select_shown
from ccreport.summarise.grids.plain_numbers import (
    MEGABITS,
    RateUnit,
    is_repeated,
    name_column,
)
from ccreport.summarise.grids.shown_columns import find_ends
from ccreport.summarise.grids.table_titles import name_tables, shorten_titles
from ccreport.trace.raw_files import load_read_files
from ccreport.trace.rows.load_trace import Trace, load_trace
from ccreport.trace.rows.suspects import SuspectRun, Suspects

# The site's pages may have 3 MB; around this text comes what every page has.
LARGEST_BYTES: Final = 2_500_000
# About a run's line in a table, and a row's section around it.
RUN_BYTES: Final = 900
ROW_BYTES: Final = 2_000
# At least a run's line has this, with a name of one letter.
LINE_BYTES: Final = len('<tr><td><a href="explorer.html#run=r"><code>r</code></a></td></tr>')
# Of the words that name a page by its first line.
WORDS_WIDTH: Final = 60
LEFT_OUT: Final = "There are too many runs to list all of them here. The command of each row prints them."


@replaces_folder("output")
def trace_cells(evaluation: Path, database: Path, summaries: Path, output: Path) -> None:
    """Write the page of each published table of an evaluation into a folder, which is replaced."""
    whole = load_evaluation(evaluation)
    tables = whole["tables"]
    with connect(database) as connection:
        about = {
            "database": database,
            "evaluation": whole,
            "short_titles": shorten_titles(tables),
            "suspects": Suspects(connection),
        }
        files = load_read_files(connection)
        for table, declared in tables.items():
            shown = select_shown(read_table(table, [summaries / f"{table}.parquet"]), declared)
            trace = load_trace(connection, table, files)
            own = declared | about
            own |= {"shared": find_shared(_name_rows(shown, own), load_schema(table)), "rates": _find_rate_unit(shown)}
            firsts = _name_firsts(table, shown, own)
            # A table without rows has a page as well.
            for first in range(1, max(shown.height, 1) + 1, ROWS_PER_PAGE):
                facts = own | {"pages": _link_pages(table, firsts, first)}
                content = render_page(trace, shown[first - 1 : first - 1 + ROWS_PER_PAGE], facts, first=first)
                (output / f"{page_of_cells(table, first)}.qmd").write_text(content, encoding="utf-8")


def _find_rate_unit(summary: pl.DataFrame) -> RateUnit:
    """Return the unit that the published table has for its rates."""
    means = [name for name in summary.columns if name.endswith("_mean_bps")]
    return rate_unit(summary[means[0]]) if means else find_quantity_unit(summary)


def _name_firsts(table: str, shown: pl.DataFrame, declared: Mapping[str, Any]) -> dict[int, str]:
    """Return the words of the first line of each page, by its number."""
    named = _name_rows(shown.with_row_index("line_number", 1).gather_every(ROWS_PER_PAGE), declared)
    return {
        row["line_number"]: shorten(", ".join(name_line(table, row, declared["shared"])), WORDS_WIDTH, placeholder=" …")
        for row in named.iter_rows(named=True)
    }


def _link_pages(table: str, firsts: Mapping[int, str], shown: int) -> str:
    """Return links to the pages of a table, but for that whose first line is `shown`; nothing for a single page."""
    if len(firsts) < 2:
        return ""
    parts = [
        f"**{escape_text(words)}**" if first == shown else f"[{escape_text(words)}]({page_of_cells(table, first)}.qmd)"
        for first, words in firsts.items()
    ]
    return f"Lines of the table from {' · from '.join(parts)}\n"


def render_page(
    trace: Trace, summary: pl.DataFrame, declared: Mapping[str, Any], largest: int = LARGEST_BYTES, first: int = 1
) -> str:
    """Return a page of one table; `summary` are its rows, whose numbers from `first` on name the sections.

    `declared` is what the evaluation declares of the table, under `database` the path of its database, under
    `short_titles` what its tables are called in rows of others, under `pages` links to the table's other pages, under
    `rates` the unit of its rates, under `shared` what all its rows have, which names no row, and under `suspects` the
    suspect runs.
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
        section = render_row(trace, number, row, shown, runs, declared, suspects=_find_suspects(trace, row, declared))
        whole += section
        size += _measure(section)
        if size > largest:
            return _render_first_runs(trace, summary, declared, largest, first)
    return "\n".join(whole)


def _name_rows(summary: pl.DataFrame, declared: Mapping[str, Any]) -> pl.DataFrame:
    scaled = name_quantities(summary, declared.get("rates"))
    if "evaluation" in declared:
        scaled = show_algorithms(call_labels(scaled, declared["evaluation"]), declared["evaluation"])
    return name_tables(scaled, declared.get("short_titles", {}))


def count_runs_at_most(rows_count: int, largest: int) -> int:
    """Return how many runs each row of a table may list so that its page is not much larger than that; at least one."""
    return max(1, (largest // max(1, rows_count) - ROW_BYTES) // RUN_BYTES)


def _find_suspects(trace: Trace, row: Mapping[str, Any], declared: Mapping[str, Any]) -> list[SuspectRun]:
    found: Suspects | None = declared.get("suspects")
    return [] if found is None else found.select(trace, row)


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
        suspects = _find_suspects(trace, row, declared)
        runs = trace.select_runs(row)
        parts += render_row(trace, number, row, shown, runs, declared, runs_at_most=runs_at_most, suspects=suspects)
    return "\n".join(parts)


def _render_head(
    trace: Trace, summary: pl.DataFrame, declared: Mapping[str, Any], *, is_cut: bool = False
) -> Iterator[str]:
    page = "captures.qmd" if trace.table in CAPTURE_TABLES else "tables.qmd"
    target = page if summary.is_empty() else f"{page}#{make_label('table', trace.table)}"
    # Entities, as a title is Markdown too.
    header = {
        "title": escape_text(f"Runs of the table “{declared['title']}”"),
        "above": page,
        "toc": False,
        "format": {"html": {"page-layout": "full"}},
    }
    about = (
        f"Every row of [the table]({target}) with the runs behind its numbers, what each run adds to them, and their "
        "raw files. The command below each row computes it again from its runs alone, in a checkout with built results."
    )
    yield f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---\n"
    yield f"{about}\n"
    yield f"{ABOUT_FILES}\n"
    shared = {name: value for name, value in declared.get("shared", {}).items() if value is not None}
    if said := describe_shared(shared, headings=declared.get("headings", NO_HEADINGS)):
        yield f"{escape_text(said)}\n"
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
