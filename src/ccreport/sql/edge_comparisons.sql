-- Edge network: each quantity of each two series of a grouping. The rank test is made of the histograms: values in one bin
-- are ties, for which its variance is corrected, so that it takes no second look at millions of connections. p values
-- follow from z outside this query (`src/ccreport/measure/edge_comparisons.py`).
WITH counts AS (
    SELECT quantity, grouped_by, series, coalesce(bin_number, -1000000) AS bin_number, values_count FROM edge_histograms
),
pairs AS (
    SELECT
        quantity, grouped_by,
        a.series AS first_series, b.series AS second_series,
        a.values_count AS first_values_count, b.values_count AS second_values_count,
        a.value_p50 AS first_p50, b.value_p50 AS second_p50
    FROM edge_distributions AS a JOIN edge_distributions AS b USING (quantity, grouped_by)
    WHERE a.series < b.series
),
bins AS (
    SELECT
        pairs.*,
        bin_number,
        coalesce(sum(values_count) FILTER (series = first_series), 0)::DOUBLE AS a,
        coalesce(sum(values_count) FILTER (series = second_series), 0)::DOUBLE AS b
    FROM pairs JOIN counts USING (quantity, grouped_by)
    WHERE series IN (first_series, second_series)
    GROUP BY ALL
),
ranked AS (
    SELECT
        *,
        sum(a) OVER (
            PARTITION BY quantity, grouped_by, first_series, second_series ORDER BY bin_number
        ) - a AS a_below
    FROM bins
),
summed AS (
    SELECT
        quantity, grouped_by, first_series, second_series, first_values_count, second_values_count, first_p50, second_p50,
        sum(b * (a_below + a / 2)) AS u,
        sum((a + b) ** 3 - (a + b)) AS ties
    FROM ranked
    GROUP BY ALL
),
tested AS (
    SELECT
        *,
        first_values_count::DOUBLE * second_values_count AS products,
        first_values_count::DOUBLE + second_values_count AS n,
        products / 12 * (n + 1 - ties / (n * (n - 1))) AS variance
    FROM summed
)
SELECT
    quantity,
    grouped_by,
    first_series,
    second_series,
    first_values_count,
    second_values_count,
    first_p50,
    second_p50,
    second_p50 / nullif(first_p50, 0) AS p50_ratio,
    2 * u / products - 1 AS effect_ratio,
    CASE WHEN least(first_values_count, second_values_count) >= 2 AND variance > 0
        THEN greatest(abs(u - products / 2) - 0.5, 0) / sqrt(variance) END AS z
FROM tested
ORDER BY quantity, grouped_by, first_series, second_series
