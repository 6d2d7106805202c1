"""`SHA256SUMS` as GNU coreutils write and read it: `<sha256>  <path>`; a backslash comes before one with escapes.

https://www.gnu.org/software/coreutils/manual/html_node/cksum-output-modes.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ccreport.archive.pack import list_files
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import FOLDER_OF_RELEASE, MAKES_RELEASE, guess_path, guess_release
from ccreport.publish import SUMS
from ccreport.storage.sums import format_sums, hash_file, unescape
from ccreport.storage.sums import parse_sums as parse_lines

# d2a8…  tables/runs/archive.parquet · \d2a8…  raw/a\nb
LINE: Final = re.compile(r"(?P<escape>\\?)(?P<sum>[0-9a-f]{64})  (?P<path>.+)")
# The same with anything for the sum.
ANY_SUM: Final = re.compile(r"\S+  (?P<path>.+)")


def parse_sums(content: bytes, name: str) -> dict[str, str]:
    """Return the SHA-256 by path; raise InputError, with the number of the line, for anything but such a list."""
    if not content:
        raise InputError(f"{name} is empty; fetch it again")
    sums: dict[str, str] = {}
    for number, line in enumerate(content.decode("utf-8", "surrogateescape").split("\n")[:-1], 1):
        match = LINE.fullmatch(line)
        path = match["path"] if match else ""
        if match and match["escape"]:
            path = unescape(path)
        if match is None or path in sums:
            raise InputError(f"{name}, line {number}: {_describe_fault(line, path)}; fetch it again")
        sums[path] = match["sum"]
    return sums


def _describe_fault(line: str, path: str) -> str:
    """Return what is wrong with a line; `path` is the path of one that is there a second time."""
    if path:
        return f"{path} is listed a second time"
    if other := ANY_SUM.fullmatch(line):
        return f"the sum of {other['path']} is not 64 hexadecimal digits, 0 to 9 and a to f"
    return f"`{line}` is not a sum, two blanks and a path"


def read_sums(folder: Path) -> dict[str, str]:
    """Return what the `SHA256SUMS` of a folder says; raise InputError where it has none."""
    path = folder / SUMS
    if not path.is_file():
        raise InputError(f"{folder} {_describe_place(folder)}")
    return parse_sums(path.read_bytes(), str(path))


def _describe_place(folder: Path) -> str:
    """Return why a folder has no list of sums, and which one may be meant."""
    if not folder.exists():
        return f"does not exist{guess_path(folder, is_release=True)}; {FOLDER_OF_RELEASE}; {MAKES_RELEASE}"
    lacks = f"has no {SUMS}" if folder.is_dir() else "is a file, not a folder"
    return f"{lacks}; {guess_release(folder, f'{FOLDER_OF_RELEASE}; {MAKES_RELEASE}')}"


def list_damage(folder: Path, sums: Mapping[str, str], name: str = SUMS) -> Iterator[str]:
    """Yield each file that a list of this name has and the folder has not, or with other bytes, and what is wrong."""
    for path, sha256 in sums.items():
        if not (folder / path).is_file():
            yield f"{path}: missing"
        elif hash_file(folder / path) != sha256:
            yield f"{path}: not what {name} says"


def name_beside(path: Path) -> Path:
    """Return the file beside a release's folder or packed file that has the hash for the whole of it."""
    return path.with_name(f"{path.name}.sha256")


def read_beside(path: Path) -> str | None:
    """Return the hash told beside a release's folder or packed file; None where there is not one."""
    beside = name_beside(path)
    told = parse_lines(beside.read_text("utf-8", "replace"), beside.name) if beside.is_file() else {}
    return next(iter(told.values())) if len(told) == 1 else None


def find_damage(release: Path, *, is_packed: bool) -> list[str]:
    """Return which files of a published release, and beside it, are not as they were published, and what is wrong."""
    beside = [f"{release.name}.sha256", *([f"{release.name}.tar.zst.sha256"] if is_packed else [])]
    damage: list[str] = []
    for path in (release / SUMS, *(release.with_name(name) for name in beside)):
        try:
            damage += list_damage(path.parent, parse_sums(path.read_bytes(), path.name), path.name)
        except InputError as error:
            damage.append(str(error))
        except FileNotFoundError:
            damage.append(f"{path.name}: missing")
    return damage


def say_damage(damage: Sequence[str]) -> str:
    """Return the first of several files that are damaged, and how many more there are."""
    return damage[0] + (f" (and {len(damage) - 1:,} more)" if len(damage) > 1 else "")


def write_sums(folder: Path) -> str:
    """Write the `SHA256SUMS` of all files below a folder, and return its own SHA-256."""
    files = [path for path in list_files(folder) if path.as_posix() != SUMS]
    (folder / SUMS).write_bytes(format_sums({path.as_posix(): hash_file(folder / path) for path in files}))
    return hash_file(folder / SUMS)
