"""Result rows of the harness (`.dat`): runs that it had already summarised, into the `harness_results` table.

One JSON list of rows `[host, mode, streams, cc, Gbit/s, "retransmit ratio", reordering, median RTT in ms]`; a run in
which two algorithms ran has one row for each. Rates are the sender's.
"""

import json
from typing import Any

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.text import display_name
from ccreport.ingest.plausible import RATE_LIMIT_BPS
from ccreport.ingest.rejects import Rejects

FIELDS = 8


def read_results(file: RawFile, content: bytes, experiment_id: str, rejected: Rejects) -> list[dict[str, Any]]:
    """Return the rows of one result file; a malformed row is rejected by its number, a malformed file raises.

    Raises RawFileError (`not_json`, `unexpected_structure`, `no_measurement`).
    """
    try:
        listed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RawFileError("not_json", f"no JSON list of result rows ({error})") from error
    if not isinstance(listed, list):
        raise RawFileError("unexpected_structure", "the file holds no list of result rows")
    rows = []
    for number, row in enumerate(listed):
        try:
            found = _read_row(row) | {"row_number": number}
        except (TypeError, ValueError) as error:
            rejected.add(file, "malformed_record", f"result row {number}: {error}", is_whole_file=False)
            continue
        if found["retransmit_ratio"] > 1:
            message = f"result row {number}: a retransmit ratio of {found['retransmit_ratio']:g} is left out"
            rejected.add(file, "malformed_record", message, is_whole_file=False)
            found["retransmit_ratio"] = None
        rows.append(found)
    if not rows:
        raise RawFileError("no_measurement", "no usable result row in it")
    facts = {"raw_file_id": file.raw_file_id, "experiment_id": experiment_id, "path": display_name(file.path)}
    return [row | facts for row in rows]


def _read_row(row: object) -> dict[str, Any]:
    if not isinstance(row, list) or len(row) < FIELDS:
        raise ValueError(f"a row has {FIELDS} fields: host, mode, streams, cc, Gbit/s, ratio, reordering, RTT")
    host, mode, streams, cc, gbps, ratio, reordering, rtt = row[:FIELDS]
    return {
        "host": display_name(str(host)),
        "mode": display_name(str(mode)),
        "flows_count": int(_positive(streams)),
        "cc": display_name(str(cc)),
        "throughput_bps": _rate(gbps),
        "retransmit_ratio": _positive(ratio),
        "reordering_sum_count": int(_positive(reordering)),
        "rtt_median_ms": _positive(rtt),
    }


def _rate(gbps: object) -> float:
    rate = _positive(gbps) * 1e9
    if rate > RATE_LIMIT_BPS:
        raise ValueError(f"{gbps!r} Gbit/s is not a rate of a run")
    return rate


def _positive(value: object) -> float:
    number = float(value)  # type: ignore[arg-type]  # a wrong type raises the TypeError that the caller reports
    # What is beyond all rates and counts would not fit a table's integers.
    if not 0 <= number < 1e15:
        raise ValueError(f"{value!r} is not a quantity")
    return number
