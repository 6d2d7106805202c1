"""Where a release has its raw archive, beside the list of the files in it."""

from pathlib import Path
from typing import Final

from ccreport.archive.parts import PARTS
from ccreport.publish import SUMS

BESIDE: Final = ("archive.json", SUMS)


def find_archive(release: Path) -> list[Path]:
    """Return the raw archive of a release, one file or its parts; nothing where it has only the list."""
    folder = release / "raw"
    parts = sorted(path for path in (folder / PARTS).glob("*") if path.is_file())
    found = [path for path in sorted(folder.glob("*")) if path.is_file() and path.name not in BESIDE]
    return parts or found[:1]
