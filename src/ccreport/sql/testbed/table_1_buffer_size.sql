-- Table I: rate of each algorithm by buffer size of the bottleneck port, both running at once.
-- One row per cell (buffer size × algorithm). The view table_1_buffer_size_runs holds the runs that the evaluation
-- selects, one row per run and algorithm; cell_… are the macros of macros.sql.
WITH conditions AS (
    SELECT
        rate_basis, buffer_bytes, sharing, flows_count, algorithm, algorithm_rank,
        condition_id, list(rate_bps ORDER BY run_id) AS rates
    FROM table_1_buffer_size_runs
    GROUP BY ALL
),
cells AS (
    SELECT
        rate_basis, buffer_bytes, sharing, flows_count, algorithm, algorithm_rank,
        list(rates ORDER BY condition_id) AS strata
    FROM conditions
    GROUP BY ALL
)
SELECT
    buffer_bytes,
    sharing,
    flows_count,
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
ORDER BY buffer_bytes, flows_count, algorithm_rank, algorithm
