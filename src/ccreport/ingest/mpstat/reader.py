"""mpstat's output (sysstat, `mpstat -P … -o JSON` from 11.5.1 on, or text) into the `cpu_samples` table.

Quirks, from sysstat's issue tracker: the mean over all CPUs is called `all`, or `-1` in about 11.7.3 to 12.1.3; times
are local, without date or zone; a processor that is offline has every load 0, the idle one too. `json_documents` and
`plain_text` say how each form is written and what is wrong in it.
"""

from pathlib import Path
from typing import Any, Final

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.core.text import count_things, display_name
from ccreport.ingest.mpstat.json_documents import STATISTICS, Samples, parse_json
from ccreport.ingest.mpstat.plain_text import is_text, parse_text
from ccreport.ingest.reading import Reading
from ccreport.ingest.rejects import Rejects

LOADS: Final = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")


def read_mpstat(reading: Reading) -> None:
    """Write the CPU samples of one experiment."""
    rows = reading.read_rows(lambda file: _read_file(file, reading.root, reading.rejected))
    reading.write_rows("cpu_samples", rows)


def _read_file(file: RawFile, root: Path, rejected: Rejects) -> list[dict[str, Any]]:
    text = read_whole(root / file.path).decode("utf-8", "replace")
    samples = parse_samples(text)
    rows = [
        {"run_id": file.run_id, "raw_file_id": file.raw_file_id, "side": file.side, "sample_number": number, **row}
        for number, sample in enumerate(samples.elements)
        for row in _read_sample(sample)
    ]
    if not rows:
        raise _explain(text, samples)
    for note in samples.notes:
        rejected.add(file, "repaired", note, is_whole_file=False)
    if samples.cut_at is not None:
        kept = count_things(len(samples.elements), "whole sample")
        message = f"mpstat was stopped before it closed its output; {kept} kept"
        rejected.add(file, "repaired", message, is_whole_file=False, offset=samples.cut_at)
    return rows


def parse_samples(text: str) -> Samples:
    """Return the whole samples of an output in either form.

    Raise RawFileError (`empty`, `not_json`, `no_measurement`) where it is neither.
    """
    if not text.strip():
        raise RawFileError("empty", "the file is empty: mpstat did not run or was killed before its first sample")
    if STATISTICS.search(text) is None and is_text(text):
        elements, notes = parse_text(text)
        return Samples(elements, notes=notes)
    return parse_json(text)


def _explain(text: str, samples: Samples) -> RawFileError:
    """Say why there is not one load."""
    if STATISTICS.search(text) is None:
        message = "mpstat's text has no loads of processors (%usr … %idle) in it; record with mpstat -P ALL 1"
    elif '"cpu-load"' in text and not any("cpu-load" in element for element in samples.elements):
        message = "mpstat was stopped within its first sample, or the JSON is damaged there; rerun with a newer sysstat"
    elif '"cpu-load"' in text:
        message = "all loads in it are 0, as those of processors that are offline; was mpstat given the right -P?"
    else:
        message = "its samples have no `cpu-load` (only nodes or interrupts); record with mpstat -P ALL -u -o JSON"
    return RawFileError("no_measurement", message)


def _read_sample(sample: dict[str, Any]) -> list[dict[str, Any]]:
    loads = sample.get("cpu-load")
    time = sample.get("timestamp")
    rows = []
    for load in loads if isinstance(loads, list) else []:
        if isinstance(load, dict) and "cpu" in load:
            percentages = {f"cpu_{key}_pct": _percent(load.get(key)) for key in LOADS}
            # Time passes in some state or other; a processor that spends none is offline.
            if not any(percentages.values()):
                continue
            name = display_name(str(load["cpu"]))
            row: dict[str, Any] = {
                "time": display_name(str(time)) if time is not None else None,
                "cpu": "all" if name == "-1" else name,
            }
            rows.append(row | percentages)
    # A CPU named twice in one sample would be no sample of one CPU.
    return list({row["cpu"]: row for row in rows}.values())


def _percent(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Neither nan nor an integer that no float can hold is in between.
    return float(value) if 0 <= value <= 101 else None
