-- Retransmits: by path class, sender, loss, sharing, flows, RTT bucket and algorithm, the ratio of the group (sum of
-- retransmitted segments over sum of data segments), and mean and coefficient of variation of the runs' own ratios.
-- The view retransmits_runs holds the runs that the evaluation selects, one row per run and algorithm; cell_… are the
-- macros of macros.sql.
WITH conditions AS (
    SELECT
        sender_speed, sender_speed_rank, path_class, path_class_rank, test_group, test_group_rank, sharing, flows_count,
        rtt_bucket, rtt_bucket_rank, algorithm, algorithm_rank, condition_id,
        min(loss_pct) AS loss_pct,
        sum(retransmits_count) AS retransmits_count,
        sum(segments_count ORDER BY run_id) AS segments_count,
        common_source(retransmit_source) AS retransmit_source,
        list(retransmit_ratio ORDER BY run_id) AS ratios
    FROM retransmits_runs
    WHERE retransmit_ratio IS NOT NULL
    GROUP BY ALL
),
cells AS (
    SELECT
        sender_speed, sender_speed_rank, path_class, path_class_rank, test_group, test_group_rank, sharing, flows_count,
        rtt_bucket, rtt_bucket_rank, algorithm, algorithm_rank,
        min(loss_pct) AS loss_pct,
        sum(retransmits_count) AS retransmits_count,
        sum(segments_count ORDER BY condition_id) AS segments_count,
        common_source(retransmit_source) AS retransmit_source,
        list(ratios ORDER BY condition_id) AS strata
    FROM conditions
    GROUP BY ALL
)
SELECT
    sender_speed,
    path_class,
    test_group,
    sharing,
    flows_count,
    rtt_bucket,
    algorithm,
    retransmit_source,
    cell_count(strata) AS runs_count,
    retransmits_count::BIGINT AS retransmits_count,
    segments_count,
    retransmits_count / nullif(segments_count, 0) AS retransmit_ratio,
    cell_mean(strata) AS retransmit_mean_ratio,
    cell_cv(strata) AS retransmit_ratio_cv,
    cv_bounds[1] AS retransmit_ratio_low_cv,
    cv_bounds[2] AS retransmit_ratio_high_cv,
    bounds[1] AS retransmit_low_ratio,
    bounds[2] AS retransmit_high_ratio
FROM cells, LATERAL (SELECT cell_interval(strata) AS bounds, cell_cv_interval(strata) AS cv_bounds)
ORDER BY
    path_class_rank, path_class, sender_speed_rank, sender_speed, test_group_rank,
    min(loss_pct) OVER (PARTITION BY test_group), test_group, sharing, flows_count, rtt_bucket_rank, algorithm_rank, algorithm
