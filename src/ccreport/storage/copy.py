"""Files copied elsewhere: into S3, onto a web server's WebDAV, or into another folder, through obstore.

A file is there already where size and checksum agree: the ETag where that is an MD5, else the bytes themselves, read
back. What was written is compared in the same way. Nothing is deleted unless that is asked for.
"""

import hashlib
import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import obstore
from obstore.store import HTTPStore, LocalStore, ObjectStore

from ccreport.storage.places import StorageError, check_address, is_loopback, is_remote
from ccreport.storage.progress import show_progress
from ccreport.storage.s3 import in_words, open_bucket
from ccreport.storage.sources import GoneError, RefusedError
from ccreport.storage.sums import PART_BYTES, hash_file, matches_etag
from ccreport.storage.transfer import Advance

LOG: Final = logging.getLogger("ccreport.storage")
READ_BYTES: Final = 4 * 2**20
CONNECTIONS: Final = 4


@dataclass(frozen=True)
class Copied:
    """What a copy did, or would do: paths below the source that were written, were there, and only the target has."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class _Target:
    store: ObjectStore
    address: str
    prefix: str

    def key(self, path: str) -> str:
        """Return the store's name of a path."""
        return f"{self.prefix}/{path}" if self.prefix else path


def copy_files(files: dict[str, Path], target: str, *, prune: bool = False, dry_run: bool = False) -> Copied:
    """Copy files to the paths that name them below a place: new and changed ones only, each compared once written.

    `target` is s3://bucket/prefix, the address of a WebDAV folder, or the path of a folder. `prune` deletes what only
    the target has, `dry_run` says what would be done. Raise StorageError where a file cannot be written or is not what
    it was afterwards, and where `prune` asks for what a server without a listing cannot tell.
    """
    if dry_run and not is_remote(target) and not Path(target).is_dir():
        return Copied(tuple(files), (), ())
    place = _open_target(target)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        with in_words(target):
            there = _list_paths(place)
        if prune and there is None:
            raise StorageError(
                f"{target} does not list what it has, so what is only there cannot be deleted; do so there"
            )
        asked = list(pool.map(lambda path: _is_same(place, path, files[path], there), files))
        new, unchanged = (
            [path for path, is_same in zip(files, asked, strict=True) if is_same == wanted] for wanted in (False, True)
        )
        total = sum(files[path].stat().st_size for path in new)
        if new and not dry_run:
            LOG.info("Copying %d files, %.1f MB, to %s", len(new), total / 1e6, target)
            with show_progress("Copying", total) as advance:
                if isinstance(place.store, HTTPStore):
                    smallest = min(new, key=lambda path: files[path].stat().st_size)
                    _check_takes(place, smallest, files[smallest])
                write = partial(_write, place, files, advance)
                alone = _list_firsts(new) if isinstance(place.store, HTTPStore) else []
                # Lists of results: the first error among them is raised.
                list(map(write, alone))
                list(pool.map(write, sorted({*new} - {*alone})))
    others = sorted(set(there or ()) - set(files))
    if prune and others and not dry_run:
        with in_words(target):
            obstore.delete(place.store, [place.key(path) for path in others])
    return Copied(tuple(new), tuple(unchanged), tuple(others))


def remove_files(paths: Iterable[str], target: str, *, dry_run: bool = False) -> list[str]:
    """Remove files below a place, as `copy_files` takes one, and return those that were there; only those if dry."""
    if not is_remote(target) and not Path(target).is_dir():
        return []
    place = _open_target(target)
    removed = []
    for path in sorted(paths):
        try:
            with in_words(f"{target}: {path}"):
                obstore.head(place.store, place.key(path))
                if not dry_run:
                    obstore.delete(place.store, place.key(path))
        except GoneError:
            continue
        removed.append(path)
    return removed


def read_there(target: str, path: str) -> bytes | None:
    """Return the bytes of a small file below a place, as `copy_files` takes one; null where there is none."""
    if not is_remote(target) and not Path(target).is_dir():
        return None
    place = _open_target(target)
    try:
        with in_words(f"{target}: {path}"):
            return bytes(obstore.get(place.store, place.key(path)).bytes())
    except GoneError:
        return None


def _list_firsts(paths: Iterable[str]) -> list[str]:
    """Return a path of each folder, with which it is made: a WebDAV server refuses two at once that would make one."""
    return sorted({path.rpartition("/")[0]: path for path in paths}.values())


def _open_target(target: str) -> _Target:
    if not is_remote(target):
        return _Target(LocalStore(Path(target).resolve(), mkdir=True), target, "")
    check_address(target)
    parts = urlsplit(target)
    if parts.scheme == "s3":
        return _Target(open_bucket(target), target, parts.path.strip("/"))
    return _Target(_open_web(target), target, unquote(parts.path).strip("/"))


def _open_web(address: str, attempts: int = 11) -> HTTPStore:
    parts = urlsplit(address)
    options = {"allow_http": is_loopback(parts.hostname), "timeout": timedelta(minutes=10)}
    # From the server's root: the library makes the folders below the address that it is given, not that address itself.
    return HTTPStore(
        f"{parts.scheme}://{parts.netloc}",
        client_options=options,  # type: ignore[arg-type]
        retry_config={"max_retries": attempts - 1, "retry_timeout": timedelta(minutes=3)},
    )


def _list_paths(place: _Target) -> dict[str, tuple[int, str | None]] | None:
    """Return size and ETag of all that is there; None where the server, a plain one, has no listing."""
    prefix = f"{place.prefix}/" if place.prefix else ""
    if isinstance(place.store, HTTPStore):
        return None
    return {
        meta["path"].removeprefix(prefix): (meta["size"], meta["e_tag"])
        for objects in obstore.list(place.store, prefix=place.prefix or None)
        for meta in objects
    }


def _is_same(place: _Target, path: str, file: Path, there: dict[str, tuple[int, str | None]] | None = None) -> bool:
    """Tell whether a file is at its place with the same bytes, by its ETag, else by reading it back."""
    try:
        if there is None:
            with in_words(f"{place.address}: {path}"):
                meta = obstore.head(place.store, place.key(path))
            size, etag = meta["size"], meta["e_tag"]
        elif path in there:
            size, etag = there[path]
        else:
            return False
        if size != file.stat().st_size:
            return False
        is_s3 = not isinstance(place.store, LocalStore | HTTPStore)
        return bool(is_s3 and matches_etag(file, etag)) or _hash_there(place, path) == hash_file(file)
    except GoneError:
        return False


def _hash_there(place: _Target, path: str) -> str:
    whole = hashlib.sha256()
    with in_words(f"{place.address}: {path}"):
        for block in obstore.get(place.store, place.key(path)).stream(min_chunk_size=READ_BYTES):
            whole.update(block)
    return whole.hexdigest()


def _check_takes(place: _Target, path: str, file: Path) -> None:
    """Raise RefusedError where a web server takes no files: else the library would ask it ten times over a minute."""
    try:
        with in_words(place.address):
            obstore.put(_open_web(place.address, attempts=1), place.key(path), file, use_multipart=False)
    except RefusedError:
        raise
    except StorageError:
        return  # busy, maybe; it is asked again


def _write(place: _Target, files: dict[str, Path], advance: Advance, path: str) -> None:
    file = files[path]
    size = file.stat().st_size
    with in_words(f"{place.address}: {path}"):
        is_long = size > PART_BYTES[0] and not isinstance(place.store, HTTPStore)
        obstore.put(
            place.store, place.key(path), file, use_multipart=is_long, chunk_size=PART_BYTES[0], max_concurrency=2
        )
    advance(size)
    if not _is_same(place, path, file):
        raise StorageError(f"{place.address}: {path} is not what was written; run again, or look at the store's health")
