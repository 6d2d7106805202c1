"""The embedded renderer: the pages of a Quarto website project, made with pandoc alone.

It reads `_quarto.yml`, `_variables.yml` and the `*.qmd` files of one folder as Quarto 1.4 and later do
(https://quarto.org/docs/websites/ and https://quarto.org/docs/authoring/), as far as our pages need it: includes and
variables in `project_pages`, cross-references, captions, callouts and tabsets in `filter.lua`, navigation and contents
in `page.html`.
"""

import html
import json
import os
import re
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from ccreport.report.markup.blocks import BLOCKS_SCRIPT
from ccreport.report.markup.content_security import POLICY
from ccreport.report.markup.escape import decode_harmless
from ccreport.report.markup.html_blocks import put_back, set_aside
from ccreport.report.site.links import PageLinks, check_links, read_links
from ccreport.report.site.pandoc import Pandoc
from ccreport.report.site.project_pages import (
    leave_out_print,
    link_resources,
    list_styles,
    read_header,
    read_page,
    read_yaml,
)
from ccreport.report.site.search import write_search

SEARCH_PAGE: Final = "search.qmd"
PAPER: Final = "report.pdf"
# Bootstrap's names, which Quarto knows, with the paths of our own drawings of 24 by 24.
ICONS: Final = {
    "file-earmark-pdf": "M6 2.5h8l4.5 4.5v14.5H6zM13.5 2.5v5h5M8.5 17v-4.5h1.2a1.3 1.3 0 0 1 0 2.6h-1.2M12.7 12.5V17h.8"
    "a2 2 0 0 0 0-4.5z",
}
# pandoc's labels of the entries of contents, which a page has twice: beside it, and folded up on a phone.
CONTENTS_LABEL: Final = re.compile(r' id="toc-[^"]*"(?=>)')
ASSETS: Final = Path(__file__).parent
PANDOC_OPTIONS: Final = (
    "--from=markdown",
    "--to=html5",
    "--standalone",
    "--wrap=preserve",
    "--mathml",
    "--section-divs",
    "--syntax-highlighting=none",
    "--fail-if-warnings",
    f"--lua-filter={ASSETS / 'filter.lua'}",
    f"--template={ASSETS / 'page.html'}",
)


def render_embedded(project: Path, output: Path, kept: Path | None = None) -> None:
    """Render the website project in a folder into the folder `output`: one HTML page per `.qmd`, and its resources.

    Other files that pages lead to may be there already. `kept` is a folder with what pandoc made of this site's
    pages before. Raise PageError for a missing include, an unknown variable or shortcode, and a reference that leads
    nowhere.
    """
    site = read_yaml(project / "_quarto.yml")
    variables = read_yaml(project / "_variables.yml")
    output.mkdir(parents=True, exist_ok=True)
    pandoc = Pandoc(kept)

    def render_page(page: Path) -> tuple[str, PageLinks]:
        lines, blocks = set_aside(leave_out_print(read_page(project, page.name, variables)))
        converted = pandoc.convert(lines, _make_options(_template_variables(site, page)))
        text = decode_harmless(put_back(CONTENTS_LABEL.sub("", converted), blocks))
        rendered = output / f"{page.stem}.html"
        rendered.write_text(text, encoding="utf-8")
        return rendered.name, read_links(text)

    # Most of the work is pandoc's, a process of its own for each page; links are read while others run.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        links = dict(threads.map(render_page, sorted(project.glob("*.qmd"))))
    for asset in (ASSETS / "page.css", ASSETS / "site.js", BLOCKS_SCRIPT):
        shutil.copyfile(asset, output / asset.name)
    link_resources(project, site, output)
    write_search(output)
    check_links(output, links)
    pandoc.prune()


def _template_variables(site: Mapping[str, Any], page: Path) -> dict[str, Any]:
    options = site["format"]["html"]
    header = read_header(page)
    bar = site["website"]["navbar"]
    # Icons are in the header beside the field for searching, which leads to the search page.
    icons = [entry for entry in bar.get("right", []) if entry.get("href") != SEARCH_PAGE]
    return {
        "lang": site["lang"],
        "policy": POLICY,
        "site-title": html.escape(site["website"]["title"]),
        "page-footer": html.escape(site["website"].get("page-footer", "")),
        "navbar": [_make_entry(entry, page.name, header.get("above")) for entry in bar["left"]],
        "icons": [_make_entry(entry, page.name) for entry in icons],
        "css": list_styles(site),
        "toc": header.get("toc", options["toc"]),
        "toc-title": html.escape(options["toc-title"]),
        "is-full": header.get("format", {}).get("html", {}).get("page-layout") == "full",
        "has-search": page.name != SEARCH_PAGE and page.with_name(SEARCH_PAGE).exists(),
        "has-paper": page.with_name(PAPER).exists(),
    }


def _make_entry(entry: Mapping[str, Any], page: str, above: str | None = None) -> dict[str, Any]:
    """Return a link of the navbar, or a menu of links, as `page.html` takes it.

    `above` is the page of the navbar that a page without an entry of its own belongs to, where its header names one.
    """
    menu = [_make_entry(link, page, above) for link in entry.get("menu", [])]
    href = entry.get("href", "")
    return {
        "text": html.escape(entry.get("text") or entry["aria-label"]),
        "icon": ICONS[entry["icon"]] if "icon" in entry else "",
        "href": href.replace(".qmd", ".html"),
        "menu": menu,
        "current": href == page or any(link["current"] or link["is_above"] for link in menu),
        # figures_throughput.qmd is one of the pages of figures.qmd.
        "is_above": href == above or page.startswith(f"{href.removesuffix('.qmd')}_"),
    }


def _make_options(variables: Mapping[str, Any]) -> list[str]:
    options = [*PANDOC_OPTIONS]
    options += [f"--variable-json={name}:{json.dumps(value)}" for name, value in variables.items()]
    return options + (["--toc", "--toc-depth=2"] if variables["toc"] else [])
