-- Stability: the mean over Table II's loss rows of the coefficients of variation, by RTT bucket and algorithm, pooled
-- as the paper pools and within single conditions; with the ratio of each algorithm's but the first to the first's, and
-- its 95 % interval.
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
        list_avg(list(cell_within_cv(strata) ORDER BY test_group, sharing, flows_count)) AS cv_within_mean_cv,
        flatten(list(pooled_cvs(known_strata(strata)))) AS pooled,
        flatten(list(within_cvs(known_strata(strata)))) AS within
    FROM cells
    GROUP BY ALL
),
ratios AS (
    SELECT
        *,
        CASE WHEN is_compared THEN cv_mean_cv / nullif(first_value(cv_mean_cv) OVER bucket, 0) END AS cv_ratio,
        CASE WHEN is_compared THEN cv_within_mean_cv / nullif(first_value(cv_within_mean_cv) OVER bucket, 0) END
            AS cv_within_ratio,
        -- The interval that checks of claims have.
        CASE WHEN is_compared THEN cv_quotient(pooled, first_pooled, 0) END AS of_pooled,
        CASE WHEN is_compared THEN cv_quotient(within, first_within, 0) END AS of_within
    FROM (
        SELECT
            *,
            row_number() OVER bucket > 1 AS is_compared,
            first_value(pooled) OVER bucket AS first_pooled,
            first_value(within) OVER bucket AS first_within
        FROM means
        WINDOW bucket AS (PARTITION BY rtt_bucket ORDER BY algorithm_rank, algorithm)
    )
    WINDOW bucket AS (PARTITION BY rtt_bucket ORDER BY algorithm_rank, algorithm)
)
SELECT
    rtt_bucket,
    algorithm,
    rate_basis,
    cells_count,
    cv_mean_cv,
    cv_within_mean_cv,
    cv_ratio,
    (of_pooled).low AS cv_low_ratio,
    (of_pooled).high AS cv_high_ratio,
    cv_within_ratio,
    (of_within).low AS cv_within_low_ratio,
    (of_within).high AS cv_within_high_ratio
FROM ratios
ORDER BY rtt_bucket_rank, algorithm_rank, algorithm
