"""The box of a published table: which tables a phone stacks the columns of."""

import pytest

from ccreport.report.markup.table_box import open_table_box

NAMES = '<th class="gt_col_heading gt_left" rowspan="2" colspan="1">Flows</th>' * 2
SPANNERS = f'<tr class="gt_col_headings gt_spanner_row">{NAMES}<th colspan="3">BBR</th></tr>'
CELL = ("M", '<span class="less">95 % interval</span>', "CV")


def make_table(*headings: str) -> str:
    heads = "".join(f'<th class="gt_col_heading gt_right" rowspan="1" scope="col">{text}</th>' for text in headings)
    return f'<table class="gt_table"><thead>{SPANNERS}<tr class="gt_col_headings">{heads}</tr></thead></table>'


@pytest.mark.parametrize(
    ("headings", "groups"),
    [(CELL, 1), (CELL * 4, 4), (("Paper", "Here", "=?", "Paper", "Here") * 2, 2)],
)
def test_groups_of_the_same_columns_are_stacked(headings: tuple[str, ...], groups: int):
    opened = open_table_box(make_table(*headings), "Table II", "beside", of_group=len(headings) // groups)
    assert opened.startswith('<div class="table-scroll beside stacked" role="region" aria-label="Table II" ')
    assert f'style="--names: 2; --groups: {groups}"' in opened


@pytest.mark.parametrize("headings", [(), CELL[:2] * 3, (*CELL, "Runs"), CELL * 5])
def test_other_tables_scroll(headings: tuple[str, ...]):
    opened = open_table_box(make_table(*headings), "Runs")
    assert opened == '<div class="table-scroll" role="region" aria-label="Runs" tabindex="0">'


def test_a_table_without_groups_scrolls():
    table = make_table("Rate", "RTT", "Runs").replace(SPANNERS, "")
    assert "stacked" not in open_table_box(table, "Runs")
