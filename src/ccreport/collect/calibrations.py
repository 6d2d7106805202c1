"""Stored calibrations: which paths they have measured, what a later one adds to an earlier one, and what has failed."""

from collections.abc import Iterable
from typing import Any

from ccreport.collect.declare.describe import name_few
from ccreport.collect.plan import Run
from ccreport.collect.testbed.calibrated_paths import describe_path, distinct_paths


def list_uncalibrated(runs: Iterable[Run], calibration: dict[str, Any] | None) -> list[Run]:
    """Return the runs with a path that a calibration has not measured, all of them where there is none."""
    measurements = calibration["measurements"] if calibration else []
    known = {_name_path(probe) for probe in measurements}
    return [run for run in runs if any(describe_path(path) not in known for path, _ in distinct_paths([run]))]


def join_calibrations(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """Return the later calibration with the earlier measurements of other paths before its own."""
    again = {(probe["quantity"], _name_path(probe)) for probe in later["measurements"]}
    kept = [probe for probe in earlier["measurements"] if (probe["quantity"], _name_path(probe)) not in again]
    elapsed_s = round(earlier.get("elapsed_s", 0) + later.get("elapsed_s", 0), 1)
    return later | {"elapsed_s": elapsed_s, "measurements": kept + later["measurements"]}


def list_failed(calibration: dict[str, Any], runs: Iterable[Run]) -> list[str]:
    """Return what to say of each measurement that is not within its bounds, with the jobs that have such a path."""
    jobs: dict[str, dict[str, None]] = {}
    for run in runs:
        for path, _ in distinct_paths([run]):
            jobs.setdefault(describe_path(path), {})[run.job] = None
    outside = [probe for probe in calibration["measurements"] if not probe["is_within"]]
    return [
        f"{name_few([*jobs.get(_name_path(probe), ())])}{probe['quantity']} {probe['measured']:g} {probe['unit']} "
        f"where {probe['nominal']:g} was set ({probe['low']:g} to {probe['high']:g} allowed; {probe['conditions']})"
        for probe in outside
    ]


def _name_path(measurement: dict[str, Any]) -> str:
    # RTT 40 ms, line rate 20 Mbit/s; least of 40 echoes, median 40.2 ms
    conditions: str = measurement["conditions"]
    return conditions.partition(";")[0]
