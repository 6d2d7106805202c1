"""The inventory: every file of the archive, what it is, which run it belongs to, and what shall become of it.

A file is read by one reader, or ignored by a rule that has a name, or rejected here. Nothing else can happen, so
that the ledger (`measure_ledger`) can count all files again at the end.
"""

import hashlib
import json
import shlex
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ccreport.archive.harness_layout import UNFINISHED, Folder, find_folder, join_path, walk_files
from ccreport.archive.layout import NAME as LAYOUT_NAME
from ccreport.archive.layout import Layout
from ccreport.archive.manifest import Manifest, make_manifest, write_formatted_manifests
from ccreport.archive.parts import find_raw_folder, name_archive, open_archive
from ccreport.archive.read_layout import open_layout
from ccreport.archive.unpack import ArchiveError
from ccreport.core.atomic_files import replaces_folder
from ccreport.core.declared_files import show_path
from ccreport.core.identifiers import short_hash
from ccreport.core.text import display_name
from ccreport.inventory.experiment_listing import FILE_DIGITS, list_folder, reject
from ccreport.inventory.formats import PACKED
from ccreport.inventory.index import InventoryIndex, Listed
from ccreport.inventory.joined_samples import find_samples_of_declared
from ccreport.inventory.kinds import IGNORE_RULES
from ccreport.inventory.names import FileName, ListedFile, read_declared
from ccreport.rebuild.batches import MIB, group_experiments, remove_stale, write_batches
from ccreport.rebuild.fingerprints import digest_code

# What a file costs at least, as a number of its bytes: a million empty ones are work for more than one job.
LEAST_FILE_BYTES = 4096
# Rules by which files of an unknown kind, files made from raw files, and the layout itself are ignored.
STRANGE_RULES = frozenset(IGNORE_RULES[kind] for kind in ("unknown", "derived", "layout"))
LEFT_OUT = "this is a link, a device or a pipe, or its name leads out of the archive; it was left out"


@replaces_folder("manifests")
def list_raw_files(
    archive: list[Path],
    unpacked: Path,
    index: Path,
    manifests: Path,
    tables: list[Path],
    batches: Path,
    facts: Path,
    batch_mib: float,
    layout: Sequence[str] = (),
) -> None:
    """List an archive: one file of manifests per batch below `manifests`, and a line for each batch in `batches`.

    Batches have `batch_mib` of raw files on average, each counted as 4 KiB at least. `facts` becomes a JSON object
    about the archive as a whole: name, files_count, size_bytes, sha256 (over the sorted paths and hashes of all files,
    so that a folder, its tarball and its parts have the same), and of an archive in parts the name and hash of each.
    `index` is what is known of files from the former listing.

    `archive` is one folder, one packed file, or the parts; what is packed is unpacked first, and parts are joined below
    `unpacked`. Tables below the folders `tables` are deleted where their batch is gone. `layout` holds the path of
    a declared layout, or the layout as JSON; where it is empty, the archive's own `layout.yaml` counts. Raise
    ArchiveError where the archive as a whole cannot be used, DeclarationError where its layout cannot.
    """
    started_ns = time.time_ns()
    opened = open_archive(archive, unpacked)
    declared, layout_hash = open_layout(next(iter(layout), ""), opened.root)
    wrapping = opened.root.relative_to(find_raw_folder(archive, unpacked)).as_posix()
    by_folder = group_files(opened.root, declared, "" if wrapping == "." else f"{wrapping}/")
    if not by_folder:
        advice = "name another archive by `make report ARCHIVE=path`, or as `archive` in config.yaml"
        raise ArchiveError(f"{_show_archive(archive)} holds no files; {advice}")
    known = InventoryIndex(index, digest_code(["ccreport.inventory.inventory"], (), ()), started_ns, layout_hash)
    listed = [
        list_folder(folder, files, known.open_folder(folder.path), has_layout=declared is not None)
        for folder, files in by_folder.items()
    ]
    known.write()
    is_declared = any(file.declared is not None for files in by_folder.values() for file in files)
    if not (opened.left_out or is_declared or _has_raw_files(listed)):
        raise ArchiveError(_describe_strange(archive, opened.root, by_folder))
    if opened.left_out:
        listed.append(_list_left_out(opened.left_out))
    named = _write_manifests(listed, manifests, round(batch_mib * MIB))
    remove_stale(tables, named)
    write_batches(named, batches)
    _write_facts(name_archive(archive), listed, opened.parts, facts)


def group_files(root: Path, layout: Layout | None, wrapping: str = "") -> dict[Folder, list[ListedFile]]:
    """Return the files below a folder by the experiments that they belong to, with what a layout says of their names.

    `wrapping` are the folders above the root that are part of the paths which a layout is written for.
    """
    by_folder: dict[Folder, list[ListedFile]] = defaultdict(list)
    folder_of = cache(find_folder)
    files = [(join_path(place, entry.name), place, entry) for place, entry in walk_files(root)]
    declared: dict[str, tuple[Folder, FileName]] = {}
    joined: dict[str, tuple[Folder | None, FileName]] = {}
    if layout is not None:
        places = {path: place for path, place, _ in files if UNFINISHED not in place.parts and path != LAYOUT_NAME}
        declared = read_declared(layout, places, wrapping)
        joined = find_samples_of_declared(declared, files)
    for path, place, entry in files:
        folder, name = declared.get(path) or joined.get(path) or (None, None)
        by_folder[folder or folder_of(place)].append(ListedFile(path, entry, name))
    return by_folder


def _has_raw_files(listed: Iterable[Listed]) -> bool:
    """Tell whether some file is of a kind that has a name, or a measurement in a form that no step reads."""
    manifests = (make_manifest(json.loads(experiment.manifest)) for experiment in listed)
    files = (file for manifest in manifests for file in manifest.files)
    return any(file.rule not in STRANGE_RULES and file.format != PACKED for file in files)


def _describe_strange(archive: list[Path], root: Path, by_folder: Mapping[Folder, Sequence[ListedFile]]) -> str:
    """Return that no file of an archive is one that is read, and what to type."""
    paths = sorted(file.path for files in by_folder.values() for file in files if file.path != LAYOUT_NAME)
    shown = f"{display_name(paths[0])}{', …' if len(paths) > 1 else ''}" if paths else LAYOUT_NAME
    folder = shlex.quote(str(root)) if archive == [root] else "FOLDER, once it is unpacked,"
    return (
        f"{_show_archive(archive)}: not one of its files ({shown}) is a result or a log that is read; "
        f"`python -m ccreport adopt {folder}` says what is missing"
    )


def _show_archive(archive: Sequence[Path]) -> str:
    """Return the path of an archive, or that of the first of several."""
    return show_path(archive[0]) + name_archive(archive).removeprefix(archive[0].name)


def _list_left_out(members: Iterable[str]) -> Listed:
    names = sorted(set(members))
    files = tuple(reject(short_hash(f"left out\0{name}", FILE_DIGITS), name, "not_a_file", LEFT_OUT) for name in names)
    return Listed.of(Manifest(f"left-out-{short_hash('left out')}", None, None, (), files))


def _write_manifests(listed: Iterable[Listed], folder: Path, batch_bytes: int) -> dict[str, list[str]]:
    """Write the manifests of each batch, and return its experiments."""
    texts = {experiment.experiment_id: experiment.manifest for experiment in listed}
    sizes = {
        experiment.experiment_id: sum(max(size, LEAST_FILE_BYTES) for _, _, size in experiment.files)
        for experiment in listed
    }
    batches = group_experiments(sizes, batch_bytes)
    for batch, experiments in batches.items():
        write_formatted_manifests((texts[experiment] for experiment in experiments), folder / f"{batch}.json")
    return batches


def _write_facts(name: str, listed: Iterable[Listed], parts: Mapping[str, str | None], facts: Path) -> None:
    files = sorted(file for experiment in listed for file in experiment.files)
    lines = "".join(f"{sha256}  {display_name(path)}\n" for path, sha256, _ in files)
    about: dict[str, Any] = {
        "name": display_name(name),
        "files_count": len(files),
        "size_bytes": sum(size for _, _, size in files),
        "sha256": hashlib.sha256(lines.encode()).hexdigest(),
    }
    if parts:
        about["parts"] = [{"name": display_name(part), "sha256": sha256} for part, sha256 in parts.items()]
    facts.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
