-- Means: by condition and algorithm the mean rate and its coefficient of variation, the retransmit ratio of the group (sum
-- over sum), and means over the runs of RTT, of Jain's index and of the processors' load.
-- The view means_runs holds the runs that the evaluation selects, one row per run and algorithm; conditions that the
-- evaluation does not tell apart are null in it. cell_… are the macros of macros.sql.
WITH of_flows AS (
    SELECT
        run_id, coalesce(cc, 'unknown') AS cc,
        avg(coalesce(rtt_p50_ms, rtt_mean_ms) ORDER BY flow_id) AS smoothed_rtt_ms,
        sum(count(*)) OVER (PARTITION BY run_id) > 1 AS has_several
    FROM flows
    SEMI JOIN means_runs USING (run_id)
    GROUP BY run_id, coalesce(cc, 'unknown')
),
-- Beside another algorithm that has more flows or fewer, how many are its own matters.
unequal AS (
    SELECT run_id FROM means_runs GROUP BY run_id HAVING min(cc_flows_count) < max(cc_flows_count)
),
conditions AS (
    SELECT
        labels, host, sender_host, path_rtt, loss_pct, loss_pattern, nic_bps, bottleneck_bps, buffer_bytes,
        limit_packets_count, queue_discipline, has_queue_ecn, mtu_bytes, pacing_bps, background_udp_bps, volume_bytes,
        duration_s, stages_json, kernel, parameter_name, parameter_value, flows_count, beside, algorithm,
        algorithm_rank, rate_basis, condition_id,
        min(rtt_ms) AS rtt_ms,
        min(labels_rank) AS labels_rank,
        list(rate_bps ORDER BY run_id) AS rates,
        list_sort(list(DISTINCT CASE WHEN unequal.run_id IS NULL THEN 0 ELSE cc_flows_count END)) AS own_flows,
        list({
            'retransmits': retransmits_count,
            'segments': segments_count,
            'rtt_ms': smoothed_rtt_ms,
            'jain': CASE WHEN has_several THEN jain_ratio END,
            'sender_pct': cpu_sender_mean_pct,
            'receiver_pct': cpu_receiver_mean_pct
        } ORDER BY run_id) AS measures
    FROM means_runs
    LEFT JOIN of_flows USING (run_id, cc)
    LEFT JOIN unequal USING (run_id)
    GROUP BY ALL
),
cells AS (
    SELECT
        * EXCLUDE (condition_id, rtt_ms, labels_rank, rates, measures, own_flows),
        min(rtt_ms) AS rtt_ms,
        min(labels_rank) AS labels_rank,
        list(rates ORDER BY condition_id) AS strata,
        flatten(list(measures ORDER BY condition_id)) AS measures,
        list_distinct(flatten(list(own_flows))) AS own_flows
    FROM conditions
    GROUP BY ALL
)
SELECT
    labels,
    host,
    sender_host,
    path_rtt,
    loss_pct,
    loss_pattern,
    nic_bps,
    bottleneck_bps,
    buffer_bytes,
    limit_packets_count,
    queue_discipline,
    has_queue_ecn,
    mtu_bytes,
    pacing_bps,
    background_udp_bps,
    volume_bytes,
    duration_s,
    stages_json,
    kernel,
    parameter_name,
    parameter_value,
    flows_count,
    beside,
    algorithm,
    rate_basis,
    CASE WHEN len(own_flows) = 1 THEN nullif(own_flows[1], 0) END AS algorithm_flows_count,
    cell_count(strata) AS runs_count,
    cell_mean(strata) AS rate_mean_bps,
    bounds[1] AS rate_low_bps,
    bounds[2] AS rate_high_bps,
    cell_cv(strata) AS rate_cv,
    cv_bounds[1] AS rate_low_cv,
    cv_bounds[2] AS rate_high_cv,
    cell_within_cv(strata) AS rate_within_cv,
    list_sum(list_transform(measures, lambda m: m.retransmits))
        / nullif(list_sum(list_transform(measures, lambda m: m.segments)), 0) AS retransmit_ratio,
    list_avg(list_transform(measures, lambda m: m.rtt_ms)) AS smoothed_rtt_mean_ms,
    list_avg(list_transform(measures, lambda m: m.jain)) AS jain_mean_ratio,
    list_avg(list_transform(measures, lambda m: m.sender_pct)) AS cpu_sender_mean_pct,
    list_avg(list_transform(measures, lambda m: m.receiver_pct)) AS cpu_receiver_mean_pct
FROM cells, LATERAL (SELECT cell_interval(strata) AS bounds, cell_cv_interval(strata) AS cv_bounds)
ORDER BY
    labels_rank, labels, host, sender_host, min(rtt_ms) OVER (PARTITION BY labels, host, sender_host, path_rtt),
    path_rtt, loss_pct, loss_pattern, nic_bps, bottleneck_bps, buffer_bytes, limit_packets_count, queue_discipline,
    has_queue_ecn, mtu_bytes, pacing_bps, background_udp_bps, volume_bytes, duration_s, stages_json, kernel,
    parameter_name, natural_key(parameter_value, parameter_name), parameter_value, flows_count, beside NULLS FIRST,
    algorithm_rank, algorithm
