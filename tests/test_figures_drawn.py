"""Figures drawn before: what makes a copy valid, and what does not."""

from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest

from ccreport.figures.drawn import digest_sources, keep_copy, name_copy, prune_copies, take_copy
from ccreport.figures.selection import FigureDeclaration

DECLARATION = FigureDeclaration("f", "topology", "Testbed", overlapped=True, where="TRUE")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    # A name that DuckDB would take for a pattern, and a quote.
    table = tmp_path / "ru[n]'s" / "runs.parquet"
    table.parent.mkdir()
    pl.DataFrame({"run_id": ["r"]}).write_parquet(table)
    path = tmp_path / "archive.duckdb"
    escaped = str(table).replace("[", "[[]").replace("'", "''")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW runs AS FROM read_parquet(['{escaped}'])")
        connection.execute("CREATE TABLE algorithms (cc VARCHAR)")
    return path


def test_the_digest_follows_data_and_views_and_nothing_else(database: Path) -> None:
    first = digest_sources(database)
    assert digest_sources(database) == first
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE VIEW labelled_runs AS FROM runs")
    second = digest_sources(database)
    assert second != first
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE stored_runs AS FROM runs; COMMENT ON TABLE stored_runs IS 'FROM runs'")
    third = digest_sources(database)
    assert third not in (first, second)
    with duckdb.connect(str(database)) as connection:
        connection.execute("COMMENT ON TABLE stored_runs IS 'FROM runs LIMIT 1'")
    assert digest_sources(database) not in (first, second, third)
    pl.DataFrame({"run_id": ["other"]}).write_parquet(database.parent / "ru[n]'s" / "runs.parquet")
    assert digest_sources(database) not in (first, second, third)


def test_a_copys_name_follows_the_declaration() -> None:
    name = name_copy(DECLARATION, "sources")
    assert name == name_copy(replace(DECLARATION), "sources")
    assert name != name_copy(replace(DECLARATION, title="Another"), "sources")
    assert name != name_copy(DECLARATION, "other sources")


def test_copies_are_taken_whole_and_pruned(tmp_path: Path) -> None:
    cache, output = tmp_path / "cache", tmp_path / "figures/f"
    cache.mkdir()
    output.mkdir(parents=True)
    (output / "figure.svg").write_text("drawn")
    assert not take_copy(cache, "a", output)
    keep_copy(cache, "a", output)
    (output / "figure.svg").unlink()
    (output / "missing.txt").write_text("of an earlier build")
    assert take_copy(cache, "a", output)
    assert {path.name: path.read_text() for path in output.iterdir()} == {"figure.svg": "drawn"}
    # A copy that a killed build left half is not taken, and goes.
    (cache / "b.partial").mkdir()
    assert not take_copy(cache, "b", output)
    prune_copies(cache, ["a"])
    assert [path.name for path in cache.iterdir()] == ["a"]
