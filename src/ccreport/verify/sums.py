"""SHA256SUMS of a release: every file listed and there, none beside, each byte as it was.

The list has no sum of its own. Where a line of it disagrees with a file, the descriptors that are intact (Data Package,
RO-Crate) tell which of the two was changed. Of a release that has only the list of its raw files, the archive that
somebody put into its `raw/` is not one of its files: the check of raw files compares it with that list.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from ccreport.archive.pack import list_files
from ccreport.core.errors import InputError
from ccreport.core.text import count_things
from ccreport.publish import CRATE, PACKAGE, SUMS
from ccreport.publish.sums import parse_sums
from ccreport.storage.sums import format_sums, hash_file, hash_sums
from ccreport.verify import FAULTS, Check
from ccreport.verify.ledger import BESIDE, find_archive


def check_sums(release: Path, left_out: list[str]) -> tuple[Check, dict[str, str], frozenset[str]]:
    """Return the check, the SHA-256 of each file that is there, and the paths that are not what the list says.

    `left_out` are members of a packed release that could not be unpacked.
    """
    content = (release / SUMS).read_bytes()
    named, faults = _read_sums(content)
    added = set() if faults or any(map(_is_archive, named)) else {*_list_paths(release, find_archive(release))}
    links = {*_list_paths(release, filter(Path.is_symlink, release.rglob("*")))} - added
    paths = [path for path in map(Path.as_posix, list_files(release)) if path not in links | added]
    there = {path: hash_file(release / path) for path in paths if path != SUMS}
    failures = [f"{path}: a link, or a name that cannot be unpacked" for path in sorted({*links, *left_out})] + faults
    if faults:
        return Check("sums", count_things(len(there), "file"), tuple(failures)), there, frozenset({SUMS})
    if content != format_sums(named):
        failures.append(f"{SUMS}: not sorted by path, or without its last line's end")
    changed = {path for path in named.keys() & there.keys() if named[path] != there[path]}
    witnessed = _find_witnessed(release, there, changed)
    blamed = {path for path in changed if witnessed.get(path) == there[path]}
    failures += [f"{SUMS}: its sum of {path} is another than {PACKAGE} or {CRATE} has" for path in sorted(blamed)]
    failures += [f"{path}: not what {SUMS} says" for path in sorted(changed - blamed)]
    failures += [f"{path}: missing" for path in sorted(named.keys() - there.keys())]
    failures += [f"{path}: not listed in {SUMS}" for path in sorted(there.keys() - named.keys())]
    damaged = (changed - blamed) | (named.keys() - there.keys()) | links
    # The list too may have been changed, to fit a file.
    others = {path for path, sha256 in witnessed.items() if there.get(path, sha256) != sha256}
    hashes = _hash_tables(there, damaged | others)
    check = Check("sums", count_things(len(there), "file"), tuple(failures), hashes=hashes)
    return check, there, frozenset(damaged)


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
