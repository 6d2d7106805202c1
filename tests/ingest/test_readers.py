"""Formats as folders: what each declares, and that adding one or editing one concerns no other."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from archives import FIXTURES, ROOT, write_archive
from client_outputs import RESULTS

from ccreport.core.declarations import list_tables
from ccreport.ingest.readers import INGESTED_TABLES, READ_TABLES, READERS
from ccreport.ingest.reading import load_function
from ccreport.inventory.kinds import IGNORE_RULES, KINDS

DECLARATION = '''"""Beats of a clock, which `tick` prints."""

import re

from ccreport.ingest.declaration import Content, Kind, Reader

READERS = (
    Reader(
        "ticks",
        "ccreport.ingest.ticks.reader:read_ticks",
        kinds=(
            Kind("tick", items=("tick",), contents=(Content("tick", re.compile(rb"tick \\d"), 5, is_at_start=True),),
                 run="result"),
        ),
        tables=("ticks",),
        measured="ticks",
    ),
)
'''
READER = '''"""`tick`'s output, a line a beat, into the table `ticks`."""

from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.ingest.reading import Reading


def read_ticks(reading: Reading) -> None:
    def read(file):
        lines = read_whole(reading.root / file.path).decode().splitlines()
        if not all(line.startswith("tick ") for line in lines):
            raise RawFileError("malformed_record", "a line is not a tick")
        own = {"raw_file_id": file.raw_file_id, "run_id": file.run_id}
        return [own | {"tick_number": int(line.split()[1])} for line in lines]

    reading.write_rows("ticks", reading.read_rows(read))
'''
SCHEMA = """description: Beats of a clock.
grain: one beat
key: [raw_file_id, tick_number]
columns:
  - raw_file_id
  - run_id
  - {name: tick_number, type: int, min: 0, description: Counts the beats., source: tick}
"""
SETTINGS = ["--packet-runs", "--edge-paths", ".*", "--access-log-format", "$request_time $bytes_sent"]


def test_declarations_agree_with_each_other_and_with_the_schemas() -> None:
    assert [load_function(reader).__module__ for reader in READERS] == [reader.module for reader in READERS]
    assert len(set(READ_TABLES)) == len(READ_TABLES)
    assert set(READ_TABLES) <= set(list_tables())
    assert not KINDS.keys() & IGNORE_RULES.keys()
    assert sum(len(reader.kinds) for reader in READERS) == len(KINDS)
    for number, reader in enumerate(READERS):
        before = {table for one in READERS[:number] for table in one.written}
        assert set(reader.joins) <= before, reader.name
        assert reader.measured is None or reader.measured in INGESTED_TABLES


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the package and of its schemas, and so of all formats."""
    for name in ("src", "schemas"):
        shutil.copytree(ROOT / name, tmp_path / "copy" / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "copy"


def run(checkout: Path, *words: str | Path) -> str:
    command = [sys.executable, "-m", "ccreport", *map(str, words)]
    path = {"PYTHONPATH": str(checkout / "src"), "PATH": "/usr/bin:/bin", "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run(command, env=path, capture_output=True, text=True, cwd=checkout, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ingest(checkout: Path, archive: Path, work: Path) -> str:
    """Read the one batch of an archive with the package of a checkout; return what it says."""
    listed = ("--archive", archive, "--unpacked", work / "unpacked", "--index", work / "index.json")
    made = ("--manifests", work / "manifests", "--batches", work / "batches.txt", "--facts", work / "facts.json")
    run(checkout, "list_raw_files", *listed, *made, "--tables", work / "tables", "--batch-mib", "1000")
    (manifests,) = (work / "manifests").iterdir()
    places = ("--manifests", manifests, "--root", archive, "--tables", work / "tables", "--rejected", work / "rejects")
    return run(checkout, "ingest_batch", "--batch", manifests.stem, *places, *SETTINGS)


def add_ticks(checkout: Path) -> None:
    """Do what CONTRIBUTING.md says of a new format."""
    folder = checkout / "src/ccreport/ingest/ticks"
    folder.mkdir()
    (folder / "__init__.py").write_text(DECLARATION)
    (folder / "reader.py").write_text(READER)
    (checkout / "schemas/tables/ticks.yaml").write_text(SCHEMA)


def test_a_format_is_a_folder_and_a_schema(checkout: Path, tmp_path: Path) -> None:
    add_ticks(checkout)
    files = {"2026-11-20:22:10/job/tick:h:1": "tick 1\ntick 2\n", "2026-11-20:22:10/job/noise": "tick 3\n"}
    archive = write_archive(tmp_path / "raw", files | {"2026-11-20:22:10/job/src-cmd:h:2": "tick 4\nnone\n"})
    ingest(checkout, archive, tmp_path / "work")
    (ticks,) = (tmp_path / "work/tables/ticks").iterdir()
    assert sorted(pl.read_parquet(ticks)["tick_number"]) == [1, 2, 3]
    (rejects,) = (tmp_path / "work/rejects/ingest_ticks").iterdir()
    assert pl.read_parquet(rejects)["message"].to_list() == ["a line is not a tick"]
    shown = run(checkout, "ingest", "ticks", archive / "2026-11-20:22:10/job/noise")
    assert re.search(r"ticks: 1 row\n.*tick_number.*\n.*3", shown, re.DOTALL), shown


@pytest.mark.slow
def test_an_edit_of_one_reader_has_nothing_else_read_again(checkout: Path, tmp_path: Path) -> None:
    job = "2026-11-20:22:10/job"
    archive = write_archive(tmp_path / "raw", {f"{job}/src-cmd:h:1": (RESULTS / "iperf3_p2.json").read_text()})
    shutil.copy(next((FIXTURES / "flent").glob("*.gz")), archive / job / "flent:h:1.gz")
    work = tmp_path / "work"
    assert ingest(checkout, archive, work).strip() == "read 1 of 1 experiments, kept 0"
    assert ingest(checkout, archive, work).strip() == "read 0 of 1 experiments, kept 1"
    before = {table: fingerprint(work, table) for table in ("tests", "rpc_tests", "packets")}
    flent = checkout / "src/ccreport/ingest/rpc/flent.py"
    flent.write_text(flent.read_text() + "\n")
    # Of all readers one reads the experiment again.
    assert ingest(checkout, archive, work).strip() == "read 1 of 1 experiments, kept 0"
    assert [table for table, former in before.items() if fingerprint(work, table) != former] == ["rpc_tests"]


def fingerprint(work: Path, table: str) -> str:
    (path,) = (work / "tables" / table).iterdir()
    return pl.read_parquet_metadata(path)["experiments"]
