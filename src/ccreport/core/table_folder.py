"""The tables of one experiment as a folder of Parquet files, each asked for by its name."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ccreport.core.tables import read_table, write_table


@dataclass(frozen=True)
class TableFolder:
    """A folder with `<table>.parquet` of some tables."""

    folder: Path

    def place(self, table: str) -> Path:
        """Return the path of a table, whether or not it is there."""
        return self.folder / f"{table}.parquet"

    def read(self, table: str) -> pl.DataFrame:
        """Return a table, checked as `read_table` does; one that is not there has no rows."""
        path = self.place(table)
        return read_table(table, [path] if path.exists() else [])

    def write(self, table: str, frame: pl.DataFrame) -> None:
        """Write a table, checked against its schema."""
        write_table(frame, table, self.place(table))
