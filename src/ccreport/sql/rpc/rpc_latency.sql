-- RPC latency by algorithm, sizes and load. First each repetition: its connections' mean weighted by their transactions
-- (or values), the mean of their percentiles, the sum of their rates. Then the means over repetitions.
-- The view rpc_latency_runs holds the tests that the evaluation selects; cell_… are the macros of macros.sql.
WITH repetitions AS (
    SELECT
        rpc_test, request_bytes, response_bytes, burst_count, host, rtt_nominal_ms, bottleneck_bps, buffer_bytes, loss_pct,
        loss_pattern, queue_discipline, has_queue_ecn, background_udp_bps, stages_json, parameter_name, parameter_value,
        flows_count, load_count, algorithm, algorithm_rank, repetition,
        count(*) AS connections_count,
        min(latency_min_ms) AS latency_min_ms,
        max(latency_max_ms) AS latency_max_ms,
        list_avg(list(latency_p50_ms ORDER BY raw_file_id, test_number)) AS latency_p50_ms,
        list_avg(list(latency_p90_ms ORDER BY raw_file_id, test_number)) AS latency_p90_ms,
        list_avg(list(latency_p99_ms ORDER BY raw_file_id, test_number)) AS latency_p99_ms,
        list_avg(list(latency_p999_ms ORDER BY raw_file_id, test_number)) AS latency_p999_ms,
        list_sum(list(latency_mean_ms * weight ORDER BY raw_file_id, test_number))
            / nullif(list_sum(list(weight ORDER BY raw_file_id, test_number) FILTER (latency_mean_ms IS NOT NULL)), 0)
            AS latency_mean_ms,
        CASE WHEN count(transaction_rate_tps) = count(*)
            THEN list_sum(list(transaction_rate_tps ORDER BY raw_file_id, test_number)) END AS transaction_rate_tps,
        sum(retransmits_count) AS retransmits_count,
        common_source(load_basis) AS load_basis,
        common_source(latency_source) AS latency_basis
    FROM rpc_latency_runs, LATERAL (
        SELECT coalesce(transaction_rate_tps, latency_values_count, 1)::DOUBLE AS weight
    )
    GROUP BY ALL
),
cells AS (
    SELECT
        rpc_test, request_bytes, response_bytes, burst_count, host, rtt_nominal_ms, bottleneck_bps, buffer_bytes, loss_pct,
        loss_pattern, queue_discipline, has_queue_ecn, background_udp_bps, stages_json, parameter_name, parameter_value,
        flows_count, load_count, algorithm, algorithm_rank,
        count(*) AS repetitions_count,
        sum(connections_count)::BIGINT AS connections_count,
        min(latency_min_ms) AS latency_min_ms,
        max(latency_max_ms) AS latency_max_ms,
        sum(retransmits_count)::BIGINT AS retransmits_count,
        common_source(load_basis) AS load_basis,
        common_source(latency_basis) AS latency_basis,
        list(latency_mean_ms ORDER BY repetition) FILTER (latency_mean_ms IS NOT NULL) AS means,
        list(latency_p50_ms ORDER BY repetition) FILTER (latency_p50_ms IS NOT NULL) AS p50s,
        list(latency_p90_ms ORDER BY repetition) FILTER (latency_p90_ms IS NOT NULL) AS p90s,
        list(latency_p99_ms ORDER BY repetition) FILTER (latency_p99_ms IS NOT NULL) AS p99s,
        list(latency_p999_ms ORDER BY repetition) FILTER (latency_p999_ms IS NOT NULL) AS p999s,
        list(transaction_rate_tps ORDER BY repetition) FILTER (transaction_rate_tps IS NOT NULL) AS rates
    FROM repetitions
    GROUP BY ALL
)
SELECT
    rpc_test,
    request_bytes,
    response_bytes,
    burst_count,
    host,
    rtt_nominal_ms,
    bottleneck_bps,
    buffer_bytes,
    loss_pct,
    loss_pattern,
    queue_discipline,
    has_queue_ecn,
    background_udp_bps,
    stages_json,
    parameter_name,
    parameter_value,
    flows_count,
    load_count,
    algorithm,
    load_basis,
    repetitions_count,
    connections_count AS rpc_connections_count,
    latency_basis,
    latency_min_ms AS rpc_latency_min_ms,
    list_avg(means) AS rpc_latency_mean_ms,
    bounds[1] AS rpc_latency_low_ms,
    bounds[2] AS rpc_latency_high_ms,
    list_avg(p50s) AS latency_p50_mean_ms,
    list_avg(p90s) AS latency_p90_mean_ms,
    list_avg(p99s) AS latency_p99_mean_ms,
    p99_bounds[1] AS latency_p99_low_ms,
    p99_bounds[2] AS latency_p99_high_ms,
    list_avg(p999s) AS latency_p999_mean_ms,
    latency_max_ms AS rpc_latency_max_ms,
    list_avg(rates) AS transaction_rate_mean_tps,
    rate_bounds[1] AS transaction_rate_low_tps,
    rate_bounds[2] AS transaction_rate_high_tps,
    retransmits_count AS retransmits_rpc_count
FROM cells, LATERAL (
    SELECT cell_interval([means]) AS bounds, cell_interval([p99s]) AS p99_bounds, cell_interval([rates]) AS rate_bounds
)
ORDER BY
    rpc_test, request_bytes, response_bytes, burst_count, host, rtt_nominal_ms, bottleneck_bps, buffer_bytes, loss_pct,
    loss_pattern, queue_discipline, has_queue_ecn, background_udp_bps, stages_json, parameter_name,
    natural_key(parameter_value, parameter_name), parameter_value, flows_count, load_count, algorithm_rank, algorithm
