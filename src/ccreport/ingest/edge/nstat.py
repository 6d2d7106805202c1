"""Snapshots of a server's network counters into the `machine_counters` table.

`nstat -a` prints `#kernel` and lines `TcpRetransSegs  11  0.0`, with `--json` an object; /proc/net/snmp and
/proc/net/netstat have a line of names and one of values for each group (`Tcp: … RetransSegs …`). All are brought to
nstat's names. Many snapshots may be in one file, each below a stamp `# 1795211351.663251`; else the file's name
tells the time. Written down in iproute2's `misc/nstat.c` and the kernel's `net/ipv4/proc.c`.
"""

import json
import re
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.core.tables import load_schema
from ccreport.ingest.edge.paths import EdgePlace, compile_layout, parse_time, read_place
from ccreport.ingest.reading import Reading
from ccreport.ingest.rejects import Problems, Rejects

# TcpRetransSegs                  11                 0.0
STAMP: Final = r"^# \d{9,10}(?:\.\d{1,6})?\s*$"
COUNTER: Final = r"^(?P<counter>[A-Za-z]\w{2,63})[ \t]+(?P<value>-?\d{1,20})(?:[ \t]+[\d.]+)?[ \t\r]*$"
# Tcp: RtoAlgorithm RtoMin …
GROUP: Final = re.compile(r"^(?P<group>\w+): (?P<fields>.*)$")
NAME: Final = re.compile(r"[A-Za-z]\w*")
BAD_LINE: Final = ("malformed_record", "`{}` is not a line that nstat or /proc/net prints; it is left out")
COUNTER_NAME: Final = r"^[A-Za-z]\w{2,63}$"
ROWS: Final = {"counter": pl.String(), "counter_value_count": pl.Int64(), "place": pl.UInt32()}


def read_counters(reading: Reading) -> None:
    """Write the counters of one folder of snapshots; the setting `edge_paths` is the layout of paths (`paths.py`)."""
    layout = compile_layout(reading.settings.edge_paths)
    with reading.open("machine_counters") as writer:

        def read(file: RawFile) -> None:
            # A run of the harness is known by its name; its path names no machine and no label.
            place = read_place(file.path, layout) if file.run_id is None else EdgePlace(None, None, None, None)
            writer.write(_read_file(file, reading.root / file.path, place, reading.rejected))

        reading.read_each(read)


def _read_file(file: RawFile, path: Path, place: EdgePlace, rejected: Rejects) -> pl.DataFrame:
    text = read_whole(path).decode("utf-8", "replace")
    if not text.strip():
        raise RawFileError("empty", "the file is empty; nstat was not started, or its output not kept")
    problems = Problems()
    counters = read_snapshots(text, problems)
    if counters.is_empty():
        raise RawFileError("no_measurement", "no counters in it; record with nstat -az or copy /proc/net/snmp")
    problems.write(file, rejected)
    return counters.with_columns(
        pl.col("time_utc").fill_null(pl.lit(place.time_utc, _type_of("time_utc"))),
        raw_file_id=pl.lit(file.raw_file_id),
        run_id=pl.lit(file.run_id, pl.String),
        **place.columns,
    )


def _type_of(column: str) -> pl.DataType:
    return load_schema("machine_counters").polars[column]


def read_snapshots(text: str, problems: Problems) -> pl.DataFrame:
    """Return counter, counter_value_count, snapshot_number and time_utc of all snapshots; the first of a name counts.

    Snapshots come below stamps, which tell their times. What is above the first stamp is one without, unless empty.
    """
    lines = pl.Series("line", [text]).str.split("\n").explode().to_frame()
    # In two steps: the expression is slow, and few lines are comments.
    is_comment = lines["line"].str.starts_with("#")
    is_stamp = pl.Series(np.zeros(lines.height, np.bool_))
    comments = is_comment.arg_true()
    is_stamp[comments] = lines["line"].gather(comments).str.contains(STAMP)
    stamps = lines["line"].filter(is_stamp).str.slice(2).str.strip_chars().to_list()
    times = pl.Series([None, *map(parse_time, stamps)], dtype=_type_of("time_utc"))
    first = is_stamp.arg_max() or 0 if stamps else lines.height
    has_head = (lines["line"].head(first).str.strip_chars() != "").any()
    placed = lines.with_columns(place=is_stamp.cum_sum()).filter(~is_comment)
    rows = _read_json(placed, problems) if "{" in text else _read_lines(placed, problems)
    # A value that no counter can have, as after a cut or in a made-up file, is not a number of this table.
    kept = rows.drop_nulls().unique(["place", "counter"], keep="first", maintain_order=True)
    return kept.select(
        "counter",
        "counter_value_count",
        snapshot_number=pl.col("place").cast(pl.Int64) - (0 if has_head else 1),
        time_utc=times.gather(kept["place"]),
    )


def _read_json(lines: pl.DataFrame, problems: Problems) -> pl.DataFrame:
    names: list[str] = []
    values: list[int] = []
    places: list[int] = []
    for place, text in lines.group_by("place", maintain_order=True).agg(pl.col("line").str.join("\n")).iter_rows():
        if not text.strip():
            continue
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            problems.add(("truncated_json", "`{}` is not complete JSON; it is left out"), text.strip().encode())
            continue
        counters = document.get("kernel") if isinstance(document, dict) else None
        for name, value in (counters if isinstance(counters, dict) else {}).items():
            if type(value) is int and -(2**63) <= value < 2**63 and NAME.fullmatch(name):
                names.append(name)
                values.append(value)
                places.append(place)
    return _to_rows(names, values, places)


def _to_rows(names: list[str], values: list[int] | list[str], places: list[int]) -> pl.DataFrame:
    # Icmp6 and the like need no unsigned 64 bits; what does not fit is null.
    numbers = pl.Series(values, dtype=None if values else pl.String).cast(pl.Int64, strict=False)
    columns = {"counter": names, "counter_value_count": numbers, "place": places}
    return pl.DataFrame(columns, schema=ROWS)


def _read_lines(lines: pl.DataFrame, problems: Problems) -> pl.DataFrame:
    """Return the counters of nstat's lines and of the groups of /proc/net, by the places of their snapshots."""
    lines = lines.filter(pl.col("line").str.strip_chars() != "")
    is_group = lines["line"].str.contains(": ", literal=True)
    found = lines.filter(~is_group)
    # Cut at blanks rather than matched, which takes 20 times as long; what this cannot read is matched.
    parts = found["line"].str.splitn(" ", 2).struct.unnest()
    rest = parts["field_1"].str.strip_chars(" ").str.splitn(" ", 2).struct.unnest()
    values = rest["field_0"].cast(pl.Int64, strict=False)
    rates = rest["field_1"].str.strip_chars(" ")
    names = parts["field_0"].unique()
    is_name = parts["field_0"].is_in(names.filter(names.str.contains(COUNTER_NAME)).implode())
    is_read = is_name & values.is_not_null() & (rates.is_null() | rates.cast(pl.Float64, strict=False).is_not_null())
    counters = pl.DataFrame({"counter": parts["field_0"], "counter_value_count": values, "place": found["place"]})
    if not is_read.all():
        matched = found.filter(~is_read)
        fields = matched["line"].str.extract_groups(COUNTER).struct.unnest()
        others = fields.select("counter", counter_value_count=pl.col("value").cast(pl.Int64, strict=False))
        for line in matched["line"].filter(others["counter_value_count"].is_null()):
            problems.add(BAD_LINE, line.encode())
        counters = pl.concat([counters.filter(is_read), others.with_columns(matched["place"])])
    if not is_group.any():
        return counters.select(list(ROWS)).cast({"place": pl.UInt32})
    grouped = lines.filter(is_group)
    groups = _read_groups(grouped["line"].to_list(), grouped["place"].to_list(), problems)
    return pl.concat([groups, counters.select(list(ROWS)).cast({"place": pl.UInt32})]).sort(
        "place", maintain_order=True
    )


def _read_groups(lines: list[str], places: list[int], problems: Problems) -> pl.DataFrame:
    """Return the counters of pairs of lines, names and values of one group."""
    names: list[str] = []
    values: list[str] = []
    counted: list[int] = []
    number = 0
    # Every snapshot has the same lines of names.
    heads: dict[str, list[str]] = {}
    while number < len(lines):
        head = lines[number]
        below = lines[number + 1].rstrip() if number + 1 < len(lines) and places[number + 1] == places[number] else ""
        if head not in heads:
            heads[head] = _read_head(head)
        fields = heads[head]
        group, _, numbers = below.partition(": ")
        texts = numbers.split()
        if not fields or group != head.partition(": ")[0] or not texts or NAME.fullmatch(texts[0]):
            problems.add(BAD_LINE, head.encode())
            number += 1
            continue
        pairs_count = min(len(fields), len(texts))
        names += fields[:pairs_count]
        values += texts[:pairs_count]
        counted += [places[number]] * pairs_count
        if len(fields) != len(texts):
            problems.add(BAD_LINE, below.encode())
        number += 2
    return _to_rows(names, values, counted)


def _read_head(line: str) -> list[str]:
    """Return the names of a line of names as nstat writes them; none where it is a line of something else."""
    match = GROUP.match(line)
    fields = match["fields"].split() if match else []
    return [f"{match['group']}{name}" for name in fields] if match and all(map(NAME.fullmatch, fields)) else []
