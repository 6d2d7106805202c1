"""Where raw files are in an archive and what their names say, by the layout that is built in.

The layout is that of ESnet's testing harness: `YYYY-MM-DD:HH:MM/<job>/<item>:<suffix>`, where the suffix is
`dst:iteration`, `…:<rtt>ms`, `…:<limit>`, `…:<parameter>:<value>` or a combination. A destination may hold colons
itself (IPv6), so suffixes are read from the right and against the destinations that the job's metadata names.
Files that follow no such pattern are still experiments: one for each folder that holds some. `collect` writes the same
layout, with files about the session itself in its folder, and keeps what it has not finished below `.partial`.
"""

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from ccreport.core.identifiers import short_hash
from ccreport.core.text import display_name

# 2026-11-20:22:10 · 2026-11-20_22_10 (colons replaced by a copy to another file system)
SESSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}[:_T. -]\d{2}[:_.-]?\d{2}")
# src-cmd:10.201.1.2:1:10.0ms · src-cmd-2:cern-pt1.example.net:4:87.0ms · mpstat-sender:2001:db8::2:1.json
ITEM: Final = re.compile(
    r"(?P<item>[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*)(?:-(?P<client>\d{1,9}))?:(?P<rest>.+)", re.DOTALL
)
COPY_ENDINGS: Final = (".fixed.json", ".json", ".gz", ".zst", ".xz", ".bz2")
# 10.0ms · 87ms
RTT: Final = re.compile(r"(\d+(?:\.\d+)?)ms")
NUMBER: Final = re.compile(r"\d{1,9}")
HOST_META_ENDING: Final = "-meta.json"
# Runs that `collect` has not finished, until it renames them into place.
UNFINISHED: Final = ".partial"
DERIVED_ENDINGS: Final = (".gp", ".png", ".pdf", ".svg", ".eps", ".xpl", ".xpl.gz", ".dat", ".html", ".csv")


@dataclass(frozen=True)
class Suffix:
    """What the part of a file name behind the item says; or what a declared layout says of a run.

    Only such a layout has `conditions`: values of columns of `runs`, for which the harness's names have no place.
    """

    text: str
    host: str | None
    iteration: int | None
    rtt_nominal_ms: float | None = None
    limit: int | None = None
    parameter_name: str | None = None
    parameter_value: str | None = None
    conditions: tuple[tuple[str, str | int | float], ...] | None = None


@dataclass(frozen=True)
class ItemName:
    """A file name split: `item` as the harness calls it, its client number, the suffix, and the endings of a copy."""

    item: str
    client_number: int
    suffix: str
    endings: tuple[str, ...]


def strip_copy_endings(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a name without the endings of compressed and repaired copies, and those endings, innermost first."""
    endings: list[str] = []
    if not name.endswith(COPY_ENDINGS):
        return name, ()
    while ending := next((e for e in COPY_ENDINGS if name.endswith(e) and len(name) > len(e)), None):
        name = name.removesuffix(ending)
        endings.insert(0, ending)
    return name, tuple(endings)


def split_name(name: str) -> ItemName | None:
    """Split the name of a run's file, or return None where it has not the form of the harness's names."""
    match = ITEM.fullmatch(name)
    if match is None:
        return None
    suffix, endings = strip_copy_endings(match["rest"])
    return ItemName(match["item"], int(match["client"] or 1), suffix, endings)


def parse_suffix(text: str, destinations: Collection[str], parameter: str | None = None, *, has_limits: bool) -> Suffix:
    """Read a suffix from the right, against the known destinations; longest first, since one may begin another.

    `parameter` is the swept parameter's name where the job names one; `has_limits` tells that the job sweeps limits.
    A suffix that fits no form keeps only its text.
    """
    known = max((d for d in destinations if text.startswith(f"{d}:")), key=len, default=None)
    if known is not None:
        host, fields = known, text[len(known) + 1 :].split(":")
    else:
        host, fields = _split_unknown_destination(text, parameter, has_limits=has_limits)
    if not host or not fields or not NUMBER.fullmatch(fields[0]):
        return Suffix(text, None, None)
    return _read_fields(text, host, int(fields[0]), fields[1:])


def _split_unknown_destination(text: str, parameter: str | None, *, has_limits: bool) -> tuple[str, list[str]]:
    fields = text.split(":")
    tail = 1
    if RTT.fullmatch(fields[-1]) or (has_limits and len(fields) > 2 and NUMBER.fullmatch(fields[-1])):
        tail += 1
    if parameter is not None and len(fields) > tail + 2 and fields[-tail - 1] == parameter:
        tail += 2
    elif parameter is not None and len(fields) > tail + 1 and fields[-tail] == parameter:
        tail += 1
    return ":".join(fields[:-tail]), fields[-tail:]


def _read_fields(text: str, host: str, iteration: int, fields: list[str]) -> Suffix:
    rtt = limit = name = value = None
    if len(fields) >= 2:
        name, value = fields[:2]
        fields = fields[2:]
    if len(fields) == 1 and (match := RTT.fullmatch(fields[0])):
        rtt = float(match[1])
    elif len(fields) == 1 and NUMBER.fullmatch(fields[0]):
        limit = int(fields[0])
    elif fields:
        return Suffix(text, None, None)
    return Suffix(text, display_name(host), iteration, rtt, limit, name, value)


@dataclass(frozen=True)
class Folder:
    """One experiment's place: its folder below the root, and the session and job that its path names."""

    path: str
    session: str | None
    job: str | None

    @cached_property
    def experiment_id(self) -> str:
        """Return the opaque slug that stands for this folder in file names and tables."""
        named = (self.session, self.job) if self.session else (PurePosixPath(self.path).name,)
        stem = "-".join(part for part in named if part) or "archive"
        return f"{slug(stem)}-{short_hash(self.path)}"

    def run_id(self, suffix: str) -> str:
        """Return the identifier of the run whose files have this suffix in their names."""
        return f"{self.experiment_id}.{slug(suffix)}-{short_hash(suffix)}"


def slug(text: str) -> str:
    """Return a short text of letters, digits, dots, dashes and underscores that still can be recognised."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip(".-")[:60] or "x"


def find_folder(place: PurePosixPath) -> Folder:
    """Return the experiment that files in a folder belong to: the job folder below the session folder, else this one.

    What is in the session folder itself is an experiment without a job, and so is all that is unfinished.
    """
    parents = place.parts
    if UNFINISHED in parents:
        return Folder("/".join(parents[: parents.index(UNFINISHED) + 1]), None, None)
    for depth, part in enumerate(parents):
        if SESSION.fullmatch(part):
            job = parents[depth + 1] if len(parents) > depth + 1 else None
            folder = "/".join(parents[: depth + 2])
            return Folder(folder, display_name(part), display_name(job) if job is not None else None)
    # By its whole path, as a/x and b/x are two jobs.
    path = "/".join(parents)
    return Folder(path, None, display_name(path) if parents else None)


def find_root(folder: Path) -> Path:
    """Return the folder whose entries are the archive: a single folder inside a folder is only a wrapping.

    Sessions, folders that say something of their files (`load=8`) and unfinished runs are none.
    """
    while True:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        is_wrapped = len(entries) == 1 and entries[0].is_dir(follow_symlinks=False)
        name = entries[0].name if is_wrapped else ""
        if not is_wrapped or SESSION.fullmatch(name) or "=" in name or name == UNFINISHED:
            return folder
        folder = Path(entries[0].path)


def walk_files(root: Path) -> Iterator[tuple[PurePosixPath, os.DirEntry[str]]]:
    """Yield everything below the root that is not a folder, with the path of its folder from there, in sorted order."""
    # Not by recursion: folders may be nested deeper than functions can.
    waiting = [(PurePosixPath(), iter(sorted(os.scandir(root), key=lambda entry: entry.name)))]
    while waiting:
        place, entries = waiting[-1]
        entry = next(entries, None)
        if entry is None:
            waiting.pop()
        elif entry.is_dir(follow_symlinks=False):
            below = iter(sorted(os.scandir(entry.path), key=lambda entry: entry.name))
            waiting.append((place / entry.name, below))
        else:
            yield place, entry


def join_path(place: PurePosixPath, name: str) -> str:
    """Return the path of a file by its folder and its name; of many files this is faster than pathlib's."""
    return f"{place}/{name}" if place.parts else name


def fingerprint(archive: Path) -> str:
    """Return a hash of the names, sizes and times of all files of a folder, or of the one file, without reading any.

    A folder's own time stamp does not change when a file deep inside does, so Snakemake cannot see that by itself.
    """
    if not archive.is_dir():
        status = archive.stat()
        return short_hash(f"{archive.name}\0{status.st_size}\0{status.st_mtime_ns}")
    lines = []
    for place, entry in walk_files(archive):
        status = entry.stat(follow_symlinks=False)
        lines.append(f"{place}\0{entry.name}\0{status.st_size}\0{status.st_mtime_ns}")
    return short_hash("\n".join(lines))
