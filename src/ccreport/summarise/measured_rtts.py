"""Measured RTTs, which differ from run to run: all runs of a path have one, so that they are of one condition."""

from typing import Final

# ASSUME: runs of a job that differ in none of these ran over one path, and paths below 1 ms are all the same.
PATH: Final = """
    experiment_id, sender_host, host, parameter_name, parameter_value, loss_pct, bottleneck_bps, buffer_bytes,
    limit_packets_count, queue_discipline, background_udp_bps
"""
# ASSUME: but RTTs this far apart are of several paths, where one algorithm with as many flows is on both sides. An
# algorithm that is on one side only may have seen a queue that the other does not build.
STEP_RATIO: Final = 1.4
STEP_MS: Final = 1
# To two digits, as other jobs on the path measured it, too.
PATH_RTTS: Final = f"""
    WITH rising AS (
        SELECT *, lag(rtt_ms) OVER (PARTITION BY {PATH} ORDER BY rtt_ms) AS below_ms
        FROM runs WHERE rtt_source IN ('ss', 'iperf3')
    ),
    stepped AS (
        SELECT *, count(*) FILTER (rtt_ms >= greatest(below_ms * {STEP_RATIO}, below_ms + {STEP_MS}))
            OVER (PARTITION BY {PATH} ORDER BY rtt_ms) AS step
        FROM rising
    ),
    repeated AS (
        SELECT *, step > min(step) OVER (PARTITION BY {PATH}, mode, flows_count) AS is_again FROM stepped
    ),
    parted AS (
        SELECT *, max(step) FILTER (is_again) OVER (PARTITION BY {PATH} ORDER BY step) AS path FROM repeated
    ),
    shared AS (
        SELECT run_id, min(rtt_ms) OVER (PARTITION BY {PATH}, path) AS path_ms FROM parted
    )
    SELECT run_id, printf('%.1e', CASE WHEN path_ms < 1 THEN min(path_ms) OVER () ELSE path_ms END)::DOUBLE AS path_ms
    FROM shared
"""


def share_measured_rtts(runs: str) -> str:
    """Return a query of runs in which each measured `rtt_ms` is the smallest that runs of its path have."""
    return f"""
        SELECT runs.* REPLACE (coalesce(path_ms, rtt_ms) AS rtt_ms)
        FROM ({runs}) AS runs LEFT JOIN ({PATH_RTTS}) USING (run_id)
    """
