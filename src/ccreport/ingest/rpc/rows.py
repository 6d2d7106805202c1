"""What the readers of RPC results collect of one file: rows of three tables, and what was wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.json_values import QUOTE_CHARACTERS, quote
from ccreport.ingest.rejects import Rejects

SAMPLE_COLUMNS: Final = (
    "test_number",
    "value_number",
    "sampled_s",
    "interval_s",
    "sampled_value",
    "value_unit",
    "is_resampled",
)


@dataclass(frozen=True)
class Block:
    """Tests from `number` on of which `texts` has one row each, and what is `known` of them all, as in their dicts."""

    number: int
    texts: pl.DataFrame
    known: Mapping[str, Any]


@dataclass
class RpcRows:
    """Rows of `rpc_tests` and `rpc_histograms`, columns of `rpc_samples`, and the first problem of each reason.

    netperf's tests are not yet such rows but what make_tests (netperf_columns) makes columns of, of many at once.
    """

    tests: list[dict[str, Any]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    histograms: list[dict[str, Any]] = field(default_factory=list)
    samples: dict[str, list[Any]] = field(default_factory=dict)
    problems: dict[str, tuple[int, str, int | None]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Return how many tests there are, also in blocks."""
        return len(self.tests) + sum(block.texts.height for block in self.blocks)

    def list_numbers(self) -> list[int]:
        """Return the numbers of the tests that are in no block."""
        in_blocks = [
            number for block in self.blocks for number in range(block.number, block.number + block.texts.height)
        ]
        return sorted(set(range(self.count)).difference(in_blocks))

    def note(self, reason: str, message: str, line: int | None = None) -> None:
        """Note a problem; of several with one reason the first of the least line is told, the others are counted."""
        count, first, first_line = self.problems.get(reason, (0, message, line))
        if line is not None and first_line is not None and line < first_line:
            first, first_line = message, line
        self.problems[reason] = (count + 1, first, first_line)

    def add_samples(
        self,
        times: Iterable[float | None],
        intervals: Iterable[float | None],
        values: list[float],
        unit: str | None,
        *,
        is_resampled: bool = False,
    ) -> None:
        """Add the values of the test that is read at the moment, times and intervals in s."""
        count = len(values)
        columns = self.samples = self.samples or {name: [] for name in SAMPLE_COLUMNS}
        columns["test_number"].extend([self.count] * count)
        columns["value_number"].extend(range(count))
        columns["sampled_s"].extend(times)
        columns["interval_s"].extend(intervals)
        columns["sampled_value"].extend(values)
        columns["value_unit"].extend([unit] * count)
        columns["is_resampled"].extend([is_resampled] * count)

    def take_samples(self) -> dict[str, list[Any]]:
        """Return the columns of the samples, which are many, and forget them; nothing where there are none."""
        taken, self.samples = self.samples, {}
        return taken

    def report(self, file: RawFile, rejected: Rejects) -> None:
        """Pass the problems on as rejects of parts; raise the first as RawFileError where no test was found."""
        for reason, (count, message, line) in self.problems.items():
            text = message if count == 1 else f"{message} (and {count - 1} more like it)"
            if not self.count:
                raise RawFileError(reason, text, line=line)
            rejected.add(file, reason, text, is_whole_file=False, line=line)
        if not self.count:
            raise RawFileError("no_measurement", "no result in it; run the test again")


def shown(text: str) -> str:
    """Return a text of a file as it may be in a table: one printable line of limited length."""
    line = " ".join(text[: 2 * QUOTE_CHARACTERS].split())
    # Nearly all texts are plain; looking at each of their characters is slow.
    if line.isascii() and line.isprintable():
        return line if len(line) <= QUOTE_CHARACTERS else line[: QUOTE_CHARACTERS - 1] + "…"
    return quote(text)
