"""The text that mpstat prints without `-o JSON`, of any version, option and locale, as the samples of its JSON.

    Linux 5.4.0 (host)      11/20/26        _x86_64_        (2 CPU)

    09:41:55 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
    09:41:56 PM  all   15,66    0,00    4,04    0,00    0,00    0,51    0,00    0,00    0,00   79,80

Quirks: a clock of 12 or 24 hours, points or commas in numbers, `%user` and `%sys` by other names before sysstat 10,
columns between CPU and loads (`-T`), parts about nodes and interrupts (`-A`, `-N`, `-I`), means at the end, called
`Average:` or the word of the locale. With one processor or none asked for, the header is printed only once a screen.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

# Linux 5.4.0 (host)      11/20/26        _x86_64_        (2 CPU)
BANNER: Final = re.compile(r"^\S+ \S+ \((\S*)\)\s.*\(\d+ CPU\)\s*$")
# 21:41:55 · 09:41:55 PM · 21.41.55
TIME: Final = re.compile(r"^\s*(\d{1,2})[:.](\d\d)[:.](\d\d)(?:\s+([AaPp])\.?[Mm]\.?)?(?=\s)")
LOAD: Final = re.compile(r"\d{1,3}(?:[.,]\d+)?")
# Names of before sysstat 10 are beside those of the JSON.
COLUMNS: Final = {
    "%usr": "usr",
    "%user": "usr",
    "%nice": "nice",
    "%sys": "sys",
    "%system": "sys",
    "%iowait": "iowait",
    "%irq": "irq",
    "%soft": "soft",
    "%steal": "steal",
    "%guest": "guest",
    "%gnice": "gnice",
    "%idle": "idle",
}
CPU_NAME: Final = re.compile(r"all|-1|\d+")


def is_text(text: str) -> bool:
    """Return whether this is mpstat's text: a line of its headers is in it."""
    return any(_header(line) is not None for line in text.splitlines()) or BANNER.match(text.lstrip()) is not None


def parse_text(text: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return samples as in the JSON, `{"timestamp": …, "cpu-load": [{"cpu": "all", "usr": …}…]}`, and what is left out.

    Means over the whole time are none. Reports of another host than the first are left out.
    """
    notes: list[str] = []
    samples: list[dict[str, Any]] = []
    for time, load in _read_rows(text, notes):
        loads = samples[-1]["cpu-load"] if samples else []
        if not samples or samples[-1]["timestamp"] != time or any(other["cpu"] == load["cpu"] for other in loads):
            samples.append({"timestamp": time, "cpu-load": []})
        samples[-1]["cpu-load"].append(load)
    return samples, notes


def _read_rows(text: str, notes: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    host, is_other_host = None, False
    columns: list[str] | None = None
    lines = text.split("\n")
    if cut := lines.pop().strip():
        notes.append(f"the last line is cut and left out: {cut[:80]!r}")
    for line in lines:
        if banner := BANNER.match(line):
            host, columns = host or banner[1], None
            is_other_host = banner[1] != host
            if is_other_host:
                notes.append(f"a report of another host, {banner[1]}, is left out; the first is of {host}")
        elif is_other_host:
            continue
        elif (header := _header(line)) is not None:
            columns = header if any(name in COLUMNS for name in header) else None
        elif columns is not None and (row := _read_row(line, columns)) is not None:
            yield row


def _header(line: str) -> list[str] | None:
    """Return the names of a header's columns, `CPU` or `NODE` first; None for any other line."""
    words = line.split()
    place = next((at for at, word in enumerate(words[:3]) if word in ("CPU", "NODE")), None)
    if place is None or (not words[-1].startswith("%") and not words[-1].endswith("/s")):
        return None
    return words[place:] if words[place] == "CPU" else []


def _read_row(line: str, columns: list[str]) -> tuple[str, dict[str, Any]] | None:
    time = TIME.match(line)
    if time is None:
        return None
    words = line[time.end() :].split()
    if len(words) != len(columns) or CPU_NAME.fullmatch(words[0]) is None:
        return None
    load: dict[str, Any] = {"cpu": words[0]}
    for name, word in zip(columns, words, strict=True):
        if name in COLUMNS:
            load[COLUMNS[name]] = float(word.replace(",", ".")) if LOAD.fullmatch(word) else None
    half = f" {time[4].upper()}M" if time[4] else ""
    return f"{time[1]}:{time[2]}:{time[3]}{half}", load
