"""Published tables and claims are those of the rows, in whatever order and in however many files these lie."""

from pathlib import Path

import polars as pl
import pytest
from archives import ROOT
from builds import CUT, build
from polars.testing import assert_frame_equal

from ccreport.compare.claims import judge_claims
from ccreport.measure import ARCHIVE_TABLES
from ccreport.summarise.database import list_views
from ccreport.summarise.summarise import summarise_tables

pytestmark = pytest.mark.slow

FIXTURES = ROOT / "tests/fixtures"
# Its query says why the last digits of its means may be others.
ROUNDED = "edge_distributions.parquet"


def publish(tables: Path, batches: Path, evaluation: str, work: Path) -> dict[str, bytes]:
    """Return the Parquet files of all published tables and of the claims, made of these tables, by name."""
    work.mkdir()
    declared, database, summaries = ROOT / f"evaluations/{evaluation}.yaml", work / "archive.duckdb", work / "summaries"
    list_views(batches, tables, declared, database)
    summarise_tables(declared, database, summaries)
    facts = batches.with_name("archive.json")
    judge_claims(declared, database, summaries, facts, [], work / "claims.parquet", work / "claims.csv")
    return {path.name: path.read_bytes() for path in work.rglob("*.parquet")}


def shuffle(tables: Path, folder: Path, seed: int) -> Path:
    """Write each table as one file with its rows in any order, and return the folder."""
    for table in tables.glob("[!.]*"):
        name = "archive" if table.name in ARCHIVE_TABLES else "whole"
        (folder / table.name).mkdir(parents=True)
        rows = pl.concat(pl.read_parquet(path, glob=False) for path in sorted(table.glob("*.parquet")))
        rows.sample(fraction=1, shuffle=True, seed=seed).write_parquet(folder / table.name / f"{name}.parquet")
    return folder


@pytest.mark.parametrize(
    ("archive", "evaluations"),
    [
        (CUT, ["esnet-dtn", "mininet-bbr2", "brakmo-bbr"]),
        (FIXTURES / "rpc_load.tar.xz", ["brakmo-bbr"]),
        (FIXTURES / "edge/archive", ["edge-bbr2"]),
    ],
)
def test_the_order_of_rows_changes_no_byte(archive: Path, evaluations: list[str], tmp_path: Path) -> None:
    done = build("ingest", archive, tmp_path)
    assert done.returncode == 0, done.output
    (done.results / "whole.txt").write_text("whole\n")
    for evaluation in evaluations:
        expected = publish(done.results / "tables", done.results / "batches.txt", evaluation, tmp_path / evaluation)
        assert len(expected) > 1
        for seed in (1, 2):
            shuffled = shuffle(done.results / "tables", tmp_path / f"{evaluation}{seed}/tables", seed)
            work = tmp_path / f"{evaluation}{seed}/published"
            found = publish(shuffled, done.results / "whole.txt", evaluation, work)
            if ROUNDED in expected:
                tables = (pl.read_parquet(files[ROUNDED]) for files in (expected, found))
                assert_frame_equal(*tables, rel_tol=1e-12, abs_tol=0)
                found[ROUNDED] = expected[ROUNDED]
            assert found == expected, (evaluation, seed)
