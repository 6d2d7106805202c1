"""Runs and their raw files as text, for a terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ccreport.summarise.grids.grid import MISSING
from ccreport.trace.raw_files import ReadFiles


def show_runs(heading: str, runs: pl.DataFrame, columns: Sequence[str], files: ReadFiles, unpacked: Path) -> list[str]:
    """Return lines on runs: some of their columns and run_id, then what was read for them.

    `runs` also has experiment_id and result_path. `unpacked` is where raw files are, if the archive is of packed ones.
    """
    lines = [f"{heading} ({runs.height:,}):", f"  {'  '.join((*columns, 'run_id'))}"]
    lines += [f"  {'  '.join(map(show_value, run))}" for run in runs.select(*columns, "run_id").iter_rows()]
    read = files.find(runs)
    is_packed = any((unpacked / path).is_file() for _, own in read for path, _ in own[:1])
    lines += ["", f"Raw files{f', unpacked in {unpacked}' if is_packed else ''} (sha256, path):"]
    for whose, own in read:
        lines += [f"  # {whose}", *(f"  {digest}  {path}" for path, digest in own)]
    return lines


def show_value(value: Any) -> str:
    """Return a value with all its digits, a dash for none."""
    return MISSING if value is None else str(value)
