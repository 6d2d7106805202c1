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
    assert describe_suspects(GRID, others, 12) == f"With 12 suspect runs: {said}."
    assert describe_suspects(GRID, change(("46.1", "c", "45"), ("9.0", "d", "–")), 1) == ""


def test_a_table_of_other_columns_is_not_compared_cell_by_cell() -> None:
    others = replace(GRID, headings=["M", "CV", "M"])
    assert describe_suspects(GRID, others, 1) == "With 1 suspect run the table has other rows or columns."


def test_a_sentence_names_the_first_rows_and_counts_the_others() -> None:
    long = replace(GRID, names=[[str(n), "1"] for n in range(6)], cells=[GRID.cells[0]] * 6)
    others = replace(long, cells=[[Cell("1"), Cell("a"), Cell("45")]] * 6)
    said = describe_suspects(long, others, 2)
    assert said.startswith("With 2 suspect runs: 0, 1, RTT < 30 ms: M 1 (here 46.1); 1, 1,")
    assert said.endswith("; 2 more rows would change.")
