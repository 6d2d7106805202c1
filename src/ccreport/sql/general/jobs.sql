-- Jobs: for each session, job and destination (and each algorithm in it) the rate over all runs, retransmits, CPU, MSS
-- and pacing, as the harness's own summaries list them.
-- The view jobs_runs holds the runs that the evaluation selects, one row per run and algorithm.
SELECT
    session,
    job,
    host,
    sharing,
    flows_count,
    algorithm,
    rate_basis,
    count(*) AS runs_count,
    avg(rate_bps ORDER BY run_id) AS rate_mean_bps,
    min(rate_bps) AS rate_min_bps,
    max(rate_bps) AS rate_max_bps,
    list_aggregate(list(rate_bps ORDER BY run_id), 'stddev_samp') AS rate_sd_bps,
    sum(retransmits_count)::BIGINT AS retransmits_count,
    sum(retransmits_count) / nullif(sum(segments_count ORDER BY run_id), 0) AS retransmit_ratio,
    avg(cpu_sender_mean_pct ORDER BY run_id) AS cpu_sender_mean_pct,
    avg(cpu_receiver_mean_pct ORDER BY run_id) AS cpu_receiver_mean_pct,
    avg(cpu_host_total_pct ORDER BY run_id) AS cpu_host_total_pct,
    avg(cpu_remote_total_pct ORDER BY run_id) AS cpu_remote_total_pct,
    common_value(mss_bytes) AS mss_bytes,
    common_value(pacing_bps) AS pacing_bps,
    -- Of UDP.
    avg(lost_packets_ratio ORDER BY run_id) AS lost_packets_ratio,
    avg(jitter_mean_ms ORDER BY run_id) AS jitter_mean_ms
FROM jobs_runs
GROUP BY session, job, host, sharing, flows_count, algorithm, algorithm_rank, rate_basis
ORDER BY session, job, host, flows_count, algorithm_rank, algorithm
