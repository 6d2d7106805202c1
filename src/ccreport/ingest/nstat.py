"""Snapshots of a server's network counters into the `machine_counters` table.

`nstat -a` prints `#kernel` and lines `TcpRetransSegs  11  0.0`, with `--json` an object; /proc/net/snmp and
/proc/net/netstat have a line of names and one of values for each group (`Tcp: … RetransSegs …`). All are brought to
nstat's names. Many snapshots may stand in one file, each below a stamp `# 1795211351.663251`; else the file's name
tells the time. Written down in iproute2's `misc/nstat.c` and the kernel's `net/ipv4/proc.c`.
"""

import json
import re
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.ingest.edge_paths import EdgePlace, compile_layout, parse_time, read_place
from ccreport.ingest.ss_problems import Problems
from ccreport.raw import RawFile, RawFileError, Rejects, read_manifest, read_whole
from ccreport.tables import TableWriter, load_schema

STAMP: Final = re.compile(r"^# (\d{9,10}(?:\.\d{1,6})?)[^\S\n]*$", re.MULTILINE)
# TcpRetransSegs                  11                 0.0
COUNTER: Final = r"^(?P<counter>[A-Za-z]\w{2,63})[ \t]+(?P<value>-?\d{1,20})(?:[ \t]+[\d.]+)?[ \t\r]*$"
# Tcp: RtoAlgorithm RtoMin …
GROUP: Final = re.compile(r"^(?P<group>\w+): (?P<fields>.*)$")
NAME: Final = re.compile(r"[A-Za-z]\w*")
BAD_LINE: Final = ("malformed_record", "`{}` is no line that nstat or /proc/net prints; it is left out")
SNAPSHOT: Final = {"counter": pl.String(), "counter_value_count": pl.Int64()}


def ingest_nstat(manifest: Path, root: Path, machine_counters: Path, rejects: Path, edge_paths: str) -> None:
    """Write the counters of one folder of snapshots, and what could not be used of them.

    `edge_paths` is the layout of the paths (`edge_paths.py`).
    """
    layout = compile_layout(edge_paths)
    rejected = Rejects()
    with TableWriter("machine_counters", machine_counters) as writer:
        for file in read_manifest(manifest).files_for("ingest_nstat"):
            try:
                writer.write(_read_file(file, root / file.path, read_place(file.path, layout), rejected))
            except RawFileError as error:
                rejected.add_error(file, error)
    rejected.write(rejects)


def _read_file(file: RawFile, path: Path, place: EdgePlace, rejected: Rejects) -> pl.DataFrame:
    text = read_whole(path).decode("utf-8", "replace")
    if not text.strip():
        raise RawFileError("empty", "the file is empty; nstat was not started, or its output not kept")
    problems = Problems()
    snapshots = [
        read_snapshot(part, problems).with_columns(
            snapshot_number=pl.lit(number, pl.Int64), time_utc=pl.lit(time_utc or place.time_utc, _type_of("time_utc"))
        )
        for number, (time_utc, part) in enumerate(split_snapshots(text))
    ]
    counters = pl.concat(snapshots)
    if counters.is_empty():
        raise RawFileError("no_measurement", "no counters in it; record with nstat -az or copy /proc/net/snmp")
    problems.write(file, rejected)
    return counters.with_columns(
        raw_file_id=pl.lit(file.raw_file_id),
        machine=pl.lit(place.machine, pl.String),
        label=pl.lit(place.label, pl.String),
        cc=pl.lit(place.cc, pl.String),
    )


def _type_of(column: str) -> pl.DataType:
    return load_schema("machine_counters").polars[column]


def split_snapshots(text: str) -> list[tuple[datetime | None, str]]:
    """Return time and text of each snapshot; what stands above the first stamp is one without a time, unless empty."""
    stamps = list(STAMP.finditer(text))
    starts = [stamp.end() for stamp in stamps]
    ends = [stamp.start() for stamp in stamps[1:]] + [len(text)]
    head = text[: stamps[0].start()] if stamps else text
    parts = [(parse_time(stamp[1]), text[a:b]) for stamp, a, b in zip(stamps, starts, ends, strict=False)]
    return [(None, head), *parts] if head.strip() else parts


def read_snapshot(text: str, problems: Problems) -> pl.DataFrame:
    """Return counter and value of one snapshot in either form; the first of a name counts."""
    rows = _read_json(text, problems) if text.lstrip().startswith("{") else _read_lines(text, problems)
    # A value that no counter can have, as after a cut or in a made-up file, is no number of this table.
    return rows.drop_nulls().unique("counter", keep="first", maintain_order=True)


def _read_json(text: str, problems: Problems) -> pl.DataFrame:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        problems.add(("truncated_json", "`{}` is no whole JSON; it is left out"), text.strip().encode())
        return pl.DataFrame(schema=SNAPSHOT)
    counters = document.get("kernel") if isinstance(document, dict) else None
    rows = [
        {"counter": name, "counter_value_count": value}
        for name, value in (counters if isinstance(counters, dict) else {}).items()
        if type(value) is int and -(2**63) <= value < 2**63 and NAME.fullmatch(name)
    ]
    return pl.DataFrame(rows, schema=SNAPSHOT)


def _read_lines(text: str, problems: Problems) -> pl.DataFrame:
    lines = pl.Series("line", [text]).str.split("\n").explode().to_frame()
    lines = lines.filter(~pl.col("line").str.contains(r"^\s*(?:#.*)?$"))
    is_group = lines["line"].str.contains(r"^\w+: ")
    groups = _read_groups(lines.filter(is_group)["line"].to_list(), problems)
    found = lines.filter(~is_group)
    fields = found["line"].str.extract_groups(COUNTER).struct.unnest()
    counters = fields.select("counter", counter_value_count=pl.col("value").cast(pl.Int64, strict=False))
    for line in found["line"].filter(counters["counter_value_count"].is_null()):
        problems.add(BAD_LINE, line.encode())
    return pl.concat([groups, counters])


def _read_groups(lines: list[str], problems: Problems) -> pl.DataFrame:
    """Return the counters of pairs of lines, names and values of one group."""
    names: list[str] = []
    values: list[str] = []
    used = set()
    split = [(match["group"], match["fields"].split()) if (match := GROUP.match(line)) else ("", []) for line in lines]
    for number, ((group, head), (group_below, below)) in enumerate(pairwise(split)):
        is_pair = group == group_below and head and NAME.fullmatch(head[0]) and not NAME.fullmatch((below or ["x"])[0])
        if is_pair and number not in used:
            pairs = [pair for pair in zip(head, below, strict=False) if NAME.fullmatch(pair[0])]
            names += [f"{group}{name}" for name, _ in pairs]
            values += [value for _, value in pairs]
            used |= {number, number + 1}
            if len(head) != len(below):
                problems.add(BAD_LINE, lines[number + 1].encode())
    for number in range(len(lines)):
        if number not in used:
            problems.add(BAD_LINE, lines[number].encode())
    # Icmp6 and the like need no unsigned 64 bits; what does not fit is null.
    numbers = pl.Series(values, dtype=pl.String).cast(pl.Int64, strict=False)
    return pl.DataFrame({"counter": names, "counter_value_count": numbers}, schema=SNAPSHOT)
