"""What differs between two releases: verdicts, other values of claims, cells of published tables, figures."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

from ccreport.archive.layout_groups import sort_naturally
from ccreport.archive.pack import list_files
from ccreport.core.errors import InputError
from ccreport.core.tables import load_schema
from ccreport.core.text import count_things
from ccreport.publish import SUMS
from ccreport.publish.changes.change import ABSENT, Change, compare_values, is_number
from ccreport.publish.changes.claims import list_claims, list_words
from ccreport.publish.changes.reproduction import KEY, list_pairs
from ccreport.publish.sums import read_sums
from ccreport.storage.sums import hash_file

# Columns that say what the numbers of a row are of, in tables where not all rows are of the same quantity.
QUANTITIES: Final = ("measure", "quantity", "unit")
# The column of a table with what is judged of each row.
VERDICT: Final = "verdict"

Rows = Mapping[tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True)
class ReleaseFolder:
    """A release to compare, by its folder; one that is being made has no SHA256SUMS yet."""

    folder: Path

    @cached_property
    def files(self) -> dict[str, str]:
        """Return the SHA-256 of each file but the list itself."""
        if (self.folder / SUMS).is_file():
            return read_sums(self.folder)
        return {path.as_posix(): hash_file(self.folder / path) for path in list_files(self.folder)}

    @cached_property
    def raw(self) -> dict[str, str]:
        """Return the SHA-256 of each raw file."""
        return read_sums(self.folder / "raw")

    @cached_property
    def config(self) -> dict[str, Any]:
        """Return the configuration, without what a release says of itself."""
        config = _load(self.folder / "code/config.yaml")
        return {key: value for key, value in config.items() if key != "release"}

    @property
    def evaluation(self) -> str:
        """Return the name of the configured evaluation."""
        return Path(str(self.config.get("evaluation", ""))).stem

    @cached_property
    def evaluations(self) -> dict[str, dict[str, Any]]:
        """Return the declarations of all evaluations by name."""
        return {name: _load(self.folder / "evaluations" / name / f"{name}.yaml") for name in self.list_evaluations()}

    def list_evaluations(self) -> list[str]:
        """Return the names of all evaluations."""
        return sorted(path.name for path in (self.folder / "evaluations").iterdir() if path.is_dir())

    @cached_property
    def runs(self) -> set[str]:
        """Return the run_id of all runs."""
        files = sorted((self.folder / "tables/runs").glob("*.parquet"))
        return {run for file in files for run in pl.read_parquet(file, columns=["run_id"], glob=False)["run_id"]}

    @property
    def version(self) -> str | None:
        """Return the version alone, None where nothing is released yet."""
        path = self.folder / "CITATION.cff"
        return str(_load(path)["version"]) if path.is_file() else None

    @cached_property
    def title(self) -> str:
        """Return version and day."""
        cited = _load(self.folder / "CITATION.cff")
        return f"version {cited['version']} of {cited['date-released']}"


def describe_order(before: str | None, after: str | None) -> str:
    """Return what is odd about comparing two versions where the later one is the lower; nothing where it is not."""
    is_lower = sort_naturally({str(before), str(after)}) == [str(after), str(before)]
    return f"version {after} is compared as the later one of {before}" if is_lower else ""


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path} does not exist: the release is incomplete; `verify` says what else it lacks")
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True)
class Exhibit:
    """What differs of one table, figure or list of claims of an evaluation.

    `alone` names the rows of a table that only the former release has, and those that only the later has.
    """

    kind: str
    evaluation: str
    name: str
    changes: tuple[Change, ...]
    alone: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def list_exhibits(old: ReleaseFolder, new: ReleaseFolder) -> Iterator[Exhibit]:
    """Yield what differs of evaluations that both sides have: claims, published pairs, cells, figures.

    Verdicts come first, also those of the table `comparisons`. Cells of a table are sorted by how much they matter. The
    configured evaluation of the later release comes before the others.
    """
    names = sorted(old.evaluations.keys() & new.evaluations.keys(), key=lambda name: (name != new.evaluation, name))
    claims = {name: list(_list_claims(old, new, name)) for name in names}
    tables = {name: list(_list_tables(old, new, name)) for name in names}
    for kind in ("verdicts", "checks", "claims"):
        for name in names:
            found = tuple(change for of_kind, change in claims[name] if of_kind == kind)
            if found:
                yield Exhibit(kind, name, "claims", found)
        if kind == "verdicts":
            yield from (table for name in names for table in tables[name] if table.kind == "flips")
    for name in names:
        place = f"evaluations/{name}/reproduction.parquet"
        if pairs := tuple(list_pairs(*(_index(_read(side, place), KEY) for side in (old, new)))):
            yield Exhibit("pairs", name, "reproduction", pairs)
    yield from (table for name in names for table in tables[name] if table.kind == "cells")
    yield from _list_figures(old, new, names)


def _list_tables(old: ReleaseFolder, new: ReleaseFolder, name: str) -> Iterator[Exhibit]:
    """Yield what differs of the published tables of an evaluation, flipped verdicts apart from other cells."""
    for table in sorted({table for side in (old, new) for table in side.evaluations[name].get("tables", {})}):
        place = f"evaluations/{name}/tables/{table}.parquet"
        before, after = (_read(side, place) for side in (old, new))
        key = load_schema(table).key
        if not before or not after:
            if before or after:
                change = Change("the whole table", _count_rows(before), _count_rows(after))
                yield Exhibit("cells", name, table, (change,))
            continue
        was, is_now = _index(before, key), _index(after, key)
        found = list(_list_cells(was, is_now, key))
        if flips := tuple(change for column, change in found if column == VERDICT):
            yield Exhibit("flips", name, table, flips)
        cells = sorted((change for column, change in found if column != VERDICT), key=lambda change: change.rank)
        alone = _list_alone(was, is_now, key), _list_alone(is_now, was, key)
        if cells or any(alone):
            yield Exhibit("cells", name, table, tuple(cells), alone)


def _read(side: ReleaseFolder, place: str) -> dict[str, pl.DataFrame]:
    """Return a table of a release, none where it has none."""
    path = side.folder / place
    return {"table": pl.read_parquet(path, glob=False)} if path.is_file() else {}


def _index(table: Mapping[str, pl.DataFrame], key: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = table["table"].iter_rows(named=True) if table else ()
    return {tuple(row[column] for column in key if column in row): row for row in rows}


def _list_claims(old: ReleaseFolder, new: ReleaseFolder, name: str) -> Iterator[tuple[str, Change]]:
    place = f"evaluations/{name}/claims.parquet"
    before, after = (_index(_read(side, place), ("claim", "check")) for side in (old, new))
    yield from list_claims(before, after)
    declared = (side.evaluations[name].get("claims", {}) for side in (old, new))
    yield from (("claims", change) for change in list_words(*declared))


def _list_cells(before: Rows, after: Rows, key: tuple[str, ...]) -> Iterator[tuple[str, Change]]:
    """Yield the column, and what was and is, of each cell that differs in rows that both sides have."""
    largest = _find_largest([*before.values(), *after.values()])
    for row in after:
        for column in {**after[row], **before[row]} if row in before else ():
            was, is_now = (side[row].get(column) for side in (before, after))
            where = _name_row(row, key) if column == VERDICT else f"{_name_row(row, key)}, {column}"
            scale = largest.get(_name_scale(column, after[row]), 0.0)
            if change := compare_values(where, was, is_now, column, scale):
                yield column, change


def _list_alone(side: Rows, other: Rows, key: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_name_row(row, key) for row in side if row not in other)


def _name_row(row: tuple[Any, ...], key: tuple[str, ...]) -> str:
    """Return the values of a row's key that there are."""
    told = (f"{column}={value}" for column, value in zip(key, row, strict=False) if value is not None)
    return ", ".join(told) or "the row without a key"


def _count_rows(table: Mapping[str, pl.DataFrame]) -> str:
    return count_things(table["table"].height, "row") if table else ABSENT


def _find_largest(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], float]:
    """Return the largest magnitude of each column of numbers, apart for each quantity that it holds."""
    largest: dict[tuple[str, ...], float] = {}
    for row in rows:
        for column, value in row.items():
            if is_number(value) and math.isfinite(value):
                scale = _name_scale(column, row)
                largest[scale] = max(largest.get(scale, 0.0), abs(value))
    return largest


def _name_scale(column: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    return column, *(str(row.get(name)) for name in QUANTITIES)


def _list_figures(old: ReleaseFolder, new: ReleaseFolder, evaluations: Collection[str]) -> Iterator[Exhibit]:
    """Yield the figures of evaluations of which a file differs; old and new are the beginnings of its SHA-256."""
    sides = [_group_figures(side.files) for side in (old, new)]
    for evaluation, figure in sorted(sides[0].keys() | sides[1].keys()):
        before, after = (side.get((evaluation, figure), {}) for side in sides)
        changes = tuple(
            Change(file, before.get(file, ABSENT)[:12], after.get(file, ABSENT)[:12])
            for file in sorted(before.keys() | after.keys())
            if before.get(file) != after.get(file)
        )
        if changes and evaluation in evaluations:
            yield Exhibit("figure", evaluation, figure, changes)


def _group_figures(files: Mapping[str, str]) -> dict[tuple[str, str], dict[str, str]]:
    figures: dict[tuple[str, str], dict[str, str]] = {}
    for path, sha256 in files.items():
        match path.split("/", 4):
            case ["evaluations", evaluation, "figures", figure, file]:
                figures.setdefault((evaluation, figure), {})[file] = sha256
    return figures
