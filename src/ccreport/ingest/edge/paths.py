"""Machine, label, algorithm and time of a file of an edge network, from its path.

An edge archive holds what servers printed of themselves, one file per machine and time, without a run:

    <machine>/<label>/ss-neit:<time>      ss -neit
    <machine>/<label>/access.log          nginx
    <machine>/<label>/nstat:<time>        nstat -a; also `snmp` and `netstat`, the files below /proc/net

The label is what the machine was set to, as a rule its congestion control algorithm. Other layouts are declared as a
regular expression over the whole path (without `.gz` and the like) with the groups `machine`, `label`, `cc`, `time`,
`kernel` (its version) and `population` (whose connections these are).
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from ccreport.archive.harness_layout import strip_copy_endings
from ccreport.core.configuration import find_layout_problem
from ccreport.core.errors import InputError
from ccreport.core.text import display_name

# 1795211351 · 1795211351.663251
UNIX_TIME: Final = re.compile(r"\d{9,10}(\.\d{1,6})?")
# 2026-11-20T22:10:05Z · 20261120T221005 · 2026-11-20:22:10 · 2026-11-20_22_10_05
CALENDAR_TIME: Final = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)[T:_ -](\d\d)[:_.-]?(\d\d)(?:[:_.-]?(\d\d))?(?:\.\d+)?Z?", re.ASCII
)


class EdgePathError(InputError):
    """The declared layout of an edge archive cannot be used."""


@dataclass(frozen=True)
class EdgePlace:
    """Where a file is from; `cc` is the algorithm that the path names, by itself or as the label."""

    machine: str | None
    label: str | None
    cc: str | None
    time_utc: datetime | None
    kernel: str | None = None
    population: str | None = None

    @property
    def columns(self) -> dict[str, pl.Expr]:
        """Return what every row of the file has of it, by column."""
        values = {
            "machine": self.machine,
            "label": self.label,
            "cc": self.cc,
            "kernel": self.kernel,
            "population": self.population,
        }
        return {name: pl.lit(value, pl.String) for name, value in values.items()}


def compile_layout(layout: str) -> re.Pattern[str]:
    """Return the declared layout; raise EdgePathError where it is not a regular expression or has unknown groups."""
    if problem := find_layout_problem(layout):
        raise EdgePathError(f"edge.paths: {problem}")
    return re.compile(layout)


def read_place(path: str, layout: re.Pattern[str]) -> EdgePlace:
    """Return what a path below the archive says; all is null where the layout does not fit."""
    match = layout.fullmatch(strip_copy_endings(path)[0])
    found = match.groupdict() if match else {}
    named = {key: display_name(text) for key, text in found.items() if text}
    label, cc = named.get("label"), named.get("cc")
    return EdgePlace(
        named.get("machine"),
        label or cc,
        cc or label,
        parse_time(found.get("time") or ""),
        named.get("kernel"),
        named.get("population"),
    )


def parse_time(text: str) -> datetime | None:
    """Return the time that a name tells, Unix seconds or a date and time, or None."""
    if UNIX_TIME.fullmatch(text):
        seconds, _, decimals = text.partition(".")
        return datetime.fromtimestamp(int(seconds), UTC) + timedelta(microseconds=int(decimals.ljust(6, "0")))
    match = CALENDAR_TIME.fullmatch(text)
    if match is None:
        return None
    try:
        # ASSUME: dates in the names of edge files are in UTC.
        return datetime(*(int(part or 0) for part in match.groups()), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
