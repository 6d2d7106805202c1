"""When a run is CPU-bound: which samples are within it, and what a busy core is."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import make_table
from test_measure_runs import TEST, measure, stream

from ccreport.collect.testbed import instruments
from ccreport.measure import cpu
from ccreport.measure.cpu import measure_cpu_bound

START = datetime(2026, 11, 20, 22, 10, 0, tzinfo=UTC)


def sample(number: int, time: str | None, busy: float | None, cpu: str = "0", side: str = "sender") -> dict[str, Any]:
    idle = None if busy is None else 100 - busy
    facts = {"run_id": "r", "raw_file_id": "f", "side": side, "sample_number": number, "cpu": cpu}
    return facts | {"time": time, "cpu_idle_pct": idle}


def find_share(rows: list[dict[str, Any]], span_s: float | None = 10.0, start: datetime | None = START) -> float | None:
    spans = pl.DataFrame(
        {"run_id": ["r"], "start_utc": [start], "span_s": [span_s]},
        schema={"run_id": pl.String, "start_utc": pl.Datetime("us", "UTC"), "span_s": pl.Float64},
    )
    found = measure_cpu_bound(make_table("cpu_samples", rows), spans)
    if found.is_empty():
        return None
    (share,), (is_bound,) = found["cpu_bound_ratio"], found["is_cpu_bound"]
    assert is_bound == (share > 0.1)
    return float(share)


def test_samples_count_from_after_the_start_to_the_end() -> None:
    # At 22:10:00 to 22:10:12: the one at the start tells of what was before, those at 11 and 12 s of what was after.
    rows = [sample(n, f"22:10:{n:02}", 100.0 if n in (0, 3, 11, 12) else 50.0) for n in range(13)]
    assert find_share(rows) == 1 / 10


def test_a_tenth_of_the_samples_is_not_more_than_a_tenth() -> None:
    rows = [sample(n, f"22:10:{n:02}", 100.0 if n <= 2 else 0.0) for n in range(1, 11)]
    assert find_share(rows) == 2 / 10
    assert find_share([*rows[1:], sample(11, "22:10:10", 0.0)]) == 1 / 10


@pytest.mark.parametrize(("busy", "share"), [(95.0, 0.0), (95.01, 1.0), (100.0, 1.0)])
def test_busy_is_more_than_95_pct(busy: float, share: float) -> None:
    assert find_share([sample(0, "22:10:05", busy)]) == share


def test_the_busiest_core_of_either_side_counts_and_their_mean_only_where_no_core_is_listed() -> None:
    rows = [sample(n, f"22:10:0{n}", 100.0 if n == 1 else 0.0, cpu) for n in range(1, 5) for cpu in ("0", "1")]
    rows += [sample(n, f"22:10:0{n}", 100.0, "all") for n in range(1, 5)]
    # Core 0 and 1 of the sender: 1 of 4; `all` of the sender, though always busy, does not count.
    assert find_share(rows) == 1 / 4
    rows += [sample(n, f"22:10:0{n}", 100.0 if n > 2 else 0.0, "all", "receiver") for n in range(1, 5)]
    assert find_share(rows) == 2 / 4


@pytest.mark.parametrize("zone", ["22:10", "03:40", "06:55"])
def test_zones_differ_by_quarters_of_an_hour(zone: str) -> None:
    # UTC, UTC+5:30, UTC+8:45.
    rows = [sample(n, f"{zone}:{n:02}", 100.0 if n == 12 else 0.0) for n in range(13)]
    assert find_share(rows) == 0


def test_midnight_and_twelve_hour_clocks() -> None:
    start = datetime(2026, 11, 20, 23, 59, 55, tzinfo=UTC)
    rows = [sample(0, "11:59:55 PM", 100.0), sample(1, "12:00:00 AM", 100.0), sample(2, "12:00:06 AM", 100.0)]
    rows.append(sample(3, "12:00:05 AM", 0.0))
    assert find_share(rows, start=start) == 1 / 2


def test_without_a_time_all_samples_count() -> None:
    rows = [sample(n, f"22:10:{n:02}", 100.0 if n == 12 else 0.0) for n in range(20)]
    assert find_share(rows, span_s=None) == find_share(rows, start=None) == 1 / 20
    assert find_share([row | {"time": None} for row in rows]) == 1 / 20


def test_without_samples_it_is_not_known() -> None:
    assert find_share([]) is None
    assert find_share([sample(0, "22:10:05", None)]) is None
    assert find_share([sample(0, "22:20:05", 100.0)], span_s=10.0) is None


@pytest.mark.parametrize(("include", "is_counted"), [(True, True), (False, False)])
def test_such_a_run_counts_unless_the_config_says_otherwise(include: bool, is_counted: bool, tmp_path: Path) -> None:
    run, _ = measure(
        tmp_path,
        include_cpu_bound=include,
        tests=[TEST | {"start_utc": START}],
        streams=[stream(1, sender_bytes=1000, sender_s=8.0)],
        # The stream took 8 s, so the last sample is not within.
        cpu_samples=[sample(n, f"22:10:{n:02}", 100.0 if n in (8, 9) else 1.0) for n in range(1, 10)],
    )
    assert (run["cpu_bound_ratio"], run["is_cpu_bound"], run["is_counted"]) == (1 / 8, True, is_counted)
    run, _ = measure(
        tmp_path, include_cpu_bound=include, tests=[TEST], streams=[stream(1, sender_bytes=1, sender_s=8.0)]
    )
    assert (run["cpu_bound_ratio"], run["is_cpu_bound"], run["is_counted"]) == (None, None, True)


def test_the_testbed_and_the_tables_mean_the_same_by_cpu_bound() -> None:
    # What runs in a testbed has no package but itself, so it has bounds of its own.
    assert (instruments.BUSY_PCT, instruments.BOUND_SAMPLES_RATIO) == (cpu.BUSY_PCT, cpu.BOUND_RATIO)
