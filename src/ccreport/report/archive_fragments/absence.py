"""Absence: why runs are in no mean of a table, and how those that are and those that are not add up."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.trace.rows.candidates import NO_RATES, explain_absence, explain_rateless

SUSPECT: Final = "suspect"
# As a reason begins, and behind a number of runs.
LACKING: Final = ("no ", "without a ")
SHOWN: Final = "Tables take the receiver's rate; figures of throughput may have runs without it."


def mark_absence(
    runs: pl.DataFrame, suspects: pl.DataFrame, rateless: Collection[str], config: Mapping[str, Any]
) -> pl.DataFrame:
    """Return runs with `absence`, why each is in no mean of a table, and with `is_counted` where it is in some.

    `runs` and `suspects` as the tables are, `rateless` as `find_rateless` gives them; `config` says which runs count
    all the same.
    """
    is_suspect = pl.col("run_id").is_in(suspects["run_id"].to_list()) & pl.lit(not config.get("include_suspect"))
    # As the explorer has it: an interrupted run is not called suspect too.
    is_only_interrupted = pl.col("is_interrupted").fill_null(value=False) & ~pl.col("is_counted")
    absence = (
        pl.when(pl.col("run_id").is_in([*rateless]))
        .then(explain_rateless())
        .when(is_suspect & ~is_only_interrupted)
        .then(pl.lit(SUSPECT))
        .otherwise(explain_absence())
    )
    return runs.with_columns(absence=absence, is_counted=absence.is_null())


def sum_up(runs: pl.DataFrame, suspects: pl.DataFrame) -> Iterator[str]:
    """Yield how all runs, as `mark_absence` gives them, add up, each counted once; nothing where all count."""
    counts = Counter(runs["absence"].drop_nulls())
    counted = runs.filter("is_counted")
    suspect = counted.join(suspects, on="run_id", how="semi").height
    if not counts and not suspect:
        return
    parts = [f"{counted.height:,} in the means{f' ({suspect:,} of them suspect)' if suspect else ''}"]
    # Why some are suspect is said next.
    ordered = sorted(counts, key=lambda reason: (reason == SUSPECT, reason))
    parts += [f"{counts[reason]:,} {reason.replace(*LACKING)}" for reason in ordered]
    shown = f" {SHOWN}" if any(NO_RATES["goodput"] in reason for reason in counts) else ""
    yield f"{count_things(runs.height, 'run')} = {' + '.join(parts)}.{shown}"
