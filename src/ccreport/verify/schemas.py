"""Every Parquet table of a release against the schema in the release: columns, types, bounds, keys."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ccreport.core.tables import TableSchema, find_broken_values, load_schema
from ccreport.core.text import count_things
from ccreport.publish import WHOLE
from ccreport.publish.keys import list_foreign_keys
from ccreport.summarise.database import quote_name, read_files
from ccreport.verify import FAULTS, Check, describe_fault
from ccreport.verify.descriptors import SCHEMAS, name_table


def check_schemas(release: Path, paths: Iterable[str]) -> Check:
    """Check the Parquet tables among these paths of a release; a foreign key is one of the typed tables."""
    listed = [path for path in sorted(paths) if path.endswith(".parquet") and name_table(path)]
    failures = [fault for path in listed for fault in _check_table(release, path)]
    return Check("schemas", f"{count_things(len(listed), 'table')}: types, bounds, keys, foreign keys", tuple(failures))


def _check_table(release: Path, path: str) -> Iterator[str]:
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
        yield from _check_keys(release, path, schema)
    except FAULTS as error:
        yield f"{path}: {describe_fault(error, release)}"


def _find_other_columns(found: pa.Schema, declared: pa.Schema) -> list[str]:
    """Return the columns that only one side has, or whose type, unit or description is another there."""
    left, right = ({field.name: _describe(field) for field in side} for side in (found, declared))
    if found.names != declared.names and not left.keys() ^ right.keys():
        return ["their order"]
    return sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))


def _describe(field: pa.Field) -> tuple[str, bool, dict[bytes, bytes]]:
    own = {key: text for key, text in (field.metadata or {}).items() if not key.startswith(b"PARQUET:")}
    # Parquet calls the items of a list elements.
    return str(field.type).replace("<element: ", "<item: "), field.nullable, own


def _check_keys(release: Path, path: str, schema: TableSchema) -> Iterator[str]:
    rows = read_files([release / path])
    with duckdb.connect() as connection:
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
