"""Search in the finished site, of either renderer: `lunr.js`, `search.js`, and what there is to find as a script.

A search index that is fetched does not work for pages opened from disk, so the documents are a script too, which sets
`searchDocuments`: rows of page, label, title of the page, title of the section, text. lunr 2.3.9 is the copy that
mkdocs ships for the same purpose (MIT, its header stays in it); the index is made in the browser, on the search page.
"""

import importlib.util
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lxml.etree import HTMLParser, fromstring

from ccreport.report.site.links import PageError

ASSETS: Final = Path(__file__).parent
DOCUMENTS: Final = "search_documents.js"
# Where mkdocs keeps it, in its package.
LUNR: Final = Path("contrib", "search", "templates", "search", "lunr.js")
# What is not text of a section: formulas are spelt out in TeX a second time, and code answers no question.
SILENT: Final = {"script", "style", "noscript", "annotation", "button", "option", "form", "nav", "pre"}
# Parts of a line; any other tag parts words.
INLINE: Final = {"a", "abbr", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup", "wbr"}
# The number before a heading, and the kind of a box, which Quarto writes for readers of the screen: "Tip".
UNREAD: Final = ("header-section-number", "screen-reader-only")
HEADINGS: Final = {"h1", "h2", "h3", "h4", "h5", "h6"}
# 3f1a… of 32 digits or more: names of contents, of which a reader compares the first digits.
DIGEST: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")
# Pages made of one long list of runs for each cell, which the explorer finds.
UNSEARCHED: Final = ("cells_", "ledger_files", "search")
# The name of a box that holds one, behind a figure.
LIST_OF_RUNS: Final = "Runs of "
# More characters of one section take the browser longer to index than they help.
LONGEST: Final = 11_500

Document = tuple[str, str, str, str, str]


class _Sections:
    """What lxml tells of a page: the text of its main part, by the innermost section with a label that it is in."""

    def __init__(self) -> None:
        self.title: list[str] = []
        # Label, heading, text; the first is the page itself.
        self.sections: list[tuple[str, list[str], list[str]]] = [("", [], [])]
        self.open: list[int] = []
        self.silent = 0
        # Of boxes within a list of runs, and of that itself.
        self.unsearched = 0
        self.is_in_tab_title = False
        self.is_in_unread = False
        self.is_in_main = False
        self.is_in_heading = False

    def start(self, tag: str, given: Mapping[str, str]) -> None:
        if tag == "main":
            self.is_in_main = True
        elif tag in SILENT:
            self.silent += 1
        elif tag in HEADINGS:
            self.is_in_heading = True
        elif tag == "section":
            self.open.append(self._start(given))
        elif tag == "div" and (self.unsearched or given.get("aria-label", "").startswith(LIST_OF_RUNS)):
            self.unsearched += 1
        elif tag == "div" and given.get("class") == "tab-title":
            # It is on the tab's button already.
            self.is_in_tab_title = True
        elif tag == "span" and given.get("class") in UNREAD:
            self.is_in_unread = True
        self._part(tag)

    def _start(self, given: Mapping[str, str]) -> int:
        current = self.open[-1] if self.open else 0
        # Panels of tabs have labels that nobody links to.
        if not given.get("id") or given.get("role"):
            return current
        self.sections.append((given["id"], [], []))
        return len(self.sections) - 1

    def end(self, tag: str) -> None:
        self._part(tag)
        if tag == "main":
            self.is_in_main = False
        elif tag in SILENT:
            self.silent -= 1
        elif tag in HEADINGS:
            self.is_in_heading = False
        elif tag == "section" and self.open:
            self.open.pop()
        elif tag == "div":
            self.is_in_tab_title = False
            self.unsearched = max(0, self.unsearched - 1)
        elif tag == "span":
            self.is_in_unread = False

    def close(self) -> "_Sections":
        return self

    def _part(self, tag: str) -> None:
        if tag not in INLINE:
            self.data(" ")

    def data(self, text: str) -> None:
        if not self.is_in_main or self.silent or self.unsearched or self.is_in_tab_title or self.is_in_unread:
            return
        _, heading, body = self.sections[self.open[-1] if self.open else 0]
        if not self.is_in_heading:
            body.append(text)
        elif self.open:
            heading.append(text)
        else:
            self.title.append(text)


def list_documents(site: Path) -> list[Document]:
    """Return what there is to find in the HTML pages of a folder: page, label, page title, section title, text."""
    documents = []
    for page in sorted(site.glob("*.html")):
        if page.stem.startswith(UNSEARCHED):
            continue
        # Of a target lxml calls the methods that there are; its stubs ask for all.
        parser: Any = HTMLParser(target=_Sections(), encoding="utf-8", huge_tree=True)  # type: ignore[call-overload]
        found: _Sections = fromstring(page.read_bytes(), parser)
        title = _join(found.title)
        for label, heading, body in found.sections:
            text = _join([DIGEST.sub(r"\1…", "".join(body))])[:LONGEST]
            # A page is found by its title too, where all its text is in sections.
            if text or heading or (title and not label):
                documents.append((page.name, label, title, _join(heading), text))
    return documents


def write_search(site: Path) -> None:
    """Write the documents of a finished site into it."""
    # The script has the encoding of the page that loads it, which spells no sign in six letters.
    written = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in list_documents(site))
    rows = ",\n".join(written)
    (site / DOCUMENTS).write_text(f"const searchDocuments = [\n{rows}\n];\n", encoding="utf-8")


def add_search(project: Path) -> None:
    """Put the search page's scripts into a project folder; the documents are none until the pages are finished."""
    found = importlib.util.find_spec("mkdocs")
    lunr = Path(found.origin).parent / LUNR if found and found.origin else LUNR
    if not lunr.is_file():
        raise PageError("there is no lunr.js to search with; install mkdocs as in requirements.lock")
    shutil.copyfile(lunr, project / "lunr.js")
    shutil.copyfile(ASSETS / "search.js", project / "search.js")
    (project / DOCUMENTS).write_text("const searchDocuments = [];\n", encoding="ascii")


def _join(parts: list[str]) -> str:
    return " ".join("".join(parts).split())
