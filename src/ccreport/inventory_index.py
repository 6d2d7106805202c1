"""What the inventory found out about files by reading them, kept so that the next one reads only what changed.

As in git's index, a file whose path, size and times of change are those of the former listing has the hash of then.
The time of its inode's change counts too, which nobody can set: a copy with another content and an old date is seen.
What was changed shortly before it was listed may have been changed once more within the clock's resolution, or while
it was read, and is read again (git calls such entries racily clean).
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

# FAT keeps times in steps of 2 s, and the clock of a file server is not ours.
RACY_NS: Final = 4 * 10**9


class Look(NamedTuple):
    """What reading a file told: its size, its hash, and the format that its first bytes show."""

    size_bytes: int
    sha256: str
    content: str


class InventoryIndex:
    """The files of an archive by path, with what a look at them told: those of the former listing, and of this one."""

    def __init__(self, path: Path, code: str, now_ns: int) -> None:
        self._path = path
        self._code = code
        self._now_ns = now_ns
        self._former = _read_former(path, code)
        self._found: dict[str, list[int | str]] = {}

    def recall(self, path: str, status: os.stat_result) -> Look | None:
        """Return what is known of a file that did not change since the former listing, else None."""
        entry = self._former.get(path)
        times = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        if entry is None or entry[:3] != times:
            return None
        self._found[path] = entry
        return Look(status.st_size, *map(str, entry[3:]))

    def note(self, path: str, status: os.stat_result, look: Look) -> None:
        """Keep what reading a file told; `status` is of before it was read."""
        times = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        if max(times[1:]) < self._now_ns - RACY_NS and look.size_bytes == status.st_size:
            self._found[path] = [*times, look.sha256, look.content]

    def write(self) -> None:
        """Write what is known of the files of this listing."""
        partial = self._path.with_name(self._path.name + ".part")
        partial.write_text(json.dumps({"code": self._code, "files": self._found}), encoding="ascii")
        partial.replace(self._path)


def _read_former(path: Path, code: str) -> Mapping[str, list[int | str]]:
    try:
        former = json.loads(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return {}
    files: Mapping[str, list[int | str]] = former["files"] if former.get("code") == code else {}
    return files
