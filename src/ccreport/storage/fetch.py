"""Archives elsewhere, fetched into a folder: a mirror that later calls bring up to date.

Below the folder are `files/` with what was fetched, `parts/` with what is half fetched, and the journal of it all. What
is in `files/` is whole and checked; what is listed no more is removed there. Which files changed is told by the
listing alone: names, sizes, times, ETags.
"""

import hashlib
import json
import logging
import shutil
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ccreport.core.identifiers import short_hash
from ccreport.storage.places import StorageError, check_address
from ccreport.storage.progress import log_into, show_progress
from ccreport.storage.record import Fetched, FolderLock, Record
from ccreport.storage.s3 import S3Source
from ccreport.storage.sources import (
    FolderMarkerError,
    GoneError,
    Listing,
    RefusedError,
    RemoteFile,
    Source,
    UnreachableError,
)
from ccreport.storage.sums import parse_sums
from ccreport.storage.transfer import Advance, fetch_file, now_utc
from ccreport.storage.web import LONGEST_WAIT_S, WebSource

LOG: Final = logging.getLogger("ccreport.storage")
SUMS_BYTES: Final = 256 * 2**20
SPARE_BYTES: Final = 64 * 2**20
# Where there are files of a former fetch, nobody waits long for a listing.
ASKING_WAIT_S: Final = 10.0


def open_source(
    archive: str, connections: int = 4, attempts: int = 5, longest_wait_s: float = LONGEST_WAIT_S
) -> Source:
    """Return the place that an address names; raise StorageError where nothing is fetched from such a one."""
    check_address(archive)
    if archive.startswith("s3:"):
        return S3Source(archive, attempts)
    return WebSource(archive, connections, attempts, longest_wait_s)


def fetch_archive(
    source: list[str], folder: list[Path], facts: Path, log: Path, connections: int = 4, *, offline: bool
) -> None:
    """Fetch what is new or changed of an archive on a web server or in S3 into a folder, checked.

    Several sources, each with a folder of its own, are parts of one archive. One that was fetched before and whose
    listing cannot be had now, or for which `offline` is set, is taken as it was. `facts` becomes a JSON list of an
    object for each: source, files_count, size_bytes, sha256 over the sorted paths and hashes. Raise StorageError, with
    all that arrived kept for the next call.
    """
    if len(source) != len(folder):
        raise StorageError(f"{len(source)} sources and {len(folder)} folders; name a folder for each source")
    with log_into(log):
        fetched = [_fetch_source(*pair, connections, offline=offline) for pair in zip(source, folder, strict=True)]
    facts.parent.mkdir(parents=True, exist_ok=True)
    facts.write_text(json.dumps([_describe_fetched(record) for record in fetched], indent=1) + "\n", encoding="utf-8")


def _fetch_source(source: str, folder: Path, connections: int, *, offline: bool) -> Record:
    """Fetch one source into its folder, and return what is there."""
    check_address(source)
    with FolderLock(folder):
        record = Record(folder)
        is_here = record.is_complete and record.source == source
        if offline and not is_here:
            raise StorageError(f"{source} has not been fetched whole; run once with a network and without `offline`")
        if is_here:
            _update(source, folder, record, connections, offline=offline)
        else:
            place = open_source(source, connections)
            _mirror(place, place.list_files(), source, folder, record, connections)
        return record


def _update(source: str, folder: Path, record: Record, connections: int, *, offline: bool) -> None:
    """Bring an archive that was fetched before up to date, if its listing can be had soon."""
    taken = f"taking its {len(record.files)} files as they were fetched at {record.time}"
    if offline:
        LOG.info("Offline, so %s is not asked: %s", source, taken)
        return
    try:
        listing = open_source(source, connections, attempts=1, longest_wait_s=ASKING_WAIT_S).list_files()
    except StorageError as error:
        LOG.warning("%s: %s", error, taken)
        return
    try:
        _mirror(open_source(source, connections), listing, source, folder, record, connections)
    except UnreachableError as error:
        if not record.is_complete:
            raise
        LOG.warning("%s: %s", error, taken)


def _mirror(place: Source, listing: Listing, source: str, folder: Path, record: Record, connections: int) -> None:
    if not listing.files:
        raise StorageError(f"{source} lists no files; check the address")
    _name_left_out(listing.left_out)
    listed = {file.path: file for file in _add_sums(place, listing, folder)}
    if record.source not in (None, source):
        shutil.rmtree(folder / "files", ignore_errors=True)
        record.files = {}
    kept = {
        path: fetched
        for path, fetched in record.files.items()
        if path in listed and _is_here(fetched, listed[path], folder)
    }
    new = [file for path, file in listed.items() if path not in kept]
    gone = _remove_others(folder / "files", kept)
    unchanged = len(kept)
    record.begin(source, kept)
    if new:
        _check_space(new, folder)
        _fetch_all(place, new, folder, record, connections)
    shutil.rmtree(folder / "parts", ignore_errors=True)
    record.finish(now_utc())
    removed = len(gone - set(record.files))
    LOG.info("%s: %d files fetched, %d unchanged, %d removed", source, len(new), unchanged, removed)


def _is_here(fetched: Fetched, file: RemoteFile, folder: Path) -> bool:
    """Tell whether a file was fetched in the version that is listed, with the sum that is published now."""
    place = folder / "files" / fetched.path
    is_current = fetched.mark == file.mark and file.sha256 in (None, fetched.sha256)
    return is_current and place.is_file() and place.stat().st_size == fetched.size_bytes


def _name_left_out(left_out: Iterable[str]) -> None:
    names = [name.encode("ascii", "backslashreplace").decode() for name in left_out]
    if names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        LOG.info("Left out, since they lead elsewhere or are not names of files: %s%s", ", ".join(names[:5]), more)


def _remove_others(files: Path, kept: dict[str, Fetched]) -> set[str]:
    """Remove what is not to be kept; return the paths of it."""
    gone = set()
    for path in sorted(files.rglob("*"), reverse=True):
        name = path.relative_to(files).as_posix()
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif name not in kept:
            path.unlink()
            gone.add(name)
    return gone


def _check_space(new: list[RemoteFile], folder: Path) -> None:
    half = sum(part.stat().st_size for part in (folder / "parts").glob("*"))
    needed = sum(file.size_bytes or 0 for file in new) - half + SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise StorageError(
            f"{needed / 1e6:,.0f} MB are needed, {SPARE_BYTES / 1e6:.0f} MB to spare among them, and"
            f" {free / 1e6:,.0f} MB are free below {folder}; make room there"
        )


def _add_sums(place: Source, listing: Listing, folder: Path) -> list[RemoteFile]:
    """Give the listed files, the lists too, the checksums that lists beside or above them publish."""
    sums: dict[str, str] = {}
    for file in (*listing.sums, *listing.guesses):
        if (file.size_bytes or 0) > SUMS_BYTES:
            raise StorageError(f"{file.address} is too long for a list of checksums; fetch the archive by other means")
        above = file.path.rpartition("/")[0]
        aside = folder / "parts" / short_hash(f"sums\0{file.path}")
        aside.unlink(missing_ok=True)
        try:
            fetch_file(place, file, aside.with_suffix(".txt"), aside, lambda _: None, threading.Event())
        except (GoneError, RefusedError):
            if file in listing.guesses:
                continue  # a tarball without a sum beside it
            raise
        text = aside.with_suffix(".txt").read_text(encoding="utf-8", errors="surrogateescape")
        named = parse_sums(text, file.path.rpartition("/")[2])
        sums |= {f"{above}/{path}" if above else path: value for path, value in named.items()}
    files = (*listing.files, *listing.sums)
    missing = sorted(sums.keys() - {file.path for file in files}) if listing.sums else []
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        LOG.warning("Named in a list of checksums and not listed: %s%s", ", ".join(map(repr, missing[:5])), more)
    return [replace(file, sha256=sums.get(file.path)) for file in files]


def _fetch_all(place: Source, new: list[RemoteFile], folder: Path, record: Record, connections: int) -> None:
    """Fetch files side by side; the first error ends it, after what is under way has been kept."""
    total, stop = sum(file.size_bytes or 0 for file in new), threading.Event()
    LOG.info("Fetching %d files, %.1f MB, over %d connections", len(new), total / 1e6, connections)
    with show_progress("Fetching", total or None) as advance, ThreadPoolExecutor(connections) as pool:
        jobs = [pool.submit(_fetch_one, place, file, folder, advance, stop) for file in new]
        try:
            for job in as_completed(jobs):
                _note(job, record)
        except BaseException:
            stop.set()
            place.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            for job in jobs:
                if job.done() and not job.cancelled() and job.exception() is None:
                    _note(job, record)
            raise


def _note(job: Future[Fetched | None], record: Record) -> None:
    fetched = job.result()
    if fetched is not None:
        record.add(fetched)


def _fetch_one(
    place: Source, file: RemoteFile, folder: Path, advance: Advance, stop: threading.Event
) -> Fetched | None:
    """Fetch a file; return None for what turns out to be none."""
    version = hashlib.sha256(f"{file.path}\0{file.mark}".encode("utf-8", "surrogateescape")).hexdigest()
    part = folder / "parts" / version
    target = folder / "files" / file.path
    try:
        sha256 = fetch_file(place, file, target, part, advance, stop)
    except FolderMarkerError as error:
        LOG.info("Left out: %s", error)
        return None
    return Fetched(file.path, file.mark, target.stat().st_size, sha256)


def _describe_fetched(record: Record) -> dict[str, Any]:
    whole, files = hashlib.sha256(), [record.files[path] for path in sorted(record.files)]
    for file in files:
        whole.update(f"{file.sha256}  {file.path}\n".encode("utf-8", "surrogateescape"))
    return {
        "source": record.source,
        "files_count": len(files),
        "size_bytes": sum(file.size_bytes for file in files),
        "sha256": whole.hexdigest(),
    }
