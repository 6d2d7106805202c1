"""Results that seem to be younger than now, since the clock was set back after they were made.

Snakemake makes again what is older than its inputs. A result from the future would be younger than any change of these
until the clock has caught up. Such results are given an old time: then Snakemake compares the hashes of small inputs
with those that it recorded, and makes again what has others, or large ones.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

# Clocks of file servers differ by less from ours; Snakemake itself refuses what a larger difference would spoil.
AHEAD_S: Final = 60
# 1980-01-01, the first day of which zip knows.
OLD_S: Final = 315_532_800
# Snakemake looks at none of these: copies of the archive, and what was written last of tables.
UNSEEN: Final = ("archive", "fetched", ".kept")


def age_results(results: Path) -> int:
    """Give an old time to the files of a results folder whose time is in the future; return how many these were."""
    last_s = time.time() + AHEAD_S
    young = [entry for entry in _iterate_entries(results) if entry.stat(follow_symlinks=False).st_mtime > last_s]
    for entry in young:
        os.utime(entry, (OLD_S, OLD_S), follow_symlinks=False)
    return sum(entry.is_file(follow_symlinks=False) for entry in young)


def _iterate_entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Yield all files and folders below a folder, or nothing where there is none."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name in UNSEEN:
                continue
            yield from _iterate_entries(entry.path)
        yield entry
