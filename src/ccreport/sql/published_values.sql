-- Numbers that the publication prints, each beside the mean (or the ratio, sum over sum) of this archive's runs of its cell.
-- The view published_cells has a row for each published number, published_values_runs one for each run of such a cell, whose value
-- is x over y. ccreport.summarise.statistics.published_values judges them.
WITH found AS (
    SELECT exhibit, cell, mean_of(list({'run': {'condition': condition_id, 'id': run_id}, 'x': x, 'y': y})) AS found
    FROM published_values_runs
    GROUP BY exhibit, cell
)
SELECT
    exhibit, cell, unit, published_value, published_step, published_runs_count, within_factor,
    found.value AS value, found.low AS low, found.high AS high, found.df AS df,
    coalesce(found.n, 0) AS runs_count
FROM published_cells LEFT JOIN found USING (exhibit, cell)
ORDER BY cell_number
