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
