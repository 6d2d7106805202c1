"""Measured RTTs, which differ from run to run: all runs of a path have one, so that they are of one condition."""

from typing import Final

# ASSUME: runs of a job that differ in none of these ran over one path, and paths below 1 ms are all the same.
PATH: Final = """
    experiment_id, sender_host, host, parameter_name, parameter_value, loss_pct, bottleneck_bps, buffer_bytes,
    limit_packets_count, queue_discipline, background_udp_bps
"""
# To two digits, as other jobs on the path measured it, too.
PATH_RTTS: Final = f"""
    SELECT run_id, printf('%.1e', CASE WHEN path_ms < 1 THEN min(path_ms) OVER () ELSE path_ms END)::DOUBLE AS path_ms
    FROM (
        SELECT run_id, min(rtt_ms) OVER (PARTITION BY {PATH}) AS path_ms
        FROM runs WHERE rtt_source IN ('ss', 'iperf3')
    )
"""


def share_measured_rtts(runs: str) -> str:
    """Return a query of runs in which each measured `rtt_ms` is the smallest that runs of its path have."""
    return f"""
        SELECT runs.* REPLACE (coalesce(path_ms, rtt_ms) AS rtt_ms)
        FROM ({runs}) AS runs LEFT JOIN ({PATH_RTTS}) USING (run_id)
    """
