-- What the SQL of claims may use beside the views of archive.duckdb: the table measured, and statistics of its runs.
-- `value`, `low` and `high` (bootstrap 95 % interval) and `n` (runs) are the columns of a check's one row, or the fields of
-- the one struct that it is.

-- Where each run stands among those of its condition, which are drawn from by themselves, with replacement: `place` from 1
-- to `size`; the same for all algorithms of a run.
CREATE TEMP TABLE drawn_runs AS
WITH counted AS (
    SELECT DISTINCT condition_id, run_id FROM algorithm_runs WHERE is_counted AND purpose = 'steady'
)
SELECT
    condition_id,
    run_id,
    {
        'condition': condition_id,
        'size': count(*) OVER (PARTITION BY condition_id),
        'place': row_number() OVER (PARTITION BY condition_id ORDER BY run_id)
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

-- The conditions of a list of runs, with x and y by place, 0 where none of the runs stands.
CREATE TEMP MACRO strata_of(runs) AS (
    SELECT list({'condition': condition, 'size': size, 'totals': totals} ORDER BY condition)
    FROM (
        SELECT condition, size, list({'x': x, 'y': y} ORDER BY place) AS totals
        FROM (
            SELECT condition, size, one.place AS place, sum(one.x ORDER BY one.x) AS x, sum(one.y ORDER BY one.y) AS y
            FROM (
                SELECT condition, size, unnest(list_concat(standing, list_transform(
                    range(1, size + 1), lambda place: {'place': place, 'x': 0::DOUBLE, 'y': 0::DOUBLE}
                ))) AS one
                FROM (
                    SELECT
                        r.draw.condition AS condition,
                        r.draw.size AS size,
                        list({'place': r.draw.place, 'x': r.x::DOUBLE, 'y': r.y::DOUBLE}) AS standing
                    FROM (SELECT unnest(runs) AS r)
                    GROUP BY ALL
                )
            )
            GROUP BY ALL
        )
        GROUP BY ALL
    )
);

-- total_of each of 1000 resamples, as for a cell's interval. Runs in which both algorithms sent at once are drawn alike on
-- both sides of a quotient.
CREATE TEMP MACRO draws_of(runs) AS (
    SELECT list(total ORDER BY resample)
    FROM (
        SELECT resample, sum(drawn.x) / nullif(sum(drawn.y), 0) AS total
        FROM (
            SELECT resample, totals[drawn_index(resample, place, size)] AS drawn
            FROM (
                SELECT size, totals, place, unnest(drawn_resamples()) AS resample
                FROM (
                    SELECT s.size AS size, s.totals AS totals, drawn_number(s.condition, unnest(range(s.size))) AS place
                    FROM (SELECT unnest(strata_of(runs)) AS s)
                )
            )
        )
        GROUP BY resample
    )
);

-- As for a cell's interval: null where no condition has two runs to draw from.
CREATE TEMP MACRO interval_of(draws, runs) AS
    CASE WHEN list_max(list_transform(runs, lambda r: r.draw.size)) > 1
    THEN list_aggregate(draws, 'quantile_cont', [0.025, 0.975]) END;

-- Mean (or ratio of the group) of a list of runs.
CREATE TEMP MACRO mean_of(runs) AS (
    SELECT {'value': total_of(known), 'low': bounds[1], 'high': bounds[2], 'n': len(known)}
    FROM (
        SELECT known_runs(runs) AS known, interval_of(draws_of(known_runs(runs)), known_runs(runs)) AS bounds
    )
);

-- That of a over that of b; n is that of the side with fewer runs.
CREATE TEMP MACRO quotient_of(a, b) AS (
    SELECT {
        'value': total_of(known_a) / nullif(total_of(known_b), 0),
        'low': bounds[1],
        'high': bounds[2],
        'n': least(len(known_a), len(known_b))
    }
    FROM (
        SELECT
            known_a,
            known_b,
            interval_of(
                list_transform(list_zip(draws_a, draws_b), lambda p: p[1] / nullif(p[2], 0)), list_concat(known_a, known_b)
            ) AS bounds
        FROM (
            SELECT
                known_runs(a) AS known_a,
                known_runs(b) AS known_b,
                draws_of(known_runs(a)) AS draws_a,
                draws_of(known_runs(b)) AS draws_b
        )
    )
);
