"""The samples of mpstat's JSON, damaged or not.

Quirks, from sysstat's issue tracker: a stopped mpstat often leaves its brackets unclosed or a comma trailing (212,
410); before 11.5.2 some locales write decimal commas; 11.6.0 leaves a comma where a processor is offline, and prints
loads without the sample that they belong to (216); started twice into one file there are two documents. So the list of
samples is read element by element, as far as it goes.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from ccreport.archive.raw_file import RawFileError

#     "statistics": [
STATISTICS: Final = re.compile(r'"statistics"\s*:\s*\[')
#     "nodename": "h1",
HOST: Final = re.compile(r'"nodename"\s*:\s*"([^"]*)"')
SEPARATOR: Final = re.compile(r"[\s,]*")
# "usr": 15,66,
DECIMAL_COMMA: Final = re.compile(r"(:\s*\d+),(\d\d)(?=\s*[,}])")
# {"cpu": "0", …, "idle": 95.96},
# ,
SECOND_COMMA: Final = re.compile(r"(?<=,)(\s*),")
# {"cpu": "all", "usr": 2.23, …, "idle": 95.97}
LOOSE: Final = re.compile(r'"timestamp"\s*:\s*"([^"]*)"|\{\s*"cpu"\s*:[^{}]*\}')


@dataclass
class Samples:
    """Elements of `statistics`; `cut_at` is the character offset where the last list breaks off, None if none does."""

    elements: list[dict[str, Any]] = field(default_factory=list)
    cut_at: int | None = None
    notes: list[str] = field(default_factory=list)


def parse_json(text: str) -> Samples:
    """Return the samples of all documents in a text that has a list of statistics at least.

    Raise RawFileError (`not_json`, `no_measurement`) where there is not such a list.
    """
    starts = list(STATISTICS.finditer(text))
    if not starts:
        if text.lstrip()[0] != "{":
            raise RawFileError("not_json", "this is neither JSON nor text of mpstat; record with mpstat -P ALL -o JSON")
        message = "the JSON ends before its list of `statistics`, or is not mpstat's: mpstat was killed, rerun the test"
        raise RawFileError("no_measurement", message)
    samples = Samples()
    first_host = _host_before(text, 0, starts[0].start())
    place = 0
    for number, start in enumerate(starts):
        until = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        host = _host_before(text, place, start.start())
        place = start.end()
        if host != first_host:
            samples.notes.append(f"a document of another host, {host}, is left out; the first is of {first_host}")
            continue
        if number:
            samples.notes.append(f"document {number + 1} of the file: mpstat was started again; its samples follow")
        _read_list(text, start.end(), until, samples)
    return samples


def _host_before(text: str, start: int, end: int) -> str | None:
    hosts = [found[1] for found in HOST.finditer(text, start, end)]
    return hosts[-1] if hosts else None


def _read_list(text: str, start: int, until: int, samples: Samples) -> None:
    elements, end = _decode_elements(text, start)
    if end is not None:
        # Neither changes the length of the text, so that offsets stay.
        repaired = SECOND_COMMA.sub(r"\1 ", DECIMAL_COMMA.sub(r"\1.\2", text[start:until]))
        if repaired != text[start:until]:
            others, other_end = _decode_elements(repaired, 0)
            if len(others) > len(elements):
                elements, end = others, None if other_end is None else start + other_end
                message = "commas of damaged JSON are mended (decimal commas, or one where a processor is offline: "
                samples.notes.append(f"{message}sysstat 216, fixed in newer versions)")
    if any("cpu" in element for element in elements):
        elements, end = _gather(text[start:until]), None
        message = "the JSON is damaged: loads lack the beginning of their sample (sysstat 216, version 11.6.0)"
        samples.notes.append(f"{message}; a processor that comes again begins the next one; use a newer sysstat")
    samples.elements += elements
    samples.cut_at = end if end is not None else samples.cut_at


def _decode_elements(text: str, position: int) -> tuple[list[dict[str, Any]], int | None]:
    decoder = json.JSONDecoder()
    elements: list[dict[str, Any]] = []
    while True:
        separator = SEPARATOR.match(text, position)
        position = separator.end() if separator else position
        if text.startswith("]", position):
            return elements, None
        try:
            element, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return elements, position
        if isinstance(element, dict):
            elements.append(element)


def _gather(text: str) -> list[dict[str, Any]]:
    """Return samples of loads anywhere in a text, with the time that comes before them, if one does."""
    samples: list[dict[str, Any]] = []
    seen: set[str] = set()
    for match in LOOSE.finditer(text):
        if match[1] is not None:
            seen = set()
            samples.append({"timestamp": match[1], "cpu-load": []})
            continue
        try:
            load = json.loads(DECIMAL_COMMA.sub(r"\1.\2", match[0]))
        except (ValueError, RecursionError):
            continue
        name = str(load.get("cpu"))
        if name in seen or not samples:
            seen = set()
            samples.append({"timestamp": None, "cpu-load": []})
        seen.add(name)
        samples[-1]["cpu-load"].append(load)
    return samples
