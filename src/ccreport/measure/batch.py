"""Flows, runs and reconciliation of a batch of experiments; those of which nothing changed keep the rows they have.

What an experiment's rows are made of is in its fingerprint: that of what was ingested of it, the code that measures,
the schemas, the libraries, and what the configuration says about which runs count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.archive.manifest import Manifest, read_manifests
from ccreport.core.table_folder import TableFolder
from ccreport.measure import MEASURED_TABLES, NEEDED_TABLES
from ccreport.measure.runs import measure_runs
from ccreport.rebuild.batch_tables import BatchReader
from ccreport.rebuild.fingerprints import digest_code, digest_facts
from ccreport.rebuild.reuse import Output, update_batch

LIBRARIES: Final = ("numpy", "polars", "pyarrow")


@dataclass(frozen=True)
class TablesOfBatch(TableFolder):
    """The tables of one experiment, its ingested ones from those of its batch; only what is scanned becomes a file."""

    ingested: Mapping[str, BatchReader]
    experiment: str

    def place(self, table: str) -> Path:
        """Return the path of a table, an ingested one with its rows there."""
        path = super().place(table)
        if table in self.ingested and not path.exists():
            self.ingested[table].extract(self.experiment, table, path)
        return path

    def read(self, table: str) -> pl.DataFrame:
        """Return an ingested table."""
        return self.ingested[table].read(self.experiment, table)


def measure_batch(
    batch: str, manifests: Path, tables: Path, *, include_interrupted: bool, include_cpu_bound: bool
) -> None:
    """Write the measured tables of a batch below `tables`, where the ingested ones are; as `measure_runs` says."""
    listed = read_manifests(manifests)
    code = digest_code(["ccreport.measure.runs"], MEASURED_TABLES, LIBRARIES)
    ingested = {table: BatchReader(tables / table / f"{batch}.parquet") for table in NEEDED_TABLES}

    def digest(manifest: Manifest) -> str:
        read_from = [reader.parts[manifest.experiment_id].fingerprint for reader in ingested.values()]
        return digest_facts(read_from, code, include_interrupted, include_cpu_bound)

    def measure(manifest: Manifest, folder: Path) -> None:
        own = TablesOfBatch(folder, ingested, manifest.experiment_id)
        measure_runs(manifest, own, include_interrupted=include_interrupted, include_cpu_bound=include_cpu_bound)

    outputs = [Output(table, tables / table / f"{batch}.parquet") for table in MEASURED_TABLES]
    made = update_batch(listed, digest, outputs, tables / f".measure-{batch}", measure)
    print(f"read {len(made)} of {len(listed)} experiments, kept {len(listed) - len(made)}")
