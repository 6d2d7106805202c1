-- Comparisons: two algorithms under the same conditions, by goodput (or throughput) and retransmit ratio of the runs and
-- by the completion times of flows: medians, Hodges-Lehmann shift and Cliff's delta (share of pairs in which the first is
-- larger less that in which it is smaller). The shift of two samples is the median of all differences, first less second;
-- that of pairs the median of the means of any two of their differences. The columns first_values and second_values are
-- the samples; ccreport.measure.comparisons makes the rank tests of them. Where both algorithms sent at once, the rates
-- of a run are a pair, and values are in the order of the runs.
-- The view comparisons_runs holds the runs that the evaluation selects, one row per run and algorithm.
WITH conditioned AS (
    SELECT
        *,
        rate_bps AS rate,
        -- An RTT that was measured differs from run to run: the destination stands for it.
        CASE WHEN coalesce(rtt_source, '') NOT IN ('ping', 'ss', 'iperf3') THEN rtt_ms END AS path_rtt_ms
    FROM comparisons_runs
),
-- Of runs some of whose completions a capture tells, only these, as in the table of completion times.
completions AS (
    SELECT run_id, flow_id, coalesce(cc, 'unknown') AS cc, completion_source, completion_s
    FROM flows
    SEMI JOIN comparisons_runs USING (run_id)
    WHERE completion_s IS NOT NULL
    QUALIFY completion_source = 'capture' OR NOT bool_or(completion_source = 'capture') OVER (PARTITION BY run_id)
),
observed AS (
    SELECT
        * REPLACE (CASE measure WHEN 'rate' THEN rate_basis || '_bps' ELSE measure END AS measure),
        run_id AS unit_id, sharing = 'both' AS is_paired
    FROM conditioned UNPIVOT (value FOR measure IN (rate AS 'rate', retransmit_ratio AS 'retransmit_ratio'))
    WHERE volume_bytes IS NULL
    UNION ALL BY NAME
    SELECT
        runs.*, flow_id AS unit_id, FALSE AS is_paired, 'completion_s (' || completion_source || ')' AS measure,
        completion_s AS value
    FROM conditioned AS runs
    JOIN completions USING (run_id, cc)
    WHERE volume_bytes IS NOT NULL
),
samples_of AS (
    SELECT
        measure, is_paired, sharing, beside, host, flows_count, path_rtt_ms, loss_pct, nic_bps, pacing_bps,
        bottleneck_bps, background_udp_bps, parameter_name, parameter_value, buffer_bytes, volume_bytes, algorithm,
        algorithm_rank, min(rtt_ms) AS rtt_ms,
        list({'run': run_id, 'value': value} ORDER BY run_id, unit_id) AS units
    FROM observed
    GROUP BY ALL
),
joined AS (
    SELECT
        one.* EXCLUDE (algorithm, algorithm_rank, units, rtt_ms),
        least(one.rtt_ms, other.rtt_ms) AS rtt_ms,
        one.algorithm AS first_algorithm,
        other.algorithm AS second_algorithm,
        one.algorithm_rank AS first_rank,
        other.algorithm_rank AS second_rank,
        one.units AS first_units,
        other.units AS second_units,
        list_transform(one.units, lambda u: u.run) AS first_runs,
        list_transform(other.units, lambda u: u.run) AS second_runs
    FROM samples_of AS one
    JOIN samples_of AS other
        ON one.measure = other.measure AND one.sharing = other.sharing AND one.flows_count = other.flows_count
        AND one.beside IS NOT DISTINCT FROM other.beside AND one.host IS NOT DISTINCT FROM other.host
        AND one.path_rtt_ms IS NOT DISTINCT FROM other.path_rtt_ms
        AND one.loss_pct IS NOT DISTINCT FROM other.loss_pct AND one.nic_bps IS NOT DISTINCT FROM other.nic_bps
        AND one.pacing_bps IS NOT DISTINCT FROM other.pacing_bps
        AND one.bottleneck_bps IS NOT DISTINCT FROM other.bottleneck_bps
        AND one.background_udp_bps IS NOT DISTINCT FROM other.background_udp_bps
        AND one.parameter_name IS NOT DISTINCT FROM other.parameter_name
        AND one.parameter_value IS NOT DISTINCT FROM other.parameter_value
        AND one.buffer_bytes IS NOT DISTINCT FROM other.buffer_bytes
        AND one.volume_bytes IS NOT DISTINCT FROM other.volume_bytes
        AND (one.algorithm_rank, one.algorithm) < (other.algorithm_rank, other.algorithm)
),
-- A run that lacks the value of one of its algorithms is not a pair.
pairs AS (
    SELECT
        * EXCLUDE (first_units, second_units),
        list_transform(
            list_filter(first_units, lambda u: NOT is_paired OR list_contains(second_runs, u.run)), lambda u: u.value
        ) AS first_values,
        list_transform(
            list_filter(second_units, lambda u: NOT is_paired OR list_contains(first_runs, u.run)), lambda u: u.value
        ) AS second_values,
        CASE
            WHEN is_paired THEN len(list_intersect(first_runs, second_runs))
            ELSE least(len(list_distinct(first_runs)), len(list_distinct(second_runs)))
        END AS runs_count
    FROM joined
),
differences AS (
    SELECT
        *,
        flatten(list_transform(first_values, lambda x: list_transform(second_values, lambda y: x - y))) AS differences,
        list_transform(
            range(1, len(first_values) + 1), lambda i: first_values[i] - second_values[i]
        ) AS paired_differences
    FROM pairs
    WHERE len(first_values) > 0 AND len(second_values) > 0
)
SELECT
    measure,
    sharing,
    beside,
    host,
    flows_count,
    rtt_ms,
    loss_pct,
    nic_bps,
    pacing_bps,
    bottleneck_bps,
    background_udp_bps,
    parameter_name,
    parameter_value,
    buffer_bytes,
    volume_bytes,
    first_algorithm,
    second_algorithm,
    is_paired,
    runs_count,
    len(first_values) AS first_count,
    len(second_values) AS second_count,
    list_median(first_values) AS first_median,
    list_median(second_values) AS second_median,
    CASE
        WHEN is_paired THEN list_median(flatten(list_transform(
            paired_differences, lambda x, i: list_transform(paired_differences[i:], lambda y: (x + y) / 2)
        )))
        ELSE list_median(differences)
    END AS shift,
    list_avg(list_transform(differences, lambda d: sign(d)::DOUBLE)) AS cliffs_delta_ratio,
    first_values,
    second_values
FROM differences
ORDER BY
    measure, sharing, beside, host, flows_count, volume_bytes, rtt_ms, loss_pct, nic_bps, pacing_bps, bottleneck_bps,
    background_udp_bps, parameter_name, parameter_value, buffer_bytes, first_rank, first_algorithm, second_rank,
    second_algorithm
