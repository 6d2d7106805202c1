"""The least part of a path's rate that each algorithm gets beside another one, over all conditions of the archive."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.figures.kit.theme import call_algorithms, style_of
from ccreport.summarise.database import connect
from ccreport.trace.uses import list_uses

SCHEMA: Final = {
    # Whose share it is, and beside which algorithm, as figures call them.
    "algorithm": pl.String(),
    "beside": pl.String(),
    # Of the sum of both mean rates.
    "share": pl.Float64(),
    # Of what both sent in the last third of the tests.
    "late_share": pl.Float64(),
    "flows_count": pl.Int64(),
    "rtt_ms": pl.Float64(),
    "bottleneck_bps": pl.Float64(),
    "buffer_bytes": pl.Int64(),
    "runs_count": pl.Int64(),
}
NO_SHARES: Final = pl.DataFrame(schema=SCHEMA)
# Of fewer runs nothing is said.
RUNS_COUNT: Final = 3
# Where as many flows of two algorithms start together on one path that stays as it is, and send for the whole test.
# Paths with random loss are left out: there an algorithm may get little without any other's doing.
QUERY: Final = f"""
    WITH shared AS (
        SELECT * FROM algorithm_runs
        WHERE
            is_counted AND NOT is_suspect AND mode = 'both' AND destinations_count = 1 AND volume_bytes IS NULL
            AND stages_json IS NULL AND coalesce(start_spread_s, 0) = 0 AND coalesce(loss_pct, 0) = 0
            AND list_contains($runs, run_id)
    ),
    means AS (
        SELECT
            condition_id, cc,
            common_value(cc_flows_count) AS own_flows_count, common_value(flows_count) AS flows_count,
            common_value(rtt_ms) AS rtt_ms, common_value(bottleneck_bps) AS bottleneck_bps,
            common_value(buffer_bytes) AS buffer_bytes,
            avg(coalesce(goodput_bps, throughput_bps)) AS rate_bps, count(*) AS runs_count
        FROM shared GROUP BY condition_id, cc
    ),
    worst AS (
        SELECT own.*, own.cc AS algorithm, other.cc AS beside, own.rate_bps / (own.rate_bps + other.rate_bps) AS share
        FROM means AS own JOIN means AS other USING (condition_id, own_flows_count)
        WHERE
            own.cc <> other.cc AND own.runs_count >= {RUNS_COUNT} AND 2 * own.own_flows_count = own.flows_count
            AND share < 0.5
        QUALIFY row_number() OVER (PARTITION BY algorithm, beside ORDER BY share, condition_id) = 1
    ),
    late AS (
        SELECT
            condition_id, flows.cc,
            sum(interval_bytes) / nullif(sum(sum(interval_bytes)) OVER (PARTITION BY condition_id), 0) AS late_share
        FROM (SELECT DISTINCT condition_id, run_id, duration_s FROM shared SEMI JOIN worst USING (condition_id))
        JOIN intervals USING (run_id)
        JOIN flows USING (run_id, flow_id)
        WHERE NOT is_omitted AND NOT intervals.is_reverse AND start_s >= 2 * duration_s / 3
        GROUP BY condition_id, flows.cc
    )
    SELECT {", ".join(SCHEMA)}
    FROM worst LEFT JOIN late USING (condition_id, cc)
    ORDER BY share, algorithm, beside
"""  # noqa: S608 (of a module)


def read_least_shares(database: Path, declared: Mapping[str, Any]) -> pl.DataFrame:
    """Return a row for each two algorithms that shared a path of a condition: the condition that left the first least.

    The least share comes first. Pairs of which the first had no less than the second anywhere have no row, and none is
    read without claims on starvation. `database` is that of the evaluation `declared`, whose tables and figures have
    the runs.
    """
    if not any(facts.get("is_starvation") for facts in declared["claims"].values()):
        return NO_SHARES
    runs = list_uses(database, declared)["run_id"].unique().sort().to_list()
    with connect(database) as connection, call_algorithms(declared["algorithm_names"]):
        shares: pl.DataFrame = connection.sql(QUERY, params={"runs": runs}).pl().cast(SCHEMA)
        names = {cc: style_of(cc).name for cc in (*shares["algorithm"], *shares["beside"])}
    return shares.with_columns(pl.col("algorithm", "beside").replace(names))
