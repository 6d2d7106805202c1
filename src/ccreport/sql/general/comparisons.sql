-- Comparisons: of each question (a row of a published table, or a set of conditions) and each two algorithms, the values of
-- their runs by stratum: the same path and conditions. ccreport.summarise.statistics.comparisons makes the tests of them.
-- A run is one value. Where both algorithms sent at once, the two values of a run are a pair, and a run that lacks one of
-- them is left out. Of a completion time it may only be known that it is longer than the run was seen.
-- The view comparisons_runs holds the runs of all questions, one row per run, algorithm and measure, with its value.
WITH units AS (
    SELECT
        *,
        -- The logarithm of a run without retransmits: half of one more in each run of such a question.
        CASE
            WHEN measure = 'retransmit_ratio' AND min(value) OVER of_question = 0
                THEN 0.5 / nullif(median(segments_count) OVER of_question, 0)
            ELSE 0
        END AS added_ratio
    FROM comparisons_runs
    WHERE value IS NOT NULL
    WINDOW of_question AS (PARTITION BY table_name, measure, question)
),
samples AS (
    SELECT
        table_name, measure, question, stratum, sharing = 'both' AS is_paired, algorithm,
        min(algorithm_rank) AS algorithm_rank,
        min(table_rank) AS table_rank,
        min(question_rank) AS question_rank,
        min(equal_within_pct) AS equal_within_pct,
        min(added_ratio) AS added_ratio,
        list({'run': run_id, 'value': value::DOUBLE, 'is_known': is_known} ORDER BY run_id) AS units
    FROM units
    GROUP BY ALL
),
joined AS (
    SELECT
        one.* EXCLUDE (algorithm, algorithm_rank, units),
        one.algorithm AS first_algorithm,
        other.algorithm AS second_algorithm,
        one.algorithm_rank AS first_rank,
        other.algorithm_rank AS second_rank,
        one.units AS first_units,
        other.units AS second_units,
        list_transform(one.units, lambda u: u.run) AS first_runs,
        list_transform(other.units, lambda u: u.run) AS second_runs
    FROM samples AS one
    JOIN samples AS other USING (table_name, measure, question, stratum, is_paired)
    WHERE (one.algorithm_rank, one.algorithm) < (other.algorithm_rank, other.algorithm)
),
strata AS (
    SELECT
        *,
        list_transform(first_kept, lambda u: u.value) AS first_values,
        list_transform(second_kept, lambda u: u.value) AS second_values
    FROM (
        SELECT
            *,
            list_filter(first_units, lambda u: NOT is_paired OR list_contains(second_runs, u.run)) AS first_kept,
            list_filter(second_units, lambda u: NOT is_paired OR list_contains(first_runs, u.run)) AS second_kept
        FROM joined
    )
    WHERE NOT is_paired OR list_has_any(first_runs, second_runs)
)
SELECT
    table_name,
    measure,
    question,
    first_algorithm,
    second_algorithm,
    bool_and(is_paired) AS is_paired,
    count(*) AS strata_count,
    sum(len(first_values))::BIGINT AS first_runs_count,
    sum(len(second_values))::BIGINT AS second_runs_count,
    -- A run that took longer than it was seen has no time to be averaged.
    CASE WHEN count_if(len(list_filter(list_concat(first_kept, second_kept), lambda u: NOT u.is_known)) > 0) = 0
        THEN list_avg(list(list_avg(first_values) ORDER BY stratum)) END AS first_mean,
    CASE WHEN first_mean IS NOT NULL THEN list_avg(list(list_avg(second_values) ORDER BY stratum)) END AS second_mean,
    min(equal_within_pct) AS equal_within_pct,
    min(added_ratio) AS added_ratio,
    list({
        'is_paired': is_paired, 'first': first_values, 'second': second_values,
        'first_known': list_transform(first_kept, lambda u: u.is_known),
        'second_known': list_transform(second_kept, lambda u: u.is_known)
    } ORDER BY stratum) AS strata
FROM strata
GROUP BY table_name, measure, question, first_algorithm, second_algorithm
ORDER BY
    min(table_rank), min(question_rank), measure, question, min(first_rank), first_algorithm, min(second_rank),
    second_algorithm, table_name
