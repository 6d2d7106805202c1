"""Texts of a drawing as long as they were laid out, whatever font shows them.

The drawing engine brings Liberation Sans along. A reader's browser may have neither it nor Arial or Helvetica, which
are as wide. With a wider font titles would be cut off and labels run into each other: SVG's `textLength` has the
browser fit what it takes into the space that was laid out.
"""

import html
import re
from collections.abc import Mapping
from typing import Final

# Widths of " " to "~" in thousandths of the font size, and of what else figures write, as Adobe's metrics of Helvetica
# and Helvetica-Bold have them.
LETTERS: Final = "".join(map(chr, range(ord(" "), ord("~") + 1))) + "–—’…≤≥"
NORMAL: Final = """
278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584
584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278
278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500
500 334 260 334 584 556 1000 222 1000 549 549
"""
BOLD: Final = """
278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 584 584
584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 667 667 611 333
278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556 778 556 556
500 389 280 389 584 556 1000 278 1000 549 549
"""
WIDTHS: Final[Mapping[str, Mapping[str, int]]] = {
    weight: dict(zip(LETTERS, map(int, widths.split()), strict=True))
    for weight, widths in {"normal": NORMAL, "bold": BOLD}.items()
}
# <text text-anchor="end" font-size="13px" font-weight="bold">CUBIC</text>, or in it a <tspan x="0" dy="17"> a line
TEXT: Final = re.compile(r"<text(?P<attributes> [^>]*)(?<!/)>(?P<content>.*?)</text>", re.DOTALL)
LINE: Final = re.compile(r"<tspan(?P<attributes>[^>]*)>(?P<content>[^<]*)</tspan>")
SIZE: Final = re.compile(r'font-size="(?P<px>[\d.]+)px"')
IS_BOLD: Final = 'font-weight="bold"'
LENGTH: Final = re.compile(r' textLength="[^"]*" lengthAdjust="[^"]*"')


def pin_lengths(svg: str) -> str:
    """Return a drawing whose texts say how long they are; a text with a letter of unknown width stays as it is."""
    return TEXT.sub(_pin_text, svg)


def unpin_lengths(svg: str) -> str:
    """Return a drawing as it was before `pin_lengths`, for setting it in another font."""
    return LENGTH.sub("", svg)


def measure_text(text: str, size_px: float, *, is_bold: bool) -> float | None:
    """Return the length of a text in px, None where the width of a letter is unknown."""
    widths = WIDTHS["bold" if is_bold else "normal"]
    if not all(letter in widths for letter in text):
        return None
    return sum(widths[letter] for letter in text) * size_px / 1000


def _pin_text(match: re.Match[str]) -> str:
    attributes, content = match["attributes"], match["content"]
    size = SIZE.search(attributes)
    if size is None:
        return match[0]
    size_px, is_bold = float(size["px"]), IS_BOLD in attributes
    if "<" in content:
        lines = LINE.sub(lambda line: _pin("tspan", line["attributes"], line["content"], size_px, is_bold), content)
        return f"<text{attributes}>{lines}</text>"
    return _pin("text", attributes, content, size_px, is_bold)


def _pin(tag: str, attributes: str, content: str, size_px: float, is_bold: bool) -> str:
    length_px = measure_text(html.unescape(content), size_px, is_bold=is_bold)
    pinned = f' textLength="{length_px:.1f}" lengthAdjust="spacingAndGlyphs"' if length_px else ""
    return f"<{tag}{attributes}{pinned}>{content}</{tag}>"
