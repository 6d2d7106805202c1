"""Pairs of algorithms of the published tables: the ratio of their rates there and here, each with its interval.

The prediction interval is where the ratio of a repeat of the same size would be, 95 % of the time: the difference of
two estimates of one logarithm has twice the variance of one, with the same degrees of freedom, so the half width of the
interval grows by the root of 2.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.compare.expected import Expected
from ccreport.compare.pairs import SUSPECT
from ccreport.compare.reproduction import COMPARED, name_published
from ccreport.core.declared_files import DeclarationError, blame, load_declared
from ccreport.core.evaluation import load_evaluation
from ccreport.core.schema_problems import guess
from ccreport.summarise.algorithm_names import show_algorithms_within
from ccreport.summarise.grids.label_names import call_labels

PAPER: Final = "paper"
# Column of comparisons that says whether the publication has them, and its value where it has not.
PUBLISHED: Final = "published"
UNPUBLISHED: Final = "not published"
# What a row of the forest plot has; ratios are rates of the first algorithm over those of the second.
PAIR_COLUMNS: Final = {
    "table_name": "table_name",
    "cell": "cell",
    "expected": "pair_expected_ratio",
    "ratio": "pair_ratio",
    "low": "pair_low_ratio",
    "high": "pair_high_ratio",
    "expected_low": "pair_expected_low_ratio",
    "expected_high": "pair_expected_high_ratio",
    "verdict": "pair_verdict",
}
EXPECTED_ENDS: Final = ("pair_expected_low_ratio", "pair_expected_high_ratio")
# What a published mean has of which the spread is known.
SPREADS: Final = ("expected_cv", "expected_low_bps")


def list_pairs(compared: pl.DataFrame, algorithms: Sequence[str]) -> pl.DataFrame:
    """Return a row for each pair of the publication that has a verdict, in its order, with a prediction interval.

    `compared` is the table `reproduction`; `algorithms` are the evaluation's, of which the first two make a pair. Where
    the publication gives no spread its ratio has no interval: the verdict's is of runs that vary as those here do.
    """
    first = algorithms[0] if algorithms else ""
    is_pair = (
        (pl.col("comparison") == PAPER)
        & (pl.col("algorithm") == first)
        & (pl.col("cell_state") == COMPARED)
        & pl.col("pair_verdict").is_not_null()
    )
    pairs = (
        compared.filter(is_pair)
        .with_columns(pl.when(pl.any_horizontal(pl.col(SPREADS).is_not_null())).then(pl.col(EXPECTED_ENDS)))
        .select(**{name: pl.col(column) for name, column in PAIR_COLUMNS.items()})
    )
    spread = (pl.col("high") / pl.col("ratio")) ** math.sqrt(2)
    return pairs.with_columns(
        predicted_low=pl.col("ratio") / spread,
        predicted_high=pl.col("ratio") * spread,
    )


def mark_published(questions: pl.DataFrame, compared: pl.DataFrame) -> pl.DataFrame:
    """Return comparisons with whether the publication has them: the state of its cells, or that it lacks them.

    It is null in tables of which nothing is published. `questions` is the table `comparisons`, `compared` the table
    `reproduction`.
    """
    cells = compared.filter(comparison=PAPER)
    # A question says that a size is one of a buffer, and a cell does not.
    question = pl.col("question").str.strip_prefix("buffer ")
    # Of a pair the worse state, which is the last in the alphabet: suspect, missing, compared.
    states = cells.group_by("table_name", asked="cell").agg(pl.col("cell_state").max().alias(PUBLISHED))
    is_published = pl.col("table_name").is_in(cells["table_name"].unique().implode())
    return (
        questions.with_columns(asked=question)
        .join(states, on=("table_name", "asked"), how="left", maintain_order="left")
        .with_columns(pl.when(is_published).then(pl.col(PUBLISHED).fill_null(UNPUBLISHED)).alias(PUBLISHED))
        .drop("asked")
    )


def call_conditions(rows: pl.DataFrame, declared: Mapping[str, Any]) -> pl.DataFrame:
    """Return rows of `comparisons` or `reproduction` with labels as an evaluation shows them, also in words.

    So with algorithms in questions and names of cells: "both CUBIC and BBR".
    """
    column = "question" if "question" in rows.columns else "cell"
    named = call_labels(rows, declared)
    return named.with_columns(show_algorithms_within(named[column], declared))


def check_explained_pairs(explanations: Path, evaluation: Path, published: Mapping[str, Sequence[Expected]]) -> None:
    """Raise DeclarationError where a file explains a pair that the evaluation has no published cell of.

    `published` is as `read_published` returns it.
    """
    own = load_declared(explanations, "explanations")["evaluations"].get(evaluation.stem)
    if own is None or not own["reproduction"]["pairs"]:
        return
    cells = {*call_conditions(name_published(published), load_evaluation(evaluation))["cell"]}
    for pair in own["reproduction"]["pairs"]:
        if pair not in cells:
            problem = f"{evaluation.stem} has no published pair `{pair}`{guess(pair, cells)}"
            raise blame(
                explanations, DeclarationError(problem, ("evaluations", evaluation.stem, "reproduction", "pairs", pair))
            )


def list_doubted(compared: pl.DataFrame, doubts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the cells that look wrong in the publication, each pair of algorithms once, and why.

    `doubts` are the evaluation's reasons by table.
    """
    is_doubted = (pl.col("comparison") == PAPER) & (pl.col("cell_state") == SUSPECT)
    cells = compared.filter(is_doubted).select("table_name", "cell").unique(maintain_order=True)
    return [(cell, doubts.get(table, "")) for table, cell in cells.iter_rows()]
