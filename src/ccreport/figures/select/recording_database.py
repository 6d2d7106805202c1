"""The database that figures ask; it keeps what was asked, for later builds to tell whether it still is the same."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb
import polars as pl

from ccreport.summarise.open_database import open_database


@dataclass(frozen=True)
class Asked:
    """A query with its parameters, the views that it reads besides the database's, and a digest of the answer."""

    query: str
    params: Sequence[Any] | Mapping[str, Any]
    views: Mapping[str, str]
    answer: str


class Database:
    """A database opened for reading; `asked` lists what was asked so far."""

    def __init__(self, path: Path) -> None:
        self._connection = open_database(path)
        # Views read the tables of all batches.
        self._connection.execute("SET parquet_metadata_cache = true")
        self.asked: list[Asked] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(
        self, query: str, params: Sequence[Any] | Mapping[str, Any] = (), views: Mapping[str, str] | None = None
    ) -> pl.DataFrame:
        """Return the rows of a query; raise duckdb.Error where the database refuses it.

        `params` can be written as JSON. `views` are names and queries; they come before the database's of those names.
        A query that groups or joins has to order its rows: threads end in any order, and other rows are drawn anew.
        """
        rows = self._query(query, params, views or {})
        self.asked.append(Asked(query, params, views or {}, _digest(rows)))
        return rows

    def is_same(self, asked: Asked) -> bool:
        """Tell whether the answer is still the one that was given then."""
        try:
            return _digest(self._query(asked.query, asked.params, asked.views)) == asked.answer
        except duckdb.Error:
            return False

    def calculate(self, query: str, **tables: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a query that reads nothing but these tables, so there is no need to ask it again."""
        for name, table in tables.items():
            self._connection.register(name, table)
        rows: pl.DataFrame = self._connection.sql(query).pl()
        for name in tables:
            self._connection.unregister(name)
        return rows

    def _query(self, query: str, params: Sequence[Any] | Mapping[str, Any], views: Mapping[str, str]) -> pl.DataFrame:
        for name, meaning in views.items():
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {meaning}")
        try:
            rows: pl.DataFrame = self._connection.sql(query, params=params or None).pl()
        finally:
            for name in views:
                self._connection.execute(f"DROP VIEW temp.{name}")
        return rows


def _digest(rows: pl.DataFrame) -> str:
    # Unlike Arrow's own format, Parquet has no bytes in place of a null, where DuckDB leaves what was in memory.
    stream = io.BytesIO()
    rows.write_parquet(stream, compression="uncompressed", statistics=False)
    return hashlib.sha256(stream.getbuffer()).hexdigest()
