"""Where two files of one table differ, cell by cell: the row by its key, the column, and both values.

A CSV file has texts only, in which a number may be written in several ways; those that are the same number are equal.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Final

import polars as pl

from ccreport.core.csv_files import write_csv
from ccreport.core.tables import load_schema
from ccreport.core.text import count_things
from ccreport.publish.checks import FAULTS, Check, describe_cause
from ccreport.publish.checks.descriptors import name_table

SHOWN: Final = 5
EVALUATIONS: Final = "evaluations/"
# How an empty cell of a CSV file is shown: it has no value.
EMPTY: Final = "nothing"

Rows = list[dict[str, str]]


@dataclass(frozen=True)
class CsvTable:
    """A CSV file read: its columns in order, its rows, each text by its column."""

    columns: list[str]
    rows: Rows


def check_csv(release: Path, paths: Iterable[str], work: Path) -> Check:
    """Compare every CSV file of a table among these paths of a release with the same table as Parquet."""
    files = set(paths)
    # Typed tables, below tables/, are Parquet alone.
    published = sorted(path for path in files if path.startswith(EVALUATIONS) and path.endswith(".parquet"))
    pairs = [(str(PurePosixPath(path).with_suffix(".csv")), release / path) for path in published if name_table(path)]
    there = [(path, parquet) for path, parquet in pairs if path in files]
    failures = [f"{path}: missing beside its Parquet file" for path, _ in pairs if path not in files]
    for path, parquet in there:
        try:
            failures += list_csv_differences(path, parquet, release / path, work)
        except FAULTS as error:
            failures.append(f"{path}: it or its Parquet file cannot be read ({describe_cause(error)})")
    return Check("csv", f"{count_things(len(there), 'table')} as CSV and as Parquet", tuple(failures))


def list_csv_differences(name: str, parquet: Path, csv_file: Path, work: Path) -> list[str]:
    """Return in words where a CSV file is not what its table as Parquet says; none where it is."""
    made = work / "made.csv"
    write_csv(pl.read_parquet(parquet, glob=False), made)
    if made.read_bytes() == csv_file.read_bytes():
        return []
    return list_other_texts(name, made, csv_file, ("as Parquet", "as CSV"))


def list_other_texts(name: str, old_file: Path, new_file: Path, sides: tuple[str, str]) -> list[str]:
    """Return in words where two CSV files of one table differ; `sides` say what each of them is."""
    old, new = _read(old_file), _read(new_file)
    if old.columns != new.columns:
        others = sorted(set(old.columns) ^ set(new.columns)) or ["their order"]
        return [f"{name}: other columns {sides[1]} than {sides[0]}: {', '.join(others)}"]
    found = list(_compare(old.rows, new.rows, _find_key(name, old.columns), sides))
    if not found:
        return [f"{name}: other bytes {sides[1]} than {sides[0]}, and the same cells"]
    more = [f"{name}: and {len(found) - SHOWN} more cells or rows"] if len(found) > SHOWN else []
    return [*(f"{name}: {difference}" for difference in found[:SHOWN]), *more]


def _read(path: Path) -> CsvTable:
    reader = csv.reader(StringIO(path.read_text(encoding="utf-8"), newline=""))
    columns = next(reader, [])
    return CsvTable(columns, [dict(zip(columns, row, strict=False)) for row in reader])


def _find_key(name: str, columns: Iterable[str]) -> tuple[str, ...]:
    table = name_table(name)
    key = load_schema(table).key if table else ()
    return key if set(key) <= set(columns) else ()


def _compare(old: Rows, new: Rows, key: tuple[str, ...], sides: tuple[str, str]) -> Iterator[str]:
    before, after = _index(old, key), _index(new, key)
    if not key or len(before) < len(old) or len(after) < len(new):
        # Without a key, or with one that is there twice, rows are known by their places.
        before, after = ({f"row {number}": row for number, row in enumerate(side, 1)} for side in (old, new))
    for row in {**before, **after}:
        if row not in before or row not in after:
            yield f"{row}: only {sides[0] if row in before else sides[1]}"
            continue
        for column in {**before[row], **after[row]}:
            was, is_now = before[row].get(column, ""), after[row].get(column, "")
            if not _is_same(was, is_now):
                yield f"{row}, {column}: {was or EMPTY} {sides[0]}, {is_now or EMPTY} {sides[1]}"


def _index(rows: Rows, key: tuple[str, ...]) -> Mapping[str, dict[str, str]]:
    return {name_row(number, row, key): row for number, row in enumerate(rows, 1)}


def name_row(number: int, row: Mapping[str, object], key: tuple[str, ...]) -> str:
    """Return what names a row: its key, such as `row flows_count=16, algorithm=BBR`, else its number."""
    named = ", ".join(f"{column}={row[column]}" for column in key if row.get(column) not in (None, ""))
    return f"row {named or number}"


def _is_same(cell: str, other: str) -> bool:
    if cell == other:
        return True
    try:
        return float(cell) == float(other)
    except ValueError:
        return False
