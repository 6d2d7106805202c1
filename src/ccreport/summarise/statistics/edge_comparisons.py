"""What the published table `edge_comparisons` has beyond its query: effects with intervals, and tests by run.

The query gives the mean rank of each run's connections among those of both series. Twice the difference of two
series' means is Cliff's delta; Welch's t over runs has its interval and p value (W. J. Conover, R. L. Iman, "Rank
Transformations as a Bridge Between Parametric and Nonparametric Statistics", The American Statistician, 1981).
"""

from typing import Any, Final

import polars as pl

from ccreport.summarise.statistics.contrasts import LEVEL, contrast_strata, p_of_difference
from ccreport.summarise.statistics.correction import correct_holm

# What the query has for this module alone.
INPUTS: Final = ("is_paired", "first_ranks", "second_ranks")
COLUMNS: Final = ("delta_mean", "delta_mean_low", "delta_mean_high", "p_ratio")


def add_run_tests(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the query with effects, tests_count, p_holm_ratio and is_told_apart in place of the ranks.

    Below three runs of a series there is neither an interval nor a test. Holm's correction is for all of the table.
    """
    schema = dict.fromkeys(COLUMNS, pl.Float64)
    measured = pl.DataFrame([_measure(row) for row in pairs.iter_rows(named=True)], schema=schema)
    return (
        pairs.drop(INPUTS)
        .hstack(measured)
        .with_columns(
            tests_count=pl.lit(measured["p_ratio"].count(), pl.Int64),
            p_holm_ratio=pl.Series(correct_holm(measured["p_ratio"].to_list()), dtype=pl.Float64),
        )
        .with_columns(is_told_apart=pl.col("p_holm_ratio") < LEVEL)
    )


def _measure(row: dict[str, Any]) -> dict[str, float]:
    """Return Cliff's delta of the second series over the first, with interval and p value where the runs give one."""
    ranks = {"first": row["second_ranks"], "second": row["first_ranks"]}
    contrast = contrast_strata([{"is_paired": row["is_paired"], "first": ranks["first"], "second": ranks["second"]}])
    found = {"delta_mean": 2 * contrast.effect}
    if contrast.spread is None:
        return found
    half_width = contrast.spread.half_width
    return found | {
        "delta_mean_low": max(-1.0, 2 * (contrast.effect - half_width)),
        "delta_mean_high": min(1.0, 2 * (contrast.effect + half_width)),
        "p_ratio": p_of_difference(contrast.effect, contrast.spread),
    }
