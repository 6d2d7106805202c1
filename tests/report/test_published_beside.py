from typing import Any

import polars as pl
from lxml.html import document_fromstring

from ccreport.core.tables import conform
from ccreport.report.fragments.published_beside import SIGNS, render_published_beside


def make_rows(*cells: dict[str, Any]) -> pl.DataFrame:
    common = {"comparison": "paper", "table_name": "table_2_testbed", "cell_state": "compared"}
    lines = {"expected_line_rate_bps": 1e10, "line_rate_bps": 1e10}
    rows = [common | lines | cell | {"cell_number": number} for number, cell in enumerate(cells, 1)]
    return conform(pl.DataFrame(rows, infer_schema_length=None), "reproduction")


def make_cell(loss: str, bucket: str, algorithm: str, **facts: Any) -> dict[str, Any]:
    where = {"cell": f"{loss}, {bucket}", "test_group": loss, "rtt_bucket": bucket, "algorithm": algorithm}
    rates = {"expected_bps": 9.653e9, "expected_cv": 0.003, "rate_mean_bps": 9.613e9, "rate_cv": 0.00004}
    shares = {"expected_share_ratio": 0.9653, "share_ratio": 0.9613, "value_ratio": 0.9613 / 0.9653}
    return where | rates | shares | {"cell_verdict": "consistent"} | facts


def read_lines(rows: pl.DataFrame, **options: Any) -> list[list[str]]:
    """Return the texts of the rows of the table, padding of decimals left out."""
    page = document_fromstring(
        render_published_beside(rows, "table_2_testbed", "Table II", "Paper", **options).strip("`{=html}\n")
    )
    return [[cell.text_content().strip() for cell in row.iter("th", "td")] for row in page.iter("tr")]


def test_the_numbers_of_both_stand_in_the_rows_and_columns_of_the_publication() -> None:
    lines = read_lines(
        make_rows(
            make_cell("no loss", "RTT < 30 ms", "BBR"),
            make_cell("no loss", "RTT < 30 ms", "CUBIC", cell_verdict="inconsistent", value_ratio=0.96),
            make_cell("no loss", "RTT ≥ 30 ms", "BBR", cell_verdict="inconsistent", value_ratio=1.06),
            make_cell("no loss", "RTT ≥ 30 ms", "CUBIC", cell_verdict="undecided", expected_cv=None),
            make_cell("0.1 % loss", "RTT ≥ 30 ms", "BBR", cell_state="suspect", rate_mean_bps=7.8e7),
            make_cell("0.1 % loss", "RTT ≥ 30 ms", "CUBIC", cell_state="missing", rate_mean_bps=None, rate_cv=None),
        ),
        heads={"RTT < 30 ms": "RTT < 30 ms (here 10 ms)", "test_group": "Loss"},
    )
    assert [text for text in lines[0] if text] == ["RTT < 30 ms (here 10 ms)", "RTT ≥ 30 ms"]
    assert [text for text in lines[1] if text] == ["BBR", "CUBIC"] * 2
    assert lines[2] == ["Loss", *["Mean", "CV"] * 4]
    assert [text for text in lines[3] if text] == ["Paper", "Here", "=?", "Paper", "Here"] * 4
    means, cvs = ["9.65", "9.61"], ["0.3", "0.0"]
    of_bbr, of_cubic = [*means, "", *cvs, *means, "≈", *cvs], [*means, "≠", *cvs, *means, "?", "–", "0.0"]
    assert lines[4] == ["no loss", *of_bbr, *of_cubic]
    nothing = ["–", "–", "", "–", "–"]
    assert lines[5] == ["0.1 % loss", *nothing * 2, "9.65", "0.078", "!", *cvs, "9.65", "–", "", "0.3", "–"]
    assert "; ".join(SIGNS.values()) + "; no sign: not distinguishable." in lines[6]


def test_algorithms_are_in_the_order_of_the_tables_whatever_that_of_the_published_file() -> None:
    names = [(name, bucket) for name in ("CUBIC", "Reno") for bucket in ("near", "far")]
    cells = [make_cell(loss, bucket, name) for loss in ("no loss", "1 % loss") for name, bucket in names]
    lines = read_lines(make_rows(*cells), algorithms=["Reno", "CUBIC"])
    assert [text for text in lines[0] if text] == ["near", "far"]
    assert [text for text in lines[1] if text] == ["Reno", "CUBIC"] * 2


def test_rates_of_unlike_lines_are_shares_of_the_line_rate() -> None:
    slow = {"line_rate_bps": 5e7, "rate_mean_bps": 4.8e7}
    rows = make_rows(*(make_cell(loss, "all", "BBR", **slow) for loss in ("no loss", "0.1 % loss")))
    lines = read_lines(rows)
    # One algorithm and one bucket: rows are named by the cells.
    assert lines[-2:] == [
        ["no loss, all", "96.5", "96.1", "", "0.3", "0.0"],
        ["0.1 % loss, all", "96.5", "96.1", "", "0.3", "0.0"],
    ]


def test_on_a_narrow_screen_the_cvs_are_left_out_with_their_heading() -> None:
    rows = make_rows(*(make_cell("no loss", "RTT < 30 ms", name) for name in ("BBR", "CUBIC")))
    page = document_fromstring(render_published_beside(rows, "t", "T", "Paper").strip("`{=html}\n"))
    shown = ["".join(row.itertext()).split() for row in page.iter("tr")]
    for less in page.find_class("less"):
        less.drop_tree()
    left = ["".join(row.itertext()).split() for row in page.iter("tr")]
    assert "CV" in shown[1]
    assert left[1].count("Mean") == 2
    assert "CV" not in left[1]
    assert left[2] == ["Paper", "Here", "=?"] * 2
