"""Grids as LaTeX tables with booktabs, to paste into a paper: text escaped for pdflatex, no other package needed.

A table too long for a page is a longtable, which the first line says.
"""

import re
from collections.abc import Iterable
from typing import Final

from ccreport.core.text import split_number
from ccreport.summarise.grids.grid import FIGURE_SPACE, POINT_SPACE, Cell, Grid, html_id

SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
    # A row that begins with one of these would be read as an argument of the \\ before it.
    **{char: f"{{{char}}}" for char in "[]*"},
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    # The fonts that pdflatex takes by default have no straight quotes; a pair of these would become another.
    '"': "''",
    "`": "{`}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    **{char: f"\\textsuperscript{{{digit}}}" for char, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)},
    "⁻": r"\textsuperscript{$-$}",
    "±": r"$\pm$",
    "−": "$-$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "θ": r"$\theta$",
    "τ": r"$\tau$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "†": r"\textdagger{}",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    FIGURE_SPACE: r"\phantom{0}",
    POINT_SPACE: r"\phantom{.}",
}
# Rows of a page, and columns that fit its width in normal, small, footnote and script size.
PAGE_ROWS: Final = 45
SIZES: Final = ((8, ""), (11, r"\small"), (14, r"\footnotesize"))
# Tables of more columns than these are turned sideways.
UPRIGHT_COLUMNS: Final = 11


def format_latex(grid: Grid) -> str:
    """Return a grid as a `table` (a `longtable` where it is longer than a page) with caption, label and notes."""
    is_long = len(grid.cells) > PAGE_ROWS
    # A paper numbers its tables itself.
    _, title = split_number(grid.title, "Table")
    units = f". {grid.caption}" if grid.caption else ""
    caption = rf"\caption{{{escape_latex(f'{title[:1].upper()}{title[1:]}{units}')}}}"
    label = rf"\label{{tab:{html_id(grid.table)}}}"
    alignment = "l" * len(grid.stubs) + "".join("r" if is_number else "l" for is_number in grid.is_number)
    is_sideways = len(alignment) > UPRIGHT_COLUMNS
    sideways = ([r"\begin{landscape}"], [r"\end{landscape}"]) if is_sideways else ([], [])
    size = next((size for limit, size in SIZES if len(alignment) <= limit), r"\scriptsize")
    head, body = [r"\toprule", *_head(grid), r"\midrule"], _body(grid)
    notes = [rf"\par\smallskip{{\footnotesize {' '.join(map(escape_latex, grid.notes))}\par}}"] if grid.notes else []
    if is_long:
        lines = [
            rf"% \usepackage{{booktabs,longtable{',pdflscape' if is_sideways else ''}}}",
            *sideways[0],
            rf"\begingroup{size}",
            rf"\begin{{longtable}}{{@{{}}{alignment}@{{}}}}",
            rf"{caption}{label}\\",
            *head,
            r"\endhead",
            *body,
            r"\bottomrule",
            r"\end{longtable}",
            *notes,
            r"\endgroup",
            *sideways[1],
        ]
    else:
        tabular = [rf"\begin{{tabular}}{{@{{}}{alignment}@{{}}}}", *head, *body, r"\bottomrule", r"\end{tabular}"]
        sized = [size] if size else []
        lines = [
            rf"% \usepackage{{booktabs{',pdflscape' if is_sideways else ''}}}",
            *sideways[0],
            r"\begin{table}",
            r"\centering",
            *sized,
            caption,
            label,
            *tabular,
            *notes,
            r"\end{table}",
            *sideways[1],
        ]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    """Return any text so that pdflatex shows it literally; letters that it has no font for as their code points."""
    # Two hyphens would become a dash.
    escaped = "".join(map(_escape, text))
    return re.sub(r"-(?=-)", "-{}", escaped) if "--" in text else escaped


def _escape(char: str) -> str:
    if char in SPECIAL:
        return SPECIAL[char]
    if char.isascii() and char.isprintable():
        return char
    # The letters of Latin-1, but for the Icelandic ones, are in every font that pdflatex takes by default.
    return char if "À" <= char <= "ÿ" and char not in "ÐðÞþ" else f"U+{ord(char):04X}"


def _join(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _head(grid: Grid) -> list[str]:
    lines = []
    for spanners in grid.spanners:
        start = len(grid.stubs) + 1
        rules = []
        for _, width in spanners:
            rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
            start += width
        spanned = [rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(text)}}}" for text, width in spanners]
        lines += [_join([""] * len(grid.stubs) + spanned), "".join(rules)]
    return [*lines, _join(map(escape_latex, [*grid.stubs, *grid.headings]))]


def _body(grid: Grid) -> list[str]:
    lines = []
    previous: str | None = None
    for names, cells, pads in zip(grid.names, grid.cells, grid.pads, strict=True):
        shown = [*map(escape_latex, names)]
        if grid.is_grouped:
            # A name that several rows share is in the first of them.
            if names[0] == previous:
                shown[0] = ""
            elif previous is not None:
                lines.append(r"\addlinespace")
            previous = names[0]
        lines.append(_join([*shown, *map(_show, cells, pads)]))
    return lines


def _show(cell: Cell, pad: str) -> str:
    text = escape_latex(cell.text)
    return (rf"\textbf{{{text}}}" if cell.is_better else text) + escape_latex(pad)
