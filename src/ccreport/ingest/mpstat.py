"""mpstat JSON (`mpstat -P … -o JSON`, sysstat 11.5.1 and newer) into the `cpu_samples` table.

Quirks, from sysstat's issue tracker: the mean over all CPUs is called `all`, or `-1` in about 11.7.3 to 12.1.3; a
stopped mpstat often leaves its brackets unclosed or a comma trailing; before 11.5.2 some locales write decimal commas;
times are local, without date or zone. So the list of samples is read element by element, as far as it goes.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.raw import RawFile, RawFileError, display_name, read_manifest, read_whole
from ccreport.rejects import Rejects
from ccreport.tables import load_schema, write_table

#     "statistics": [
STATISTICS: Final = re.compile(r'"statistics"\s*:\s*\[')
SEPARATOR: Final = re.compile(r"[\s,]*")
# "usr": 15,66,
DECIMAL_COMMA: Final = re.compile(r"(:\s*\d+),(\d\d)(?=\s*[,}])")
# 09:41:55 PM  CPU    %usr   %nice
PLAIN_TEXT: Final = re.compile(r"\bCPU\s+%usr\b|\bCPU\s+%user\b")
LOADS: Final = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")


def ingest_mpstat(manifest: Path, root: Path, cpu_samples: Path, rejects: Path) -> None:
    """Write the CPU samples of one experiment, and what could not be used of its mpstat files."""
    rows: list[dict[str, Any]] = []
    rejected = Rejects()
    for file in read_manifest(manifest).files_for("ingest_mpstat"):
        try:
            rows.extend(_read_file(file, root, rejected))
        except RawFileError as error:
            rejected.add_error(file, error)
    write_table(pl.DataFrame(rows, schema=load_schema("cpu_samples").polars), "cpu_samples", cpu_samples)
    rejected.write(rejects)


def _read_file(file: RawFile, root: Path, rejected: Rejects) -> list[dict[str, Any]]:
    samples, end = parse_samples(read_whole(root / file.path).decode("utf-8", "replace"))
    rows = [
        {"run_id": file.run_id, "raw_file_id": file.raw_file_id, "side": file.side, "sample_number": number, **row}
        for number, sample in enumerate(samples)
        for row in _read_sample(sample)
    ]
    if not rows:
        raise RawFileError("no_measurement", "no CPU loads in it; record with mpstat -P ALL -o JSON")
    if end is not None:
        message = f"mpstat was stopped before it closed its output; {len(samples)} whole samples were kept"
        rejected.add(file, "repaired", message, is_whole_file=False, offset=end)
    return rows


def parse_samples(text: str) -> tuple[list[dict[str, Any]], int | None]:
    """Return the whole elements of the list of samples, and the character offset where they end if the list is cut.

    Raise RawFileError (`empty`, `plain_text`, `not_json`, `no_measurement`) where there is no such list.
    """
    if not text.strip():
        raise RawFileError("empty", "the file is empty: mpstat did not run or was killed before its first sample")
    start = STATISTICS.search(text)
    if start is None:
        if PLAIN_TEXT.search(text):
            raise RawFileError("plain_text", "this is mpstat's text output; record with mpstat -o JSON")
        if text.lstrip()[0] != "{":
            raise RawFileError("not_json", "this is no JSON; record with mpstat -o JSON")
        raise RawFileError("no_measurement", "no list of statistics in it; record with mpstat -P ALL -o JSON")
    samples, end = _decode_elements(text, start.end())
    if not samples and end is not None and (repaired := DECIMAL_COMMA.sub(r"\1.\2", text)) != text:
        samples, end = _decode_elements(repaired, start.end())
    return samples, end


def _decode_elements(text: str, position: int) -> tuple[list[dict[str, Any]], int | None]:
    decoder = json.JSONDecoder()
    samples: list[dict[str, Any]] = []
    while True:
        separator = SEPARATOR.match(text, position)
        position = separator.end() if separator else position
        if text.startswith("]", position):
            return samples, None
        try:
            sample, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return samples, position
        if isinstance(sample, dict):
            samples.append(sample)


def _read_sample(sample: dict[str, Any]) -> list[dict[str, Any]]:
    loads = sample.get("cpu-load")
    time = sample.get("timestamp")
    rows = []
    for load in loads if isinstance(loads, list) else []:
        if isinstance(load, dict) and "cpu" in load:
            name = display_name(str(load["cpu"]))
            row: dict[str, Any] = {
                "time": display_name(str(time)) if time is not None else None,
                "cpu": "all" if name == "-1" else name,
            }
            rows.append(row | {f"cpu_{key}_pct": _percent(load.get(key)) for key in LOADS})
    # A CPU named twice in one sample would be no sample of one CPU.
    return list({row["cpu"]: row for row in rows}.values())


def _percent(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Neither nan nor an integer that no float can hold is in between.
    return float(value) if 0 <= value <= 101 else None
