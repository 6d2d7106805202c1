-- CPU: by path class, mode, flows and RTT bucket, the mean busy share of sender and receiver from mpstat (mean over
-- cores, and busiest core), and iperf3's own figures for its two processes.
-- The view cpu_runs holds the runs that the evaluation selects, one row per run and algorithm.
WITH once AS (
    SELECT DISTINCT ON (run_id) *
    FROM cpu_runs
    ORDER BY run_id, algorithm_rank
)
SELECT
    path_class,
    mode,
    flows_count,
    rtt_bucket,
    count(*) AS runs_count,
    avg(cpu_sender_mean_pct ORDER BY run_id) AS cpu_sender_mean_pct,
    avg(cpu_sender_busiest_pct ORDER BY run_id) AS cpu_sender_busiest_pct,
    avg(cpu_receiver_mean_pct ORDER BY run_id) AS cpu_receiver_mean_pct,
    avg(cpu_receiver_busiest_pct ORDER BY run_id) AS cpu_receiver_busiest_pct,
    avg(cpu_host_total_pct ORDER BY run_id) AS cpu_host_total_pct,
    avg(cpu_remote_total_pct ORDER BY run_id) AS cpu_remote_total_pct
FROM once
GROUP BY path_class, path_class_rank, mode, flows_count, rtt_bucket, rtt_bucket_rank
ORDER BY path_class_rank, path_class, mode, flows_count, rtt_bucket_rank
