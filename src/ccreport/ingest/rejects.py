"""What could not be used of raw files, and why: rows of the table `rejects`."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.tables import conform, write_table
from ccreport.core.text import display_name

# Of one file so many parts are named that could not be used; more are counted.
PARTS_LIMIT: Final = 1000
# Of `Problems` so many become rejects; the last says how many more there are.
PROBLEMS_LIMIT: Final = 20
KEPT_LIMIT: Final = 200
SNIPPET_BYTES: Final = 60


@dataclass
class Rejects:
    """Collects what could not be used of the files that one ingest rule reads."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    _parts: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        file: RawFile,
        reason: str,
        message: str,
        *,
        is_whole_file: bool = True,
        line: int | None = None,
        offset: int | None = None,
    ) -> None:
        """Note that a file, or a part of it at this line or byte offset, could not be used, and why.

        After many parts of one file the others are not named; the last row says how many these are.
        """
        part_number = self._parts[file.raw_file_id]
        self._parts[file.raw_file_id] += 1
        if part_number >= PARTS_LIMIT and not is_whole_file:
            if part_number > PARTS_LIMIT:
                last = next(row for row in reversed(self.rows) if row["raw_file_id"] == file.raw_file_id)
                last["message"] = f"{part_number - PARTS_LIMIT + 1} more parts of the file could not be used"
                return
            message = "1 more part of the file could not be used"
        self.rows.append(
            {
                "raw_file_id": file.raw_file_id,
                "path": display_name(file.path),
                "run_id": file.run_id,
                "part_number": part_number,
                "kind": file.kind,
                "reason": reason,
                "is_whole_file": is_whole_file,
                "message": message,
                "line_number": line,
                "byte_offset_bytes": offset,
            }
        )

    def reject_wholly(self, raw_file_ids: Collection[str], reason: str) -> None:
        """Have what was noted of parts of files for a reason count for these as a whole."""
        for row in self.rows:
            row["is_whole_file"] |= row["raw_file_id"] in raw_file_ids and row["reason"] == reason

    def forget(self, file: RawFile) -> None:
        """Forget what was noted of a file, where one reject is to say it all."""
        self.rows = [row for row in self.rows if row["raw_file_id"] != file.raw_file_id]
        del self._parts[file.raw_file_id]

    def add_error(self, file: RawFile, error: RawFileError, *, is_whole_file: bool = True) -> None:
        """Note the error that reading a file raised."""
        self.add(file, error.reason, error.message, is_whole_file=is_whole_file, line=error.line, offset=error.offset)

    def frame(self) -> pl.DataFrame:
        """Return the rows as a `rejects` table."""
        return conform(pl.DataFrame(self.rows, infer_schema_length=None), "rejects")

    def write(self, path: Path) -> None:
        """Write the rows as a `rejects` table."""
        write_table(self.frame(), "rejects", path)


class Problem(NamedTuple):
    """Something at a place of a file that could not be used; `line` counts from 1."""

    offset: int | None
    line: int | None
    reason: str
    message: str


@dataclass
class Problems:
    """The problems of one file: the first of them, and how many there are."""

    count: int = 0
    first: list[Problem] = field(default_factory=list)

    def add(self, kind: tuple[str, str], text: bytes, offset: int | None = None, line: int | None = None) -> None:
        """Note a problem with this text of the file."""
        self.count += 1
        if len(self.first) < KEPT_LIMIT:
            snippet = text[:SNIPPET_BYTES].strip().decode("utf-8", "surrogateescape")
            self.first.append(Problem(offset, line, kind[0], kind[1].replace("{}", display_name(snippet))))

    def add_error(self, error: RawFileError) -> None:
        """Note where and why the file could be read no further."""
        self.first.append(Problem(error.offset, error.line, error.reason, error.message))
        self.count += 1

    def write(self, file: RawFile, rejected: Rejects) -> None:
        """Add the problems as rejects of parts of the file, the ends of what could be read before all others."""
        ranked = sorted(self.first, key=lambda problem: problem.reason in ("malformed_record", "doubled"))
        shown = ranked if self.count <= PROBLEMS_LIMIT else ranked[: PROBLEMS_LIMIT - 1]
        for problem in sorted(shown, key=lambda problem: (problem.offset is None, problem.offset)):
            place = {"line": problem.line, "offset": problem.offset}
            rejected.add(file, problem.reason, problem.message, is_whole_file=False, **place)
        if len(shown) < self.count:
            message = f"{self.count - len(shown)} more places of this file could not be read"
            rejected.add(file, "malformed_record", message, is_whole_file=False)
