"""What a table of cells says beside the publication's."""

from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl

from ccreport.summarise.grids.formats.latex import format_latex
from ccreport.summarise.grids.grid import Cell, Grid
from ccreport.summarise.grids.publication import (
    UNPUBLISHED,
    head_columns,
    list_rtts,
    mark_unpublished,
)
from ccreport.summarise.grids.shared_runs import share_names, share_runs

NEAR, FAR = "RTT < 30 ms", "RTT ≥ 30 ms"
GRID = Grid(
    table="t",
    title="A table",
    stubs=["Buffer", "Flows"],
    names=[["12 MB", "8"], ["12 MB", "16"], ["1.5 MB", "16"]],
    spanners=[[(NEAR, 1), (FAR, 1)], [("BBR", 1), ("BBR", 1)]],
    headings=["M", "M"],
    is_number=[True, True],
    cells=[[Cell("1"), Cell("2")]] * 3,
    notes=["Rate: goodput."],
)
KEYS = pl.DataFrame({"buffer_bytes": [12_000_000, 12_000_000, 1_500_000], "flows_count": [8, 16, 16]})


def test_buckets_name_the_round_trip_times_of_runs_that_count() -> None:
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE t_runs AS SELECT *, bucket AS rtt_bucket FROM (VALUES
                ('near', 10.2::DOUBLE, 10.0::DOUBLE, TRUE), ('near', 10.4, 10.0, TRUE), ('near', 20.0, NULL, FALSE),
                ('far', 80.04, NULL, TRUE), ('far', 88.0, 88.0, TRUE),
                ('many', 1, 1, TRUE), ('many', 2, 2, TRUE), ('many', 3, 3, TRUE), ('many', 4, 4, TRUE),
                ('many', 5, 5, TRUE),
                ('loopback', 0.0012, NULL, TRUE), ('loopback', 0.5, NULL, TRUE),
                ('unknown', NULL, NULL, TRUE)
            ) AS runs(bucket, rtt_ms, rtt_nominal_ms, is_counted)
        """)
        found = list_rtts(connection, "t")
    assert found == {
        "near": "near (here 10 ms)",
        "far": "far (here 80, 88 ms)",
        "many": "many (here 1 to 5 ms)",
        "loopback": "loopback (here 0.001, 0.5 ms)",
    }


def test_headings_of_buckets_are_replaced_and_others_stay() -> None:
    shown = head_columns(GRID, {FAR: f"{FAR} (here 80 ms)"})
    assert shown.spanners == [[(NEAR, 1), (f"{FAR} (here 80 ms)", 1)], [("BBR", 1), ("BBR", 1)]]


def test_rows_that_the_publication_does_not_have_are_marked(tmp_path: Path) -> None:
    expected = tmp_path / "t.csv"
    expected.write_text("flows_count,buffer_bytes,algorithm\n16,12000000,BBR\n16,12000000,CUBIC\n", encoding="utf-8")
    marked = mark_unpublished(GRID, expected, KEYS)
    assert [row[1] for row in marked.names] == ["8 †", "16", "16 †"]
    assert marked.notes == ["Rate: goodput.", UNPUBLISHED]
    assert r"8 \textdagger{}" in format_latex(marked)
    # Sizes in other units than these: which rows go together no name tells.
    expected.write_text("flows_count,buffer_bytes\n100,3000000\n", encoding="utf-8")
    assert mark_unpublished(GRID, expected, KEYS) == GRID
    # What is wrong with such a file the comparison says, by its line.
    for text in ("", "flows_count;buffer_bytes\n16;12000000\n", "flows_count,buffer_bytes\none,12000000\n"):
        expected.write_text(text, encoding="utf-8")
        assert mark_unpublished(GRID, expected, KEYS) == GRID


def test_rows_are_looked_for_by_labels_as_the_file_has_them(tmp_path: Path) -> None:
    cases = [{"value": "esnet", "shown": "ESnet"}, {"value": "elsewhere"}]
    evaluation = {"labels": {"path_class": {"cases": cases}}, "algorithms": {}, "algorithm_names": {}, "tables": {}}
    expected = tmp_path / "t.csv"
    expected.write_text("path_class\nesnet\n", encoding="utf-8")
    grid = replace(GRID, stubs=["Path"], names=[["ESnet"], ["elsewhere"]])
    marked = mark_unpublished(grid, expected, pl.DataFrame({"path_class": ["esnet", "elsewhere"]}), evaluation)
    assert marked.names == [["ESnet"], ["elsewhere †"]]


def test_runs_are_counted_once_for_a_row() -> None:
    headings = ["M", "Runs", "M", "CV", "Runs"]
    counts = [("5", "5"), ("10", "9"), ("–", "1,000"), ("–", "–")]
    cells = [[Cell("1"), Cell(first), Cell("2"), Cell("3"), Cell(second)] for first, second in counts]
    grid = replace(
        GRID,
        names=[["a", str(number)] for number in range(4)],
        spanners=[[("All", 5)], [("BBR", 2), ("CUBIC", 3)]],
        headings=headings,
        is_number=[True] * 5,
        cells=cells,
    )
    shared = share_runs(grid)
    assert shared.stubs == ["Buffer", "Flows", "Runs"]
    assert [row[-1] for row in shared.names] == ["5", "9–10", "1,000", "–"]
    assert shared.spanners == [[("All", 3)], [("BBR", 1), ("CUBIC", 2)]]
    assert shared.headings == ["M", "M", "CV"]
    assert [[cell.text for cell in row] for row in shared.cells] == [["1", "2", "3"]] * 4
    counts = replace(GRID, headings=["Runs", "Runs"])
    assert (share_runs(GRID), share_runs(counts)) == (GRID, counts)


def test_what_all_rows_are_named_is_said_once_below_the_table() -> None:
    grid = replace(GRID, stubs=["Buffer", "Flows", "Runs"], names=[["8 MB", "16", "5"], ["12 MB", "16", "5"]])
    shared = share_names(grid)
    assert (shared.stubs, shared.names) == (["Buffer"], [["8 MB"], ["12 MB"]])
    assert shared.notes == [*GRID.notes, "All rows: 16 flows, 5 runs."]
    # A row alone keeps its names, and the first name stays in any case.
    for names in ([["8 MB", "16", "5"]], [["8 MB", "16", "5"], ["8 MB", "8", "4"]]):
        assert share_names(replace(grid, names=names)) == replace(grid, names=names)
