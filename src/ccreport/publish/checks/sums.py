"""SHA256SUMS of a release: every file listed and there, none beside, each byte as it was.

The list has no sum of its own. Where a line of it disagrees with a file, the descriptors that are intact (Data Package,
RO-Crate) tell which of the two was changed. Of a release that has only the list of its raw files, the archive that
somebody put into its `raw/` is not one of its files: the check of raw files compares it with that list.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Final

from ccreport.archive.pack import list_files
from ccreport.core.errors import InputError
from ccreport.core.text import count_things
from ccreport.publish import CRATE, PACKAGE, SUMS
from ccreport.publish.checks import FAULTS, Check
from ccreport.publish.checks.raw_archive import BESIDE, find_archive
from ccreport.publish.sums import name_beside, parse_sums, read_beside, say_damage
from ccreport.storage.sums import format_sums, hash_file, hash_sums

RENAMED, BY_HASH = "renamed to ", f", by the hash in {SUMS}"
UNLISTED: Final = f"not listed in {SUMS}"


def require_whole(place: str | Path, release: Path, left_out: list[str], *, has_raw: bool = True) -> None:
    """Raise InputError where a file of a release is not what its SHA256SUMS says: it would pass for a difference.

    `place` is what the user named. The rest is as for `check_sums`.
    """
    if failures := check_sums(release, left_out, has_raw=has_raw)[0].failures:
        closer = f"look closer with `python -m ccreport verify {place}`"
        raise InputError(f"{place} is damaged: {say_damage(failures)}; {closer}")


def check_beside(path: Path) -> Check | None:
    """Compare a release's folder or packed file with the hash told beside it for the whole; None where none is told."""
    beside, told = name_beside(path), read_beside(path)
    if not beside.is_file():
        return None
    hashed = path / SUMS if path.is_dir() else path
    found = hash_file(hashed)
    if told == found:
        return Check(beside.name, f"the hash told beside the release is that of its {hashed.name}")
    return Check(beside.name, failures=(f"{beside.name}: says {told or 'no SHA-256'}, but {hashed.name} has {found}",))


def check_sums(
    release: Path, left_out: list[str], *, has_raw: bool = True
) -> tuple[Check, dict[str, str], frozenset[str]]:
    """Return the check, the SHA-256 of each file that is there, and the paths that are not what the list says.

    `left_out` are members of a packed release that could not be unpacked. Without `has_raw` the raw archive, by far the
    largest part, is not looked at, as where only results are compared.
    """
    content = (release / SUMS).read_bytes()
    named, faults = _read_sums(content)
    added = set() if faults or any(map(_is_archive, named)) else {*_list_paths(release, find_archive(release))}
    links = {*_list_paths(release, filter(Path.is_symlink, release.rglob("*")))} - added
    unread = set() if has_raw else {path for path in map(Path.as_posix, list_files(release)) if _is_archive(path)}
    paths = [path for path in map(Path.as_posix, list_files(release)) if path not in links | added | unread]
    there = {path: hash_file(release / path) for path in paths if path != SUMS}
    failures = [f"{path}: a link, or a name that cannot be unpacked" for path in sorted({*links, *left_out})] + faults
    if faults:
        return Check("sums", count_things(len(there), "file"), tuple(failures)), there, frozenset({SUMS})
    if content != format_sums(named):
        failures.append(f"{SUMS}: not sorted by path, or without its last line's end")
    named = {path: sha256 for path, sha256 in named.items() if path not in unread}
    changed = {path for path in named.keys() & there.keys() if named[path] != there[path]}
    witnessed = _find_witnessed(release, there, changed)
    blamed = {path for path in changed if witnessed.get(path) == there[path]}
    failures += [f"{SUMS}: its sum of {path} is another than {PACKAGE} or {CRATE} has" for path in sorted(blamed)]
    failures += [f"{path}: not what {SUMS} says" for path in sorted(changed - blamed)]
    missing, unlisted = (
        {path: side[path] for path in sorted(side.keys() - other)} for side, other in ((named, there), (there, named))
    )
    renamed = _find_renamed(missing, unlisted)
    failures += [f"{path}: {RENAMED}{other}{BY_HASH}" for path, other in renamed.items()]
    failures += [f"{path}: missing" for path in missing if path not in renamed]
    failures += [f"{path}: {UNLISTED}" for path in unlisted if path not in renamed.values()]
    damaged = (changed - blamed) | missing.keys() | links
    # The list too may have been changed, to fit a file.
    others = {path for path, sha256 in witnessed.items() if there.get(path, sha256) != sha256}
    hashes = _hash_tables(there, damaged | others)
    check = Check("sums", count_things(len(there), "file"), tuple(failures), hashes=hashes)
    return check, there, frozenset(damaged)


def _find_renamed(missing: Mapping[str, str], unlisted: Mapping[str, str]) -> dict[str, str]:
    """Return the path that a missing file now has, by its path in the list: the unlisted one with the same bytes."""
    left, renamed = dict(unlisted), dict[str, str]()
    for path, sha256 in missing.items():
        same = [other for other, digest in left.items() if digest == sha256]
        if same:
            renamed[path] = max(same, key=lambda other: len(split_shared_end(path, other)[2]))
            del left[renamed[path]]
    return renamed


def split_shared_end(path: str, other: str) -> tuple[str, str, str]:
    """Return what two paths begin with, each ending in a slash or empty, and the parts that both end with."""
    pairs = zip(reversed(path.split("/")), reversed(other.split("/")), strict=False)
    shared = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    end = "/".join(reversed(shared))
    return path.removesuffix(end), other.removesuffix(end), end


def gather_folders(release: Path, failures: Sequence[str]) -> tuple[str, ...]:
    """Return failures, `path: reason` each; in one line those of the files of a folder that is gone, new or renamed."""
    listed = {folder for path in _read_sums((release / SUMS).read_bytes())[0] for folder in PurePosixPath(path).parents}
    gathered: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        path, _, reason = failure.partition(": ")
        if reason.startswith(RENAMED):
            path, new, end = split_shared_end(path, reason.removeprefix(RENAMED).removesuffix(BY_HASH))
            key = (path, f"{RENAMED}{new}{BY_HASH}") if path and new and end else (failure, reason)
            gathered.setdefault(key, []).append(failure)
            continue
        above = [*reversed(PurePosixPath(path).parents)][1:]
        folders = [folder for folder in above if not (release / folder).exists() or (listed and folder not in listed)]
        gathered.setdefault((f"{folders[0]}/" if folders else path, reason), []).append(failure)
    return tuple(
        failure
        for (place, reason), same in gathered.items()
        for failure in (same if len(same) == 1 else [f"{place}: {reason} ({len(same):,} files)"])
    )


def _read_sums(content: bytes) -> tuple[dict[str, str], list[str]]:
    """Return the SHA-256 by path and what is wrong with the list, of which nothing is read then."""
    try:
        return parse_sums(content, SUMS), []
    except InputError as error:
        return {}, [str(error)]


def _is_archive(path: str) -> bool:
    return path.startswith("raw/") and path.removeprefix("raw/") not in BESIDE


def _list_paths(release: Path, paths: Iterable[Path]) -> Iterator[str]:
    return (path.relative_to(release).as_posix() for path in paths)


def _hash_tables(there: Mapping[str, str], damaged: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the sum that the first page of each evaluation's report has for its tables, or what it is of instead."""
    tables: dict[str, dict[str, str]] = {}
    for path, sha256 in there.items():
        match path.split("/"):
            case ["evaluations", evaluation, "tables", name] if name.endswith(".csv"):
                tables.setdefault(evaluation, {})[name] = sha256
    changed = {path.split("/")[1] for path in damaged if path.startswith("evaluations/") and path.endswith(".csv")}
    told = {name: ", as changed: another than the report has" if name in changed else "" for name in tables}
    return tuple((hash_sums(sums), f"published tables of {name}{told[name]}") for name, sums in sorted(tables.items()))


def _find_witnessed(release: Path, there: Mapping[str, str], changed: set[str]) -> dict[str, str]:
    """Return the sums that descriptors have which are themselves as SHA256SUMS says."""
    sums: dict[str, str] = {}
    for name, read in ((PACKAGE, _read_package), (CRATE, _read_crate)):
        if name in there and name not in changed:
            try:
                sums |= dict(read(release / name, there))
            except FAULTS:
                continue  # said by the check of the descriptor itself
    return sums


def _read_package(path: Path, there: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    del there
    for resource in json.loads(path.read_bytes())["resources"]:
        yield resource["path"], resource["hash"].removeprefix("sha256:")


def _read_crate(path: Path, there: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the sums of files; a folder's sum represents all files in it, if these are what it says."""
    for entity in json.loads(path.read_bytes())["@graph"]:
        name, sha256 = entity["@id"], entity.get("sha256")
        inside = {file: digest for file, digest in there.items() if file.startswith(name)}
        if name.endswith("/") and sha256 == hash_sums(inside):
            yield from inside.items()
        elif sha256 is not None:
            yield name, sha256
