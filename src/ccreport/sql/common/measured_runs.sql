-- One row for each algorithm of each run: the run's facts, with rates and retransmits of that algorithm's flows alone.
-- Rows of result files (runs that the harness had summarised) are beside the runs computed from raw files.
WITH placed_flows AS (
    SELECT
        *,
        coalesce(start_declared_s, min(start_offset_s) OVER (PARTITION BY run_id, client_number), 0) AS client_start_s,
        CASE WHEN start_declared_s IS NULL THEN start_resolution_s END AS resolution_s
    FROM flows
),
algorithm_flows AS (
    SELECT
        run_id,
        coalesce(cc, 'unknown') AS cc,
        count(*) AS cc_flows_count,
        sum_rates(throughput_bps, sender_s, client_start_s, resolution_s, flow_id) AS throughput_bps,
        sum_rates(goodput_bps, receiver_s, client_start_s, resolution_s, flow_id) AS goodput_bps,
        sum(retransmits_count) FILTER (retransmit_ratio IS NOT NULL) AS retransmits_count,
        sum(segments_count ORDER BY flow_id) FILTER (retransmit_ratio IS NOT NULL) AS segments_count,
        CASE
            WHEN count(DISTINCT retransmit_source) FILTER (retransmit_ratio IS NOT NULL) > 1 THEN 'mixed'
            ELSE min(retransmit_source) FILTER (retransmit_ratio IS NOT NULL)
        END AS retransmit_source
    FROM placed_flows
    GROUP BY ALL
),
raw_runs AS (
    SELECT
        runs.* REPLACE (
            algorithm_flows.throughput_bps AS throughput_bps,
            algorithm_flows.goodput_bps AS goodput_bps,
            algorithm_flows.retransmits_count::BIGINT AS retransmits_count,
            algorithm_flows.segments_count AS segments_count,
            algorithm_flows.retransmits_count / nullif(algorithm_flows.segments_count, 0) AS retransmit_ratio,
            algorithm_flows.retransmit_source AS retransmit_source
        ),
        algorithm_flows.cc,
        algorithm_flows.cc_flows_count,
        NULL::VARCHAR AS result_path
    FROM runs
    JOIN algorithm_flows USING (run_id)
),
result_runs AS (
    SELECT
        raw_file_id || '-' || row_number AS run_id,
        experiment_id,
        concat_ws('/', raw_file_id, host, mode, flows_count) AS condition_id,
        host,
        mode,
        flows_count,
        -- A median includes the queue, so the smallest of a host's rows is nearest to the path's own RTT.
        min(rtt_median_ms) OVER (PARTITION BY host) AS rtt_ms,
        TRUE AS is_counted,
        throughput_bps,
        retransmit_ratio,
        CASE WHEN retransmit_ratio IS NOT NULL THEN 'tool' END AS retransmit_source,
        cc,
        path AS result_path
    FROM harness_results
    -- ASSUME: a result row repeats the raw runs of the same host, mode and flows where the archive holds those too.
    WHERE NOT EXISTS (
        FROM runs
        WHERE runs.is_counted
            AND runs.host = harness_results.host
            AND runs.mode = harness_results.mode
            AND runs.flows_count = harness_results.flows_count
    )
)
FROM raw_runs
UNION ALL BY NAME
FROM result_runs
