-- The statistics of a cell, over `strata`: one list of rates (or ratios) for each condition that the cell pools.
-- They stay in archive.duckdb, so that the queries beside this file run there as they stand.

CREATE MACRO cell_count(strata) AS len(flatten(strata));

CREATE MACRO cell_mean(strata) AS list_avg(flatten(strata));

-- Coefficient of variation: sample standard deviation (n - 1) over mean. Null for a single run.
CREATE MACRO cell_cv(strata) AS
    list_aggregate(flatten(strata), 'stddev_samp') / nullif(list_avg(flatten(strata)), 0);

-- Mean of the CVs of the conditions that have at least two runs: what is left without the differences between them.
CREATE MACRO cell_within_cv(strata) AS
    list_avg(list_transform(strata, lambda s: list_aggregate(s, 'stddev_samp') / nullif(list_avg(s), 0)));

-- n numbers from 0 to 2^31 - 2 for resample b of condition k, as if at random: of b, k and place i a linear combination,
-- three times squared modulo the prime 2^31 - 1. They are the same everywhere and always, and cost a tenth of a hash.
CREATE MACRO drawn_numbers(b, k, n) AS
    list_transform(list_transform(list_transform(
        list_transform(range(n), lambda i:
            (1664525 * b::BIGINT + 1013904223 * k::BIGINT + 22695477 * i + 12345) % 2147483647),
        lambda x: (x * x + 374761393) % 2147483647),
        lambda x: (x * x + 374761393) % 2147483647),
        lambda x: (x * x + 374761393) % 2147483647);

-- 1000 means of as many resampled cells, stratified: each condition is drawn from by itself, with replacement.
CREATE MACRO cell_resampled_means(strata) AS
    list_transform(range(1000), lambda b: list_avg(flatten(list_transform(strata, lambda s, k:
        list_transform(drawn_numbers(b, k, len(s)), lambda x: s[1 + (x % len(s))::INTEGER])))));

-- Bootstrap 95 % interval of the mean (percentile method) as [low, high]. Null where no condition has two runs to draw
-- from.
CREATE MACRO cell_interval(strata) AS
    CASE WHEN list_max(list_transform(strata, lambda s: len(s))) > 1
    THEN list_aggregate(cell_resampled_means(strata), 'quantile_cont', [0.025, 0.975]) END;

-- Retransmits of each algorithm under each condition of a bottleneck: the runs of a view, which is given by name and has
-- one row per run and algorithm. The ratio is that of the group (sum over sum); mean and interval are of the runs' own.
CREATE MACRO retransmit_cells(selected) AS TABLE
WITH conditions AS (
    SELECT
        bottleneck_bps, rtt_ms, loss_pct, buffer_bytes, limit_packets_count, flows_count, sharing, algorithm,
        algorithm_rank, condition_id,
        sum(retransmits_count) AS retransmits_count,
        sum(segments_count ORDER BY run_id) AS segments_count,
        list(retransmit_ratio ORDER BY run_id) AS ratios
    FROM query_table(selected)
    WHERE retransmit_ratio IS NOT NULL
    GROUP BY ALL
),
cells AS (
    SELECT
        bottleneck_bps, rtt_ms, loss_pct, buffer_bytes, limit_packets_count, flows_count, sharing, algorithm,
        algorithm_rank,
        sum(retransmits_count) AS retransmits_count,
        sum(segments_count ORDER BY condition_id) AS segments_count,
        list(ratios ORDER BY condition_id) AS strata
    FROM conditions
    GROUP BY ALL
)
SELECT
    cells.* EXCLUDE (retransmits_count, strata),
    8e3 * buffer_bytes / nullif(bottleneck_bps * rtt_ms, 0) AS buffer_bdp_ratio,
    cell_count(strata) AS runs_count,
    retransmits_count / cell_count(strata) AS retransmits_mean_count,
    retransmits_count / nullif(segments_count, 0) AS retransmit_ratio,
    cell_mean(strata) AS retransmit_mean_ratio,
    bounds[1] AS retransmit_low_ratio,
    bounds[2] AS retransmit_high_ratio
FROM cells, LATERAL (SELECT cell_interval(strata) AS bounds);
