"""Cells of the PDF's tables: what they hold in HTML as an expression of Typst, and as lines of text.

Text becomes a string of Typst, which is never read as markup. As `paper.lua` does outside of tables, letters that no
font has are shown as escapes, and long names may break.
"""

import re
import textwrap
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final

from lxml.html import HtmlElement

SPACES: Final = re.compile(r"[ \t\n\r\f]+")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
# The fonts that Typst brings along have no letters beyond, but for ligatures.
UNKNOWN_LETTER: Final = re.compile("[\u2e80-\ufaff\ufb07-\U0010ffff]")
# bbr2_p16_loss0.001, which else covers the next column where its own is too narrow; but not Gbit/s.
NAME: Final = re.compile(r"[^ ]{9,}")
LONG_WORD: Final = 21
# A long name may break after punctuation, a hash after every 16 digits; a shorter one not within a number.
BREAK_AFTER: Final = re.compile(r"[_/.:=,]|[0-9A-Fa-f]{16}")
BREAK_NAME_AFTER: Final = re.compile(r"_(?=.)|[/:=,](?=[^\d\s])")
MAY_BREAK: Final = "\N{ZERO WIDTH SPACE}"
BREAK: Final = "linebreak()"
# What Typst calls the elements; of others only what is in them shows.
FUNCTIONS: Final = {"em": "emph", "small": "small", "strong": "strong"}
ELSEWHERE: Final = re.compile(r"(?:https?|mailto):")
# claims.html#claim-one · cells_jobs.html#jobs-1 · #table-2
PAGE_LINK: Final = re.compile(r"(?P<page>[\w-]*)(?:\.\w+)?(?:#(?P<label>.+))?")
# tables/jobs.csv · report.pdf, files beside the website's pages
SITE_FILE: Final = re.compile(r"(?:tables|figures)/|[\w-]+\.pdf$")


@dataclass(frozen=True)
class CellWriter:
    """Writes cells of one page; `pages` are the names of all pages of the PDF, to which links can lead."""

    page: str
    pages: Set[str]

    def write(self, element: HtmlElement, width: int | None = None) -> str:
        """Return what an element holds, with its text in lines of so many characters where a width is given."""
        return join(self._write_parts(element, width))

    def _write_parts(self, element: HtmlElement, width: int | None) -> Iterator[str]:
        yield from write_text(element.text, width)
        for child in element:
            if child.tag == "br":
                yield BREAK
            elif child.tag == "code":
                yield f"raw({join(write_text(child.text_content())) or quote('')})"
            elif content := self.write(child, width):
                yield self._wrap(child, content)
            yield from write_text(child.tail, width)

    def _wrap(self, element: HtmlElement, content: str) -> str:
        if element.tag != "a":
            function = FUNCTIONS.get(str(element.tag))
            return f"{function}({content})" if function else content
        target = element.get("href", "")
        if ELSEWHERE.match(target):
            return f"link({quote(target)}, {content})"
        link = PAGE_LINK.fullmatch(target)
        page = link["page"] or self.page if link else ""
        if link is None or SITE_FILE.match(target) or page not in self.pages:
            return content
        label = make_label(page, link["label"]) if link["label"] else page
        return f"to({quote(label)}, {content})"


def make_label(page: str, label: str) -> str:
    """Return a label of a page as it is in the document, where two pages may use the same one; as in `paper.lua`."""
    return f"{page}--{re.sub('[^A-Za-z0-9-]', '-', label)}"


def join(parts: Iterator[str]) -> str:
    """Return expressions that show one after another as one expression, empty for none."""
    taken = list(parts)
    return f"{{{'; '.join(taken)}}}" if len(taken) > 1 else "".join(taken)


def read_lines(element: HtmlElement) -> tuple[str, ...]:
    """Return the text of an element, line by line."""
    return tuple(line.strip(" ") for line in "".join(_read_text(element)).split("\n"))


def _read_text(element: HtmlElement) -> Iterator[str]:
    yield SPACES.sub(" ", element.text or "")
    for child in element:
        yield from ("\n",) if child.tag == "br" else _read_text(child)
        yield SPACES.sub(" ", child.tail or "")


def write_text(text: str | None, width: int | None = None) -> Iterator[str]:
    """Yield text as strings of Typst, one for each line where a width is given, and the breaks between them."""
    if not text:
        return
    shown = SPACES.sub(" ", text)
    lines = [shown] if width is None else textwrap.wrap(shown, width, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        if number:
            yield BREAK
        yield quote(NAME.sub(_allow_breaks, UNKNOWN_LETTER.sub(_escape_letter, line)))


def quote(text: str) -> str:
    """Return text as a string of Typst, which shows it literally."""
    escaped = CONTROL.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escape_letter(letter: re.Match[str]) -> str:
    code = ord(letter[0])
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"


def _allow_breaks(word: re.Match[str]) -> str:
    pattern = BREAK_AFTER if len(word[0]) >= LONG_WORD else BREAK_NAME_AFTER
    return pattern.sub(rf"\g<0>{MAY_BREAK}", word[0])
