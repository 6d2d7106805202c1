-- Numbers that the publication prints, each beside the mean (or the ratio, sum over sum) of this archive's runs of its cell, or
-- beside the quotient of two groups of runs. The view published_cells has a row for each published number,
-- published_values_runs one for each run of such a cell, whose value is x over y.
-- ccreport.summarise.statistics.published_values judges them.
WITH runs_of_cells AS (
    SELECT exhibit, cell, is_divisor, {'run': {'condition': condition_id, 'id': run_id}, 'x': x, 'y': y} AS member
    FROM published_values_runs
),
found AS (
    SELECT
        exhibit, cell,
        CASE WHEN count(is_divisor) = 0 THEN mean_of(list(member))
            ELSE quotient_of(list(member) FILTER (NOT is_divisor), list(member) FILTER (is_divisor))
        END AS found
    FROM runs_of_cells
    GROUP BY exhibit, cell
)
SELECT
    exhibit, cell, unit, printed, published_value, published_low, published_high, published_runs_count, within_factor,
    found.value AS found_mean, found.low AS found_mean_low,
    -- Poisson's limit, where nothing was counted, is of the count over y; x is 100 times the count.
    found.high * CASE WHEN found.value = 0 AND found.low = 0 AND unit = '%' THEN 100 ELSE 1 END AS found_mean_high,
    found.df AS df,
    coalesce(found.n, 0) AS runs_count
FROM published_cells LEFT JOIN found USING (exhibit, cell)
ORDER BY cell_number
