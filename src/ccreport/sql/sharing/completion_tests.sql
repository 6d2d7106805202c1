-- Pairs of algorithms whose flows had the same volume to deliver over the same path, over all buffer sizes: what the log-rank test
-- by run is given. `first_runs` and `second_runs` have a struct for each run, whose stratum is the buffer size, `first_flows` and
-- `second_flows` one for each flow; algorithms that sent at once are compared within their runs.
WITH cells AS (
    SELECT
        runs.volume_bytes, runs.completion_bytes, loss_pct, loss_pattern, rtt_ms, flows_count, sharing, beside, bottleneck_bps,
        queue_discipline, has_queue_ecn, pacing_bps, background_udp_bps, stages_json, parameter_name, parameter_value,
        algorithm, algorithm_rank,
        count(*) AS runs_count,
        list(
            {
                'stratum': coalesce(buffer_bytes, -1), 'run_id': runs.run_id, 'time_s': times.completion_s,
                'is_complete': times.is_complete
            }
            ORDER BY runs.run_id
        ) AS times,
        flatten(list(times.flows ORDER BY runs.run_id)) AS flows
    FROM completion_tests_runs AS runs
    JOIN run_completions AS times USING (run_id, cc)
    GROUP BY ALL
)
SELECT
    a.volume_bytes, a.completion_bytes, a.loss_pct, a.loss_pattern, a.rtt_ms, a.bottleneck_bps, a.queue_discipline,
    a.has_queue_ecn, a.pacing_bps, a.background_udp_bps, a.stages_json, a.parameter_name, a.parameter_value, a.flows_count,
    a.sharing, a.beside, a.algorithm AS first_algorithm, b.algorithm AS second_algorithm,
    least(a.runs_count, b.runs_count) AS runs_count,
    a.times AS first_runs, b.times AS second_runs, a.flows AS first_flows, b.flows AS second_flows
FROM cells AS a
JOIN cells AS b
    ON a.volume_bytes IS NOT DISTINCT FROM b.volume_bytes
    AND a.completion_bytes = b.completion_bytes
    AND a.flows_count = b.flows_count
    AND a.sharing = b.sharing
    AND a.loss_pct IS NOT DISTINCT FROM b.loss_pct
    AND a.rtt_ms IS NOT DISTINCT FROM b.rtt_ms
    AND a.beside IS NOT DISTINCT FROM b.beside
    AND a.bottleneck_bps IS NOT DISTINCT FROM b.bottleneck_bps
    AND a.loss_pattern IS NOT DISTINCT FROM b.loss_pattern
    AND a.queue_discipline IS NOT DISTINCT FROM b.queue_discipline
    AND a.has_queue_ecn IS NOT DISTINCT FROM b.has_queue_ecn
    AND a.pacing_bps IS NOT DISTINCT FROM b.pacing_bps
    AND a.background_udp_bps IS NOT DISTINCT FROM b.background_udp_bps
    AND a.stages_json IS NOT DISTINCT FROM b.stages_json
    AND a.parameter_name IS NOT DISTINCT FROM b.parameter_name
    AND a.parameter_value IS NOT DISTINCT FROM b.parameter_value
    AND (a.algorithm_rank, a.algorithm) < (b.algorithm_rank, b.algorithm)
ORDER BY
    a.volume_bytes, a.completion_bytes, a.loss_pct, a.loss_pattern, a.rtt_ms, a.flows_count, a.sharing, a.beside,
    a.bottleneck_bps, a.queue_discipline, a.has_queue_ecn, a.pacing_bps, a.background_udp_bps, a.stages_json,
    a.parameter_name, natural_key(a.parameter_value, a.parameter_name), a.parameter_value,
    a.algorithm_rank, b.algorithm_rank, a.algorithm, b.algorithm
