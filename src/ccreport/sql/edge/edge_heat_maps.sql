-- Edge network: how two quantities of a connection go together, as counts in bins of 10 per decade on both axes. Values of
-- 0 have no place on a log axis and are a bin of their own, without a number. Bandwidth is BBR's own estimate.
WITH kept AS (
    SELECT
        grouped_by, series, series_rank,
        CASE WHEN rtt_ms > 0 THEN floor(10 * log10(rtt_ms)) END::INTEGER AS rtt_bin,
        CASE WHEN rtt_min_ms > 0 THEN floor(10 * log10(rtt_min_ms)) END::INTEGER AS rtt_min_bin,
        CASE WHEN retransmit_ratio > 0 THEN floor(10 * log10(100 * retransmit_ratio)) END::INTEGER AS retransmit_bin,
        CASE WHEN unacked_count > 0 THEN floor(10 * log10(unacked_count)) END::INTEGER AS unacked_bin,
        CASE WHEN bbr_bw_bps > 0 THEN floor(10 * log10(bbr_bw_bps)) END::INTEGER AS bbr_bw_bin,
        retransmit_ratio IS NOT NULL AS has_retransmits,
        unacked_count IS NOT NULL AS has_unacked
    FROM grouped_connections
    WHERE is_kept
),
binned AS (
    SELECT
        'rtt_ms' AS x_quantity, 'retransmit_pct' AS y_quantity, grouped_by, series, series_rank,
        rtt_bin AS x_bin_number, retransmit_bin AS y_bin_number, count(*) AS binned_count
    FROM kept WHERE rtt_bin IS NOT NULL AND has_retransmits GROUP BY ALL
    UNION ALL
    SELECT 'rtt_ms', 'unacked_count', grouped_by, series, series_rank, rtt_bin, unacked_bin, count(*)
    FROM kept WHERE rtt_bin IS NOT NULL AND has_unacked GROUP BY ALL
    UNION ALL
    SELECT 'rtt_min_ms', 'bbr_bw_bps', grouped_by, series, series_rank, rtt_min_bin, bbr_bw_bin, count(*)
    FROM kept WHERE rtt_min_bin IS NOT NULL AND bbr_bw_bin IS NOT NULL GROUP BY ALL
)
SELECT
    x_quantity,
    y_quantity,
    grouped_by,
    series,
    x_bin_number,
    y_bin_number,
    binned_count,
    binned_count / sum(binned_count) OVER (PARTITION BY x_quantity, y_quantity, grouped_by, series) AS binned_ratio
FROM binned
ORDER BY x_quantity, y_quantity, grouped_by, series_rank, series, x_bin_number, y_bin_number NULLS FIRST
