"""What a web server's answer says: whether it is the file that was asked for, from where on, and in which version."""

from collections.abc import Iterator
from typing import Any, Final, cast

import requests
from urllib3.exceptions import HTTPError

from ccreport.storage.patience import BUSY
from ccreport.storage.places import StorageError
from ccreport.storage.sources import CannotResumeError, GoneError, InterruptedTransferError, RefusedError

BLOCK_BYTES: Final = 2**18


def name_reason(error: BaseException) -> str:
    """Return the reason that a chain of errors begins with, such as `Connection refused`."""
    reason: Any = error
    while True:
        inner = next((cause for cause in (getattr(reason, "reason", None), *reason.args) if _is_error(cause)), None)
        if inner is None:
            text = str(reason.args[-1]) if isinstance(reason, OSError) and reason.args else str(reason)
            return text.split(": ")[-1].strip()
        reason = inner


def _is_error(value: object) -> bool:
    return isinstance(value, BaseException)


def check_status(response: requests.Response, address: str) -> None:
    """Raise GoneError, RefusedError or StorageError where an answer is not what was asked for."""
    status = response.status_code
    if status in (200, 206, 416):
        return
    if status in (404, 410):
        raise GoneError(
            f"{address} is not there ({status}); check the address, or run again if its archive is changing"
        )
    if status in (401, 403):
        raise RefusedError(
            f"{address} is not for everybody ({status}); put name and password for its host into ~/.netrc"
        )
    if status in BUSY:
        raise StorageError(
            f"{address}: the server stayed busy ({status}); run again later, what has been fetched is kept"
        )
    kind = RefusedError if 400 <= status < 500 else StorageError
    raise kind(f"{address}: the server answers {status} {response.reason}")


def read_range(response: requests.Response, offset: int) -> tuple[int, int | None]:
    """Return where the body begins and how long the whole file is."""
    if response.status_code == 416:
        raise CannotResumeError("it is shorter than what has been fetched of it")
    if response.status_code == 200:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdigit() else None
    unit, _, spans = response.headers.get("Content-Range", "").partition(" ")
    span, _, total = spans.partition("/")
    if unit != "bytes" or span.split("-")[0] != str(offset):
        raise CannotResumeError("the server sends another part than it was asked for")
    return offset, int(total) if total.isdigit() else None


def name_version(response: requests.Response) -> str | None:
    """Return what tells this version of a file from another, byte by byte; None where nothing does."""
    etag = response.headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified")


def iterate_body(response: requests.Response, limit: int | None = None, *, decode: bool = False) -> Iterator[bytes]:
    """Give the body block by block, no more than `limit` bytes and a block of it.

    Not decoded the bytes are as they are on the disk there: a .gz stays one, whatever the server calls it.
    """
    count_bytes = 0
    try:
        for block in cast(Iterator[bytes], response.raw.stream(BLOCK_BYTES, decode_content=decode)):
            yield block
            count_bytes += len(block)
            if limit is not None and count_bytes >= limit:
                return
    except (HTTPError, OSError) as error:
        raise InterruptedTransferError(name_reason(error)) from error
