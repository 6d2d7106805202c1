-- Edge network: each quantity of each two series of a grouping. The unit is the run, and all runs of a series weigh the same: of
-- each run the mean rank of its connections (or requests) among those of both series, as a share from 0 to 1. Ranks are those of
-- bins, as the histograms have them, with values in one bin as ties: there are too many connections to sort. A test of these ranks
-- follows outside of this query (`ccreport.summarise.statistics.edge_comparisons`).
WITH counts AS (
    SELECT
        quantity, grouped_by, series, run, coalesce(edge_bin(quantity, value), -1000000) AS bin_number,
        count(*) AS values_count
    FROM edge_values WHERE value IS NOT NULL
    GROUP BY ALL
),
shares AS (
    SELECT *, values_count / sum(values_count) OVER (PARTITION BY quantity, grouped_by, series, run) AS share
    FROM counts
),
run_counts AS (
    SELECT quantity, grouped_by, series, count(DISTINCT run) AS runs_count FROM shares GROUP BY ALL
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
members AS (
    SELECT pairs.*, series, run, bin_number, share, runs_count
    FROM pairs JOIN shares USING (quantity, grouped_by) JOIN run_counts USING (quantity, grouped_by, series)
    WHERE series IN (first_series, second_series)
),
-- Each series is half of all: bins are ranked by what of both is below them, and half of what is in them.
ranked AS (
    SELECT
        quantity, grouped_by, first_series, second_series, bin_number, sum(share / runs_count / 2 ORDER BY series, run) AS weight
    FROM members GROUP BY ALL
),
ranks AS (
    SELECT
        * EXCLUDE (weight),
        sum(weight) OVER (PARTITION BY quantity, grouped_by, first_series, second_series ORDER BY bin_number) - weight / 2 AS rank
    FROM ranked
),
run_ranks AS (
    SELECT members.* EXCLUDE (bin_number, share, runs_count), sum(share * rank ORDER BY bin_number) AS mean_rank
    FROM members JOIN ranks USING (quantity, grouped_by, first_series, second_series, bin_number)
    GROUP BY ALL
),
-- Runs that have both series are pairs; where there are any, others say nothing beside them.
shared AS (
    SELECT *, count(*) OVER (PARTITION BY quantity, grouped_by, first_series, second_series, run) > 1 AS is_shared
    FROM run_ranks
),
chosen AS (
    SELECT *, bool_or(is_shared) OVER (PARTITION BY quantity, grouped_by, first_series, second_series) AS is_paired FROM shared
)
SELECT
    quantity,
    grouped_by,
    first_series,
    second_series,
    first_values_count,
    second_values_count,
    count(*) FILTER (series = first_series) AS first_runs_count,
    count(*) FILTER (series = second_series) AS second_runs_count,
    first_p50,
    second_p50,
    second_p50 / nullif(first_p50, 0) AS p50_ratio,
    is_paired,
    list(mean_rank ORDER BY run) FILTER (series = first_series) AS first_ranks,
    list(mean_rank ORDER BY run) FILTER (series = second_series) AS second_ranks
FROM chosen
WHERE is_shared OR NOT is_paired
GROUP BY
    quantity, grouped_by, first_series, second_series, first_values_count, second_values_count, first_p50, second_p50, is_paired
ORDER BY quantity, grouped_by, first_series, second_series
