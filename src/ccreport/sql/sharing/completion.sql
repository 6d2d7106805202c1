-- Times in which flows had the declared volume acknowledged, by volume, loss, buffer size and algorithm; where several algorithms
-- sent at once, also of the flows of all of them. Flows that never reached the volume are censored, not left out.
-- The view completion_runs holds the runs that the evaluation selects, one row per run and algorithm. `times` has a struct for
-- each flow, of which Kaplan and Meier's estimate is made.
WITH of_algorithms AS (
    SELECT runs.*, times.flow_id, times.acknowledged_s, times.is_complete, times.acknowledged_source, times.resolution_s
    FROM completion_runs AS runs
    JOIN flow_completions AS times ON times.run_id = runs.run_id AND coalesce(times.cc, 'unknown') = runs.cc
),
measured AS (
    FROM of_algorithms
    UNION ALL
    SELECT * REPLACE ('all' AS algorithm, 1000 AS algorithm_rank) FROM of_algorithms WHERE sharing = 'both'
)
SELECT
    volume_bytes,
    completion_bytes,
    loss_pct,
    loss_pattern,
    rtt_ms,
    buffer_bytes,
    8e3 * buffer_bytes / nullif(bottleneck_bps * rtt_ms, 0) AS buffer_bdp_ratio,
    queue_discipline,
    has_queue_ecn,
    pacing_bps,
    background_udp_bps,
    stages_json,
    parameter_name,
    parameter_value,
    flows_count,
    cc_list,
    algorithm,
    string_agg(DISTINCT acknowledged_source, ', ' ORDER BY acknowledged_source) AS acknowledged_source,
    count(DISTINCT run_id) AS runs_count,
    count(acknowledged_s) AS measured_count,
    count(*) FILTER (NOT is_complete) AS censored_count,
    count(*) FILTER (acknowledged_s IS NULL) AS left_out_count,
    max(resolution_s) AS completion_resolution_s,
    list({'time_s': acknowledged_s, 'is_complete': is_complete} ORDER BY run_id, flow_id) FILTER (acknowledged_s IS NOT NULL)
        AS times
FROM measured
GROUP BY
    volume_bytes, completion_bytes, loss_pct, loss_pattern, rtt_ms, buffer_bytes, bottleneck_bps, queue_discipline,
    has_queue_ecn, pacing_bps, background_udp_bps, stages_json, parameter_name, parameter_value, flows_count, cc_list,
    algorithm, algorithm_rank
HAVING count(acknowledged_s) > 0
ORDER BY
    volume_bytes, completion_bytes, loss_pct, loss_pattern, rtt_ms, buffer_bytes, bottleneck_bps, queue_discipline,
    has_queue_ecn, pacing_bps, background_udp_bps, stages_json, parameter_name,
    natural_key(parameter_value, parameter_name), parameter_value, flows_count, cc_list, algorithm_rank, algorithm
