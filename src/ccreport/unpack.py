"""Archives in one file: tarballs (plain, gzip, zstd, xz, bzip2) and zips, unpacked once and safely.

Only regular files are unpacked, with plain permissions. A member that is a link, a device, or whose name leads out of
the folder is left out and named to the caller.
"""

import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from ccreport.errors import InputError
from ccreport.raw import RawFileError, iterate_blocks

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class ArchiveError(InputError):
    """The archive as a whole cannot be used."""


def unpack_archive(archive: Path, folder: Path) -> list[str]:
    """Unpack an archive file into a folder, unless that was done from the same bytes; return the members left out.

    Raise ArchiveError where the file is no tarball or zip, or is damaged; then nothing is left behind.
    """
    record = folder.with_name(folder.name + ".json")
    sha256 = _hash_file(archive)
    if record.exists() and folder.is_dir():
        facts = json.loads(record.read_text(encoding="utf-8"))
        if facts["sha256"] == sha256:
            return list(facts["left_out"])
    partial = folder.with_name(folder.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        left_out = _unpack_zip(archive, partial) if zipfile.is_zipfile(archive) else _unpack_tar(archive, partial)
    except (tarfile.TarError, zipfile.BadZipFile, RawFileError, EOFError, OSError) as error:
        shutil.rmtree(partial)
        raise ArchiveError(f"{archive.name} is no readable tarball or zip ({error}); fetch it again") from error
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    record.write_text(json.dumps({"sha256": sha256, "left_out": left_out}, indent=1) + "\n", encoding="utf-8")
    return left_out


def _hash_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _safe_target(folder: Path, name: str) -> Path | None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        return None
    return folder.joinpath(*path.parts)


def _write_member(source: IO[bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as copy:
        shutil.copyfileobj(source, copy, 2**20)


def _unpack_tar(archive: Path, folder: Path) -> list[str]:
    left_out = []
    for member, source in _iterate_tar(archive):
        target = _safe_target(folder, member.name)
        if member.isdir() and target is not None:
            target.mkdir(parents=True, exist_ok=True)
        elif source is None or target is None or target.exists():
            left_out.append(member.name)
        else:
            _write_member(source, target)
    return left_out


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
    left_out = []
    with zipfile.ZipFile(archive) as members:
        for member in members.infolist():
            target = _safe_target(folder, member.filename)
            is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
            if member.is_dir() and target is not None:
                target.mkdir(parents=True, exist_ok=True)
            elif target is None or is_link or target.exists():
                left_out.append(member.filename)
            else:
                with members.open(member) as source:
                    _write_member(source, target)
    return left_out
