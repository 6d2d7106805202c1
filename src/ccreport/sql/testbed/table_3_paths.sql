-- Table III: mean and coefficient of variation of the rate by sender speed, path class, sharing and flows (rows),
-- RTT bucket and algorithm (columns). One row per cell.
-- The view table_3_paths_runs holds the runs that the evaluation selects, one row per run and algorithm; cell_… are
-- the macros of macros.sql.
WITH conditions AS (
    SELECT
        rate_basis, sender_speed, sender_speed_rank, path_class, path_class_rank, sharing, flows_count, rtt_bucket,
        rtt_bucket_rank, algorithm, algorithm_rank, condition_id, list(rate_bps ORDER BY run_id) AS rates
    FROM table_3_paths_runs
    GROUP BY ALL
),
cells AS (
    SELECT
        rate_basis, sender_speed, sender_speed_rank, path_class, path_class_rank, sharing, flows_count, rtt_bucket,
        rtt_bucket_rank, algorithm, algorithm_rank, list(rates ORDER BY condition_id) AS strata
    FROM conditions
    GROUP BY ALL
)
SELECT
    sender_speed,
    path_class,
    sharing,
    flows_count,
    rtt_bucket,
    algorithm,
    rate_basis,
    cell_count(strata) AS runs_count,
    cell_mean(strata) AS rate_mean_bps,
    cell_cv(strata) AS rate_cv,
    cv_bounds[1] AS rate_low_cv,
    cv_bounds[2] AS rate_high_cv,
    cell_within_cv(strata) AS rate_within_cv,
    bounds[1] AS rate_low_bps,
    bounds[2] AS rate_high_bps
FROM cells, LATERAL (SELECT cell_interval(strata) AS bounds, cell_cv_interval(strata) AS cv_bounds)
ORDER BY
    sender_speed_rank, sender_speed, path_class_rank, path_class, sharing, flows_count,
    rtt_bucket_rank, algorithm_rank, algorithm
