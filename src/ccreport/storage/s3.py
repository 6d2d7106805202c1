"""Archives and results in S3 and stores that speak its protocol, through obstore (Apache's object_store).

Credentials, region and endpoint come from the environment, as that library reads them: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL, AWS_SKIP_SIGNATURE for public buckets; or from
the machine's or container's role. None are ever written down. The library waits for a busy store by itself, a bounded
number of times, and not as long as `Retry-After` says.
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError, UnauthenticatedError
from obstore.store import S3Store

from ccreport.storage.listing import check_name
from ccreport.storage.places import StorageError, is_loopback, is_packed, name_packed
from ccreport.storage.sources import (
    DEPTH_LIMIT,
    FILES_LIMIT,
    FolderMarkerError,
    GoneError,
    InterruptedTransferError,
    Listing,
    Opened,
    RefusedError,
    RemoteFile,
    UnreachableError,
)
from ccreport.storage.sums import SUMS_NAMES, is_sums, matches_etag

if TYPE_CHECKING:
    from obstore import GetResult, ObjectMeta

LOG: Final = logging.getLogger("ccreport.storage")
BLOCK_BYTES: Final = 2**20
# The library itself tries a page of a listing again, but not one that breaks off.
LISTING_RETRIES: Final = 2
# What the library says of connections, in words that it has kept over versions.
NO_ANSWER: Final = ("error sending request", "connect", "dns error", "timed out")
# What a web server says that only gives files: of a method that it does not have, or has not for this address.
NO_UPLOADS: Final = (405, 501)
NO_CREDENTIALS: Final = ("169.254.169.254", "instance metadata", "credential", "error performing put http://169")


def open_bucket(address: str, attempts: int = 5) -> S3Store:
    """Return the bucket of an address such as s3://bucket/prefix; nothing is asked of it yet."""
    endpoint = urlsplit(os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or "")
    if endpoint.scheme == "http" and not is_loopback(endpoint.hostname):
        raise StorageError(f"AWS_ENDPOINT_URL: http to {endpoint.hostname} is unprotected; use https")
    return S3Store(
        urlsplit(address).netloc,
        client_options={
            "allow_http": endpoint.scheme == "http",
            "connect_timeout": timedelta(seconds=10),
            # Of one request, with its body.
            "timeout": timedelta(minutes=10),
        },
        retry_config={
            "max_retries": attempts,
            "retry_timeout": timedelta(minutes=10),
            "backoff": {"init_backoff": timedelta(seconds=0.5), "max_backoff": timedelta(seconds=60), "base": 2},
        },
    )


@contextmanager
def in_words(address: str) -> Iterator[None]:
    """Turn the library's errors into what a user can mend."""
    try:
        yield
    except (FileNotFoundError, PreconditionError) as error:
        raise GoneError(
            f"{address} is not there, or changed while it was read; check the address, then run again"
        ) from error
    except (BaseError, OSError, ValueError) as error:
        text = _shorten(error)
        # A page that a web server sends with its status is not for one line.
        if is_web := address.startswith("http"):
            text = text.partition(" <")[0].removesuffix(":")
            status = next((status for status in NO_UPLOADS if f"status code: {status}" in text), None)
            if status:
                raise RefusedError(
                    f"{address}: the server takes no uploads ({status}); name a WebDAV folder"
                ) from error
        is_refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
        if is_refused or any(f"status code: {status}" in text for status in (401, 403)):
            named = "server refuses this; ask who runs it for" if is_web else "store refuses these credentials; check"
            rights = "the right to write there" if is_web else "AWS_ACCESS_KEY_ID and its rights"
            raise RefusedError(f"{address}: the {named} {rights}") from error
        if any(sign in text.lower() for sign in NO_CREDENTIALS):
            raise RefusedError(
                f"{address}: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
                " AWS_SKIP_SIGNATURE=true for a public bucket"
            ) from error
        if any(sign in text.lower() for sign in NO_ANSWER):
            kind, where = ("server", "the address") if is_web else ("store", "AWS_ENDPOINT_URL")
            raise UnreachableError(f"{address}: no {kind} answers; check the network and {where}") from error
        raise StorageError(f"{address}: {text[:300]}") from error


def _shorten(error: BaseException) -> str:
    """Return an error's message without what the library adds: its settings (`retry_timeout`) and all that it knows."""
    return " ".join(str(error).partition("Debug source:")[0].split())


class S3Source:
    """A prefix of a bucket, or an object that is a packed archive."""

    def __init__(self, archive: str, attempts: int = 5) -> None:
        self.archive = archive
        self.key = urlsplit(archive).path.strip("/")
        self.is_file = is_packed(archive)
        self.store = open_bucket(archive, attempts)
        self.bucket = f"s3://{urlsplit(archive).netloc}/"
        self.attempts = attempts
        # Encrypted with keys of the store's own or the user's, an object has an ETag that is no MD5 of it.
        self.has_md5 = os.environ.get("AWS_SERVER_SIDE_ENCRYPTION", "AES256") == "AES256"

    def list_files(self) -> Listing:
        """List the one object, or all below the prefix; a listing that breaks off is asked for again."""
        if self.is_file:
            return self._list_one()
        failures = 0
        while True:
            try:
                with in_words(self.archive):
                    return self._list_all()
            except (RefusedError, UnreachableError, GoneError):
                raise
            except StorageError as error:
                failures += 1
                if failures > min(LISTING_RETRIES, self.attempts) or not isinstance(error.__cause__, BaseError):
                    raise
                LOG.info("%s; once more", error)
                time.sleep(0.25 * 2**failures)

    def _list_one(self) -> Listing:
        with in_words(self.archive):
            file = self._file(name_packed(self.archive), obstore.head(self.store, self.key))
        folder = file.address.rpartition("/")[0]
        beside = {f"{file.path}.sha256": f"{file.address}.sha256"} | {name: f"{folder}/{name}" for name in SUMS_NAMES}
        return Listing((file,), guesses=tuple(RemoteFile(name, place, None, "") for name, place in beside.items()))

    def _list_all(self) -> Listing:
        found: dict[str, RemoteFile] = {}
        left_out = []
        prefix = f"{self.key}/" if self.key else ""
        for objects in obstore.list(self.store, prefix=self.key or None, chunk_size=1000):
            for meta in objects:
                path = meta["path"].removeprefix(prefix)
                if meta["path"] == self.key:
                    continue  # the mark of this folder
                if _is_safe(path):
                    found[path] = self._file(path, meta)
                else:
                    left_out.append(path)
            if len(found) > FILES_LIMIT:
                raise StorageError(f"{self.archive} lists more than {FILES_LIMIT} files; fetch it by other means")
        return _arrange(found, left_out)

    def _file(self, path: str, meta: "ObjectMeta") -> RemoteFile:
        mark = f"{meta['size']} {meta['e_tag'] or ''} {meta['last_modified']:%Y-%m-%dT%H:%M:%S}"
        return RemoteFile(path, f"{self.bucket}{meta['path']}", meta["size"], mark, meta["e_tag"])

    def _key(self, file: RemoteFile) -> str:
        return file.address.removeprefix(self.bucket)

    @contextmanager
    def open_file(self, file: RemoteFile, offset: int, version: str | None) -> Iterator[Opened]:
        """Ask for an object from an offset on, if it is still the one that was listed."""
        del version
        options: dict[str, object] = {"if_match": file.etag} if file.etag else {}
        if offset:
            options["range"] = {"offset": offset}
        try:
            with in_words(file.address):
                result = obstore.get(self.store, self._key(file), options=options)  # type: ignore[arg-type]
        except GoneError as error:
            if file.size_bytes == 0:
                # Listed as `name/`, whose slash the library does not tell.
                raise FolderMarkerError(f"{file.address} marks a folder, or is gone") from error
            raise
        yield Opened(_iterate(result), result.range[0], result.meta["size"], result.meta["e_tag"])

    def is_intact(self, file: RemoteFile, path: Path) -> bool | None:
        """Compare a file with the ETag of its object."""
        return matches_etag(path, file.etag) if self.has_md5 else None

    def is_listed_as(self, file: RemoteFile, size_bytes: int) -> bool:
        """Ask for the object's size once more."""
        with in_words(file.address):
            return obstore.head(self.store, self._key(file))["size"] == size_bytes

    def stop(self) -> None:
        """Do nothing: the library waits by itself, and not long."""


def _is_safe(path: str) -> bool:
    parts = path.split("/")
    return len(parts) <= DEPTH_LIMIT and all(check_name(part.encode()) is not None for part in parts)


def _arrange(found: Mapping[str, RemoteFile], left_out: Sequence[str]) -> Listing:
    """Sort objects; one that is also a folder of others cannot be a file here."""
    folders = {path[:end] for path in found for end, character in enumerate(path) if character == "/"}
    files: list[RemoteFile] = []
    sums: list[RemoteFile] = []
    for path in sorted(found):
        folder, _, name = path.rpartition("/")
        beside = [name[: name.rfind(".")]] if f"{folder}/{name[: name.rfind('.')]}".lstrip("/") in found else []
        if path not in folders:
            (sums if is_sums(name, beside) else files).append(found[path])
    both = sorted(folders & found.keys())
    return Listing(tuple(files), tuple(sums), (*left_out, *both))


def _iterate(result: "GetResult") -> Iterator[bytes]:
    try:
        for block in result.stream(min_chunk_size=BLOCK_BYTES):
            yield bytes(block)
    except (BaseError, OSError) as error:
        raise InterruptedTransferError(_shorten(error)[:200]) from error
