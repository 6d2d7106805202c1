"""What the tests of ss need: its text in a file with a manifest, the ingest of it, and excerpts of real versions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from archives import CONFORMANCE, FIXTURES, save_table, write_archive
from readings import read_files

from ccreport.archive.manifest import Manifest, RawFile, write_manifests

OUTPUTS = FIXTURES / "ss"
STAMP = "# 1795211351.663251\n"
ADDRESSES = "10.0.0.1:43802 10.0.0.2:5201"
LINE = f"ESTAB 0 0 {ADDRESSES}\n"
# What a socket needs to count as a sample, in the order of ss.
END = "rcv_space:14480 rcv_ssthresh:64088 minrtt:20.12 snd_wnd:124928\n"


@dataclass(frozen=True)
class Tables:
    samples: pl.DataFrame
    sample_stamps: pl.DataFrame
    rejects: pl.DataFrame

    @property
    def sample(self) -> dict[str, Any]:
        """Return the only sample."""
        assert self.samples.height == 1
        return self.samples.row(0, named=True)

    @property
    def reasons(self) -> list[tuple[str, bool]]:
        """Return reason and whether the whole file is meant, of every reject."""
        return [(row["reason"], row["is_whole_file"]) for row in self.rejects.iter_rows(named=True)]

    @property
    def extra(self) -> dict[str, str]:
        """Return the tokens of the only sample that have no column."""
        return {pair["key"]: pair["value"] for pair in self.sample["extra"]}


def ingest(files: Mapping[str, str | bytes], folder: Path) -> Tables:
    """Ingest ss files, each of a run of its own, `run of <its name>`."""
    root = write_archive(folder / "raw", files)
    entries = [
        RawFile(
            raw_file_id=f"id of {name}",
            path=name,
            kind="ss",
            format=None,
            size_bytes=1,
            sha256="",
            action="ingest",
            rule="ingest_ss",
            run_id=f"run of {name}",
        )
        for name in files
    ]
    write_manifests([Manifest("e", None, None, (), tuple(entries))], folder / "manifest.json")
    return read_ss(folder / "manifest.json", root, folder)


def read_ss(manifest: Path, root: Path, folder: Path) -> Tables:
    """Ingest the ss files of a manifest, of an experiment without tests."""
    for table in ("tests", "streams"):
        save_table(table, [], folder / f"{table}.parquet")
    return Tables(**read_files("ss", manifest, root, folder))


def ingest_text(text: str | bytes, folder: Path) -> Tables:
    """Ingest one ss file."""
    return ingest({"ss": text}, folder)


def ingest_information(line: str, folder: Path) -> Tables:
    """Ingest one socket with this information line."""
    return ingest_text(f"{STAMP}{LINE}\t {line}\n", folder)


def read_versions() -> dict[str, dict[str, str]]:
    """Return the excerpts of every ss version by their headings, such as `-tinm` or `v6`."""
    text = (OUTPUTS / "ss_versions.txt").read_text()
    versions = {}
    for part in re.split(r"^=== v", text, flags=re.MULTILINE)[1:]:
        version, rest = part.split(" ", 1)
        # 5.4 ends without a newline, and the next heading is glued to it.
        headed = re.split(r"--- (.*)\n", rest)
        headings = [headed[0].partition("\n")[0], *headed[1::2]]
        bodies = [headed[0].partition("\n")[2], *headed[2::2]]
        versions[version] = dict(zip(headings, bodies, strict=True))
        versions[version]["-tinm"] = (CONFORMANCE / f"ss/v{version}.txt").read_text().removeprefix(STAMP)
    return versions
