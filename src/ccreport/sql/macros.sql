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

-- A number from 0 to 2^31 - 1 for place i of condition k, and with 'resample' in place of k for resample i: as if at random,
-- and the same everywhere and always.
CREATE MACRO drawn_number(k, i) AS (md5_number_lower(concat(k, '/', i)) & 2147483647)::BIGINT;

-- The numbers of the 1000 resamples.
CREATE MACRO drawn_resamples() AS list_transform(range(1000), lambda b: drawn_number('resample', b));

-- Which of a condition's runs stands in a place of a resample, from 1 to `size`: of the product of both numbers the 31 bits
-- in the middle, the same of these times a constant, scaled. Without a hash or a division, as it is done for each run a
-- thousand times.
CREATE MACRO drawn_middle(product) AS (product >> 15) & 2147483647;
CREATE MACRO drawn_index(resample, place, size) AS
    1 + ((size * drawn_middle(drawn_middle(resample * place) * 1597334677)) >> 31);

-- Bootstrap 95 % interval of the mean (percentile method) as [low, high]: of 1000 means of as many resampled cells, each
-- condition drawn from by itself, with replacement. Null where no condition has two runs to draw from. By rows, as lists of
-- lists take twice as long; unnested from each other and not joined, so that they are added in one order whatever the plan.
CREATE MACRO cell_interval(strata) AS (
    SELECT quantile_cont(resampled_mean, [0.025, 0.975])
    FROM (
        SELECT resample, avg(s[drawn_index(resample, place, size)]) AS resampled_mean
        FROM (
            SELECT s, size, place, unnest(drawn_resamples()) AS resample
            FROM (
                SELECT s, len(s) AS size, drawn_number(k, unnest(range(len(s)))) AS place
                FROM (SELECT unnest(strata) AS s, generate_subscripts(strata, 1) AS k)
                WHERE list_max(list_transform(strata, lambda one: len(one))) > 1
            )
        )
        GROUP BY resample
    )
);

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
