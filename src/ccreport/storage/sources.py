"""What a place elsewhere offers: its files as a listing tells them, and the bytes of one from an offset on."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ccreport.storage.places import StorageError

FILES_LIMIT = 1_000_000
DEPTH_LIMIT = 32


class InterruptedTransferError(Exception):
    """A transfer ended before its time; what has arrived is whole as far as it goes."""


class CannotResumeError(InterruptedTransferError):
    """A server does not go on where the transfer before ended; from the beginning it may."""


class GoneError(StorageError):
    """A file that was listed is not there, or is another by now."""


class FolderMarkerError(GoneError):
    """What was listed is not a file but marks a folder, as S3's consoles make them."""


class RefusedError(StorageError):
    """A server knows what it was asked for and does not give it, or says so where there is nothing."""


@dataclass(frozen=True)
class RemoteFile:
    """One file elsewhere; `mark` is what the listing says of its version, by which a change is seen."""

    path: str
    address: str
    size_bytes: int | None
    mark: str
    etag: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Listing:
    """The files of an archive elsewhere, sorted by path, the lists of their checksums, and what was left out.

    `guesses` are lists of checksums that may be there, where no listing tells.
    """

    files: tuple[RemoteFile, ...]
    sums: tuple[RemoteFile, ...] = ()
    left_out: tuple[str, ...] = ()
    guesses: tuple[RemoteFile, ...] = ()


@dataclass
class Opened:
    """The answer to a request for a file: where its bytes begin, how many the whole file has, which version it is."""

    blocks: Iterator[bytes]
    offset: int = 0
    total_bytes: int | None = None
    version: str | None = None
    digest: tuple[str, str] | None = field(default=None)


class Source(Protocol):
    """A place elsewhere, by one protocol."""

    def list_files(self) -> Listing:
        """List all files; raise StorageError where that cannot be done, UnreachableError where nobody answers."""

    def open_file(self, file: RemoteFile, offset: int, version: str | None) -> AbstractContextManager[Opened]:
        """Ask for a file from an offset on, if it still has this version; the answer may begin at 0 all the same."""

    def is_intact(self, file: RemoteFile, path: Path) -> bool | None:
        """Compare what arrived with what the place itself says of its content; None where it says nothing."""

    def is_listed_as(self, file: RemoteFile, size_bytes: int) -> bool:
        """Ask once more whether a file has this size by now."""

    def stop(self) -> None:
        """End what waits for a busy server, and raise StorageError there."""


class UnreachableError(StorageError):
    """Nobody answers: no network, no such host, or no server there."""
