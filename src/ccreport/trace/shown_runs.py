"""Runs and their raw files as text, for a terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.summarise.grids.headings import NO_HEADINGS
from ccreport.summarise.grids.plain_numbers import VALUE, list_numbers, name_column, round_value
from ccreport.trace.raw_files import OF_JOB, ReadFiles

# More files would bury what is said of the runs, and more runs what is said behind them.
FILES_AT_MOST: Final = 12
RUNS_AT_MOST: Final = 40


def show_runs(
    heading: str,
    runs: pl.DataFrame,
    columns: Sequence[str],
    *,
    quantity: str = VALUE,
    noun: str = "run",
    is_full: bool = False,
) -> list[str]:
    """Return lines on runs: some of their columns and run_id.

    What all of several runs have in common is said once, and what none has is left out. `quantity` is what their column
    `value` is of, and `noun` what a row is. Of many rows the first are listed, unless the list `is_full`.
    """
    names = {name: quantity if name == VALUE else name for name in columns if runs[name].count()}
    texts = {name: [round_value(name, value) for value in runs[column]] for column, name in names.items()}
    told = {name_column(name): cells for name, cells in texts.items()}
    lines = _show_columns(told | {noun.capitalize(): [*runs["run_id"]]})
    left = 0 if is_full else max(0, runs.height - RUNS_AT_MOST)
    shown = lines[: len(lines) - left]
    more = [f"  … and {count_things(left, 'more row')}, which --full lists"] if left else []
    return [f"{heading} ({runs['run_id'].n_unique():,}):", *shown, *more]


def show_rows(rows: pl.DataFrame) -> list[str]:
    """Return lines on rows of any columns; what all of several rows have in common is said once."""
    texts = {name_column(name): [round_value(name, value) for value in rows[name]] for name in rows.columns}
    return _show_columns(texts)


def _show_columns(texts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return lines on columns of texts by heading; a text that a whole column but the last has is said once."""
    *firsts, last = texts.items()
    shared = {name: cells[0] for name, cells in firsts if len(cells) > 1 and len(set(cells)) == 1}
    lines = [f"  In all: {'; '.join(f'{name} {text}' for name, text in shared.items())}"] if shared else []
    told = [(name, *cells) for name, cells in (*firsts, last) if name not in shared]
    return lines + [f"  {line}" for line in _align(told)]


def show_files(runs: pl.DataFrame, files: ReadFiles, unpacked: Path, *, is_full: bool = False) -> list[str]:
    """Return lines on what was read for runs, which also have experiment_id and result_path.

    Of many files the first are listed, unless the list `is_full`. `unpacked` is where raw files are, if the archive is
    of packed ones.
    """
    read = files.find(runs)
    is_packed = any((unpacked / path).is_file() for _, own in read for path, _ in own[:1])
    count = sum(len(own) for _, own in read)
    of_runs = sum(len(own) for whose, own in read if not whose.startswith(OF_JOB))
    shared = f": {of_runs:,} of the runs, {count - of_runs:,} of their jobs" if 0 < of_runs < count else ""
    lines = ["", f"Raw files{f', unpacked in {unpacked}' if is_packed else ''} ({count:,}{shared}; sha256, path):"]
    left = count if is_full else FILES_AT_MOST
    for whose, own in read:
        if left > 0:
            lines += [f"  # {whose}"] if whose else []
            lines += [f"  {digest}  {path}{_tell(files.algorithms, path)}" for path, digest in own[:left]]
        left -= len(own)
    if left < 0:
        lines.append(f"  … and {count_things(-left, 'more file')}, which --full lists")
    return lines


def _tell(algorithms: Mapping[str, str], path: str) -> str:
    return f"  ({algorithms[path]})" if path in algorithms else ""


def show_numbers(numbers: Mapping[str, Any], headings: Mapping[str, str] = NO_HEADINGS) -> list[str]:
    """Return a line on each number of a row that has a value: its heading, if not of `headings`, value and interval."""
    return [f"  {line}" for line in _align([*zip(*list_numbers(numbers, headings), strict=True)])]


def _align(columns: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of columns of texts, each but the last as wide as its widest text."""
    *firsts, last = columns
    padded = [[text.ljust(max(map(len, column))) for text in column] for column in firsts]
    return ["  ".join(line) for line in zip(*padded, last, strict=True)]
