"""Blocks of raw HTML in pages of Markdown: most of a page, which pandoc need not read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ccreport.report.pandoc import Line

# ```{=html}
OPENED: Final = re.compile(r"(?P<fence>`{3,})\{=html\}\s*")
# <!--block 17--> in place of a block; text of the archive holds no "<" that is not escaped.
MARK: Final = "<!--block {}-->"
MARKED: Final = re.compile(MARK.format(r"(\d+)"))


def split_blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield the lines of each block of HTML, with its fences, and each other line by itself."""
    block: list[Line] = []
    fence = ""
    for line in lines:
        block.append(line)
        if fence:
            fence = "" if line.text.rstrip() == fence else fence
        elif opened := OPENED.fullmatch(line.text):
            fence = opened["fence"]
        if not fence:
            yield block
            block = []
    if block:
        yield block


def set_aside(lines: Iterable[Line]) -> tuple[list[Line], list[str]]:
    """Return a page with a mark in place of what is in each block of HTML, and what was in them."""
    kept: list[Line] = []
    contents: list[str] = []
    for block in split_blocks(lines):
        if len(block) > 1:
            first, *within, last = block
            kept += [first, Line(MARK.format(len(contents)), first.file, first.number), last]
            contents.append("\n".join(line.text for line in within))
        else:
            kept += block
    return kept, contents


def put_back(page: str, contents: Sequence[str]) -> str:
    """Return a page of HTML with the blocks that `set_aside` took out of its Markdown."""
    return MARKED.sub(lambda mark: contents[int(mark[1])], page)
