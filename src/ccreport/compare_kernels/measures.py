"""What is compared: the measures, and the pairs of runs that a database has of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from ccreport.compare_kernels.campaigns import find_block, name_session
from ccreport.compare_kernels.decide import Scale
from ccreport.summarise.database import connect
from ccreport.summarise.statistics.durations import measure_noise, subtract_rates

QUERY: Final = Path(__file__).with_name("compared_runs.sql")
OVER_TIME: Final = Path(__file__).with_name("rates_over_time.sql")
# The measure that is a mean over time.
OF_TIME: Final = "goodput"
SESSION: Final = "session"
# What makes a condition, session and job before all others.
CONDITION: Final = (SESSION, "job", "host", "rtt_nominal_ms", "parameter_value", "limit_packets_count")
PAIR: Final = ("block", "iteration")
RATES: Final = pl.Schema({"run_id": pl.String(), "rates_bps": pl.List(pl.Float64), "step_s": pl.Float64()})


@dataclass(frozen=True)
class Measure:
    """A measure: its column and title, its unit as `per_unit` base units, and the words for more and for less of it.

    `needs` is what a run did that has a value: above 0 where the scale is a ratio.
    """

    name: str
    title: str
    unit: str
    scale: Scale = "ratio"
    per_unit: float = 1.0
    up: str = "higher"
    down: str = "lower"
    needs: str = "has a value above 0"


MEASURES: Final = {
    measure.name: measure
    for measure in (
        Measure("goodput", "Goodput of all flows", "Mbit/s", per_unit=1e6, up="faster", down="slower"),
        Measure("goodput_first", "Goodput of the first client", "Mbit/s", per_unit=1e6, up="faster", down="slower"),
        Measure("goodput_others", "Goodput of the other clients", "Mbit/s", per_unit=1e6, up="faster", down="slower"),
        Measure(
            "goodput_busy",
            "Goodput while it has data to send",
            "Mbit/s",
            per_unit=1e6,
            up="faster",
            down="slower",
            needs="paused in all of its flows",
        ),
        Measure(
            "completion",
            "Time until half the volume is acknowledged, median flow",
            "s",
            up="slower",
            down="faster",
            needs="completed half of its flows",
        ),
        Measure("retransmits", "Retransmitted segments", "%", scale="points", needs="counted them"),
        Measure("rtt_median", "RTT, median of samples", "ms"),
        Measure("rtt_p99", "RTT, 99th percentile of samples", "ms"),
        Measure("fairness", "Jain's index of the flows", ""),
        Measure("slow_start_cwnd", "Congestion window when slow start ends", "segments", needs="left slow start"),
        Measure("flight_peak", "Most segments of a flow without acknowledgement", "segments"),
    )
}


@dataclass(frozen=True)
class Noise:
    """How a rate varies within runs of `duration_s`: `variance` is what log(B / A) of a pair has of it alone."""

    duration_s: float
    variance: float


@dataclass(frozen=True)
class Pairs:
    """The pairs of runs of one condition: `a` and `b` are values of `measure` in the order of blocks and iterations.

    `lacking` are the sides of which no run has a value, so that no number of pairs tells anything.
    """

    condition: str
    measure: Measure
    a: Sequence[float]
    b: Sequence[float]
    noise: Noise | None = None
    lacking: Sequence[str] = ()


@dataclass(frozen=True)
class Runs:
    """The runs of both sides: a row each, with side, block, iteration, condition and all measures.

    `rates` has rates in steps of `step_s` by `run_id`, where they are known.
    """

    rows: pl.DataFrame
    rates: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=RATES))

    @property
    def conditions(self) -> list[str]:
        """Return the names of the conditions in the order of the campaign's jobs as the archive has them."""
        return self.rows["condition"].unique(maintain_order=True).to_list()

    def list_pairs(self) -> list[Pairs]:
        """Return the pairs of each condition and measure that has a value in any run; a run without one is no pair."""
        counted = self.rows.filter("is_counted")
        first, second = (counted.filter(pl.col("side") == side) for side in "ab")
        paired = first.join(second, on=["condition", *PAIR], suffix="_b").sort("condition", *PAIR)
        return [
            Pairs(
                condition,
                measure,
                *_list_values(paired, condition, measure),
                self._find_noise(paired.filter(pl.col("condition") == condition)) if measure.name == OF_TIME else None,
                self._find_lacking(condition, measure),
            )
            for condition in self.conditions
            for measure in MEASURES.values()
            if self._has_values(condition, measure)
        ]

    def _find_noise(self, paired: pl.DataFrame) -> Noise | None:
        """Return the noise of the rates of pairs: both runs of a pair have the same chance at the same time."""
        if "run_id" not in paired.columns:
            return None
        of_b = self.rates.rename({"run_id": "run_id_b", "rates_bps": "rates_b"}).drop("step_s")
        known = paired.join(self.rates, on="run_id").join(of_b, on="run_id_b")
        if known.is_empty():
            return None
        step_s = float(np.median(known["step_s"].to_numpy()))
        series = [subtract_rates(row["rates_b"], row["rates_bps"]) for row in known.iter_rows(named=True)]
        per_s = measure_noise(series, step_s)
        duration_s = step_s * min(len(values) for values in series)
        return None if per_s is None else Noise(duration_s, per_s / duration_s)

    def _has_values(self, condition: str, measure: Measure) -> bool:
        values = self.rows.filter(pl.col("condition") == condition)[measure.name]
        return values.null_count() < len(values)

    def _find_lacking(self, condition: str, measure: Measure) -> list[str]:
        """Return the sides that have runs, but none with a value that a pair could have."""
        counted = self.rows.filter("is_counted", pl.col("condition") == condition)
        of_sides = {side: counted.filter(pl.col("side") == side) for side in "ab"}
        return [side for side, rows in of_sides.items() if len(rows) and not len(_keep_known(rows, measure, ""))]

    def choose_run(self, condition: str, side: str) -> dict[str, Any] | None:
        """Return the run of a side that represents a condition: the one of the first pair; null if there is none."""
        rows = self.rows.filter(pl.col("condition") == condition, pl.col("side") == side).sort(*PAIR)
        return rows.row(0, named=True) if rows.height else None


def read_runs(database: Path, name: str) -> Runs:
    """Return the runs of the comparison of this name; raise duckdb.Error where the database is none of an archive."""
    with connect(database) as connection:
        rows, rates = (connection.sql(query.read_text(encoding="utf-8")).pl() for query in (QUERY, OVER_TIME))
    rows = rows.filter(pl.col("campaign").is_in([f"{name}-{side}" for side in "ab"]))
    placed = rows.with_columns(
        pl.col("session_label").map_elements(find_block, return_dtype=pl.Int64).alias("block"),
        pl.col("session_label").map_elements(name_session, return_dtype=pl.String).alias(SESSION),
        side=pl.col("campaign").str.slice(-1),
    )
    return Runs(name_conditions(placed).sort(*CONDITION, *PAIR, "side"), rates)


def name_conditions(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with `condition`: the job, and of what else makes a condition all that differs between the runs."""
    others = [name for name in CONDITION if name != "job"]
    is_varying = rows.group_by("job").agg(pl.col(others).n_unique() > 1).select(pl.col(others).any())
    # Jobs of two sessions may have one name.
    varying = [name for name, varies in is_varying.row(0, named=True).items() if varies] if rows.height else []
    told = {
        SESSION: pl.col(SESSION),
        "host": pl.col("host"),
        "rtt_nominal_ms": pl.format("RTT {} ms", "rtt_nominal_ms"),
        "parameter_value": pl.format("parameter {}", "parameter_value"),
        "limit_packets_count": pl.format("limit {}", "limit_packets_count"),
    }
    parts = [pl.col("job"), *(told[name] for name in varying)]
    return rows.with_columns(condition=pl.concat_str(parts, separator=", ", ignore_nulls=True))


def _list_values(paired: pl.DataFrame, condition: str, measure: Measure) -> tuple[list[float], list[float]]:
    """Return the values of both sides, pairs of which either lacks one, or has no ratio, left out."""
    known = _keep_known(paired.filter(pl.col("condition") == condition), measure, "", "_b")
    return known[measure.name].to_list(), known[f"{measure.name}_b"].to_list()


def _keep_known(rows: pl.DataFrame, measure: Measure, *suffixes: str) -> pl.DataFrame:
    values = [pl.col(measure.name + suffix) for suffix in suffixes]
    return rows.filter(value > 0 if measure.scale == "ratio" else value.is_not_null() for value in values)
