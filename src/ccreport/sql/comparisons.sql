-- Comparisons: two algorithms under the same conditions, by goodput (or throughput) and retransmit ratio of the runs and
-- by the completion times of flows: medians, Hodges-Lehmann shift (median of all differences, first less second) and
-- Cliff's delta (share of pairs in which the first is larger less that in which it is smaller). The columns
-- first_values and second_values are the samples; ccreport.measure.comparisons makes the rank tests of them. Where both
-- algorithms sent at once, the samples are pairs, in the order of the runs.
-- The view comparisons_runs holds the runs that the evaluation selects, one row per run and algorithm.
WITH observed AS (
    SELECT
        * REPLACE (CASE measure WHEN 'rate' THEN rate_basis || '_bps' ELSE measure END AS measure),
        run_id AS unit_id, sharing = 'both' AS is_paired
    FROM (SELECT *, rate_bps AS rate FROM comparisons_runs)
    UNPIVOT (value FOR measure IN (rate AS 'rate', retransmit_ratio AS 'retransmit_ratio'))
    WHERE volume_bytes IS NULL
    UNION ALL BY NAME
    SELECT
        runs.*, flow_id AS unit_id, FALSE AS is_paired, 'completion_s (' || completion_source || ')' AS measure,
        completion_s AS value
    FROM comparisons_runs AS runs
    JOIN flows ON flows.run_id = runs.run_id AND coalesce(flows.cc, 'unknown') = runs.cc
    WHERE volume_bytes IS NOT NULL AND completion_s IS NOT NULL
),
samples_of AS (
    SELECT
        measure, is_paired, sharing, flows_count, rtt_ms, loss_pct, buffer_bytes, volume_bytes, algorithm,
        algorithm_rank, list(value ORDER BY run_id, unit_id) AS numbers, list(run_id ORDER BY run_id, unit_id) AS runs
    FROM observed
    GROUP BY ALL
),
pairs AS (
    SELECT
        one.* EXCLUDE (algorithm, algorithm_rank, numbers, runs),
        one.algorithm AS first_algorithm,
        other.algorithm AS second_algorithm,
        one.algorithm_rank AS first_rank,
        other.algorithm_rank AS second_rank,
        one.numbers AS first_values,
        other.numbers AS second_values
    FROM samples_of AS one
    JOIN samples_of AS other
        ON one.measure = other.measure AND one.sharing = other.sharing AND one.flows_count = other.flows_count
        AND one.rtt_ms IS NOT DISTINCT FROM other.rtt_ms AND one.loss_pct IS NOT DISTINCT FROM other.loss_pct
        AND one.buffer_bytes IS NOT DISTINCT FROM other.buffer_bytes
        AND one.volume_bytes IS NOT DISTINCT FROM other.volume_bytes
        AND (one.algorithm_rank, one.algorithm) < (other.algorithm_rank, other.algorithm)
    -- A run that lacks the value of one of its algorithms is no pair, and then the runs are two samples.
    WHERE NOT one.is_paired OR one.runs = other.runs
),
differences AS (
    SELECT
        *,
        flatten(list_transform(first_values, lambda x: list_transform(second_values, lambda y: x - y))) AS differences
    FROM pairs
)
SELECT
    measure,
    sharing,
    flows_count,
    rtt_ms,
    loss_pct,
    buffer_bytes,
    volume_bytes,
    first_algorithm,
    second_algorithm,
    is_paired,
    len(first_values) AS first_count,
    len(second_values) AS second_count,
    list_median(first_values) AS first_median,
    list_median(second_values) AS second_median,
    list_median(differences) AS shift,
    list_avg(list_transform(differences, lambda d: sign(d)::DOUBLE)) AS cliffs_delta_ratio,
    first_values,
    second_values
FROM differences
ORDER BY
    measure, sharing, flows_count, volume_bytes, rtt_ms, loss_pct, buffer_bytes, first_rank, first_algorithm,
    second_rank, second_algorithm
