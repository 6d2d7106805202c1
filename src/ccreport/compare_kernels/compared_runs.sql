-- What a comparison of kernels takes from the runs of one archive: a row for each run, its side in campaign.
WITH placed AS (
    SELECT
        run_id, flow_id, cwnd_segments_count AS cwnd, rtt_ms, unacked_count, acked_bytes, busy_ms,
        -- ss prints a threshold only once there is one, when slow start has ended for the first time.
        min(time_utc) FILTER (ssthresh_segments_count IS NOT NULL) OVER (PARTITION BY run_id, flow_id) AS ended_utc,
        time_utc
    FROM samples
    SEMI JOIN flows USING (run_id, flow_id)
    WHERE NOT is_partial AND coalesce(tcp_state, 'ESTAB') = 'ESTAB'
),
sampled AS (
    SELECT
        run_id, quantile_cont(rtt_ms, 0.5) AS rtt_p50_ms, quantile_cont(rtt_ms, 0.99) AS rtt_p99_ms
    FROM placed
    GROUP BY run_id
),
slow_starts AS (
    SELECT run_id, flow_id, max(cwnd) FILTER (time_utc <= ended_utc) AS cwnd_segments_count
    FROM placed
    GROUP BY run_id, flow_id
),
windows AS (
    SELECT run_id, avg(cwnd_segments_count) AS slow_start_cwnd FROM slow_starts GROUP BY run_id
),
flights AS (
    SELECT
        run_id, flow_id, max(unacked_count) AS flight_peak,
        -- Both are counted from the start of the connection; the kernel counts no time without data to send as busy.
        max(acked_bytes) AS acked_bytes, max(busy_ms) / 1000 AS busy_s, epoch(max(time_utc) - min(time_utc)) AS sampled_s
    FROM placed
    GROUP BY run_id, flow_id
),
busy AS (
    SELECT
        run_id, max(flight_peak) AS flight_peak,
        -- Of flows that paused for a tenth of their time and more; that of others is their goodput.
        CASE WHEN bool_and(busy_s < 0.9 * sampled_s) THEN sum(acked_bytes) * 8 / sum(busy_s) END AS goodput_busy
    FROM flights
    GROUP BY run_id
),
by_flow AS (
    SELECT
        run_id,
        -- Flows of the first client are what is compared, all others are beside it.
        sum(goodput_bps) FILTER (client_number = 1) AS first_bps,
        sum(goodput_bps) FILTER (client_number > 1) AS others_bps
    FROM flows
    GROUP BY run_id
)
SELECT
    sessions.campaign, sessions.session_label, runs.run_id, runs.condition_id, runs.job, runs.host, runs.mode, runs.iteration,
    runs.rtt_nominal_ms, runs.parameter_value, runs.limit_packets_count, runs.is_counted,
    CASE WHEN runs.volume_bytes IS NULL THEN runs.goodput_bps END AS goodput,
    CASE WHEN runs.clients_count > 1 AND runs.volume_bytes IS NULL THEN first_bps END AS goodput_first,
    CASE WHEN runs.clients_count > 1 AND runs.volume_bytes IS NULL THEN others_bps END AS goodput_others,
    -- A run half of whose flows were not seen to complete has no time, and so is not a pair.
    CASE WHEN is_complete THEN completion_s END AS completion,
    100 * runs.retransmit_ratio AS retransmits,
    rtt_p50_ms AS rtt_median,
    rtt_p99_ms AS rtt_p99,
    CASE WHEN runs.flows_count > 1 THEN runs.jain_ratio END AS fairness,
    slow_start_cwnd,
    flight_peak,
    goodput_busy
FROM labelled_runs AS runs
JOIN sessions USING (session)
LEFT JOIN sampled USING (run_id)
LEFT JOIN windows USING (run_id)
LEFT JOIN by_flow USING (run_id)
LEFT JOIN busy USING (run_id)
LEFT JOIN (FROM run_completions WHERE cc IS NULL) USING (run_id)
ORDER BY runs.run_id
