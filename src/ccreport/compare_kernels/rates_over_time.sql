-- The rate of all flows of each run that has one client, interval by interval; a last interval that was cut short is left out.
WITH steps AS (
    SELECT
        run_id, interval_number, sum(interval_bps) AS bps, avg(end_s - start_s) AS step_s
    FROM intervals
    JOIN runs USING (run_id)
    WHERE NOT coalesce(is_omitted, FALSE) AND runs.clients_count = 1
    GROUP BY ALL
),
whole AS (
    SELECT *, median(step_s) OVER (PARTITION BY run_id) AS usual_s
    FROM steps
    QUALIFY step_s > 0.5 * usual_s
)
SELECT run_id, list(bps ORDER BY interval_number) AS rates_bps, min(usual_s) AS step_s
FROM whole
GROUP BY run_id
ORDER BY run_id
