-- Retransmits by round-trip time and the number of flows, for each algorithm, where the queue stays the same.
-- The view path_retransmits_runs holds the runs that the evaluation selects, one row per run and algorithm;
-- retransmit_cells is a macro of macros.sql.
SELECT
    bottleneck_bps,
    buffer_bytes,
    limit_packets_count,
    loss_pct,
    rtt_ms,
    buffer_bdp_ratio,
    flows_count,
    sharing,
    algorithm,
    runs_count,
    retransmits_mean_count,
    retransmit_ratio,
    retransmit_mean_ratio,
    retransmit_low_ratio,
    retransmit_high_ratio
FROM retransmit_cells('path_retransmits_runs')
ORDER BY
    bottleneck_bps, buffer_bytes, limit_packets_count, loss_pct, rtt_ms DESC, flows_count, sharing, algorithm_rank,
    algorithm
