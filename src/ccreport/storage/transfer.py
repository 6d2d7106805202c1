"""One file fetched: written aside, gone on with where it broke off, checked, and only then put into its place."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ccreport.storage.places import StorageError
from ccreport.storage.sources import CannotResumeError, InterruptedTransferError, Opened, RemoteFile, Source
from ccreport.storage.sums import hash_file

LOG: Final = logging.getLogger("ccreport.storage")
ATTEMPTS: Final = 5
# After so many new bytes an interruption counts as the first one again: long transfers may break often.
PROGRESS_BYTES: Final = 16 * 2**20
FIRST_WAIT_S: Final = 0.25
LONGEST_WAIT_S: Final = 60.0

Advance = Callable[[int], None]


class _WrongBytesError(StorageError):
    """What arrived is not what was published."""


def fetch_file(
    source: Source, file: RemoteFile, target: Path, part: Path, advance: Advance, stop: threading.Event
) -> str:
    """Fetch a file into its place by way of `part`, and return its SHA-256.

    Bytes that are already in `part` are kept where the server can go on behind them. What does not have the size or the
    checksum that it should is fetched once more, whole. Raise StorageError where that does not help either.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    for is_last in (False, True):
        try:
            opened = _fetch_bytes(source, file, part, advance, stop)
            sha256 = _check(source, file, part, opened)
            break
        except _WrongBytesError as error:
            _drop(part, advance)
            if is_last:
                raise
            LOG.info("%s; once more from the beginning", error)
    target.parent.mkdir(parents=True, exist_ok=True)
    part.replace(target)
    _version_of(part).unlink(missing_ok=True)
    return sha256


def _version_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def _drop(part: Path, advance: Advance) -> None:
    if part.exists():
        advance(-part.stat().st_size)
    part.unlink(missing_ok=True)
    _version_of(part).unlink(missing_ok=True)


def _fetch_bytes(source: Source, file: RemoteFile, part: Path, advance: Advance, stop: threading.Event) -> Opened:
    """Fetch until all is there; after an interruption wait, longer each time, and go on where it broke off."""
    failures = 0
    if part.exists():
        advance(part.stat().st_size)
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            opened = _continue(source, file, part, advance, stop)
            _check_whole(source, file, part, opened)
            return opened
        except InterruptedTransferError as error:
            arrived = part.stat().st_size if part.exists() else 0
            if isinstance(error, CannotResumeError):
                _drop(part, advance)
            failures = 1 if arrived - before >= PROGRESS_BYTES else failures + 1
            if failures >= ATTEMPTS:
                raise StorageError(
                    f"{file.address}: broke off {failures} times ({error}); run again, {arrived} bytes are kept"
                ) from error
            LOG.info("%s: broke off after %d bytes (%s); going on", file.path, arrived, error)
            stop.wait(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**failures))


def _continue(source: Source, file: RemoteFile, part: Path, advance: Advance, stop: threading.Event) -> Opened:
    record = _version_of(part)
    version = record.read_text(encoding="utf-8") if part.exists() and record.exists() else None
    # Where nothing tells one version from another, what is here may be of another.
    offset = part.stat().st_size if part.exists() and (version or file.mark) else 0
    if offset and offset == file.size_bytes:
        return Opened(iter(()), offset, offset, version)
    with source.open_file(file, offset, version) as opened:
        with part.open("r+b" if part.exists() else "wb") as stream:
            advance(opened.offset - part.stat().st_size)
            stream.truncate(opened.offset)
            stream.seek(opened.offset)
            # Not before: bytes of another version must not be taken for this one's.
            if opened.version:
                record.write_text(opened.version, encoding="utf-8")
            for block in opened.blocks:
                if stop.is_set():
                    raise StorageError("stopped; run again to go on, what has been fetched is kept")
                stream.write(block)
                advance(len(block))
        return opened


def _check_whole(source: Source, file: RemoteFile, part: Path, opened: Opened) -> None:
    """Raise InterruptedTransferError where bytes are missing, and _WrongBytesError where there are too many."""
    size = part.stat().st_size
    expected = file.size_bytes if file.size_bytes is not None else opened.total_bytes
    if expected is None or size == expected or source.is_listed_as(file, size):
        return
    if size < expected:
        raise InterruptedTransferError(f"it has {size} bytes and is listed with {expected}")
    raise _WrongBytesError(
        f"{file.address} has {size} bytes and is listed with {expected}; the transfer is broken or the file is being"
        " written; run again later, or tell its keeper"
    )


def _check(source: Source, file: RemoteFile, part: Path, opened: Opened) -> str:
    """Return the SHA-256 of what arrived; raise _WrongBytesError where a checksum is not the published one."""
    sha256 = hash_file(part)
    if file.sha256 is not None and sha256 != file.sha256:
        raise _WrongBytesError(
            f"{file.address} has the SHA-256 {sha256[:16]}… and {file.sha256[:16]}… is published; the file or the list"
            " of checksums is damaged: run again, or tell its keeper"
        )
    if opened.digest is not None and hash_file(part, opened.digest[0]) != opened.digest[1]:
        raise _WrongBytesError(
            f"{file.address} is not what the {opened.digest[0]} digest in its response says; run again, or tell its"
            " keeper"
        )
    if file.sha256 is None and source.is_intact(file, part) is False:
        raise _WrongBytesError(
            f"{file.address} is not what its ETag says; run again, or tell its keeper. If the store encrypts with keys"
            " of its own, so that its ETags are not checksums, set AWS_SERVER_SIDE_ENCRYPTION=aws:kms"
        )
    return sha256


def now_utc() -> str:
    """Return the time, for words to people only."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
