-- What the SQL of claims may use beside the views of archive.duckdb: the table measured, and statistics of its runs.
-- `value`, `low` and `high` (bootstrap 95 % interval) and `n` (runs) are the columns of a check's one row.

-- Where each run stands among those of its condition, which are drawn from by themselves, with replacement: `place` from 0
-- of `size`; the same for all algorithms of a run.
CREATE TEMP TABLE drawn_runs AS
WITH counted AS (
    SELECT DISTINCT condition_id, run_id FROM algorithm_runs WHERE is_counted AND purpose = 'steady'
)
SELECT
    condition_id,
    run_id,
    {
        'condition': dense_rank() OVER (ORDER BY condition_id),
        'seed': (md5_number_lower(condition_id) % 2147483647)::BIGINT,
        'size': count(*) OVER (PARTITION BY condition_id),
        'place': row_number() OVER (PARTITION BY condition_id ORDER BY run_id) - 1
    } AS draw
FROM counted;

-- One row per counted run of the steady tests and algorithm. rate, share (of the line rate, that of the path or else of
-- the interface) and retransmits are what the macros below take lists of: x over y, and how the run is drawn.
CREATE TEMP TABLE measured AS
SELECT
    algorithm_runs.*,
    draw,
    coalesce(bottleneck_bps, nic_bps) AS line_rate_bps,
    -- The receiver's rate, or the sender's where no run of such paths has one: as the published tables choose.
    CASE WHEN count(goodput_bps) OVER (PARTITION BY path_class = 'testbed') > 0 THEN goodput_bps ELSE throughput_bps END
        AS rate_bps,
    {'draw': draw, 'x': rate_bps, 'y': 1.0::DOUBLE} AS rate,
    {'draw': draw, 'x': rate_bps / nullif(line_rate_bps, 0), 'y': 1.0::DOUBLE} AS share,
    {'draw': draw, 'x': retransmits_count::DOUBLE, 'y': segments_count} AS retransmits
FROM algorithm_runs
JOIN drawn_runs USING (condition_id, run_id)
WHERE is_counted AND purpose = 'steady';

-- The runs that have a value, in one order whatever the plan.
CREATE TEMP MACRO known_runs(runs) AS
    list_sort(list_filter(coalesce(runs, []), lambda r: r.x IS NOT NULL AND r.y > 0));

-- Sum of x over sum of y: the mean of rates and of shares; of retransmits the ratio of the group, as in its table.
CREATE TEMP MACRO total_of(runs) AS
    list_sum(list_transform(runs, lambda r: r.x)) / nullif(list_sum(list_transform(runs, lambda r: r.y)), 0);

-- The conditions of a list of runs: what their draws are made of, and x and y by place, 0 where none of the runs stands.
CREATE TEMP MACRO conditions_of(runs) AS
    list_transform(
        list_sort(list_distinct(list_transform(runs, lambda r: struct_pack(
            number := r.draw.condition, seed := r.draw.seed, size := r.draw.size
        )))),
        lambda c: list_transform([list_filter(runs, lambda r: r.draw.condition = c.number)], lambda own: {
            'seed': c.seed,
            'size': c.size,
            'values': list_transform(range(c.size), lambda i: list_transform(
                [list_filter(own, lambda r: r.draw.place = i)],
                lambda there: {
                    'x': coalesce(list_sum(list_transform(there, lambda r: r.x::DOUBLE)), 0),
                    'y': coalesce(list_sum(list_transform(there, lambda r: r.y::DOUBLE)), 0)
                }
            )[1])
        })[1]
    );

-- total_of each of 1000 resamples. Runs in which both algorithms sent at once are drawn alike on both sides of a quotient.
CREATE TEMP MACRO draws_of(runs) AS
    list_transform([conditions_of(runs)], lambda conditions: list_transform(range(1000), lambda b: list_transform(
        [flatten(list_transform(conditions, lambda c: list_transform(
            drawn_numbers(b, c.seed, c.size), lambda number: c.values[1 + number % c.size]
        )))],
        lambda drawn: total_of(drawn)
    )[1]))[1];

-- As for a cell's interval: null where no condition has two runs to draw from.
CREATE TEMP MACRO interval_of(draws, runs) AS
    CASE WHEN list_max(list_transform(runs, lambda r: r.draw.size)) > 1
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
