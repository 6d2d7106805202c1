"""Links of a finished site: every one leads to a file or a label of the site itself."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from lxml.html import HTMLParser, document_fromstring

from ccreport.core.errors import InputError

# What a browser fetches without being asked; `href` of an <a> it follows only on a click.
FETCHED: Final = {"src", "srcset", "data", "poster"}
# @import url(https://fonts.example/css?family=Lato); · background: url("//cdn.example/x.png")
STYLE_URL: Final = re.compile(r"(?:@import|url\()[\s\"'(url]*((?:\w+:)?//[^\s\"');]*)")
# ## Figure 4: BBR beside CUBIC {#figure-figure-4} · [Figure 4](figures.qmd#figure-figure-4)
FIGURE_LABEL: Final = re.compile(r"^## [^\n]*\{#(figure-[\w-]+)\}$", re.MULTILINE)
TO_FIGURE: Final = re.compile(r"\bfigures\.qmd#(figure-[\w-]+)")


class PageError(InputError):
    """A page cannot be rendered; the message names file and line where they are known."""


@dataclass(frozen=True)
class PageLinks:
    """The labels of a page, and with their lines what it links to and what a browser fetches for it."""

    labels: Set[str]
    links: Sequence[tuple[int, str]]
    fetched: Sequence[tuple[int, str]]


def read_links(page: str) -> PageLinks:
    """Return the links of a page of HTML."""
    # Without `huge_tree` the parser gives up on what is deeply nested or long.
    root = document_fromstring(page.encode(), parser=HTMLParser(encoding="utf-8", huge_tree=True))
    links: list[tuple[int, str]] = []
    fetched: list[tuple[int, str]] = []
    for element in root.iterfind(".//*"):
        line = element.sourceline or 0
        for name, value in element.attrib.items():
            if name in FETCHED or (name == "href" and element.tag == "link"):
                fetched.append((line, value))
            elif name == "href":
                links.append((line, value))
        if element.tag == "style":
            fetched += [(line, url) for url in STYLE_URL.findall(element.text or "")]
    return PageLinks({"", *root.xpath("//@id")}, links, fetched)


def check_links(site: Path, pages: Mapping[str, PageLinks]) -> None:
    """Check all links of the pages of a folder; raise PageError where one leads nowhere.

    Nothing may be fetched from another host; a link to another host that a reader can click is left alone.
    """
    is_file = cache(lambda path: (site / path).is_file())
    for name, page_links in pages.items():
        for line, target in page_links.fetched:
            if urlsplit(target).scheme not in ("", "data") or urlsplit(target).netloc:
                raise PageError(f"{name}:{line}: fetched from elsewhere: {target}")
        for line, target in (*page_links.links, *page_links.fetched):
            url = urlsplit(target)
            # The report that a section is part of is made after it.
            if url.scheme or url.netloc or url.path.startswith("../"):
                continue
            path = unquote(url.path) or name
            # explorer.html#run=… is for that page's script, no label.
            is_label = path in pages and "=" not in url.fragment
            if not is_file(path) or (is_label and unquote(url.fragment) not in pages[path].labels):
                raise PageError(f"{name}:{line}: this link leads nowhere: {target}")


def lead_to_figures(project: Path) -> None:
    """Let links of a site's pages and fragments to figures.qmd#figure-… lead to the figure, past its thumbnail.

    The PDF has all figures in one part, to which these links lead as they are.
    """
    page_of = {
        label: page.name
        for page in project.glob("figures_*.qmd")
        for label in FIGURE_LABEL.findall(page.read_text(encoding="utf-8"))
    }
    for page in sorted((*project.glob("*.qmd"), *project.glob("fragments/*.md"))):
        text = page.read_text(encoding="utf-8")
        led = TO_FIGURE.sub(lambda link: f"{page_of.get(link[1], 'figures.qmd')}#{link[1]}", text)
        if led != text:
            page.write_text(led, encoding="utf-8")
