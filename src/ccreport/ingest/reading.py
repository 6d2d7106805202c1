"""The files of one experiment as a reader is given them, and where it leaves its tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from ccreport.archive.manifest import Manifest, RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.table_folder import TableFolder
from ccreport.core.tables import TableWriter, write_table
from ccreport.ingest.bounds import REASON, Net
from ccreport.ingest.declaration import Reader
from ccreport.ingest.rejects import Rejects

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """What the configuration says about reading: `packet_runs`, `edge.paths` and `edge.access_log_format`.

    Every packet is kept of the captures of the runs that are named.
    """

    packet_runs: tuple[str, ...] = ()
    edge_paths: str = ""
    access_log_format: str = ""

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the settings of these names."""
        known = asdict(self)
        return {name: known[name] for name in names}


@dataclass(frozen=True)
class Reading:
    """One experiment for one reader: `files` are those of its kinds, below `root`; its tables go into `tables`.

    Rows that break a table's schema are left out and noted in `rejected`.
    """

    manifest: Manifest
    files: list[RawFile]
    root: Path
    tables: TableFolder
    settings: Settings
    rejected: Rejects

    @cached_property
    def net(self) -> Net:
        """Return what takes unsound rows out of frames."""
        return Net(self.rejected, self.files)

    def place(self, table: str) -> Path:
        """Return the path of a table of the experiment."""
        return self.tables.place(table)

    def read_each(self, read: Callable[[RawFile], T]) -> list[tuple[RawFile, T]]:
        """Return what a function makes of each file; a file for which it raises RawFileError is rejected."""
        done = []
        for file in self.files:
            try:
                done.append((file, read(file)))
            except RawFileError as error:
                self.rejected.add_error(file, error)
        return done

    def read_rows(self, read: Callable[[RawFile], Iterable[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
        """Return the rows that a function makes of all files; a file for which it raises RawFileError is rejected."""
        return [row for _, rows in self.read_each(read) for row in rows]

    def write_rows(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows as a table."""
        self.write(table, self.net.build(rows, table))

    def write(self, table: str, frame: pl.DataFrame) -> None:
        """Write a frame as a table, if it has rows."""
        if frame.height:
            write_table(frame, table, self.place(table), self.net)

    def open(self, table: str) -> TableWriter:
        """Return a writer of a table that is written piece by piece."""
        return TableWriter(table, self.place(table), self.net)


def load_function(reader: Reader) -> Callable[[Reading], None]:
    """Import a reader's module and return its function."""
    module, _, name = reader.function.partition(":")
    function: Callable[[Reading], None] = getattr(import_module(module), name)
    return function


def read_experiment(reader: Reader, manifest: Manifest, root: Path, folder: Path, settings: Settings) -> None:
    """Write what a reader makes of an experiment, as `<table>.parquet` and `rejects.parquet`, into a folder.

    A table without rows may be missing. The folder has the tables that the reader `joins`, if the experiment has files
    whose run these must tell.
    """
    files = manifest.files_for(reader.rule)
    if not files and reader.needs_files:
        return
    rejected = Rejects()
    reading = Reading(manifest, files, root, TableFolder(folder), settings, rejected)
    load_function(reader)(reading)
    if emptied := reading.net.noted:
        read = (reading.tables.read(table)["raw_file_id"] for table in reader.tables)
        rejected.reject_wholly(emptied.difference(*read), REASON)
    if rejected.rows:
        rejected.write(folder / "rejects.parquet")
