-- Pairs of algorithms whose flows had the same volume to deliver over the same path, over all buffer sizes: what the log-rank test
-- by run is given. `first_flows` and `second_flows` have a struct for each flow, whose stratum is the buffer size; algorithms that
-- sent at once are compared within their runs.
WITH cells AS (
    SELECT
        runs.volume_bytes, runs.completion_bytes, loss_pct, rtt_ms, flows_count, sharing, beside, bottleneck_bps, algorithm,
        algorithm_rank,
        count(DISTINCT runs.run_id) AS runs_count,
        list(
            {
                'stratum': coalesce(buffer_bytes, -1), 'run_id': runs.run_id, 'time_s': acknowledged_s,
                'is_complete': is_complete
            }
            ORDER BY buffer_bytes, runs.run_id, flow_id
        ) AS times
    FROM completion_tests_runs AS runs
    JOIN flow_completions AS times ON times.run_id = runs.run_id AND coalesce(times.cc, 'unknown') = runs.cc
    WHERE acknowledged_s IS NOT NULL
    GROUP BY ALL
)
SELECT
    a.volume_bytes, a.completion_bytes, a.loss_pct, a.rtt_ms, a.bottleneck_bps, a.flows_count, a.sharing,
    a.beside, a.algorithm AS first_algorithm, b.algorithm AS second_algorithm,
    least(a.runs_count, b.runs_count) AS runs_count,
    a.times AS first_flows, b.times AS second_flows
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
    AND (a.algorithm_rank, a.algorithm) < (b.algorithm_rank, b.algorithm)
ORDER BY
    a.volume_bytes, a.completion_bytes, a.loss_pct, a.rtt_ms, a.flows_count, a.sharing, a.beside, a.bottleneck_bps,
    a.algorithm_rank, b.algorithm_rank, a.algorithm, b.algorithm
