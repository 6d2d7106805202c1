"""The table of comparisons as it is shown: named after its algorithms, with the measure above its rows."""

from typing import Any

import polars as pl
import pytest

from ccreport.core.tables import load_schema
from ccreport.summarise.grids.cells import lay_out_rows
from ccreport.summarise.grids.grid import Grid, format_least_effect
from ccreport.summarise.grids.measures import name_rates, select_measures
from ccreport.summarise.grids.pairs import OF_TEST, head_measures, is_of_pairs, name_pair, say_nothing_compared

MEASURES = ["verdict", "effect_mean_ratio", "least_effect_pct", "first_runs_count", "second_runs_count"]


def compare(table: str, measure: str, question: str, **facts: Any) -> dict[str, Any]:
    return {
        "table_name": table,
        "measure": measure,
        "question": question,
        "first_algorithm": "BBR",
        "second_algorithm": "CUBIC",
        "verdict": "undecided",
        "effect_mean_ratio": 2.0,
        "effect_low_ratio": 1.9,
        "effect_high_ratio": 2.1,
        "least_effect_pct": 40.0,
        "first_runs_count": 5,
        "second_runs_count": 5,
        "first_mean": 7.872e9,
        "second_mean": 0.742e9,
        **facts,
    }


def lay_out(*rows: dict[str, Any]) -> Grid:
    schema = load_schema("comparisons")
    chosen = select_measures(pl.DataFrame(rows), schema, {"measures": [*MEASURES, "first_mean", "second_mean"]})
    assert is_of_pairs(chosen)
    return name_pair(lay_out_rows(head_measures(chosen), schema, "Title", []), chosen)


def test_means_are_named_after_the_algorithms_and_measures_are_above_the_rows() -> None:
    retransmits = {"first_mean": 0.0044, "second_mean": 0.0155, "second_runs_count": 4}
    grid = lay_out(
        compare("Table I", "goodput_bps", "8 MB"),
        compare("Table I", "goodput_bps", "12 MB", least_effect_pct=1302.0, first_runs_count=4),
        compare("retransmits", "retransmit_ratio", "8 MB", effect_mean_ratio=0.3, **retransmits),
    )
    assert grid.stubs == ["Table", "Question"]
    assert [row[0] for row in grid.names] == [
        "Table I: goodput (Gbit/s)",
        "Table I: goodput (Gbit/s)",
        "Retransmits: retransmitted (%)",
    ]
    effect = "Minimum detectable effect (%)"
    assert grid.headings == ["Verdict", "BBR", "CUBIC", "BBR / CUBIC", "95 % interval", effect, "Runs of each"]
    shown = [[cell.text for cell in row] for row in grid.cells]
    assert shown[0][1:3] == ["7.87", "0.742"]
    assert [row[5:] for row in shown] == [["40.0", "5"], ["> 500", "4 / 5"], ["40.0", "5 / 4"]]
    assert shown[2][1:3] == ["0.440", "1.55"]
    assert grid.notes == ["All rows: first BBR, second CUBIC."]


def test_where_both_means_are_0_nothing_was_compared_and_no_test_is_shown() -> None:
    zero = {"verdict": "equal within ±5 %", "effect_mean_ratio": None, "p_holm_ratio": 1.0, "runs_to_show_count": 2}
    zero |= {"first_mean": 0.0, "second_mean": 0.0}
    rows = pl.DataFrame(
        [
            compare("retransmits", "retransmit_ratio", "no loss", **zero),
            compare("Table I", "goodput_bps", "8 MB", **zero),
            compare("Table I", "goodput_bps", "12 MB", p_holm_ratio=0.2, runs_to_show_count=9),
            compare("Table I", "goodput_bps", "16 MB", **{**zero, "second_mean": None}),
        ]
    )
    shown = say_nothing_compared(rows)
    assert shown["verdict"].to_list() == ["neither retransmits", "both 0", "undecided", "equal within ±5 %"]
    for name in ("p_holm_ratio", "least_effect_pct", "runs_to_show_count"):
        assert shown[name].to_list() == [None, None, *rows[name][2:]]
    assert shown.drop("verdict", *OF_TEST, strict=False).equals(rows.drop("verdict", *OF_TEST, strict=False))


def test_where_pairs_differ_only_what_all_rows_share_is_named() -> None:
    grid = lay_out(
        compare("means", "goodput_bps", "a"),
        compare("means", "goodput_bps", "a", first_algorithm="BBRv1", first_runs_count=3, first_mean=1e9),
    )
    assert grid.stubs == ["First"]
    # A column in which all rows are the same is not shown; the runs left are those of the first alone.
    assert grid.headings == ["Verdict", "Runs of first", "First mean"]
    assert [row[1].text for row in grid.cells] == ["5", "3"]
    assert "second CUBIC" in grid.notes[0]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.00169, "< 0.1"), (0.1, "0.100"), (37.4, "37.4"), (1302.0, "> 500"), (None, "–")]
)
def test_least_effects_are_told_apart_between_bounds(value: float | None, shown: str) -> None:
    assert format_least_effect(value) == shown


def test_headings_say_which_rate_it_is() -> None:
    grid = Grid("jobs", "T", ["Job"], [], [], ["Rate mean (Gbit/s)", "Retransmits"], [True, True], [], [])
    assert name_rates(grid, ["throughput"]).headings == ["Throughput mean (Gbit/s)", "Retransmits"]
    assert name_rates(grid, ["goodput", "throughput"]) == grid
    # Not where the table has that heading already.
    both = Grid("t", "T", [], [], [], ["Rate mean", "Goodput mean"], [True, True], [], [])
    assert name_rates(both, ["goodput"]) == both
