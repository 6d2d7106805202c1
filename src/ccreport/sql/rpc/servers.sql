-- Results by sender: for each client of a condition, algorithm and size of its transactions, and for all clients of the
-- condition together, what its tools told of window, RTT, rate, latency and retransmits. What none of them told is null.
-- Rates and retransmits of bulk flows, whichever the evaluation selects; latencies of all RPC tests (netperf, flent).
-- The view servers_runs holds the runs that the evaluation selects, one row per run and algorithm; cell_… are the macros
-- of macros.sql.
WITH chosen AS (
    SELECT DISTINCT
        run_id, condition_id, experiment_id, session, job, host, parameter_value, rtt_nominal_ms, buffer_bytes,
        flows_count, rate_basis
    FROM servers_runs
),
bulk AS (
    SELECT
        chosen.*,
        flow_id,
        coalesce(client_number::VARCHAR, '1') AS client,
        algorithms.algorithm AS client_algorithm,
        coalesce(min(start_offset_s) OVER (PARTITION BY run_id, client_number), 0) AS start_s,
        CASE rate_basis WHEN 'goodput' THEN goodput_bps ELSE throughput_bps END AS rate_bps,
        CASE rate_basis WHEN 'goodput' THEN receiver_bytes ELSE sender_bytes END AS moved_bytes,
        CASE rate_basis WHEN 'goodput' THEN receiver_s ELSE sender_s END AS moving_s,
        CASE WHEN cwnd_mean_segments_count IS NOT NULL THEN samples_count END AS weight,
        cwnd_mean_segments_count,
        flows.rtt_mean_ms,
        retransmits_count,
        CASE WHEN retransmits_count IS NOT NULL THEN segments_count END AS segments_count
    FROM chosen
    JOIN flows USING (run_id)
    JOIN algorithms ON algorithms.cc = coalesce(flows.cc, 'unknown')
),
both_levels AS (
    FROM bulk
    UNION ALL BY NAME
    SELECT * REPLACE ('all' AS client, 'all' AS client_algorithm) FROM bulk
),
bulk_of_runs AS (
    SELECT
        run_id, condition_id, experiment_id, session, job, host, parameter_value, rtt_nominal_ms, buffer_bytes,
        flows_count, rate_basis, client, client_algorithm,
        CASE WHEN count(moved_bytes) = count(*)
            THEN 8 * sum(moved_bytes) / nullif(max(start_s + moving_s) - min(start_s), 0) END AS rate_bps,
        min(rate_bps) AS rate_min_bps,
        max(rate_bps) AS rate_max_bps,
        sum(cwnd_mean_segments_count * weight ORDER BY flow_id) / nullif(sum(weight ORDER BY flow_id), 0)
            AS cwnd_mean_segments_count,
        avg(rtt_mean_ms ORDER BY flow_id) AS rtt_mean_ms,
        sum(retransmits_count) AS retransmits_count,
        sum(segments_count ORDER BY flow_id) AS segments_count
    FROM both_levels
    GROUP BY ALL
),
tests AS (
    SELECT
        run_id, raw_file_id, path, test_number, session, job, host, parameter_value, rtt_nominal_ms,
        coalesce(client_number::VARCHAR, '1') AS client,
        algorithm AS client_algorithm,
        request_bytes, response_bytes, buffer_bytes,
        8 * transaction_rate_tps * (request_bytes + response_bytes) AS rate_bps,
        flow_rtt_ms AS rtt_mean_ms,
        latency_min_ms, latency_mean_ms, latency_max_ms, latency_p50_ms, latency_p90_ms, latency_p99_ms, latency_p999_ms,
        retransmits_count, segments_count
    FROM labelled_rpc
    JOIN (SELECT raw_file_id, test_number, client_number FROM rpc_tests) USING (raw_file_id, test_number)
),
rpc_cells AS (
    SELECT
        session, job, host, parameter_value, rtt_nominal_ms, client, client_algorithm, request_bytes, response_bytes,
        common_value(buffer_bytes) AS buffer_bytes,
        count(*) AS tests_count,
        avg(rtt_mean_ms ORDER BY raw_file_id, test_number) AS rtt_mean_ms,
        [list(rate_bps ORDER BY raw_file_id, test_number) FILTER (rate_bps IS NOT NULL)] AS rates,
        min(rate_bps) AS rate_min_bps,
        max(rate_bps) AS rate_max_bps,
        min(latency_min_ms) AS latency_min_ms,
        avg(latency_mean_ms ORDER BY raw_file_id, test_number) AS latency_mean_ms,
        max(latency_max_ms) AS latency_max_ms,
        avg(latency_p50_ms ORDER BY raw_file_id, test_number) AS latency_p50_ms,
        avg(latency_p90_ms ORDER BY raw_file_id, test_number) AS latency_p90_ms,
        avg(latency_p99_ms ORDER BY raw_file_id, test_number) AS latency_p99_ms,
        avg(latency_p999_ms ORDER BY raw_file_id, test_number) AS latency_p999_ms,
        sum(retransmits_count) / count(retransmits_count) AS retransmits_mean_count,
        sum(retransmits_count) FILTER (segments_count > 0)
            / nullif(sum(segments_count ORDER BY raw_file_id, test_number), 0) AS retransmit_ratio
    FROM tests
    GROUP BY ALL
),
pings AS (
    SELECT experiment_id, host, avg(rtt_ping_ms ORDER BY rtt_ping_ms) AS rtt_ping_ms
    FROM hosts
    WHERE rtt_ping_ms > 0
    GROUP BY ALL
),
bulk_cells AS (
    SELECT
        session, job, host, parameter_value, rtt_nominal_ms, client, client_algorithm,
        common_value(buffer_bytes) AS buffer_bytes,
        common_value(flows_count) AS flows_count,
        any_value(rate_basis) AS rate_basis,
        count(*) AS tests_count,
        avg(cwnd_mean_segments_count ORDER BY run_id) AS cwnd_mean_segments_count,
        avg(rtt_mean_ms ORDER BY run_id) AS rtt_mean_ms,
        common_value(rtt_ping_ms) AS rtt_ping_ms,
        [list(rate_bps ORDER BY run_id) FILTER (rate_bps IS NOT NULL)] AS rates,
        min(rate_min_bps) AS rate_min_bps,
        max(rate_max_bps) AS rate_max_bps,
        sum(retransmits_count) / count(retransmits_count) AS retransmits_mean_count,
        sum(retransmits_count) / nullif(sum(segments_count ORDER BY run_id), 0) AS retransmit_ratio
    FROM bulk_of_runs
    LEFT JOIN pings USING (experiment_id, host)
    GROUP BY session, job, host, parameter_value, rtt_nominal_ms, condition_id, client, client_algorithm
),
together AS (FROM bulk_cells UNION ALL BY NAME FROM rpc_cells)
SELECT
    session,
    job,
    host,
    parameter_value,
    rtt_nominal_ms,
    client,
    client_algorithm,
    request_bytes,
    response_bytes,
    rate_basis,
    buffer_bytes,
    flows_count,
    tests_count AS pooled_count,
    cwnd_mean_segments_count AS client_cwnd_mean_segments_count,
    rtt_mean_ms AS client_rtt_mean_ms,
    rtt_ping_ms AS client_rtt_ping_ms,
    cell_mean(rates) AS client_rate_mean_bps,
    cell_interval(rates)[1] AS client_rate_low_bps,
    cell_interval(rates)[2] AS client_rate_high_bps,
    rate_min_bps AS client_rate_min_bps,
    rate_max_bps AS client_rate_max_bps,
    latency_min_ms AS client_latency_min_ms,
    latency_mean_ms AS client_latency_mean_ms,
    latency_max_ms AS client_latency_max_ms,
    latency_p50_ms AS client_latency_p50_ms,
    latency_p90_ms AS client_latency_p90_ms,
    latency_p99_ms AS client_latency_p99_ms,
    latency_p999_ms AS client_latency_p999_ms,
    retransmit_ratio,
    retransmits_mean_count
FROM together
ORDER BY
    session, job, host, rtt_nominal_ms, parameter_value, client = 'all', try_cast(client AS INTEGER), client,
    client_algorithm, request_bytes, response_bytes
