"""Batches: experiments, in the order of their ids, in groups that one job reads.

A job's start costs as much as reading several small experiments, so these share one. Where a batch ends is decided by
the experiments themselves, as in content-defined chunking (Muthitacharoen et al., A Low-bandwidth Network File System,
SOSP 2001): one is the last of its batch with a probability proportional to its size, and a hash of its id throws the
dice. So an experiment that is new, gone or of another size changes only the batch that it is in, and at most splits
that in two or joins it to the next. A batch is named by what comes before it: those before its end, and those after
it, may come and go, and it keeps its name.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ccreport.core.identifiers import short_hash

MIB: Final = 2**20
FIRST_BATCH: Final = "first"
# The environment variable by which nothing that was kept of a batch is used.
IGNORE_CACHES: Final = "CCREPORT_IGNORE_CACHES"
# Of 40 bits: the hash of an id as a share of one.
HASH_RANGE: Final = 16**10


def group_experiments(sizes: Mapping[str, int], target_bytes: int) -> dict[str, list[str]]:
    """Return the experiments of each batch, sorted; batches have `target_bytes` on average.

    `sizes` has the raw bytes of each experiment. One of `target_bytes` or more is a batch of its own, named as it is.
    """
    batches: dict[str, list[str]] = {}
    name = FIRST_BATCH
    for experiment in sorted(sizes):
        if sizes[experiment] >= target_bytes:
            batches[experiment] = [experiment]
        else:
            batches.setdefault(name, []).append(experiment)
        if _is_last(experiment, sizes[experiment], target_bytes):
            name = f"after-{short_hash(experiment)}"
    return batches


def _is_last(experiment: str, size_bytes: int, target_bytes: int) -> bool:
    return int(short_hash(f"batch\0{experiment}"), 16) * target_bytes < size_bytes * HASH_RANGE


def write_batches(batches: Mapping[str, Iterable[str]], path: Path) -> None:
    """Write a line for each batch: its name and its experiments."""
    lines = (" ".join((name, *experiments)) for name, experiments in batches.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def read_batches(path: Path) -> dict[str, list[str]]:
    """Return the experiments of each batch, as `write_batches` wrote them."""
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return {name: experiments for name, *experiments in lines}


def table_files(folder: Path, table: str, batches: Iterable[str]) -> list[Path]:
    """Return the files of a table, one for each of these batches of experiments."""
    return [folder / table / f"{batch}.parquet" for batch in batches]


def find_kept(folder: Path) -> Path:
    """Return the folder of what was written last of the tables below a folder."""
    return folder / ".kept"


def remove_stale(folders: Iterable[Path], batches: Iterable[str]) -> None:
    """Remove the Parquet files of batches that are gone, below each folder's folders, so that a glob finds what is."""
    present = {*batches, "archive"}
    for folder in folders:
        for path in (*folder.glob("*/*.parquet"), *find_kept(folder).glob("*/*.parquet")):
            if path.stem not in present:
                path.unlink()
