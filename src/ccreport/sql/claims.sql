-- What the SQL of claims may use beside the views of archive.duckdb: the table measured, and statistics of its runs.
-- `value`, `low` and `high` (bootstrap 95 % interval) and `n` (runs) are the columns of a check's one row.

-- How often each run is drawn in each of 1000 resamples, each condition drawn from by itself with replacement.
CREATE TEMP TABLE resamples AS
WITH counted AS (
    SELECT DISTINCT condition_id, run_id FROM algorithm_runs WHERE is_counted AND purpose = 'steady'
),
conditions AS (
    SELECT
        condition_id,
        list(run_id ORDER BY run_id) AS run_ids,
        len(run_ids) AS size,
        (md5_number_lower(condition_id) % 2147483647)::BIGINT AS seed
    FROM counted
    GROUP BY condition_id
),
draws AS (SELECT unnest(range(1000)) AS resample),
-- Lists, as a thousand rows for each run would take three times as long. A run is known by its place from 0.
drawn AS (
    SELECT
        condition_id,
        list(
            list_transform(drawn_numbers(resample, seed, size), lambda x: (x % size)::INTEGER) ORDER BY resample
        ) AS resampled
    FROM conditions CROSS JOIN draws
    GROUP BY condition_id
),
placed AS (
    SELECT condition_id, size, unnest(run_ids) AS run_id, unnest(range(size))::INTEGER AS place FROM conditions
)
SELECT
    condition_id,
    run_id,
    size,
    list_transform(
        resampled, lambda drawn_runs: len(list_filter(drawn_runs, lambda other: other = place))::INTEGER
    ) AS times
FROM placed JOIN drawn USING (condition_id);

-- One row per counted run of the steady tests and algorithm. rate, share (of the line rate, that of the path or else of
-- the interface) and retransmits are what the macros below take lists of: x over y, and how often the run is drawn.
CREATE TEMP TABLE measured AS
SELECT
    algorithm_runs.*,
    resamples.size,
    resamples.times,
    coalesce(bottleneck_bps, nic_bps) AS line_rate_bps,
    -- The receiver's rate, or the sender's where no run of such paths has one: as the published tables choose.
    CASE WHEN count(goodput_bps) OVER (PARTITION BY path_class = 'testbed') > 0 THEN goodput_bps ELSE throughput_bps END
        AS rate_bps,
    {'run': run_id, 'x': rate_bps, 'y': 1.0::DOUBLE, 'size': size, 'times': times} AS rate,
    {'run': run_id, 'x': rate_bps / nullif(line_rate_bps, 0), 'y': 1.0::DOUBLE, 'size': size, 'times': times} AS share,
    {'run': run_id, 'x': retransmits_count::DOUBLE, 'y': segments_count, 'size': size, 'times': times} AS retransmits
FROM algorithm_runs
JOIN resamples USING (condition_id, run_id)
WHERE is_counted AND purpose = 'steady';

-- The runs that have a value, in one order whatever the plan.
CREATE TEMP MACRO known_runs(runs) AS
    list_sort(list_filter(coalesce(runs, []), lambda r: r.x IS NOT NULL AND r.y > 0));

-- Sum of x over sum of y: the mean of rates and of shares; of retransmits the ratio of the group, as in its table.
CREATE TEMP MACRO total_of(runs) AS
    list_sum(list_transform(runs, lambda r: r.x)) / nullif(list_sum(list_transform(runs, lambda r: r.y)), 0);

-- The same of each resample. Runs in which both algorithms sent at once are drawn alike on both sides of a quotient.
CREATE TEMP MACRO draws_of(runs) AS
    list_transform(range(1, 1001), lambda b: list_sum(list_transform(runs, lambda r: r.times[b]::DOUBLE * r.x::DOUBLE))
        / nullif(list_sum(list_transform(runs, lambda r: r.times[b]::DOUBLE * r.y::DOUBLE)), 0));

-- As for a cell's interval: null where no condition has two runs to draw from.
CREATE TEMP MACRO interval_of(draws, runs) AS
    CASE WHEN list_max(list_transform(runs, lambda r: r.size)) > 1
    THEN list_aggregate(draws, 'quantile_cont', [0.025, 0.975]) END;

-- A list of one stands for a name: DuckDB would compute an argument anew wherever a macro mentions it.
CREATE TEMP MACRO bounded(value, bounds, n) AS
    list_transform([bounds], lambda b: {'value': value, 'low': b[1], 'high': b[2], 'n': n})[1];

-- Mean (or ratio of the group) of a list of runs.
CREATE TEMP MACRO mean_of(runs) AS
    list_transform([known_runs(runs)], lambda k: bounded(total_of(k), interval_of(draws_of(k), k), len(k)))[1];

-- That of a over that of b; n is that of the side with fewer runs.
CREATE TEMP MACRO quotient_of(a, b) AS
    list_transform([{'a': known_runs(a), 'b': known_runs(b)}], lambda k: bounded(
        total_of(k.a) / nullif(total_of(k.b), 0),
        interval_of(
            list_transform(list_zip(draws_of(k.a), draws_of(k.b)), lambda p: p[1]::DOUBLE / nullif(p[2]::DOUBLE, 0)),
            list_concat(k.a, k.b)
        ),
        least(len(k.a), len(k.b))
    ))[1];
