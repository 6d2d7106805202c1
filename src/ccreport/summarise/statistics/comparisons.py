"""What the published table `comparisons` has beyond its query: rank tests, corrected for their number.

DuckDB has no distribution of ranks, so the query gives the samples and this module the p values.
"""

from typing import Any, Final

import polars as pl

from ccreport.summarise.statistics.rank_tests import compare_pairs, compare_samples, correct_holm

# Below it, after the correction, two algorithms are called different.
LEVEL: Final = 0.05
# Flows of a single run, however many, tell how that run was.
LEAST_RUNS: Final = 2
SAMPLES: Final = ("first_values", "second_values")


def add_rank_tests(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the query with test, p_ratio, tests_count, p_holm_ratio, is_different in place of the samples.

    The family of tests that Holm's correction is for, and tests_count counts, are all of the table. Test and p values
    are null for a sample of less than two, and is_different is so for less than two runs too: nothing is called
    different, or the same, on n = 1.
    """
    p_values = [_test(row) for row in pairs.iter_rows(named=True)]
    columns: dict[str, Any] = {"p_ratio": p_values, "p_holm_ratio": correct_holm(p_values)}
    tested = pl.DataFrame(columns, schema={"p_ratio": pl.Float64, "p_holm_ratio": pl.Float64})
    test = pl.when("is_paired").then(pl.lit("signed-rank")).otherwise(pl.lit("rank-sum"))
    return (
        pairs.drop(SAMPLES)
        .hstack(tested)
        .with_columns(
            test=pl.when(pl.col("p_ratio").is_not_null()).then(test),
            tests_count=pl.col("p_ratio").count(),
            is_different=pl.when(pl.col("runs_count") >= LEAST_RUNS).then(pl.col("p_holm_ratio") < LEVEL),
        )
    )


def _test(row: dict[str, Any]) -> float | None:
    first, second = (row[name] for name in SAMPLES)
    return compare_pairs(first, second) if row["is_paired"] else compare_samples(first, second)
