"""The values of one series of a flent file, as they were measured or else on flent's grid, and their percentiles."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Final

import polars as pl

from ccreport.ingest.rpc.rows import RpcRows, shown

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
# Before version 4 these raw values are not in the series' unit.
RAW_UNITS_SINCE: Final = 4
LAST_YEAR_S: Final = 4e9
NOT_FINITE: Final = "a value of series {name} is not a finite number; it is left out"


@dataclass(frozen=True)
class Series:
    """Values with their times and intervals in s, from the start of the test."""

    times: list[float | None]
    intervals: list[float | None]
    values: list[float]
    is_resampled: bool


def take_number(value: object, *, least: float = -math.inf) -> float | None:
    """Return a finite number of at least `least`, also one that is written as a text; None for anything else."""
    if isinstance(value, str) and len(value) <= 30:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        return None
    return float(value) if math.isfinite(value) and value >= least else None


def take_text(value: object, limit: int = 0) -> str | None:
    """Return a text as a table may hold it, up to `limit` characters whole; None for what is not text or is empty."""
    if not isinstance(value, str) or not value.strip():
        return None
    whole = " ".join(value.split())
    return whole if whole.isascii() and whole.isprintable() and len(whole) <= limit else shown(value)


def parse_time(value: object) -> datetime | None:
    """Return a time that flent wrote as text, or that is given in s since 1970, in UTC; None for anything else."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        if isinstance(value, float) and 0 <= value < LAST_YEAR_S:
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError):
        return None
    return None


def read_raw(
    name: str, raw_values: Mapping[str, list[Any]], epoch_s: float | None, version: int, rows: RpcRows
) -> Series | None:
    """Return the values of a series where they were measured, None where the file has no such values of it."""
    entries, key = raw_values.get(name), "val"
    if entries is None and version >= RAW_UNITS_SINCE and "::" in name:
        parent, _, key = name.rpartition("::")
        entries = raw_values.get(parent)
    if entries is None:
        return None
    try:
        # The fast way, for what flent wrote itself.
        values, times = list(map(itemgetter(key), entries)), list(map(itemgetter("t"), entries))
    except (KeyError, TypeError, IndexError):
        entries = [entry for entry in entries if isinstance(entry, dict) and key in entry and "t" in entry]
        values, times = [entry[key] for entry in entries], [entry["t"] for entry in entries]
    if not values:
        return None
    intervals = [entry.get("dur") for entry in entries]
    series = _clean(name, values, times, intervals, rows)
    return _shift(_convert(name, series) if version < RAW_UNITS_SINCE else series, epoch_s)


def _clean(name: str, values: list[Any], times: list[Any], intervals: list[Any], rows: RpcRows) -> Series:
    """Return what is a number; the loop runs only where something is not."""
    types = set(map(type, values)) | set(map(type, times)) | set(map(type, intervals)) - {type(None)}
    if types == {float} and math.isfinite(sum(values)) and math.isfinite(sum(times)):
        return Series(times, _clean_intervals(intervals), values, is_resampled=False)
    kept: list[tuple[float | None, float | None, float]] = []
    for value, time, interval in zip(values, times, intervals, strict=True):
        number = take_number(value) if not isinstance(value, str) else None
        if number is not None:
            kept.append((take_number(time), take_number(interval, least=0), number))
        elif value is not None:
            rows.note("malformed_record", NOT_FINITE.format(name=shown(name)))
    return Series([row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept], is_resampled=False)


def _clean_intervals(intervals: list[float | None]) -> list[float | None]:
    if all(interval is None or 0 <= interval < math.inf for interval in intervals):
        return intervals
    return [take_number(interval, least=0) for interval in intervals]


def _convert(name: str, series: Series) -> Series:
    """Return values of an old file in their series' unit, as flent itself converts them on loading."""
    if name == "HTTP latency":
        return Series(series.times, series.intervals, [1000 * value for value in series.values], is_resampled=False)
    if "UDP" not in name:
        return series
    # Transactions per second of one at a time; pings of other tools have no interval.
    kept = [
        (time, interval, 1000 / value if interval is not None else value)
        for time, interval, value in zip(series.times, series.intervals, series.values, strict=True)
        if interval is None or value > 0
    ]
    return Series([row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept], is_resampled=False)


def _shift(series: Series, epoch_s: float | None) -> Series:
    first = epoch_s
    if first is None:
        first = min((time for time in series.times if time is not None), default=0.0)
    times = [time - first if time is not None else None for time in series.times]
    return Series(times, series.intervals, series.values, is_resampled=False)


def read_grid(name: str, values: object, x_values: list[Any], rows: RpcRows) -> Series | None:
    """Return the values of a series on flent's common grid, without those that are null there."""
    if not isinstance(values, list):
        return None
    if len(values) != len(x_values):
        message = f"series {shown(name)} has {len(values)} values at {len(x_values)} times; it is left out"
        rows.note("malformed_record", message)
        return None
    kept = [(x, value) for x, value in zip(x_values, values, strict=True) if value is not None]
    series = _clean(name, [row[1] for row in kept], [row[0] for row in kept], [None] * len(kept), rows)
    return Series(series.times, series.intervals, series.values, is_resampled=True)


def summarise_latencies(values: list[float]) -> dict[str, Any]:
    """Return minimum, mean, percentiles (linear between values), maximum and sample standard deviation of times in ms.

    Nothing where one is negative, as a one-way delay between two clocks can be.
    """
    series = pl.Series(values, dtype=pl.Float64)
    if (series < 0).any():
        return {}
    row: dict[str, Any] = {
        "latency_min_ms": series.min(),
        "latency_mean_ms": series.mean(),
        "latency_max_ms": series.max(),
        "latency_stddev_ms": series.std(),
        "latency_source": "values",
        "latency_values_count": len(series),
    }
    return row | {f"latency_{name}_ms": series.quantile(share, "linear") for name, share in QUANTILES.items()}
