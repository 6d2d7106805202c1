-- Runs of one condition by their outcome, in which they may fall into modes: the share of an algorithm in its run's rate
-- where several sent at once, the rate of the slowest flow over the flows' mean where one algorithm had several flows,
-- the rate over the mean of the condition where it had one. The columns outcomes and run_ids are the samples;
-- ccreport.measure.modes finds the modes. The share of the last of several algorithms is what the others leave, and has
-- no row.
-- The view modes_runs holds the runs that the evaluation selects, one row per run and algorithm.
WITH slowest AS (
    SELECT
        flows.run_id,
        CASE WHEN count(*) > 1 AND count(goodput_bps) = count(*) THEN min(goodput_bps) / nullif(avg(goodput_bps ORDER BY flow_id), 0)
            WHEN count(*) > 1 AND count(throughput_bps) = count(*)
            THEN min(throughput_bps) / nullif(avg(throughput_bps ORDER BY flow_id), 0) END AS slowest_ratio
    FROM flows
    SEMI JOIN modes_runs USING (run_id)
    GROUP BY flows.run_id
),
judged AS (
    SELECT
        modes_runs.*,
        CASE WHEN sharing = 'both' THEN 'share of the rate' WHEN flows_count > 1 THEN 'slowest flow over mean flow'
            ELSE 'rate over mean' END AS outcome,
        CASE
            WHEN sharing = 'both' THEN rate_bps / nullif(sum(rate_bps ORDER BY rate_bps) OVER (PARTITION BY run_id), 0)
            WHEN flows_count > 1 THEN slowest_ratio
            ELSE rate_bps / nullif(avg(rate_bps ORDER BY rate_bps) OVER (PARTITION BY condition_id, algorithm), 0)
        END AS outcome_ratio
    FROM modes_runs
    LEFT JOIN slowest USING (run_id)
    QUALIFY sharing <> 'both' OR row_number() OVER (
        PARTITION BY run_id ORDER BY algorithm_rank DESC, algorithm DESC
    ) > 1
)
SELECT
    session,
    job,
    host,
    parameter_value,
    rtt_nominal_ms,
    algorithm,
    common_value(flows_count) AS flows_count,
    outcome,
    count(*) AS runs_count,
    avg(outcome_ratio ORDER BY run_id) AS outcome_mean_ratio,
    min(outcome_ratio) AS outcome_min_ratio,
    max(outcome_ratio) AS outcome_max_ratio,
    list(outcome_ratio ORDER BY run_id) AS outcomes,
    list(run_id ORDER BY run_id) AS run_ids
FROM judged
WHERE outcome_ratio IS NOT NULL
GROUP BY session, job, host, parameter_value, rtt_nominal_ms, algorithm, algorithm_rank, condition_id, outcome
ORDER BY session, job, host, rtt_nominal_ms, parameter_value, algorithm_rank, algorithm
