"""`kernel-drops:SUFFIX`, written by `collect`: what the kernel of the testbed dropped in a run.

A JSON list of counters with their values before and after the run: those of nstat(8) for each host, the drops of each
qdisc, and the packets that the kernel had no room for between two network devices (`collect/kernel_drops.py`).
"""

import json
from typing import Any

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.ingest.harness.checked_json import Recorded
from ccreport.ingest.reading import Reading
from ccreport.ingest.rejects import Rejects


def read_kernel_drops(reading: Reading) -> None:
    """Write the counters of an experiment's runs."""
    rows = reading.read_rows(lambda file: list_counters(file, read_whole(reading.root / file.path), reading.rejected))
    reading.write_rows("kernel_drops", rows)


def list_counters(file: RawFile, content: bytes, rejected: Rejects) -> list[dict[str, Any]]:
    """Return a row for each counter; of two with one name the first counts. Raise RawFileError where there is none."""
    if not content.strip():
        raise RawFileError("empty", "the file is empty; collect the run again")
    try:
        told = json.loads(content)
    except (ValueError, RecursionError) as error:
        reason = "truncated_json" if content.lstrip().startswith(b"[") else "not_json"
        raise RawFileError(reason, f"the file is not whole JSON: {error}; collect the run again") from error
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for number, value in enumerate(told if isinstance(told, list) else [], start=1):
        record = Recorded(file, value, rejected, place=f"counter {number}")
        host, counter = record.read_text("host"), record.read_text("counter")
        before, after = record.read_count("before"), record.read_count("after")
        if host is None or counter is None or before is None or after is None:
            record.reject("malformed_record", "it has no host, counter, before or after; it is left out")
            continue
        row: dict[str, Any] = {
            "kernel_host": host,
            "drop_counter": counter,
            "is_path_drop": record.read_bool("is_path"),
        }
        row |= {"before_count": before, "after_count": after, "raw_file_id": file.raw_file_id, "run_id": file.run_id}
        rows.setdefault((host, counter), row)
    if not rows:
        raise RawFileError("no_measurement", "there are no counters in it; collect the run again")
    return list(rows.values())
