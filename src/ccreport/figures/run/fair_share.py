"""How flows shared the path over time: shares of the algorithms, and Jain's index of the flows."""

from typing import Final

import polars as pl

from ccreport.measure.fairness import jain_index

# The key of an index over the flows of all algorithms.
ALL: Final = "all"
# One flow alone has everything: its index is 1 and says nothing.
LEAST_FLOWS: Final = 2


def measure_shares(rates: pl.DataFrame) -> pl.DataFrame:
    """Return `rates` (run_id, cc, time_s, rate_bps) with `share`: of the summed rate of all algorithms in that bin.

    An algorithm without a rate in a bin in which others have one has none of it; a bin without any rate is left out.
    """
    grid = (
        rates.select("run_id", "time_s").unique().join(rates.select("run_id", "cc").unique(), on="run_id", how="inner")
    )
    total = pl.col("rate_bps").sum().over("run_id", "time_s")
    return (
        grid.join(rates, on=["run_id", "cc", "time_s"], how="left")
        .with_columns(pl.col("rate_bps").fill_null(0.0))
        .with_columns(share=pl.when(total > 0).then(pl.col("rate_bps") / total))
        .drop_nulls("share")
        .select("run_id", "cc", "time_s", "rate_bps", "share")
        .sort("run_id", "cc", "time_s")
    )


def measure_jain(rates: pl.DataFrame) -> pl.DataFrame:
    """Return Jain's index over time: run_id, cc (ALL for all flows), time_s, flows_count, jain_ratio (RFC 5166, 3.4).

    `rates` has the rate of each flow active in a bin: run_id, flow_id, cc, time_s, rate_bps. A bin with fewer than two
    flows, or in which none moved data, is left out. ALL is there where a run has several algorithms, each algorithm
    where it has two flows.
    """
    several = rates.group_by("run_id").agg(pl.col("cc").n_unique()).filter(pl.col("cc") > 1)
    together = rates.join(several.select("run_id"), on="run_id", how="semi").with_columns(cc=pl.lit(ALL))
    return (
        pl.concat([together, rates], how="vertical_relaxed")
        .group_by("run_id", "cc", "time_s")
        .agg(flows_count=pl.len(), jain_ratio=jain_index(pl.col("rate_bps")))
        .filter(pl.col("flows_count") >= LEAST_FLOWS)
        .drop_nulls("jain_ratio")
        .sort("run_id", "cc", "time_s")
    )


def find_range(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the smallest and largest value over runs at each time: cc, time_s, low, high."""
    return (
        frame.group_by("cc", "time_s")
        .agg(low=pl.col(column).min().round(5), high=pl.col(column).max().round(5))
        .sort("cc", "time_s")
    )
