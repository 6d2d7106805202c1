-- Quantities of an edge network whose distributions are shown, one row per kept connection or request and quantity.
-- Bandwidth is the kernel's delivery rate, which every algorithm has; BBR's own estimate stands beside it.
SELECT series, series_rank, 'retransmit_pct' AS quantity, 100 * retransmit_ratio AS value
FROM labelled_connections WHERE is_kept
UNION ALL
SELECT series, series_rank, 'rtt_ms', rtt_ms FROM labelled_connections WHERE is_kept
UNION ALL
SELECT series, series_rank, 'rtt_min_ms', rtt_min_ms FROM labelled_connections WHERE is_kept
UNION ALL
SELECT series, series_rank, 'delivery_rate_bps', delivery_rate_bps FROM labelled_connections WHERE is_kept
UNION ALL
SELECT series, series_rank, 'bbr_bw_bps', bbr_bw_bps FROM labelled_connections WHERE is_kept
UNION ALL
SELECT series, series_rank, 'unacked_count', unacked_count::DOUBLE FROM labelled_connections WHERE is_kept
UNION ALL
SELECT series, series_rank, 'rwnd_limited_pct', 100 * rwnd_limited_ratio FROM labelled_connections WHERE is_kept
UNION ALL
SELECT series, series_rank, 'request_goodput_bps', request_goodput_bps FROM labelled_requests WHERE is_kept
