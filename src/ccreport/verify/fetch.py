"""A release brought to where it can be looked at: a folder as it is, a packed one unpacked, one elsewhere fetched."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Final
from urllib.parse import quote_from_bytes

from ccreport.archive.unpack import looks_packed, unpack_archive
from ccreport.core.atomic_files import name_aside
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import (
    KNOWN_BY,
    MAKES_RELEASE,
    PLACES_OF_RELEASE,
    find_release_problem,
    guess_path,
    guess_release,
)
from ccreport.publish import CRATE, PACKAGE, SUMS
from ccreport.publish.sums import parse_sums
from ccreport.storage.fetch import open_source
from ccreport.storage.listing import check_name
from ccreport.storage.places import guess_address, is_packed, is_remote, name_packed
from ccreport.storage.progress import show_progress
from ccreport.storage.sources import GoneError, RemoteFile, Source
from ccreport.storage.transfer import fetch_file

CONNECTIONS: Final = 4
NAMED: Final = f"{PLACES_OF_RELEASE}; {MAKES_RELEASE}"


def open_release(place: str, work: Path) -> tuple[Path, list[str]]:
    """Return the folder of a release and, of a packed one, the members that were left out.

    `place` is a folder, a `.tar.zst` or the like, or an https:// or s3:// address of either; what is not a folder here
    goes below `work`. Raise InputError where there is no release.
    """
    if not place:
        raise InputError(f"no release is named; {NAMED}")
    try:
        path = _fetch(place, work / "fetched") if is_remote(place) else Path(place)
    except GoneError as error:
        lacks = "" if is_packed(place) else f", which has no {SUMS}"
        raise InputError(f"no release is at {place}{lacks}; check the address") from error
    left_out: list[str] = []
    if path.is_file():
        if not is_packed(path.name) and not looks_packed(path):
            raise InputError(f"{place} is not a packed release; {NAMED}")
        left_out = unpack_archive(path, work / "unpacked")
        path = work / "unpacked"
    if not path.is_dir():
        meant = guess_path(path, is_release=True) or guess_address(place) or f"; {NAMED}"
        raise InputError(f"{place} does not exist{meant}")
    folders = [path, *(sorted(path.iterdir()) if path == work / "unpacked" else [])]
    found = next((folder for folder in folders if (folder / SUMS).is_file()), None)
    if found is None:
        if (path / PACKAGE).is_file() or (path / CRATE).is_file():
            raise InputError(f"{place} looks like a release whose {SUMS} is missing; get it again from its publisher")
        if name_aside(path.resolve()).is_dir():
            raise InputError(f"{place} has no {SUMS}: a publication was interrupted here; publish the version again")
        raise InputError(f"{place} has no {SUMS}; {guess_release(path, NAMED)}")
    if problem := find_release_problem(found):
        is_inside = any((found.resolve().parent / name).exists() for name in KNOWN_BY)
        meant = f"did you mean `{path.parent}`?" if is_inside else NAMED
        raise InputError(f"{place} is not a release: {problem}; {meant}")
    return found.resolve(), left_out


def _fetch(address: str, work: Path) -> Path:
    """Fetch a release: one file, or a folder in S3 by its listing, or one of a web server by its SHA256SUMS.

    A web server shows `site/index.html` in place of a listing, so nothing is learnt there of files that no list names.
    """
    source = open_source(address, CONNECTIONS)
    if is_packed(address):
        listing = source.list_files()
        _fetch_files(source, list(listing.files), work)
        return work / "files" / name_packed(address)
    if address.startswith("s3:"):
        listing = source.list_files()
        _fetch_files(source, [*listing.files, *listing.sums], work)
    else:
        base = address if address.endswith("/") else f"{address}/"
        _fetch_files(source, [RemoteFile(SUMS, base + SUMS, None, "")], work)
        named = parse_sums((work / "files" / SUMS).read_bytes(), base + SUMS)
        _fetch_files(source, [_locate(base, path) for path in named if path != SUMS], work)
    return work / "files"


def _locate(base: str, path: str) -> RemoteFile:
    raw = path.encode("utf-8", "surrogateescape")
    if any(check_name(part) is None for part in raw.split(b"/")):
        raise InputError(f"{base}{SUMS} names {path!r}, which is not a path in a release; do not trust it")
    return RemoteFile(path, base + quote_from_bytes(raw), None, "")


def _fetch_files(source: Source, files: list[RemoteFile], work: Path) -> None:
    """Fetch files as they are: whether they are what they should be is what the checks find out."""

    def fetch(numbered: tuple[int, RemoteFile]) -> None:
        number, file = numbered
        plain = replace(file, sha256=None, etag=None)
        try:
            fetch_file(source, plain, work / "files" / file.path, work / f"parts/{number}", advance, Event())
        except GoneError:
            if file.path == SUMS:
                raise
            # A file that is listed and not there is for the check of the sums to name.

    total = sum(file.size_bytes or 0 for file in files) or None
    with show_progress("Fetching", total) as advance, ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(fetch, enumerate(files)))
