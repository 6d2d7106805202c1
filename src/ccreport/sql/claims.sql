-- What the SQL of claims may use beside the views and macros of archive.duckdb: the table measured. `value`, `low` and `high`
-- (95 % interval) and `n` (runs) are the columns of a check's one row, or the fields of the one struct that it is, which
-- mean_of and quotient_of of macros.sql return.

-- One row per counted run of the steady tests and algorithm. rate, share (of the line rate, that of the path or else of
-- the interface) and retransmits are what mean_of and quotient_of take lists of.
CREATE TEMP TABLE measured AS
SELECT
    algorithm_runs.*,
    {'condition': condition_id, 'id': run_id} AS run,
    coalesce(bottleneck_bps, nic_bps) AS line_rate_bps,
    -- The receiver's rate, or the sender's where no run of such paths has one: as the published tables choose.
    CASE WHEN count(goodput_bps) OVER (PARTITION BY path_class = 'testbed') > 0 THEN goodput_bps ELSE throughput_bps END
        AS rate_bps,
    {'run': run, 'x': rate_bps, 'y': 1.0::DOUBLE} AS rate,
    {'run': run, 'x': rate_bps / nullif(line_rate_bps, 0), 'y': 1.0::DOUBLE} AS share,
    {'run': run, 'x': retransmits_count::DOUBLE, 'y': segments_count} AS retransmits
FROM algorithm_runs
WHERE is_counted AND purpose = 'steady';

-- The cells of Table II that runs fall into, each with the lists of its conditions' rates: what cell_cv and others take.
CREATE TEMP MACRO rate_cells(selected) AS TABLE
SELECT test_group, sharing, flows_count, rtt_bucket, algorithm, list(rates ORDER BY condition_id) AS strata
FROM (
    SELECT
        test_group, sharing, flows_count, rtt_bucket, algorithm, condition_id, list(rate_bps ORDER BY run_id) AS rates
    FROM query_table(selected) WHERE rate_bps IS NOT NULL GROUP BY ALL
)
GROUP BY ALL;

-- A list of coefficients of variation, each a struct of `cv`, `weight` and `variance` (of the error of its logarithm). Of a
-- pooled cell the variance is that which its interval has; of a condition's n runs that of a normal sample.
CREATE TEMP MACRO pooled_cvs(strata) AS list_transform(list_filter([{'cv': cell_cv(strata), 'bounds': cell_cv_interval(strata)}],
    lambda c: c.cv IS NOT NULL),
    lambda c: {'cv': c.cv, 'weight': 1.0::DOUBLE, 'variance': (ln(c.bounds[2] / c.bounds[1]) / 2 / 1.959964) ** 2});
CREATE TEMP MACRO within_cvs(strata) AS list_transform(list_filter(strata, lambda s: len(s) > 1), lambda s: {
    'cv': list_aggregate(s, 'stddev_samp') / list_avg(s), 'weight': 1 / len(list_filter(strata, lambda t: len(t) > 1)),
    'variance': 0.5 / (len(s) - 1) + (list_aggregate(s, 'stddev_samp') / list_avg(s)) ** 2 / len(s)
});

CREATE TEMP MACRO sum_cvs(cvs) AS {
    'total': list_sum(list_sort(list_transform(cvs, lambda c: c.cv * c.weight))),
    'weight': list_sum(list_sort(list_transform(cvs, lambda c: c.weight))),
    -- Null where one of them has no interval.
    'variance': CASE WHEN len(list_filter(cvs, lambda c: c.variance IS NULL)) = 0 THEN
        list_sum(list_sort(list_transform(cvs, lambda c: (c.cv * c.weight) ** 2 * c.variance)))
        / nullif(list_sum(list_sort(list_transform(cvs, lambda c: c.cv * c.weight))), 0) ** 2
    END
};

-- The weighted mean of CVs in a over that in b, with n of runs.
-- ASSUME: where two algorithms sent at once, how much each one's rate varies tells nothing of how much the other's does.
CREATE TEMP MACRO cv_quotient(a, b, n) AS (
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

-- Of connections, of which there are too many for lists of runs: x over y as sum over sum, with the variance of its
-- logarithm's error. independent_quotient is that of one group of connections over that of another, with its interval.
-- ASSUME: connections are independent of each other, which those of one client are not.
CREATE TEMP MACRO pooled_ratio(x, y) AS {
    'value': sum(x::DOUBLE ORDER BY x, y) / nullif(sum(y::DOUBLE ORDER BY x, y), 0),
    'n': count(*),
    'variance': count(*) * (
        var_samp(x::DOUBLE ORDER BY x) / nullif(sum(x::DOUBLE ORDER BY x, y), 0) ** 2
        + var_samp(y::DOUBLE ORDER BY y) / nullif(sum(y::DOUBLE ORDER BY x, y), 0) ** 2
        - 2 * covar_samp(x::DOUBLE, y::DOUBLE ORDER BY x, y)
        / nullif(sum(x::DOUBLE ORDER BY x, y) * sum(y::DOUBLE ORDER BY x, y), 0)
    )
};
CREATE TEMP MACRO pooled_mean(x) AS {
    'value': avg(x::DOUBLE ORDER BY x), 'n': count(x),
    'variance': var_samp(x::DOUBLE ORDER BY x) / count(x) / nullif(avg(x::DOUBLE ORDER BY x), 0) ** 2
};

-- A quantile of a list of positive values; its error is that of its rank, which is binomial.
CREATE TEMP MACRO quantile_of(members, p) AS (
    SELECT {
        'value': list_aggregate(sorted, 'quantile_cont', p), 'n': len(sorted),
        'variance': (ln(
            sorted[least(len(sorted), 1 + ceil(len(sorted) * p + 1.959964 * sqrt(len(sorted) * p * (1 - p)))::INTEGER)]
            / sorted[greatest(1, floor(len(sorted) * p - 1.959964 * sqrt(len(sorted) * p * (1 - p)))::INTEGER)]
        ) / 2 / 1.959964) ** 2
    }
    FROM (SELECT list_sort(list_filter(coalesce(members, []), lambda v: v > 0)) AS sorted)
);

CREATE TEMP MACRO log_interval(v, variance, n) AS {
    'value': v, 'low': nullif(v, 0) / exp(1.959964 * sqrt(variance)), 'high': nullif(v, 0) * exp(1.959964 * sqrt(variance)),
    'n': coalesce(n, 0)
};
CREATE TEMP MACRO independent_quotient(a, b) AS log_interval(
    (a).value / nullif((b).value, 0), (a).variance + (b).variance,
    CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN least((a).n, (b).n) END
);
-- How far a is from b and c on a scale of logarithms that runs from b to c: below 1 it is nearer to b.
CREATE TEMP MACRO nearness(a, b, c) AS log_interval(
    ((a).value / sqrt((b).value * (c).value)) ** sign((c).value - (b).value),
    (a).variance + ((b).variance + (c).variance) / 4,
    CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL THEN least((a).n, (b).n, (c).n) END
);

-- How many of how many, with Wilson's interval.
CREATE TEMP MACRO share_of(part, total) AS (
    SELECT {
        'value': share, 'n': coalesce(n, 0),
        'low': CASE WHEN share > 0 THEN (share + 1.920729 / n - reach) / (1 + 3.841459 / n) ELSE 0.0 END,
        'high': CASE WHEN share < 1 THEN (share + 1.920729 / n + reach) / (1 + 3.841459 / n) ELSE 1.0 END
    }
    FROM (
        SELECT share, n, 1.959964 * sqrt(share * (1 - share) / n + 0.960365 / n ** 2) AS reach
        FROM (SELECT part / nullif(total, 0) AS share, total AS n)
    )
);

-- Slope of y on x by least squares, with the variance of its error; slope_interval and slope_difference have intervals.
CREATE TEMP MACRO slope_of(y, x) AS {
    'value': regr_slope(y, x ORDER BY x, y), 'n': count(*),
    'variance': (1 - corr(y, x ORDER BY x, y) ** 2) / nullif(count(*) - 2, 0) * var_samp(y ORDER BY y) / nullif(var_samp(x ORDER BY x), 0)
};
CREATE TEMP MACRO slope_interval(s) AS {
    'value': (s).value, 'low': (s).value - 1.959964 * sqrt((s).variance), 'high': (s).value + 1.959964 * sqrt((s).variance),
    'n': coalesce((s).n, 0)
};
CREATE TEMP MACRO slope_difference(a, b) AS slope_interval(CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN {
    'value': (a).value - (b).value, 'variance': (a).variance + (b).variance, 'n': least((a).n, (b).n)
} END);
