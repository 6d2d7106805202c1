"""Flows, runs and reconciliation of a batch of experiments; those of which nothing changed keep the rows they have.

What an experiment's rows are made of is in its fingerprint: that of what was ingested of it, the code that measures,
the schemas, the libraries, and what the configuration says about which runs count.
"""

from pathlib import Path
from typing import Final

from ccreport.batch_tables import BatchReader
from ccreport.fingerprints import digest_code, digest_facts
from ccreport.kept import Output, update_batch
from ccreport.measure import MEASURED_TABLES, NEEDED_TABLES
from ccreport.measure.runs import measure_runs
from ccreport.raw import read_manifest, read_manifests

LIBRARIES: Final = ("numpy", "polars", "pyarrow")


def measure_batch(
    batch: str, manifests: Path, tables: Path, *, include_interrupted: bool, include_cpu_bound: bool
) -> None:
    """Write the measured tables of a batch below `tables`, where the ingested ones lie; as `measure_runs` says."""
    listed = read_manifests(manifests)
    code = digest_code("ccreport.measure.runs", MEASURED_TABLES, LIBRARIES)
    ingested = {table: BatchReader(tables / table / f"{batch}.parquet") for table in NEEDED_TABLES}
    read_from = {experiment: part.fingerprint for experiment, part in ingested["tests"].parts.items()}
    fingerprints = {
        one.experiment_id: digest_facts(read_from[one.experiment_id], code, include_interrupted, include_cpu_bound)
        for one in listed
    }
    outputs = [Output(table, tables / table / f"{batch}.parquet", table) for table in MEASURED_TABLES]

    def measure(manifest: Path, folder: Path) -> None:
        experiment = read_manifest(manifest).experiment_id
        for table, reader in ingested.items():
            reader.extract(experiment, table, folder / f"{table}.parquet")
        measure_runs(
            manifest,
            *(folder / f"{table}.parquet" for table in (*NEEDED_TABLES, *MEASURED_TABLES)),
            include_interrupted=include_interrupted,
            include_cpu_bound=include_cpu_bound,
        )

    update_batch(listed, fingerprints, outputs, tables / f".measure-{batch}", measure)
