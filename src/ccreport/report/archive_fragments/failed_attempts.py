"""Whether failed attempts can bias what is left: which runs they are of, how these were made again, and their rates."""

from typing import Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.measure.suspects.siblings import PATH, RATE_BPS
from ccreport.summarise.grids.plain_numbers import show_ends

# Outcomes of attempts that leave no run behind.
FAILED: Final = ("failed", "interrupted")
# Of runs that differ by nothing but chance.
ALIKE: Final = (*PATH, "mode")


def describe_bias(attempts: pl.DataFrame, runs: pl.DataFrame, suspects: pl.DataFrame) -> str:
    """Return what became of the runs behind failed attempts, and their rates beside those of the same conditions.

    `attempts`, `runs` and `suspects` as the tables are. Markdown; nothing without such an attempt.
    """
    again = _list_made_again(attempts, suspects)
    if again.is_empty():
        return ""
    lost = again.filter("is_lost").height
    counted = count_things(again.height, "run")
    completed = "all" if again.height > 1 and not lost else f"{again.height - lost:,}"
    said = [f"Of the {counted} behind them, {completed} completed at a later attempt"]
    if lost:
        said.append(f"The means lack the other {lost:,}")
    rates = _compare_rates(runs, again)
    failed = again.filter(~pl.col("is_lost"), pl.col("failed_count") > 0)
    interrupted = again.filter(~pl.col("is_lost"), failed_count=0)
    if failed.height:
        said.append(f"{count_things(failed.height, 'run')} after failures: {_describe_part(failed, rates)}")
    if interrupted.height:
        part = _describe_part(interrupted, rates)
        said.append(f"{count_things(interrupted.height, 'run')} after interruptions alone: {part}")
    return f"{'. '.join(said)}."


def _list_made_again(attempts: pl.DataFrame, suspects: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each run with an attempt that gave none: run_id, job, failed_count, is_lost, has_new_seed.

    The seed is another one than that of each attempt that failed; where none did, of each that was interrupted.
    """
    is_gone, has_failed = pl.col("attempt_outcome").is_in(FAILED), pl.col("attempt_outcome") == "failed"
    return (
        attempts.sort("run_id", "attempt_number")
        .group_by("run_id", maintain_order=True)
        .agg(
            pl.col("job").first(),
            is_gone.any().alias("is_again"),
            is_lost=is_gone.all(),
            failed_count=has_failed.sum(),
            seeds=pl.col("seed").filter(pl.when(has_failed.any()).then(has_failed).otherwise(is_gone)),
            seed=pl.col("seed").filter(~is_gone).last(),
        )
        .filter("is_again")
        .with_columns(
            has_new_seed=~pl.col("seeds").list.contains(pl.col("seed")),
            is_suspect=pl.col("run_id").is_in(suspects["run_id"].to_list()),
        )
    )


def _compare_rates(runs: pl.DataFrame, again: pl.DataFrame) -> pl.DataFrame:
    """Return run_id, the columns of ALIKE, is_again, and `times`: rate over the median of the runs not made again."""
    is_again = pl.col("run_id").is_in(again["run_id"].to_list())
    median = pl.when(~is_again).then(RATE_BPS).median().over(ALIKE)
    return runs.select("run_id", *ALIKE, is_again=is_again, times=RATE_BPS / median).drop_nulls("times")


def _describe_part(part: pl.DataFrame, rates: pl.DataFrame) -> str:
    """Return how many runs got another seed and are suspect, and how their rates lie beside those of other runs."""
    counts = {"with another seed": part["has_new_seed"].sum(), "suspect": part["is_suspect"].sum()}
    said = [", ".join(f"{count:,} {what}" for what, count in counts.items() if count)]
    own = rates.join(part, on="run_id", how="semi")
    if own.is_empty():
        said.append("no other run of their conditions to compare with")
    else:
        others = rates.filter(~pl.col("is_again")).join(own, on=ALIKE, how="semi", nulls_equal=True)
        said.append(
            f"rates {show_ends(own['times'])} times the median of other runs of the same conditions, "
            f"which are themselves {show_ends(others['times'])} times it"
        )
    return "; ".join(filter(None, said))
