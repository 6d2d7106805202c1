"""One file of a folder, the same bytes each time: a tarball, its members sorted, without owners, all of one time."""

import tarfile
from pathlib import Path
from typing import Final

import zstandard

from ccreport.publish.sums import list_files

# Multi-threaded compression divides its input by the number of threads, and so gives other bytes on another machine.
LEVEL: Final = 10
MODE: Final = 0o644


def pack_folder(folder: Path, path: Path, moment_s: int, root: str = "") -> None:
    """Write the regular files below a folder as `.tar.zst`, by their paths relative to it, below `root` if given.

    `moment_s` is the time of all members, in seconds since 1970. Links and devices are left out.
    """
    partial = path.with_name(path.name + ".part")
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    with (
        partial.open("wb") as file,
        compressor.stream_writer(file) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as members,
    ):
        for name in list_files(folder):
            if (folder / name).is_symlink():
                continue
            member = tarfile.TarInfo(f"{root}/{name.as_posix()}" if root else name.as_posix())
            member.size = (folder / name).stat().st_size
            member.mtime, member.mode = moment_s, MODE
            with (folder / name).open("rb") as content:
                members.addfile(member, content)
    partial.replace(path)
