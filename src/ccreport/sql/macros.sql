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

-- A number from 0 to 2^31 - 2 for place i of condition k in resample b, as if at random: of the three a linear
-- combination, three times squared modulo the prime 2^31 - 1. It is the same everywhere and always, and costs a tenth of a
-- hash.
CREATE MACRO drawn_seed(b, k, i) AS
    (1664525 * b::BIGINT + 1013904223 * k::BIGINT + 22695477 * i + 12345) % 2147483647;
CREATE MACRO drawn_square(x) AS (x * x + 374761393) % 2147483647;
CREATE MACRO drawn_number(b, k, i) AS drawn_square(drawn_square(drawn_square(drawn_seed(b, k, i))));

-- The numbers of the first n places. In a lambda DuckDB would compute what a macro mentions twice twice: hence a list each.
CREATE MACRO drawn_numbers(b, k, n) AS
    list_transform(list_transform(list_transform(list_transform(range(n),
        lambda i: drawn_seed(b, k, i)), lambda x: drawn_square(x)), lambda x: drawn_square(x)), lambda x: drawn_square(x));

-- Bootstrap 95 % interval of the mean (percentile method) as [low, high]: of 1000 means of as many resampled cells, each
-- condition drawn from by itself, with replacement. Null where no condition has two runs to draw from. By rows, as lists of
-- lists take twice as long; unnested from each other and not joined, so that they are added in one order whatever the plan.
CREATE MACRO cell_interval(strata) AS (
    SELECT quantile_cont(resampled_mean, [0.025, 0.975])
    FROM (
        SELECT b, avg(s[1 + (drawn_number(b, k, i) % len(s))::INTEGER]) AS resampled_mean
        FROM (
            SELECT s, k, i, unnest(range(1000)) AS b
            FROM (
                SELECT s, k, unnest(range(len(s))) AS i
                FROM (SELECT unnest(strata) AS s, generate_subscripts(strata, 1) AS k)
                WHERE list_max(list_transform(strata, lambda one: len(one))) > 1
            )
        )
        GROUP BY b
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
