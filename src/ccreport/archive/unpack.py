"""Archives in one file: tarballs (plain, gzip, zstd, xz, bzip2) and zips, unpacked once and safely.

Only regular files are unpacked, with plain permissions. A member that is a link, a device, or whose name leads out of
the folder or cannot be one is left out and named to the caller. An archive that unpacks to far more than it is is none.
"""

import errno
import io
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final

from ccreport.archive.raw_file import RawFileError, iterate_blocks
from ccreport.core.atomic_files import replace_folder, replace_text
from ccreport.core.errors import NO_ROOM, InputError
from ccreport.storage.sums import hash_file

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


# ASSUME: no archive nests folders deeper, or unpacks to more than so many times its size and to so much.
DEPTH_LIMIT: Final = 100
RATIO_LIMIT: Final = 1000
RATIO_FREE_BYTES: Final = 2**30
# zipfile raises RuntimeError for an encrypted member and NotImplementedError for a method that it does not know.
# What the standard library raises of damaged headers besides its own errors, as far as fuzzing found.
UNFORESEEN: Final = (EOFError, RuntimeError, ValueError, OverflowError, IndexError, struct.error)
DAMAGE: Final = (tarfile.TarError, zipfile.BadZipFile, zlib.error, RawFileError, *UNFORESEEN)
# What one member's name can be the fault of, and not the disk: it is too long, or a file is where a folder must be.
FAULTS_OF_NAMES: Final = frozenset({errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EILSEQ})

# gzip, bzip2, xz, Zstandard and zip.
PACKED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")


class ArchiveError(InputError):
    """The archive as a whole cannot be used."""


def looks_packed(path: Path) -> bool:
    """Tell whether a file begins as one of the archives that can be unpacked, whole or damaged."""
    with path.open("rb") as file:
        head = file.read(max(map(len, PACKED)))
    return head.startswith(PACKED) or zipfile.is_zipfile(path) or tarfile.is_tarfile(path)


def unpack_archive(archive: Path, folder: Path) -> list[str]:
    """Unpack an archive file into a folder, unless that was done from the same bytes; return the members left out.

    Raise ArchiveError where the file is not a tarball or zip, or is damaged; then nothing is left behind.
    """
    record = find_record(folder)
    sha256 = hash_file(archive)
    if record.exists() and folder.is_dir():
        facts = read_record(folder)
        if facts["sha256"] == sha256:
            return list(facts["left_out"])
    # Before the folder that it is about.
    record.unlink(missing_ok=True)
    with replace_folder(folder) as aside:
        left_out = _unpack(archive, aside)
    replace_text(record, json.dumps({"sha256": sha256, "left_out": left_out}, indent=1) + "\n")
    return left_out


def _unpack(archive: Path, folder: Path) -> list[str]:
    try:
        return _unpack_zip(archive, folder) if zipfile.is_zipfile(archive) else _unpack_tar(archive, folder)
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        message = f"{archive.name} is not a readable tarball or zip ({error}); if it is damaged, fetch it again"
        raise ArchiveError(message) from error


def find_record(folder: Path) -> Path:
    """Return where it is written down of which archive a folder was unpacked."""
    return folder.with_name(f".{folder.name}.unpacked.json")


def read_record(folder: Path) -> dict[str, Any]:
    """Return `sha256` of the archive that a folder was unpacked from, and `left_out`, the members that were not."""
    facts: dict[str, Any] = json.loads(find_record(folder).read_text(encoding="utf-8"))
    return facts


def _safe_target(folder: Path, name: str) -> Path | None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not 0 < len(path.parts) <= DEPTH_LIMIT or "\0" in name:
        return None
    return folder.joinpath(*path.parts)


class _Folder:
    """The folder that an archive is unpacked into, and how much it may hold."""

    def __init__(self, path: Path, archive: Path) -> None:
        self.left_out: list[str] = []
        self._path = path
        self._archive_bytes = archive.stat().st_size
        self._bytes = 0

    def put(self, name: str, source: IO[bytes] | None, *, is_folder: bool = False) -> None:
        """Unpack one member, or leave it out; raise ArchiveError where that becomes too much."""
        target = _safe_target(self._path, name)
        try:
            if is_folder and target is not None:
                target.mkdir(parents=True, exist_ok=True)
            elif source is None or target is None or target.exists():
                self.left_out.append(name)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                self._write(source, target)
        except (OSError, UnicodeError) as error:
            if isinstance(error, OSError) and error.errno not in FAULTS_OF_NAMES:
                raise
            self.left_out.append(name)

    def _write(self, source: IO[bytes], target: Path) -> None:
        with target.open("xb") as copy:
            while block := source.read(2**20):
                self._bytes += len(block)
                if self._bytes > RATIO_FREE_BYTES and self._bytes > RATIO_LIMIT * self._archive_bytes:
                    message = f"{self._archive_bytes} bytes unpack to more than {self._bytes}: no measurements do"
                    raise ArchiveError(f"{message}; unpack it yourself if you trust it, and name the folder")
                copy.write(block)


def _unpack_tar(archive: Path, folder: Path) -> list[str]:
    unpacked = _Folder(folder, archive)
    for member, source in _iterate_tar(archive):
        unpacked.put(member.name, source, is_folder=member.isdir())
    return unpacked.left_out


class _BlockReader(io.RawIOBase):
    """The decompressed bytes of a file as a stream, so that damage is an error and not an early end."""

    def __init__(self, path: Path) -> None:
        self._blocks = iterate_blocks(path)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        self._rest = self._rest or next(self._blocks, b"")
        view = memoryview(buffer)
        length = min(len(view), len(self._rest))
        view[:length], self._rest = self._rest[:length], self._rest[length:]
        return length


def _iterate_tar(archive: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    stream = io.BufferedReader(_BlockReader(archive), 2**20)
    with stream, tarfile.open(fileobj=stream, mode="r|") as members:
        for member in members:
            yield member, members.extractfile(member) if member.isreg() else None
        while stream.read(2**20):  # what follows the last member still tells whether the file is whole
            pass


def _unpack_zip(archive: Path, folder: Path) -> list[str]:
    unpacked = _Folder(folder, archive)
    with zipfile.ZipFile(archive) as members:
        for member in members.infolist():
            is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
            # `is_dir` of a member without a name raises IndexError.
            is_folder = member.filename.endswith("/")
            if is_link or is_folder:
                unpacked.put(member.filename, None, is_folder=is_folder)
                continue
            with members.open(member) as source:
                unpacked.put(member.filename, source)
    return unpacked.left_out
