"""Settings that make runs of one path alike: one RTT for all whose RTT was measured, and the direction of the data.

A measured RTT differs from run to run, and would make each run a condition of its own.
"""

from typing import Final

from ccreport.archive.direction import BOTH, FORWARD, PARAMETER, REVERSE
from ccreport.archive.parameters import SEPARATOR

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
# Of names of parameters, and of values.
ENDS_WITH: Final = "coalesce(regexp_matches({}, '(^|{})({})$'), FALSE)"
IS_TOLD: Final = ENDS_WITH.format("parameter_name", SEPARATOR, PARAMETER)
IS_OTHER: Final = f"{IS_TOLD} AND {ENDS_WITH.format('parameter_value', SEPARATOR, f'{REVERSE}|{BOTH}')}"
IS_FORWARD: Final = f"NOT {IS_TOLD} AND coalesce((SELECT bool_or({IS_OTHER}) FROM runs), FALSE)"


def share_measured_rtts(runs: str) -> str:
    """Return a query of runs in which each measured `rtt_ms` is the smallest that runs of its path have."""
    return f"""
        SELECT runs.* REPLACE (coalesce(path_ms, rtt_ms) AS rtt_ms)
        FROM ({runs}) AS runs LEFT JOIN ({PATH_RTTS}) USING (run_id)
    """


def name_forward(runs: str) -> str:
    """Return a query of runs with `direction` forward among their parameters, where other runs have another direction.

    Without it, conditions of forward runs would be named by what they lack.
    """
    appended = f"{_append('parameter_name', PARAMETER)}, {_append('parameter_value', FORWARD)}"
    return f"SELECT * REPLACE ({appended}) FROM ({runs})"


def _append(column: str, text: str) -> str:
    return f"""
        CASE
            WHEN NOT ({IS_FORWARD}) THEN {column}
            WHEN parameter_name IS NULL AND parameter_value IS NULL THEN '{text}'
            ELSE coalesce({column}, '') || '{SEPARATOR}{text}'
        END AS {column}
    """
