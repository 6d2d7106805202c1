"""An archive by what names it: one folder, one packed file, or parts, which together are one archive.

Parts are given by a list in config.yaml, or by a folder that holds only packed files. Each is unpacked by itself, and
all are joined in one folder by hard links, each by its paths below its own root: no path has a part's name in it. A
part that did not change is not unpacked again, and its files keep their links and so their times of change, by which
the inventory knows them.
"""

import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from ccreport.archive.harness_layout import UNFINISHED, find_root, join_path, walk_files
from ccreport.archive.layout import NAME as LAYOUT_NAME
from ccreport.archive.unpack import ArchiveError, find_record, read_record, unpack_archive
from ccreport.core.atomic_files import remove_folder
from ccreport.core.errors import NO_ROOM
from ccreport.core.hard_links import link_file
from ccreport.core.text import display_name
from ccreport.storage.places import PACKED_ENDINGS
from ccreport.storage.sums import hash_file

# README.md · LICENSE · CITATION.cff · SHA256SUMS · loss.tar.zst.sha256 · .gitattributes
ABOUT_PARTS: Final = re.compile(
    r"\..*|(readme|licen[cs]e|copying|citation|changes|changelog)(\.\w+)?|sha256sums?(\.txt)?|.+\.sha256(sum)?",
    re.IGNORECASE | re.DOTALL,
)
PARTS: Final = "parts"


@dataclass(frozen=True)
class OpenedArchive:
    """An archive as a folder: `left_out` are members that were not unpacked; `parts` has the SHA-256 of each by name.

    A part that is a folder has none. An archive that is not given in parts has no `parts`.
    """

    root: Path
    left_out: list[str]
    parts: dict[str, str | None]


@dataclass(frozen=True)
class _File:
    """One file of a part."""

    part: str
    entry: os.DirEntry[str]


def list_parts(given: Iterable[Path]) -> list[Path]:
    """Return the files and folders that an archive is given by: for a folder of parts those in it, sorted by name."""
    return [part for place in given for part in (_list_packed(place) or [place])]


def find_layout_beside_parts(folder: Path) -> Path | None:
    """Return the layout in a folder that would be one of parts without it: it is about no file that is packed there."""
    layout = folder / LAYOUT_NAME
    return layout if layout.is_file() and _list_packed(folder, {LAYOUT_NAME}) else None


def _list_packed(folder: Path, others: Container[str] = ()) -> list[Path]:
    """Return the packed files of a folder, if nothing else is in it but what describes them and `others`; else none."""
    if not folder.is_dir():
        return []
    packed = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file() and entry.name.lower().endswith(PACKED_ENDINGS):
                packed.append(Path(entry.path))
            elif not entry.is_file() or not (ABOUT_PARTS.fullmatch(entry.name) or entry.name in others):
                return []
    return sorted(packed)


def is_in_parts(given: Sequence[Path]) -> bool:
    """Tell whether an archive is given in parts, and not as one folder or one file."""
    return len(given) > 1 or list_parts(given) != list(given)


def name_archive(given: Sequence[Path]) -> str:
    """Return what an archive is called: by the file or folder that is given, or by the first of several."""
    others = f" and {len(given) - 1} more" if len(given) > 1 else ""
    return given[0].name + others


def find_raw_folder(given: Sequence[Path], unpacked: Path) -> Path:
    """Return where the raw files are: in the one folder that is given, else below `unpacked`."""
    return given[0] if given[0].is_dir() and not is_in_parts(given) else unpacked


def number_names(names: Iterable[str]) -> list[str]:
    """Return names that differ: the second `a` becomes `2-a`."""
    numbered: list[str] = []
    for name in names:
        unique, number = name, 1
        while unique in numbered:
            number += 1
            unique = f"{number}-{name}"
        numbered.append(unique)
    return numbered


def open_archive(given: Sequence[Path], unpacked: Path) -> OpenedArchive:
    """Return an archive as a folder, after unpacking what is packed below `unpacked`.

    Parts are unpacked into folders below `parts` beside it. Raise ArchiveError where a part cannot be used, or two have
    different files of one path.
    """
    for place in given:
        if not place.exists():
            raise ArchiveError(f"{place} does not exist; correct `archive` in config.yaml")
        if (layout := find_layout_beside_parts(place)) is not None:
            raise ArchiveError(
                f"{layout} is beside packed files, and says nothing of what is in them; delete it or, where it is "
                "written for that, move it elsewhere and name it in config.yaml: `archive: {path: …, layout: …}`"
            )
    if is_in_parts(given):
        return _open_parts(list_parts(given), unpacked)
    left_out = unpack_archive(given[0], unpacked) if given[0].is_file() else []
    return OpenedArchive(find_root(find_raw_folder(given, unpacked)), left_out, {})


def _open_parts(parts: Sequence[Path], unpacked: Path) -> OpenedArchive:
    folder = unpacked.with_name(PARTS)
    names = number_names(part.resolve().name if part.is_dir() else part.name for part in parts)
    _remove_others(folder, names)
    roots: dict[str, Path] = {}
    sums: dict[str, str | None] = {}
    left_out: list[str] = []
    for name, part in zip(names, parts, strict=True):
        sums[name] = None
        if part.is_file():
            left_out += unpack_archive(part, folder / name)
            sums[name] = read_record(folder / name)["sha256"]
        roots[name] = find_root(part if part.is_dir() else folder / name)
    if find_record(unpacked).exists():
        # An archive in one file was unpacked there.
        remove_folder(unpacked)
        find_record(unpacked).unlink()
    left_out += _join(roots, unpacked)
    return OpenedArchive(find_root(unpacked), left_out, sums)


def _remove_others(folder: Path, names: Sequence[str]) -> None:
    """Remove what was unpacked of parts that are gone."""
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        if path.is_dir() and path.name not in names:
            find_record(path).unlink(missing_ok=True)
            remove_folder(path)


def _join(roots: Mapping[str, Path], target: Path) -> list[str]:
    """Give all files of some folders second names in one; return what is not a file."""
    files: dict[str, _File] = {}
    folders: dict[str, str] = {}
    others = []
    for part, root in roots.items():
        for place, entry in walk_files(root):
            path = join_path(place, entry.name)
            if not entry.is_file(follow_symlinks=False):
                others.append(path)
                continue
            file = _File(part, entry)
            _check_same(path, files.setdefault(path, file), file)
            if str(place) not in folders:
                folders |= {str(above): part for above in (place, *place.parents) if str(above) not in folders}
    for path in sorted(files.keys() & folders.keys()):
        message = f"{display_name(path)} is a file in {files[path].part} and a folder in {folders[path]}"
        raise ArchiveError(f"{message}; leave one of the two out")
    target.mkdir(parents=True, exist_ok=True)
    joined = _remove_stale(target, files)
    for path, file in files.items():
        if path not in joined:
            _link(file, target / path)
    return others


def _check_same(path: str, first: _File, second: _File) -> None:
    """Raise ArchiveError where two parts have different files of one path, but for what is still being collected."""
    if first.entry is second.entry or UNFINISHED in PurePosixPath(path).parts:
        return
    sizes = {part.entry.stat(follow_symlinks=False).st_size for part in (first, second)}
    if len(sizes) > 1 or hash_file(Path(first.entry.path)) != hash_file(Path(second.entry.path)):
        message = f"{first.part} and {second.part} have different files {display_name(path)}"
        raise ArchiveError(f"{message}; leave one of the two out, or rename the file")


def _remove_stale(target: Path, files: Mapping[str, _File]) -> set[str]:
    """Remove from the joined folder what is not there any more or is another file now; return what stays."""
    joined = {join_path(place, entry.name): entry for place, entry in walk_files(target)}
    staying = {path for path, entry in joined.items() if path in files and _is_linked(files[path].entry, entry)}
    for path in joined.keys() - staying:
        (target / path).unlink()
        # Up to the first folder that is not empty.
        with suppress(OSError):
            for above in list(PurePosixPath(path).parents)[:-1]:
                (target / above).rmdir()
    return staying


def _is_linked(source: os.DirEntry[str], link: os.DirEntry[str]) -> bool:
    """Tell whether a file still is the second name of another, or a copy of it as it is now."""
    try:
        now, then = source.stat(follow_symlinks=False), link.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    # What changed after it was copied has a later time of change than the copy, whatever its date says.
    is_copy = (now.st_size, now.st_mtime_ns) == (then.st_size, then.st_mtime_ns) and now.st_ctime_ns < then.st_ctime_ns
    return os.path.samestat(now, then) or is_copy


def _link(file: _File, link: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        link_file(file.entry.path, link)
    except FileNotFoundError:
        return  # gone by now, as files of a run that is being collected
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        message = f"{file.part}: {display_name(file.entry.name)} cannot be read ({error.strerror})"
        raise ArchiveError(f"{message}; check its permissions and the disk") from error
