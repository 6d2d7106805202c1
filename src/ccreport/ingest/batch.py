"""All raw files of a batch of experiments; those of which nothing changed keep the rows that they have.

What an experiment's rows are made of is in its fingerprint: its manifest, with the hashes of its files; the code of
the readers, the schemas and the libraries that parse and write; and what the configuration says about reading it.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Final

from ccreport.fingerprints import digest_code, digest_facts
from ccreport.ingest.experiment import Settings, ingest_experiment
from ccreport.ingest.readers import READ_TABLES, READERS
from ccreport.kept import Output, update_batch
from ccreport.raw import Manifest, read_manifests

LIBRARIES: Final = ("numba", "numpy", "polars", "pyarrow")


def ingest_batch(
    batch: str,
    manifests: Path,
    root: Path,
    tables: Path,
    rejected: Path,
    packet_runs: list[str],
    edge_paths: str,
    access_log_format: str,
) -> None:
    """Write `<table>/<batch>.parquet` below `tables`, and `<reader>/<batch>.parquet` with rejects below `rejected`.

    `packet_runs` names the runs of whose captures every packet is kept. `edge_paths` and `access_log_format` are those
    of the configuration.
    """
    listed = read_manifests(manifests)
    code = digest_code("ccreport.ingest.experiment", (*READ_TABLES, "rejects"), LIBRARIES)
    settings = {
        one.experiment_id: Settings(_select_runs(one, packet_runs), edge_paths, access_log_format) for one in listed
    }
    fingerprints = {
        one.experiment_id: digest_facts(asdict(one), asdict(settings[one.experiment_id]), code) for one in listed
    }
    outputs = [
        *(Output(table, tables / table / f"{batch}.parquet", table) for table in READ_TABLES),
        *(Output("rejects", rejected / reader / f"{batch}.parquet", reader) for reader in READERS),
    ]

    def read(manifest: Path, folder: Path) -> None:
        (one,) = read_manifests(manifest)
        ingest_experiment(manifest, root, folder, settings[one.experiment_id])

    update_batch(listed, fingerprints, outputs, tables / f".ingest-{batch}", read)


def _select_runs(manifest: Manifest, packet_runs: list[str]) -> tuple[str, ...]:
    own = {run.run_id for run in manifest.runs}
    return tuple(run for run in packet_runs if run in own)
