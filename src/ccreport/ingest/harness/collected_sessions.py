"""What `collect` writes about a session beside its jobs: `session.json`, `calibration.json`, `attempts.jsonl`.

`session.json` says with what the session was measured, `calibration.json` how far the testbed kept what it was told
before the first run, `attempts.jsonl` how each try of each run ended, a line each, written as tries end; a process that
is killed leaves the last line cut. `campaign.yaml`, the declaration as it was, is shown with the session and not read.
"""

import json
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ccreport.archive.harness_layout import find_folder
from ccreport.archive.manifest import Manifest, RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.ingest.harness.checked_json import Recorded
from ccreport.ingest.harness.metadata import read_json_object
from ccreport.ingest.reading import Reading
from ccreport.ingest.rejects import Rejects

TABLE_OF_KIND: Final = {"session": "sessions", "calibration": "calibrations", "attempts": "attempts"}
OUTCOMES: Final = ("completed", "cpu_bound", "host_limited", "failed", "interrupted")
OF_KERNEL: Final = ("kernel_config_sha256", "kernel_sha256", "kernel_source")
DECLARATION_LIMIT_BYTES: Final = 2**20
NOTHING_MEASURED: Final = "no measurement in it; collect the session again, or remove the file"
NO_ATTEMPT: Final = "no line of it is an attempt; collect the session again, or remove the file"


def read_collected_session(reading: Reading) -> None:
    """Write what `collect` recorded about one session."""
    read = reading.read_each(lambda file: _read_file(file, reading))
    for kind, table in TABLE_OF_KIND.items():
        reading.write_rows(table, [row for file, rows in read if file.kind == kind for row in rows])


def _read_file(file: RawFile, reading: Reading) -> list[dict[str, Any]]:
    root, manifest, rejected = reading.root, reading.manifest, reading.rejected
    content = read_whole(root / file.path)
    place = {"experiment_id": manifest.experiment_id, "session": manifest.session, "raw_file_id": file.raw_file_id}
    match file.kind:
        case "session":
            declaration = _read_declaration(manifest, root)
            recorded = Recorded(file, read_json_object(content), rejected)
            return [place | read_session(recorded) | {"declaration": declaration}]
        case "calibration":
            rows = read_calibration(Recorded(file, read_json_object(content), rejected))
            return [place | row for row in rows]
        case _:
            rows = read_attempts(file, content, rejected)
            jobs = PurePosixPath(file.path).parent
            return [place | row | {"run_id": _run_id(jobs, row["job"], row["suffix"])} for row in rows]


def _read_declaration(manifest: Manifest, root: Path) -> str | None:
    declared = next((file for file in manifest.files if file.kind == "campaign"), None)
    if declared is None:
        return None
    try:
        text = read_whole(root / declared.path, DECLARATION_LIMIT_BYTES).decode("utf-8", "replace")
    except RawFileError:
        return None
    return text or None


def _run_id(jobs: PurePosixPath, job: str, suffix: str) -> str:
    return find_folder(jobs / job).run_id(suffix)


def read_session(recorded: Recorded) -> dict[str, Any]:
    """Return the row of the `sessions` table, without its place; what is of a wrong type is left out and rejected."""
    tools = recorded.read_texts("tools")
    return {
        **{name: recorded.read_text(name) for name in ("campaign", "title", "engine", "kernel", *OF_KERNEL)},
        "clock": recorded.read_choice("clock", ("virtual", "real")),
        "order_seed": recorded.read_count("seed"),
        "run_order": recorded.read_text("order"),
        "kernel_ticks_count": recorded.read_count("kernel_ticks_hz"),
        "kernel_patches": "; ".join(recorded.read_lines("kernel_patches")) or None,
        "is_kernel_patched": recorded.read_bool("is_kernel_patched"),
        "session_label": recorded.read_text("label"),
        "started_utc": recorded.read_time("started_utc"),
        "cores_count": recorded.read_count("cores_count"),
        "memory_bytes": recorded.read_count("memory_bytes"),
        "tools": [{"key": name, "value": version} for name, version in sorted(tools.items())],
        "planned_runs_count": recorded.read_count("planned_runs_count"),
        "expected_s": recorded.read_number("expected_s", at_least=0),
    }


def read_calibration(recorded: Recorded) -> list[dict[str, Any]]:
    """Return a row of the `calibrations` table for each measurement; the capacity of the testbed is one of them.

    Raise RawFileError (`no_measurement`) where there is none.
    """
    measured_utc = recorded.read_time("measured_utc")
    rows = [_read_measurement(measurement) for measurement in recorded.read_objects("measurements")]
    capacity_bps = recorded.read_number("capacity_bps", at_least=0)
    if capacity_bps is not None:
        rows.append({"measured_quantity": "capacity", "measured_value": capacity_bps, "calibration_unit": "bit/s"})
    kept = [row for row in rows if row is not None]
    if not kept:
        raise RawFileError("no_measurement", NOTHING_MEASURED)
    return [row | {"measurement_number": n, "measured_utc": measured_utc} for n, row in enumerate(kept)]


def _read_measurement(measurement: Recorded) -> dict[str, Any] | None:
    """Return one measurement, or None, rejected, where it does not say what was measured, and how much of it."""
    quantity = measurement.read_choice("quantity", ("rtt", "loss", "rate"))
    measured = measurement.read_number("measured")
    unit = measurement.read_text("unit")
    if quantity is None or measured is None or unit is None:
        measurement.reject("malformed_record", "it has no quantity, measured value or unit that is one; it is left out")
        return None
    low, high = measurement.read_number("low"), measurement.read_number("high")
    is_within = measurement.read_bool("is_within")
    if is_within is None and low is not None and high is not None:
        is_within = low <= measured <= high
    return {
        "measured_quantity": quantity,
        "host": measurement.read_text("host"),
        "nominal_value": measurement.read_number("nominal"),
        "measured_value": measured,
        "calibration_unit": unit,
        "low_value": low,
        "high_value": high,
        "is_within": is_within,
        "method": measurement.read_text("method"),
        "probes_count": measurement.read_count("packets_count"),
        "lost_probes_count": measurement.read_count("lost_count"),
        "conditions": measurement.read_text("conditions"),
    }


def read_attempts(file: RawFile, content: bytes, rejected: Rejects) -> list[dict[str, Any]]:
    """Return a row of the `attempts` table for each line that is one, without its place; other lines are rejected.

    Raise RawFileError (`empty`, `no_measurement`) where none is.
    """
    if not content.strip():
        raise RawFileError("empty", "the file is empty: the session was stopped before its first run ended")
    rows = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        row = _read_attempt(file, line, number, rejected)
        if row is not None:
            rows.append(row)
    if not rows:
        # One reject says it all.
        rejected.forget(file)
        raise RawFileError("no_measurement", NO_ATTEMPT)
    return rows


def _read_attempt(file: RawFile, line: bytes, number: int, rejected: Rejects) -> dict[str, Any] | None:
    try:
        attempt = Recorded(file, json.loads(line), rejected, line=number)
    except (ValueError, RecursionError):
        message = "the line is not complete JSON; the attempt is left out"
        rejected.add(file, "truncated_json", message, is_whole_file=False, line=number)
        return None
    named = {name: attempt.read_text(key) for name, key in (("suffix", "run"), ("job", "job"))}
    attempt_number = attempt.read_count("attempt")
    outcome = attempt.read_choice("outcome", OUTCOMES)
    if None in named.values() or attempt_number is None or outcome is None:
        attempt.reject("malformed_record", "it names no run, job, attempt or outcome; the attempt is left out")
        return None
    return named | {
        "line_number": number,
        "attempt_number": attempt_number,
        "started_utc": attempt.read_time("started_utc"),
        "attempt_elapsed_s": attempt.read_number("elapsed_s", at_least=0),
        "attempt_outcome": outcome,
        "attempt_message": attempt.read_text("message"),
        "fingerprint": attempt.read_text("fingerprint"),
        "seed": attempt.read_text("seed"),
        "clock_start_utc": attempt.read_nanoseconds("clock_start_ns"),
    }
