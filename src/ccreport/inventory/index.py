"""What the inventory found out about files by reading them, kept so that the next one reads only what changed.

As in git's index, a file whose path, size and times of change are those of the former listing has the hash of then.
The time of its inode's change counts too, which nobody can set: a copy with another content and an old date is seen.
What was changed shortly before it was listed may have been changed once more within the clock's resolution, or while
it was read, and is read again (git calls such entries racily clean).

An experiment of which that holds for every file, and that has no other ones, has the manifest of then. So the index is,
behind a line for the code that made it, two lines for each experiment: its files as JSON, and its manifest, which is
empty where it has to be made again.
"""

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Self

from ccreport.archive.manifest import Manifest, format_manifest
from ccreport.core.atomic_files import replace_text

# FAT keeps times in steps of 2 s, and the clock of a file server is not ours.
RACY_NS: Final = 4 * 10**9


class Look(NamedTuple):
    """What reading a file told: its size, its hash, and the format that its first bytes show."""

    size_bytes: int
    sha256: str
    content: str


class Entry(NamedTuple):
    """A file as the index has it: when it was looked at, and what that told."""

    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    sha256: str
    content: str

    def is_of(self, status: os.stat_result) -> bool:
        """Tell whether the file did not change since."""
        return (
            self.mtime_ns == status.st_mtime_ns
            and self.ctime_ns == status.st_ctime_ns
            and self.size_bytes == status.st_size
        )


class Listed(NamedTuple):
    """An experiment as listed: path, SHA-256 and size of each of its files, and its manifest as JSON."""

    experiment_id: str
    files: list[tuple[str, str, int]]
    manifest: str

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """Return what a manifest lists."""
        files = [(file.path, file.sha256, file.size_bytes) for file in manifest.files]
        return cls(manifest.experiment_id, files, format_manifest(manifest))


class FolderIndex:
    """The files of one experiment by path, with what a look at them told: in the former listing, and in this one."""

    def __init__(self, former: Mapping[str, Entry], manifest: str, now_ns: int) -> None:
        self._former = former
        self._manifest = manifest
        self._now_ns = now_ns
        self.found: dict[str, Entry] = {}
        self.manifest = ""

    def recall_folder(self, experiment_id: str, files: Collection[tuple[str, os.DirEntry[str]]]) -> Listed | None:
        """Return the experiment as listed formerly, if these are its files and none changed since, else None."""
        if not self._manifest or len(files) != len(self._former):
            return None
        found = {}
        for path, entry in files:
            known = self._former.get(path)
            if known is None or not entry.is_file(follow_symlinks=False) or not _is_unchanged(known, entry):
                return None
            found[path] = known
        self.found, self.manifest = found, self._manifest
        return Listed(
            experiment_id, [(path, file.sha256, file.size_bytes) for path, file in found.items()], self.manifest
        )

    def recall(self, path: str, status: os.stat_result) -> Look | None:
        """Return what is known of a file that did not change since the former listing, else None."""
        known = self._former.get(path)
        if known is None or not known.is_of(status):
            return None
        self.found[path] = known
        return Look(known.size_bytes, known.sha256, known.content)

    def note(self, path: str, status: os.stat_result, look: Look) -> None:
        """Keep what reading a file told; `status` is of before it was read."""
        times = (status.st_mtime_ns, status.st_ctime_ns)
        if max(times) < self._now_ns - RACY_NS and look.size_bytes == status.st_size:
            self.found[path] = Entry(look.size_bytes, *times, look.sha256, look.content)

    def note_folder(self, listed: Listed) -> None:
        """Keep the manifest of an experiment, unless some of its files are to be read again."""
        if len(self.found) == len(listed.files):
            self.manifest = listed.manifest


def _is_unchanged(known: Entry, entry: os.DirEntry[str]) -> bool:
    try:
        return known.is_of(entry.stat(follow_symlinks=False))
    except OSError:
        return False


class InventoryIndex:
    """The experiments of an archive by their folders: those of the former listing, and of this one."""

    def __init__(self, path: Path, code: str, now_ns: int, layout: str = "") -> None:
        """Take where the index is kept, and hashes of code and layout; another layout makes new manifests."""
        self._path = path
        self._told = [code, layout]
        self._now_ns = now_ns
        self._former, former_layout = _read_former(path, code)
        self._moved: dict[str, Entry] | None = None
        if former_layout != layout:
            # A file may be of another experiment then, and still has the content that it had.
            self._moved = {path: entry for files, _ in self._former.values() for path, entry in files.items()}
        self._folders: dict[str, FolderIndex] = {}

    def open_folder(self, folder: str) -> FolderIndex:
        """Return what is known of an experiment, and keep what becomes known."""
        former, manifest = (self._moved, "") if self._moved is not None else self._former.get(folder, ({}, ""))
        self._folders[folder] = FolderIndex(former, manifest, self._now_ns)
        return self._folders[folder]

    def write(self) -> None:
        """Write what is known of the files of this listing."""
        lines = [json.dumps(self._told)]
        for path, folder in self._folders.items():
            lines += [json.dumps([path, folder.found]), folder.manifest]
        replace_text(self._path, "".join(f"{line}\n" for line in lines))


def _read_former(path: Path, code: str) -> tuple[dict[str, tuple[dict[str, Entry], str]], str]:
    """Return the files and the manifest of each folder as the index has them, and the hash of the layout of then."""
    former = {}
    layout = ""
    try:
        first, *lines, _ = path.read_text(encoding="ascii").split("\n")
        former_code, layout = json.loads(first)
        if former_code == code:
            for line, manifest in zip(lines[::2], lines[1::2], strict=True):
                folder, files = json.loads(line)
                former[folder] = ({path: Entry(*entry) for path, entry in files.items()}, manifest)
    except (OSError, ValueError, TypeError):
        return {}, ""
    return former, layout
