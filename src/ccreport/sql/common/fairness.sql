-- How flows of a run share the path over time, as table macros over the views of archive.duckdb: what published tables
-- on fairness and convergence have in common. A selection of runs is given by the name of a view that has their run_id.
-- Views are named with their schema, since a query that uses a macro may have one of the same name in its WITH.

-- Rate of each flow in each whole second of the runs of a view, which is given by name: run_id, flow_id, second,
-- rate_bps. Seconds count from the first sample of the run's data flows, as start_offset_s does. From the bytes that ss
-- saw acknowledged; of runs in which it did not see every flow twice, from the tool's intervals. A second of which a
-- flow's observations cover less than half is left out.
CREATE MACRO flow_seconds(selected) AS TABLE
WITH chosen AS (
    SELECT run_id, flow_id, client_number, start_offset_s
    FROM main.flows
    WHERE run_id IN (SELECT run_id FROM query_table(selected))
),
placed AS (
    SELECT
        run_id, flow_id, acked_bytes,
        epoch_us(time_utc - min(time_utc) OVER (PARTITION BY run_id)) / 1e6 AS time_s
    FROM main.samples
    SEMI JOIN chosen USING (run_id, flow_id)
    WHERE coalesce(tcp_state, 'ESTAB') = 'ESTAB' AND time_utc IS NOT NULL
    QUALIFY connection_number = max(connection_number) OVER (PARTITION BY run_id, flow_id)
),
acknowledged AS (
    SELECT
        run_id, flow_id, lag(time_s) OVER of_flow AS start_s, time_s AS end_s,
        8 * (acked_bytes - lag(acked_bytes) OVER of_flow) / nullif(time_s - lag(time_s) OVER of_flow, 0) AS piece_bps
    FROM placed
    WHERE acked_bytes IS NOT NULL
    WINDOW of_flow AS (PARTITION BY run_id, flow_id ORDER BY time_s)
),
known AS (FROM acknowledged WHERE piece_bps >= 0),
unseen AS (SELECT DISTINCT run_id FROM chosen ANTI JOIN known USING (run_id, flow_id)),
-- Streams of one client share its clock.
offsets AS (
    SELECT
        run_id, flow_id,
        coalesce(min(start_offset_s) OVER (PARTITION BY run_id, client_number), 0) AS offset_s
    FROM chosen
),
reported AS (
    SELECT run_id, flow_id, start_s + offset_s AS start_s, end_s + offset_s AS end_s, interval_bps AS piece_bps
    FROM main.intervals
    JOIN offsets USING (run_id, flow_id)
    WHERE NOT is_omitted AND interval_bps IS NOT NULL
),
pieces AS (
    FROM known ANTI JOIN unseen USING (run_id)
    UNION ALL BY NAME
    FROM reported SEMI JOIN unseen USING (run_id)
),
parts AS (
    SELECT *, unnest(range(floor(start_s)::BIGINT, ceil(end_s)::BIGINT)) AS second
    FROM pieces
    -- A time of more than a day is a broken number.
    WHERE start_s >= 0 AND end_s > start_s AND end_s <= 86400
),
covered AS (SELECT *, least(end_s, second + 1) - greatest(start_s, second) AS covered_s FROM parts)
SELECT
    run_id, flow_id, second,
    sum(piece_bps * covered_s ORDER BY start_s) / sum(covered_s ORDER BY start_s) AS rate_bps
FROM covered
GROUP BY ALL
HAVING sum(covered_s ORDER BY start_s) >= 0.5;

-- What changes the fair share of the runs of a view: run_id, event_number, event (`join` or `stage`), at_s, joined (the
-- algorithms of the flows that join). Flows that were to start at the same time join together; where no such time is
-- declared those that start within a second of each other, as ss samples them up to that far apart. A stage is a change of
-- the path that the job's metadata announces.
CREATE MACRO fairness_events(selected) AS TABLE
WITH chosen AS (
    SELECT run_id, stages_json FROM main.runs WHERE run_id IN (SELECT run_id FROM query_table(selected))
),
starts AS (
    SELECT
        run_id, flow_id, coalesce(algorithms.algorithm, 'unknown') AS algorithm, coalesce(start_offset_s, 0) AS start_s,
        start_declared_s AS declared_s,
        coalesce(
            start_declared_s > lag(start_declared_s) OVER in_order,
            coalesce(start_offset_s, 0) - lag(coalesce(start_offset_s, 0)) OVER in_order > 1,
            TRUE
        ) AS is_first
    FROM main.flows
    SEMI JOIN chosen USING (run_id)
    LEFT JOIN main.algorithms ON algorithms.cc = coalesce(flows.cc, 'unknown')
    WINDOW in_order AS (
        PARTITION BY run_id ORDER BY coalesce(start_declared_s, 0), coalesce(start_offset_s, 0), flow_id
    )
),
groups AS (
    SELECT
        *,
        sum(is_first::INTEGER) OVER (
            PARTITION BY run_id ORDER BY coalesce(declared_s, 0), start_s, flow_id ROWS UNBOUNDED PRECEDING
        ) AS number
    FROM starts
),
joins AS (
    SELECT
        run_id, 'join' AS event, min(start_s) AS at_s,
        array_to_string(list_sort(list(DISTINCT algorithm)), ', ') AS joined
    FROM groups
    GROUP BY run_id, number
),
stages AS (
    SELECT run_id, 'stage' AS event, unnest(from_json(stages_json, '["json"]')) ->> '$.at_s' AS at_s
    FROM chosen
    WHERE json_valid(stages_json)
),
events AS (
    FROM joins
    UNION ALL BY NAME
    SELECT run_id, event, try_cast(at_s AS DOUBLE) AS at_s FROM stages WHERE try_cast(at_s AS DOUBLE) >= 0
)
SELECT
    run_id, row_number() OVER in_order AS event_number, event, at_s,
    coalesce(lead(at_s) OVER in_order, 'infinity') AS until_s, joined
FROM events
WINDOW in_order AS (PARTITION BY run_id ORDER BY at_s, event);

-- How evenly the flows shared in each whole second after each such event and before the next, where there were two:
-- flows_count, jain_ratio (RFC 5166), deviation_ratio (the largest distance of a flow's rate from the mean, over the
-- mean), is_settled (no later second of that event has one above 10 %).
CREATE MACRO fairness_seconds(selected) AS TABLE
WITH seconds AS (
    SELECT
        run_id, second, count(*) AS flows_count,
        sum(rate_bps ORDER BY flow_id) ** 2 / nullif(count(*) * sum(rate_bps ** 2 ORDER BY flow_id), 0) AS jain_ratio,
        list_max(list_transform(
            [list(rate_bps ORDER BY flow_id)], lambda r: list_max(list_transform(r, lambda x: abs(x - list_avg(r))))
        )) / nullif(list_avg(list(rate_bps ORDER BY flow_id)), 0) AS deviation_ratio
    FROM flow_seconds(selected)
    GROUP BY run_id, second
    HAVING count(*) >= 2
),
-- The last second of a run in which all flows of its end were there: what follows is their parting.
lasts AS (
    SELECT run_id, min(last_second) AS last_second
    FROM (
        SELECT run_id, flow_id, max(second) AS last_second, max(max(second)) OVER (PARTITION BY run_id) AS end_second
        FROM flow_seconds(selected)
        GROUP BY run_id, flow_id
    )
    WHERE last_second >= end_second - 2
    GROUP BY run_id
)
SELECT
    events.*, second, flows_count, jain_ratio, deviation_ratio,
    coalesce(bool_and(deviation_ratio <= 0.1) OVER (
        PARTITION BY run_id, event_number ORDER BY second ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ), FALSE) AS is_settled
FROM fairness_events(selected) AS events
JOIN seconds USING (run_id)
JOIN lasts USING (run_id)
WHERE second >= at_s AND second + 1 <= until_s AND second <= last_second;
