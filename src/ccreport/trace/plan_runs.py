"""The command `plan_runs`: how many runs a comparison of two algorithms takes, or how long ones, by how runs vary."""

import math
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.errors import InputError
from ccreport.summarise.open_results import open_results
from ccreport.summarise.statistics.comparisons import contrast_logarithms, judge_questions
from ccreport.summarise.statistics.contrasts import LEVEL, count_runs, find_least_effect
from ccreport.summarise.statistics.durations import plan_duration
from ccreport.trace.find_table import find_databases, find_results
from ccreport.trace.run_noise import RunNoise, find_noise, read_rates

ALGORITHMS: Final = ("first_algorithm", "second_algorithm")
SHOWN: Final[dict[str, Any]] = {
    **dict.fromkeys(("tbl_rows", "tbl_cols"), -1),
    **dict.fromkeys(("tbl_width_chars", "fmt_str_lengths"), 1000),
    **dict.fromkeys(("tbl_hide_dataframe_shape", "tbl_hide_column_data_types"), True),
    "tbl_formatting": "ASCII_BORDERS_ONLY_CONDENSED",
}


def plan_runs(
    database: Path | None = None, measure: str = "goodput_bps", difference_pct: float = 5.0, power: float = 0.8
) -> None:
    """Print how many runs, or how long ones, would show a difference, and what the present runs could not have shown.

    `database` is an evaluation's, or a folder of results, where the configured evaluation goes before others; without
    it, the folder that config.yaml names. `measure` is one of the evaluation's comparisons. `difference_pct` is the
    smallest difference that matters, in per cent. `power` is the probability with which it is to be found. Runs are
    taken to vary as those in the archive do; from two to four runs that is a rough estimate. `needed_s` is how long as
    many runs as there are would have to be, of a rate; it is null where no duration shows the difference, because runs
    differ by more than what varies within them, or where the present runs are too short to tell. Raise InputError where
    nothing is compared by this measure.
    """
    if difference_pct <= 0 or not 0.05 < power < 1:
        raise InputError("--difference-pct is to be above 0, and --power between 0.05 and 1")
    with open_results(find_databases(find_results(database))[0]) as connection:
        rows, rates = _read_comparisons(connection, measure), read_rates(connection, measure)
    plans = [
        plan_comparison(row, 1 + difference_pct / 100, power, row["tests_count"], find_noise(row, rates))
        | {"algorithms": " / ".join(row[name] for name in ALGORITHMS)}
        | {name: row[name] for name in ("table_name", "question")}
        for row in rows
    ]
    print(
        f"{measure}: runs of each algorithm in each stratum, or their duration, that show {difference_pct:g} % with a "
        f"probability of {power:g}, after the correction for all questions about a table"
    )
    with pl.Config(**SHOWN):
        print(pl.DataFrame(plans, infer_schema_length=None))
    if any(plan["shown_pct"] is None for plan in plans):
        print("null: too few runs to plan from; each algorithm needs three, or two in each of two strata")


def plan_comparison(
    row: dict[str, Any], ratio: float, power: float, tests_count: int, noise: RunNoise | None = None
) -> dict[str, Any]:
    """Return how the runs of a question vary, what they can show, and how many would show `ratio`.

    `runs_count` is that of the algorithm with fewer, `shown_pct` the least difference that they show, and
    `needed_runs_count` is of each algorithm in each of `strata_count` strata. Both are null below two degrees of
    freedom of an algorithm. `duration_s` is how long runs are, and `needed_s` how long as many would have to be. The
    tests are corrected for `tests_count`.
    """
    contrast, level = contrast_logarithms(row), LEVEL / max(1, tests_count)
    spread = None if contrast is None else contrast.spread
    least = None if spread is None else find_least_effect(spread, power, level)
    needed = None if contrast is None else count_runs(contrast, math.log(ratio), power, level)
    needed_s = None
    if noise is not None and spread is not None and least:
        # The least effect goes with the square root of the variance.
        needed_s = plan_duration(noise.duration_s, noise.variance / spread.variance, (math.log(ratio) / least) ** 2)
    return {
        "needed_runs_count": needed,
        "needed_s": None if needed_s is None else round(needed_s, 1),
        "duration_s": None if noise is None else round(noise.duration_s, 1),
        "strata_count": row["strata_count"],
        "runs_count": min(row["first_runs_count"], row["second_runs_count"]),
        "shown_pct": None if least is None else round(100 * math.expm1(least), 2),
    }


def _read_comparisons(connection: duckdb.DuckDBPyConnection, measure: str) -> list[dict[str, Any]]:
    """Return the questions by a measure, in the order of the published table, with the tests of their tables.

    Tests of a table are counted over all of its measures, as the correction does.
    """
    try:
        compared = connection.sql("FROM comparisons").pl()
    except duckdb.CatalogException as error:
        raise InputError("this evaluation has no table `comparisons`, whose runs a plan is made from") from error
    chosen = compared.hstack([judge_questions(compared)["tests_count"]]).filter(pl.col("measure") == measure)
    if chosen.is_empty():
        known = compared["measure"].unique().sort()
        raise InputError(f"no comparison is by {measure}" + (f"; there are: {', '.join(known)}" if len(known) else ""))
    rows: list[dict[str, Any]] = chosen.to_dicts()
    return rows
