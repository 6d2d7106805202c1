"""What the published table `comparisons` has beyond its query: effects with intervals, tests and verdicts.

A question has two tests, both of the logarithm of the ratio: that it is 0 (Student's t), and that it is beyond the
margin (two one-sided tests). Holm's correction is over the questions of one table, for each of the two.

Where a run is censored (half of its flows were not seen to complete), means and ratios would need its time. Such a
question has the log-rank test alone, whose sign says which algorithm is ahead, and cannot be called equal.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from ccreport.summarise.statistics.contrasts import (
    LEVEL,
    Contrast,
    Spread,
    Stratum,
    contrast_strata,
    count_runs,
    find_least_effect,
    p_of_difference,
    p_of_equality,
)
from ccreport.summarise.statistics.correction import correct_holm
from ccreport.summarise.statistics.survival import Stratum as Times
from ccreport.summarise.statistics.survival import Time, compare_runs

UNDECIDED: Final = "undecided"
# Of each algorithm, for a verdict; of two strata two runs each are enough.
RUNS_AT_LEAST: Final = 3
# Less is better of these measures.
RETRANSMITS: Final = "retransmit_ratio"
TIMES: Final = "completion_s"
# What the query has for this module alone.
INPUTS: Final = ("added_ratio", "strata")
SIDES: Final = ("first", "second")
COLUMNS: Final = {
    **dict.fromkeys(
        (
            *("effect_mean_ratio", "effect_low_ratio", "effect_high_ratio"),
            *("difference_mean", "difference_mean_low", "difference_mean_high", "p_ratio", "p_equal_ratio"),
            "log_rank_z",
        ),
        pl.Float64,
    ),
}


def add_verdicts(questions: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the query with all columns of the table `comparisons` in place of the samples."""
    judged = judge_questions(questions)
    planned = [
        _plan(row, tests_count)
        for row, tests_count in zip(questions.iter_rows(named=True), judged["tests_count"], strict=True)
    ]
    schema = {"least_effect_pct": pl.Float64, "runs_to_show_count": pl.Int64}
    return judged.hstack(pl.DataFrame(planned, schema=schema, orient="row"))


def has_too_few(row: Mapping[str, Any]) -> bool:
    """Tell whether a question has no interval as one of its two algorithms has too few runs, whatever their strata."""
    return row["effect_low_ratio"] is None and min(row["first_runs_count"], row["second_runs_count"]) < RUNS_AT_LEAST


def judge_questions(questions: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the query with effects, tests and verdicts in place of the samples.

    Intervals, p values and so a verdict need two degrees of freedom of each algorithm within strata: with one run, or
    two of one stratum, a question is undecided and not a test.
    """
    measured = pl.DataFrame([_measure(row) for row in questions.iter_rows(named=True)], schema=COLUMNS)
    judged = questions.drop(INPUTS).hstack(measured)
    corrected = [
        family.with_columns(
            tests_count=pl.col("p_ratio").count(),
            **{
                name: pl.Series(correct_holm(family[p].to_list()), dtype=pl.Float64)
                for name, p in (("p_holm_ratio", "p_ratio"), ("p_equal_holm_ratio", "p_equal_ratio"))
            },
        )
        for family in judged.partition_by("table_name", maintain_order=True)
    ]
    if not corrected:
        corrected = [judged.with_columns(tests_count=pl.lit(0), p_holm_ratio=None, p_equal_holm_ratio=None)]
    told = pl.concat(corrected)
    verdicts = [_judge(row) for row in told.iter_rows(named=True)]
    words = dict.fromkeys(("verdict", "ahead_algorithm"), pl.String)
    return told.hstack(pl.DataFrame(verdicts, schema=words, orient="row"))


def contrast_logarithms(row: dict[str, Any]) -> Contrast | None:
    """Return the contrast of logarithms of a row of the query; None where a value is 0 or censored and has none."""
    if _is_censored(row):
        return None
    added: float | None = row["added_ratio"]
    values = [value for stratum in row["strata"] for side in SIDES for value in stratum[side]]
    if added is None or min(values) + added <= 0:
        return None
    strata: list[Stratum] = [
        {
            "is_paired": stratum["is_paired"],
            "first": np.log(np.add(stratum["first"], added)),
            "second": np.log(np.add(stratum["second"], added)),
        }
        for stratum in row["strata"]
    ]
    return contrast_strata(strata)


def _measure(row: dict[str, Any]) -> dict[str, float | None]:
    """Return effects, intervals and p values of one question."""
    if _is_censored(row):
        z, p = compare_runs([_pick_times(stratum) for stratum in row["strata"]], is_paired=row["is_paired"])
        return {"log_rank_z": z, "p_ratio": p}
    difference = contrast_strata(row["strata"])
    found: dict[str, float | None] = {"difference_mean": difference.effect}
    if difference.spread is not None:
        low, high = _find_ends(difference.effect, difference.spread)
        found |= {"difference_mean_low": low, "difference_mean_high": high}
    ratio = contrast_logarithms(row)
    if ratio is None:
        return found
    found["effect_mean_ratio"] = math.exp(ratio.effect)
    if ratio.spread is not None:
        low, high = _find_ends(ratio.effect, ratio.spread)
        margin = math.log1p(row["equal_within_pct"] / 100)
        found |= {
            "effect_low_ratio": math.exp(low),
            "effect_high_ratio": math.exp(high),
            "p_ratio": p_of_difference(ratio.effect, ratio.spread),
            "p_equal_ratio": p_of_equality(ratio.effect, ratio.spread, margin),
        }
    if not any(value for stratum in row["strata"] for side in SIDES for value in stratum[side]):
        # Equal, but nothing is not a multiple of nothing.
        found |= dict.fromkeys(("effect_mean_ratio", "effect_low_ratio", "effect_high_ratio"))
    return found


def _is_censored(row: dict[str, Any]) -> bool:
    return not all(known for stratum in row["strata"] for side in SIDES for known in stratum[f"{side}_known"])


def _pick_times(stratum: dict[str, Any]) -> Times:
    first, second = (tuple(map(Time, stratum[side], stratum[f"{side}_known"])) for side in SIDES)
    return Times(first, second)


def _find_ends(effect: float, spread: Spread) -> tuple[float, float]:
    return effect - spread.half_width, effect + spread.half_width


def _judge(row: dict[str, Any]) -> tuple[str, str | None]:
    """Return the verdict on a question, and which algorithm is ahead.

    A difference that is shown to be within the margin is one that does not matter, whatever its sign.
    """
    if row["p_ratio"] is None:
        return UNDECIDED, None
    if row["p_equal_holm_ratio"] is not None and row["p_equal_holm_ratio"] < LEVEL:
        return f"equal within ±{row['equal_within_pct']:g} %", None
    if row["p_holm_ratio"] >= LEVEL:
        return UNDECIDED, None
    is_less_better = row["measure"] in (RETRANSMITS, TIMES)
    is_ahead = row["log_rank_z"] > 0 if row["log_rank_z"] else (row["effect_mean_ratio"] > 1) != is_less_better
    ahead = row["first_algorithm" if is_ahead else "second_algorithm"]
    return f"{ahead} {'retransmits less' if row['measure'] == RETRANSMITS else 'faster'}", ahead


def _plan(row: dict[str, Any], tests_count: int) -> tuple[float | None, int | None]:
    """Return the least effect that the runs of a question could have shown, in per cent, and the runs for the margin.

    Both at the level of Holm's first step, which is enough whatever the other questions give.
    """
    contrast = contrast_logarithms(row)
    if contrast is None or contrast.spread is None:
        return None, None
    level = LEVEL / tests_count
    least = find_least_effect(contrast.spread, level=level)
    needed = count_runs(contrast, math.log1p(row["equal_within_pct"] / 100), level=level)
    return None if least is None else 100 * math.expm1(least), needed
