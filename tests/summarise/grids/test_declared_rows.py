"""Rows of a table come in the order in which the evaluation names the columns that tell them apart."""

import re
from typing import Any

import polars as pl
import pytest

from ccreport.core.tables import conform
from ccreport.summarise.grids.formats.html import format_html
from ccreport.summarise.grids.headings import head_column
from ccreport.summarise.grids.order import rank_values
from ccreport.summarise.grids.table_titles import name_tables, shorten_titles
from ccreport.summarise.summarise import lay_out_table

DECLARED: dict[str, Any] = {
    "title": "Means",
    "note": "",
    "rate": "goodput",
    "rows_at_most": 99,
    "columns": ["algorithm"],
    "measures": ["rate_mean_bps"],
    "headings": {"flows_count": "Flows"},
}
DECLARED_NUMBERS: dict[str, Any] = {"title": "Numbers", "note": "", "rate": "goodput", "rows_at_most": 99}
# As the query orders them, where 10 % is after 2 %.
ROWS = [
    (0.0, 1, "BBR", 9e9),
    (0.0, 1, "CUBIC", 8e9),
    (2.0, 1, "BBR", 7e9),
    (2.0, 16, "BBR", 6e9),
    (10.0, 1, "BBR", 5e9),
]


def test_rows_follow_the_declared_order_and_lead_to_their_own_cells() -> None:
    rows = [
        {"loss_pct": loss, "flows_count": flows, "algorithm": algorithm, "rate_mean_bps": rate, "rate_basis": "goodput"}
        for loss, flows, algorithm, rate in ROWS
    ]
    summary = conform(pl.DataFrame([row | {"runs_count": 3} for row in rows]), "means")
    found = {}
    for first, second in (("loss_pct", "flows_count"), ("flows_count", "loss_pct")):
        grid = lay_out_table(summary, "means", DECLARED | {"rows": [first, second]})
        found[first] = (grid.stubs, grid.names, [cells[0].number for cells in grid.cells])
        # The heading of a number that stands above its rows is said there, as its column is not.
        bands = re.findall(r"<span>(.*?)</span></th>", format_html(grid))
        assert (
            bands
            == {"loss_pct": ["Loss 0 %", "Loss 2 %", "Loss 10 %"], "flows_count": ["Flows: 1", "Flows: 16"]}[first]
        )
    assert found["loss_pct"] == (
        ["Loss (%)", "Flows"],
        [["Loss 0 %", "1"], ["Loss 2 %", "1"], ["Loss 2 %", "16"], ["Loss 10 %", "1"]],
        [1, 3, 4, 5],
    )
    assert found["flows_count"] == (
        ["Flows", "Loss (%)"],
        [["1", "0"], ["1", "2"], ["1", "10"], ["16", "2"]],
        [1, 3, 5, 4],
    )


def test_numbers_ascend_though_each_path_has_others() -> None:
    # As the query orders them: by path first.
    conditions = [("RTT 2 ms", 0.0), ("RTT 2 ms", 0.1), ("RTT 2 ms", 1.0), ("RTT 10 ms", 0.0), ("RTT 10 ms", 0.02)]
    rows = [{"path_rtt": rtt, "loss_pct": loss, "algorithm": "BBR", "rate_mean_bps": 9e9} for rtt, loss in conditions]
    summary = conform(pl.DataFrame([row | {"runs_count": 3, "rate_basis": "goodput"} for row in rows]), "means")
    grid = lay_out_table(summary, "means", DECLARED | {"rows": ["loss_pct", "path_rtt"]})
    assert grid.names == [
        ["Loss 0 %", "RTT 2 ms"],
        ["Loss 0 %", "RTT 10 ms"],
        ["Loss 0.02 %", "RTT 10 ms"],
        ["Loss 0.1 %", "RTT 2 ms"],
        ["Loss 1 %", "RTT 2 ms"],
    ]
    by_path = lay_out_table(summary, "means", DECLARED | {"rows": ["path_rtt"], "columns": ["loss_pct"]})
    assert [title for title, _ in by_path.spanners[0]] == ["no loss", "0.02 % loss", "0.1 % loss", "1 % loss"]
    assert rank_values("path_rtt", ["RTT 100 ms", "RTT 20 ms", "RTT 0.5 ms"], [0, 1, 2])["RTT 100 ms"] == 2
    # Evaluations order labels and algorithms.
    assert rank_values("site", ["site 10", None, "site 2"], [0, 1, 2]) == {"site 10": 0, "site 2": 1, None: 2}


def test_published_numbers_have_the_digits_that_are_printed() -> None:
    common = {"exhibit": "Text", "unit": "ms", "published_runs_count": 1, "runs_count": 3, "value_ratio": 1.1}
    numbers = [
        {
            "cell": str(n),
            "printed": f"{value} ms",
            "published_value": value,
            "published_low": low,
            "published_high": high,
        }
        for n, value, low, high in ((1, 100.0, 99.5, 100.5), (2, 1234.5, 1234.45, 1234.55), (3, 0.3, 0.1 + 0.15, None))
    ]
    rows = [common | row | {"published_verdict": "consistent"} for row in numbers]
    grid = lay_out_table(conform(pl.DataFrame(rows), "published_values"), "published_values", DECLARED_NUMBERS)
    assert "Value" not in grid.headings
    places = [grid.headings.index(heading) for heading in ("Published value", "Published low", "Published high")]
    shown = [[row[place].text for place in places] for row in grid.cells]
    exhibit = {"title": "Text", "columns": {"buffer": "{}"}, "cells": [["1", 100.0]]}
    labels = {"buffer": {"cases": [{"value": "1", "shown": "one BDP"}]}}
    evaluation = {
        "labels": labels,
        "published": {"text": exhibit},
        "algorithms": {},
        "algorithm_names": {},
        "tables": {},
    }
    named = DECLARED_NUMBERS | {"evaluation": evaluation}
    with_names = lay_out_table(conform(pl.DataFrame(rows), "published_values"), "published_values", named)
    assert [row[-1] for row in with_names.names] == ["one BDP", "2", "3"]
    assert shown == [["100", "99.5", "100.5"], ["1234.5", "1234.45", "1234.55"], ["0.3", "0.25", "–"]]


@pytest.mark.parametrize(
    ("column", "own", "heading"),
    [
        ("loss_pct", None, "Loss (%)"),
        ("loss_pct", "Loss", "Loss (%)"),
        ("loss_pct", "Loss in %", "Loss in %"),
        ("rtt_ms", "Round-trip time", "Round-trip time (ms)"),
        # Its values bring theirs.
        ("path_rtt", "Round-trip time", "Round-trip time"),
        ("buffer_bytes", "Buffer size", "Buffer size"),
        ("flows_count", "Flows", "Flows"),
    ],
)
def test_an_evaluations_heading_keeps_the_unit_of_its_column(column: str, own: str | None, heading: str) -> None:
    assert head_column(column, own) == heading


def test_rows_of_another_table_go_by_its_title() -> None:
    titles = {"table_2_testbed": "Table II: mean", "means": "Goodput by orbit", "retransmits": "Retransmit ratio"}
    titles |= {"table_3_paths": "My paths: mean"}
    rows = pl.DataFrame({"table_name": [*titles]})
    named = name_tables(rows, shorten_titles({name: {"title": title} for name, title in titles.items()}))
    assert named["table_name"].to_list() == ["Table II", "Goodput by orbit", "retransmits", "My paths"]
