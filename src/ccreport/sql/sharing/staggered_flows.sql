-- Flows that join a run one after another: rate, RTT and retransmits of each by its place in the order of their starts,
-- and of all flows together; means over the runs of a condition. The rate of a flow is over its own life; that of all is
-- the sum of their bytes over the time from the first start to the last end.
-- The view staggered_flows_runs holds the runs that the evaluation selects, one row per run and algorithm; cell_… are the
-- macros of macros.sql.
WITH chosen AS (
    SELECT DISTINCT
        run_id, condition_id, session, job, host, parameter_value, rtt_nominal_ms, cc_list, flows_count, buffer_bytes, rate_basis
    FROM staggered_flows_runs
),
placed AS (
    SELECT
        chosen.*,
        flow_id,
        algorithms.algorithm,
        coalesce(flows.start_offset_s, 0) AS start_s,
        CASE rate_basis WHEN 'goodput' THEN goodput_bps ELSE throughput_bps END AS rate_bps,
        CASE rate_basis WHEN 'goodput' THEN receiver_bytes ELSE sender_bytes END AS moved_bytes,
        CASE rate_basis WHEN 'goodput' THEN receiver_s ELSE sender_s END AS moving_s,
        flows.rtt_mean_ms,
        CASE WHEN flows.rtt_mean_ms IS NOT NULL THEN coalesce(moving_s, 1) END AS weight,
        retransmits_count,
        CASE WHEN retransmits_count IS NOT NULL THEN segments_count END AS segments_count,
        row_number() OVER (
            PARTITION BY run_id ORDER BY coalesce(flows.start_offset_s, 0), client_number, stream_number, flow_id
        ) AS flow_number
    FROM chosen
    JOIN flows USING (run_id)
    JOIN algorithms ON algorithms.cc = coalesce(flows.cc, 'unknown')
),
observed AS (
    SELECT * EXCLUDE (flow_number, algorithm), flow_number::VARCHAR AS flow, flow_number, algorithm AS flow_algorithm
    FROM placed
    UNION ALL BY NAME
    SELECT
        run_id, condition_id, session, job, host, parameter_value, rtt_nominal_ms, cc_list, flows_count, buffer_bytes,
        rate_basis,
        'all' AS flow,
        2000000000 AS flow_number,
        'all' AS flow_algorithm,
        min(start_s) AS start_s,
        CASE WHEN count(moved_bytes) = count(*) THEN 8 * sum(moved_bytes) / nullif(max(start_s + moving_s) - min(start_s), 0)
            END AS rate_bps,
        sum(rtt_mean_ms * weight ORDER BY flow_number) / nullif(sum(weight ORDER BY flow_number), 0) AS rtt_mean_ms,
        CASE WHEN count(retransmits_count) = count(*) THEN sum(retransmits_count) END AS retransmits_count,
        CASE WHEN count(segments_count) = count(*) THEN sum(segments_count ORDER BY flow_number) END AS segments_count
    FROM placed
    GROUP BY ALL
),
cells AS (
    SELECT
        session, job, host, parameter_value, rtt_nominal_ms, flow, flow_number, flow_algorithm, condition_id,
        common_value(cc_list) AS cc_list,
        common_value(flows_count) AS flows_count,
        common_value(buffer_bytes) AS buffer_bytes,
        any_value(rate_basis) AS rate_basis,
        avg(start_s ORDER BY run_id) AS start_mean_s,
        [list(rate_bps ORDER BY run_id) FILTER (rate_bps IS NOT NULL)] AS rates,
        [list(rtt_mean_ms ORDER BY run_id) FILTER (rtt_mean_ms IS NOT NULL)] AS rtts,
        [list(retransmits_count::DOUBLE ORDER BY run_id) FILTER (retransmits_count IS NOT NULL)] AS retransmits,
        sum(retransmits_count) / nullif(sum(segments_count ORDER BY run_id), 0) AS retransmit_ratio,
        count(*) AS runs_count
    FROM observed
    GROUP BY session, job, host, parameter_value, rtt_nominal_ms, flow, flow_number, flow_algorithm, condition_id
)
SELECT
    session,
    job,
    host,
    parameter_value,
    rtt_nominal_ms,
    flow,
    flow_algorithm,
    rate_basis,
    buffer_bytes,
    start_mean_s,
    runs_count,
    cell_mean(rates) AS flow_rate_mean_bps,
    cell_interval(rates)[1] AS flow_rate_low_bps,
    cell_interval(rates)[2] AS flow_rate_high_bps,
    cell_mean(rtts) AS flow_rtt_mean_ms,
    cell_interval(rtts)[1] AS flow_rtt_low_ms,
    cell_interval(rtts)[2] AS flow_rtt_high_ms,
    cell_mean(retransmits) AS retransmits_mean_count,
    cell_interval(retransmits)[1] AS retransmits_low_count,
    cell_interval(retransmits)[2] AS retransmits_high_count,
    retransmit_ratio
FROM cells
ORDER BY flows_count, cc_list, session, job, host, rtt_nominal_ms, parameter_value, flow_number, flow_algorithm
