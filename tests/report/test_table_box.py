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


@pytest.mark.parametrize(("names", "opened"), [(3, "table-scroll"), (6, "table-scroll names-above")])
def test_many_names_of_a_row_are_above_its_numbers(names: int, opened: str):
    heads = [f'<th class="gt_col_heading gt_left" id="jobs-name{i}">Flows</th>' for i in range(names)]
    heads += [f'<th class="gt_col_heading gt_right" id="jobs-cell{i}">Runs</th>' for i in range(7)]
    heads.append('<th class="gt_col_heading gt_right" id="jobs-cell7"><span class="less">95 % interval</span></th>')
    box = open_table_box(f'<table class="gt_table"><tr class="gt_col_headings">{"".join(heads)}</tr></table>', "Jobs")
    assert f'class="{opened}"' in box
    assert ("--numbers: 7" in box) is (names == 6)
