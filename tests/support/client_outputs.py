"""What the tests of client outputs need: files with a manifest, their ingest, and iperf3's own numbers read plainly."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from archives import CONFORMANCE, write_archive
from readings import read_files

from ccreport.archive.manifest import Manifest, RawFile, write_manifests

RESULTS = CONFORMANCE / "iperf3"


@dataclass(frozen=True)
class Tables:
    tests: pl.DataFrame
    streams: pl.DataFrame
    intervals: pl.DataFrame
    rejects: pl.DataFrame

    @property
    def reasons(self) -> list[tuple[str, bool]]:
        """Return reason and whether the whole file is meant, of every reject."""
        return [(row["reason"], row["is_whole_file"]) for row in self.rejects.iter_rows(named=True)]

    @property
    def test(self) -> dict[str, Any]:
        return self.tests.row(0, named=True)

    @property
    def stream(self) -> dict[str, Any]:
        return self.streams.row(0, named=True)


def ingest(files: Mapping[str, str | bytes], folder: Path) -> Tables:
    """Ingest files, each as the only client of the run `e/<its name>`, or as the client that stands behind `#`."""
    root = write_archive(folder / "raw", files)
    entries = []
    for name in sorted(files):
        run, _, client = name.partition("#")
        entries.append(
            RawFile(
                raw_file_id=f"id of {name}",
                path=name,
                kind="src-cmd",
                format="iperf3",
                size_bytes=1,
                sha256="",
                action="ingest",
                rule="ingest_iperf3",
                run_id=f"e/{run}",
                client_number=int(client[0]) if client else 1,
            )
        )
    write_manifests([Manifest("e", None, None, (), tuple(entries))], folder / "manifest.json")
    return Tables(**read_files("iperf3", folder / "manifest.json", root, folder))


def ingest_one(content: str | bytes | dict[str, Any], folder: Path) -> Tables:
    """Ingest one file."""
    return ingest({"src": json.dumps(content) if isinstance(content, dict) else content}, folder)


def result(name: str = "iperf3_p2") -> dict[str, Any]:
    """Return a real result as plain data."""
    document: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return copy.deepcopy(document)


def all_values(text: str, key: str) -> list[Any]:
    """Return every value that stands under a key anywhere in a JSON text, repeated keys included, in order."""
    found: list[Any] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.extend(value for name, value in pairs if name == key)
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)
    return found
