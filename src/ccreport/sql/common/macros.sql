-- The statistics of a cell, over `strata`: one list of rates (or ratios) for each condition that the cell pools.
-- They stay in archive.duckdb, so that the queries beside this file run there unchanged.

CREATE MACRO cell_count(strata) AS len(flatten(strata));

CREATE MACRO cell_mean(strata) AS list_avg(flatten(strata));

-- Coefficient of variation: sample standard deviation (n - 1) over mean. Null for a single run.
CREATE MACRO cell_cv(strata) AS
    list_aggregate(flatten(strata), 'stddev_samp') / nullif(list_avg(flatten(strata)), 0);

-- Mean of the CVs of the conditions that have at least two runs: what is left without the differences between them.
CREATE MACRO cell_within_cv(strata) AS
    list_avg(list_transform(strata, lambda s: list_aggregate(s, 'stddev_samp') / nullif(list_avg(s), 0)));

-- The rate of several flows together: the sum where they sent side by side; else what all of them moved over the time from the
-- first one's start to the last one's end. As the function of that name (measure/runs.py) has it for all flows of a run.
CREATE MACRO sum_rates(rate, seconds, start_s, resolution_s, flow_id) AS CASE
    WHEN count(rate) < count(*) THEN NULL
    WHEN count(seconds) = count(*)
        AND max(greatest(start_s - coalesce(resolution_s, 0), 0) + seconds)
            - min(greatest(start_s - coalesce(resolution_s, 0), 0)) > 1.1 * min(seconds)
        THEN sum(rate * seconds ORDER BY flow_id) / (max(start_s + seconds) - min(start_s))
    ELSE sum(rate ORDER BY flow_id)
END;

-- What a row says of a setting of all its runs: their common value, null where they differ or one of them has none.
CREATE MACRO common_value(value) AS CASE WHEN min(value) = max(value) AND count(value) = count(*) THEN min(value) END;
-- The same of a source, of which there are several.
CREATE MACRO common_source(value) AS CASE WHEN min(value) < max(value) THEN 'mixed' ELSE min(value) END;

-- By what values of a parameter are in the order in which people count: 0.25 is before 0.5, but version 6.2 before 6.12. They
-- are versions where the parameter's name says so, or with several dots. Figures do the same (condition_cells.py).
CREATE MACRO are_versions(value, name) AS
    regexp_matches(coalesce(name, ''), '(?i)kernel|build|version|release') OR regexp_matches(value, '\d\.\d+\.\d');
CREATE MACRO natural_key(value, name) AS {
    'number': CASE WHEN NOT are_versions(value, name) THEN try_cast(value AS DOUBLE) END,
    'text': array_to_string(list_transform(
        regexp_extract_all(value, '\d+|\D+'),
        lambda piece: CASE WHEN piece[1] BETWEEN '0' AND '9' THEN lpad(piece, greatest(len(piece), 18)::INTEGER, '0') ELSE piece END
    ), '')
};

-- Quantiles for the 95 % intervals below, for degrees of freedom from 1 on, fractions included. DuckDB has none, so these
-- are polynomials fitted to scipy's t.ppf and chi2.ppf; the largest error is 0.01 %.
-- Student's t at 0.975.
CREATE MACRO student_quantile(df) AS exp(
    0.67291332 + (1.21110129 + (0.69739978 + (0.21002157 + (-0.39650055 + (0.16936946 - 0.02220538 / df) / df) / df) / df)
    / df) / df
);
-- Degrees of freedom over chi-square at 0.975 and at 0.025: the ends of a variance's interval, over the variance.
CREATE MACRO variance_low(df) AS exp(
    (-2.771551 + (1.942545 + (-1.333057 + (0.842531 + (-0.372856 + 0.078194 / sqrt(df)) / sqrt(df)) / sqrt(df)) / sqrt(df))
    / sqrt(df)) / sqrt(df)
);
CREATE MACRO variance_high(df) AS exp(
    (2.773512 + (1.900027 + (1.813131 + (-1.114249 + (5.156123 + (-5.202574 + 1.599928 / sqrt(df)) / sqrt(df)) / sqrt(df))
    / sqrt(df)) / sqrt(df)) / sqrt(df)) / sqrt(df)
);

-- Spread of the logarithm of a statistic: the variance of its error, and its degrees of freedom after Satterthwaite (1946).
-- `parts` has a list for each condition: how far each of its runs moves the logarithm. Only differences within a condition
-- count. Null below two degrees of freedom within conditions, so always for one run and for two.
-- What a macro is given is put wherever the macro names it, and planned as often: one that is given more than a column names it
-- once, in its innermost query. One that is given columns is an expression: each query within a query doubles what planning takes.
-- ASSUME: a condition with a single run varies as much as the others of its cell.
CREATE MACRO log_spread(parts) AS (
    SELECT {
        'variance': variance,
        'df': variance ** 2 / nullif(list_sum(list_transform(conditions, lambda c: c.variance ** 2 / c.df)), 0)
    }
    FROM (
        SELECT conditions, list_sum(list_transform(conditions, lambda c: c.variance)) AS variance
        FROM (
            SELECT list_transform(list_filter(named, lambda p: len(p) > 1), lambda p: {
                'df': len(p) - 1,
                'variance': list_aggregate(p, 'var_samp') * (len(p) + singles * (len(p) - 1) / within_df)
            }) AS conditions
            FROM (
                SELECT
                    named, list_sum(list_transform(named, lambda p: greatest(len(p) - 1, 0))) AS within_df,
                    len(list_filter(named, lambda p: len(p) = 1)) AS singles
                FROM (SELECT parts AS named)
            )
            WHERE within_df >= 2
        )
    )
);

-- Half width of the 95 % interval of the logarithm of a value with this spread: none where runs do not differ.
CREATE MACRO half_width_of(spread) AS
    coalesce(sqrt((spread).variance) * student_quantile((spread).df), 0 * (spread).variance);

-- The values of a cell without missing ones.
CREATE MACRO known_strata(strata) AS list_filter(
    list_transform(coalesce(strata, []), lambda s: list_filter(coalesce(s, []), lambda x: x IS NOT NULL)),
    lambda s: len(s) > 0
);

-- 95 % interval of the mean of values of which none is negative, as [low, high]: Student's t on the logarithm of the mean.
-- Null where there are too few runs, and where all values are 0.
CREATE MACRO cell_interval(strata) AS (
    SELECT CASE WHEN mean * half_width IS NOT NULL THEN [mean / exp(half_width), mean * exp(half_width)] END
    FROM (
        SELECT mean, half_width_of(spread) AS half_width
        FROM (
            SELECT
                total / len(flatten(known)) AS mean,
                log_spread(list_transform(known, lambda s: list_transform(s, lambda x: x / total))) AS spread
            FROM (SELECT known, nullif(list_sum(flatten(known))::DOUBLE, 0) AS total FROM (SELECT known_strata(strata) AS known))
        )
    )
);

-- 95 % interval of the CV, as [low, high]. The variance of a cell is that within its conditions, whose interval is
-- chi-square's with Satterthwaite's degrees of freedom, and that between them; this and the mean move with the conditions'
-- means, whose errors are normal. Both are put together on the logarithm of the CV (Zou and Donner 2008). Null below two
-- degrees of freedom within conditions, and where a condition has a single run.
CREATE MACRO cell_cv_interval(strata) AS (
    SELECT [cv * exp(-sqrt(below ** 2 + moved)), cv * exp(sqrt(above ** 2 + moved))]
    FROM (
        SELECT
            cv,
            coalesce(ln(variance / greatest(
                variance - within * (1 - variance_low(df)),
                within * variance_low(df) * (runs - len(conditions)) / (runs - 1)
            )) / 2, 0) AS below,
            coalesce(ln((variance + within * (variance_high(df) - 1)) / variance) / 2, 0) AS above,
            1.959964 ** 2 * list_sum(list_transform(conditions, lambda c: c.variance * c.size * (
                (c.mean - mean) / ((runs - 1) * variance) - 1 / (runs * mean)
            ) ** 2)) AS moved
        FROM (
            SELECT
                *, (cv * mean) ** 2 AS variance,
                within ** 2 / nullif(list_sum(list_transform(
                    conditions, lambda c: (c.size * c.variance / runs) ** 2 / (c.size - 1)
                )), 0) AS df
            FROM (
                SELECT
                    *,
                    list_sum(list_transform(conditions, lambda c: c.size * c.variance)) / runs AS within
                FROM (
                    SELECT
                        cell_count(known) AS runs, cell_mean(known) AS mean, nullif(cell_cv(known), 0) AS cv,
                        list_transform(known, lambda s: {
                            'size': len(s), 'mean': list_avg(s), 'variance': list_aggregate(s, 'var_samp')
                        }) AS conditions
                    FROM (SELECT known_strata(strata) AS known)
                    WHERE len(flatten(known)) - len(known) >= 2 AND list_min(list_transform(known, lambda s: len(s))) >= 2
                )
            )
        )
    )
    WHERE cv IS NOT NULL
);

-- A list of coefficients of variation, each a struct of `cv`, `weight` and `variance` (of the error of its logarithm). Of a
-- pooled cell the variance is that which its interval has; of a condition's n runs that of a normal sample.
CREATE MACRO pooled_cvs(strata) AS list_transform(list_filter([{'cv': cell_cv(strata), 'bounds': cell_cv_interval(strata)}],
    lambda c: c.cv IS NOT NULL),
    lambda c: {'cv': c.cv, 'weight': 1.0::DOUBLE, 'variance': (ln(c.bounds[2] / c.bounds[1]) / 2 / 1.959964) ** 2});
CREATE MACRO within_cvs(strata) AS list_transform(list_filter(strata, lambda s: len(s) > 1), lambda s: {
    'cv': list_aggregate(s, 'stddev_samp') / list_avg(s), 'weight': 1 / len(list_filter(strata, lambda t: len(t) > 1)),
    'variance': 0.5 / (len(s) - 1) + (list_aggregate(s, 'stddev_samp') / list_avg(s)) ** 2 / len(s)
});

CREATE MACRO sum_cvs(cvs) AS (
    SELECT {
        'total': list_sum(list_sort(list_transform(named, lambda c: c.cv * c.weight))),
        'weight': list_sum(list_sort(list_transform(named, lambda c: c.weight))),
        -- Null where one of them has no interval.
        'variance': CASE WHEN len(list_filter(named, lambda c: c.variance IS NULL)) = 0 THEN
            list_sum(list_sort(list_transform(named, lambda c: (c.cv * c.weight) ** 2 * c.variance)))
            / nullif(list_sum(list_sort(list_transform(named, lambda c: c.cv * c.weight))), 0) ** 2
        END
    }
    FROM (SELECT cvs AS named)
);

-- The weighted mean of CVs in a over that in b, with n of runs.
-- ASSUME: where two algorithms sent at once, how much each one's rate varies tells nothing of how much the other's does.
CREATE MACRO cv_quotient(a, b, n) AS (
    SELECT {
        'value': value, 'low': value / exp(1.959964 * error), 'high': value * exp(1.959964 * error), 'n': coalesce(n, 0)
    }
    FROM (
        SELECT
            (in_a.total / in_a.weight) / nullif(in_b.total / in_b.weight, 0) AS value,
            sqrt(in_a.variance + in_b.variance) AS error
        FROM (SELECT sum_cvs(a) AS in_a, sum_cvs(b) AS in_b)
    )
);

-- Lists of runs, each a struct of `run` (its condition and id) and of x and y, whose sums are divided: the mean of rates, where y
-- is 1, and the retransmit ratio of a group. mean_of and quotient_of return `value`, `low`, `high` (95 % interval) and `n` (runs).

-- The runs that have a value, in one order whatever the plan.
CREATE MACRO known_runs(runs) AS
    list_sort(list_filter(coalesce(runs, []), lambda r: r.x IS NOT NULL AND r.y > 0));

-- Sum of x over sum of y: the mean of rates and of shares; of retransmits the ratio of the group, as in its table.
CREATE MACRO total_of(runs) AS
    list_sum(list_transform(runs, lambda r: r.x)) / nullif(list_sum(list_transform(runs, lambda r: r.y)), 0);

-- What each run does to the logarithm of total_of(a), less what it does to that of total_of(b): a list for each condition.
-- Runs in which both algorithms sent at once are one run on both sides. Of each side only the differences within a condition
-- count, so that a run which is on one side only adds nothing on the other.
CREATE MACRO parts_of(a, b) AS (
    SELECT list(parts ORDER BY condition)
    FROM (
        SELECT condition, list(part ORDER BY id) AS parts
        FROM (
            SELECT condition, one.id AS id, sum(one.part - mean ORDER BY side) AS part
            FROM (
                SELECT
                    condition, side, unnest(standing) AS one,
                    list_avg(list_transform(standing, lambda s: s.part)) AS mean
                FROM (
                    SELECT condition, side, list({'id': id, 'part': part} ORDER BY id) AS standing
                    FROM (
                        SELECT
                            r.run.condition AS condition, side, r.run.id AS id,
                            sum(sign * (r.x / nullif(x_total, 0) - r.y / y_total) ORDER BY r.x, r.y) AS part
                        FROM (
                            SELECT
                                side, unnest(members) AS r, CASE side WHEN 1 THEN 1 ELSE -1 END AS sign,
                                list_sum(list_transform(members, lambda one: one.x)) AS x_total,
                                list_sum(list_transform(members, lambda one: one.y)) AS y_total
                            FROM (SELECT unnest([a, b]) AS members, unnest([1, 2]) AS side)
                        )
                        GROUP BY ALL
                    )
                    GROUP BY ALL
                )
            )
            GROUP BY ALL
        )
        GROUP BY ALL
    )
);

-- How many runs there are in a list that may have a run once for each of its algorithms.
CREATE MACRO count_runs(runs) AS len(list_distinct(list_transform(runs, lambda r: r.run)));

-- Whether two degrees of freedom are left within the conditions of a list of runs.
CREATE MACRO has_spread(runs) AS
    count_runs(runs)
    - len(list_distinct(list_transform(runs, lambda r: r.run.condition))) >= 2;

-- Spread of the logarithm of total_of(a) over total_of(b); null where either side alone has too few runs.
CREATE MACRO quotient_spread(a, b) AS CASE WHEN has_spread(a) AND has_spread(b) THEN log_spread(parts_of(a, b)) END;

-- Value with the ends of its 95 % interval and the degrees of freedom: Student's t on the logarithm of the value.
CREATE MACRO with_interval(value, half_width, n, df) AS {
    'value': value, 'low': nullif(value, 0) / exp(half_width), 'high': nullif(value, 0) * exp(half_width), 'n': n, 'df': df
};

-- Mean (or ratio of the group) of a list of runs. Where values may be negative, Student's t is not on the logarithm. Where
-- nothing was counted (no segment of many was retransmitted), the upper end is the exact Poisson limit of the ratio.
-- ASSUME: where no run of a condition retransmits, losses are independent of each other.
CREATE MACRO mean_of(runs) AS (
    SELECT CASE
        WHEN is_signed THEN {
            'value': value, 'low': value - abs(value) * half_width, 'high': value + abs(value) * half_width, 'n': n,
            'df': (spread).df
        }
        WHEN value = 0 AND y_total > n THEN {'value': value, 'low': 0.0, 'high': 3.688879 / y_total, 'n': n, 'df': NULL}
        ELSE with_interval(value, half_width, n, (spread).df)
    END
    FROM (
        SELECT *, half_width_of(spread) AS half_width
        FROM (
            SELECT
                count_runs(known) AS n, total_of(known) AS value, log_spread(parts_of(known, [])) AS spread,
                list_sum(list_transform(known, lambda r: r.y)) AS y_total,
                coalesce(list_min(list_transform(known, lambda r: r.x)) < 0, FALSE) AS is_signed
            FROM (SELECT known_runs(runs) AS known)
        )
    )
);

-- That of a over that of b; n is that of the side with fewer runs.
CREATE MACRO quotient_of(a, b) AS (
    SELECT with_interval(value, half_width, n, (spread).df)
    FROM (
        SELECT *, half_width_of(spread) AS half_width
        FROM (
            SELECT
                total_of(known_a) / nullif(total_of(known_b), 0) AS value, quotient_spread(known_a, known_b) AS spread,
                least(count_runs(known_a), count_runs(known_b)) AS n
            FROM (SELECT known_runs(a) AS known_a, known_runs(b) AS known_b)
        )
    )
);

-- The variance of the logarithm of what mean_of and quotient_of return.
CREATE MACRO log_variance(m) AS
    coalesce((ln((m).high / (m).value) / student_quantile((m).df)) ** 2, 0 * ln((m).high / (m).value));

-- One quotient_of over another, of other runs: their errors are independent (degrees of freedom after Satterthwaite).
CREATE MACRO quotient_of_quotients(a, b) AS (
    SELECT with_interval(value, half_width, n, (spread).df)
    FROM (
        SELECT *, half_width_of(spread) AS half_width
        FROM (
            SELECT
                (of_a).value / nullif((of_b).value, 0) AS value, coalesce(least((of_a).n, (of_b).n), 0) AS n,
                {'variance': in_a + in_b, 'df': (in_a + in_b) ** 2 / nullif(
                    coalesce(in_a ** 2 / (of_a).df, 0) + coalesce(in_b ** 2 / (of_b).df, 0), 0
                )} AS spread
            FROM (
                SELECT *, log_variance(of_a) AS in_a, log_variance(of_b) AS in_b FROM (SELECT a AS of_a, b AS of_b)
            )
        )
    )
);

-- Number of the bin of a value of an edge network: 10 per decade on a log axis, where 0 has none, 2 percentage points on a linear
-- one, whose last bin holds 100 %.
CREATE MACRO edge_bin(quantity, value) AS
    CASE
        WHEN quantity = 'rwnd_limited_pct' THEN least(floor(value / 2), 49)
        WHEN value > 0 THEN floor(10 * log10(value))
    END::INTEGER;

-- Retransmits of each algorithm under each condition of a bottleneck: the runs of a view, which is given by name and has
-- one row per run and algorithm. The ratio is that of the group (sum over sum); mean and interval are of the runs' own.
CREATE MACRO retransmit_cells(selected) AS TABLE
WITH conditions AS (
    SELECT
        bottleneck_bps, rtt_ms, loss_pct, buffer_bytes, limit_packets_count, flows_count, sharing, algorithm,
        algorithm_rank, condition_id,
        sum(retransmits_count) AS retransmits_count,
        -- Results of the harness have a ratio and no count.
        count(retransmits_count) AS counted_runs_count,
        sum(segments_count ORDER BY run_id) AS segments_count,
        list(retransmit_ratio ORDER BY run_id) AS ratios
    FROM query_table(selected)
    WHERE retransmit_ratio IS NOT NULL
    GROUP BY ALL
),
cells AS (
    SELECT
        bottleneck_bps, rtt_ms, loss_pct, buffer_bytes, limit_packets_count, flows_count, sharing, algorithm,
        algorithm_rank,
        sum(retransmits_count) AS retransmits_count,
        sum(counted_runs_count) AS counted_runs_count,
        sum(segments_count ORDER BY condition_id) AS segments_count,
        list(ratios ORDER BY condition_id) AS strata
    FROM conditions
    GROUP BY ALL
)
SELECT
    cells.* EXCLUDE (retransmits_count, counted_runs_count, strata),
    8e3 * buffer_bytes / nullif(bottleneck_bps * rtt_ms, 0) AS buffer_bdp_ratio,
    cell_count(strata) AS runs_count,
    retransmits_count / nullif(counted_runs_count, 0) AS retransmits_mean_count,
    retransmits_count / nullif(segments_count, 0) AS retransmit_ratio,
    cell_mean(strata) AS retransmit_mean_ratio,
    bounds[1] AS retransmit_low_ratio,
    bounds[2] AS retransmit_high_ratio
FROM cells, LATERAL (SELECT cell_interval(strata) AS bounds);

-- Sizes and rates in words, as pages write them.
CREATE MACRO name_size(bytes) AS CASE
    WHEN bytes > 0 AND bytes % 1048576 = 0 THEN printf('%g MiB', bytes / 1048576)
    WHEN bytes >= 1e9 THEN printf('%g GB', bytes / 1e9)
    WHEN bytes >= 1e6 THEN printf('%g MB', bytes / 1e6)
    WHEN bytes >= 1e3 THEN printf('%g kB', bytes / 1e3)
    ELSE printf('%g B', bytes::DOUBLE)
END;
CREATE MACRO name_rate(bps) AS
    CASE WHEN bps >= 1e9 THEN printf('%g Gbit/s', bps / 1e9) ELSE printf('%g Mbit/s', bps / 1e6) END;
