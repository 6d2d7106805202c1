"""Figures drawn before: what makes a copy valid, and what does not."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from ccreport.figures.select.cache import name_copy, prune_copies, restore_copy, store_copy
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.recording_database import Asked, Database
from ccreport.rebuild.batches import IGNORE_CACHES

# Operators that hand rows on in their order, those that give them one, and those that give a single row.
KEEP_ORDER = {"CTE", "EMPTY_RESULT", "FILTER", "LIMIT", "PROJECTION", "READ_PARQUET", "SEQ_SCAN", "TABLE_SCAN", "UNION"}
GIVE_ORDER = {"ORDER_BY", "TOP_N", "UNGROUPED_AGGREGATE"}
DECLARATION = FigureDeclaration("f", "topology", "Testbed", overlapped=True, where="TRUE")


def write_runs(database: Path, rates: dict[str, float]) -> None:
    pl.DataFrame({"run_id": list(rates), "rate": list(rates.values())}).write_parquet(database.parent / "runs.parquet")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "archive.duckdb"
    write_runs(path, {"r": 1.5})
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW runs AS FROM read_parquet(['{tmp_path}/runs.parquet'])")
    return path


def test_an_answer_follows_the_rows_that_were_asked_for_and_nothing_else(database: Path) -> None:
    queries: list[tuple[str, list[object], dict[str, str]]] = [
        ("SELECT rate FROM runs WHERE run_id = ?", ["r"], {}),
        ("SELECT count(*) AS n FROM chosen", [], {"chosen": "FROM runs WHERE rate > 1"}),
        # A view of the question comes before one of the database.
        ("FROM runs", [], {"runs": "SELECT 7 AS rate"}),
    ]
    with Database(database) as opened:
        assert [opened.ask(*one).rows() for one in queries] == [[(1.5,)], [(1,)], [(7,)]]
        asked = opened.asked
        # As they are kept.
        asked = [Asked(**one) for one in json.loads(json.dumps([asdict(one) for one in asked]))]
        assert all(map(opened.is_same, asked))
    write_runs(database, {"r": 1.5, "slow": 0.5})
    with Database(database) as opened:
        assert [opened.is_same(one) for one in asked] == [True, True, True]
    write_runs(database, {"r": 1.5, "fast": 2.5})
    with Database(database) as opened:
        assert [opened.is_same(one) for one in asked] == [True, False, True]
    with duckdb.connect(str(database)) as connection:
        connection.execute("DROP VIEW runs")
    with Database(database) as opened:
        assert [opened.is_same(one) for one in asked] == [False, False, True]


def test_the_types_of_an_answer_count(database: Path) -> None:
    with Database(database) as opened:
        opened.ask("SELECT rate FROM runs")
        (asked,) = opened.asked
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE OR REPLACE VIEW runs AS SELECT 1.5::FLOAT AS rate")
    with Database(database) as opened:
        assert not opened.is_same(asked)


def test_an_answer_is_the_same_whatever_lies_in_memory_under_its_nulls(database: Path) -> None:
    with Database(database) as opened:
        opened.ask("SELECT NULL::BIGINT AS n")
        (asked,) = opened.asked
        nulls, numbers = b"\x00", (7).to_bytes(8, "little")
        under = pa.Array.from_buffers(pa.int64(), 1, [pa.py_buffer(nulls), pa.py_buffer(numbers)])
        assert under.to_pylist() == [None]
        opened._query = lambda *_: pl.DataFrame({"n": under})  # type: ignore[method-assign]
        assert opened.is_same(asked)


def test_what_is_calculated_reads_the_given_tables(database: Path) -> None:
    with Database(database) as opened:
        assert opened.calculate("SELECT sum(n) FROM measured", measured=pl.DataFrame({"n": [1, 2]})).item() == 3
        assert opened.asked == []
        with pytest.raises(duckdb.CatalogException):
            opened.ask("FROM measured")


def test_a_copys_name_follows_the_declaration() -> None:
    name = name_copy(DECLARATION, "code")
    assert name == name_copy(replace(DECLARATION), "code")
    assert name != name_copy(replace(DECLARATION, title="Another"), "code")
    assert name != name_copy(DECLARATION, "other code")


def test_copies_are_taken_whole_and_pruned(tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, output = tmp_path / "cache", tmp_path / "figures/f"
    cache.mkdir()
    output.mkdir(parents=True)
    (output / "figure.svg").write_text("drawn")
    with Database(database) as opened:
        assert not restore_copy(cache, "a", opened, output)
        opened.ask("SELECT max(rate) FROM runs")
        store_copy(cache, "a", opened.asked, output)
        (output / "figure.svg").unlink()
        (output / "missing.txt").write_text("of an earlier build")
        assert restore_copy(cache, "a", opened, output)
        assert {path.name: path.read_text() for path in output.iterdir()} == {"figure.svg": "drawn"}
        with monkeypatch.context() as asked_for_all:
            asked_for_all.setenv(IGNORE_CACHES, "1")
            assert not restore_copy(cache, "a", opened, output)
        # A copy that a killed build left half is not taken, and goes.
        (cache / "b.partial").mkdir()
        assert not restore_copy(cache, "b", opened, output)
    prune_copies(cache, ["a"])
    assert [path.name for path in cache.iterdir()] == ["a"]


def test_a_copy_of_other_rows_is_not_taken_and_makes_room(tmp_path: Path, database: Path) -> None:
    cache, output = tmp_path / "cache", tmp_path / "figures/f"
    cache.mkdir()
    output.mkdir(parents=True)
    for rate, drawn in ((1.5, "old"), (2.5, "new")):
        write_runs(database, {"r": rate})
        with Database(database) as opened:
            assert not restore_copy(cache, "a", opened, output)
            opened.ask("SELECT rate FROM runs")
            (output / "figure.svg").write_text(drawn)
            store_copy(cache, "a", opened.asked, output)
            assert restore_copy(cache, "a", opened, output)
            assert (output / "figure.svg").read_text() == drawn


def list_unordered(operator: dict[str, Any]) -> Iterator[str]:
    """Yield the operators of a plan after which rows come in any order, and nothing sorts them."""
    name = operator["name"].strip()
    if name in GIVE_ORDER:
        return
    if name == "CTE":
        # The first child is what the others read, in the order of theirs.
        operator = operator | {"children": operator["children"][1:]}
    elif name not in KEEP_ORDER and not name.endswith("_SCAN"):
        yield name
    for child in operator["children"]:
        yield from list_unordered(child)


@pytest.mark.slow
@pytest.mark.skipif("CCREPORT_SITE" not in os.environ, reason="CCREPORT_SITE names no built report of the sample")
def test_what_the_samples_figures_ask_has_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's threads end in any order: a copy of a figure would be out of date by chance."""
    site = Path(os.environ["CCREPORT_SITE"]).resolve()
    monkeypatch.chdir(site.parent.parent)
    kept = sorted(site.parent.glob("*/drawn/*/asked.json"))
    assert kept
    unordered = []
    for path in kept:
        with Database(path.parents[2] / "archive.duckdb") as opened:
            for asked in (Asked(**one) for one in json.loads(path.read_text())):
                ((_, plan),) = opened._query(f"EXPLAIN (FORMAT JSON) {asked.query}", asked.params, asked.views).rows()
                operators = [name for part in json.loads(plan) for name in list_unordered(part)]
                unordered += [(asked.query, operators)] if operators else []
    assert unordered == []
