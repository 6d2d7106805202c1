-- What RPCs do to the path by algorithm and load, all sizes of a repetition together: retransmit ratio of the sides that
-- send more, and round-trip time of their connections. Means are over repetitions.
-- The view rpc_load_runs holds the tests that the evaluation selects; cell_… are the macros of macros.sql.
WITH repetitions AS (
    SELECT
        host, rtt_nominal_ms, bottleneck_bps, buffer_bytes, loss_pct, loss_pattern, queue_discipline, has_queue_ecn,
        background_udp_bps, stages_json, parameter_name, parameter_value, flows_count, load_count, algorithm, algorithm_rank,
        repetition,
        count(*) AS connections_count,
        common_source(load_basis) AS load_basis,
        sum(retransmits_count) FILTER (segments_count > 0) AS retransmits_count,
        sum(segments_count ORDER BY raw_file_id, test_number)
            FILTER (segments_count > 0 AND retransmits_count IS NOT NULL) AS segments_count,
        list_avg(list(flow_rtt_ms ORDER BY raw_file_id, test_number)) AS rtt_ms
    FROM rpc_load_runs
    GROUP BY ALL
),
cells AS (
    SELECT
        host, rtt_nominal_ms, bottleneck_bps, buffer_bytes, loss_pct, loss_pattern, queue_discipline, has_queue_ecn,
        background_udp_bps, stages_json, parameter_name, parameter_value, flows_count, load_count, algorithm, algorithm_rank,
        count(*) AS repetitions_count,
        sum(connections_count)::BIGINT AS connections_count,
        common_source(load_basis) AS load_basis,
        sum(retransmits_count)::BIGINT AS retransmits_count,
        sum(segments_count ORDER BY repetition) AS segments_count,
        list(retransmits_count / segments_count ORDER BY repetition) FILTER (segments_count > 0) AS ratios,
        list(rtt_ms ORDER BY repetition) FILTER (rtt_ms IS NOT NULL) AS rtts
    FROM repetitions
    GROUP BY ALL
)
SELECT
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
    retransmits_count AS retransmits_rpc_count,
    segments_count,
    retransmits_count / segments_count AS retransmit_rpc_ratio,
    list_avg(ratios) AS retransmit_rpc_mean_ratio,
    ratio_bounds[1] AS retransmit_rpc_low_ratio,
    ratio_bounds[2] AS retransmit_rpc_high_ratio,
    list_avg(rtts) AS rpc_rtt_mean_ms,
    rtt_bounds[1] AS rpc_rtt_low_ms,
    rtt_bounds[2] AS rpc_rtt_high_ms
FROM cells, LATERAL (SELECT cell_interval([ratios]) AS ratio_bounds, cell_interval([rtts]) AS rtt_bounds)
ORDER BY
    host, rtt_nominal_ms, bottleneck_bps, buffer_bytes, loss_pct, loss_pattern, queue_discipline, has_queue_ecn,
    background_udp_bps, stages_json, parameter_name, natural_key(parameter_value, parameter_name), parameter_value,
    flows_count, load_count, algorithm_rank, algorithm
