"""How much of what two algorithms' runs vary by is noise within the runs, which longer runs would have less of."""

from dataclasses import dataclass
from typing import Any, Final

import duckdb
import numpy as np
import polars as pl

from ccreport.summarise.statistics.durations import measure_noise, scale_rates, subtract_rates

# Measures that are means over time.
RATES: Final = ("goodput_bps", "throughput_bps")
# The rate of an algorithm's flows in each run of a question, interval by interval. A last interval that was cut short,
# and a run that moved nothing, are left out.
QUERY: Final = """
    WITH steps AS (
        SELECT run_id, algorithm, interval_number, sum(interval_bps) AS bps, avg(end_s - start_s) AS step_s
        FROM intervals
        JOIN flows USING (run_id, flow_id)
        JOIN algorithms ON algorithms.cc = coalesce(flows.cc, 'unknown')
        WHERE NOT coalesce(is_omitted, FALSE)
        GROUP BY ALL
    ),
    whole AS (
        SELECT *, median(step_s) OVER (PARTITION BY run_id, algorithm) AS usual_s
        FROM steps
        QUALIFY step_s > 0.5 * usual_s
    ),
    series AS (
        SELECT run_id, algorithm, list(bps ORDER BY interval_number) AS rates_bps, min(usual_s) AS step_s
        FROM whole
        GROUP BY ALL
        HAVING avg(bps) > 0
    )
    SELECT table_name, question, sharing = 'both' AS is_paired, run_id, algorithm, rates_bps, step_s
    FROM comparisons_runs
    JOIN series USING (run_id, algorithm)
    WHERE measure = ? AND value IS NOT NULL
    ORDER BY ALL
"""


@dataclass(frozen=True)
class RunNoise:
    """How long the runs of a question are, and the variance that noise within them gives to the effect's logarithm."""

    duration_s: float
    variance: float


def read_rates(connection: duckdb.DuckDBPyConnection, measure: str) -> pl.DataFrame | None:
    """Return the rates over time of all runs that are compared by a measure; None for what is not a rate."""
    return connection.sql(QUERY, params=[measure]).pl() if measure in RATES else None


def find_noise(row: dict[str, Any], rates: pl.DataFrame | None) -> RunNoise | None:
    """Return the noise of a question, a row of `comparisons`; None where runs are too short to tell."""
    if rates is None:
        return None
    first, second = row["first_algorithm"], row["second_algorithm"]
    own = rates.filter(pl.col("table_name") == row["table_name"], pl.col("question") == row["question"])
    alone = own.filter(~pl.col("is_paired"))
    runs = {name: alone.filter(pl.col("algorithm") == name)["rates_bps"].to_list() for name in (first, second)}
    pairs = own.filter("is_paired").pivot("algorithm", index="run_id", values="rates_bps")
    both = pairs.select(first, second).drop_nulls().rows() if {first, second} <= {*pairs.columns} else []
    series = {
        **{name: [scale_rates(values) for values in of_name] for name, of_name in runs.items()},
        "pairs": [subtract_rates(*values) for values in both],
    }
    used = [values for values_of in series.values() for values in values_of]
    if not used:
        return None
    step_s = float(np.median(own["step_s"].to_numpy()))
    duration_s = step_s * float(np.median([len(values) for values in used]))
    noise = {name: measure_noise(values_of, step_s) for name, values_of in series.items()}
    total = 0.0
    for stratum in row["strata"]:
        counts = {name: len(stratum[side]) for name, side in ((first, "first"), (second, "second"))}
        for name, count in ({"pairs": counts[first]} if stratum["is_paired"] else counts).items():
            per_s = noise[name]
            if per_s is None:
                return None
            total += per_s / duration_s / count
    return RunNoise(duration_s, total / len(row["strata"]) ** 2)
