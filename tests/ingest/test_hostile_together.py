"""What fuzzing begins with and what it found, changed at random, in one archive: all the way to published tables.

Each file alone is for `test_fuzz`; here they stand beside each other in jobs, batches and tables.
"""

import random
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from archives import list_batches
from fuzz.mutations import mutate
from fuzz.targets import ACCESS_LOG_FORMAT, EDGE_PATHS, INPUTS, list_inputs

from ccreport.__main__ import main
from ccreport.archive.manifest import read_manifests
from ccreport.core.evaluation import list_evaluations, resolve_evaluation
from ccreport.ingest.batch import ingest_batch
from ccreport.ingest.readers import READ_TABLES
from ccreport.measure import ARCHIVE_TABLES
from ccreport.rebuild.batches import read_batches

FILES_PER_READER = 8
JOBS = 2
SEED = 1


def write_files(root: Path) -> int:
    """Write files of every reader, most of them changed, where the archive would have them; return how many."""
    chance = random.Random(SEED)  # noqa: S311 (not for secrets)
    written = set()
    for name, given in INPUTS.items():
        inputs = list(list_inputs(name))
        for number in range(1, JOBS * FILES_PER_READER + 1):
            # src-cmd:h:1, :2, ... of two jobs; ss-neit:1795211351, ...2 of one; one jobmeta.json for each job.
            path = given.path.replace("/job/", f"/job{number % JOBS}/").replace("tokyo", f"tokyo{number % JOBS}")
            path = path[:-1] + str(number) if path[-1].isdigit() else path
            data = chance.choice(inputs)
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(mutate(data, chance) if chance.random() < 0.75 else data)
            written.add(path)
    return len(written)


def call(command: str, **options: object) -> None:
    """Call a subcommand with options as `rules/` give them; a flag is True, what is a list several words."""
    words = [command]
    for name, value in options.items():
        given = [] if value is True else value if isinstance(value, list) else [value]
        words += [f"--{name.replace('_', '-')}", *map(str, given)]
    assert main(words) == 0


@pytest.mark.slow
def test_changed_files_of_all_readers_in_one_archive_become_published_tables(tmp_path: Path) -> None:
    raw, tables, rejected, manifests = (tmp_path / name for name in ("raw", "tables", "rejects", "manifests"))
    batches, of_archive = tmp_path / "batches.txt", {name: tables / name / "archive.parquet" for name in ARCHIVE_TABLES}
    suspects = of_archive.pop("suspects")
    files_count = write_files(raw)
    made = {"unpacked": tmp_path / "unpacked", "index": tmp_path / "index.json", "facts": tmp_path / "archive.json"}
    kept = {"manifests": manifests, "tables": [tables, rejected], "batches": batches}
    call("list_raw_files", archive=raw, **made, **kept, batch_mib=0.2)
    assert len(read_batches(batches)) > 1
    edge = {"edge_paths": EDGE_PATHS, "access_log_format": ACCESS_LOG_FORMAT}
    for batch in read_batches(batches):
        own = {"batch": batch, "manifests": manifests / f"{batch}.json", "tables": tables}
        call("ingest_batch", **own, root=raw, rejected=rejected, packet_runs=[], **edge)
        call("measure_batch", **own, include_interrupted=True, include_cpu_bound=True)
    call("measure_ledger", batches=batches, manifests=manifests, tables=tables, rejected=rejected, **of_archive)
    call("measure_suspects", batches=batches, tables=tables, suspects=suspects)
    assert pl.read_parquet(of_archive["raw_files"]).height == files_count
    for name in list_evaluations():
        database = tmp_path / name / "archive.duckdb"
        database.parent.mkdir()
        evaluation = resolve_evaluation(name)
        call("list_views", batches=batches, tables=tables, evaluation=evaluation, database=database)
        call("summarise_tables", evaluation=evaluation, database=database, output=database.with_name("summaries"))


def test_a_damaged_file_beside_intact_ones_changes_none_of_their_rows(tmp_path: Path) -> None:
    intact: dict[str, bytes] = {}
    for name, given in INPUTS.items():
        intact.setdefault(given.path, next(iter(list_inputs(name))))
    damaged = {_name_beside(path): data[: len(data) // 2] + b"\xff\0{" for path, data in intact.items()}
    alone, beside = (_ingest(tmp_path / name, files) for name, files in (("a", intact), ("b", damaged | intact)))
    assert {table for table, rows in alone.items() if rows.height} >= {"tests", "samples", "cpu_samples", "captures"}
    for table, rows in alone.items():
        assert rows.equals(beside[table]), table


def _name_beside(path: str) -> str:
    """Return the name of another run's file in the same folder, or of a file in a folder beside it."""
    return path.replace(":h:1", ":h:2") if ":h:1" in path else f"beside/{path}"


def _ingest(work: Path, files: Mapping[str, bytes]) -> dict[str, pl.DataFrame]:
    """Return the rows that an archive's files outside of `beside`, and of the run h:1, have in each table."""
    raw = work / "raw"
    for path, data in files.items():
        (raw / path).parent.mkdir(parents=True, exist_ok=True)
        (raw / path).write_bytes(data)
    (work / "raw/other").mkdir()
    (work / "raw/other/notes.txt").write_text("x")
    batches = list_batches(raw, work)
    read: dict[str, list[pl.DataFrame]] = {}
    for batch in batches:
        manifests = work / "batches" / f"{batch}.json"
        ingest_batch(batch, manifests, raw, work / "tables", work / "rejects", [], EDGE_PATHS, ACCESS_LOG_FORMAT)
        wanted = [
            file.raw_file_id
            for manifest in read_manifests(manifests)
            for file in manifest.files
            if not file.path.startswith("beside/") and ":h:2" not in file.path
        ]
        for table in READ_TABLES:
            rows = pl.read_parquet(work / "tables" / table / f"{batch}.parquet")
            read.setdefault(table, []).append(rows.filter(pl.col("raw_file_id").is_in(wanted)))
    return {table: pl.concat(parts).sort("raw_file_id", maintain_order=True) for table, parts in read.items()}
