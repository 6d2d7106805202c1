"""Grids as HTML: great_tables' markup without its style, the first number of a row a link to the runs behind it."""

import html
import re
from typing import Any, Final

import polars as pl
from great_tables import GT
from great_tables import html as markup

from ccreport.summarise.grids.grid import Cell, Grid, html_id
from ccreport.summarise.grids.links import cell_href

# A longer text may break, and of a much longer one the first part alone is open: its row would be a band of blanks.
LONG: Final = 40
FOLDED: Final = 120
PART: Final = "; "
STYLE: Final = re.compile(r"<style>.*?</style>\n?", re.DOTALL)
# <table id="table-2" class="gt_table" data-quarto-disable-processing="false" ...>
TABLE: Final = re.compile(r"<table\b[^>]*>")
CLASS: Final = 'class="gt_table"'
# A class that no style has, in each of the thousands of cells.
NO_STYLE: Final = 'class="gt_row '
# <th class="gt_group_heading" colspan="15" scope="colgroup" id="table-2-no-loss">no loss</th>
GROUP: Final = re.compile(r'(<th class="gt_group_heading"[^>]*>)(.*?)(?=</th>)')
# What a note calls the table of verdicts, which is on the same page.
VERDICTS: Final = "table of comparisons"
LINK_TO_VERDICTS: Final = "#table-comparisons"
# A header cell without words, which a screen reader would announce.
NO_HEAD: Final = re.compile(r'<th([^>]*?)(?: scope="col(?:group)?")?>\s*<span>&nbsp;</span>\s*</th>')


def format_html(grid: Grid) -> str:
    """Return a grid as an HTML table of class `gt_table published`; the pages' style sheet gives it its look."""
    names = [f"name{number}" for number in range(len(grid.stubs))]
    columns = [f"cell{number}" for number in range(len(grid.headings))]
    outer = "name0" if grid.is_grouped else None
    frame = pl.DataFrame(
        {name: [row[n] for row in grid.names] for n, name in enumerate(names)}
        | {column: [f"{row}:{n}" for row in range(len(grid.cells))] for n, column in enumerate(columns)},
        schema=dict.fromkeys([*names, *columns], pl.String),
    )
    labels: dict[str, str] = dict(zip([*names, *columns], [*grid.stubs, *grid.headings], strict=True))
    if outer:
        del labels[outer]
    # What it formats itself it escapes, names of groups and notes; in labels it would read {{…}} as units.
    formatted = GT(frame, groupname_col=outer, id=html_id(grid.table))
    less = {name for name, is_less in zip(columns, grid.is_less, strict=True) if is_less}
    labelled = {name: _label(text, is_less=name in less) for name, text in labels.items()}
    formatted = formatted.cols_label(**labelled)
    shown = _show_cells(grid)
    formatted = formatted.fmt(html.escape, [name for name in names if name != outer]).fmt(shown.__getitem__, columns)
    for level, spanners in enumerate(reversed(grid.spanners)):
        start = 0
        for text, width in spanners:
            spanned = columns[start : start + width]
            label = _label(text, is_less=less.issuperset(spanned))
            formatted = formatted.tab_spanner(label, spanned, level=level, id=f"{level}-{start}")
            start += width
    numbers = [column for column, is_number in zip(columns, grid.is_number, strict=True) if is_number]
    for note in grid.notes:
        # A block, to which a page can give another width than the table's.
        formatted = formatted.tab_source_note(markup(f"<div>{_link(html.escape(note))}</div>"))
    text = formatted.cols_align("left", [*names, *columns]).cols_align("right", numbers).as_raw_html()
    text = STYLE.sub("", text).replace(CLASS, 'class="gt_table published"').replace(NO_STYLE, 'class="')
    # What stays in sight where the table scrolls, while the cell is as wide as the table.
    head = html.escape(f"{grid.own_head}: " if grid.own_head else "")
    text = GROUP.sub(lambda group: f"{group[1]}<span>{head}{group[2]}</span>", text)
    text = NO_HEAD.sub(r"<td\1></td>", text)
    caption = f"<caption>{html.escape(grid.caption)}</caption>" if grid.caption else ""
    return TABLE.sub(lambda tag: f"{tag[0]}{caption}", text, count=1)


def _link(note: str) -> str:
    return note.replace(VERDICTS, f'<a href="{LINK_TO_VERDICTS}">{VERDICTS}</a>')


def _label(text: str, *, is_less: bool = False) -> Any:
    escaped = html.escape(text).replace("{", "&#123;")
    return markup(_mark_less(escaped) if is_less else escaped)


def _mark_less(text: str) -> str:
    """Return what the pages leave out where a screen is too narrow for two algorithms beside each other."""
    return f'<span class="less">{text}</span>'


def _show_cells(grid: Grid) -> dict[str, str]:
    """Return each cell's HTML by its place; of the numbers from one row of the summary the first is a link."""
    shown = {}
    is_less = grid.is_less
    linked: set[int | None] = {None}
    for row, (cells, pads) in enumerate(zip(grid.cells, grid.pads, strict=True)):
        for column, (cell, pad) in enumerate(zip(cells, pads, strict=True)):
            text = _show(grid.table, cell, is_link=cell.number not in linked) + pad
            shown[f"{row}:{column}"] = _mark_less(text) if is_less[column] else text
            linked.add(cell.number)
    return shown


def _show(table: str, cell: Cell, *, is_link: bool) -> str:
    text = html.escape(cell.text)
    if len(cell.text) > FOLDED and PART in cell.text:
        first, _, others = text.partition(PART)
        return f'<details class="long"><summary>{first};</summary>{others}</details>'
    if len(cell.text) > LONG:
        text = f'<span class="long">{text}</span>'
    if cell.is_better:
        text = f"<strong>{text}</strong>"
    return f'<a href="{cell_href(table, cell.number)}">{text}</a>' if is_link and cell.number is not None else text
