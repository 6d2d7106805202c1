"""Blocks of raw HTML in pages of Markdown: most of a page, which pandoc need not read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# ```{=html} · ~~~ · ```sh
OPENED: Final = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<kind>[^`]*)")
HTML: Final = "{=html}"
# <!--block 17--> in place of a block; text of the archive holds no "<" that is not escaped.
MARK: Final = "<!--block {}-->"
MARKED: Final = re.compile(MARK.format(r"(\d+)"))


@dataclass(frozen=True)
class Line:
    """A line of a page, and the file and line that it came from."""

    text: str
    file: str
    number: int

    @property
    def place(self) -> str:
        """Return the place as messages have it, `file:number`."""
        return f"{self.file}:{self.number}"


def split_blocks(lines: Iterable[Line]) -> Iterator[tuple[list[Line], str | None]]:
    """Yield the lines of each fenced block and each other line by itself, with what is in it where it is HTML."""
    block: list[Line] = []
    fence = kind = ""
    for line in lines:
        block.append(line)
        if fence:
            # As long as the first one or longer.
            is_last = line.text.startswith(fence) and not line.text.strip().strip(fence[0])
            fence = "" if is_last else fence
        elif opened := OPENED.fullmatch(line.text):
            fence, kind = opened["fence"], opened["kind"].strip()
        if not fence:
            yield block, "\n".join(inner_line.text for inner_line in block[1:-1]) if kind == HTML else None
            block, kind = [], ""
    if block:
        yield block, None


def set_aside(lines: Iterable[Line]) -> tuple[list[Line], list[str]]:
    """Return a page with a mark in place of what is in each block of HTML, and what was in them.

    Blocks with nothing but empty lines between them are one.
    """
    kept: list[Line] = []
    contents: list[str] = []
    # Empty lines since a block of HTML; None behind anything else.
    gap: list[Line] | None = None
    for block, html in split_blocks(lines):
        if html is not None and gap is not None:
            contents[-1] += f"\n{html}"
            gap = []
        elif html is not None:
            mark = Line(MARK.format(len(contents)), block[0].file, block[0].number)
            kept += [block[0], mark, block[-1]]
            contents.append(html)
            gap = []
        elif gap is not None and not block[0].text.strip():
            gap += block
        else:
            kept += [*(gap or ()), *block]
            gap = None
    return kept + (gap or []), contents


def put_back(page: str, contents: Sequence[str]) -> str:
    """Return a page of HTML with the blocks that `set_aside` took out of its Markdown."""
    return MARKED.sub(lambda mark: contents[int(mark[1])], page)
