-- Throughput against RTT in two numbers: the utilization-concavity coefficient UC, the monotonicity term V, and both
-- in one, UCV = (2 UC + V) / 3, for each loss level, sharing, number of flows and algorithm with at least two RTTs.
-- For the mean rates θ1 … θn at the RTTs τ1 < … < τn:
--     UC = ∫ θ/θmax d(τ/τmax) − (θ1 + θn)/(4 θmax) + 1/4          (trapezoids from τ1 to τn)
--     V  = n (θmax − θmin) / ((n − 1) Σ|θi+1 − θi|) − 1/(n − 1)    (1 for a monotonic profile; null where all are equal)
-- as the notebook of the test harness computes them (utils/iperf3_cc_analysis.ipynb), after Rao et al., Throughput
-- Analytics of Data Transfer Infrastructures, 2018. The integral begins at the smallest RTT that was measured, so only
-- profiles over the same RTTs compare.
-- The view coefficients_runs holds the runs that the evaluation selects, one row per run and algorithm.
WITH profile AS (
    SELECT
        rate_basis, test_group, test_group_rank, sharing, flows_count, algorithm, algorithm_rank, rtt_ms,
        min(loss_pct) AS loss_pct, count(*) AS runs_count, list_avg(list(rate_bps ORDER BY run_id)) AS rate_bps
    FROM coefficients_runs
    WHERE rtt_ms IS NOT NULL
    GROUP BY ALL
),
steps AS (
    SELECT
        *,
        (rtt_ms - lag(rtt_ms) OVER by_rtt) * (rate_bps + lag(rate_bps) OVER by_rtt) / 2 AS area,
        abs(rate_bps - lag(rate_bps) OVER by_rtt) AS change_bps
    FROM profile
    WINDOW by_rtt AS (
        PARTITION BY rate_basis, test_group, test_group_rank, sharing, flows_count, algorithm, algorithm_rank
        ORDER BY rtt_ms
    )
),
profiles AS (
    SELECT
        rate_basis, test_group, test_group_rank, sharing, flows_count, algorithm, algorithm_rank,
        min(loss_pct) AS loss_pct,
        count(*) AS rtts_count,
        sum(runs_count)::BIGINT AS runs_count,
        min(rtt_ms) AS rtt_lowest_ms,
        max(rtt_ms) AS rtt_highest_ms,
        arg_min(rate_bps, rtt_ms) + arg_max(rate_bps, rtt_ms) AS ends_bps,
        min(rate_bps) AS rate_lowest_bps,
        max(rate_bps) AS rate_highest_bps,
        sum(area ORDER BY rtt_ms) AS area,
        sum(change_bps ORDER BY rtt_ms) AS change_bps
    FROM steps
    GROUP BY ALL
),
coefficients AS (
    SELECT
        *,
        area / nullif(rate_highest_bps * rtt_highest_ms, 0) - ends_bps / nullif(4 * rate_highest_bps, 0) + 0.25
            AS utilization_concavity_ratio,
        rtts_count * (rate_highest_bps - rate_lowest_bps) / nullif((rtts_count - 1) * change_bps, 0)
            - 1 / (rtts_count - 1) AS monotonicity_ratio
    FROM profiles
    WHERE rtts_count > 1
)
SELECT
    test_group,
    sharing,
    flows_count,
    algorithm,
    rate_basis,
    rtts_count,
    rtt_lowest_ms,
    rtt_highest_ms,
    runs_count,
    utilization_concavity_ratio,
    monotonicity_ratio,
    (2 * utilization_concavity_ratio + monotonicity_ratio) / 3 AS utilization_concavity_monotonicity_ratio
FROM coefficients
ORDER BY
    test_group_rank, min(loss_pct) OVER (PARTITION BY test_group), test_group, sharing, flows_count, algorithm_rank,
    algorithm
