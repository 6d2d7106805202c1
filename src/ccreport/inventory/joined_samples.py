"""Samples of sockets of no pattern, in a folder whose tests a layout puts into a session or a job of their own.

The reader of `ss` joins samples to tests of their experiment by 4-tuple; so they have to be in that of the tests.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from ccreport.archive.harness_layout import Folder, split_name
from ccreport.archive.raw_file import read_head
from ccreport.inventory.formats import recognise_format
from ccreport.inventory.kinds import ITEMS
from ccreport.inventory.names import FileName

# Of files that may be a test's result.
KINDS: Final = ("unknown", "src-cmd")
SAMPLES: Final = FileName("ss", is_declared=True)


def find_samples_of_declared(
    declared: Mapping[str, tuple[Folder, FileName]], files: Iterable[tuple[str, PurePosixPath, os.DirEntry[str]]]
) -> dict[str, tuple[Folder | None, FileName]]:
    """Return the samples of no pattern beside tests with an experiment of their own, by path, and that experiment.

    It is None where the tests of a folder are of several.
    """
    files = list(files)
    homes: dict[PurePosixPath, set[Folder]] = defaultdict(set)
    for path, place, _ in files:
        folder, name = declared.get(path, (None, None))
        if folder is not None and name is not None and name.run is not None and name.kind in KINDS:
            homes[place].add(folder)
    found = {}
    for path, place, entry in files:
        # Folders of tests without a session or a job are experiments themselves.
        experiments = {folder for folder in homes.get(place, ()) if folder.path.startswith("//")}
        item = split_name(entry.name)
        is_named = path in declared or (item is not None and item.item in ITEMS)
        if experiments and not is_named and _has_samples(entry):
            found[path] = (next(iter(experiments)) if len(homes[place]) == 1 else None, SAMPLES)
    return found


def _has_samples(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry of a folder is a file that begins as samples of sockets do."""
    try:
        return entry.is_file(follow_symlinks=False) and recognise_format(read_head(Path(entry.path))) == "ss"
    except OSError:
        return False
