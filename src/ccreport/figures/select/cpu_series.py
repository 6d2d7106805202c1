"""Load of processors over time from mpstat's samples, on the time axis of their run.

mpstat writes a time of day at the end of each of its intervals, in whole seconds of a zone that it does not name; `ss`
has UTC. The two are brought together by the time of day within 15 minutes, of which all zones' offsets are multiples.
"""

from typing import Final

import polars as pl

from ccreport.figures.select.series import LONGEST_S
from ccreport.measure.cpu import DAY_S, ZONE_STEP_S, seconds_of_day, wrap_seconds

SIDES: Final = ("sender", "receiver")


def place_cpu_samples(cpu_samples: pl.DataFrame, starts: pl.DataFrame) -> pl.DataFrame:
    """Return the load of each side over time: run_id, side, start_s, end_s, cores_count, mean_pct, busiest_pct.

    `starts` has run_id and `start_utc`, the time of the run's first data sample (null where there is none: then the
    run starts with mpstat's first interval). A load is 100 % less the idle share; `mean_pct` is mpstat's own mean over
    all processors, else that of those it lists. Samples without a time, or wholly before the run, are left out.
    """
    loads = _join_processors(cpu_samples).with_columns(day_s=seconds_of_day()).drop_nulls("day_s")
    series = ["run_id", "side"]
    step_s = wrap_seconds(pl.col("day_s").diff().over(series), DAY_S)
    first = loads.sort(*series, "sample_number").with_columns(
        elapsed_s=step_s.fill_null(0.0).cum_sum().over(series),
        spacing_s=step_s.filter(step_s > 0).median().over(series).fill_null(1.0),
        first_s=pl.col("day_s").first().over(series),
    )
    start_day_s = (pl.col("start_utc").dt.epoch("us") % (86_400 * 10**6)) / 1e6
    offset_s = wrap_seconds(pl.col("first_s") - start_day_s, ZONE_STEP_S)
    return (
        first.join(starts, on="run_id", how="left", maintain_order="left")
        # The time is cut to whole seconds: on average half a second has passed.
        .with_columns(end_s=(offset_s + 0.5).fill_null(pl.col("spacing_s")) + pl.col("elapsed_s"))
        .with_columns(start_s=pl.max_horizontal(pl.col("end_s") - pl.col("spacing_s"), pl.lit(0.0)))
        .filter(pl.col("end_s") > pl.col("start_s"), pl.col("end_s") <= LONGEST_S)
        .select(*series, "start_s", "end_s", "cores_count", "mean_pct", "busiest_pct")
        .sort(*series, "start_s")
    )


def _join_processors(cpu_samples: pl.DataFrame) -> pl.DataFrame:
    is_all = pl.col("cpu") == "all"
    busy = pl.col("busy_pct")
    return (
        cpu_samples.with_columns(busy_pct=(100 - pl.col("cpu_idle_pct")).clip(0, 100))
        .drop_nulls("busy_pct")
        .group_by("run_id", "side", "sample_number", "time")
        .agg(
            cores_count=(~is_all).sum(),
            mean_pct=pl.coalesce(busy.filter(is_all).first(), busy.mean()),
            busiest_pct=pl.coalesce(busy.filter(~is_all).max(), busy.max()),
        )
    )
