"""What one reader makes of the files of a manifest, as the pipeline calls it."""

from pathlib import Path
from typing import Any

import polars as pl

from ccreport.archive.manifest import read_manifest
from ccreport.core.tables import load_schema, read_table
from ccreport.ingest.readers import find_reader
from ccreport.ingest.reading import Settings, read_experiment


def read_files(name: str, manifest: Path, root: Path, folder: Path, **settings: Any) -> dict[str, pl.DataFrame]:
    """Return the tables that a reader writes of an experiment, `rejects` last, each checked against its schema."""
    reader = find_reader(name)
    folder.mkdir(parents=True, exist_ok=True)
    read_experiment(reader, read_manifest(manifest), root, folder, Settings(**settings))
    return {table: _read(table, folder / f"{table}.parquet") for table in (*reader.written, "rejects")}


def _read(table: str, path: Path) -> pl.DataFrame:
    return read_table(table, [path]) if path.exists() else pl.DataFrame(schema=load_schema(table).polars)
