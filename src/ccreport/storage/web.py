"""Archives on web servers, over HTTP: index pages, files by ranges, and the manners that a server may expect.

`requests` does the protocol: connections are kept and few, and urllib3 waits and tries again a bounded number of times,
as long as `Retry-After` says. Passwords come from ~/.netrc, proxies from the environment, as it reads them.

The HTTP store of obstore 0.12, tried in its place, lists over WebDAV only, needs a Content-Length, does not wait as
long as `Retry-After` says, reads no ~/.netrc, and tells nothing of a response's digests.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter

from ccreport.storage.listing import BrokenPageError, Entry, Page, parse_page
from ccreport.storage.patience import BUSY, Gate, PoliteRetry
from ccreport.storage.places import StorageError, is_loopback, is_packed, name_packed
from ccreport.storage.responses import check_status, iterate_body, name_reason, name_version, read_range
from ccreport.storage.sources import (
    DEPTH_LIMIT,
    FILES_LIMIT,
    InterruptedTransferError,
    Listing,
    Opened,
    RefusedError,
    RemoteFile,
    UnreachableError,
)
from ccreport.storage.sums import SUMS_NAMES, is_sums, parse_digest

LOG: Final = logging.getLogger("ccreport.storage")
TIMEOUT_S: Final = (10, 60)  # to connect, and between two blocks
PAGE_BYTES: Final = 64 * 2**20
LONGEST_WAIT_S: Final = 600.0
# More files than this are not asked about one by one.
HEADS_LIMIT: Final = 1000


class _Session(requests.Session):
    """A session that leaves its host for a single file only, which services that keep such send elsewhere for."""

    def __init__(self, *, is_file: bool) -> None:
        super().__init__()
        self.is_file = is_file

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target is not None:
            here, there = urlsplit(resp.url), urlsplit(urljoin(resp.url, target))
            is_safe = there.scheme == "https" or (is_loopback(here.hostname) and is_loopback(there.hostname))
            if not is_safe or (there.hostname != here.hostname and not self.is_file):
                raise StorageError(f"{resp.url} leads to another host, {there.hostname}; name that one if you trust it")
        return target


class WebSource:
    """A folder or a packed archive on a web server."""

    def __init__(
        self, archive: str, connections: int = 4, attempts: int = 5, longest_wait_s: float = LONGEST_WAIT_S
    ) -> None:
        self.is_file = is_packed(archive)
        address = archive if self.is_file or archive.endswith("/") else f"{archive}/"
        # Spelt as responses name it.
        self.archive = str(requests.Request("GET", address).prepare().url)
        self.connections, self.attempts, self.gate = connections, attempts, Gate()
        self.session = _Session(is_file=self.is_file)
        self.session.headers.update({"Accept-Encoding": "identity", "User-Agent": "ccreport"})
        patience = PoliteRetry(
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
            gate=self.gate,
            longest_wait_s=longest_wait_s,
        )
        for scheme in ("http://", "https://"):
            adapter = HTTPAdapter(pool_connections=1, pool_maxsize=connections, max_retries=patience, pool_block=True)
            self.session.mount(scheme, adapter)

    def stop(self) -> None:
        """End the waiting of all requests."""
        self.gate.stop()

    @contextmanager
    def _ask(self, method: str, address: str, headers: dict[str, str] | None = None) -> Iterator[requests.Response]:
        self.gate.pause()
        try:
            response = self.session.request(
                method, address, headers=headers, stream=True, timeout=TIMEOUT_S, allow_redirects=True
            )
        except (requests.ConnectionError, requests.Timeout) as error:
            host = urlsplit(address).netloc
            raise UnreachableError(
                f"{host} cannot be reached ({name_reason(error)}); check the network and the address"
            ) from error
        except requests.RequestException as error:
            raise StorageError(f"{address}: {name_reason(error)}") from error
        with response:
            check_status(response, address)
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
            files, sums = self._mark(files, pool), self._mark(sums, pool)
        return Listing(tuple(sorted(files, key=lambda file: file.path)), tuple(sums), tuple(left_out))

    def _mark(self, files: list[RemoteFile], pool: ThreadPoolExecutor) -> list[RemoteFile]:
        """Ask for size and version of the files of which the index tells neither, as by them a change is seen."""
        unmarked = [file for file in files if not file.mark]
        if len(unmarked) > HEADS_LIMIT:
            LOG.warning(
                "%s: the index tells neither size nor time of %d files, so their changes are not seen; remove what was"
                " fetched to have them again",
                self.archive,
                len(unmarked),
            )
            return files
        described = zip(unmarked, pool.map(lambda file: self._describe(file.address), unmarked), strict=True)
        marked = {file.path: replace(file, size_bytes=size, mark=mark) for file, (size, mark) in described}
        return [marked.get(file.path, file) for file in files]

    def _list_page(self, address: str) -> Page:
        """Read an index page; one that breaks off is asked for again, a bounded number of times."""
        failures = 0
        while True:
            try:
                return self._read_page(address)
            except (InterruptedTransferError, BrokenPageError) as error:
                failures += 1
                if failures > self.attempts:
                    raise StorageError(
                        f"{address}: the index broke off {failures} times ({error}); run again later"
                    ) from error
                LOG.info("%s: the index broke off (%s); once more", address, error)
                self.gate.pause(0.25 * 2**failures)

    def _read_page(self, address: str) -> Page:
        with self._ask("GET", address) as response:
            if not response.url.startswith(self.archive):
                raise StorageError(
                    f"{address} leads to {response.url}, out of the archive; name that place if it is meant"
                )
            content = b"".join(iterate_body(response, PAGE_BYTES + 1, decode=True))
            if len(content) > PAGE_BYTES:
                raise StorageError(f"{address} is an index of more than {PAGE_BYTES} bytes; fetch it by other means")
            return parse_page(content, response.headers.get("Content-Type", ""), response.url.split("?")[0])

    def _list_one(self) -> Listing:
        name = name_packed(self.archive)
        file = RemoteFile(name, self.archive, *self._describe(self.archive))
        folder = self.archive.rpartition("/")[0]
        beside = {f"{name}.sha256": f"{self.archive}.sha256"} | {sums: f"{folder}/{sums}" for sums in SUMS_NAMES}
        return Listing((file,), guesses=tuple(RemoteFile(sums, place, None, "") for sums, place in beside.items()))

    def _describe(self, address: str) -> tuple[int | None, str]:
        """Return a file's size and its version, as the server tells them without sending it."""
        try:
            with self._ask("HEAD", address) as response:
                headers = response.headers
        except RefusedError:  # of this method, maybe
            with self._ask("GET", address) as response:
                headers = response.headers
        length = headers.get("Content-Length", "")
        mark = " ".join(headers.get(name, "") for name in ("Last-Modified", "ETag", "Content-Length")).strip()
        return int(length) if length.isdigit() else None, mark

    @contextmanager
    def open_file(self, file: RemoteFile, offset: int, version: str | None) -> Iterator[Opened]:
        """Ask for a file from an offset on; the answer begins at 0 where its version is another, or ranges unknown."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        if offset and version:
            headers["If-Range"] = version
        with self._ask("GET", file.address, headers) as response:
            start, total = read_range(response, offset)
            digest = parse_digest(response.headers)
            yield Opened(iterate_body(response), start, total, name_version(response), digest)

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
