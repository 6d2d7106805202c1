"""Published tables and figures on their pages, in the order in which the evaluation declares them.

A table is a finished `<name>.html` with its `<name>.csv` and `<name>.tex`; a figure is a folder `<name>/` with
`figure.svg`, `caption.txt` and `alt.txt`, or, where the archive has no data for it, with `missing.txt` that says why.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ccreport.core.declarations import list_tables
from ccreport.core.tables import load_schema
from ccreport.figures.select.declaration import CAPTURE_KINDS
from ccreport.report.markup.blocks import (
    markdown,
    render_callout,
    render_float,
    render_quotation,
    render_tabs,
    write_fragment,
)
from ccreport.report.markup.escape import escape_text, fence_html, make_label

DOWNLOADS: Final[Mapping[str, str]] = {
    "figure.csv": "CSV",
    "figure.svg": "SVG",
    "figure.png": "PNG",
    "figure.vl.json": "Vega-Lite",
}
# <svg class="marks" width="801" height="521" viewBox="0 0 801 521">
SVG_SIZE: Final = re.compile(r'^<svg[^>]* width="(\d+)"[^>]* height="(\d+)"')
# Published tables that stand on the page of captures.
CAPTURE_TABLES: Final = ("witnesses",)


@dataclass(frozen=True)
class Exhibit:
    """One table or figure that the evaluation declares."""

    name: str
    title: str
    is_of_captures: bool = False


def list_exhibits(declared: Mapping[str, Mapping[str, Any]]) -> list[Exhibit]:
    """Return the tables or the figures of an evaluation, in its order."""
    return [
        Exhibit(name, facts["title"], facts.get("kind") in CAPTURE_KINDS or name in CAPTURE_TABLES)
        for name, facts in declared.items()
    ]


def render_table_fragment(table: Exhibit, tables: Path, queries: Path, fragments: Path) -> None:
    """Write `table_<name>.md`: the finished table with label and caption, its CSV and LaTeX files, and its query."""
    finished = (tables / f"{table.name}.html").read_text(encoding="utf-8").strip()
    region = f'<div class="table-scroll" role="region" aria-label="{escape_text(table.title)}" tabindex="0">'
    content = fence_html(f"{region}\n{finished}\n</div>")
    shown = render_float(make_label("tbl", table.name), content, _caption_table(table))
    path = f"tables/{table.name}"
    links = f"This table as [CSV]({path}.csv), with all digits, and as [LaTeX]({path}.tex), with booktabs."
    tabs = [("Table", f"{shown}\n{links}\n")]
    query = queries / f"{table.name}.sql"
    if query.exists():
        tabs.append(("Query", render_quotation(query.read_text(encoding="utf-8"), f"Query of {table.title}")))
    write_fragment(fragments, f"table_{table.name}.md", render_tabs(tabs))


def _caption_table(table: Exhibit) -> str:
    """Return what the table's schema says of it, as its title stands above it already."""
    if table.name not in list_tables():
        return escape_text(table.title)
    return markdown(load_schema(table.name).description)


def render_figure_fragment(figure: Exhibit, figures: Path, fragments: Path) -> None:
    """Write `figure_<name>.md`: the figure with label, caption and alternative text, or why there is none."""
    folder = figures / figure.name
    missing = folder / "missing.txt"
    if missing.exists():
        why = render_callout("warning", "No figure", escape_text(missing.read_text(encoding="utf-8").strip()))
        write_fragment(fragments, f"figure_{figure.name}.md", why)
        return
    # Without a caption an image is not a figure, and has no number.
    caption, alt = (
        escape_text((folder / name).read_text(encoding="utf-8").strip() or figure.title)
        for name in ("caption.txt", "alt.txt")
    )
    path = f"figures/{figure.name}"
    size = read_size(folder / "figure.svg")
    image = f'![{caption}]({path}/figure.svg){{#{make_label("fig", figure.name)} fig-alt="{alt}"{size}}}'
    links = list_downloads(figure.name, folder)
    write_fragment(fragments, f"figure_{figure.name}.md", image, f"This figure as {links}.")


def list_downloads(figure: str, folder: Path) -> str:
    """Return links to the files of a figure, which are in a folder."""
    files = [file for file in DOWNLOADS if (folder / file).exists()]
    return ", ".join(f"[{DOWNLOADS[file]}](figures/{figure}/{file})" for file in files)


def read_size(svg: Path) -> str:
    """Return the size of a drawing as attributes, so that a page keeps its place free; none where it gives none."""
    size = SVG_SIZE.search(svg.read_text(encoding="utf-8"))
    return f" width={size[1]} height={size[2]}" if size else ""


def render_list(kind: str, exhibits: list[Exhibit], fragments: Path, name: str | None = None) -> None:
    """Write `tables.md` or `figures.md` (or a fragment of another name): every exhibit of the kind under its title."""
    parts = [
        f"## {escape_text(exhibit.title)} {{#{make_label(kind, exhibit.name)}}}\n\n"
        f"{{{{< include fragments/{kind}_{exhibit.name}.md >}}}}\n"
        for exhibit in exhibits
    ]
    write_fragment(fragments, name or f"{kind}s.md", *(parts or [f"The evaluation declares no {kind}.\n"]))
