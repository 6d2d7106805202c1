-- Edge network: mean and percentiles of each quantity by series, with how many connections (or requests) were left out
-- because their run does not count, or they moved too little data, and of how many the quantity is not known. Percentiles are exact; the mean's 95 %
-- interval is by run, as connections of one run are not independent of each other.
-- The last digits of means follow the order of the rows, which is that of batches: to sort hundreds of millions of
-- values first would take longer than everything else.
WITH of_runs AS (
    SELECT quantity, grouped_by, series, run, sum(value)::DOUBLE AS x, count(*)::DOUBLE AS y
    FROM edge_values WHERE value IS NOT NULL GROUP BY ALL
),
means AS (
    SELECT quantity, grouped_by, series, mean_of(list({'run': run, 'x': x, 'y': y})) AS mean
    FROM of_runs GROUP BY ALL
),
known AS (
    SELECT
        quantity, grouped_by, series, series_rank,
        count(*) AS values_count,
        count(*) FILTER (value = 0) AS zeros_count,
        quantile_cont(value, [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]) AS p
    FROM edge_values
    WHERE value IS NOT NULL
    GROUP BY quantity, grouped_by, series, series_rank
),
counted AS (
    SELECT
        grouped_by, series, is_request,
        count(*) FILTER (is_kept) AS kept_count,
        count(*) FILTER (NOT is_run_counted) AS in_uncounted_runs_count,
        count(*) FILTER (is_run_counted AND NOT is_kept) AS filtered_out_count
    FROM (
        SELECT grouped_by, series, FALSE AS is_request, is_run_counted, is_kept FROM grouped_connections
        UNION ALL
        SELECT grouped_by, series, TRUE, is_run_counted, is_kept FROM grouped_requests
    )
    GROUP BY grouped_by, series, is_request
)
SELECT
    quantity,
    grouped_by,
    series,
    values_count,
    kept_count - values_count AS unknown_count,
    in_uncounted_runs_count,
    filtered_out_count,
    zeros_count,
    mean.n AS runs_count,
    mean.value AS value_mean,
    mean.low AS value_mean_low,
    mean.high AS value_mean_high,
    p[1] AS value_p01,
    p[2] AS value_p05,
    p[3] AS value_p10,
    p[4] AS value_p25,
    p[5] AS value_p50,
    p[6] AS value_p75,
    p[7] AS value_p90,
    p[8] AS value_p95,
    p[9] AS value_p99
FROM known
JOIN means USING (quantity, grouped_by, series)
JOIN counted USING (grouped_by, series)
WHERE is_request = (quantity = 'request_goodput_bps')
ORDER BY quantity, grouped_by, series_rank, series
