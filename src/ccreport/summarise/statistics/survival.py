"""Times until an event, some of them censored: Kaplan and Meier's estimate, and a log-rank test whose unit is the run.

Both are scipy's. Flows of one run share a bottleneck, so the test takes one time of each run and algorithm, by which
half of the flows were done. Its p value is that of a permutation test, since two to five runs are too few for a normal
approximation: algorithms that sent at once are exchanged within their runs, others between the runs of a stratum.
"""

import itertools
import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
import scipy

from ccreport.summarise.statistics.correction import correct_holm

LEVEL: Final = 0.05
# Beyond so many exchanges of labels, as many are drawn at random: of all strata, and within one.
EXCHANGES_AT_MOST: Final = 10_000
EXCHANGES_WITHIN_AT_MOST: Final = 1_000
TOLERANCE: Final = 1e-9


class Time(NamedTuple):
    """When an event happened, or until when it is known not to have happened."""

    time_s: float
    is_complete: bool


class Stratum(NamedTuple):
    """A time for each run of two algorithms under one condition; those of one run have the same place where paired."""

    first: tuple[Time, ...]
    second: tuple[Time, ...]


def estimate_curve(times: Sequence[Time]) -> pl.DataFrame:
    """Return Kaplan and Meier's estimate [1958]: time_s of each event or censoring, share of flows not done, low, high.

    low and high are the pointwise 95 % interval by Greenwood's variance on log(-log); null where it has none.
    """
    curve = scipy.stats.ecdf(_censor(times)).sf
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        # It has none where all or none are done.
        warnings.filterwarnings("ignore", "The confidence interval is undefined")
        bounds = curve.confidence_interval(confidence_level=1 - LEVEL, method="log-log")
    columns = {"low": bounds.low.probabilities, "high": bounds.high.probabilities}
    return pl.DataFrame({"time_s": curve.quantiles, "share": curve.probabilities} | columns).with_columns(
        pl.col("low", "high").fill_nan(None)
    )


def find_quantile(curve: pl.DataFrame, done: float, column: str = "share") -> float | None:
    """Return the first time by which at least this share of the flows were done; None where the curve ends before."""
    reached = curve.filter(pl.col(column) <= 1 - done + TOLERANCE)["time_s"]
    return float(reached[0]) if len(reached) else None


def add_survival(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the query `completion` with medians, their intervals and 90th percentiles instead of `times`.

    The interval is Brookmeyer and Crowley's [1982], the times at which the interval of the curve holds one half. Null
    where too few flows reached the volume. It takes flows as independent of each other.
    """
    curves = [estimate_curve([Time(**time) for time in times]) for times in cells["times"]]
    found = {
        "completion_p50_s": [find_quantile(curve, 0.5) for curve in curves],
        "completion_low_s": [find_quantile(curve, 0.5, "low") for curve in curves],
        "completion_high_s": [find_quantile(curve, 0.5, "high") for curve in curves],
        "completion_p90_s": [find_quantile(curve, 0.9) for curve in curves],
    }
    return cells.drop("times").hstack(pl.DataFrame(found, schema=dict.fromkeys(found, pl.Float64)))


def add_log_rank_tests(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the query `completion_tests` with medians and the test by run instead of the times.

    Holm's correction is for all tests of the table.
    """
    tests: list[dict[str, Any]] = []
    for row in pairs.iter_rows(named=True):
        is_paired = row["sharing"] == "both"
        strata = list_strata(row["first_runs"], row["second_runs"], is_paired=is_paired)
        z, p = compare_runs(strata, is_paired=is_paired)
        medians = {f"{side}_median_s": _find_median(row[f"{side}_flows"]) for side in ("first", "second")}
        tests.append({"strata_count": len(strata), **medians, "log_rank_z": z, "p_ratio": p})
    columns = ("strata_count", "first_median_s", "second_median_s", "log_rank_z", "p_ratio")
    schema = {name: pl.Int64 if name == "strata_count" else pl.Float64 for name in columns}
    tested = pairs.drop(f"{side}_{of}" for side in ("first", "second") for of in ("runs", "flows")).hstack(
        pl.DataFrame(tests, schema=schema)
    )
    corrected = pl.Series("p_holm_ratio", correct_holm(tested["p_ratio"].to_list()), dtype=pl.Float64)
    return tested.with_columns(corrected, tests_count=pl.col("p_ratio").count())


def list_strata(first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]], *, is_paired: bool) -> list[Stratum]:
    """Return a stratum for each condition that both sides have: the time of each run, where paired of runs of both."""
    sides = [_group_runs(runs) for runs in (first, second)]
    strata = []
    for stratum in sorted(sides[0].keys() & sides[1].keys()):
        runs = [of_side[stratum] for of_side in sides]
        kept = [sorted(runs[0].keys() & runs[1].keys())] * 2 if is_paired else [sorted(own) for own in runs]
        times = [tuple(own[run] for run in of_side) for own, of_side in zip(runs, kept, strict=True)]
        if all(times):
            strata.append(Stratum(*times))
    return strata


def _group_runs(runs: Sequence[dict[str, Any]]) -> dict[int, dict[str, Time]]:
    times: dict[int, dict[str, Time]] = {}
    for run in runs:
        times.setdefault(run["stratum"], {})[run["run_id"]] = Time(run["time_s"], run["is_complete"])
    return times


def compare_runs(strata: Sequence[Stratum], *, is_paired: bool) -> tuple[float | None, float | None]:
    """Return z of the log-rank test, summed over strata, and its two-sided p value by exchanging labels.

    z is above 0 where the first algorithm is done sooner than chance would have it. Both are None without two runs of
    each side, or where all runs of a side are censored together with the other's.
    """
    if sum(min(len(stratum.first), len(stratum.second)) for stratum in strata) < 2:
        return None, None
    observed = sum(_score(stratum) for stratum in strata)
    if not any(time.is_complete for stratum in strata for side in stratum for time in side):
        return None, None
    exchanged = [_exchange(stratum, is_paired=is_paired) for stratum in strata]
    scale = math.sqrt(len(strata))
    total = math.prod(len(scores) for scores in exchanged)
    if total <= EXCHANGES_AT_MOST:
        sums = np.array([sum(scores) for scores in itertools.product(*exchanged)])
        extreme = float(np.mean(np.abs(sums) >= abs(observed) - TOLERANCE))
    else:
        draw = np.random.default_rng(0)
        sums = np.sum([draw.choice(np.array(scores), EXCHANGES_AT_MOST) for scores in exchanged], axis=0)
        extreme = (1 + int(np.sum(np.abs(sums) >= abs(observed) - TOLERANCE))) / (1 + EXCHANGES_AT_MOST)
    return observed / scale, extreme


def _exchange(stratum: Stratum, *, is_paired: bool) -> list[float]:
    """Return z under every exchange of labels within a stratum, or as it is and under many drawn at random."""
    everyone, first_count = [*stratum.first, *stratum.second], len(stratum.first)
    draw = np.random.default_rng(0)
    # Places of those that are called the first.
    chosen: list[tuple[int, ...]]
    if is_paired:
        pairs = [(place, place + first_count) for place in range(first_count)]
        count = 2**first_count
        chosen = list(itertools.product(*pairs)) if count <= EXCHANGES_WITHIN_AT_MOST else []
        drawn = (tuple(int(draw.choice(pair)) for pair in pairs) for _ in range(EXCHANGES_WITHIN_AT_MOST))
    else:
        count = math.comb(len(everyone), first_count)
        places = range(len(everyone))
        chosen = list(itertools.combinations(places, first_count)) if count <= EXCHANGES_WITHIN_AT_MOST else []
        drawn = (tuple(draw.permutation(places)[:first_count].tolist()) for _ in range(EXCHANGES_WITHIN_AT_MOST))
    return [_score(_relabel(everyone, places)) for places in chosen or [tuple(range(first_count)), *drawn]]


def _relabel(everyone: Sequence[Time], first: Sequence[int]) -> Stratum:
    others = set(range(len(everyone))).difference(first)
    return Stratum(tuple(everyone[at] for at in first), tuple(everyone[at] for at in sorted(others)))


@lru_cache(maxsize=100_000)
def _score(stratum: Stratum) -> float:
    """Return z of scipy's log-rank test, 0 where the times hold no comparison."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = float(scipy.stats.logrank(_censor(stratum.first), _censor(stratum.second)).statistic)
    return z if math.isfinite(z) else 0.0


def _censor(times: Sequence[Time]) -> Any:
    censored = [not time.is_complete for time in times]
    return scipy.stats.CensoredData.right_censored([time.time_s for time in times], censored)


def _find_median(flows: Sequence[dict[str, Any]]) -> float | None:
    return find_quantile(estimate_curve([Time(flow["time_s"], flow["is_complete"]) for flow in flows]), 0.5)
