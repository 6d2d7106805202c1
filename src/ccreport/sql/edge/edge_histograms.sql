-- Edge network: histograms of each quantity by series. Bins have equal widths on the axis that suits the quantity: 10 per
-- decade on a log axis, 2 percentage points on a linear one; values of 0 have no place on a log axis and are a bin of
-- their own. density is the share of all values in the bin over its width in decades (or points), so that densities
-- times widths, and the share of zeros, add up to 1.
WITH binned AS (
    SELECT
        quantity, grouped_by, series, series_rank,
        quantity <> 'rwnd_limited_pct' AS is_log,
        edge_bin(quantity, value) AS bin_number,
        count(*) AS values_count
    FROM edge_values
    WHERE value IS NOT NULL
    GROUP BY ALL
)
SELECT
    quantity,
    grouped_by,
    series,
    bin_number,
    CASE WHEN is_log THEN coalesce(pow(10, bin_number / 10.0), 0) ELSE 2.0 * bin_number END AS bin_low_value,
    CASE WHEN is_log THEN coalesce(pow(10, (bin_number + 1) / 10.0), 0) ELSE 2.0 * bin_number + 2 END AS bin_high_value,
    is_log,
    values_count,
    values_count / sum(values_count) OVER (PARTITION BY quantity, grouped_by, series) AS values_ratio,
    CASE WHEN bin_number IS NOT NULL THEN values_ratio / CASE WHEN is_log THEN 0.1 ELSE 2.0 END END AS density
FROM binned
ORDER BY quantity, grouped_by, series_rank, series, bin_number NULLS FIRST
