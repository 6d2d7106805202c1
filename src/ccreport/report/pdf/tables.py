"""Tables of the PDF: each HTML table of a page as a call of `data-table` (paper.typ), as narrow as it can be.

Each is a file of its own that the page includes: the page stays as it is where only numbers changed.
"""

from collections.abc import Iterable, Set
from heapq import nlargest
from typing import Final

from lxml.etree import ParserError
from lxml.html import HtmlElement, HTMLParser, fragment_fromstring

from ccreport.report.markup.html_blocks import Line, split_blocks
from ccreport.report.pdf.cells import CellWriter, quote
from ccreport.report.pdf.layout import NOTE, Cell, Row, Table, break_sentences, fit_table, read_table

# More rows of a table nobody reads on paper, and to set them would take longer than all the rest.
ROWS_AT_MOST: Final = 200
REST: Final = f"Only the first {ROWS_AT_MOST} rows are printed here; the rest is in the website and its files."
# A table of more rows than the first is measured by so many of the longest cells of each column as the second.
ROWS_MEASURED: Final = 20
# A cell with more may be higher than a page, in a narrow column.
ROW_CHARACTERS: Final = 800
ROW_LINES: Final = 25
CELLS_MEASURED: Final = 8


def set_tables(lines: Iterable[Line], page: str, pages: Set[str]) -> tuple[list[Line], dict[str, str]]:
    """Return a page with its tables as inclusions of files, and the files, Typst by the path it is included by.

    A block of HTML that holds a table and nothing beside it becomes one; what else there is of HTML stays.
    """
    kept: list[Line] = []
    files: dict[str, str] = {}
    writer = CellWriter(page, pages)
    for block, html in split_blocks(lines):
        table = _find_table(html) if html else None
        if table is None:
            kept += block
            continue
        path = f"tables/{page}_{len(files) + 1}.typ"
        fitted, is_wide = fit_table(read_table(table, ROWS_AT_MOST))
        files[path] = f'#import "/paper.typ": *\n{_write_table(fitted, writer, is_wide=is_wide)}\n'
        included = ["```{=typst}", f"#include {quote(f'/{path}')}", "```"]
        if is_wide:
            included = ["::: {.wide}", "", *included, "", ":::"]
        if len(table.findall("tbody/tr")) > ROWS_AT_MOST:
            included += ["", f"[{REST}]{{.small}}"]
        kept += [Line(text, block[0].file, block[0].number) for text in included]
    return kept, files


def _find_table(html: str) -> HtmlElement | None:
    """Return the table of HTML that has one and nothing beside it but boxes around it."""
    if "<table" not in html:
        return None
    try:
        element = fragment_fromstring(html, parser=HTMLParser(huge_tree=True))
    except ParserError:
        return None
    while element.tag == "div" and len(element) == 1 and not (element.text or "").strip():
        (element,) = element
        if (element.tail or "").strip():
            return None
    return element if element.tag == "table" else None


def _write_table(table: Table, writer: CellWriter, *, is_wide: bool = False) -> str:
    def write_rows(rows: Iterable[Row]) -> list[str]:
        return [_array(_write_cell(cell, _list_options(cell, table.columns), writer) for cell in row) for row in rows]

    # On paper they follow each other in one paragraph.
    notes = "; [ ]; ".join(writer.write(row[0].element) for row in table.foot if len(row) == 1)
    head = [_write_cell(cell, _list_head_options(cell), writer) for row in table.head for cell in row]
    totals = write_rows(row for row in table.foot if len(row) > 1)
    parts = [
        *_list_sizes(table, is_wide=is_wide),
        f"notes: {{{notes}}}" if notes else "notes: []",
        *([f"head: (table.header({', '.join(head)}), head-rule)"] if head else []),
        *([f"totals: (head-rule, ..{', ..'.join(totals)})"] if totals else []),
        *(["is-tall: true"] if any(_is_tall(cell) for row in table.body for cell in row) else []),
        *_list_longest(table),
        *write_rows(table.body),
    ]
    arguments = ",\n".join(parts)
    return f"#data-table({arguments},\n)"


def _is_tall(cell: Cell) -> bool:
    return cell.rows > 1 or sum(map(len, cell.lines)) > ROW_CHARACTERS or len(cell.lines) > ROW_LINES


def _list_sizes(table: Table, *, is_wide: bool) -> list[str]:
    if (broken := break_sentences(table, is_wide=is_wide)) is None:
        return [str(table.columns)]
    scale, widths = broken
    return [_array("auto" if width is None else f"{width:.1f}fr" for width in widths), f"broken: {scale:.2f}"]


def _list_head_options(cell: Cell) -> list[str]:
    if cell.columns > 1 and cell.length:
        return ["align: bottom + center", "stroke: spanner-stroke"]
    return [f"align: bottom + {cell.side or 'left'}"]


def _list_options(cell: Cell, columns: int) -> list[str]:
    if NOTE in cell.element.classes:
        return ["align: left", "inset: (left: 1.5em)"]
    if cell.columns == columns > 1:
        return ["align: left", "fill: group-fill"]
    return [f"align: {cell.side}"] if cell.side not in ("", "left") else []


def _write_cell(cell: Cell, options: list[str], writer: CellWriter) -> str:
    spans = [f"{name}: {count}" for name, count in (("colspan", cell.columns), ("rowspan", cell.rows)) if count > 1]
    content = writer.write(cell.element, cell.width) or "[]"
    return f"table.cell({', '.join((*options, *spans, content))})" if options or spans else content


def _array(items: Iterable[object]) -> str:
    return f"({', '.join(map(str, items))},)"


def _list_longest(table: Table) -> list[str]:
    """Return what `data-table` measures a table of many rows by; nothing of few, and where cells reach over rows."""
    if len(table.body) <= ROWS_MEASURED or any(cell.rows > 1 for row in table.body for cell in row):
        return []
    whole = [(number, row) for number, row in enumerate(table.body) if len(row) == table.columns]
    if len(whole) < CELLS_MEASURED:
        return []
    columns = [
        [number for number, _ in nlargest(CELLS_MEASURED, whole, key=lambda pair: pair[1][column].length)]
        for column in range(table.columns)
    ]
    others = [(number, row) for number, row in enumerate(table.body) if len(row) != table.columns]
    spanning = nlargest(CELLS_MEASURED, others, key=lambda pair: max(cell.length for cell in pair[1]))
    longest = f"longest: {_array(map(_array, zip(*columns, strict=True)))}"
    return [longest, *([f"spanning: {_array(number for number, _ in spanning)}"] if spanning else [])]
