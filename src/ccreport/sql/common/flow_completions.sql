-- When each flow of a run had its `completion_bytes` acknowledged, the volume that the evaluation declares: one row per flow of
-- a run with such a volume. Where only some clients of a run have a volume, half of it counts for each of their flows. From a
-- capture, since the first SYN: within the step of 100 ms in which it was reached. Else from the samples of ss, linear between two
-- of them, since the first of them less the time for which it says that data were under way. A flow that never reached the volume
-- is censored: its time is that of the last acknowledgement known.
WITH of_clients AS (
    SELECT run_id, client_number, 0.5 * any_value(volume_bytes) / count(DISTINCT flow_id) AS client_bytes
    FROM flows JOIN tests USING (run_id, client_number)
    WHERE volume_bytes IS NOT NULL
    GROUP BY run_id, client_number
),
wanted AS (
    SELECT
        run_id, flow_id, cc, is_reverse, coalesce(runs.completion_bytes, client_bytes) AS completion_bytes
    FROM flows JOIN labelled_runs AS runs USING (run_id) LEFT JOIN of_clients USING (run_id, client_number)
    WHERE coalesce(runs.completion_bytes, client_bytes) > 0
),
captured AS (
    SELECT run_id, raw_file_id, flow_id, connection_number, direction, syn_utc
    FROM packet_flows JOIN wanted USING (run_id, flow_id)
    WHERE syn_utc IS NOT NULL AND direction = CASE WHEN is_reverse THEN 'in' ELSE 'out' END
    -- Nearest to the sender; of several connections with one 4-tuple the last.
    QUALIFY row_number() OVER (
        PARTITION BY run_id, flow_id
        ORDER BY CASE capture_side WHEN 'sender' THEN 1 WHEN 'between' THEN 2 WHEN 'receiver' THEN 4 ELSE 3 END,
            raw_file_id, connection_number DESC
    ) = 1
),
sampled AS (
    SELECT
        run_id, flow_id, time_utc, acked_bytes,
        epoch(first_value(time_utc) OVER times) - coalesce(first_value(busy_ms) OVER times, 0) / 1e3 AS started_s
    FROM samples
    SEMI JOIN (FROM wanted ANTI JOIN captured USING (run_id, flow_id) WHERE NOT is_reverse)
        USING (run_id, flow_id)
    WHERE acked_bytes IS NOT NULL
    WINDOW times AS (PARTITION BY run_id, flow_id, connection_number ORDER BY time_utc)
    QUALIFY connection_number = max(connection_number) OVER (PARTITION BY run_id, flow_id)
),
points AS (
    SELECT
        run_id, flow_id, 'capture' AS source, epoch(interval_utc) + 0.1 - epoch(syn_utc) AS at_s,
        acknowledged_end_bytes AS acked_bytes
    FROM packet_intervals
    JOIN captured USING (run_id, raw_file_id, flow_id, connection_number, direction)
    WHERE acknowledged_end_bytes IS NOT NULL
    UNION ALL
    -- The kernel counts the SYN as a byte.
    SELECT run_id, flow_id, 'ss', epoch(time_utc) - started_s, acked_bytes - 1 FROM sampled
),
steps AS (
    SELECT
        *,
        lag(acked_bytes, 1, 0) OVER times AS acked_before_bytes,
        CASE source
            WHEN 'capture' THEN greatest(lag(at_s, 1, 0) OVER times, at_s - 0.1)
            ELSE lag(at_s, 1, 0) OVER times
        END AS from_s
    FROM points
    WINDOW times AS (PARTITION BY run_id, flow_id ORDER BY at_s)
),
reached AS (
    SELECT
        run_id, flow_id, source, max(at_s) AS last_s, max(acked_bytes) AS acked_bytes,
        arg_min(
            from_s + (at_s - from_s) * (completion_bytes - acked_before_bytes) / (acked_bytes - acked_before_bytes), at_s
        ) FILTER (acked_before_bytes < completion_bytes AND completion_bytes <= acked_bytes) AS reached_s,
        arg_min(at_s - from_s, at_s)
            FILTER (acked_before_bytes < completion_bytes AND completion_bytes <= acked_bytes) AS resolution_s
    FROM steps JOIN wanted USING (run_id, flow_id)
    GROUP BY ALL
)
SELECT
    run_id, flow_id, cc, completion_bytes, reached.acked_bytes, source AS acknowledged_source,
    coalesce(reached_s, last_s) AS acknowledged_s, reached_s IS NOT NULL AS is_complete, resolution_s
FROM wanted LEFT JOIN reached USING (run_id, flow_id)
