-- Edge network: percentiles of some quantities by series and time, a connection at the time of the last dump that shows it, a
-- request when it was answered. Bins are as short as leaves at most 60 of them.
WITH timed AS (
    FROM edge_values
    WHERE value IS NOT NULL AND time_utc IS NOT NULL
        AND quantity IN ('request_goodput_bps', 'delivery_rate_bps', 'rtt_ms', 'retransmit_pct')
),
span AS (
    SELECT epoch(max(t)) - epoch(min(t)) AS span_s
    FROM (
        SELECT unnest([min(time_utc), max(time_utc)]) AS t FROM labelled_connections
        UNION ALL SELECT unnest([min(logged_utc), max(logged_utc)]) FROM labelled_requests
    )
),
width AS (
    SELECT coalesce(list_min(list_filter([1, 5, 10, 60, 300, 900, 3600, 14400, 86400, 604800], lambda w: 60 * w >= span_s)),
        2592000) AS width_s
    FROM span
)
SELECT
    quantity,
    grouped_by,
    series,
    bin_start_utc,
    width_s AS bin_width_s,
    values_count,
    p[1] AS value_p10,
    p[2] AS value_p50,
    p[3] AS value_p90
FROM (
    SELECT
        quantity, grouped_by, series, series_rank, width_s,
        time_bucket(to_seconds(width_s), time_utc) AS bin_start_utc,
        count(*) AS values_count,
        quantile_cont(value, [0.1, 0.5, 0.9]) AS p
    FROM timed, width
    GROUP BY ALL
)
ORDER BY quantity, grouped_by, series_rank, series, bin_start_utc
