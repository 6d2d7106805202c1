"""All raw files of a batch of experiments; those of which nothing changed keep the rows that they have.

What a reader's rows of an experiment are made of is in their fingerprint: the experiment's manifest, with the hashes of
its files; the code of this reader, the schemas of its tables and the libraries that parse and write; and what the
configuration says about reading them. So an edit of one reader has nothing read again by the others.

One process reads every format: starting Python with polars and pyarrow costs more than reading a small experiment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from ccreport.archive.manifest import Manifest, read_manifests
from ccreport.ingest.declaration import Reader
from ccreport.ingest.readers import READERS
from ccreport.ingest.reading import Settings, read_experiment
from ccreport.rebuild.batch_tables import BatchReader
from ccreport.rebuild.fingerprints import digest_code, digest_facts
from ccreport.rebuild.reuse import Output, update_batch

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
    """Write `<table>/<batch>.parquet` below `tables`, and `<rule>/<batch>.parquet` with rejects below `rejected`.

    `packet_runs` names the runs of whose captures every packet is kept. `edge.paths` and `access_log_format` are those
    of the configuration.
    """
    listed = read_manifests(manifests)
    settings = Settings(tuple(packet_runs), edge_paths, access_log_format)
    # To copy a manifest takes longer than to hash it, and each reader's fingerprint has all of it.
    facts = {manifest.experiment_id: asdict(manifest) for manifest in listed}
    changed: set[str] = set()
    for reader in READERS:
        changed |= _update(reader, batch, listed, facts, root, tables, rejected, settings)
    print(f"read {len(changed)} of {len(listed)} experiments, kept {len(listed) - len(changed)}")


def _update(
    reader: Reader,
    batch: str,
    listed: Iterable[Manifest],
    facts: Mapping[str, Any],
    root: Path,
    tables: Path,
    rejected: Path,
    settings: Settings,
) -> set[str]:
    """Write the tables of one reader; return the experiments that it read again."""
    code = digest_code([reader.module], (*reader.written, "rejects"), LIBRARIES)
    joined = {table: BatchReader(tables / table / f"{batch}.parquet") for table in reader.joins}
    of_runs = {manifest.experiment_id: _select_runs(manifest, settings) for manifest in listed}

    def digest(manifest: Manifest) -> str:
        experiment = manifest.experiment_id
        own = of_runs[experiment].select(reader.settings)
        joins = (
            [part.parts[experiment].fingerprint for part in joined.values()] if _has_orphans(reader, manifest) else []
        )
        return digest_facts(facts[experiment], own, joins, code)

    def read(manifest: Manifest, folder: Path) -> None:
        if _has_orphans(reader, manifest):
            for table, part in joined.items():
                part.extract(manifest.experiment_id, table, folder / f"{table}.parquet")
        read_experiment(reader, manifest, root, folder, of_runs[manifest.experiment_id])

    outputs = [Output(table, tables / table / f"{batch}.parquet") for table in reader.written]
    outputs.append(Output("rejects", rejected / reader.rule / f"{batch}.parquet"))
    return update_batch(listed, digest, outputs, tables / f".ingest-{batch}", read)


def _has_orphans(reader: Reader, manifest: Manifest) -> bool:
    """Tell whether the reader has files whose names tell no run, which other readers' tables may."""
    return bool(reader.joins) and any(file.run_id is None for file in manifest.files_for(reader.rule))


def _select_runs(manifest: Manifest, settings: Settings) -> Settings:
    """Return the settings as they concern one experiment."""
    own = {run.run_id for run in manifest.runs}
    return replace(settings, packet_runs=tuple(run for run in settings.packet_runs if run in own))
