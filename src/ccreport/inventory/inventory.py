"""The inventory: every file of the archive, what it is, which run it belongs to, and what shall become of it.

A file is read by one reader, or ignored by a rule that has a name, or rejected here. Nothing else can happen, so
that the ledger (`measure_ledger`) can count all files again at the end.
"""

import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ccreport.archive import Folder, find_folder, find_root, walk_files
from ccreport.batches import MIB, group_experiments, remove_stale, write_batches
from ccreport.fingerprints import digest_code
from ccreport.flow_identity import short_hash
from ccreport.inventory_folder import FILE_DIGITS, list_folder, reject
from ccreport.inventory_index import InventoryIndex, Listed
from ccreport.raw import Manifest, display_name, write_formatted_manifests
from ccreport.unpack import ArchiveError, unpack_archive

# What a file costs at least, as a number of its bytes: a million empty ones are work for more than one job.
LEAST_FILE_BYTES = 4096
LEFT_OUT = "the member of the archive file is a link, a device or leads out of the archive; it was not unpacked"


def list_raw_files(
    archive: Path,
    unpacked: Path,
    index: Path,
    manifests: Path,
    tables: list[Path],
    batches: Path,
    facts: Path,
    batch_mib: float,
) -> None:
    """List an archive: one file of manifests per batch below `manifests`, and a line for each batch in `batches`.

    Batches have `batch_mib` of raw files on average, each counted as 4 KiB at least. `facts` becomes a JSON object
    about the archive as a whole: name, files_count, size_bytes, sha256 (over the sorted paths and hashes of all files,
    so that a folder and its tarball have the same). `index` is what is known of files from the former listing.

    An archive in one file is unpacked below `unpacked` first. Manifests of batches that are gone are deleted, and so
    are their tables below the folders `tables`; manifests that did not change are not touched. Raises ArchiveError
    where the archive as a whole cannot be used.
    """
    started_ns = time.time_ns()
    left_out = unpack_archive(archive, unpacked) if archive.is_file() else []
    root = find_root(unpacked if archive.is_file() else archive)
    by_folder: dict[Folder, list[tuple[str, os.DirEntry[str]]]] = defaultdict(list)
    folder_of = cache(find_folder)
    for place, entry in walk_files(root):
        by_folder[folder_of(place)].append((f"{place}/{entry.name}" if place.parts else entry.name, entry))
    if not by_folder:
        raise ArchiveError(f"{archive.name} holds no files; point `archive` in config.yaml at the harness's output")
    known = InventoryIndex(index, digest_code("ccreport.inventory", (), ()), started_ns)
    listed = [list_folder(folder, files, known.open_folder(folder.path)) for folder, files in by_folder.items()]
    known.write()
    if left_out:
        listed.append(_list_left_out(left_out))
    named = _write_manifests(listed, manifests, round(batch_mib * MIB))
    remove_stale(tables, named)
    write_batches(named, batches)
    _write_facts(archive.name, listed, facts)


def _list_left_out(members: Iterable[str]) -> Listed:
    names = sorted(set(members))
    files = tuple(reject(short_hash(f"left out\0{name}", FILE_DIGITS), name, "not_a_file", LEFT_OUT) for name in names)
    return Listed.of(Manifest(f"left-out-{short_hash('left out')}", None, None, (), files))


def _write_manifests(listed: Iterable[Listed], folder: Path, batch_bytes: int) -> dict[str, list[str]]:
    """Write the manifests of each batch, and return its experiments."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {one.experiment_id: one.manifest for one in listed}
    sizes = {one.experiment_id: sum(max(size, LEAST_FILE_BYTES) for _, _, size in one.files) for one in listed}
    batches = group_experiments(sizes, batch_bytes)
    for stale in folder.glob("*.json"):
        if stale.stem not in batches:
            stale.unlink()
    for batch, experiments in batches.items():
        write_formatted_manifests((texts[experiment] for experiment in experiments), folder / f"{batch}.json")
    return batches


def _write_facts(name: str, listed: Iterable[Listed], facts: Path) -> None:
    files = sorted(file for one in listed for file in one.files)
    lines = "".join(f"{sha256}  {display_name(path)}\n" for path, sha256, _ in files)
    about = {
        "name": display_name(name),
        "files_count": len(files),
        "size_bytes": sum(size for _, _, size in files),
        "sha256": hashlib.sha256(lines.encode()).hexdigest(),
    }
    facts.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
