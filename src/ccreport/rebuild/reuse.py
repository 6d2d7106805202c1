"""Tables of a batch made anew, of which experiments that did not change keep their rows.

An experiment whose fingerprint is in all the tables that a step wrote last is not made again. Each other one is
made into a folder of its own beside the tables and taken over from there, so that no more than one part of one
experiment is in memory. An environment variable, which the rules set for `--forceall`, makes all anew.

What was written last has a second name, below `.kept`. Snakemake removes the tables before a job and after one that
failed, so a job that was killed leaves none that a rerun takes as made; their rows are still known by the other name.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ccreport.archive.manifest import Manifest
from ccreport.core.atomic_files import replace_file
from ccreport.core.hard_links import link_file
from ccreport.rebuild.batch_tables import BatchReader, BatchWriter, iterate_groups
from ccreport.rebuild.batches import IGNORE_CACHES, find_kept


@dataclass(frozen=True)
class Output:
    """One file of a batch: its schema, and its path."""

    table: str
    path: Path

    @property
    def kept(self) -> Path:
        """Return the file's second name, under which its rows outlive it."""
        return find_kept(self.path.parents[1]) / self.path.parent.name / self.path.name


@contextmanager
def open_scratch(folder: Path) -> Iterator[Path]:
    """Make a folder for as long as it is needed; what a killed job left in it is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def update_batch(
    manifests: Iterable[Manifest],
    digest: Callable[[Manifest], str],
    outputs: Iterable[Output],
    scratch: Path,
    make: Callable[[Manifest, Path], None],
) -> set[str]:
    """Write the tables of a batch, with `make(manifest, folder)` for what is new, and return these experiments.

    `digest` returns an experiment's fingerprint; `make` writes `<table>.parquet` of each output into the folder, which
    is empty, or none where there are no rows.
    """
    outputs = list(outputs)
    listed = sorted(manifests, key=lambda manifest: manifest.experiment_id)
    olds = [BatchReader(output.kept) for output in outputs] if IGNORE_CACHES not in os.environ else []
    made: set[str] = set()
    with open_scratch(scratch) as folder, ExitStack() as stack:
        writers = [stack.enter_context(BatchWriter(output.table, output.path)) for output in outputs]
        for manifest in listed:
            experiment, fingerprint = manifest.experiment_id, digest(manifest)
            if olds and all(_has(old, experiment, fingerprint) for old in olds):
                parts = [old.iterate(experiment) for old in olds]
            else:
                own = folder / str(len(made))
                own.mkdir()
                make(manifest, own)
                parts = [iterate_groups(own / f"{output.table}.parquet") for output in outputs]
                made.add(experiment)
            for writer, part in zip(writers, parts, strict=True):
                writer.append(experiment, fingerprint, part)
            if experiment in made:
                shutil.rmtree(own)
    for output in outputs:
        _keep(output.path, output.kept)
    return made


def _has(old: BatchReader, experiment: str, fingerprint: str) -> bool:
    part = old.parts.get(experiment)
    return part is not None and part.fingerprint == fingerprint


def _keep(path: Path, kept: Path) -> None:
    """Give a file a second name, whatever had that before."""
    with replace_file(kept) as aside:
        link_file(path, aside)
