"""Files made anew beside those of a release: byte for byte, and Parquet tables else cell by cell.

Another version of the library that writes Parquet writes other bytes of the same cells. All other kinds are text, of
which every byte counts; what differs in a CSV table is named by its cells.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ccreport.core.tables import load_schema
from ccreport.core.text import count_things
from ccreport.publish.checks import FAULTS, describe_cause
from ccreport.publish.checks.descriptors import name_table
from ccreport.verify.cells import SHOWN, list_other_texts, name_row


@dataclass(frozen=True)
class Compared:
    """How many files are the same by their bytes, how many by their cells, and what is otherwise."""

    same_bytes: int
    same_cells: int
    failures: tuple[str, ...]

    @property
    def facts(self) -> str:
        """Return the counts in words."""
        by_cells = f", {self.same_cells} cell by cell" if self.same_cells else ""
        return f"{count_things(self.same_bytes, 'file')} equal byte for byte{by_cells}"


def compare_files(pairs: Iterable[tuple[str, Path, Path]]) -> Compared:
    """Compare files, each given by its name, its place in the release and that of the one made anew."""
    by_bytes = by_cells = 0
    failures: list[str] = []
    for name, published, made in pairs:
        if not published.is_file() or not made.is_file():
            failures.append(f"{name}: {'not made anew' if published.is_file() else 'made anew and not published'}")
        elif published.read_bytes() == made.read_bytes():
            by_bytes += 1
        elif name.endswith(".csv") and name_table(name):
            failures += _list_other_texts(name, published, made)
        elif name.endswith(".parquet"):
            found = list_other_cells(name, published, made)
            by_cells += not found
            failures += found
        else:
            failures.append(f"{name}: other bytes than made anew")
    return Compared(by_bytes, by_cells, tuple(failures))


def _list_other_texts(name: str, published: Path, made: Path) -> list[str]:
    try:
        return list_other_texts(name, published, made, ("published", "made anew"))
    except FAULTS as error:
        return [f"{name}: cannot be read ({describe_cause(error)})"]


def list_other_cells(name: str, published: Path, made: Path) -> list[str]:
    """Return in words where two Parquet tables have other columns, rows or cells; none where they are equal."""
    try:
        old, new = (pl.read_parquet(path, glob=False) for path in (published, made))
    except FAULTS as error:
        return [f"{name}: cannot be read ({describe_cause(error)})"]
    if old.schema != new.schema:
        return [f"{name}: other columns than made anew"]
    table = name_table(name)
    key = load_schema(table).key if table else ()
    if old.height != new.height:
        counts = f"{name}: {count_things(old.height, 'row')}, and {new.height:,} made anew"
        return [counts, *_list_rows_of_one(name, old, new, list(key) or old.columns)]
    found = []
    for column in old.columns:
        others = old[column].ne_missing(new[column]).arg_true()
        for number in others.head(SHOWN):
            row = name_row(number + 1, old.row(number, named=True), key)
            values = f"{old[column][number]!r} published, {new[column][number]!r} made anew"
            found.append(f"{name}: {row}, {column}: {values}")
        if len(others) > SHOWN:
            found.append(f"{name}: {column}: and {len(others) - SHOWN:,} more rows")
    return found


def _list_rows_of_one(name: str, old: pl.DataFrame, new: pl.DataFrame, key: list[str]) -> list[str]:
    """Return which rows, by the columns that tell them apart, only one of two tables has."""
    found = []
    for side, other, where in ((old, new, "published"), (new, old, "made anew")):
        alone = side.join(other, on=key, how="anti", nulls_equal=True)
        rows = alone.head(SHOWN).iter_rows(named=True)
        found += [f"{name}: {name_row(number, row, tuple(key))}: only {where}" for number, row in enumerate(rows, 1)]
        if alone.height > SHOWN:
            found.append(f"{name}: and {alone.height - SHOWN:,} more rows only {where}")
    return found
