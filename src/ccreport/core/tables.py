"""Typed tables: what `schemas/` declares, as polars frames and Parquet files.

`schemas/tables/<table>.yaml` lists a table's columns. One that several tables have is declared in
`schemas/columns.yaml` and is listed there by its name alone, or with a `nullable` or `enum` of its own.
Every table passes through `write_table` or `TableWriter`, which check it against its schema and write units and
descriptions into the Parquet field metadata.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ccreport.core.atomic_files import replace_file
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.text import count_things

POLARS_TYPES: Final[Mapping[str, pl.DataType]] = {
    "string": pl.String(),
    "int": pl.Int64(),
    "float": pl.Float64(),
    "bool": pl.Boolean(),
    "timestamp": pl.Datetime("us", "UTC"),
    "map": pl.List(pl.Struct({"key": pl.String(), "value": pl.String()})),
}
ARROW_TYPES: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "map": pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])),
}

# Times of years that Python knows, as whoever reads a table in it would fail on others.
EARLIEST: Final = datetime(1, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


class TableError(ValueError):
    """A table breaks its schema: a fault of this program, never of an archive."""


class RowNet(Protocol):
    """What takes rows that break a schema out of a reader's frame, and notes them (`ingest/bounds.py`)."""

    def keep_sound(self, frame: pl.DataFrame, table: str) -> pl.DataFrame:
        """Return the rows that keep to the schema of a table."""
        ...

    def keep_first(self, frame: pl.DataFrame, table: str) -> pl.DataFrame:
        """Return the first row of each key."""
        ...


@dataclass(frozen=True)
class Column:
    """One column as declared: type, unit, bounds, meaning and where it comes from."""

    name: str
    type: str
    description: str
    source: str
    unit: str | None = None
    nullable: bool = False
    min: float | None = None
    max: float | None = None
    enum: tuple[str, ...] | None = None
    reference: str | None = None
    since: str | None = None

    @property
    def metadata(self) -> dict[str, str]:
        """Return what the Parquet field says about itself."""
        facts = {"description": self.description, "unit": self.unit, "source": self.source, "reference": self.reference}
        return {name: fact for name, fact in facts.items() if fact is not None}


@dataclass(frozen=True)
class TableSchema:
    """One table as declared."""

    name: str
    description: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @cached_property
    def polars(self) -> dict[str, pl.DataType]:
        """Return the polars type of every column, in order."""
        return {column.name: POLARS_TYPES[column.type] for column in self.columns}

    @cached_property
    def arrow(self) -> pa.Schema:
        """Return the Arrow schema with units and descriptions as field metadata."""
        fields = [pa.field(c.name, ARROW_TYPES[c.type], c.nullable, c.metadata) for c in self.columns]
        return pa.schema(fields, {"table": self.name, "description": self.description, "grain": self.grain})

    @cached_property
    def checks(self) -> dict[str, pl.Expr]:
        """Return what counts the values of a frame that break each rule; most tables are too small to build it anew."""
        return {
            f"{column.name} {rule}": is_broken.sum()
            for column in self.columns
            for rule, is_broken in list_rules(column, pl.col(column.name))
        }


def _column(entry: str | Mapping[str, Any], table: str, folder: Path) -> Column:
    name = entry if isinstance(entry, str) else entry["name"]
    own = {} if isinstance(entry, str) else {key: fact for key, fact in entry.items() if key != "name"}
    shared = _shared_columns(folder).get(name, {})
    if not shared and not own:
        raise TableError(f"{table}: no shared column {name!r} in schemas/columns.yaml")
    if shared and set(own) - {"nullable", "enum"}:
        raise TableError(f"{table}: {name!r} is shared; a table may narrow only its nullable and enum")
    facts = {**shared, **own}
    facts["enum"] = tuple(facts["enum"]) if "enum" in facts else None
    facts["unit"] = str(facts["unit"]) if "unit" in facts else None
    return Column(name=name, **facts)


@cache
def _shared_columns(folder: Path) -> dict[str, dict[str, Any]]:
    shared: dict[str, dict[str, Any]] = load_yaml(folder / "columns.yaml")
    return shared


@cache
def load_schema(table: str, folder: Path = SCHEMAS) -> TableSchema:
    """Return the schema of a table as `folder` declares it; raise TableError if it names an unknown shared column."""
    declared = load_yaml(folder / "tables" / f"{table}.yaml")
    columns = tuple(_column(entry, table, folder) for entry in declared["columns"])
    return TableSchema(table, declared["description"], declared["grain"], tuple(declared["key"]), columns)


def conform(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """Return the frame with the declared columns in order and type, nullable ones it lacks filled with null.

    Raise TableError for a column that is not declared, a value outside its type, bounds or enum, and a forbidden null.
    """
    schema = load_schema(table)
    unknown = set(frame.columns) - set(schema.polars)
    if unknown:
        raise TableError(f"{table}: columns without a schema: {sorted(unknown)}")
    if not frame.width:
        return pl.DataFrame(schema=schema.polars)
    present = [
        pl.col(column.name) if column.name in frame.columns else pl.lit(None).alias(column.name)
        for column in schema.columns
    ]
    try:
        conformed = frame.select(present).cast(schema.polars)  # type: ignore[arg-type]
    except pl.exceptions.PolarsError as error:
        raise TableError(f"{table}: {error}") from error
    if broken := find_broken_values(conformed, schema):
        raise TableError(f"{table}: {'; '.join(broken)}")
    return conformed


def find_broken_values(frame: pl.DataFrame, schema: TableSchema) -> list[str]:
    """Return what the values of a frame, whose columns are those declared, break of a schema: nulls, bounds, enums."""
    counts = frame.select(**schema.checks).row(0, named=True) if schema.checks else {}
    return [f"{rule} in {count_things(count, 'row')}" for rule, count in counts.items() if count]


def list_rules(column: Column, values: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
    """Yield what a column's values may not be, each rule with the expression that is true where it is broken."""
    if not column.nullable and column.type != "map":
        yield "is null", values.is_null()
    if column.type == "float":
        yield "is not finite", ~values.is_finite()
    if column.type == "timestamp":
        yield "is not of the years 1 to 9999", ~values.is_between(EARLIEST, LATEST)
    if column.min is not None:
        yield f"< {column.min}", values < column.min
    if column.max is not None:
        yield f"> {column.max}", values > column.max
    if column.enum is not None:
        yield f"not in {list(column.enum)}", ~values.is_in(column.enum)


def _check_key(frame: pl.DataFrame, schema: TableSchema) -> None:
    duplicates = frame.height - frame.select(schema.key).n_unique()
    if duplicates:
        raise TableError(
            f"{schema.name}: the key {', '.join(schema.key)} is repeated in {count_things(duplicates, 'row')}"
        )


def open_writer(table: str, path: Path) -> pq.ParquetWriter:
    """Return what writes Arrow tables of the declared columns into a file."""
    schema = load_schema(table)
    # Texts and counts repeat, measured fractions hardly do: a dictionary of those would only cost time.
    repeated = [column.name for column in schema.columns if column.type in ("string", "int", "timestamp")]
    return pq.ParquetWriter(path, schema.arrow, compression="zstd", use_dictionary=repeated)


class TableWriter:
    """Write one table in pieces, each conformed to the schema; for what does not fit in memory at once.

    The file appears under its name only when all of it is written. The key is not checked and rows are not sorted
    across pieces. With a net, rows that break the schema go there instead of raising TableError.
    """

    def __init__(self, table: str, path: Path, net: RowNet | None = None) -> None:
        self._net = net
        self._schema = load_schema(table)
        self._files = ExitStack()
        self._writer = self._files.enter_context(open_writer(table, self._files.enter_context(replace_file(path))))

    def __enter__(self) -> Self:
        return self

    def write(self, frame: pl.DataFrame) -> None:
        """Append a piece of the table as one row group, conformed to the schema."""
        self.write_conformed(conform_sound(frame, self._schema.name, self._net))

    def write_conformed(self, frame: pl.DataFrame) -> None:
        """Append what `conform` returned."""
        if frame.height:
            self._writer.write_table(frame.to_arrow().cast(self._schema.arrow))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.__exit__(kind, error, trace)


def write_table(frame: pl.DataFrame, table: str, path: Path, net: RowNet | None = None) -> None:
    """Write a whole table, checked against its schema and sorted by its key; raise TableError if it breaks it.

    With a net, rows that break the schema or repeat a key go there instead.
    """
    schema = load_schema(table)
    conformed = conform_sound(frame, table, net).sort(schema.key, maintain_order=True)
    try:
        _check_key(conformed, schema)
    except TableError:
        if net is None:
            raise
        conformed = net.keep_first(conformed, table)
    with TableWriter(table, path) as writer:
        writer.write_conformed(conformed)


def conform_sound(frame: pl.DataFrame, table: str, net: RowNet | None) -> pl.DataFrame:
    """Return what `conform` does, without the rows that break the schema where there is a net for them."""
    try:
        return conform(frame, table)
    except TableError:
        # Only where something is wrong, so that whole frames are checked once.
        if net is None:
            raise
        return conform(net.keep_sound(frame, table), table)


def read_table(table: str, paths: Iterable[Path]) -> pl.DataFrame:
    """Return the rows of all these files of a table, in the order of the files; raise TableError on other columns."""
    schema, files = load_schema(table), list(paths)
    if not files:
        return pl.DataFrame(schema=schema.polars)
    try:
        rows = pl.read_parquet(files, glob=False)
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError) as error:
        raise TableError(f"{table}: files have not the same columns ({error})") from error
    if rows.columns != list(schema.polars):
        raise TableError(f"{table}: a file has other columns than its schema")
    return rows
