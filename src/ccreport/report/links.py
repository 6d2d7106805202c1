"""Links of a finished site: every one leads to a file or a label of the site itself."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from ccreport.errors import InputError

# What a browser fetches without being asked; `href` of an <a> it follows only on a click.
FETCHED: Final = {"src", "srcset", "data", "poster"}
# @import url(https://fonts.example/css?family=Lato); · background: url("//cdn.example/x.png")
STYLE_URL: Final = re.compile(r"(?:@import|url\()[\s\"'(url]*((?:\w+:)?//[^\s\"');]*)")


class PageError(InputError):
    """A page cannot be rendered; the message names file and line where they are known."""


@dataclass(frozen=True)
class PageLinks:
    """The labels of a page, and with their lines what it links to and what a browser fetches for it."""

    labels: Set[str]
    links: Sequence[tuple[int, str]]
    fetched: Sequence[tuple[int, str]]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.labels: set[str] = {""}
        self.links: list[tuple[int, str]] = []
        self.fetched: list[tuple[int, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.labels.add(value)
            elif name in FETCHED or (tag == "link" and name == "href"):
                self.fetched.append((self.getpos()[0], value or ""))
            elif name == "href":
                self.links.append((self.getpos()[0], value or ""))

    def handle_data(self, text: str) -> None:
        if self.lasttag == "style":
            self.fetched += [(self.getpos()[0], url) for url in STYLE_URL.findall(text)]


def read_links(page: str) -> PageLinks:
    """Return the links of a page of HTML."""
    parser = _Parser()
    parser.feed(page)
    return PageLinks(parser.labels, parser.links, parser.fetched)


def check_links(site: Path, pages: Mapping[str, PageLinks]) -> None:
    """Check all links of the pages of a folder; raise PageError where one leads nowhere.

    Nothing may be fetched from another host; a link to another host that a reader can click is left alone.
    """
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
            if not (site / path).is_file() or (is_label and unquote(url.fragment) not in pages[path].labels):
                raise PageError(f"{name}:{line}: this link leads nowhere: {target}")
