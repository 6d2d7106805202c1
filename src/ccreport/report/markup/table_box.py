"""The box of a published table: it scrolls where the table is wider than the page, and says what a phone stacks.

Such a table has for each of its groups (BBR at a long RTT) the same few columns, on a phone one below the other; or so
many columns that name a row that a phone has them on a line of their own, above the row's numbers.
"""

import re
from typing import Final

# The last row of a head that has groups: <tr class="gt_col_headings"><th ... id="cell1"><span class="less">95 % ...
HEADINGS: Final = re.compile(r'<tr class="gt_col_headings">(.*?)</tr>', re.DOTALL)
HEADING: Final = re.compile(r"<th\b[^>]*>\s*(?:<span[^>]*>)?([^<]*)")
# What names a row is beside groups and headings: <th class="gt_col_heading ..." rowspan="2" colspan="1" scope="col">
NAME: Final = re.compile(r'<th class="gt_col_heading[^>]* rowspan="2"')
# <th class="gt_col_heading ..." id="jobs-name1">, of a number <... id="jobs-cell0">, but not of one that a phone leaves
# out: <... id="jobs-cell4"><span class="less">
HEADING_KIND: Final = re.compile(r'<th\b[^>]* id="[^"]*-(name|cell)\d+"[^>]*>(?!<span class="less">)')
# Fewer leave room for numbers beside them.
NAMES_ABOVE: Final = 4
# Mean, interval and CV.
OF_GROUP: Final = 3
# Numbers of more groups are wider than a phone.
GROUPS_AT_MOST: Final = 4


def open_table_box(table: str, label: str, kind: str = "", of_group: int = OF_GROUP) -> str:
    """Return the opening tag of the box around a table's HTML.

    `label`, escaped, names it; `kind` is a class more; groups that are stacked have `of_group` columns each.
    """
    style = ""
    if stacked := _count_stacked(table, of_group):
        kind, style = f"{kind} stacked", f' style="--names: {stacked[0]}; --groups: {stacked[1]}"'
    elif numbers := _count_numbers_below(table):
        kind, style = f"{kind} names-above", f' style="--numbers: {numbers}"'
    classes = " ".join(["table-scroll", *kind.split()])
    return f'<div class="{classes}" role="region" aria-label="{label}" tabindex="0"{style}>'


def _count_numbers_below(table: str) -> int:
    """Return how many numbers a phone shows in each row of a table whose rows have many names; 0 of others."""
    if NAME.search(table):
        return 0
    kinds = HEADING_KIND.findall(table)
    return kinds.count("cell") if kinds.count("name") >= NAMES_ABOVE else 0


def _count_stacked(table: str, of_group: int) -> tuple[int, int] | None:
    """Return how many columns name a row and how many groups there are, where all have the same columns."""
    names, row = len(NAME.findall(table)), HEADINGS.search(table)
    headings = HEADING.findall(row[1]) if names and row else []
    groups = len(headings) // of_group
    is_stacked = 0 < groups <= GROUPS_AT_MOST and headings == headings[:of_group] * groups
    return (names, groups) if is_stacked else None
