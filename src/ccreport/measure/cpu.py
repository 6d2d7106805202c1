"""The processors of a run: their mean load, and whether one of them was what limited the run.

mpstat writes a time of day at the end of each of its intervals, in whole seconds of a zone that it does not name; runs
have UTC. The two are brought together by the time of day within 15 minutes, of which all zones' offsets are multiples.
A core is busy for what is not its idle share: waiting for a disk or for a hypervisor counts as busy.
"""

from pathlib import Path
from typing import Final

import polars as pl

ZONE_STEP_S: Final = 900.0
DAY_S: Final = 86_400.0
# "22:37:05", "10:37:05 PM"
TIME_OF_DAY: Final = r"^\s*(\d{1,2}):(\d{2}):(\d{2})\s*([AaPp][Mm])?"
# A run is CPU-bound if a core was busier than this in more than this share of its samples.
BUSY_PCT: Final = 95.0
BOUND_RATIO: Final = 0.1


def measure_cpu(cpu_samples: Path) -> pl.DataFrame:
    """Return per run the CPU of sender and receiver: `cpu_<side>_mean_pct` and `cpu_<side>_busiest_pct`.

    The first four samples and the last are left out, as the harness does; a run with fewer than six has none.
    """
    loads = (
        pl.scan_parquet(cpu_samples, glob=False)
        .with_columns(busy_pct=100 - pl.col("cpu_idle_pct"), last=pl.col("sample_number").max().over("run_id", "side"))
        .filter((pl.col("sample_number") >= 4) & (pl.col("sample_number") < pl.col("last")))
        .group_by("run_id", "side", "cpu")
        .agg(pl.col("busy_pct").mean())
        .collect()
    )
    is_all = pl.col("cpu") == "all"
    sides = loads.group_by("run_id", "side").agg(
        # mpstat -P with a list of CPUs prints no mean over all.
        pl.coalesce(pl.col("busy_pct").filter(is_all).first(), pl.col("busy_pct").mean()).alias("mean_pct"),
        pl.coalesce(pl.col("busy_pct").filter(~is_all).max(), pl.col("busy_pct").max()).alias("busiest_pct"),
    )
    columns = []
    for side in ("sender", "receiver"):
        of_side = sides.filter(pl.col("side") == side)
        columns.append(
            of_side.select(
                "run_id",
                pl.col("mean_pct").clip(0, 100).alias(f"cpu_{side}_mean_pct"),
                pl.col("busiest_pct").clip(0, 100).alias(f"cpu_{side}_busiest_pct"),
            )
        )
    return columns[0].join(columns[1], on="run_id", how="full", coalesce=True)


def measure_cpu_bound(cpu_samples: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return per run `cpu_bound_ratio`, the largest share of busy samples of any core of either side, `is_cpu_bound`.

    `spans` has run_id, start_utc and span_s, how long after that its last flow ended. The samples of a run are those
    whose time is after its start and not after its end; where one of the three times is not known, all are. Of a
    side whose cores are not listed, the mean over all represents them. Runs without samples are left out.
    """
    placed = cpu_samples.pipe(place_samples, spans).join(spans.select("run_id", "span_s"), on="run_id", how="left")
    is_placed = pl.col("offset_s").is_not_null() & pl.col("span_s").is_not_null()
    is_within = (pl.col("offset_s") > 0) & (pl.col("offset_s") <= pl.col("span_s"))
    shares = (
        placed.filter(~is_placed | is_within)
        .with_columns(has_cores=(pl.col("cpu") != "all").any().over("run_id", "side"))
        .filter((pl.col("cpu") != "all") | ~pl.col("has_cores"))
        .drop_nulls("cpu_idle_pct")
        .group_by("run_id", "side", "cpu")
        .agg(share=((100 - pl.col("cpu_idle_pct")) > BUSY_PCT).mean())
    )
    return (
        shares.group_by("run_id")
        .agg(cpu_bound_ratio=pl.col("share").max())
        .with_columns(is_cpu_bound=pl.col("cpu_bound_ratio") > BOUND_RATIO)
    )


def place_samples(cpu_samples: pl.DataFrame, starts: pl.DataFrame) -> pl.DataFrame:
    """Return the samples with `offset_s`, their time after `start_utc` of `starts`; null where either is not known."""
    series = ["run_id", "side"]
    start_day_s = (pl.col("start_utc").dt.epoch("us") % (86_400 * 10**6)) / 1e6
    timed = cpu_samples.with_columns(day_s=seconds_of_day()).join(
        starts.select("run_id", "start_utc"), on="run_id", how="left", maintain_order="left"
    )
    first_s = pl.col("day_s").drop_nulls().first().over(series, order_by="sample_number")
    # mpstat's own clock may pass midnight.
    elapsed_s = (pl.col("day_s") - first_s) % DAY_S
    return timed.with_columns(offset_s=wrap_seconds(first_s - start_day_s, ZONE_STEP_S) + elapsed_s)


def seconds_of_day() -> pl.Expr:
    """Return mpstat's `time` in seconds after midnight, null where it is none."""
    hours, minutes, seconds = (pl.col("time").str.extract(TIME_OF_DAY, group).cast(pl.Float64) for group in (1, 2, 3))
    half = pl.col("time").str.extract(TIME_OF_DAY, 4).str.to_lowercase()
    of_day = pl.when(half.is_null()).then(hours).otherwise(hours % 12 + pl.when(half == "pm").then(12).otherwise(0))
    return of_day * 3600 + minutes * 60 + seconds


def wrap_seconds(seconds: pl.Expr, period_s: float) -> pl.Expr:
    """Return a difference moved by whole periods to where it is smallest."""
    return (seconds + period_s / 2) % period_s - period_s / 2
