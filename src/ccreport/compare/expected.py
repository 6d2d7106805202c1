"""Expected cells: the published values of a table, from a CSV file, and those of another archive's table."""

import csv
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from ccreport.compare.verdicts import spread_of_interval, spread_published
from ccreport.core.declared_files import DeclarationError, blame, show_path
from ccreport.core.errors import InputError
from ccreport.core.evaluation import PUBLISHED_COLUMNS, load_evaluation
from ccreport.core.schema_problems import Place, format_place, guess, guess_near
from ccreport.core.tables import Column, TableError, load_schema, read_table
from ccreport.core.text import count_things
from ccreport.core.units import WITH_UNIT, convert_unit, mend_digits
from ccreport.summarise.label_values import list_values
from ccreport.summarise.statistics.contrasts import Spread

NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
BOOLEANS: Final = {"true": True, "false": False}
# How a number of each column is written.
EXAMPLES: Final = {"mean_gbps": "9.5", "cv": "0.03"}

# No mean is so many times the line rate: its unit is another.
UNIT_FACTOR: Final = 2

# Of less, nobody knows how much they vary.
RUNS_AT_LEAST: Final = 3

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Expected:
    """One cell to compare with: its key as the table's schema orders it, rates in bit/s."""

    key: Key
    rate_bps: float
    cv: float | None = None
    low_bps: float | None = None
    high_bps: float | None = None
    is_suspect: bool = False
    runs_count: int | None = None

    def find_spread(self, own: Spread | None, own_runs: int) -> Spread | None:
        """Return the spread of the mean, None where nothing tells; `own` is that of `own_runs` runs of this archive."""
        if self.runs_count is None or self.runs_count < RUNS_AT_LEAST:
            return None
        if self.high_bps is not None:
            return spread_of_interval(self.rate_bps, self.high_bps, self.runs_count)
        if self.cv is not None:
            return spread_published(self.cv, self.runs_count)
        # ASSUME: where a publication has no CV, its runs vary as much as this archive's.
        return own and Spread(own.variance * own_runs / self.runs_count, self.runs_count - 1)


def read_published(evaluation: Path) -> dict[str, list[Expected]]:
    """Return what an evaluation's files of published values hold, by table, each in the order of its file.

    Raise InputError, which names file and line, where one cannot be used, or nearly has a name of the scale.
    """
    declared = load_evaluation(evaluation)
    with duckdb.connect() as connection:
        known = list_values(connection, declared)
    allowed: dict[str, Collection[str]] = {name: known[name] for name in declared["labels"] if name in known}
    allowed |= {"algorithm": list(declared["algorithms"]), "rtt_bucket": known["rtt_bucket"]}
    published = {}
    for table, facts in declared["reproduction"].items():
        path = evaluation.parent / facts["expected"]
        published[table] = read_expected(path, table, allowed, facts.get("runs_count"), facts.get("line_rate_bps"))
        if published[table] and (fault := _find_unknown_loss(table, facts.get("scale", {}), published[table])):
            raise blame(evaluation, fault)
    return published


def _find_unknown_loss(table: str, scale: Mapping[str, Any], cells: Sequence[Expected]) -> DeclarationError | None:
    """Return the fault of the first name of a loss in the scale of a table that a published cell has but nearly."""
    place: Place = ("reproduction", table, "scale", "loss_pct")
    for name in (losses := scale.get("loss_pct", {})):
        known = {cell.key[load_schema(table).key.index(scale["column"])] for cell in cells}
        # 0.01 % loss is not a misspelt 0.001 % loss.
        alike = [other for other in known - losses.keys() if NUMBER.findall(other) == NUMBER.findall(name)]
        if name not in known and (meant := guess_near(name, alike)):
            said = f"{format_place(place)}: no published cell has {scale['column']} = '{name}'{meant}"
            return DeclarationError(said, (*place, name))
    return None


def read_expected(
    path: Path,
    table: str,
    allowed: Mapping[str, Collection[str]],
    runs_count: int | None = None,
    line_rate_bps: float | None = None,
) -> list[Expected]:
    """Return the published cells of a table in the order of their file.

    `allowed` has the values that a key column may have, for those of which they are known; `runs_count` runs are behind
    each cell. Raise InputError, which names file and line, for a wrong column, a key that this table cannot have or
    that is given twice, a value that is not a number, and a rate of another unit, which the line rate shows.
    """
    keys = {column.name: column for column in load_schema(table).columns if column.name in load_schema(table).key}
    shown = show_path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            if problem := _find_wrong_columns(reader.fieldnames or (), (*keys, *PUBLISHED_COLUMNS)):
                raise InputError(f"{shown}, line 1: {problem}")
            cells: dict[Key, tuple[int, Expected]] = {}
            for row in reader:
                place = f"{shown}, line {reader.line_num}"
                cell = _read_row(row, keys, allowed, place, runs_count)
                if cell.key in cells:
                    raise InputError(f"{place}: repeats the key of line {cells[cell.key][0]}")
                if line_rate_bps and cell.rate_bps > UNIT_FACTOR * line_rate_bps:
                    told = f"mean_gbps is {cell.rate_bps / 1e9:g}, and the line rate {line_rate_bps / 1e9:g} Gbit/s"
                    raise InputError(f"{place}: {told}; write Gbit/s, as the column's name says")
                cells[cell.key] = reader.line_num, cell
    except UnicodeDecodeError as error:
        raise InputError(f"{shown}: it is not UTF-8 text; save it as UTF-8") from error
    except (OSError, csv.Error) as error:
        raise InputError(f"{shown}: {error}") from error
    return [cell for _, cell in cells.values()]


def _find_wrong_columns(found: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return what is wrong with the first line of a file of published values, None where nothing is."""
    if sorted(found) == sorted(wanted):
        return None
    if not found:
        return f"it is empty; the first line names the columns: {','.join(wanted)}"
    for mark, name in {";": "semicolons", "\t": "tabs"}.items():
        if len(found) == 1 and mark in found[0]:
            return f"its fields are parted by {name}; write commas, and decimal points"
    for name in found:
        if name not in wanted:
            return f"`{name}` is not a column{guess(name, wanted)}"
    missing = [name for name in wanted if name not in found]
    if missing:
        return f"the columns must be {', '.join(wanted)}; add {', '.join(missing)}"
    return f"the columns must be {', '.join(wanted)}, each once"


def _read_row(
    row: Mapping[str | None, Any],
    keys: Mapping[str, Column],
    allowed: Mapping[str, Collection[str]],
    place: str,
    runs_count: int | None,
) -> Expected:
    if None in row or None in row.values():
        raise InputError(f"{place}: {_describe_fields(row)}")
    for name, values in allowed.items():
        if name in row and row[name] not in values:
            raise InputError(f"{place}: {name} is '{row[name]}'{guess(row[name], values)}")
    key = tuple(_read_key(row[name], column, place) for name, column in keys.items())
    if row["is_suspect"] not in BOOLEANS:
        raise InputError(f"{place}: is_suspect is {row['is_suspect']!r}, not true or false")
    rate = _read_number(row["mean_gbps"], "mean_gbps", place)
    cv = _read_number(row["cv"], "cv", place) if row["cv"] else None
    # That of n values is largest where all but one are 0.
    if cv is not None and runs_count is not None and cv > math.sqrt(runs_count):
        said = f"{place}: cv is {row['cv']}, and that of {count_things(runs_count, 'run')} at most"
        raise InputError(f"{said} {math.sqrt(runs_count):.3g}; it is a ratio: write {cv / 100:g} for {cv:g} %")
    return Expected(key, rate * 1e9, cv, is_suspect=BOOLEANS[row["is_suspect"]], runs_count=runs_count)


def _describe_fields(row: Mapping[str | None, Any]) -> str:
    """Return how many fields a row has that has not as many as the first line, and where a decimal comma parts one."""
    named = [name for name in row if name is not None]
    fields = [text for text in (*(row[name] for name in named), *row.get(None, ())) if text is not None]
    said = f"it has {count_things(len(fields), 'field')}, and the first line {len(named)}"
    parted = [
        f"{whole}.{rest}, not {whole},{rest}"
        for name, whole, rest in zip(named, fields, fields[1:], strict=False)
        if len(fields) > len(named) and name in ("mean_gbps", "cv") and whole.isdigit() and rest.isdigit()
    ]
    # 8,0,1 may be 8 and 0.1, or 8.0 and 1.
    return f"{said}; write {parted[0] if len(parted) == 1 else 'decimal points, as in 9.5'}" if parted else said


def _read_key(text: str, column: Column, place: str) -> Any:
    if column.type == "int":
        if not (text.isascii() and text.isdigit()):
            raise InputError(f"{place}: {column.name} is {text!r}, not a whole number{mend_digits(text)}")
        return int(text)
    if not text or (column.enum and text not in column.enum):
        raise InputError(f"{place}: {column.name} is {text!r}, not one of {', '.join(column.enum or ('a name',))}")
    return text


def _read_number(text: str, name: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        with_unit = WITH_UNIT.fullmatch(text)
        meant = convert_unit(float(with_unit[1]), with_unit[2].lower(), name) if with_unit else None
        hint = f"; write {meant:.12g}" if meant is not None else mend_digits(text, EXAMPLES[name])
        hint = hint if text and math.isnan(number) else ""
        raise InputError(f"{place}: {name} is {text!r}, not a number of at least 0{hint}")
    return number


def read_other(path: Path, table: str) -> list[Expected]:
    """Return the cells of another build's table; raise InputError where it is not as this version writes it."""
    try:
        frame = read_table(table, [path])
    except TableError as error:
        raise InputError(f"{path}: {error}; build that archive with this version") from error
    key = load_schema(table).key
    return [
        Expected(
            tuple(row[name] for name in key),
            row["rate_mean_bps"],
            row["rate_cv"],
            row["rate_low_bps"],
            row["rate_high_bps"],
            runs_count=row["runs_count"],
        )
        for row in frame.iter_rows(named=True)
    ]
