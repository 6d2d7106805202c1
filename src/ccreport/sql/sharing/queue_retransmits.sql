-- Retransmits by the size of the bottleneck's queue and the number of flows, for each algorithm: what small queues cost.
-- The view queue_retransmits_runs holds the runs that the evaluation selects, one row per run and algorithm;
-- retransmit_cells is a macro of macros.sql.
SELECT
    bottleneck_bps,
    rtt_ms,
    loss_pct,
    buffer_bytes,
    buffer_bdp_ratio,
    limit_packets_count,
    flows_count,
    sharing,
    algorithm,
    runs_count,
    retransmits_mean_count,
    retransmit_ratio,
    retransmit_mean_ratio,
    retransmit_low_ratio,
    retransmit_high_ratio
FROM retransmit_cells('queue_retransmits_runs')
ORDER BY
    bottleneck_bps, rtt_ms, loss_pct, buffer_bytes DESC, limit_packets_count DESC, flows_count, sharing, algorithm_rank,
    algorithm
