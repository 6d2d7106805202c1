"""Second names for files, in place of copies: who changes such a file writes another and gives that its name."""

import os
import shutil
from pathlib import Path


def link_file(source: Path | str, target: Path | str) -> None:
    """Give a file a second name, which is not taken; a copy where a file system has one name for each file."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def link_tree(source: Path, target: Path, *left_out: str) -> None:
    """Make the new folder `target` with second names for all files of a folder, but for those of these patterns."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*left_out), copy_function=link_file)
