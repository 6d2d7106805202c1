-- When half of the flows of a run were complete: one row per run and algorithm, and one per run, with a null cc, for all its flows.
-- It is Kaplan and Meier's median, for which a flow that stopped before the volume counts as long as it was seen. Where the share
-- that is not yet complete stays above one half, the run is censored at the last time known of its flows.
WITH times AS (
    SELECT run_id, unnest([coalesce(cc, 'unknown'), NULL]) AS cc, flow_id, acknowledged_s, is_complete
    FROM flow_completions
    WHERE acknowledged_s IS NOT NULL
),
ranked AS (
    SELECT
        *,
        -- Of flows with the same time, those that complete come before those that stop.
        count(*) OVER (PARTITION BY run_id, cc ORDER BY acknowledged_s DESC, is_complete, flow_id) AS left_count
    FROM times
),
curves AS (
    SELECT
        *,
        product(CASE WHEN is_complete THEN 1 - 1 / left_count ELSE 1 END)
            OVER (PARTITION BY run_id, cc ORDER BY left_count DESC) < 0.5 + 1e-9 AS is_half
    FROM ranked
)
SELECT
    run_id, cc,
    coalesce(min(acknowledged_s) FILTER (is_half), max(acknowledged_s)) AS completion_s,
    bool_or(is_half) AS is_complete,
    list({'time_s': acknowledged_s, 'is_complete': is_complete} ORDER BY flow_id) AS flows
FROM curves
GROUP BY run_id, cc
