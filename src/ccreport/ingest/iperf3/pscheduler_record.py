"""What surrounds a pscheduler result in the record of a run, as archivers keep it: the task that was asked for.

    {"test": {"type": "throughput", "spec": {"dest": …, "duration": "PT30S", "parallel": 4, "reverse": true}},
     "schedule": {"start": "2024-05-01T10:00:00Z", …}, "tool": {"name": "iperf3", …}, "result": {…}}

Written down in pscheduler's JSON dictionary and `pscheduler-test-throughput` (`validate.py`). A result itself says none
of it, so it replaces what a recovered iperf3 output or command line does not tell.
"""

import re
from datetime import UTC, datetime
from typing import Final

from ccreport.ingest.iperf3.tables import Row
from ccreport.ingest.json_values import Json, JsonObject

# What is taken over from a record that wraps a result.
RECORD_KEYS: Final = ("test", "schedule", "start-time")
# PT30S · PT1M30.5S · P1DT2H
DURATION: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


def read_spec(record: JsonObject) -> JsonObject:
    """Return the specification of the test in a record, an empty one where there is none."""
    test = record.get("test")
    spec = test.get("spec") if isinstance(test, dict) else None
    return spec if isinstance(spec, dict) else {}


def describe_task(record: JsonObject) -> Row:
    """Return what a record says of its test, as columns of `tests`; a column that it does not say is left out."""
    spec = read_spec(record)
    row: Row = {
        "protocol": "UDP" if spec.get("udp") is True else None,
        "streams_count": _count(spec.get("parallel")),
        "duration_s": _seconds(spec.get("duration")),
        "omit_s": _seconds(spec.get("omit")),
        "mss_bytes": _count(spec.get("mss")),
        "cc_command": spec.get("congestion") if isinstance(spec.get("congestion"), str) else None,
        "start_utc": _start_ms(record),
    }
    return {name: value for name, value in row.items() if value is not None}


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _seconds(value: Json) -> float | None:
    match = DURATION.fullmatch(value) if isinstance(value, str) and len(value) < 40 else None
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _start_ms(record: JsonObject) -> int | None:
    schedule = record.get("schedule")
    start = schedule.get("start") if isinstance(schedule, dict) else record.get("start-time")
    try:
        time = datetime.fromisoformat(start) if isinstance(start, str) else None
        # A time without a zone is one of the host's, which is not known.
        return round(time.astimezone(UTC).timestamp() * 1000) if time is not None and time.tzinfo else None
    except (ValueError, OverflowError):
        return None
