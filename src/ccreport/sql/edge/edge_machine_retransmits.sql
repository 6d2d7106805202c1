-- Edge network: retransmits of whole machines between two snapshots of their counters, all connections together, also
-- those that no dump shows. A counter that fell means that the machine was started anew: no interval spans that.
WITH snapshots AS (
    SELECT
        grouped_by, series, series_rank, machine, time_utc,
        max(counter_value_count) FILTER (counter = 'TcpOutSegs') AS sent,
        max(counter_value_count) FILTER (counter = 'TcpRetransSegs') AS retransmitted
    FROM grouped_counters
    -- What is below 0 is not a number of segments.
    WHERE time_utc IS NOT NULL AND counter IN ('TcpOutSegs', 'TcpRetransSegs') AND counter_value_count >= 0
    GROUP BY ALL
),
intervals AS (
    SELECT
        grouped_by, series, series_rank, machine,
        lag(time_utc) OVER machine_times AS interval_start_utc,
        time_utc AS interval_end_utc,
        sent - lag(sent) OVER machine_times AS segments_first_sent_count,
        retransmitted - lag(retransmitted) OVER machine_times AS retransmits_machine_count
    FROM snapshots
    WHERE sent IS NOT NULL AND retransmitted IS NOT NULL
    WINDOW machine_times AS (PARTITION BY grouped_by, series, machine ORDER BY time_utc)
)
SELECT
    grouped_by,
    series,
    machine,
    interval_start_utc,
    interval_end_utc,
    segments_first_sent_count,
    retransmits_machine_count,
    -- TcpOutSegs leaves retransmitted segments out (RFC 4022, tcpOutSegs).
    retransmits_machine_count / nullif(segments_first_sent_count::DOUBLE + retransmits_machine_count, 0)
        AS retransmit_machine_ratio
FROM intervals
WHERE interval_start_utc IS NOT NULL AND segments_first_sent_count >= 0 AND retransmits_machine_count >= 0
ORDER BY grouped_by, series_rank, series, machine, interval_start_utc
