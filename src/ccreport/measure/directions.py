"""The direction of runs whose data do not go from the tool's host to its server alone, as a parameter of theirs."""

import polars as pl

from ccreport.archive.direction import BOTH, PARAMETER, REVERSE
from ccreport.archive.parameters import SEPARATOR


def find_directions(tests: pl.DataFrame) -> pl.DataFrame:
    """Return run_id and direction of the runs with reverse (`iperf3 -R`) or bidirectional tests, reverse or both."""
    is_both = pl.col("is_bidirectional").any() | (pl.col("is_reverse").any() & ~pl.col("is_reverse").all())
    direction = (
        pl.when(is_both)
        .then(pl.lit(BOTH))
        .when(pl.col("is_reverse").any())
        .then(pl.lit(REVERSE))
        .otherwise(pl.lit(None, pl.String))
    )
    return tests.group_by("run_id").agg(direction=direction).drop_nulls()


def add_directions(runs: pl.DataFrame, tests: pl.DataFrame) -> pl.DataFrame:
    """Return the runs with the direction among their parameters and in their condition; forward ones stay as they are.

    Where a name in the archive ends with the same value of a parameter `direction`, it is not said twice.
    """
    joined = runs.join(find_directions(tests), on="run_id", how="left")
    names, values = (pl.col(column).fill_null("") for column in ("parameter_name", "parameter_value"))
    is_said = (names.str.split(SEPARATOR).list.last() == PARAMETER) & (
        values.str.split(SEPARATOR).list.last() == pl.col("direction")
    )
    has_none = pl.col("parameter_name").is_null() & pl.col("parameter_value").is_null()
    is_kept = pl.col("direction").is_null() | is_said
    added = {
        column: pl.when(is_kept)
        .then(column)
        .when(has_none)
        .then(last)
        .otherwise(pl.concat_str(told, last, separator=SEPARATOR))
        for column, told, last in (
            ("parameter_name", names, pl.lit(PARAMETER)),
            ("parameter_value", values, pl.col("direction")),
        )
    }
    condition = pl.coalesce(pl.format("{}-{}", "condition_id", "direction"), "condition_id")
    return joined.with_columns(condition_id=condition, **added).drop("direction")
