-- The table of benchmarks/today/rates.py: a row for each job and RTT.
WITH own_retransmits AS (
    SELECT run_id, sum(retransmits_iperf3_count) AS retransmits_count FROM flows GROUP BY run_id
)
SELECT
    job,
    rtt_ms,
    count(*) AS runs,
    avg(throughput_bps) AS throughput_mean_bps,
    sum(own_retransmits.retransmits_count)::BIGINT AS retransmits,
    stddev_samp(throughput_bps) / avg(throughput_bps) AS throughput_cv,
    sum(runs.retransmits_count) / sum(segments_count) AS retransmit_ratio
FROM runs JOIN own_retransmits USING (run_id)
WHERE is_counted
GROUP BY job, rtt_ms
ORDER BY job, rtt_ms
