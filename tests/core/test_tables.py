from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
import yaml
from archives import at, make_table, save_table

from ccreport.core.declarations import QUERIES, SCHEMAS, list_tables
from ccreport.core.evaluation import SHARED_QUERIES, list_evaluations, load_evaluation, resolve_evaluation
from ccreport.core.tables import (
    ARROW_TYPES,
    EARLIEST,
    LATEST,
    POLARS_TYPES,
    Column,
    TableError,
    TableSchema,
    TableWriter,
    conform,
    find_broken_values,
    load_schema,
    read_table,
    write_table,
)
from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES

UNITS = {
    "_s": {"s"},
    "_ms": {"ms"},
    "_bytes": {"B"},
    "_bps": {"bit/s"},
    "_pct": {"%"},
    "_ratio": {"1"},
    "_cv": {"1"},
    "_tps": {"transactions/s"},
}
ROW = {"run_id": "r", "raw_file_id": "f", "side": "sender", "sample_number": 0, "cpu": "all", "cpu_idle_pct": 40.0}


@pytest.mark.parametrize("table", list_tables())
def test_every_columns_unit_equals_its_suffix(table: str) -> None:
    for column in load_schema(table).columns:
        name = f"_{column.name}"
        for suffix, units in UNITS.items():
            if name.endswith(suffix) and column.type in ("int", "float"):
                assert column.unit in units, column.name
        if name.endswith("_count"):
            assert column.unit not in {None, *set().union(*UNITS.values())} - {"B"}, column.name
        if name.endswith("_utc"):
            assert column.type == "timestamp"
        if column.type == "bool":
            assert column.name.startswith(("is_", "has_")), column.name
        if column.type in ("int", "float") and column.unit is not None:
            assert name.endswith((*UNITS, "_count")), column.name


@pytest.mark.parametrize("table", list_tables())
def test_every_schema_is_complete(table: str) -> None:
    schema = load_schema(table)
    names = [column.name for column in schema.columns]
    assert len(names) == len(set(names))
    assert set(schema.key) <= set(names)
    for column in schema.columns:
        assert column.type in POLARS_TYPES.keys() & ARROW_TYPES.keys()
        assert column.description.endswith("."), column.name
        assert column.source, column.name


def test_columns_that_tables_share_agree() -> None:
    declared: dict[str, set[tuple[str, str | None, str]]] = {}
    units: dict[str, set[tuple[str, str | None]]] = {}
    typed = {*EXPERIMENT_TABLES, *ARCHIVE_TABLES}
    for table in sorted(list_tables(), key=lambda table: table not in typed):
        for column in load_schema(table).columns:
            units.setdefault(column.name, set()).add((column.type, column.unit))
            # Published tables may say what is special about a column that they share with another published one.
            if table in typed or column.name in declared:
                declared.setdefault(column.name, set()).add((column.type, column.unit, column.description))
    assert {name: facts for name, facts in units.items() if len(facts) > 1} == {}
    assert {name: facts for name, facts in declared.items() if len(facts) > 1} == {}


def test_every_table_has_a_schema_and_the_reverse() -> None:
    published = {table for name in list_evaluations() for table in load_evaluation(resolve_evaluation(name))["tables"]}
    assert set(list_tables()) == {*EXPERIMENT_TABLES, *ARCHIVE_TABLES, "reproduction", "claims"} | published
    assert published == {*QUERIES} - {*SHARED_QUERIES, "claims"}


def test_a_table_reads_back_with_units_in_its_metadata(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(pl.DataFrame([ROW]), "cpu_samples", path)
    back = read_table("cpu_samples", [path])
    assert back.row(0, named=True) | ROW == back.row(0, named=True)
    assert back["cpu_usr_pct"].to_list() == [None]
    field = pq.read_schema(path).field("cpu_idle_pct")
    assert field.metadata[b"unit"] == b"%"
    assert field.metadata[b"description"]
    assert not pq.read_schema(path).field("cpu").nullable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run_id": None}, "run_id is null in 1 row"),
        ({"cpu_idle_pct": -1.0}, "cpu_idle_pct < 0 in 1 row"),
        ({"cpu_idle_pct": 102.0}, "cpu_idle_pct > 101 in 1 row"),
        ({"cpu_idle_pct": float("nan")}, "cpu_idle_pct is not finite in 1 row"),
        ({"side": "middle"}, "side not in ['sender', 'receiver'] in 1 row"),
        ({"other": 1}, "columns without a schema: ['other']"),
        ({"sample_number": "x"}, "cpu_samples: "),
    ],
)
def test_a_malformed_table_raises(change: dict[str, object], message: str) -> None:
    with pytest.raises(TableError) as caught:
        conform(pl.DataFrame([ROW | change]), "cpu_samples")
    assert message in str(caught.value)


@pytest.mark.parametrize("year", [0, 10_000])
def test_a_time_of_a_year_that_python_does_not_know_breaks_every_table(year: int) -> None:
    # Microseconds since 1970 of the last day of the year 0 and of the first of the year 10,000.
    day = {0: -62_135_683_200_000_000, 10_000: 253_402_300_800_000_000}[year]
    time = pl.Series("first_utc", [day]).cast(pl.Datetime("us", "UTC"))
    assert time.dt.year().to_list() == [year]
    assert find_broken_values(time.to_frame(), declare_time()) == ["first_utc is not of the years 1 to 9999 in 1 row"]
    kept = time.to_frame().select(pl.lit([EARLIEST, LATEST]).explode().alias("first_utc"))
    assert find_broken_values(kept, declare_time()) == []


def declare_time() -> TableSchema:
    column = Column("first_utc", "timestamp", "a time", "a test")
    return TableSchema("times", "times", "a time", ("first_utc",), (column,))


def test_a_repeated_key_raises_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="the key run_id, side, sample_number, cpu is repeated in 1 row"):
        write_table(pl.DataFrame([ROW, ROW]), "cpu_samples", tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())


def test_a_table_in_pieces_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with TableWriter("cpu_samples", path) as writer:
        writer.write(pl.DataFrame([ROW]))
        assert not path.exists()
        writer.write(pl.DataFrame([ROW | {"sample_number": 1}]))
    assert read_table("cpu_samples", [path]).height == 2
    broken = tmp_path / "broken.parquet"
    with pytest.raises(TableError), TableWriter("cpu_samples", broken) as writer:
        writer.write(pl.DataFrame([ROW | {"side": "x"}]))
    assert {found.name for found in tmp_path.iterdir()} == {"t.parquet"}


def test_rows_are_sorted_by_the_key_so_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    rows = [ROW | {"sample_number": number} for number in range(5)]
    write_table(pl.DataFrame(rows), "cpu_samples", tmp_path / "a")
    write_table(pl.DataFrame(rows[::-1]), "cpu_samples", tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_times_are_utc() -> None:
    tests = make_table("tests", [{"run_id": "r", "start_utc": at(1.5)}])
    assert tests["start_utc"].to_list() == [at(1.5)]


def test_files_of_a_table_are_read_in_their_order_and_have_its_columns(tmp_path: Path) -> None:
    paths = [save_table("runs", [{"run_id": name}], tmp_path / f"{name}[*].parquet") for name in ("b", "a", "c")]
    assert read_table("runs", paths)["run_id"].to_list() == ["b", "a", "c"]
    assert read_table("runs", []).schema == load_schema("runs").polars
    pl.read_parquet(paths[1], glob=False).drop("host").write_parquet(paths[1])
    for files in (paths, paths[1:], paths[1:2]):
        with pytest.raises(TableError, match="columns"):
            read_table("runs", files)


@pytest.mark.parametrize("path", sorted(SCHEMAS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_nothing_is_declared_twice(path: Path) -> None:
    """A parser of YAML takes the last of two keys of one name without a word."""

    def list_keys(node: yaml.Node) -> Iterator[list[str]]:
        if isinstance(node, yaml.MappingNode):
            yield [key.value for key, _ in node.value]
        if isinstance(node, yaml.CollectionNode):
            for item in node.value:
                for part in item if isinstance(item, tuple) else (item,):
                    yield from list_keys(part)

    for keys in list_keys(yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)):
        assert sorted({*keys}) == sorted(keys)
