-- Flow completion times by volume, loss, buffer size and algorithm: mean, its interval, and percentiles over the flows;
-- where several algorithms sent at once, also of the flows of all of them.
-- Where a capture tells the completion of some flows of a run, the sender's seconds of its other flows are left out and
-- counted: the sender is done when its last bytes wait in its socket, so its times are too short.
-- The view completion_runs holds the runs that the evaluation selects, one row per run and algorithm; cell_… are the
-- macros of macros.sql.
WITH timed AS (
    SELECT
        run_id, flow_id, cc, completion_s, completion_source, received_share_ratio,
        bool_or(completion_source = 'capture') OVER (PARTITION BY run_id) AS is_captured
    FROM flows
    SEMI JOIN completion_runs USING (run_id)
    WHERE completion_s IS NOT NULL
),
of_algorithms AS (
    SELECT
        runs.*, timed.flow_id, completion_s, received_share_ratio,
        CASE WHEN is_captured THEN 'capture' ELSE 'sender' END AS source,
        is_captured AND completion_source = 'sender' AS is_left_out
    FROM completion_runs AS runs
    JOIN timed ON timed.run_id = runs.run_id AND coalesce(timed.cc, 'unknown') = runs.cc
),
measured AS (
    FROM of_algorithms
    UNION ALL
    SELECT * REPLACE ('all' AS algorithm, 1000 AS algorithm_rank) FROM of_algorithms WHERE sharing = 'both'
),
conditions AS (
    SELECT
        volume_bytes, loss_pct, rtt_ms, buffer_bytes, bottleneck_bps, flows_count, cc_list, algorithm, source,
        condition_id,
        max(algorithm_rank) AS algorithm_rank,
        count(*) FILTER (is_left_out) AS left_out_count,
        list_avg(list(received_share_ratio ORDER BY run_id, flow_id) FILTER (NOT is_left_out)) AS received_share_ratio,
        list(completion_s ORDER BY run_id, flow_id) FILTER (NOT is_left_out) AS times,
        count(DISTINCT run_id) AS runs_count
    FROM measured
    GROUP BY ALL
),
cells AS (
    SELECT
        volume_bytes, loss_pct, rtt_ms, buffer_bytes, bottleneck_bps, flows_count, cc_list, algorithm, source,
        max(algorithm_rank) AS algorithm_rank,
        sum(left_out_count)::BIGINT AS left_out_count,
        sum(runs_count)::BIGINT AS runs_count,
        list_avg(list(received_share_ratio ORDER BY condition_id)) AS received_share_ratio,
        list(times ORDER BY condition_id) AS strata
    FROM conditions
    WHERE len(times) > 0
    GROUP BY ALL
)
SELECT
    volume_bytes,
    loss_pct,
    rtt_ms,
    buffer_bytes,
    8e3 * buffer_bytes / nullif(bottleneck_bps * rtt_ms, 0) AS buffer_bdp_ratio,
    flows_count,
    cc_list,
    algorithm,
    source AS completion_source,
    runs_count,
    cell_count(strata) AS measured_count,
    left_out_count,
    cell_mean(strata) AS completion_mean_s,
    bounds[1] AS completion_low_s,
    bounds[2] AS completion_high_s,
    list_aggregate(flatten(strata), 'quantile_cont', 0.5) AS completion_p50_s,
    list_aggregate(flatten(strata), 'quantile_cont', 0.9) AS completion_p90_s,
    list_aggregate(flatten(strata), 'quantile_cont', 0.95) AS completion_p95_s,
    list_aggregate(flatten(strata), 'quantile_cont', 0.99) AS completion_p99_s,
    received_share_ratio AS received_share_mean_ratio
FROM cells, LATERAL (SELECT cell_interval(strata) AS bounds)
ORDER BY
    volume_bytes, loss_pct, rtt_ms, buffer_bytes, bottleneck_bps, flows_count, cc_list, algorithm_rank,
    algorithm, source
