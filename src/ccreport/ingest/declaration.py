"""What declares a format of raw files: its kinds of files, the tables that its reader writes, and the reader.

Each folder of `ingest` has its readers in `READERS`, in its `__init__.py`, which imports nothing else: the inventory
asks for all declarations, and the libraries that read files take a second to load.
"""

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Content:
    """A form of content, as `raw_files.format` has it, and what shows it in the first bytes of a file.

    `pattern` is searched for in the decompressed bytes, at their start where `is_at_start`. Of several forms that are
    found, the one of the lowest rank counts.
    """

    format: str
    pattern: re.Pattern[bytes]
    rank: int
    is_at_start: bool = False

    def is_shown_by(self, head: bytes) -> bool:
        """Tell whether the first bytes of a file show this form."""
        return bool(self.pattern.match(head) if self.is_at_start else self.pattern.search(head))


@dataclass(frozen=True)
class Kind:
    """A kind of raw file, as `raw_files.kind` has it, and how a file of it is told.

    - `items` are the words before the first colon in the harness's names, `file_name` matches whole names, and
      `session_file` is a name that only `collect` gives, in the folder of a session.
    - `contents` are forms that show the kind whatever the file is called; those of the kinds in `alike` look the same,
      and `is_told_by_name_only` is a kind that no content contradicts.
    - `run` says what a file of it is to a run: a `result` is a run by itself, even under a name of its own; `samples`
      make one where their name says so; a `part` belongs to one that others make. Of each, a run has one file, of
      results and samples one a flow. A `job` is about all runs of one, which has one file, or one of each host.
    - `without_run` is why a file of it cannot be used where there is no run that it belongs to.
    """

    name: str
    items: tuple[str, ...] = ()
    file_name: re.Pattern[str] | None = None
    session_file: str | None = None
    contents: tuple[Content, ...] = ()
    alike: frozenset[str] = frozenset()
    is_told_by_name_only: bool = False
    run: Literal["result", "samples", "part", "job"] | None = None
    without_run: str | None = None


@dataclass(frozen=True)
class Reader:
    """A reader: the kinds of files that it takes and the tables that it writes of those of one experiment.

    - `function` is its place, as `module:name`; it is given a `Reading`.
    - Each row of `tables`, or one at least, names the raw file it was read from; `details` are what else it writes,
      and `support` what only later steps ask for, which `ingest` does not show.
    - `measured` is the table of which any row is something that was measured.
    - `settings` are the fields of `Settings` that it asks for.
    - `joins` are tables of other readers, by which it finds the run of files whose names tell none.
    - `needs_files` is false where it has something to say of an experiment without any file of its kinds.
    """

    name: str
    function: str
    kinds: tuple[Kind, ...]
    tables: tuple[str, ...]
    details: tuple[str, ...] = ()
    support: tuple[str, ...] = ()
    measured: str | None = None
    settings: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    needs_files: bool = True

    @property
    def rule(self) -> str:
        """Return what the ledger calls it in `raw_files.rule`."""
        return f"ingest_{self.name}"

    @property
    def module(self) -> str:
        """Return the module that it is in."""
        return self.function.partition(":")[0]

    @property
    def written(self) -> tuple[str, ...]:
        """Return all tables that it writes."""
        return (*self.tables, *self.details, *self.support)
