"""Every Parquet table of a release against the schema in the release: columns, types, bounds, keys."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ccreport.core.tables import TableSchema, find_broken_values, load_schema
from ccreport.core.text import count_things
from ccreport.publish import WHOLE
from ccreport.publish.checks import FAULTS, Check, describe_fault
from ccreport.publish.checks.descriptors import SCHEMAS, name_table
from ccreport.publish.keys import list_foreign_keys
from ccreport.summarise.database import quote_name, read_files

# Of many columns with the same fault.
SHOWN: Final = 3


def check_schemas(release: Path, paths: Iterable[str]) -> Check:
    """Check the Parquet tables among these paths of a release; a foreign key is one of the typed tables."""
    listed = [path for path in sorted(paths) if path.endswith(".parquet") and name_table(path)]
    with duckdb.connect() as connection:
        failures = [fault for path in listed for fault in _check_table(connection, release, path)]
    return Check("schemas", f"{count_things(len(listed), 'table')}: types, bounds, keys, foreign keys", tuple(failures))


def _check_table(connection: duckdb.DuckDBPyConnection, release: Path, path: str) -> Iterator[str]:
    table = str(name_table(path))
    try:
        schema = load_schema(table, release / SCHEMAS)
        with pq.ParquetFile(release / path) as file:
            others = _find_other_columns(file.schema_arrow, schema.arrow)
            if others:
                yield f"{path}: columns other than their schema: {', '.join(others)}"
                return
            for number in range(file.num_row_groups):
                frame = pl.DataFrame(pl.from_arrow(file.read_row_group(number))).cast(schema.polars)  # type: ignore[arg-type]
                yield from (f"{path}: {broken}" for broken in find_broken_values(frame, schema))
        yield from _check_keys(connection, release, path, schema)
    except FAULTS as error:
        yield f"{path}: {describe_fault(error, release)}"


def _find_other_columns(found: pa.Schema, declared: pa.Schema) -> list[str]:
    """Return what is not as declared, each with the columns of which it is so: that they are there, or a property."""
    left, right = ({field.name: _describe(field) for field in side} for side in (found, declared))
    others: dict[str, list[str]] = {}
    for name in sorted(left.keys() | right.keys()):
        own, meant = left.get(name, {}), right.get(name, {})
        others.setdefault("" if own and meant else "missing" if meant else "unknown", []).append(name)
        for key in sorted(own.keys() | meant.keys() if own and meant else ()):
            if own.get(key) != meant.get(key):
                fault = f"type {own[key]} for {meant[key]}" if key == "type" else f"another {key}"
                others.setdefault(fault if key in own else f"no {key}", []).append(name)
    others.pop("", None)
    if not others and found.names != declared.names:
        return ["their order"]
    return [f"{fault} ({_name_some(names)})" for fault, names in others.items()]


def _name_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _describe(field: pa.Field) -> dict[str, object]:
    """Return the properties of a column by name: type, whether it may be empty, description, unit and others."""
    own = {key.decode(): text for key, text in (field.metadata or {}).items() if not key.startswith(b"PARQUET:")}
    # Parquet calls the items of a list elements.
    return {"type": str(field.type).replace("<element: ", "<item: "), "rule on empty cells": field.nullable, **own}


def _check_keys(connection: duckdb.DuckDBPyConnection, release: Path, path: str, schema: TableSchema) -> Iterator[str]:
    rows = read_files([release / path])
    # Names of columns, quoted, of a schema that the file was found to have.
    repeats = f"SELECT {_join(schema.key)} {rows} GROUP BY ALL HAVING count(*) > 1"
    counted = connection.sql(f"SELECT count(*) FROM ({repeats})")  # noqa: S608
    if repeated := counted.fetchall()[0][0]:
        yield f"{path}: {repeated} values of the key {', '.join(schema.key)} are in more than one row"
    if not path.startswith("tables/"):
        return
    for columns, other in list_foreign_keys(schema.name, release / SCHEMAS):
        names, referred = _join(columns), f"tables/{other}/{WHOLE}.parquet"
        if not (release / referred).is_file():
            yield f"{path}: its {', '.join(columns)} is that of {referred}, which is missing"
            continue
        place = read_files([release / referred])
        known = " AND ".join(f"{quote_name(column)} IS NOT NULL" for column in columns)
        alone = f"(SELECT DISTINCT {names} {rows} WHERE {known}) ANTI JOIN (SELECT {names} {place}) USING ({names})"
        lost = connection.sql(f"SELECT count(*) FROM {alone}").fetchall()[0][0]  # noqa: S608
        if lost:
            yield f"{path}: {lost} values of {', '.join(columns)} are in no row of {other}"


def _join(columns: Iterable[str]) -> str:
    return ", ".join(map(quote_name, columns))
