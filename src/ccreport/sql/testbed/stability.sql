-- Stability: the mean over Table II's loss rows of the coefficients of variation, by RTT bucket and algorithm, pooled
-- as the paper pools and within single conditions; with the ratio of each algorithm's but the first to the first's.
-- The view stability_runs holds the runs that the evaluation selects, one row per run and algorithm; cell_… are the
-- macros of macros.sql.
WITH conditions AS (
    SELECT
        rate_basis, test_group, sharing, flows_count, rtt_bucket, rtt_bucket_rank, algorithm, algorithm_rank,
        condition_id, list(rate_bps ORDER BY run_id) AS rates
    FROM stability_runs
    GROUP BY ALL
),
cells AS (
    SELECT
        rate_basis, test_group, sharing, flows_count, rtt_bucket, rtt_bucket_rank, algorithm, algorithm_rank,
        list(rates ORDER BY condition_id) AS strata
    FROM conditions
    GROUP BY ALL
),
means AS (
    SELECT
        rate_basis, rtt_bucket, rtt_bucket_rank, algorithm, algorithm_rank,
        count(cell_cv(strata)) AS cells_count,
        list_avg(list(cell_cv(strata) ORDER BY test_group, sharing, flows_count)) AS cv_mean_cv,
        list_avg(list(cell_within_cv(strata) ORDER BY test_group, sharing, flows_count)) AS cv_within_mean_cv
    FROM cells
    GROUP BY ALL
)
SELECT
    rtt_bucket,
    algorithm,
    rate_basis,
    cells_count,
    cv_mean_cv,
    cv_within_mean_cv,
    CASE WHEN row_number() OVER bucket > 1 THEN cv_mean_cv / nullif(first_value(cv_mean_cv) OVER bucket, 0) END
        AS cv_ratio,
    CASE
        WHEN row_number() OVER bucket > 1
            THEN cv_within_mean_cv / nullif(first_value(cv_within_mean_cv) OVER bucket, 0)
    END AS cv_within_ratio
FROM means
WINDOW bucket AS (PARTITION BY rtt_bucket ORDER BY algorithm_rank, algorithm)
ORDER BY rtt_bucket_rank, algorithm_rank, algorithm
