"""Second names for files, in place of copies: who changes such a file writes another and gives that its name."""

import os
import shutil
from pathlib import Path


def link_file(source: Path | str, target: Path | str) -> None:
    """Give a file a second name, which is not taken; where it can have only one, copy it with its time."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        status = Path(source).stat()
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def link_tree(source: Path, target: Path, *left_out: str) -> None:
    """Make the new folder `target` with second names for all files of a folder, but for those of these patterns."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*left_out), copy_function=link_file)
