-- Convergence: for each run and each time that flows join it, or that its path changes, how long it took until the rates
-- of all flows stayed within 10 % of the fair share, which is the mean of those active. In whole seconds of the rates
-- that ss saw; what stays is known to the next such event only.
-- The view convergence_runs holds the runs that the evaluation selects, one row per run and algorithm; fairness_seconds
-- is a macro of fairness.sql.
WITH events AS (
    SELECT
        run_id, event_number, event, at_s, joined,
        max(flows_count) AS flows_count,
        count(*) AS seconds_count,
        list_avg(list(jain_ratio ORDER BY second)) AS jain_mean_ratio,
        min(jain_ratio) AS jain_min_ratio,
        arg_max(deviation_ratio, second) AS deviation_last_ratio,
        min(second) FILTER (is_settled) - at_s AS convergence_s,
        count(*) FILTER (is_settled) AS settled_count
    FROM fairness_seconds('convergence_runs')
    GROUP BY run_id, event_number, event, at_s, joined
)
SELECT
    runs.session,
    runs.job,
    runs.host,
    runs.iteration,
    event_number,
    event,
    joined,
    at_s,
    events.flows_count,
    seconds_count,
    jain_mean_ratio,
    jain_min_ratio,
    deviation_last_ratio,
    convergence_s,
    settled_count,
    run_id
FROM events
JOIN runs USING (run_id)
ORDER BY session, job, host, iteration, run_id, event_number
