-- What the SQL of claims may use beside the views and macros of archive.duckdb: the table measured. `value`, `low` and `high`
-- (95 % interval) and `n` (runs) are the columns of a check's one row, or the fields of the one struct that it is, which
-- mean_of and quotient_of of macros.sql return.

-- One row per counted run of the steady tests and algorithm. rate, share (of the line rate, that of the path or else of
-- the interface) and retransmits are what mean_of and quotient_of take lists of.
CREATE TEMP TABLE measured AS
SELECT
    algorithm_runs.*,
    {'condition': condition_id, 'id': run_id} AS run,
    coalesce(bottleneck_bps, nic_bps) AS line_rate_bps,
    -- The receiver's rate, or the sender's where no run of such paths has one: as the published tables choose.
    CASE WHEN count(goodput_bps) OVER (PARTITION BY path_class = 'testbed') > 0 THEN goodput_bps ELSE throughput_bps END
        AS rate_bps,
    {'run': run, 'x': rate_bps, 'y': 1.0::DOUBLE} AS rate,
    {'run': run, 'x': rate_bps / nullif(line_rate_bps, 0), 'y': 1.0::DOUBLE} AS share,
    {'run': run, 'x': retransmits_count::DOUBLE, 'y': segments_count} AS retransmits
FROM algorithm_runs
WHERE is_counted AND purpose = 'steady';

-- The cells of Table II that runs fall into, each with the lists of its conditions' rates: what cell_cv and others take.
CREATE TEMP MACRO rate_cells(selected) AS TABLE
SELECT test_group, sharing, flows_count, rtt_bucket, algorithm, list(rates ORDER BY condition_id) AS strata
FROM (
    SELECT
        test_group, sharing, flows_count, rtt_bucket, algorithm, condition_id, list(rate_bps ORDER BY run_id) AS rates
    FROM query_table(selected) WHERE rate_bps IS NOT NULL GROUP BY ALL
)
GROUP BY ALL;

-- How far a is from b and c, three of mean_of, on a scale of logarithms that runs from b to c: below 1 it is nearer to b.
CREATE TEMP MACRO nearness(a, b, c) AS (
    SELECT with_interval(value, half_width, n, (spread).df)
    FROM (
        SELECT *, half_width_of(spread) AS half_width
        FROM (
            SELECT
                (of_a.value / sqrt(of_b.value * of_c.value)) ** sign(of_c.value - of_b.value) AS value,
                {'variance': in_a + in_b + in_c, 'df': (in_a + in_b + in_c) ** 2 / nullif(
                    coalesce(in_a ** 2 / of_a.df, 0) + coalesce(in_b ** 2 / of_b.df, 0) + coalesce(in_c ** 2 / of_c.df, 0), 0
                )} AS spread,
                coalesce(CASE WHEN of_a IS NOT NULL AND of_b IS NOT NULL AND of_c IS NOT NULL THEN
                    least(of_a.n, of_b.n, of_c.n)
                END, 0) AS n
            FROM (
                SELECT *, log_variance(of_a) AS in_a, log_variance(of_b) / 4 AS in_b, log_variance(of_c) / 4 AS in_c
                FROM (SELECT a AS of_a, b AS of_b, c AS of_c)
            )
        )
    )
);

-- How many of how many, with Wilson's interval.
CREATE TEMP MACRO share_of(part, total) AS (
    SELECT {
        'value': share, 'n': coalesce(n, 0),
        'low': CASE WHEN share > 0 THEN (share + 1.920729 / n - reach) / (1 + 3.841459 / n) ELSE 0.0 END,
        'high': CASE WHEN share < 1 THEN (share + 1.920729 / n + reach) / (1 + 3.841459 / n) ELSE 1.0 END
    }
    FROM (
        SELECT share, n, 1.959964 * sqrt(share * (1 - share) / n + 0.960365 / n ** 2) AS reach
        FROM (SELECT part / nullif(total, 0) AS share, total AS n)
    )
);

-- The mean of x over a list of runs less that over another, by Welch's t; no interval below three runs of a side.
-- ASSUME: all runs of a side are of one condition.
CREATE TEMP MACRO difference_of(a, b) AS (
    SELECT {
        'value': value, 'low': value - half_width, 'high': value + half_width, 'n': coalesce(least(n_a, n_b), 0), 'df': df
    }
    FROM (
        SELECT
            *, mean_a - mean_b AS value, (in_a + in_b) ** 2 / nullif(in_a ** 2 / (n_a - 1) + in_b ** 2 / (n_b - 1), 0) AS df,
            CASE WHEN least(n_a, n_b) > 2 THEN coalesce(student_quantile(df), 0) * sqrt(in_a + in_b) END AS half_width
        FROM (
            SELECT
                len(of_a) AS n_a, len(of_b) AS n_b, list_avg(of_a) AS mean_a, list_avg(of_b) AS mean_b,
                list_aggregate(of_a, 'var_samp') / n_a AS in_a, list_aggregate(of_b, 'var_samp') / n_b AS in_b
            FROM (
                SELECT
                    list_transform(known_runs(a), lambda r: r.x / r.y) AS of_a,
                    list_transform(known_runs(b), lambda r: r.x / r.y) AS of_b
            )
        )
    )
);
