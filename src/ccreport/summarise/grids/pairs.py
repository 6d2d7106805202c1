"""The table of comparisons as it is shown: columns named after the two algorithms, where all rows have the same two.

The measure, with its unit, is part of the heading above the rows of a table, and the means are in front of their ratio.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from ccreport.summarise.grids.grid import Cell, Grid
from ccreport.summarise.grids.headings import format_name, name_quantities, write_heading

SIDES: Final = ("first_algorithm", "second_algorithm")
SIDE_MEANS: Final = ("first_mean", "second_mean")
MEANS: Final = tuple(map(write_heading, SIDE_MEANS))
RUNS: Final = tuple(map(write_heading, ("first_runs_count", "second_runs_count")))
RATIO: Final = write_heading("effect_mean_ratio")
RUNS_OF_EACH: Final = "Runs of each"
# What the verdict is where both means are 0: there is nothing to compare, and no test of it.
BOTH_ZERO: Final = "both 0"
NEITHER_RETRANSMITS: Final = "neither retransmits"
OF_TEST: Final = (
    *("p_ratio", "p_holm_ratio", "p_equal_ratio", "p_equal_holm_ratio"),
    *("least_effect_pct", "runs_to_show_count"),
)


def is_of_pairs(rows: pl.DataFrame) -> bool:
    """Tell whether rows compare two algorithms each, in a measure of their own."""
    return {"measure", "table_name", *SIDES} <= {*rows.columns}


def say_nothing_compared(rows: pl.DataFrame) -> pl.DataFrame:
    """Return comparisons of which one of two means that are both 0 says so, and has neither verdict nor test."""
    if not {"verdict", "measure", *SIDE_MEANS} <= {*rows.columns}:
        return rows
    is_nothing = pl.all_horizontal(pl.col(mean) == 0 for mean in SIDE_MEANS).fill_null(value=False)
    is_of_retransmits = pl.col("measure") == "retransmit_ratio"
    words = pl.when(is_of_retransmits).then(pl.lit(NEITHER_RETRANSMITS)).otherwise(pl.lit(BOTH_ZERO))
    tests = [pl.when(~is_nothing).then(pl.col(name)).alias(name) for name in OF_TEST if name in rows.columns]
    return rows.with_columns(pl.when(is_nothing).then(words).otherwise("verdict").alias("verdict"), *tests)


def head_measures(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of several tables with the measure as a part of the table's name: "Table I: goodput (Gbit/s)"."""
    if rows["table_name"].n_unique() < 2:
        return rows
    scaled = name_quantities(rows)
    tables = [format_name("table_name", name) for name in scaled["table_name"]]
    named = [f"{table}: {_begin_small(name)}" for table, name in zip(tables, scaled["measure"], strict=True)]
    return scaled.with_columns(table_name=pl.Series(named, dtype=pl.String)).drop("measure")


def _begin_small(words: str) -> str:
    return words if words[1:2].isupper() else words[:1].lower() + words[1:]


def name_pair(grid: Grid, rows: pl.DataFrame) -> Grid:
    """Return a grid of comparisons with the means in front of their ratio, and the numbers of runs in one column.

    `rows` are those that it shows. Where all compare the same two algorithms, these are the headings.
    """
    places = {heading: place for place, heading in enumerate(grid.headings)}
    means = [places[heading] for heading in MEANS if heading in places]
    joined = [places[heading] for heading in RUNS if heading in places]
    # What all rows have is not among the columns.
    named = _name_columns(rows) | ({RUNS[0]: RUNS_OF_EACH} if len(joined) == len(RUNS) else {})
    order = [place for place in range(len(grid.headings)) if place not in (*means, *joined[1:])]
    before = order.index(places[RATIO]) if RATIO in places else len(order)
    order[before:before] = means
    return replace(
        grid,
        headings=[named.get(grid.headings[place], grid.headings[place]) for place in order],
        is_number=[grid.is_number[place] for place in order],
        cells=[[_join(row, joined) if place in joined else row[place] for place in order] for row in grid.cells],
    )


def _name_columns(rows: pl.DataFrame) -> dict[str, str]:
    """Return by heading the name of the algorithm that a column is of, where all rows have the same."""
    named = {mean: rows[side][0] for mean, side in zip(MEANS, SIDES, strict=True) if rows[side].n_unique() == 1}
    return named | ({RATIO: " / ".join(named.values())} if len(named) == len(SIDES) else {})


def _join(row: Sequence[Cell], places: Sequence[int]) -> Cell:
    """Return the cells of both algorithms as one, which has what both show once."""
    return replace(row[places[0]], text=" / ".join(dict.fromkeys(row[place].text for place in places)))
