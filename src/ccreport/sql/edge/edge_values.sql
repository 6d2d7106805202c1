-- Quantities of an edge network whose distributions are shown: one row per kept connection or request, quantity and way to
-- group. Bandwidth is the kernel's delivery rate, which every algorithm has; BBR's own estimate is beside it.
SELECT grouped_by, series, series_rank, run, time_utc, 'retransmit_pct' AS quantity, 100 * retransmit_ratio AS value
FROM grouped_connections WHERE is_kept
UNION ALL
SELECT grouped_by, series, series_rank, run, time_utc, 'rtt_ms', rtt_ms
FROM grouped_connections WHERE is_kept
UNION ALL
SELECT grouped_by, series, series_rank, run, time_utc, 'rtt_min_ms', rtt_min_ms
FROM grouped_connections WHERE is_kept
UNION ALL
SELECT grouped_by, series, series_rank, run, time_utc, 'delivery_rate_bps', delivery_rate_bps
FROM grouped_connections WHERE is_kept
UNION ALL
SELECT grouped_by, series, series_rank, run, time_utc, 'bbr_bw_bps', bbr_bw_bps
FROM grouped_connections WHERE is_kept
UNION ALL
SELECT grouped_by, series, series_rank, run, time_utc, 'unacked_count', unacked_count::DOUBLE
FROM grouped_connections WHERE is_kept
UNION ALL
SELECT grouped_by, series, series_rank, run, time_utc, 'rwnd_limited_pct', 100 * rwnd_limited_ratio
FROM grouped_connections WHERE is_kept
UNION ALL
SELECT grouped_by, series, series_rank, run, logged_utc, 'request_goodput_bps', request_goodput_bps
FROM grouped_requests WHERE is_kept
