"""Published tables and figures on their pages: a publication's first, then ours, figures by topic as in the gallery.

A table is a finished `<name>.html` with its `<name>.csv` and `<name>.tex`; a figure is a folder `<name>/` with
`figure.svg`, `untitled.svg` (for the page, whose heading is the title), `caption.txt` and `alt.txt`, or, where the
archive has no data for it, with `missing.txt` that says why.
What a publication has goes by its number there, all else by S1, S2 and so on in the order of the pages, figures without
data last, so that those that are drawn have no gaps between their numbers.
"""

import csv
import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.core.declarations import QUERIES, list_tables, read_query
from ccreport.core.tables import load_schema
from ccreport.core.text import make_label
from ccreport.figures.exhibits import Exhibit
from ccreport.figures.select.declaration import choose_view
from ccreport.figures.wording.runs import format_significant
from ccreport.figures.write import UNTITLED
from ccreport.report.archive_fragments.raw_file_pages import link_jobs
from ccreport.report.markup.blocks import (
    Html,
    close_fold,
    link_run,
    markdown,
    number,
    open_fold,
    render_callout,
    render_float,
    render_quotation,
    render_table,
    render_tabs,
    render_varying,
    text,
    write_fragment,
)
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.report.markup.table_box import open_table_box
from ccreport.summarise.algorithm_names import show_algorithms
from ccreport.summarise.grids.grid import format_size, rate_unit
from ccreport.summarise.grids.headings import UNIT, is_percentage, write_heading
from ccreport.trace.raw_files import ReadFiles

DOWNLOADS: Final[Mapping[str, str]] = {
    "figure.csv": "CSV",
    "figure.svg": "SVG",
    "figure.png": "PNG",
    "figure.vl.json": "Vega-Lite",
}
# <svg class="marks" width="801" height="521" viewBox="0 0 801 521">
SVG_SIZE: Final = re.compile(r'^<svg[^>]* width="(\d+)"[^>]* height="(\d+)"')
# <caption>M in Gbit/s</caption>
CAPTION: Final = re.compile(r"<caption>(.*?)</caption>", re.DOTALL)
# Of the data of a figure on its page, and of runs in its source: a page holds several figures.
ROWS_SHOWN: Final = 25
RUNS_SHOWN: Final = 8
# What data that are drawn as means are called, beside those of single runs.
MEAN: Final = "mean"
DATA_DIGITS: Final = 4
# A table with a row for each captured connection has hundreds: on paper a longer one is named only.
PRINTED_ROWS: Final = 40


def render_table_fragment(table: Exhibit, tables: Path, fragments: Path) -> None:
    """Write `table_<name>.md`: the finished table with label and caption, its CSV and LaTeX files, and its query.

    The PDF's supplement has a sentence in place of a long one of captures.
    """
    finished = (tables / f"{table.name}.html").read_text(encoding="utf-8").strip()
    region = open_table_box(finished, escape_text(table.title))
    units = CAPTION.search(finished)
    content = fence_html(f"{region}\n{CAPTION.sub('', finished)}\n</div>")
    # The title is above the table already: what has units of its own needs nothing else.
    caption = escape_text(html.unescape(units[1])) if units else _caption_table(table)
    shown = render_float(make_label("tbl", table.name), content, caption, table.number)
    path = f"tables/{table.name}"
    links = f"This table as [CSV]({path}.csv) (full precision) and as [LaTeX]({path}.tex) (booktabs).\n"
    tabs = [("Table", shown)]
    if table.name in QUERIES:
        tabs.append(("Query", render_quotation(read_query(table.name), f"Query of {table.title}")))
    tabs.append(("Download", links))
    write_fragment(fragments, f"table_{table.name}.md", render_tabs(tabs))
    with (tables / f"{table.name}.csv").open(encoding="utf-8") as lines:
        count = sum(1 for _ in csv.reader(lines)) - 1
    if table.is_of_captures and count > PRINTED_ROWS:
        told = f"{caption}\n\nIts {count:,} rows are on the website and in its file `tables/{table.name}.csv`.\n"
        write_fragment(fragments, f"table_{table.name}_supplement.md", told)


def _caption_table(table: Exhibit) -> str:
    """Return what the table's schema says of it."""
    if table.name not in list_tables():
        return escape_text(table.title)
    return markdown(load_schema(table.name).description)


def render_figure_fragment(
    figure: Exhibit,
    figures: Path,
    fragments: Path,
    *,
    declared: Mapping[str, Any] | None = None,
    beside: str = "",
    read: ReadFiles | None = None,
    options: str = "",
    evaluation: Mapping[str, Any] | None = None,
) -> None:
    """Write `figure_<name>.md`: what is `beside` the figure, then in tabs the chart, its data, source and files.

    Of a figure that the archive has no data for it says why. `declared` is what the evaluation declares of it, `read`
    the raw files of the archive that a step read. `options` are those of the command that draws it, which say of
    what evaluation and results it is. Data has the names of algorithms that the `evaluation` has.
    """
    folder = figures / figure.name
    missing = folder / "missing.txt"
    if missing.exists():
        why = render_callout("warning", "No figure", escape_text(missing.read_text(encoding="utf-8").strip()))
        write_fragment(fragments, f"figure_{figure.name}.md", why)
        return
    told, alt = ((folder / name).read_text(encoding="utf-8").strip() for name in ("caption.txt", "alt.txt"))
    # Without a caption an image is not a figure, and has no number.
    caption, _, details = told.partition("\n")
    number = f" number={figure.number}" if figure.number else ""
    attributes = f'#{make_label("fig", figure.name)} fig-alt="{escape_text(alt or figure.title)}"{number}'
    size = read_size(folder / UNTITLED)
    chart = f"![{escape_text(caption or figure.title)}](figures/{figure.name}/{UNTITLED}){{{attributes}{size}}}\n"
    # On paper a caption is two sentences.
    fold = f"{open_fold('How it is drawn')}\n{escape_text(details)}\n\n{close_fold()}"
    fold = f'::: {{.content-visible when-format="html"}}\n\n{fold}\n:::\n' if details else ""
    data = pl.read_csv(folder / "figure.csv", infer_schema=False) if (folder / "figure.csv").exists() else None
    tabs = [("Chart", f"{chart}\n{fold}")]
    named = data if data is None or evaluation is None else show_algorithms(data, evaluation)
    tabs += [("Table", _show_data(named, figure))] if named is not None else []
    tabs += [("Source", _quote_source(declared, data, figure, read))] if declared is not None else []
    files = f"This figure as {list_downloads(figure.name, folder)}. The SVG can be enlarged without loss.\n"
    if options:
        told = "Where the report was built, this draws it again; `--change` gives it another title, run or condition:"
        command = f"plot_figure {options} --figure {figure.name} --output {figure.name}"
        files += f"\n{told}\n\n{show_command(command, figure.title)}\n"
    write_fragment(fragments, f"figure_{figure.name}.md", beside, render_tabs([*tabs, ("Download", files)]))


def show_command(command: str, drawn: str) -> str:
    """Return a box with a command that draws something."""
    return render_quotation(f".venv/bin/python -m ccreport {command}", f"Command that draws {drawn}")


def _show_data(data: pl.DataFrame, figure: Exhibit) -> str:
    """Return the first rows of what a figure draws, in words and units of tables, without columns that hold nothing.

    Of means and the single runs behind them the means are shown.
    """
    if "drawn_as" in data.columns and MEAN in data["drawn_as"]:
        data = data.filter(drawn_as=MEAN).drop("drawn_as")
    known = data.select(column.name for column in data if column.null_count() < data.height)
    columns = [_show_column(column) for column in known.head(ROWS_SHOWN)]
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    numbers = [
        place
        for place, column in enumerate(known)
        if column.cast(pl.Float64, strict=False).null_count() == column.null_count()
    ]
    header, title, is_cut = [heading for heading, _ in columns], f"Data of {figure.title}", data.height > ROWS_SHOWN
    table = render_varying(header, rows, title=title, numbers=numbers, is_cut=is_cut)
    more = f"The first {ROWS_SHOWN} of {data.height:,} rows; the CSV has all." if is_cut else ""
    return f"{table}\n{more}\n"


def _show_column(column: pl.Series) -> tuple[str, list[Html]]:
    """Return the heading and the cells of a column of data: its numbers rounded, rates in a unit that reads well."""
    heading, numbers = write_heading(column.name), column.cast(pl.Float64, strict=False)
    # Of counts those that were estimated have fractions.
    is_counted = column.name.endswith("_count") and bool((numbers.drop_nulls() % 1 == 0).all())
    if is_counted or not UNIT.fullmatch(column.name) or numbers.null_count() > column.null_count():
        return heading, [text(value) for value in column]
    if column.name.endswith("_bytes"):
        return heading, [text(None if value is None else format_size(value)) for value in numbers]
    if column.name.endswith("_bps"):
        divisor, unit = rate_unit(numbers)
        heading, numbers = f"{heading} ({unit})", numbers / divisor
    if is_percentage(column.name):
        numbers *= 100
    return heading, [text(value) for value in _round_alike(numbers)]


def _round_alike(numbers: pl.Series) -> list[str | None]:
    """Return numbers with as many decimals as any of them needs or, where these are many, significant digits."""
    texts = [None if value is None else format_significant(value, DATA_DIGITS) for value in numbers]
    decimals = max(len(written.rstrip("0").partition(".")[2]) if written else 0 for written in texts)
    known = numbers.drop_nulls()
    if decimals >= DATA_DIGITS or not known.abs().lt(10**DATA_DIGITS).all():
        return texts
    return [None if value is None else f"{value:,.{decimals if value else 0}f}" for value in numbers]


def _quote_source(
    declared: Mapping[str, Any], data: pl.DataFrame | None, figure: Exhibit, read: ReadFiles | None
) -> str:
    """Return the query of the runs that match, and links to those that are drawn and to their raw files."""
    view = choose_view(declared["kind"], declared.get("table", ""))
    lines = ["-- In archive.duckdb of this evaluation: what matches", f"FROM {view} WHERE {declared['where'].strip()};"]
    for panel in declared.get("panels", ()):
        lines += [f"-- Of these, panel {' '.join(panel['title'].split())}", f"-- {' '.join(panel['where'].split())}"]
    query = render_quotation("\n".join(lines), f"Source of {figure.title}")
    if data is None or read is None or "run_id" not in data.columns:
        return query
    return query + _list_runs(data["run_id"].drop_nulls().unique().sort().to_list(), figure, read)


def _list_runs(runs: list[str], figure: Exhibit, read: ReadFiles) -> str:
    """Return a table of runs, each with links to its series in the explorer and to the raw files of its job."""
    files = read.files.filter(pl.col("run_id").is_in(runs))
    files = files.group_by("run_id").agg(pl.col("experiment_id").first(), pl.len())
    jobs = {run: (job, count) for run, job, count in files.iter_rows()}
    rows = [
        [link_run(run), link_jobs([jobs[run][0]], read), number(jobs[run][1])]
        for run in runs[:RUNS_SHOWN]
        if run in jobs
    ]
    if not rows:
        return ""
    more = f"The first {RUNS_SHOWN} of {len(runs)} runs; the CSV names all.\n" if len(runs) > RUNS_SHOWN else ""
    table = render_table(
        ["run", "raw files of its job", "files of the run"], rows, title=f"Runs of {figure.title}", numbers=[2]
    )
    return f"\nThe runs that are drawn, and the raw files they were read from:\n\n{table}\n{more}"


def list_downloads(figure: str, folder: Path) -> str:
    """Return links to the files of a figure, which are in a folder."""
    files = [file for file in DOWNLOADS if (folder / file).exists()]
    return ", ".join(f"[{DOWNLOADS[file]}](figures/{figure}/{file})" for file in files)


def read_size(svg: Path) -> str:
    """Return the size of a drawing as attributes, so that a page keeps its place free; none where it gives none."""
    size = SVG_SIZE.search(svg.read_text(encoding="utf-8"))
    return f" width={size[1]} height={size[2]}" if size else ""


def render_list(
    kind: str, exhibits: list[Exhibit], fragments: Path, absent: str = "", *, name: str | None = None
) -> None:
    """Write `tables.md` or `figures.md` (or a fragment of another name): every exhibit of the kind under its title.

    `absent` is a paragraph behind them.
    """
    parts = [
        # What has a number of its own gets no second one.
        f"## {escape_text(exhibit.heading)} {{#{make_label(kind, exhibit.name)}"
        f"{' .unnumbered' if exhibit.number else ''}}}\n\n"
        f"{{{{< include fragments/{kind}_{exhibit.name}.md >}}}}\n"
        for exhibit in exhibits
    ]
    if not parts and not absent and name is None:
        absent = f"The evaluation declares no {kind}.\n"
    write_fragment(fragments, name or f"{kind}s.md", *parts, absent)
