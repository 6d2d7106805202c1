"""Whether failed attempts can bias what is left: which runs they are of, how these were made again, and their rates."""

from typing import Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.measure.suspects.siblings import PATH, RATE_BPS, SIBLINGS_AT_LEAST
from ccreport.summarise.grids.plain_numbers import show_ends

# Outcomes of attempts that leave no run behind.
FAILED: Final = ("failed", "interrupted")
# The least number of other runs to compare a run with, and of runs that are compared, that rates are told of.
OTHERS_AT_LEAST: Final = 2
COMPARED_AT_LEAST: Final = 3
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
    needed = f"{count_things(again.height, 'run')} needed more than one attempt"
    completed = "all" if again.height > 1 and not lost else f"{again.height - lost:,}"
    said = [f"{needed}; {completed} completed{f', and the means lack the other {lost:,}' if lost else ''}."]
    rates = _compare_rates(runs, again)
    parts = {
        "a failed attempt": again.filter(~pl.col("is_lost"), pl.col("failed_count") > 0),
        "interruptions only": again.filter(~pl.col("is_lost"), failed_count=0),
    }
    said += [_describe_part(how, part, rates) for how, part in parts.items() if part.height]
    return " ".join(said)


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
    """Return run_id, the columns of ALIKE, is_again, `others_count`, and `times`: rate over the others' median.

    The others are the runs of the same conditions that were not made again.
    """
    is_again = pl.col("run_id").is_in(again["run_id"].to_list())
    others = pl.when(~is_again).then(RATE_BPS)
    times, count = RATE_BPS / others.median().over(ALIKE), others.count().over(ALIKE)
    return runs.select("run_id", *ALIKE, is_again=is_again, others_count=count, times=times).drop_nulls("times")


def _describe_part(how: str, part: pl.DataFrame, rates: pl.DataFrame) -> str:
    """Return how many runs followed such an attempt, are suspect and have another seed, and how their rates compare.

    Of rates nothing is said where too few runs have others of the same conditions to be compared with.
    """
    counts = {"suspect": part["is_suspect"].sum(), "with another seed": part["has_new_seed"].sum()}
    amounts = {
        what: "" if part.height == 1 else "all " if count == part.height else f"{count:,} "
        for what, count in counts.items()
        if count
    }
    facts = ", ".join(f"{amount}{what}" for what, amount in amounts.items())
    said = f"{part.height:,} followed {how}{f' ({facts})' if facts else ''}"
    known = rates.join(part, on="run_id", how="semi")
    # Two others have a median, but no spread.
    several, two = (known.filter(pl.col("others_count") >= count) for count in (SIBLINGS_AT_LEAST, OTHERS_AT_LEAST))
    own = several if several.height >= COMPARED_AT_LEAST else two
    if own.height < COMPARED_AT_LEAST:
        return f"{said}."
    whose = "their rates" if own.height == part.height else f"the rates of {own.height:,} of them"
    times, median = show_ends(own["times"]), "times the median of other runs of the same conditions"
    if own is two:
        return f"{said}; {whose} are {times} {median}."
    others = rates.filter(~pl.col("is_again")).join(own, on=ALIKE, how="semi", nulls_equal=True)
    low, high = (bound(own["times"].to_list()) for bound in (min, max))
    spread = others["times"].to_list()
    is_within = min(spread) <= low and high <= max(spread)
    compared = f"are {'' if is_within else 'not '}within the spread of the others ({show_ends(others['times'])})"
    return f"{said}; {whose} ({times} {median}) {compared}."
