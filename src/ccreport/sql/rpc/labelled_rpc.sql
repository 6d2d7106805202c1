-- RPC tests as evaluations select them: one row per test of transactions, with the facts and labels of its run, the
-- algorithm as tables name it, its load, and which repetition it belongs to.
WITH transactions AS (
    SELECT
        *,
        coalesce(cc, 'unknown') AS known_cc,
        -- omni names no test, and flent's pings are called by their protocol.
        CASE
            WHEN transport = 'ICMP' THEN 'ping'
            WHEN test_name LIKE '%\_CRR' ESCAPE '\' OR test_name LIKE '%\_CC' ESCAPE '\' THEN test_name
            ELSE coalesce(transport, 'unknown') || '_RR'
        END AS rpc_test
    FROM rpc_tests
    WHERE payload_direction = 'transactions' AND (transaction_rate_tps IS NOT NULL OR latency_mean_ms IS NOT NULL)
),
tests AS (
    SELECT
        *,
        count(DISTINCT raw_file_id) OVER (
            PARTITION BY repetition_id, rpc_test, request_bytes, response_bytes, burst_count
        ) AS files_count,
        -- Tests with the same sizes in one netperf file ran one after the other; series of a flent file ran together.
        repetition_id || '/' || CASE rpc_tool WHEN 'netperf' THEN row_number() OVER (
            PARTITION BY raw_file_id, rpc_test, known_cc, request_bytes, response_bytes, burst_count, load_count
            ORDER BY test_number
        ) ELSE 1 END AS repetition
    FROM transactions
),
-- Round-trip times of the connections: ss beside the run, else flent's own samples of its sockets.
sampled AS (
    SELECT run_id, coalesce(cc, 'unknown') AS known_cc, list_avg(list(rtt_p50_ms ORDER BY flow_id)) AS flow_rtt_ms
    FROM flows
    WHERE rtt_p50_ms IS NOT NULL
    GROUP BY ALL
),
flent_sampled AS (
    SELECT raw_file_id, list_avg(list(latency_mean_ms ORDER BY test_number)) AS flow_rtt_ms
    FROM rpc_tests
    WHERE data_series LIKE '%::tcp\_rtt' ESCAPE '\'
    GROUP BY ALL
)
SELECT
    labelled_runs.* EXCLUDE (retransmits_count, segments_count, retransmit_ratio, mss_bytes, start_utc)
        REPLACE (coalesce(labelled_runs.host, server_host) AS host),
    tests.raw_file_id,
    raw_files.path,
    tests.test_number,
    rpc_tool,
    rpc_test,
    test_label,
    tests.known_cc AS cc,
    algorithm,
    algorithm_rank,
    tests.request_bytes,
    tests.response_bytes,
    tests.burst_count,
    coalesce(load_count, files_count) AS load_count,
    coalesce(load_source, 'counted') AS load_basis,
    repetition,
    transaction_rate_tps,
    latency_min_ms,
    latency_mean_ms,
    latency_p50_ms,
    latency_p90_ms,
    latency_p99_ms,
    latency_p999_ms,
    latency_max_ms,
    latency_values_count,
    latency_source,
    coalesce(sampled.flow_rtt_ms, flent_sampled.flow_rtt_ms) AS flow_rtt_ms,
    sent.retransmits_count,
    -- ASSUME: each request or response begins a segment, which holds where they follow one at a time.
    CASE WHEN sent.retransmits_count IS NOT NULL
        THEN round(transaction_rate_tps * elapsed_s) * ceil(sent.size_bytes / nullif(tests.mss_bytes, 0)) END AS segments_count
FROM tests
JOIN labelled_runs USING (run_id)
JOIN raw_files USING (raw_file_id)
JOIN algorithms ON algorithms.cc = tests.known_cc
LEFT JOIN sampled ON sampled.run_id = tests.run_id AND sampled.known_cc = tests.known_cc
LEFT JOIN flent_sampled ON flent_sampled.raw_file_id = tests.raw_file_id,
-- The side that sends more, whose algorithm the test is about.
LATERAL (
    SELECT
        tests.response_bytes > tests.request_bytes AS is_server,
        CASE WHEN is_server THEN tests.response_bytes ELSE tests.request_bytes END AS size_bytes,
        CASE WHEN is_server THEN retransmits_remote_count ELSE retransmits_local_count END AS retransmits_count
) AS sent
