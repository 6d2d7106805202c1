"""The command `plan_runs`: how many runs a comparison of two algorithms takes, by how much an archive's runs vary."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import polars as pl

from ccreport.core.errors import InputError
from ccreport.summarise.statistics.power import count_runs, find_least_ratio
from ccreport.trace.find_table import find_databases, open_results

RESULTS: Final = Path("results")
# What sets comparisons apart; shown where it does.
CONDITIONS: Final = (
    *("sharing", "beside", "host", "flows_count", "rtt_ms", "loss_pct", "nic_bps", "pacing_bps", "bottleneck_bps"),
    *("background_udp_bps", "parameter_name", "parameter_value", "buffer_bytes", "volume_bytes"),
)
ALGORITHMS: Final = ("first_algorithm", "second_algorithm")
SHOWN: Final[dict[str, Any]] = {
    **dict.fromkeys(("tbl_rows", "tbl_cols"), -1),
    **dict.fromkeys(("tbl_width_chars", "fmt_str_lengths"), 1000),
    **dict.fromkeys(("tbl_hide_dataframe_shape", "tbl_hide_column_data_types"), True),
    "tbl_formatting": "ASCII_BORDERS_ONLY_CONDENSED",
}
VALUES: Final = ("first_values", "second_values")


def plan_runs(
    database: Path = RESULTS, measure: str = "goodput_bps", difference_pct: float = 5.0, power: float = 0.8
) -> None:
    """Print how many runs of each algorithm would show a difference, and what the present runs could not have shown.

    `database` is an evaluation's, or a folder of results, where the configured evaluation goes before others. `measure`
    is one of the evaluation's comparisons. `difference_pct` is the smallest difference that matters, in per cent.
    `power` is the probability with which it is to be found. Runs are taken to vary as those in the archive do; from two
    to four runs that is a rough estimate. Raise InputError where nothing is compared by this measure.
    """
    if difference_pct <= 0 or not 0.05 < power < 1:
        raise InputError("difference_pct is to be above 0, and power between 0.05 and 1")
    with open_results(find_databases(database)[0]) as connection:
        rows = _read_comparisons(connection, measure)
    told = [name for name in CONDITIONS if len({row[name] for row in rows}) > 1]
    plans = [
        plan_comparison(row, 1 + difference_pct / 100, power)
        | {"algorithms": " / ".join(row[name] for name in ALGORITHMS), "condition": _describe(row, told)}
        for row in rows
    ]
    print(f"{measure}: runs of each algorithm that show {difference_pct:g} % with a probability of {power:g}")
    with pl.Config(**SHOWN):
        print(pl.DataFrame(plans, infer_schema_length=None))


def _describe(row: dict[str, Any], names: Sequence[str]) -> str:
    """Return the conditions of a comparison that are given and differ between comparisons."""
    given = {name: row[name] for name in names if row[name] is not None}
    return ", ".join(f"{name} {value if isinstance(value, str) else f'{value:g}'}" for name, value in given.items())


def plan_comparison(row: dict[str, Any], ratio: float, power: float) -> dict[str, Any]:
    """Return how the runs of a comparison vary, what they can show, and how many would show `ratio`.

    `runs_count` is that of the algorithm with fewer, `shown_pct` the least difference that they show. `cv_pct` is the
    coefficient of variation, of pairs that of their ratio; null, with all that follows from it, below two runs.
    """
    first, second = (np.log(row[name]) for name in VALUES)
    is_paired, runs = row["is_paired"], min(len(first), len(second))
    spread = _find_spread(first, second, is_paired=is_paired)
    least = None if spread is None else find_least_ratio(spread, runs, power, is_paired=is_paired)
    return {
        "needed_runs_count": None if spread is None else count_runs(ratio, spread, power, is_paired=is_paired),
        "runs_count": runs,
        "shown_pct": None if least is None else round(100 * (least - 1), 2),
        "cv_pct": None if spread is None else round(100 * math.sqrt(math.expm1(spread**2)), 2),
    }


def _find_spread(first: Sequence[float], second: Sequence[float], *, is_paired: bool) -> float | None:
    """Return the standard deviation of logarithms: pooled, or of the differences of pairs; null below two runs each."""
    if min(len(first), len(second)) < 2:
        return None
    if is_paired:
        return float(np.std(np.subtract(first, second), ddof=1))
    squares = sum(np.var(values, ddof=1) * (len(values) - 1) for values in (first, second))
    return math.sqrt(squares / (len(first) + len(second) - 2))


def _read_comparisons(connection: duckdb.DuckDBPyConnection, measure: str) -> list[dict[str, Any]]:
    """Return the comparisons by a measure whose values are all above 0, in the order of the published table."""
    try:
        compared = connection.sql("FROM comparisons").pl()
    except duckdb.CatalogException as error:
        raise InputError("this evaluation has no table `comparisons`, whose runs a plan is made from") from error
    chosen = compared.filter(pl.col("measure") == measure, *(pl.col(name).list.min() > 0 for name in VALUES))
    if chosen.is_empty():
        known = compared["measure"].unique().sort()
        raise InputError(f"no comparison is by {measure}" + (f"; there are: {', '.join(known)}" if len(known) else ""))
    rows: list[dict[str, Any]] = chosen.to_dicts()
    return rows
