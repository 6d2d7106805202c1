"""Long netperf output read by column: thousands of lines of CSV or of interim results, where all of them are plain.

What these functions do not take, they leave to the readers of single lines in netperf_forms, which say the same.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv

# Below this a reader of columns needs longer to begin than the other one for all.
FEWEST_LINES: Final = 200
# A text in quotes that is a whole value.
QUOTED: Final = re.compile(r'"(?<=[,\n]")[^"\n]*"(?![^,\n])')
# Other ends of lines, and blanks that only Python takes for such.
UNUSUAL: Final = "\r\x1c\x1d\x1e\x1f"
NUMBER: Final = r"^[0-9]{1,18}\.[0-9]{1,9}$"
FIRST: Final = "NETPERF_INTERIM_RESULT[0]="
ENDING: Final = "NETPERF_ENDING["
INTERIM_LINES: Final = (
    (r"^NETPERF_INTERIM_RESULT\[\d+\]$", NUMBER),
    (r"^NETPERF_UNITS\[\d+\]$", r"^\S{1,20}$"),
    (r"^NETPERF_INTERVAL\[\d+\]$", NUMBER),
    (r"^NETPERF_ENDING\[\d+\]$", NUMBER),
)


@dataclass
class Interim:
    """Interim results of one test in `unit`; intervals and ends in s, the latter since 1970."""

    values: list[float] = field(default_factory=list)
    intervals: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    unit: str | None = None


def split_csv(text: str, width: int, places: Mapping[str, int]) -> pl.DataFrame | None:
    """Return the values at named places of all lines; None unless each line has `width` plain values."""
    lengths = [*map(len, text.split("\n"))]
    if len(lengths) < FEWEST_LINES or width == 1 or max(lengths) > csv.field_size_limit():
        return None
    if any(char in text for char in UNUSUAL) or 2 * len(QUOTED.findall(f"\n{text}")) != text.count('"'):
        return None
    values = _parse(text, width, pa_csv.ParseOptions(), list(places.values()))
    if values is None:
        return None
    return values.select(pl.col(str(place)).str.strip_chars().alias(name) for name, place in places.items())


def _parse(text: str, width: int, options: pa_csv.ParseOptions, places: list[int]) -> pl.DataFrame | None:
    names = [str(place) for place in range(width)]
    wanted = [names[place] for place in places]
    content = text.encode()
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(content),
            pa_csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names),
            options,
            pa_csv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    return pl.DataFrame(table)


def split_interim(text: str) -> tuple[str, Interim] | None:
    """Return a text without its interim results as key=value, and these.

    None unless they are one after the other, of four lines each.
    """
    start = text.find(FIRST)
    end = text.find("\n", text.rfind(f"\n{ENDING}") + 1) + 1
    block = text[start:end]
    if (
        block.count("\n") < FEWEST_LINES
        or any(char in block for char in UNUSUAL)
        or text[:start][-1:] not in ("", "\n")
    ):
        return None
    options = pa_csv.ParseOptions(delimiter="=", quote_char=False, ignore_empty_lines=False)
    parsed = _parse(block, 2, options, [0, 1])
    if parsed is None or parsed.height % len(INTERIM_LINES):
        return None
    found = []
    for number, (key, form) in enumerate(INTERIM_LINES):
        keys, texts = (column.gather_every(len(INTERIM_LINES), number) for column in parsed.get_columns())
        if not (keys.str.contains(key).all() and texts.str.contains(form).all()):
            return None
        found.append(texts)
    values, intervals, ends = (found[number].cast(pl.Float64).to_list() for number in (0, 2, 3))
    return text[:start] + text[end:], Interim(values, intervals, ends, found[1][0])
