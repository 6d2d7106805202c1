"""How much the rates of two algorithms vary from run to run: the ratio of their mean CVs, here and as published."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.declarations import read_query
from ccreport.report.first_page.pairs import PAPER
from ccreport.summarise.database import connect
from ccreport.summarise.grids.publication import SHOWN_RTT

STABILITY: Final = "stability"
SCHEMA: Final = {
    "rtt_bucket": pl.String(),
    "first_algorithm": pl.String(),
    "second_algorithm": pl.String(),
    "cells_count": pl.Int64(),
    "first_cv": pl.Float64(),
    "second_cv": pl.Float64(),
    # Of the second algorithm's mean CV over the first's.
    "ratio": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "paper_ratio": pl.Float64(),
    "rtts_ms": pl.List(pl.Float64()),
}
NO_VARIATION: Final = pl.DataFrame(schema=SCHEMA)
KEYS: Final = ("test_group", "sharing", "flows_count", "rtt_bucket")
# The macros are those of claims, so that a claim on the same quotient has the same numbers. The published CVs are those
# of the same cells, and no ratio is made of a part of them.
QUERY: Final = f"""
    WITH cells AS (
        SELECT
            cells.*, algorithm = getvariable('first') AS is_first, paper.expected_cv
        FROM rate_cells('stability_runs') AS cells
        LEFT JOIN paper USING (test_group, sharing, flows_count, rtt_bucket, algorithm)
        WHERE algorithm IN (getvariable('first'), getvariable('second'))
    ),
    buckets AS (
        SELECT rtt_bucket, min(rtt_bucket_rank) AS place, list(DISTINCT {SHOWN_RTT}) AS rtts_ms
        FROM stability_runs WHERE rate_bps IS NOT NULL GROUP BY rtt_bucket
    ),
    means AS (
        SELECT
            rtt_bucket, count(cell_cv(strata)) FILTER (is_first) AS cells_count,
            avg(cell_cv(strata)) FILTER (is_first) AS first_cv, avg(cell_cv(strata)) FILTER (NOT is_first) AS second_cv,
            cv_quotient(
                flatten(list(pooled_cvs(strata)) FILTER (NOT is_first)),
                flatten(list(pooled_cvs(strata)) FILTER (is_first)),
                min(cell_count(strata))
            ) AS quotient,
            CASE WHEN count(*) = count(expected_cv) THEN
                avg(expected_cv) FILTER (NOT is_first) / nullif(avg(expected_cv) FILTER (is_first), 0)
            END AS paper_ratio
        FROM cells GROUP BY rtt_bucket
    )
    SELECT
        rtt_bucket, getvariable('first') AS first_algorithm, getvariable('second') AS second_algorithm, cells_count,
        first_cv, second_cv, quotient.value AS ratio, quotient.low AS low, quotient.high AS high, paper_ratio, rtts_ms
    FROM means JOIN buckets USING (rtt_bucket)
    WHERE first_cv IS NOT NULL AND second_cv IS NOT NULL
    ORDER BY place
"""  # noqa: S608 (of a module)


def read_variation(database: Path, declared: Mapping[str, Any], compared: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each RTT bucket of the table `stability`; none where the evaluation has no such table.

    The two algorithms are the evaluation's first two. `database` is that of the evaluation `declared`, `compared` the
    table `reproduction`, which has the publication's CVs.
    """
    names = list(declared["algorithms"])[:2]
    if STABILITY not in declared["tables"] or len(names) < 2:
        return NO_VARIATION
    paper = compared.filter(comparison=PAPER).select(*KEYS, "algorithm", "expected_cv").drop_nulls(KEYS)
    with connect(database) as connection:
        _set_algorithms(connection, *names)
        connection.register("paper", paper.to_arrow())
        connection.execute(read_query("claims"))
        variation: pl.DataFrame = connection.sql(QUERY).pl().cast(SCHEMA)
    return variation


def _set_algorithms(connection: duckdb.DuckDBPyConnection, *names: str) -> None:
    for variable, name in zip(("first", "second"), names, strict=True):
        connection.execute(f"SET VARIABLE {variable} = ?", [name])
