"""What names and titles say of an RPC test: algorithm, load, and which repetition it belongs to.

netperf knows neither how many others run beside it nor, in its old output forms, the algorithm. Both may be in the
file itself, in what its user called the test (netperf `-B`, flent `--title`), else in the path:

    rpc/bbr/load=8/rep=2/client-3.txt    a part that is an algorithm's name, `load=8`, `rep=2`
    10kB_cc=bbr2_load-8_rep-2.csv        the same as words of one name; `=`, `-`, `_` or nothing before the number

Tests below one `rep` (also `run`, `iteration`) are one repetition; without such a part each run is one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.core.algorithms import name_algorithm
from ccreport.core.identifiers import short_hash

# ASSUME: a word of a path that is an algorithm's name is the algorithm of the tests below it.
# cubic · bbr2 · BBR-v2
WORD: Final = re.compile(r"[A-Za-z0-9]+(?:[ ._-][Vv][0-9](?![A-Za-z0-9]))?")
NAMED_CC: Final = re.compile(r"(?<![A-Za-z0-9])cc=([A-Za-z0-9_]{1,15}?)(?=_load|_rep|_run|[^A-Za-z0-9_]|$)")
LOAD: Final = re.compile(r"(?<![A-Za-z0-9])load[=_-]?(\d{1,6})(?![A-Za-z0-9])", re.IGNORECASE)
REPETITION: Final = re.compile(r"(?<![A-Za-z0-9])(?:rep|run|iteration)[=_-]?\d{1,6}(?![A-Za-z0-9])", re.IGNORECASE)


@dataclass(frozen=True)
class Labels:
    """What a text says; None where it says nothing, or different things."""

    cc: str | None
    load_count: int | None


NOTHING: Final = Labels(None, None)


def read_labels(text: str) -> Labels:
    """Return the labels of a path or a title; one algorithm beside another is none, and so are two loads."""
    named = set(NAMED_CC.findall(text)) or {cc for word in WORD.findall(text) if (cc := name_algorithm(word))}
    loads = {int(number) for number in LOAD.findall(text)} - {0}
    return Labels(
        named.pop() if len(named) == 1 else None,
        loads.pop() if len(loads) == 1 else None,
    )


def name_repetition(file: RawFile) -> str:
    """Return what all tests of one repetition share: a hash of the path down to its last `rep`, else the run's id."""
    found = list(REPETITION.finditer(file.path))
    return short_hash(file.path[: found[-1].end()]) if found else str(file.run_id)


def label_tests(tests: pl.DataFrame, files: Sequence[RawFile]) -> pl.DataFrame:
    """Add rpc_cc_source, load_count, load_source and repetition_id to tests, and cc where a test has none.

    `files` has the file of each test. What the result says goes before the title that its user gave it, and that before
    the path.
    """
    different = {file.raw_file_id: file for file in files}
    of_paths = {name: read_labels(file.path) for name, file in different.items()}
    of_titles = {title: read_labels(title) for title in tests["test_label"].unique() if title}
    repetitions = {name: name_repetition(file) for name, file in different.items()}
    columns = [pl.Series("repetition_id", [repetitions[file.raw_file_id] for file in files], pl.String)]
    for column, source in (("cc", "rpc_cc_source"), ("load_count", "load_source")):
        kind = tests.schema[column]
        of_title = {title: getattr(labels, column) for title, labels in of_titles.items()}
        named = [tests[column], tests["test_label"].replace_strict(of_title, default=None, return_dtype=kind)]
        by_path = pl.Series([getattr(of_paths[file.raw_file_id], column) for file in files], dtype=kind)
        nothing = "" if kind == pl.String else 0
        known = pl.coalesce(pl.when(named[0] != nothing).then(named[0]), named[1])
        found_in = pl.when(known.is_not_null()).then(pl.lit("file")).when(by_path.is_not_null()).then(pl.lit("path"))
        columns += tests.select(pl.coalesce(known, by_path).alias(column), found_in.alias(source)).get_columns()
    return tests.with_columns(columns)
