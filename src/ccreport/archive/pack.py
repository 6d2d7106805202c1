"""One file of a folder, the same bytes each time: a tarball, its members sorted and without owners."""

import tarfile
from pathlib import Path
from typing import Final

import zstandard

from ccreport.core.atomic_files import replace_file

# Multi-threaded compression divides its input by the number of threads, and so gives other bytes on another machine.
LEVEL: Final = 10
MODE: Final = 0o644


def list_files(folder: Path) -> list[Path]:
    """Return the files below a folder, relative to it, sorted by their paths as text."""
    return sorted(
        (path.relative_to(folder) for path in folder.rglob("*") if path.is_file()), key=lambda p: p.as_posix()
    )


def pack_folder(folder: Path, path: Path, moment_s: int | None, root: str = "", level: int = LEVEL) -> None:
    """Write the regular files below a folder as `.tar.zst`, by their paths relative to it, below `root` if given.

    `moment_s` is the time of all members, in seconds since 1970; without it each has its file's, to the second. Links
    and devices are left out.
    """
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True)
    with (
        replace_file(path) as aside,
        aside.open("wb") as file,
        compressor.stream_writer(file) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as members,
    ):
        for name in list_files(folder):
            if (folder / name).is_symlink():
                continue
            member = tarfile.TarInfo(f"{root}/{name.as_posix()}" if root else name.as_posix())
            status = (folder / name).stat()
            member.size, member.mode = status.st_size, MODE
            member.mtime = status.st_mtime_ns // 10**9 if moment_s is None else moment_s
            with (folder / name).open("rb") as content:
                members.addfile(member, content)
