"""What the tests of RPC results need: files ingested, and their tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from support import JOB, list_one, write_archive

from ccreport.ingest.rpc import ingest_rpc
from ccreport.tables import read_table


@dataclass(frozen=True)
class Tables:
    tests: pl.DataFrame
    samples: pl.DataFrame
    histograms: pl.DataFrame
    rejects: pl.DataFrame

    @property
    def reasons(self) -> list[tuple[str, bool]]:
        """Return reason and whether the whole file is meant, of every reject."""
        return [(row["reason"], row["is_whole_file"]) for row in self.rejects.iter_rows(named=True)]

    @property
    def test(self) -> dict[str, Any]:
        """Return the only test."""
        (row,) = self.tests.iter_rows(named=True)
        return row

    def series(self, name: str) -> dict[str, Any]:
        """Return the row of one flent series."""
        (row,) = self.tests.filter(pl.col("data_series") == name).iter_rows(named=True)
        return row

    def values(self, name: str) -> pl.DataFrame:
        """Return the samples of one flent series."""
        return self.samples.filter(pl.col("test_number") == self.series(name)["test_number"])


def ingest(files: Mapping[str, str | bytes], folder: Path) -> Tables:
    """Ingest files of one job by their names there."""
    archive = write_archive(folder / "raw", {f"{JOB}/{name}": content for name, content in files.items()})
    names = ("rpc_tests", "rpc_samples", "rpc_histograms", "rejects")
    paths = [folder / f"{name}.parquet" for name in names]
    ingest_rpc(list_one(archive, folder / "w"), archive, *paths)
    return Tables(*(read_table(name, [path]) for name, path in zip(names, paths, strict=True)))
