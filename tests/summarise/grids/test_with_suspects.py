from dataclasses import replace

from ccreport.summarise.grids.grid import Cell, Grid
from ccreport.summarise.grids.with_suspects import describe_suspects

GRID = Grid(
    table="t",
    title="T",
    stubs=["Test", "Flows"],
    names=[["no loss", "1"], ["no loss", "–"]],
    spanners=[[("RTT < 30 ms", 2), ("RTT ≥ 30 ms", 1)]],
    headings=["M", "Note", "M"],
    is_number=[True, False, True],
    cells=[[Cell("46.1"), Cell("a"), Cell("45")], [Cell("9.0"), Cell("b"), Cell("–")]],
    notes=[],
)


def change(*texts: tuple[str, str, str]) -> Grid:
    return replace(GRID, cells=[[Cell(text) for text in row] for row in texts])


def test_only_numbers_that_differ_are_named() -> None:
    others = change(("39", "c", "45"), ("9.0", "b", "8"))
    said = "no loss, 1, RTT < 30 ms: M 39 (here 46.1); no loss, RTT ≥ 30 ms: M 8 (here –)"
    assert describe_suspects(GRID, GRID, others, 12) == f"With 12 suspect runs: {said}."
    assert describe_suspects(GRID, GRID, change(("46.1", "c", "45"), ("9.0", "d", "–")), 1) == ""


def test_a_table_of_other_columns_is_not_compared_cell_by_cell() -> None:
    others = replace(GRID, headings=["M", "CV", "M"])
    assert describe_suspects(GRID, GRID, others, 1) == "With 1 suspect run the table has other rows or columns."


def test_a_sentence_names_the_first_rows_and_counts_the_others() -> None:
    long = replace(GRID, names=[[str(n), "1"] for n in range(6)], cells=[GRID.cells[0]] * 6)
    others = replace(long, cells=[[Cell("1"), Cell("a"), Cell("45")]] * 6)
    said = describe_suspects(long, long, others, 2)
    assert said.startswith("With 2 suspect runs: 0, 1, RTT < 30 ms: M 1 (here 46.1); 1, 1,")
    assert said.endswith("; 2 more rows would change.")


def test_a_column_in_which_all_rows_become_alike_is_compared() -> None:
    # The runs are 10 and 9 here, and with the suspect one 10 in both; all rows have one path.
    whole = replace(
        GRID,
        stubs=["Path", "Loss"],
        names=[["RTT 10 ms", "0"], ["RTT 10 ms", "1"]],
        spanners=[],
        headings=["Path's", "Runs", "Mean"],
        is_number=[True] * 3,
        cells=[[Cell("5"), Cell("10"), Cell("9.82")], [Cell("5"), Cell("9"), Cell("9.803")]],
    )
    shown = replace(
        whole,
        stubs=["Loss"],
        names=[["0"], ["1"]],
        headings=["Runs", "Mean"],
        is_number=[True] * 2,
        cells=[row[1:] for row in whole.cells],
    )
    others = replace(whole, cells=[whole.cells[0], [Cell("6"), Cell("10"), Cell("9.792")]])
    said = describe_suspects(shown, whole, others, 1)
    assert said == "With 1 suspect run: 1: Runs 10 (here 9), Mean 9.792 (here 9.803)."
