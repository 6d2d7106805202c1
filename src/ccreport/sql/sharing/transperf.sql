-- The scores of transperf for each run, each 100 at best: throughput is goodput over the bottleneck's rate, RTT the
-- smallest over the median, non-loss one less the retransmit ratio, lifetime fairness Jain's index of the flows' rates
-- over their whole lives. Convergence is that after the last join: its time, and as convergence fairness the mean of Jain's
-- index per second from then on. Bytes of all flows over the time from the first start to the last end.
-- The view transperf_runs holds the runs that the evaluation selects, one row per run and algorithm; fairness_seconds is
-- a macro of fairness.sql.
WITH chosen AS (SELECT DISTINCT run_id FROM transperf_runs),
spans AS (
    SELECT
        run_id,
        -- Without one receiver's report the bytes of the others are not rate of the run.
        CASE WHEN count(receiver_bytes) = count(*)
            THEN 8 * sum(receiver_bytes) / nullif(max(coalesce(start_offset_s, 0) + receiver_s), 0)
        END AS goodput_bps,
        min(rtt_min_ms) AS rtt_min_ms
    FROM flows
    SEMI JOIN chosen USING (run_id)
    GROUP BY run_id
),
queues AS (
    SELECT run_id, median(rtt_ms) AS rtt_median_ms
    FROM samples
    SEMI JOIN flows USING (run_id, flow_id)
    SEMI JOIN chosen USING (run_id)
    GROUP BY run_id
),
last_joins AS (
    SELECT run_id, max(event_number) AS event_number
    FROM fairness_events('transperf_runs')
    WHERE event = 'join'
    GROUP BY run_id
),
settled AS (
    SELECT
        run_id,
        list_avg(list(jain_ratio ORDER BY second) FILTER (is_settled)) AS jain_settled_ratio,
        count(*) FILTER (is_settled) AS settled_count,
        min(second) FILTER (is_settled) - min(at_s) AS convergence_s
    FROM fairness_seconds('transperf_runs')
    JOIN last_joins USING (run_id, event_number)
    GROUP BY run_id
)
SELECT
    runs.session,
    runs.job,
    runs.host,
    runs.iteration,
    runs.cc_list,
    runs.flows_count,
    100 * spans.goodput_bps / coalesce(runs.bottleneck_bps, runs.nic_bps) AS throughput_score_pct,
    100 * spans.rtt_min_ms / nullif(queues.rtt_median_ms, 0) AS rtt_score_pct,
    100 * (1 - runs.retransmit_ratio) AS non_loss_score_pct,
    100 * runs.jain_ratio AS lifetime_fairness_score_pct,
    100 * settled.jain_settled_ratio AS convergence_fairness_score_pct,
    coalesce(settled.settled_count, 0) AS settled_count,
    settled.convergence_s,
    run_id
FROM chosen
JOIN runs USING (run_id)
JOIN spans USING (run_id)
LEFT JOIN queues USING (run_id)
LEFT JOIN settled USING (run_id)
ORDER BY session, job, host, iteration, run_id
