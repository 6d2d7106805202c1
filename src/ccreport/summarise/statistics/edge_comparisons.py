"""What the published table `edge_comparisons` has beyond its query: p values, corrected for their number.

The query computes z of the rank test from histograms, since there are too many connections to rank.
"""

import polars as pl

from ccreport.summarise.statistics.contrasts import LEVEL
from ccreport.summarise.statistics.correction import correct_holm, load_stats


def add_binned_tests(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the query with p_binned_ratio, tests_count, p_holm_ratio and is_told_apart in place of z.

    The family of tests that Holm's correction is for are all of the table.
    """
    upper_tail = load_stats().norm.sf
    p_values = [None if z is None else min(1.0, 2 * float(upper_tail(z))) for z in pairs["z"]]
    return (
        pairs.drop("z")
        .with_columns(
            p_binned_ratio=pl.Series(p_values, dtype=pl.Float64),
            tests_count=pl.lit(sum(p is not None for p in p_values), pl.Int64),
            p_holm_ratio=pl.Series(correct_holm(p_values), dtype=pl.Float64),
        )
        .with_columns(is_told_apart=pl.col("p_holm_ratio") < LEVEL)
    )
