"""Archives on web servers, over HTTP: index pages, files by ranges, and the manners that a server may expect.

`requests` does the protocol: connections are kept and few, and urllib3 waits and tries again a bounded number of times,
as long as `Retry-After` says. Passwords come from ~/.netrc, proxies from the environment, as it reads them.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError
from urllib3.util.retry import Retry

from ccreport.storage.listing import Entry, Page, parse_page
from ccreport.storage.places import StorageError, is_packed, name_packed
from ccreport.storage.sources import (
    DEPTH_LIMIT,
    FILES_LIMIT,
    CannotResumeError,
    GoneError,
    InterruptedTransferError,
    Listing,
    Opened,
    RemoteFile,
    UnreachableError,
)
from ccreport.storage.sums import is_sums, parse_digest

LOG: Final = logging.getLogger("ccreport.storage")
TIMEOUT_S: Final = (10, 60)  # to connect, and between two blocks
PAGE_BYTES: Final = 64 * 2**20
BLOCK_BYTES: Final = 2**18
LONGEST_WAIT_S: Final = 600
BUSY: Final = (429, 500, 502, 503, 504)


class _Patience(Retry):
    """Retries that say how long they wait, and give up where a server asks for more than ten minutes."""

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        seconds = super().get_retry_after(response)
        if seconds is not None and seconds > LONGEST_WAIT_S:
            raise StorageError(
                f"the server asks to come back in {seconds:.0f} s; run again then, what has been fetched is kept"
            )
        if seconds:
            LOG.info("The server is busy (%d) and asks to wait %.0f s", response.status, seconds)
        return seconds


class _Session(requests.Session):
    """A session that leaves its host for no redirect."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target is not None:
            here, there = urlsplit(resp.url), urlsplit(urljoin(resp.url, target))
            if there.hostname != here.hostname or there.scheme not in (here.scheme, "https"):
                raise StorageError(f"{resp.url} leads to another host, {there.hostname}; name that one if you trust it")
        return target


class WebSource:
    """A folder or a packed archive on a web server."""

    def __init__(self, archive: str, connections: int = 4, attempts: int = 5) -> None:
        is_file = is_packed(archive)
        self.archive = archive if is_file or archive.endswith("/") else f"{archive}/"
        self.is_file = is_file
        self.connections = connections
        self.session = _Session()
        self.session.headers.update({"Accept-Encoding": "identity", "User-Agent": "ccreport"})
        patience = _Patience(
            total=2 * attempts,
            connect=min(2, attempts),
            read=attempts,
            status=attempts,
            redirect=5,
            other=0,
            allowed_methods={"GET", "HEAD"},
            status_forcelist=BUSY,
            backoff_factor=0.5,
            backoff_max=60,
            backoff_jitter=0.2,
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            adapter = HTTPAdapter(pool_connections=1, pool_maxsize=connections, max_retries=patience, pool_block=True)
            self.session.mount(scheme, adapter)

    @contextmanager
    def _ask(self, method: str, address: str, headers: dict[str, str] | None = None) -> Iterator[requests.Response]:
        try:
            response = self.session.request(
                method, address, headers=headers, stream=True, timeout=TIMEOUT_S, allow_redirects=True
            )
        except (requests.ConnectionError, requests.Timeout) as error:
            host = urlsplit(address).netloc
            raise UnreachableError(
                f"{host} cannot be reached ({_innermost(error)}); check the network and the address"
            ) from error
        except requests.RequestException as error:
            raise StorageError(f"{address}: {_innermost(error)}") from error
        with response:
            _check_status(response, address)
            yield response

    def list_files(self) -> Listing:
        """List the archive: the one file, or all below the folder, page by page."""
        if self.is_file:
            return self._list_one()
        files: list[RemoteFile] = []
        sums: list[RemoteFile] = []
        left_out: list[str] = []
        level = [("", self.archive)]
        with ThreadPoolExecutor(self.connections) as pool:
            for _ in range(DEPTH_LIMIT):
                pages = list(pool.map(lambda place: self._list_page(place[1]), level))
                folders = []
                for (folder, _), page in zip(level, pages, strict=True):
                    left_out += [folder + name for name in page.left_out]
                    names = {entry.name for entry in page.entries}
                    for entry in page.entries:
                        if entry.is_folder:
                            folders.append((f"{folder}{entry.name}/", entry.address))
                        else:
                            (sums if is_sums(entry.name, names) else files).append(_file(folder, entry))
                    if len(files) + len(folders) > FILES_LIMIT:
                        raise StorageError(
                            f"{self.archive} lists more than {FILES_LIMIT} files; fetch it by other means"
                        )
                level = folders
                if not level:
                    break
            else:
                raise StorageError(f"{self.archive} has folders in folders, {DEPTH_LIMIT} deep; name one further down")
        return Listing(tuple(sorted(files, key=lambda file: file.path)), tuple(sums), tuple(left_out))

    def _list_page(self, address: str) -> Page:
        with self._ask("GET", address) as response:
            if not response.url.startswith(self.archive):
                raise StorageError(
                    f"{address} leads to {response.url}, out of the archive; name that place if it is meant"
                )
            content = response.raw.read(PAGE_BYTES + 1, decode_content=True)
            if len(content) > PAGE_BYTES:
                raise StorageError(f"{address} is an index of more than {PAGE_BYTES} bytes; fetch it by other means")
            return parse_page(content, response.headers.get("Content-Type", ""), response.url.split("?")[0])

    def _list_one(self) -> Listing:
        with self._ask("HEAD", self.archive) as response:
            headers = response.headers
            length = headers.get("Content-Length", "")
            mark = " ".join(headers.get(name, "") for name in ("Last-Modified", "ETag", "Content-Length")).strip()
        name = name_packed(self.archive)
        file = RemoteFile(name, self.archive, int(length) if length.isdigit() else None, mark)
        sums = RemoteFile(f"{name}.sha256", f"{self.archive}.sha256", None, "")
        return Listing((file,), (sums,))

    @contextmanager
    def open_file(self, file: RemoteFile, offset: int, version: str | None) -> Iterator[Opened]:
        """Ask for a file from an offset on; the answer begins at 0 where its version is another, or ranges unknown."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        if offset and version:
            headers["If-Range"] = version
        with self._ask("GET", file.address, headers) as response:
            start, total = _read_range(response, offset)
            digest = parse_digest(response.headers)
            yield Opened(_iterate(response), start, total, _strong_version(response), digest)

    def is_intact(self, file: RemoteFile, path: Path) -> bool | None:
        """Return None: a web server's ETag says nothing of the content."""
        del file, path
        return None

    def is_listed_as(self, file: RemoteFile, size_bytes: int) -> bool:
        """Read the page that lists a file once more."""
        if self.is_file:
            return any(found.size_bytes in (None, size_bytes) for found in self._list_one().files)
        page = self._list_page(file.address.rsplit("/", 1)[0] + "/")
        return any(entry.address == file.address and entry.size_bytes == size_bytes for entry in page.entries)


def _file(folder: str, entry: Entry) -> RemoteFile:
    mark = f"{entry.size_bytes if entry.size_bytes is not None else ''} {entry.mark}".strip()
    return RemoteFile(folder + entry.name, entry.address, entry.size_bytes, mark)


def _innermost(error: BaseException) -> str:
    """Return the reason that a chain of errors begins with, such as `Connection refused`."""
    reason: Any = error
    while True:
        inner = getattr(reason, "reason", None) or (reason.args[0] if reason.args else None)
        if not isinstance(inner, BaseException):
            text = str(reason.args[-1]) if isinstance(reason, OSError) and reason.args else str(reason)
            return text.split(": ")[-1].strip()
        reason = inner


def _check_status(response: requests.Response, address: str) -> None:
    status = response.status_code
    if status in (200, 206, 416):
        return
    if status in (404, 410):
        raise GoneError(
            f"{address} is not there ({status}); check the address, or run again if its archive is changing"
        )
    if status in (401, 403):
        raise StorageError(
            f"{address} is not for everybody ({status}); put name and password for its host into ~/.netrc"
        )
    if status in BUSY:
        raise StorageError(
            f"{address}: the server stayed busy ({status}); run again later, what has been fetched is kept"
        )
    raise StorageError(f"{address}: the server answers {status} {response.reason}")


def _read_range(response: requests.Response, offset: int) -> tuple[int, int | None]:
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


def _strong_version(response: requests.Response) -> str | None:
    etag = response.headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified")


def _iterate(response: requests.Response) -> Iterator[bytes]:
    try:
        # As the bytes are on the disk there: a .gz stays one, whatever the server calls it.
        yield from cast(Iterator[bytes], response.raw.stream(BLOCK_BYTES, decode_content=False))
    except (HTTPError, OSError) as error:
        raise InterruptedTransferError(_innermost(error)) from error
