-- Edge network: the connections of each series, how many are of runs that count and moved enough data to be kept, those above
-- the bound beyond which a retransmit ratio counts as an outlier, and use of ECN. Ratios of retransmits are sums over sums.
SELECT
    grouped_by,
    series,
    count(DISTINCT machine) AS machines_count,
    count(DISTINCT raw_file_id) AS dumps_count,
    count(*) AS seen_count,
    count(*) FILTER (NOT is_run_counted) AS in_uncounted_runs_count,
    count(*) FILTER (is_run_counted AND NOT is_kept) AS filtered_out_count,
    count(*) FILTER (is_kept) AS kept_count,
    count(*) FILTER (is_kept AND is_outlier) AS outliers_count,
    outliers_count / nullif(kept_count, 0) AS outliers_ratio,
    sum(retransmits_ss_count) FILTER (is_kept AND retransmit_ratio IS NOT NULL)
        / nullif(sum(data_segments_out_count) FILTER (is_kept AND retransmit_ratio IS NOT NULL), 0) AS retransmit_ratio,
    sum(retransmits_ss_count) FILTER (is_kept AND retransmit_ratio IS NOT NULL AND NOT is_outlier)
        / nullif(sum(data_segments_out_count) FILTER (is_kept AND retransmit_ratio IS NOT NULL AND NOT is_outlier), 0)
        AS retransmit_without_outliers_ratio,
    count(*) FILTER (is_run_counted AND has_ecn) / nullif(count(has_ecn) FILTER (is_run_counted), 0) AS ecn_ratio,
    count(*) FILTER (is_run_counted AND has_ecn AND has_ecnseen)
        / nullif(count(*) FILTER (is_run_counted AND has_ecn AND has_ecnseen IS NOT NULL), 0) AS ecnseen_ratio
FROM grouped_connections
GROUP BY grouped_by, series, series_rank
ORDER BY grouped_by, series_rank, series
